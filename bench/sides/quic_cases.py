"""The cases of `bench/interop`: those of the QUIC interop runner (github.com/quic-interop/quic-interop-runner) by its names,
then four more. Each raises `Failed` or `Unsupported`, or holds. Where the runner has a link of 10 Mbit/s here is loopback,
so silences and changes of address come after a number of datagrams, not after a time."""

import hashlib
import os
import signal
import socket
import subprocess
import time

from . import quic_clients, quic_qlogs, quic_sides
from .quic_sides import Failed, Spot, Unsupported, Wanted
from .udp_relay import RETRY, TO_CLIENT, TO_SERVER, ZERO_RTT, Path, UdpRelay

SMALL, MIDDLE, LARGE = "small", "middle", "large"
HUNDRED = [f"hundred-{number}" for number in range(100)]
MANY = [f"many-{number}" for number in range(2000)]
FILES = {SMALL: 1_000, MIDDLE: 2_000_000, LARGE: 7_000_000, **dict.fromkeys(HUNDRED, 5_000), **dict.fromkeys(MANY, 32)}
# Handshakes over a bad path: the runner makes 50.
HANDSHAKES = 5


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Pair:
    """A client and a server, and what they need."""

    def __init__(self, wirelap, spot: Spot, client, server):
        self.wirelap, self.spot, self.client, self.server = wirelap, spot, client, server

    def serve(self, wanted):
        return quic_sides.SERVERS[self.server](self.wirelap, self.spot, wanted)

    def command(self, wanted, port, names, out):
        path = "/ws/echo" if wanted.websocket else None
        urls = [f"https://{quic_sides.at(wanted.address, port)}{path or '/' + name}" for name in names]
        return quic_clients.CLIENTS[self.client](self.wirelap, self.spot, wanted, urls, out)

    def chosen(self, **wanted):
        """What is wanted of either side, of the one that can choose: the other program's."""
        own, other = Wanted(), Wanted(**wanted)
        if self.client == self.server:
            raise Unsupported("neither side of wirelap has a flag for it")
        return (own, other) if self.client == "wirelap" else (other, own)


