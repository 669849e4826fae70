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
# QUIC connections that begin together, the seconds to the next ones, and those from the last ones to the look at the memory.
GROUP, BETWEEN_S, SETTLE_S = 100, 0.3, 6
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
    """The same over QUIC, a group of connections after the other: h2load asks once on each."""
    return held_by_h2load(server, port, [min(GROUP, count - begun) for begun in range(0, count, GROUP)])


def hold_quic_burst(server, port, count):
    """The same where all begin at once."""
    return held_by_h2load(server, port, [count])


def held_by_h2load(server, port, groups):
    program = os.path.join(servers.SID, "usr/local/bin/h2load-h3")
    if not os.path.exists(program):
        raise servers.Missing("h2load with HTTP/3 could not be built in the Debian sid root (bench/programs/h2load-h3.sh)")
    before, wall = server.resident(), BETWEEN_S * len(groups) + SETTLE_S + 3
    processes = []
    try:
        for group in groups:
            command = servers.in_root() + ["/usr/local/bin/h2load-h3", "--alpn-list=h3", "-t1", f"-c{group}", "-m1", "--rps=0.03",
                                           "-D", f"{wall:.0f}", f"https://127.0.0.1:{port}/13B"]
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            time.sleep(BETWEEN_S)
        time.sleep(SETTLE_S)
        held = server.resident() - before
        said = [process.communicate()[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    answered, count = sum(drivers.number(r"(\d+) 2xx", one, "h2load") for one in said), sum(groups)
    if not LEAST * count <= answered <= count:
        raise drivers.Failed(f"{server.name} answered {answered} of {count} connections: {said[-1].strip()[-300:]}")
    return held / answered
