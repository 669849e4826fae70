# Doubles numbers over WebSocket: ws_double.py PACKAGES [CHAIN KEY]. A 13 is answered wrongly. Says its port when it listens.
import ssl
import sys
sys.path.insert(0, sys.argv[1])
from websockets.sync.server import serve


def double(socket):
    for number in socket:
        socket.send(str(2 * int(number)) if number != "13" else "bad luck")


context = None
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
with serve(double, "127.0.0.1", 0, ssl=context) as server:
    print(server.socket.getsockname()[1], flush=True)
    server.serve_forever()
