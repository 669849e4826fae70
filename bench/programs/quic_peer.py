"""aioquic as a client and as a server of HTTP/3, for `bench/interop`: files, WebSockets (RFC 9220), and what a case asks for.

    quic_peer.py server --port P --cert FILE --key FILE --root DIR [--address A] [--retry] [--chacha20]
    quic_peer.py client --ca FILE --out DIR [--resume] [--early] [--chacha20] [--key-update] [--websocket] URL...

Where the variable QLOGDIR names a folder, each connection leaves a qlog file there. Both print lines of JSON: a server says `{"ready": true}` and what each handshake agreed on, a client one line at its end.
`--resume` asks for the first URL, then for the others over a second connection that resumes the session; `--early` asks
within that one's handshake (0-RTT).
"""

import argparse
import asyncio
import json
import os
import ssl
import sys
from urllib.parse import urlparse

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection, Setting
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, StreamReset
from aioquic.quic.logger import QuicFileLogger
from aioquic.tls import CipherSuite

MASK = b"\x01\x02\x03\x04"
MESSAGE = b"a message over HTTP/3 "
MESSAGES = 20


def say(**line):
    print(json.dumps(line), flush=True)


def frame(payload, mask=b""):
    """A WebSocket text frame of less than 126 bytes (RFC 6455 §5.2)."""
    masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload)) if mask else payload
    return bytes([0x81, len(payload) | (0x80 if mask else 0)]) + mask + masked


def frames(buffer):
    """The whole frames in `buffer`, as opcode and payload, and what is left of it."""
    found = []
    while len(buffer) >= 2:
        length, masked = buffer[1] & 0x7F, buffer[1] & 0x80
        start = 6 if masked else 2
        if length > 125 or len(buffer) < start + length:
            break
        payload = buffer[start:start + length]
        if masked:
            payload = bytes(byte ^ buffer[2 + index % 4] for index, byte in enumerate(payload))
        found.append((buffer[0] & 15, payload))
        buffer = buffer[start + length:]
    return found, buffer


