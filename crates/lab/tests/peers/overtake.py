"""Does an urgent response overtake queued bulk? Two programs for the two sides of a link.

    overtake.py witness PORT                  far: reads the packets of its own device until the urgent answer has left,
                                              then prints one JSON line: "bulk_after_request", the bytes of bulk that left
                                              between the request's arrival and the first byte of the answer's body
    overtake.py client HOST PORT fields|tree  near: asks for /bulk.bin, and for /urgent.txt once 64 kB of it have come;
                                              prints "first_byte_ms", from the second request to the first byte of its
                                              answer's body (the head goes before all bodies, whatever the policy)

HTTP/2 by prior knowledge, without TLS, so that the witness can read frames. The client ranks its requests by `priority`
fields (RFC 9218) or by dependencies (RFC 7540).
"""

import json
import socket
import struct
import sys
import time

BULK, URGENT = 1, 3
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM, ACK, END_HEADERS, PRIORITY = 0x1, 0x1, 0x4, 0x20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def request(stream, path, signal):
    def literal(name, value):
        return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value

    # :method GET, :scheme http, :path, :authority (RFC 7541 appendix A)
    block = b"\x82\x86\x04" + bytes([len(path)]) + path + b"\x01\x03far"
    flags, rank = END_STREAM | END_HEADERS, b""
    if signal == "fields":
        block += literal(b"priority", b"u=0" if stream == URGENT else b"u=5")
    else:
        flags |= PRIORITY
        exclusive = 1 << 31 if stream == URGENT else 0
        rank = struct.pack(">IB", exclusive, 255 if stream == URGENT else 0)
    return frame(HEADERS, flags, stream, rank + block)


class Frames:
    """Cuts a stream of bytes into frames; tells the offset at which each begins."""

    def __init__(self, skip=0):
        self.bytes, self.offset = b"", skip

    def feed(self, data):
        self.bytes += data
        while len(self.bytes) >= 9:
            length = int.from_bytes(self.bytes[:3], "big")
            if len(self.bytes) < 9 + length:
                return
            kind, flags, stream = self.bytes[3], self.bytes[4], int.from_bytes(self.bytes[5:9], "big")
            payload, start = self.bytes[9:9 + length], self.offset
            self.bytes, self.offset = self.bytes[9 + length:], self.offset + 9 + length
            yield start, kind, flags, stream, payload


def client(host, port, signal):
    near = socket.create_connection((host, int(port)))
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    settings = frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0x7fffffff))
    credit = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fff0000))
    near.sendall(PREFACE + settings + credit + request(BULK, b"/bulk.bin", signal))
    frames, bulk, asked = Frames(), 0, None
    while True:
        data = near.recv(65536)
        now = time.monotonic()
        if not data:
            sys.exit("the server ended the connection")
        for _, kind, flags, stream, payload in frames.feed(data):
            if kind == SETTINGS and not flags & ACK:
                near.sendall(frame(SETTINGS, ACK, 0, b""))
            if stream == URGENT and kind == DATA:
                print(json.dumps({"first_byte_ms": (now - asked) * 1000}))
                return
            if kind == DATA:
                bulk += len(payload)
        if asked is None and bulk >= 64_000:
            asked = now
            near.sendall(request(URGENT, b"/urgent.txt", signal))


class Direction:
    """One direction of the connection: its bytes in order, however its segments come."""

    def __init__(self):
        self.first, self.bytes, self.later = None, b"", {}

    def take(self, sequence, flags, payload):
        if flags & 0x02:
            self.first = (sequence + 1) & 0xffffffff
            return
        if self.first is None or not payload:
            return
        at = (sequence - self.first) & 0xffffffff
        if at < 1 << 31:
            self.later[at] = max(payload, self.later.get(at, b""), key=len)
        while True:
            ready = [at for at in self.later if at <= len(self.bytes)]
            if not ready:
                return
            for at in ready:
                segment = self.later.pop(at)
                self.bytes += segment[len(self.bytes) - at:]


def witness(port):
    port = int(port)
    every = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
    every.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    came, left = Direction(), Direction()
    sent_before = None
    frames, read = Frames(), 0
    print("ready", flush=True)
    while True:
        packet = every.recv(1 << 17)
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            continue
        tcp = packet[(packet[0] & 15) * 4:int.from_bytes(packet[2:4], "big") or len(packet)]
        source, target, sequence = struct.unpack(">HHI", tcp[:8])
        flags, payload = tcp[13], tcp[(tcp[12] >> 4) * 4:]
        if target == port:
            came.take(sequence, flags, payload)
            if sent_before is None and b"/urgent.txt" in came.bytes:
                sent_before = len(left.bytes)
        elif source == port:
            left.take(sequence, flags, payload)
            for start, kind, _, stream, _ in frames.feed(left.bytes[read:]):
                if stream == URGENT and kind == DATA:
                    print(json.dumps({"bulk_after_request": start - sent_before}), flush=True)
                    return
            read = len(left.bytes)


if __name__ == "__main__":
    {"client": client, "witness": witness}[sys.argv[1]](*sys.argv[2:])
