"""A relay of UDP between a client and a server on loopback: it delays, loses, damages, falls silent, and changes the
address that the server sees, as `Path` says; and it notes what can be seen of QUIC without keys (`Seen`)."""

import heapq
import random
import selectors
import socket
import threading
import time

TO_SERVER, TO_CLIENT = 0, 1
INITIAL, ZERO_RTT, HANDSHAKE, RETRY = range(4)
IP_RECVTOS = 13
LARGEST = 65536


class Path:
    """What happens on the way. Probabilities are of a datagram, each way; no more than `burst` in a row are lost or damaged by them,
    as in the interop runner's scenarios drop-rate and corrupt-rate."""

    def __init__(self, delay_s=0.0, loss=0.0, damage=0.0, burst=3, drop_to_server=(), silence=None, rebind=None, seed=1):
        self.delay_s, self.loss, self.damage, self.burst = delay_s, loss, damage, burst
        # Numbers, from 1, of datagrams to the server that are lost.
        self.drop_to_server = frozenset(drop_to_server)
        # From which datagram to the client on nothing passes, and for how many seconds.
        self.silence = silence
        # At which datagram to the client the server sees another `port`, or another `address`.
        self.rebind = rebind
        self.seed = seed


class Seen:
    """What the relay saw."""

    def __init__(self):
        self.datagrams = [0, 0]
        self.bytes = [0, 0]
        self.lost = 0
        self.versions = set()
        # Long headers of these kinds, by direction.
        self.kinds = {(way, kind): 0 for way in (TO_SERVER, TO_CLIENT) for kind in range(4)}
        self.version_negotiations = 0
        # Clients' addresses with the connection ID that each chose for itself in its handshake.
        self.connections = set()
        # The most that a server sent for each byte of a client that had not yet proven its address.
        self.amplification = 0.0
        self.marks = [[], []]
        self.rebound = 0
        # Clients' addresses.
        self.addresses = 0

    def still_marks(self, way):
        """Whether datagrams are ECN-capable (RFC 3168) at the end of a transfer: a sender stops where its peer reports no
        marks (RFC 9000 §13.4.2)."""
        last = self.marks[way][-40:]
        return len(last) >= 20 and sum(mark in (1, 2, 3) for mark in last) > len(last) / 2


class Flow:
    """One client's address, and the socket by which the server knows it."""

    def __init__(self, client, upstream):
        self.client, self.upstream = client, upstream
        self.before = [0, 0]
        self.is_validated = False


