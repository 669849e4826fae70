"""libcurl with HTTP/3: prints the status lines and Link fields of all responses to one request.
Arguments: the folder of curl_cffi, the URL."""

import sys

sys.path.insert(0, sys.argv[1])
from curl_cffi import Curl, CurlOpt  # noqa: E402

seen, curl = [], Curl()
curl.setopt(CurlOpt.URL, sys.argv[2].encode())
curl.setopt(CurlOpt.HTTP_VERSION, 31)
curl.setopt(CurlOpt.SSL_VERIFYPEER, 0)
curl.setopt(CurlOpt.SSL_VERIFYHOST, 0)
curl.setopt(CurlOpt.WRITEFUNCTION, lambda piece: len(piece))


def field(line):
    text = line.decode().strip()
    if text.startswith(("HTTP/", "link:")):
        seen.append(text)
    return len(line)


curl.setopt(CurlOpt.HEADERFUNCTION, field)
curl.perform()
print("\n".join(seen))
