"""The attacks of bench/hostile on UDP and QUIC: datagrams of their own making, and connections of aioquic's whose packets are made
here. As those over TCP, each does a fixed amount of work and then holds what it opened."""

import itertools
import os
import random
import socket
import struct
import time

from .quic_peer import VERSION, Counted, Datagrams, acknowledgement, again, client_hello, connected, initial, request, variable

UDP_SEGMENT = 103


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
    """2,000 connections that are never gone on with, from as many ports; each port may be sent 3 x its datagram"""
    hello, source = client_hello(ports["quic"])
    sockets = []
    for _ in range(2000):
        sockets.append(Datagrams(ports["quic"]))
        sockets[-1].send(initial(hello, source, os.urandom(8)))
        time.sleep(0.0005)
    return Counted(sockets)


def quic_moves(ports, _path):
    """One connection whose packets come from 1,000 ports, and that answers no PATH_CHALLENGE; each port may be sent 3 x its packet"""
    [peer] = connected(ports["quic"])
    sockets = []
    for _ in range(1000):
        sockets.append(Datagrams(ports["quic"]))
        # PING and padding.
        sockets[-1].send(peer.packet(b"\x01" + bytes(40)))
        time.sleep(0.0005)
    return Counted(sockets)


def reset_bait(ports, _path):
    """40,000 packets of 21 to 1,200 bytes for connections that do not exist; what comes back is sent back, and may not be more"""
    bait = Datagrams(ports["quic"])
    for number in range(1000):
        length = (21, 22, 40, 41, 42, 43, 44, 60, 100, 300, 1200)[number % 11]
        bait.socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, length)
        bait.send(b"".join(bytes([0x40 | at]) + os.urandom(length - 1) for at in range(40)))
        time.sleep(0.0005)
        bait.socket.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
        for reset in bait.receive():
            bait.send(reset)
    return Counted([bait])


def spoofed(ports, _path):
    """4 connections, and 5,000 forged Retry, Version Negotiation and unknown-version packets for each; they must go on"""
    peers = connected(ports["quic"], 4)
    flood = Datagrams(ports["quic"])
    for number in range(5000):
        for peer in peers:
            ids = b"".join(bytes([len(one)]) + one for one in (peer.server_id(), peer.quic.host_cid))
            # Once from the client's own address, once from another one.
            whence = (peer.socket, flood)[number % 2]
            whence.send(b"\xf0" + VERSION + ids + b"a token" + os.urandom(16))
            whence.send(b"\x80" + bytes(4) + ids + b"\x1a\x2a\x3a\x4a")
            whence.send((b"\xc3\x1a\x2a\x3a\x4a" + ids).ljust(1200, b"x"))
            if number % 50 == 49:
                peer.turn()
                flood.receive()
    if not all([peer.is_answered() for peer in peers]):
        raise ConnectionError("a connection has ended for a packet that anybody can make")
    return Counted([flood, *[peer.socket for peer in peers]])


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


def quic_acks(ports, path):
    """4 connections, 5,000 packets each that only acknowledge, every second one 300 ranges"""
    peers = connected(ports["quic"], 4, max_stream_data=1_500_000, max_data=1_500_000)
    frames = []
    for peer in peers:
        # The server's packets stay known, and what is read gives no further credit.
        _, _, space = peer.quic._spaces.values()
        space.ack_queue.subtract = lambda *_: None
        peer.quic._local_max_data.used = -(1 << 40)
        peer.open(request(path), end=True)
        peer.turn(0.2)
        numbers = [number for each in space.ack_queue for number in each][::-2][:300]
        frames.append((acknowledgement(numbers[:1]), acknowledgement(numbers)))
    for number in range(5000):
        for peer, each in zip(peers, frames):
            peer.socket.send(peer.packet(each[number % 2]))
    return peers


def optimistic_acks(ports, path):
    """200 connections, one after another, that ask for an answer and acknowledge 1,000 packets more than have come"""
    def act(peer, _number):
        peer.open(request(path), end=True)
        peer.turn(0.002)
        _, _, space = peer.quic._spaces.values()
        # One range from the largest down to the first.
        largest = space.largest_received_packet + 1000
        peer.socket.send(peer.packet(b"\x02" + variable(largest) + b"\0\0" + variable(largest)))
    return again(ports, act)


def connection_ids(ports, _path):
    """4 connections, 30,000 new connection IDs each, every one of which retires all before it, and no acknowledgement"""
    peers = connected(ports["quic"], 4)
    for first in range(100, 30_100, 30):
        for peer in peers:
            peer.socket.send(peer.packet(b"".join(
                b"\x18" + 2 * variable(number) + b"\x08" + os.urandom(8 + 16) for number in range(first, first + 30))))
    return peers


def retired_ids(ports, _path):
    """4 connections, each of which takes the next of the server's connection IDs and retires the last one, 1,000 times"""
    peers = connected(ports["quic"], 4)
    for number in range(1000):
        for peer in peers:
            peer.quic.change_connection_id()
            peer.turn()
    return peers


def path_challenges(ports, _path):
    """4 connections, 1,000 packets each with 120 PATH_CHALLENGE, and no acknowledgement"""
    peers = connected(ports["quic"], 4)
    for _ in range(1000):
        for peer in peers:
            peer.socket.send(peer.packet(b"".join(b"\x1a" + os.urandom(8) for _ in range(120))))
    return peers


def stream_gaps(ports, _path):
    """4 connections with 100 streams each, on each of which 25 single bytes come with gaps between them, in packets of 1,200 bytes"""
    peers = connected(ports["quic"], 4)
    for at in range(25):
        for stream in range(0, 400, 4):
            for peer in peers:
                one = b"\x0e" + variable(stream) + variable(2 * at + 1) + b"\x01x"
                peer.socket.send(peer.packet(one.ljust(1150, b"\0")))
            time.sleep(0.0001)
        for peer in peers:
            peer.turn()
    return peers


def stream_holes(ports, _path):
    """4 connections that send all that they may on up to 100 streams each, but for each stream's first byte"""
    peers = connected(ports["quic"], 4)
    places = []
    for peer in peers:
        credit, of_stream = peer.quic._remote_max_data, peer.quic._remote_max_stream_data_bidi_remote
        # A hundred bytes of the connection's credit are the control stream's.
        lengths = [min(of_stream, credit - 100 - before) for before in range(0, credit - 100, of_stream)][:100]
        places.append([(4 * number, at) for number, length in enumerate(lengths) for at in range(1, length - 1100, 1100)])
    for number, each in enumerate(itertools.zip_longest(*places)):
        for peer, place in zip(peers, each):
            if place:
                stream, at = place
                peer.socket.send(peer.packet(b"\x0c" + variable(stream) + variable(at) + bytes(1100)))
                peer.socket.receive()
        if number % 4 == 3:
            time.sleep(0.0002)
    return peers


# What the server may send for each byte that it gets. An address that is not validated may be sent three times as much (RFC 9000 §8.1).
ANSWERED_AT_MOST = {quic_begun: 3, quic_moves: 3, reset_bait: 1, spoofed: 1}
FILE = "/50MB"
TABLE = tuple((attack, (FILE,)) for attack in (
    udp_rubbish, quic_begun, quic_moves, reset_bait, spoofed, quic_pings, quic_acks, optimistic_acks, connection_ids, retired_ids,
    path_challenges, stream_gaps, stream_holes))
