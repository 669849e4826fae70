#!/usr/bin/env python3
"""Records in which order real HTTP/2 servers send the DATA frames of the same requests.

    vectors/priorities/record.py          records h2o.json and nghttpd.json beside this file
    vectors/priorities/record.py nghttpd  records only that one
    vectors/priorities/record.py --into FOLDER …  writes into that folder

The client is raw: it writes frames itself, so that it can say any priority. How a scenario runs:

1. Stream 1 asks for exactly 65,535 bytes, so the connection's window is used up.
2. The steps follow in order. `request` sends HEADERS, `priority` a PRIORITY frame, `update` a
   PRIORITY_UPDATE frame. After each a PING is answered: the server has read the step before the
   next one comes.
3. `window` gives that many bytes of credit to the connection, and notes each DATA frame that
   arrives, as `[stream, bytes]`, until the credit is used up or every stream has ended.

Stream windows are never the limit. Only loopback is used; nothing but Python's library is needed.
"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 2, 3, 4, 6, 7, 8
PRIORITY_UPDATE = 0x10
FIRST_WINDOW = 65_535
K = 1024


def request(stream, size, parent=0, weight=16, exclusive=False, field=None):
    """A GET of `size` bytes. With `field`, the priority field goes in place of a dependency."""
    step = {"request": stream, "size": size}
    if field is None:
        return step | {"parent": parent, "weight": weight, "exclusive": exclusive}
    return step | {"field": field}


def plain(stream, size):
    """A GET that says nothing of its priority."""
    return {"request": stream, "size": size}


def priority(stream, parent=0, weight=16, exclusive=False):
    return {"priority": stream, "parent": parent, "weight": weight, "exclusive": exclusive}


def update(stream, field):
    return {"update": stream, "field": field}


def window(size):
    return {"window": size}


# RFC 7540 §5.3. Streams start at 3: stream 1 uses up the window.
TREES = {
    "no signals: equal shares": [
        plain(3, 128 * K), plain(5, 128 * K), plain(7, 128 * K), window(640 * K),
    ],
    "equal weights": [
        request(3, 128 * K), request(5, 128 * K), request(7, 128 * K), window(640 * K),
    ],
    "weights 256, 128 and 64": [
        request(3, 1024 * K, weight=256), request(5, 1024 * K, weight=128),
        request(7, 1024 * K, weight=64), window(1792 * K),
    ],
    "weights 16 and 1": [
        request(3, 1024 * K, weight=1), request(5, 1024 * K, weight=16), window(1088 * K),
    ],
    "a parent goes before its children": [
        request(3, 96 * K), request(5, 64 * K, parent=3, weight=32),
        request(7, 64 * K, parent=3, weight=32), window(640 * K),
    ],
    "an exclusive chain, as Chromium's": [
        request(3, 64 * K, weight=256, exclusive=True),
        request(5, 64 * K, parent=3, weight=220, exclusive=True),
        request(7, 64 * K, parent=5, weight=147, exclusive=True),
        request(9, 64 * K, parent=3, weight=220, exclusive=True),
        window(640 * K),
    ],
    "an image is raised by a PRIORITY frame": [
        request(3, 64 * K, weight=256, exclusive=True),
        request(5, 128 * K, parent=3, weight=147, exclusive=True),
        request(7, 128 * K, parent=5, weight=147, exclusive=True),
        window(96 * K),
        priority(7, parent=0, weight=183, exclusive=True),
        window(640 * K),
    ],
    "an exclusive stream takes over the children": [
        request(3, 128 * K), request(5, 128 * K),
        request(7, 96 * K, exclusive=True), window(640 * K),
    ],
    "idle streams group others, as Firefox's did": [
        priority(101, weight=201), priority(103, weight=101),
        request(3, 512 * K, parent=101, weight=32), request(5, 512 * K, parent=103, weight=32),
        request(7, 512 * K, parent=101, weight=32), window(1024 * K),
    ],
    "a parent moves under its child": [
        request(3, 96 * K), request(5, 96 * K, parent=3), request(7, 96 * K, parent=5),
        priority(3, parent=5), window(640 * K),
    ],
    "a parent moves under its grandchild, exclusive": [
        request(3, 96 * K), request(5, 96 * K, parent=3), request(7, 96 * K, parent=3),
        request(9, 96 * K, parent=7), priority(3, parent=7, exclusive=True), window(640 * K),
    ],
    "weights within weights": [
        request(3, 64 * K, weight=128), request(5, 768 * K, weight=64),
        request(7, 768 * K, parent=3, weight=200), request(9, 768 * K, parent=3, weight=50),
        window(1280 * K),
    ],
}

# RFC 9218.
URGENCIES = {
    "urgency goes before order": [
        request(3, 64 * K, field="u=5"), request(5, 64 * K, field="u=1"),
        request(7, 64 * K, field="u=3"), request(9, 64 * K, field="u=0"), window(640 * K),
    ],
    "one after another in stream order": [
        request(3, 64 * K, field="u=3"), request(5, 64 * K, field=""),
        request(7, 64 * K, field="u=3"), window(640 * K),
    ],
    "incremental ones share": [
        request(3, 128 * K, field="u=3, i"), request(5, 128 * K, field="i"),
        request(7, 128 * K, field="u=3, i=?1"), window(640 * K),
    ],
    "incremental between others of its urgency": [
        request(3, 128 * K, field="i"), plain(5, 128 * K), request(7, 128 * K, field="i"),
        window(640 * K),
    ],
    "PRIORITY_UPDATE raises a stream": [
        request(3, 128 * K, field="u=3"), request(5, 128 * K, field="u=5"), window(64 * K),
        update(5, "u=0"), window(640 * K),
    ],
    "PRIORITY_UPDATE before its request": [
        update(7, "u=1"), request(3, 64 * K, field="u=3"), request(5, 64 * K, field="u=2"),
        request(7, 64 * K, field="u=6"), window(640 * K),
    ],
}


def text(value):
    return bytes([len(value)]) + value.encode()


def literal(name, value):
    """RFC 7541 §6.2.2, without Huffman: a field that is not indexed."""
    return b"\0" + text(name) + text(value)


class Client:
    def __init__(self, port, no_dependencies):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        # HEADER_TABLE_SIZE 0, ENABLE_PUSH 0, INITIAL_WINDOW_SIZE; NO_RFC7540_PRIORITIES.
        settings = [(1, 0), (2, 0), (4, 2**30)] + ([(9, 1)] if no_dependencies else [])
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in settings))
        self.live = set()

    def frame(self, kind, flags, stream, payload):
        header = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream)
        self.socket.sendall(header + payload)

    def take(self, size):
        while len(self.received) < size:
            more = self.socket.recv(1 << 20)
            if not more:
                raise EOFError("the server closed the connection")
            self.received += more
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    def read(self):
        """The next frame; SETTINGS and PING are answered here, errors raised."""
        header = self.take(9)
        length = int.from_bytes(header[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", header[3:])
        payload = self.take(length)
        if kind == SETTINGS and not flags & 1:
            self.frame(SETTINGS, 1, 0, b"")
        if kind in (GOAWAY, RESET):
            raise RuntimeError(f"frame {kind} of stream {stream}: {payload!r}")
        if kind in (DATA, HEADERS) and flags & 1:
            self.live.discard(stream)
        return kind, flags, stream, payload

    def request(self, step):
        stream = step["request"]
        block = b"\x82\x86" + literal(":path", f"/{step['size']}") + literal(":authority", "a.test")
        if step.get("field"):
            block += literal("priority", step["field"])
        flags, prefix = 0x4 | 0x1, b""
        if "parent" in step:
            flags, prefix = flags | 0x20, dependency(step)
        self.live.add(stream)
        self.frame(HEADERS, flags, stream, prefix + block)

    def settle(self):
        """Waits until the server has read what was sent, and had time to prepare its answer."""
        self.frame(PING, 0, 0, b"settling")
        while (frame := self.read())[0] != PING or not frame[1] & 1:
            assert frame[0] != DATA or not frame[3], "data without credit"
        time.sleep(0.03)

    def window(self, size):
        self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", size))
        return self.gather(size)

    def gather(self, size):
        data = []
        while size > 0 and self.live:
            kind, _, stream, payload = self.read()
            if kind == DATA and payload:
                size -= len(payload)
                data.append([stream, len(payload)])
        return data


def dependency(step):
    parent = step["parent"] | (0x8000_0000 if step["exclusive"] else 0)
    return struct.pack(">IB", parent, step["weight"] - 1)


def run(port, steps, no_dependencies):
    client = Client(port, no_dependencies)
    client.request({"request": 1, "size": FIRST_WINDOW})
    used = sum(size for _, size in client.gather(FIRST_WINDOW))
    assert used == FIRST_WINDOW, f"stream 1 brought {used} bytes"
    recorded = []
    for step in steps:
        step = dict(step)
        if "request" in step:
            client.request(step)
        elif "priority" in step:
            client.frame(PRIORITY, 0, step["priority"], dependency(step))
        elif "update" in step:
            value = struct.pack(">I", step["update"]) + step["field"].encode()
            client.frame(PRIORITY_UPDATE, 0, 0, value)
        else:
            step["data"] = client.window(step["window"])
        if "data" not in step:
            client.settle()
        recorded.append(step)
    client.socket.close()
    return recorded


class Server:
    """A server on loopback in a folder of its own, with a file named after each size."""

    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)  # H2O started by root reads as nobody.
        sizes = {step["size"] for steps in [*TREES.values(), *URGENCIES.values()]
                 for step in steps if "size" in step} | {FIRST_WINDOW}
        for size in sizes:
            with open(os.path.join(self.folder.name, str(size)), "wb") as file:
                file.write(b"x" * size)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = getattr(self, program)(*options)
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.025)
        raise RuntimeError(f"{command} does not listen")

    def nghttpd(self, *options):
        return ["nghttpd", "--no-tls", "--address=127.0.0.1", "--htdocs", self.folder.name,
                *options, str(self.port)]

    def h2o(self):
        path = os.path.join(self.folder.name, "h2o.conf")
        with open(path, "w") as file:
            file.write(f"num-threads: 1\nhosts:\n  default:\n    listen:\n      host: 127.0.0.1\n"
                       f"      port: {self.port}\n    paths:\n      /:\n"
                       f"        file.dir: {self.folder.name}\n")
        return ["h2o", "-m", "worker", "-c", path]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def version(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\d+\.\d+\.\d+", said).group()


def record(program):
    runs = [("rfc7540", TREES, [])]
    if program == "nghttpd":
        runs.append(("rfc9218", URGENCIES, ["--no-rfc7540-pri"]))
    scenarios = []
    for policy, table, options in runs:
        with Server(program, *options) as server:
            for name, steps in table.items():
                recorded = run(server.port, steps, policy == "rfc9218")
                scenarios.append({"name": name, "policy": policy, "steps": recorded})
    return {"program": program, "version": version(program),
            "how": "vectors/priorities/record.py, clear HTTP/2 over loopback", "scenarios": scenarios}


def write(value):
    """JSON with a step a line, so that a difference is readable."""
    lines = ["{"]
    for key in ("program", "version", "how"):
        lines.append(f'  "{key}": {json.dumps(value[key])},')
    lines.append('  "scenarios": [')
    for at, scenario in enumerate(value["scenarios"]):
        lines.append(f'    {{"name": {json.dumps(scenario["name"])}, "policy": "{scenario["policy"]}", "steps": [')
        steps = [f"      {json.dumps(step)}" for step in scenario["steps"]]
        lines.append(",\n".join(steps))
        lines.append("    ]}" + ("," if at + 1 < len(value["scenarios"]) else ""))
    return "\n".join([*lines, "  ]", "}"]) + "\n"


def main():
    programs, folder = sys.argv[1:], HERE
    if programs[:1] == ["--into"]:
        folder, *programs = programs[1:]
    for program in programs or ["h2o", "nghttpd"]:
        recorded = record(program)
        with open(os.path.join(folder, f"{program}.json"), "w") as file:
            file.write(write(recorded))
        print(f"{program} {recorded['version']}: {len(recorded['scenarios'])} scenarios")


if __name__ == "__main__":
    main()
