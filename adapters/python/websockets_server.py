"""Messages and their echoes on `websockets`, as a server subject: WebSockets at /ws/double and /ws/echo.

The configuration's path is the argument; exit code 127 says that the module is not there.
"""

import asyncio
import json
import os
import pathlib
import signal
import ssl
import sys

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/"), ".cache")
sys.path.insert(0, str(pathlib.Path(CACHE, "wirelap/peers/python")))
try:
    from websockets.asyncio.server import serve
except ImportError as missing:
    print(f"the module websockets is not there: {missing}", file=sys.stderr)
    sys.exit(127)

SERVICES = {"/ws/double": lambda text: str(2 * int(text)), "/ws/echo": lambda text: text}


async def answer(connection):
    """Sends each message back until the client closes."""
    service = SERVICES.get(connection.request.path)
    if service is None:
        return
    async for text in connection:
        await connection.send(service(text))


def secured(config):
    """The TLS settings; None in the clear."""
    if config["tls"] == "none":
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[config["tls"]]
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(config["chain"], config["key"])
    return context


async def main():
    config = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    ended = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set_result, None)
    compression = "deflate" if config["deflate"] else None
    place = (config["address"], config["port"])
    async with serve(answer, *place, ssl=secured(config), compression=compression):
        await ended


asyncio.run(main())