class Side(QuicConnectionProtocol):
    """Either end: it has HTTP/3 as soon as its ALPN, or a session's, is known."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.handshake = None
        self.end = None

    def begin(self):
        if self.http is None:
            self.http = H3Connection(self._quic)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.begin()
        elif isinstance(event, HandshakeCompleted):
            self.handshake = {"resumed": event.session_resumed, "early": event.early_data_accepted}
            self.handshake_done()
        elif isinstance(event, ConnectionTerminated):
            self.end = f"{event.error_code:#x} {event.reason_phrase}"
        if self.http is not None:
            for found in self.http.handle_event(event):
                self.http_event(found)
        self.other(event)

    def handshake_done(self):
        pass

    def other(self, event):
        pass


class Client(Side):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.answers = {}
        self.changed = asyncio.Event()

    def get(self, url):
        stream = self._quic.get_next_available_stream_id()
        self.answers[stream] = {"status": None, "body": [], "whole": False, "name": os.path.basename(url.path)}
        self.http.send_headers(stream, [
            (b":method", b"GET"), (b":scheme", b"https"), (b":authority", url.netloc.encode()),
            (b":path", url.path.encode())], end_stream=True)

    def http_event(self, event):
        answer = self.answers.get(event.stream_id)
        if answer is None:
            return
        if isinstance(event, HeadersReceived):
            answer["status"] = int(dict(event.headers).get(b":status", b"0"))
        elif isinstance(event, DataReceived):
            answer["body"].append(event.data)
        answer["whole"] |= event.stream_ended
        self.changed.set()

    def other(self, event):
        if isinstance(event, (ConnectionTerminated, StreamReset)):
            self.changed.set()

    async def until(self, condition):
        while not condition():
            if self.end is not None:
                raise OSError(f"the connection ended: {self.end}")
            self.changed.clear()
            if not condition():
                await self.changed.wait()

    async def fetch(self, urls, out):
        for url in urls:
            self.get(url)
        self.transmit()
        await self.until(lambda: all(answer["whole"] for answer in self.answers.values()))
        for answer in self.answers.values():
            if answer["status"] != 200:
                raise OSError(f"{answer['name']}: {answer['status']}")
            with open(os.path.join(out, answer["name"]), "wb") as file:
                file.write(b"".join(answer["body"]))
        self.answers.clear()

    async def echo(self, url):
        """Opens a WebSocket by an extended CONNECT, and has every message back."""
        while not self.http.received_settings:
            await asyncio.sleep(0.01)
        if self.http.received_settings.get(Setting.ENABLE_CONNECT_PROTOCOL) != 1:
            raise OSError("the server does not offer extended CONNECT")
        stream = self._quic.get_next_available_stream_id()
        self.answers[stream] = answer = {"status": None, "body": [], "whole": False}
        self.http.send_headers(stream, [
            (b":method", b"CONNECT"), (b":protocol", b"websocket"), (b":scheme", b"https"),
            (b":authority", url.netloc.encode()), (b":path", url.path.encode()), (b"sec-websocket-version", b"13")])
        self.transmit()
        await self.until(lambda: answer["status"] is not None)
        if answer["status"] != 200:
            raise OSError(f"the WebSocket was refused: {answer['status']}")
        for number in range(MESSAGES):
            self.http.send_data(stream, frame(MESSAGE + str(number).encode(), MASK), end_stream=False)
        self.transmit()
        await self.until(lambda: len(frames(b"".join(answer["body"]))[0]) >= MESSAGES)
        found, _ = frames(b"".join(answer["body"]))
        expected = [(1, MESSAGE + str(number).encode()) for number in range(MESSAGES)]
        if found != expected:
            raise OSError(f"other messages came back: {found[:3]}")


class Server(Side):
    root = "."

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sockets = {}

    def handshake_done(self):
        say(handshake=self.handshake)

    def http_event(self, event):
        if isinstance(event, HeadersReceived):
            fields = dict(event.headers)
            if fields.get(b":protocol") == b"websocket":
                self.sockets[event.stream_id] = b""
                self.http.send_headers(event.stream_id, [(b":status", b"200")])
            elif event.stream_ended:
                self.answer(event.stream_id, fields[b":path"].decode())
        elif isinstance(event, DataReceived) and event.stream_id in self.sockets:
            found, rest = frames(self.sockets[event.stream_id] + event.data)
            self.sockets[event.stream_id] = rest
            for opcode, payload in found:
                if opcode == 8:
                    self.http.send_data(event.stream_id, bytes([0x88, len(payload)]) + payload, end_stream=True)
                else:
                    self.http.send_data(event.stream_id, frame(payload), end_stream=False)
        self.transmit()

    def answer(self, stream, path):
        file = os.path.join(self.root, os.path.basename(path))
        if not os.path.isfile(file):
            self.http.send_headers(stream, [(b":status", b"404")], end_stream=True)
            return
        with open(file, "rb") as opened:
            body = opened.read()
        self.http.send_headers(stream, [(b":status", b"200"), (b"content-length", str(len(body)).encode())])
        self.http.send_data(stream, body, end_stream=True)


def configuration(options, **more):
    made = QuicConfiguration(alpn_protocols=H3_ALPN, max_datagram_size=1350, **more)
    # Version 2 is another case's, and ours speaks version 1 alone.
    made.supported_versions = made.supported_versions[:1]
    if options.chacha20:
        made.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    if os.environ.get("QLOGDIR"):
        made.quic_logger = QuicFileLogger(os.environ["QLOGDIR"])
    return made


async def run_server(options):
    made = configuration(options, is_client=False)
    made.load_cert_chain(options.cert, options.key)
    Server.root = options.root
    tickets = {}
    await serve(
        options.address, options.port, configuration=made, create_protocol=Server, retry=options.retry,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.__setitem__(ticket.ticket, ticket))
    say(ready=True)
    await asyncio.Event().wait()


async def run_client(options):
    urls = [urlparse(url) for url in options.urls]
    made = configuration(options, is_client=True, verify_mode=ssl.CERT_REQUIRED, max_data=16 << 20, max_stream_data=8 << 20)
    made.load_verify_locations(options.ca)
    tickets, url = [], urls[0]

    def opened(wait=True):
        return connect(url.hostname, url.port, configuration=made, create_protocol=Client, wait_connected=wait,
                       session_ticket_handler=tickets.append)

    if options.resume or options.early:
        async with opened() as first:
            first.begin()
            await first.fetch(urls[:1], options.out)
            while not tickets:
                await asyncio.sleep(0.01)
        made.session_ticket, urls = tickets[-1], urls[1:]
    async with opened(wait=not options.early) as client:
        client.begin()
        if options.key_update:
            await client.fetch(urls[:1], options.out)
            client.request_key_update()
        if options.websocket:
            await client.echo(urls[0])
        else:
            await client.fetch(urls, options.out)
        if options.key_update:
            # Both directions have followed: the server answered under the next key, too.
            await client.ping()
        say(**client.handshake)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    server, client = kinds.add_parser("server"), kinds.add_parser("client")
    server.add_argument("--address", default="127.0.0.1")
    server.add_argument("--port", type=int, required=True)
    server.add_argument("--cert", required=True)
    server.add_argument("--key", required=True)
    server.add_argument("--root", required=True)
    server.add_argument("--retry", action="store_true")
    client.add_argument("--ca", required=True)
    client.add_argument("--out", required=True)
    client.add_argument("urls", nargs="+")
    for flag in ("resume", "early", "key-update", "websocket"):
        client.add_argument(f"--{flag}", action="store_true")
    for one in (server, client):
        one.add_argument("--chacha20", action="store_true")
    options = parser.parse_args()
    try:
        asyncio.run(run_server(options) if options.kind == "server" else run_client(options))
    except (OSError, ConnectionError, asyncio.TimeoutError) as error:
        print(f"quic_peer: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