class Exchange:
    """One server, some runs of a client through a relay. Gives what the relay saw and what the client said."""

    def __init__(self, pair, client=None, server=None, path=None):
        self.pair, self.client, self.server = pair, client or Wanted(), server or Wanted()
        self.client.address = self.server.address
        self.client.large_certificate = self.server.large_certificate
        self.server.closes_idle = pair.client in quic_clients.BROWSERS and (self.client.resume or self.client.early)
        self.path = path or Path()

    def run(self, names, times=1):
        pair, told = self.pair, {}
        # What a client cannot do is known before a server is started.
        pair.command(self.client, 1, names, pair.spot.fresh())
        server = pair.serve(self.server)
        family = socket.AF_INET6 if ":" in self.server.address else socket.AF_INET
        try:
            with UdpRelay((self.server.address, server.port), self.path, family) as relay:
                for _ in range(times):
                    told = self.once(relay, names)
                time.sleep(0.05)
                return relay.seen, told
        except Failed as failed:
            raise Failed(f"{failed}{self.blame(server)}") from None
        finally:
            server.kill()

    def once(self, relay, names):
        pair, out = self.pair, self.pair.spot.fresh()
        command = pair.command(self.client, relay.port, names, out)
        client = subprocess.Popen(command, text=True, cwd=out, start_new_session=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        try:
            said, complained = client.communicate(timeout=quic_sides.PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"{pair.client} had not ended after {quic_sides.PATIENCE_S} s") from None
        finally:
            end_group(client)
        if client.returncode:
            words = (complained or said).strip().splitlines()
            raise Failed(f"{pair.client}: {words[-1][-200:] if words else client.returncode}")
        is_verbose = pair.client == "curl" or self.client.verbose
        told = quic_clients.told(pair.client, said + (complained if is_verbose else ""))
        self.compare(names, out, told)
        return told

    def compare(self, names, out, told):
        """SHA-256 of each file, or answers and bytes of who keeps none. Our load engine keeps none either, and counts by itself."""
        if self.client.websocket or self.pair.client == "wirelap" and self.client.makes_load():
            return
        files = [os.path.join(self.pair.spot.www, name) for name in names]
        if self.pair.client in quic_clients.COUNTS:
            due = len(files), sum(map(os.path.getsize, files))
            needs((told["answers"], told["bytes"]) == due,
                  f"{told['answers']} answers of {told['bytes']} bytes came, due were {due[0]} of {due[1]}{told.get('errors', '')}")
            return
        for name, served in zip(names, files):
            there = os.path.join(out, name)
            if not os.path.exists(there):
                raise Failed(f"{name} is missing")
            if digest(there) != digest(served):
                raise Failed(f"{name} has another content")

    def blame(self, server):
        code = getattr(server, "process", None) and server.process.poll()
        return f"; the server ended with {code}" if code is not None else ""


def end_group(process):
    """Ends what a client has started, too."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def needs(condition, words):
    if not condition:
        raise Failed(words)


def most_connections(pair):
    """To one server. Chromium has opened a second one beside the first in two of six runs."""
    return 2 if pair.client == "Chromium" else 1


def handshake(pair):
    """A file of 1 kB, with version 1 and no Retry"""
    seen, _ = Exchange(pair).run([SMALL])
    needs(seen.versions == {1} and not seen.kinds[TO_CLIENT, RETRY], f"versions {seen.versions}")


def transfer(pair):
    """A file of 7 MB, and one of 2 MB beside it"""
    Exchange(pair).run([LARGE, MIDDLE])


def longrtt(pair):
    """A round trip of 1.5 s"""
    Exchange(pair, path=Path(delay_s=0.75)).run([SMALL])


def chacha20(pair):
    """The other program takes TLS_CHACHA20_POLY1305_SHA256 alone, or first where it is a server in Go"""
    client, server = pair.chosen(chacha20=True)
    client.verbose = pair.client == "wirelap"
    _, told = Exchange(pair, client, server).run([SMALL])
    is_told = client.verbose or "cipher" in told
    needs(not is_told or "CHACHA20" in told.get("cipher", ""), f"the cipher is {told.get('cipher', 'not told')}")


def multiplexing(pair):
    """2,000 files of 32 bytes over one connection; curl and curl_cffi open up to ten where they please, Chromium two"""
    seen, _ = Exchange(pair).run(MANY)
    needs(len(seen.connections) <= max(most_connections(pair), 10 if pair.client in quic_clients.LIBCURL else 1),
          f"{len(seen.connections)} connections")


def retry(pair):
    """The server asks for a Retry's token first"""
    seen, _ = Exchange(pair, server=Wanted(retry=True)).run([MIDDLE])
    needs(seen.kinds[TO_CLIENT, RETRY], "no Retry was sent")


def resumption(pair):
    """A second connection resumes the first one's session"""
    path = Path(delay_s=quic_sides.EARLY_RTT_S / 2)
    seen, told = Exchange(pair, Wanted(resume=True), path=path).run([SMALL, MIDDLE])
    # What a browser says holds for a first connection that stands, too.
    is_resumed = told.get("resumed") and (pair.client not in quic_clients.BROWSERS or seen.kinds[TO_SERVER, ZERO_RTT])
    needs(is_resumed, "the second connection made a full handshake")


def zerortt(pair):
    """The second connection's request goes within its handshake, and is accepted"""
    path = Path(delay_s=quic_sides.EARLY_RTT_S / 2)
    seen, told = Exchange(pair, Wanted(early=True), path=path).run([SMALL, MIDDLE])
    needs(seen.kinds[TO_SERVER, ZERO_RTT], "no 0-RTT packet was sent")
    needs(told.get("early"), "the server rejected the early data")


def http3(pair):
    """100 files of 5 kB at once over one connection; Chromium opens a second one at times"""
    seen, _ = Exchange(pair).run(HUNDRED)
    needs(len(seen.connections) <= most_connections(pair), f"{len(seen.connections)} connections")


def blackhole(pair):
    """In the middle of 7 MB nothing passes for 2 s"""
    Exchange(pair, path=Path(silence=(600, 2.0))).run([LARGE])


def keyupdate(pair):
    """Keys are updated (RFC 9001 §6): by aioquic's client when told, by quic-go after 100 packets, and by ours, as by any side of
    quinn-proto, after 10 to 1,000 packets of its own: a server that sends 7 MB, a client that makes 1,500 requests"""
    # oha asks for files of two lengths over two connections.
    names = {"wirelap": [SMALL], "oha": [LARGE]}.get(pair.client, [SMALL, LARGE])
    seen, _ = Exchange(pair, Wanted(key_update=True)).run(names)
    sent = seen.datagrams[TO_SERVER if pair.client == "wirelap" else TO_CLIENT]
    needs(sent > 1_000 and len(seen.connections) <= most_connections(pair), f"{sent} packets over {len(seen.connections)} connections")


def ecn(pair):
    """Our side marks packets ECN-capable to the end, so the other one reports the marks (RFC 9000 §13.4)"""
    seen, _ = Exchange(pair, path=Path(delay_s=0.005)).run([LARGE])
    ways = [way for way, side in ((TO_SERVER, pair.client), (TO_CLIENT, pair.server)) if side == "wirelap"]
    needs(all(seen.marks[way] for way in ways) and all(seen.marks[way][0] in (1, 2) for way in ways), "the first packets have no mark")
    if not all(seen.still_marks(way) for way in ways):
        other = pair.server if pair.client == "wirelap" else pair.client
        needs(other in quic_sides.WITHOUT_ECN, f"the marks end, although {other} reports them")
        raise Unsupported(f"{other} reports no marks; ours end, as they have to")


def amplificationlimit(pair):
    """A chain of certificates too large for 3 x what came, and the client's 2nd to 5th datagram are lost"""
    path = Path(drop_to_server=range(2, 6))
    seen, _ = Exchange(pair, server=Wanted(large_certificate=True), path=path).run([SMALL])
    needs(pair.server != "wirelap" or seen.amplification <= 3.0, f"the server sent {seen.amplification:.2f} x before the address was proven")


def handshakeloss(pair):
    """Handshakes over a path that loses three of ten datagrams, three in a row at most"""
    Exchange(pair, path=Path(loss=0.3, delay_s=0.005)).run([SMALL], times=HANDSHAKES)


def transferloss(pair):
    """7 MB over a path that loses one datagram in twenty"""
    Exchange(pair, path=Path(loss=0.05, delay_s=0.001)).run([LARGE])


def handshakecorruption(pair):
    """Handshakes over a path that damages three of ten datagrams, three in a row at most"""
    Exchange(pair, path=Path(damage=0.3, delay_s=0.005)).run([SMALL], times=HANDSHAKES)


def transfercorruption(pair):
    """7 MB over a path that damages one datagram in fifty"""
    Exchange(pair, path=Path(damage=0.02, delay_s=0.001)).run([LARGE])


def ipv6(pair):
    """As handshake, from ::1 to ::1"""
    Exchange(pair, server=Wanted(address="::1")).run([SMALL])


def v2(_pair):
    """QUIC version 2 (RFC 9369)"""
    raise Unsupported("quinn-proto has no version 2")


def rebound(pair, what):
    try:
        seen, _ = Exchange(pair, path=Path(rebind=(1000, what), delay_s=0.005)).run([LARGE])
    except Failed as failed:
        if pair.server == "HAProxy" and "has forgotten" in str(failed):
            raise Unsupported("HAProxy answers packets from a new address by a stateless reset") from None
        raise
    needs(seen.rebound, "the transfer was over before the change")


def rebind_port(pair):
    """In the middle of 7 MB the NAT's port changes"""
    rebound(pair, "port")


def rebind_addr(pair):
    """In the middle of 7 MB the NAT's address changes"""
    rebound(pair, "address")


def connectionmigration(pair):
    """In the middle of 7 MB the client goes on from another port of its own (RFC 9000 §9.2)"""
    seen, _ = Exchange(pair, Wanted(migrate=True), path=Path(delay_s=0.02)).run([LARGE])
    needs(seen.addresses > 1, "the client kept its address")


def websocket(pair):
    """20 messages and their echoes over a WebSocket (RFC 9220)"""
    if pair.server in ("nginx", "Caddy", "HAProxy"):
        raise Unsupported(f"{pair.server} has no echo to ask for")
    Exchange(pair, Wanted(websocket=True)).run([SMALL])


def leaves(pair):
    """A client is killed in the middle of 7 MB; another one is served, and the server ends in good order"""
    server = pair.serve(Wanted())
    try:
        with UdpRelay(("127.0.0.1", server.port), Path(delay_s=0.02)) as relay:
            gone = subprocess.Popen(pair.command(Wanted(), relay.port, [LARGE], pair.spot.fresh()), start_new_session=True,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=pair.spot.fresh())
            until = time.monotonic() + 20
            while relay.seen.datagrams[TO_CLIENT] < 200 and time.monotonic() < until:
                time.sleep(0.002)
            was_there = gone.poll() is None
            end_group(gone)
            needs(was_there, "the client had ended before it could leave")
            exchange = Exchange(pair)
            exchange.once(relay, [MIDDLE])
        if pair.server == "wirelap":
            code = server.stop()
            needs(code == 0, f"our server ended with {code} after SIGTERM")
    finally:
        server.kill()


def dies(pair):
    """The server is killed in the middle of 7 MB: the client says so, and leaves no file"""
    if pair.client != "wirelap":
        raise Unsupported("a case for our client alone")
    server = pair.serve(Wanted())
    out = pair.spot.fresh()
    try:
        with UdpRelay(("127.0.0.1", server.port), Path(delay_s=0.02)) as relay:
            command = pair.command(Wanted(), relay.port, [LARGE], out) + ["--stall-timeout", "3"]
            client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            until = time.monotonic() + 20
            while relay.seen.datagrams[TO_CLIENT] < 200 and time.monotonic() < until:
                time.sleep(0.002)
            server.kill()
            try:
                words, _ = client.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                client.kill()
                raise Failed("the client waits on") from None
        needs(client.returncode == 1, f"the client ended with {client.returncode}: {words[-200:]}")
        needs(not os.path.exists(os.path.join(out, LARGE)), "half a file has the whole one's name")
    finally:
        server.kill()


def qlogs(pair):
    """7 MB, with a silence of 0.1 s in the middle: both sides' qlogs tell every packet alike (direction, type, number, length; to
    Firefox a packet that it sends has the length of its datagram up to its end)"""
    other = pair.server if pair.client == "wirelap" else pair.client
    if other in quic_sides.WITHOUT_QLOG:
        raise Unsupported(f"{other} writes no qlog")
    folder = pair.spot.fresh()
    # All of them take the folder's name from this.
    os.environ["QLOGDIR"] = folder
    before = quic_qlogs.overflowed()
    try:
        # A browser ends no connection by itself.
        server = pair.serve(Wanted(closes_idle=pair.client in quic_clients.BROWSERS))
        try:
            with UdpRelay(("127.0.0.1", server.port), Path(silence=(600, 0.1), delay_s=0.005)) as relay:
                Exchange(pair).once(relay, [LARGE])
                own, theirs = quic_qlogs.read(folder, "client" if pair.client == "wirelap" else "server")
        finally:
            server.kill()
    finally:
        del os.environ["QLOGDIR"]
    overflowed = quic_qlogs.overflowed() - before
    wrong = quic_qlogs.disagreement(own, theirs, pair.client == "Firefox")
    needs(wrong is None, wrong)
    lost, unseen = relay.seen.lost, quic_qlogs.unseen(own, theirs)
    needs(lost, "nothing was lost")
    dropped = quic_qlogs.dropped(theirs)
    # After the handshake a datagram holds one packet.
    most = lost + overflowed + dropped + quic_qlogs.AFTER_THE_END
    needs(unseen <= most, f"{unseen} packets are in one file alone, the relay lost {lost} datagrams, full sockets {overflowed}, "
          f"{other} says to have dropped {dropped}")


# By the runner's names, in its order.
RUNNER = (handshake, transfer, longrtt, chacha20, multiplexing, retry, resumption, zerortt, http3, blackhole, keyupdate, ecn,
          amplificationlimit, handshakeloss, transferloss, handshakecorruption, transfercorruption, ipv6, v2, rebind_port,
          rebind_addr, connectionmigration)
OWN = (websocket, leaves, dies, qlogs)
CASES = {case.__name__.replace("_", "-"): case for case in (*RUNNER, *OWN)}
