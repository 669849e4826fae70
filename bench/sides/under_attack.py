"""A server under one attack of bench/hostile: who attacks it, and who asks it for something meanwhile."""

import multiprocessing
import os
import select
import socket
import threading
import time

from . import attacks, hostile, quic_peer, servers

CLIENT_CORE = 1
# Requests before anything is measured, over TCP and over UDP connections. io_uring has 128 buffers, of which each thing that
# arrives takes the next.
WARM_UP, WARM_UP_OVER_UDP = 300, 100
# Then so many honest clients at once, each with a page of so many files over HTTP/2.
PAGES, FILES = 4, 100
# An answer that takes longer has failed.
PATIENCE_S = 20


class Honest:
    """A client that asks at a steady pace, and takes the time from when each request was due."""

    EVERY_S = 0.01

    def __init__(self, port):
        self.port, self.took, self.failed = port, [], 0
        self.connection = None
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        due = time.monotonic()
        while not self.end.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if self.connection is None:
                    self.connection = self.connect()
                self.ask(self.connection)
            except OSError:
                self.failed += 1
                self.connection = None
            self.took.append(time.monotonic() - due)
            due = max(due + self.EVERY_S, time.monotonic() - 1)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def ask(self, connection):
        connection.sendall(hostile.get(b"/13B"))
        answer = b""
        while not answer.endswith(b"\r\n\r\n" + answer[-13:]) or len(answer) < 30:
            piece = connection.recv(4096)
            if not piece:
                raise OSError("ended early")
            answer += piece

    def p99(self):
        return sorted(self.took)[int(len(self.took) * 0.99)] if self.took else float("inf")


class HonestOverHttp3(Honest):
    """The same over HTTP/3, by aioquic: what comes over UDP takes the way of the attack."""

    def connect(self):
        try:
            [peer] = quic_peer.connected(self.port)
        except TimeoutError as error:
            raise OSError("no connection") from error
        return peer

    def ask(self, connection):
        stream, until = connection.open(quic_peer.request(b"/13B"), end=True), time.monotonic() + PATIENCE_S
        connection.flush()
        while time.monotonic() < until:
            connection.wait(until)
            while event := connection.quic.next_event():
                if getattr(event, "stream_id", None) == stream and getattr(event, "end_stream", False):
                    connection.flush()
                    return
            if connection.quic._close_event is not None:
                break
        raise OSError("no answer")


def honest(row, server):
    """The client beside an attack: over UDP where the attack is."""
    ports = attacked_ports(server.ports)
    return HonestOverHttp3(ports["quic"]) if row.is_over_udp else Honest(ports["http"])


def attacked_ports(ports):
    """A server's ports, by the names that attacks know."""
    return {"h2c": ports["http"], "quic": ports["https"]} | ports


def attacker(server, row, name="wirelap"):
    """A process that attacks this server, and has to be started. Its `done` is set once all of the attack was carried out. Its `ratio`
    becomes what the server sent for each byte that it got, where the attack counts that; until then it is negative."""

    def attack():
        os.sched_setaffinity(0, {CLIENT_CORE})
        # The honest client has the core whenever it wants it: what it waits for is the server, whatever the attacker does.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        attacks.run(row.attack, attacked_ports(server.ports), row.path_at(name), process)

    process = multiprocessing.Process(target=attack, daemon=True)
    process.done, process.ratio = multiprocessing.Event(), multiprocessing.Value("d", -1)
    return process


def warm_up(row, server, name="wirelap"):
    """What a server reserves for honest clients is no attack's, and no buffers that all connections share: requests one after
    another over HTTP/1.1, then over clear HTTP/2 pages of many files and the row's route, four of each at once, read to their
    ends or 300 kB of them; before attacks over UDP also requests over HTTP/3, one after another."""
    ports = attacked_ports(server.ports)
    for _ in range(WARM_UP):
        hostile.connect(ports["http"], hostile.get(b"/13B")).close()
    for page in range(2):
        clients = []
        for _ in range(PAGES):
            asked = attacks.opened(1, row.path_at(name)) if page else attacks.asked(b"/13B", FILES)
            clients.append(hostile.connect(ports["h2c"], attacks.ALL_CREDIT + attacks.MORE_FOR_ALL + asked))
        read_some(clients)
    for _ in range(WARM_UP_OVER_UDP if row.is_over_udp else 0):
        quic_peer.ask_and_close(ports)


def read_some(clients, most=300_000):
    """Reads from each until it has had so many bytes, or none has sent any for a while. Closes them."""
    left = dict.fromkeys(clients, most)
    while ready := select.select([one for one, bytes_left in left.items() if bytes_left > 0], [], [], 0.1)[0]:
        for one in ready:
            try:
                came = len(one.recv(65536))
            except OSError:
                came = 0
            left[one] = left[one] - came if came else 0
    for one in clients:
        one.close()


def attack_once(server, row, seconds):
    """One row against a server that goes on; gives its memory at the highest, and once the attacker has gone."""
    pid, most = server.process.pid, 0
    process = attacker(server, row)
    process.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        most = max(most, servers.anonymous(pid))
        time.sleep(0.005)
    process.terminate()
    process.join()
    time.sleep(0.3)
    return most, servers.anonymous(pid)
