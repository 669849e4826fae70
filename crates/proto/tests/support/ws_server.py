# A WebSocket server that sends a hundred messages and wants each back: ws_server.py FOLDER PORT
import sys
sys.path.insert(0, sys.argv[1])
from websockets.sync.server import serve
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory as Deflate


def speak(socket):
    deflated = [extension.name for extension in socket.protocol.extensions] == ["permessage-deflate"]
    right = deflated == (socket.request.path == "/deflate")
    for n in range(100):
        message = f"number {n} " * n if n % 2 else bytes([n]) * n * 1000
        socket.send(message)
        right = right and socket.recv() == message
        socket.ping().wait()
    socket.close(1000, "all right" if right else "something came back changed")


# The offer is taken on one path only.
def process_request_params(self, params, accepted):
        return super().process_request_params(params, accepted)


def process_request(socket, request):
    if request.path != "/deflate":
        del request.headers["Sec-WebSocket-Extensions"]


factory = Deflate(server_no_context_takeover=True, server_max_window_bits=11, client_max_window_bits=10)
with serve(speak, "127.0.0.1", int(sys.argv[2]), compression=None, extensions=[factory],
           process_request=process_request, max_size=None) as server:
    server.serve_forever()
