"""curl_cffi, libcurl for Python, as a client of HTTP/3 for `bench/interop`.

    curl_cffi_client.py --ca FILE --out DIR [--resume] URL...

Asks for all URLs at once over HTTP/3 alone. `--resume` asks for the first URL, then for the others over a second connection.
Prints a line of JSON at its end: whether the last connection resumed a session. Where the variable QLOGDIR names a folder,
libcurl leaves a qlog file of each connection there.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
from urllib.parse import urlparse

from curl_cffi import AsyncCurl, Curl, CurlError, CurlHttpVersion, CurlInfo, CurlOpt

HTTP_3 = CurlHttpVersion.V3ONLY
CONNECT_TIMEOUT_MS = 40_000


class Transfer:
    """A URL on its way into a file."""

    def __init__(self, url, options, file):
        self.url, self.is_resumed = url, False
        self.curl = Curl()
        for option, value in (
                (CurlOpt.URL, url.encode()), (CurlOpt.HTTP_VERSION, HTTP_3), (CurlOpt.CAINFO, options.ca.encode()),
                (CurlOpt.CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS), (CurlOpt.FAILONERROR, 1),
                # All wait for the first one's connection, and share it.
                (CurlOpt.PIPEWAIT, 1),
                (CurlOpt.WRITEDATA, file), (CurlOpt.VERBOSE, 1), (CurlOpt.DEBUGFUNCTION, self.heard)):
            self.curl.setopt(option, value)

    def heard(self, _kind, words):
        self.is_resumed |= b"SSL reusing session" in words

    def check(self):
        version = self.curl.getinfo(CurlInfo.HTTP_VERSION)
        if version != CurlHttpVersion.V3:
            raise OSError(f"{self.url} came over HTTP version {version}")


async def fetch(multi, urls, options, fresh):
    """Gets all of them at once; whether one of them says that its connection resumed a session."""
    with contextlib.ExitStack() as stack:
        transfers = []
        for url in urls:
            name = os.path.basename(urlparse(url).path)
            file = stack.enter_context(open(os.path.join(options.out, name), "wb"))
            transfers.append(Transfer(url, options, file))
            if fresh:
                transfers[-1].curl.setopt(CurlOpt.FRESH_CONNECT, 1)
        await asyncio.gather(*(multi.add_handle(transfer.curl) for transfer in transfers))
        for transfer in transfers:
            transfer.check()
        return any(transfer.is_resumed for transfer in transfers)


async def run(options):
    multi, urls, is_resumed = AsyncCurl(cacert=options.ca), options.urls, False
    try:
        if options.resume:
            await fetch(multi, urls[:1], options, fresh=False)
            urls = urls[1:]
        is_resumed = await fetch(multi, urls, options, fresh=options.resume)
    finally:
        await multi.close()
    print(json.dumps({"resumed": is_resumed}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("urls", nargs="+")
    try:
        asyncio.run(run(parser.parse_args()))
    except (OSError, CurlError) as error:
        print(f"curl_cffi: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