class UdpRelay:
    """A relay that runs, as a context. Clients find it at `port`."""

    def __init__(self, server, path, family=socket.AF_INET):
        self.server, self.path, self.seen = server, path, Seen()
        self.family = family
        self.host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self.front = self.bound(self.host)
        self.port = self.front.getsockname()[1]
        self.random = random.Random(path.seed)
        # Datagrams in a row that were lost or damaged, by direction.
        self.in_a_row = [0, 0]
        self.flows, self.waiting, self.number = {}, [], 0
        self.silent_until, self.was_silent = 0.0, False
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.front, selectors.EVENT_READ, None)
        self.is_over = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def bound(self, address):
        made = socket.socket(self.family, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if self.family == socket.AF_INET:
            made.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        made.bind((address, 0))
        made.setblocking(False)
        return made

    def run(self):
        while not self.is_over:
            timeout = 0.05
            if self.waiting:
                timeout = max(0.0, min(timeout, self.waiting[0][0] - time.monotonic()))
            for key, _ in self.selector.select(timeout):
                # A change of address closes a socket.
                if key.fileobj.fileno() >= 0:
                    self.receive(key.fileobj, key.data)
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                _, _, flow, way, data, tos = heapq.heappop(self.waiting)
                self.send(flow, way, data, tos)

    def receive(self, opened, flow):
        for _ in range(64):
            try:
                data, control, _, source = opened.recvmsg(LARGEST, 64)
            except OSError:
                return
            tos = next((value[0] for _, kind, value in control if kind == socket.IP_TOS), 0)
            if flow is None:
                self.handle(self.flow(source), TO_SERVER, data, tos)
            else:
                self.handle(flow, TO_CLIENT, data, tos)

    def flow(self, client):
        if client not in self.flows:
            self.seen.addresses += 1
            self.flows[client] = flow = Flow(client, self.bound(self.host))
            self.selector.register(flow.upstream, selectors.EVENT_READ, flow)
        return self.flows[client]

    def handle(self, flow, way, data, tos):
        seen, path = self.seen, self.path
        seen.datagrams[way] += 1
        seen.bytes[way] += len(data)
        seen.marks[way].append(tos & 3)
        self.look(flow, way, data)
        number, now = seen.datagrams[way], time.monotonic()
        if way == TO_CLIENT and path.silence and not self.was_silent and number >= path.silence[0]:
            self.was_silent, self.silent_until = True, now + path.silence[1]
        if way == TO_CLIENT and path.rebind and not seen.rebound and number >= path.rebind[0]:
            self.rebind(flow, path.rebind[1])
        if now < self.silent_until or way == TO_SERVER and number in path.drop_to_server or self.strikes(way, path.loss):
            seen.lost += 1
            return
        self.weigh(flow, way, data)
        if self.strikes(way, path.damage):
            seen.lost += 1
            at = self.random.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ (1 + self.random.randrange(255))]) + data[at + 1:]
        if path.delay_s:
            self.number += 1
            heapq.heappush(self.waiting, (now + path.delay_s, self.number, flow, way, data, tos))
        else:
            self.send(flow, way, data, tos)

    def strikes(self, way, probability):
        """Whether a datagram is lost or damaged, by chance."""
        if not probability:
            return False
        struck = self.in_a_row[way] < self.path.burst and self.random.random() < probability
        self.in_a_row[way] = self.in_a_row[way] + 1 if struck else 0
        return struck

    def send(self, flow, way, data, tos):
        control = [(socket.IPPROTO_IP, socket.IP_TOS, bytes([tos & 3, 0, 0, 0]))] if self.family == socket.AF_INET else []
        try:
            if way == TO_SERVER:
                flow.upstream.sendmsg([data], control, 0, self.server)
            else:
                self.front.sendmsg([data], control, 0, flow.client)
        except OSError:
            # Its receiver has gone, or its buffer is full: lost.
            self.seen.lost += 1

    def rebind(self, flow, what):
        self.seen.rebound += 1
        self.selector.unregister(flow.upstream)
        flow.upstream.close()
        flow.upstream = self.bound("127.0.0.2" if what == "address" else self.host)
        self.selector.register(flow.upstream, selectors.EVENT_READ, flow)

    def weigh(self, flow, way, data):
        """RFC 9000 §8.1: a client's Handshake packet, or a Retry's token, proves its address."""
        if flow.is_validated:
            return
        flow.before[way] += len(data)
        if way == TO_SERVER:
            flow.is_validated = any(kind == HANDSHAKE or token for kind, _, token in packets(data))
        elif flow.before[TO_SERVER]:
            self.seen.amplification = max(self.seen.amplification, flow.before[TO_CLIENT] / flow.before[TO_SERVER])

    def look(self, flow, way, data):
        if data[0] & 0x80 and len(data) > 5:
            version = int.from_bytes(data[1:5], "big")
            if version == 0:
                self.seen.version_negotiations += 1
            else:
                self.seen.versions.add(version)
        for kind, source, _ in packets(data):
            self.seen.kinds[way, kind] += 1
            if way == TO_SERVER and kind == INITIAL:
                self.seen.connections.add((flow.client, source))


def packets(data):
    """The long headers of a datagram (RFC 9000 §17.2): kind, source's connection ID, length of the token."""
    at = 0
    while at < len(data) and data[at] & 0x80 and data[at + 1:at + 5] == b"\x00\x00\x00\x01":
        try:
            kind = data[at] >> 4 & 3
            start = at + 6 + data[at + 5]
            end = start + 1 + data[start]
            source = data[start + 1:end]
            if kind == RETRY:
                yield kind, source, 0
                return
            token = 0
            if kind == INITIAL:
                token, end = integer(data, end)
                end += token
            length, end = integer(data, end)
        except IndexError:
            return
        yield kind, source, token
        at = end + length


def integer(data, at):
    """A variable-length integer (RFC 9000 §16), and where it ends."""
    size = 1 << (data[at] >> 6)
    if at + size > len(data):
        raise IndexError
    return int.from_bytes(data[at:at + size], "big") & ((1 << 8 * size - 2) - 1), at + size
