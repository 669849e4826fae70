"""An attacker's end of QUIC: a socket that counts, aioquic's connection that sends what it is told, and packets of our own making."""

import os
import select
import socket
import ssl
import struct
import sys
import time

from . import quic_sides

VERSION = b"\x00\x00\x00\x01"
CONTROL = b"\x00\x04\x00"
# :method GET and :scheme https; :authority a follows, then :path.
COMMON = b"\xd1\xd7\x50\x01a"


def aioquic():
    """Its modules, from where ./peers keeps them."""
    there = os.path.join(quic_sides.PEERS, "quic")
    if there not in sys.path:
        sys.path.append(there)
    from aioquic import tls
    from aioquic.quic import configuration, connection, crypto
    return configuration, connection, crypto, tls


class Datagrams:
    """A UDP socket that counts its bytes in both directions."""

    def __init__(self, port):
        self.sent = self.received = 0
        self.address = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)

    def send(self, data):
        try:
            self.sent += self.socket.sendto(data, self.address)
        except OSError:
            pass

    def receive(self):
        """What has come."""
        came = []
        try:
            while True:
                came.append(self.socket.recv(65536))
                self.received += len(came[-1])
        except OSError:
            return came


class Counted:
    """What an attack holds if the server must not answer it with many bytes."""

    def __init__(self, sockets):
        self.sockets = sockets

    def ratio(self):
        """Bytes that came for each that was sent: the most of any socket."""
        for one in self.sockets:
            one.receive()
        return max(one.received / one.sent for one in self.sockets if one.sent)


class QuicPeer:
    """A connection of an attacker's, which sends bytes on streams as they are."""

    def __init__(self, port, **settings):
        configuration, connection, _, _ = aioquic()
        made = configuration.QuicConfiguration(
            alpn_protocols=["h3"], is_client=True, verify_mode=ssl.CERT_NONE, server_name="localhost", **settings)
        made.supported_versions = made.supported_versions[:1]
        self.quic = connection.QuicConnection(configuration=made)
        self.socket = Datagrams(port)
        self.quic.connect(self.socket.address, time.monotonic())

    def flush(self):
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            self.socket.send(data)

    def turn(self, wait_s=0.0):
        """Sends what there is, takes what has come within `wait_s`, and says whether the connection goes on."""
        until = time.monotonic() + wait_s
        while True:
            self.flush()
            for data in self.socket.receive():
                self.quic.receive_datagram(data, self.socket.address, time.monotonic())
            timer = self.quic.get_timer()
            if timer is not None and timer <= time.monotonic():
                self.quic.handle_timer(time.monotonic())
            if time.monotonic() >= until:
                self.flush()
                return self.quic._close_event is None
            time.sleep(0.001)

    def wait(self, until):
        """Waits until something has come or is due, and takes it."""
        timer = self.quic.get_timer()
        due = until if timer is None else min(until, timer)
        select.select([self.socket.socket], [], [], max(0.0, due - time.monotonic()))
        self.turn()

    def open(self, bytes_, unidirectional=False, end=False):
        stream = self.quic.get_next_available_stream_id(is_unidirectional=unidirectional)
        self.quic.send_stream_data(stream, bytes_, end_stream=end)
        return stream

    def packet(self, frames):
        """A 1-RTT packet with these frames, of which aioquic knows nothing but that its number is taken."""
        _, _, _, tls = aioquic()
        keys = self.quic._cryptos[tls.Epoch.ONE_RTT]
        number = self.quic._packet_number
        self.quic._packet_number += 1
        header = bytes([0x41 | keys.key_phase << 2]) + self.server_id() + struct.pack(">H", number & 0xffff)
        return keys.encrypt_packet(header, frames.ljust(4, b"\0"), number)

    def server_id(self):
        return self.quic._peer_cid.cid

    def is_answered(self):
        """Whether a request gets an answer within three seconds."""
        stream = self.open(request(b"/13B"), end=True)
        for _ in range(300):
            self.turn(0.01)
            while event := self.quic.next_event():
                if getattr(event, "stream_id", None) == stream:
                    return True
        return False


def connected(port, count=1, control=CONTROL, **settings):
    peers = [QuicPeer(port, **settings) for _ in range(count)]
    for _ in range(100):
        if all([peer.turn(0.005) and peer.quic._handshake_confirmed for peer in peers]):
            break
    else:
        raise TimeoutError("the server does not take the attacker's connections")
    for peer in peers:
        peer.open(control, unidirectional=True)
        peer.turn()
    return peers


def again(ports, act, times=200):
    """So many connections, one after another; each does the act and takes what comes of it."""
    for number in range(times):
        [peer] = connected(ports["quic"])
        act(peer, number)
        peer.turn(0.005)
    return []


def client_hello(port):
    """The ClientHello of a client, and the connection ID that it names as its own."""
    _, _, _, tls = aioquic()
    quic = QuicPeer(port).quic
    return bytes(quic._crypto_streams[tls.Epoch.INITIAL].sender._buffer), quic.host_cid


def initial(hello, source, destination):
    """A client's first datagram, of 1,200 bytes (RFC 9000 §17.2.2)."""
    _, _, crypto, _ = aioquic()
    keys = crypto.CryptoPair()
    keys.setup_initial(cid=destination, is_client=True, version=1)
    ids = bytes([len(destination)]) + destination + bytes([len(source)]) + source
    before = b"\xc1" + VERSION + ids + b"\0"
    length = 1200 - len(before) - 2
    frames = b"\x06\x00" + variable(len(hello)) + hello
    header = before + struct.pack(">HH", 0x4000 | length, 0)
    return keys.encrypt_packet(header, frames.ljust(1200 - len(header) - keys.aead_tag_size, b"\0"), 0)


def variable(value):
    """A variable-length integer (RFC 9000 §16)."""
    for prefix, size in ((0, 1), (1, 2), (2, 4), (3, 8)):
        if value < 1 << (8 * size - 2):
            return (prefix << (8 * size - 2) | value).to_bytes(size, "big")
    raise ValueError(value)


def acknowledgement(numbers):
    """An ACK frame (RFC 9000 §19.3) of these packets, at least two apart: each is a range of its own."""
    numbers = sorted(numbers, reverse=True)
    ranges = b"".join(variable(above - below - 2) + b"\0" for above, below in zip(numbers, numbers[1:]))
    return b"\x02" + variable(numbers[0]) + b"\0" + variable(len(numbers) - 1) + b"\0" + ranges


def frame(kind, length, payload=b""):
    """An HTTP/3 frame (RFC 9114 §7.1), whose length may be other than its payload's."""
    return variable(kind) + variable(length) + payload


def headers(section):
    return b"\x01" + struct.pack(">H", 0x4000 | len(section)) + section


def request(path):
    # Seven bits and more for the path's length (RFC 7541 §5.1).
    length = bytes([len(path)]) if len(path) < 127 else bytes([127, len(path) - 127])
    return headers(b"\x00\x00" + COMMON + b"\x51" + length + path)


def ask_and_close(ports):
    """What an ordinary client does."""
    [peer] = connected(ports["quic"])
    peer.open(request(b"/13B"), end=True)
    peer.turn(0.01)
    peer.quic.close()
    peer.turn(0.01)
