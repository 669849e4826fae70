# Receives a stream of tokens: stream_client.py FOLDER-OF-WEBSOCKETS URL QUERY
import asyncio, ssl, sys, time
sys.path.insert(0, sys.argv[1])
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

url, query = sys.argv[2], sys.argv[3]
context = None
if url.startswith("wss"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE


async def main():
    async with connect(url + "/ws/stream", ssl=context) as socket:
        await socket.send(query)
        tokens = [(await socket.recv(), time.monotonic()) for _ in range(20)]
        numbers = [int(text.split(" ")[1]) for text, _ in tokens]
        order = "in order" if numbers == list(range(20)) else "out of order"
        spaced = "spaced" if tokens[-1][1] - tokens[0][1] >= 0.45 else "at once"
        # Something that names no stream ends the connection.
        await socket.send("every=1")
        try:
            end = await socket.recv()
        except ConnectionClosed as closed:
            end = closed.rcvd.code
        print(len(tokens), order, spaced, end)


asyncio.run(main())
