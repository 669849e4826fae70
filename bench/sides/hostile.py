"""Peers that mean no good: clients that attack a server, and a server that answers rubbish. Each act is one function
that comes to its end within some seconds; `attack` takes them in turn until it is told to stop."""

import random
import socket
import struct
import threading
import time

ACT_S = 1.0
# How long whoever does nothing is there: longer than a server should bear it.
HELD_S = 3.0

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
UPGRADE = (b"GET /ws/echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
# The beginning of a TLS record with a greeting of 512 bytes.
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64)


def frame(kind, flags, stream, payload=b""):
    """RFC 9113, section 4.1."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def asked(stream, path, flags=5):
    method = b"\x82" if flags & 1 else b"\x83"
    return frame(1, flags, stream, method + b"\x86\x04" + bytes([len(path)]) + path + b"\x01\x01a")


def get(path):
    return b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n"


def greeted():
    """HTTP/2's beginning, with all the credit that there is."""
    return PREFACE + frame(4, 0, 0, b"\x00\x04\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xff\x00\x00")


def message(length):
    return b"\x82\xff" + struct.pack(">Q", length) + bytes(4 + length)


def connect(port, said=b""):
    one = socket.create_connection(("127.0.0.1", port), timeout=0.2)
    try:
        one.sendall(said)
    except OSError:
        # Whoever is not read does not get rid of it all.
        pass
    return one


def reset(one):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


# What was said when the reset comes: on the clear port, and on the TLS port.
STATES = [b"", b"GET /13", get(b"/100kB"), get(b"/10MB"), b"POST /discard HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\nsome",
          PREFACE[:20], PREFACE, greeted() + asked(1, b"/10MB"), greeted() + asked(1, b"/discard", 4) + frame(0, 0, 1, bytes(99))[:60],
          UPGRADE[:60], UPGRADE, UPGRADE + message(1000)[:500], b"\x80\x03\x00\x01\x01\x00\x01\x00\x00"]
SECURE_STATES = [b"", HELLO[:20], HELLO]


def resets(ports):
    end = time.monotonic() + ACT_S
    while time.monotonic() < end:
        for port, states in (("http", STATES), ("https", SECURE_STATES)):
            for said in states:
                one = connect(ports[port], said)
                if random.random() < 0.3:
                    one.shutdown(socket.SHUT_WR)
                reset(one)


def slow_readers(ports):
    streams = b"".join(asked(2 * number + 1, b"/10MB") for number in range(50))
    held = [connect(ports["http"], get(b"/10MB")) for _ in range(5)] + [connect(ports["http"], greeted() + streams)]
    time.sleep(HELD_S)
    for one in held:
        one.close()


def silent(ports):
    held = [connect(ports[port]) for port in ("http", "https") for _ in range(25)]
    time.sleep(HELD_S)
    for one in held:
        one.close()


def driblets(ports):
    held = [connect(ports["http"], get(b"/13B")[:-4] + b"\r\nX: "), connect(ports["https"], HELLO),
            connect(ports["http"], greeted() + frame(1, 1, 1, b"\x82\x86\x84"))]
    end = time.monotonic() + HELD_S
    while time.monotonic() < end:
        for one in held:
            try:
                one.send(b"x")
            except OSError:
                pass
        time.sleep(0.02)
    for one in held:
        one.close()


def unread_echoes(ports):
    held = [connect(ports["http"], UPGRADE + message(1 << 20) * 3) for _ in range(3)]
    time.sleep(HELD_S)
    for one in held:
        reset(one)


FLOODS = {
    "rapid reset": lambda turn: asked(2 * turn + 1, b"/10MB") + frame(3, 0, 2 * turn + 1, b"\0\0\0\x08"),
    "made to reset": lambda turn: asked(2 * turn + 1, b"/10MB") + frame(8, 0, 2 * turn + 1, b"\x7f\xff\xff\xff"),
    "SETTINGS": lambda _: frame(4, 0, 0, b"\0\x03\0\0\0\x64"),
    "PING": lambda turn: frame(6, 0, 0, struct.pack(">Q", turn)),
    "CONTINUATION": lambda turn: frame(9, 0, 1, b"\x00\x01x\x01y") if turn else frame(1, 1, 1, b"\x82\x86\x84"),
    "empty DATA": lambda turn: frame(0, 0, 1) if turn else asked(1, b"/discard", 4),
    "WINDOW_UPDATE": lambda _: frame(8, 0, 0, b"\0\0\0\x01"),
    "PRIORITY": lambda turn: frame(2, 0, 2 * turn + 1, b"\0\0\0\0\x09"),
}


def floods(ports):
    """Each until the server has had enough, or for its share of the time."""
    for each in FLOODS.values():
        one, end, turn = connect(ports["http"], greeted()), time.monotonic() + ACT_S / len(FLOODS), 0
        try:
            while time.monotonic() < end:
                one.sendall(b"".join(each(number) for number in range(turn, turn + 200)))
                turn += 200
        except OSError:
            pass
        one.close()


ACTS = (resets, slow_readers, silent, driblets, unread_echoes, floods)


def attack(ports, act, stop, done):
    """Takes an act again and again; counts it in `done`."""
    while not stop.is_set():
        try:
            act(ports)
            done[act.__name__] = done.get(act.__name__, 0) + 1
        except OSError:
            # The server has ended what the act was about, as it should.
            done[act.__name__] = done.get(act.__name__, 0) + 1


class Rubbish:
    """A server that answers each request in a way of its own: right, wrong, short, late, not at all."""

    GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    DEEDS = (
        lambda one: one.sendall(Rubbish.GOOD),
        lambda one: one.sendall(Rubbish.GOOD),
        lambda one: one.sendall(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"),
        lambda one: one.sendall(b"\x00\x01 this is no answer\r\n\r\n"),
        lambda one: one.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf") or one.close(),
        lambda one: one.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe") or one.close(),
        lambda one: one.sendall(frame(4, 0, 0) + frame(1, 4, 1, b"\x88")[:10]) or one.close(),
        lambda one: one.sendall(frame(4, 0, 0) + frame(7, 0, 0, bytes(8))),
        lambda one: one.sendall(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000),
        lambda one: time.sleep(0.3),
        lambda one: reset(one),
        lambda one: one.close(),
    )

    def __init__(self, seed):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.random = random.Random(seed)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(one,), daemon=True).start()

    def answer(self, one):
        with one:
            try:
                while one.recv(4096):
                    self.random.choice(self.DEEDS)(one)
            except OSError:
                pass

    def close(self):
        self.listener.close()
