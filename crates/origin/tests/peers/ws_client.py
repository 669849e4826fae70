# Speaks with an echo WebSocket: ws_client.py FOLDER-OF-WEBSOCKETS URL plain|deflate
# By the asyncio client: the threaded one now and then times out at once when it closes over TLS.
import asyncio, ssl, sys
sys.path.insert(0, sys.argv[1])
from websockets.asyncio.client import connect

url, coding = sys.argv[2], sys.argv[3]
context = None
if url.startswith("wss"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
compression = "deflate" if coding == "deflate" else None
messages = ["", "hello", "grüße, 世界 🌍", b"\x00\xff" * 200000] + [f"number {n}" for n in range(200)]


async def main():
    async with connect(url + "/ws/echo", ssl=context, compression=compression, max_size=None) as socket:
        for message in messages:
            await socket.send(message)
            assert await socket.recv() == message, message[:40]
        # In fragments, the others continuations.
        await socket.send(["frag", "men", "ts"])
        assert await socket.recv() == "fragments"
        await (await socket.ping())
        extensions = [extension.name for extension in socket.protocol.extensions]
    print("echo", len(messages), socket.protocol.close_code, *extensions)


asyncio.run(main())
