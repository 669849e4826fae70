"""Connections that do nothing: what each costs the server in memory."""

import socket
import ssl

from . import drivers

DEMAND = 20_000
REQUEST = b"GET /13B HTTP/1.1\r\nHost: localhost\r\n\r\n"


def hold(server, port, count):
    """Opens TLS connections, asks once on each, and gives the bytes that each costs the server while all idle."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    before = server.resident()
    held = []
    try:
        for _ in range(count):
            raw = socket.create_connection(("127.0.0.1", port), timeout=20)
            secured = context.wrap_socket(raw, server_hostname="localhost")
            held.append(secured)
            secured.sendall(REQUEST)
            if not secured.recv(4096).startswith(b"HTTP/1.1 200"):
                raise drivers.Failed(f"{server.name} answers a connection of {len(held)} with something else")
        return (server.resident() - before) / count
    finally:
        for one in held:
            one.close()
