# Speaks with an echo WebSocket: ws_client.py FOLDER-OF-WEBSOCKETS URL plain|deflate
import ssl, sys
sys.path.insert(0, sys.argv[1])
from websockets.sync.client import connect

url, coding = sys.argv[2], sys.argv[3]
context = None
if url.startswith("wss"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
compression = "deflate" if coding == "deflate" else None
messages = ["", "hello", "grüße, 世界 🌍", b"\x00\xff" * 200000] + [f"number {n}" for n in range(200)]
with connect(url + "/ws/echo", ssl=context, compression=compression, max_size=None) as socket:
    for message in messages:
        socket.send(message)
        assert socket.recv() == message, message[:40]
    # In fragments, the second a continuation.
    socket.send(["frag", "men", "ts"])
    assert socket.recv() == "fragments"
    socket.ping().wait()
    extensions = [extension.name for extension in socket.protocol.extensions]
print("echo", len(messages), socket.protocol.close_code, *extensions)
