"""Connections that do nothing: what each costs the server in memory."""

import os
import socket
import ssl
import subprocess
import time

from . import drivers, servers

# Bytes that one may cost.
TLS, QUIC = 20_000, 30_000
# The share of QUIC connections that must have been answered.
LEAST = 0.99
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


def hold_quic(server, port, count):
    """The same over QUIC: h2load asks once on each connection. They all begin at once, so that its socket's buffer may lose some."""
    program = os.path.join(servers.SID, "usr/local/bin/h2load-h3")
    if not os.path.exists(program):
        raise servers.Missing("h2load with HTTP/3 could not be built in the Debian sid root (bench/programs/h2load-h3.sh)")
    before, wall = server.resident(), 10
    command = servers.in_root() + ["/usr/local/bin/h2load-h3", "--alpn-list=h3", "-t1", f"-c{count}", "-m1", "--rps=0.05",
                                   "-D", str(wall), f"https://127.0.0.1:{port}/13B"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        time.sleep(wall - 3)
        held = server.resident() - before
        said = process.communicate()[0]
    answered = drivers.number(r"(\d+) 2xx", said, "h2load")
    if answered < LEAST * count:
        raise drivers.Failed(f"{server.name} answered {answered} of {count} connections: {said.strip()[-300:]}")
    return held / answered
