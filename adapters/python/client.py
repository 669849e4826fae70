"""Python's httpx behind the subject contract, version 2 (docs/subjects.md).

Usage: python3 client.py FOLDER-OF-MODULES < job.json
"""

import asyncio
import json
import os
import platform
import ssl
import sys
import time

job = json.load(sys.stdin)


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def unsupported(reason, remedy=None):
    say({"event": "unsupported", "reason": reason, **({"remedy": remedy} if remedy else {})})
    sys.exit(127)


if job["transport"] not in ("http/1.1", "h2"):
    unsupported(f"httpx does not speak {job['transport']}")

sys.path.insert(0, sys.argv[1])
try:
    import httpx

    if job["transport"] == "h2":
        import h2  # noqa: F401
except ImportError as error:
    unsupported(f"{error.name} is not installed", "./peers install")


def context():
    if job["tls"] == "none":
        return True
    made = ssl.create_default_context(cafile=job["trust"])
    exact = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[job["tls"]]
    made.minimum_version = made.maximum_version = exact
    if job["key_log"]:
        made.keylog_filename = job["key_log"]
    return made


def client():
    is_h2 = job["transport"] == "h2"
    return httpx.AsyncClient(
        # In the clear it has no way to HTTP/2 but to know of it: it then offers HTTP/1.1 no more.
        http1=not is_h2 or (job["tls"] != "none" and job["negotiation"] == "alpn"),
        http2=is_h2,
        verify=context(),
        trust_env=False,
        timeout=job["timeout_ms"] / 1000,
        limits=httpx.Limits(
            max_connections=job["connections"],
            max_keepalive_connections=job["connections"] if job["keep_alive"] else 0,
        ),
    )


def read_body(one):
    if not one.get("body_file"):
        return None
    with open(one["body_file"], "rb") as file:
        return file.read()


class Fetcher:
    """Fetches, and tells apart the connections that carried them."""

    def __init__(self, made, now):
        self.client, self.now, self.connections = made, now, {}

    async def fetch(self, one, started, tell):
        line = {"event": "fetch", "id": one["id"], "started_ms": started}
        phases = {}

        async def trace(event, info):
            if event == "connection.connect_tcp.complete":
                phases["connected_ms"] = self.now()
            elif event == "connection.start_tls.complete":
                phases["secured_ms"] = self.now()
            elif event.endswith("send_request_headers.started"):
                phases["sent_ms"] = self.now()

        try:
            request = self.client.stream(
                one.get("method") or "GET",
                one["url"],
                headers=one.get("headers"),
                content=read_body(one),
                extensions={"trace": trace},
            )
            async with request as answer:
                phases["first_byte_ms"] = self.now()
                socket = answer.extensions["network_stream"].get_extra_info("client_addr")
                count = len(self.connections)
                line["connection"] = self.connections.setdefault(socket, count)
                tls = answer.extensions["network_stream"].get_extra_info("ssl_object")
                if tls is not None:
                    line["tls"], line["resumed"] = tls.version(), tls.session_reused
                bytes_read = await self.read(answer, one)
                # A server may answer HTTP/1.1 as HTTP/1.0, such as Python's http.server.
                line["protocol"] = "h2" if answer.http_version == "HTTP/2" else "http/1.1"
                line["status"], line["bytes"] = answer.status_code, bytes_read
        # Whatever it raises is this fetch's error, such as UnicodeEncodeError of a header field.
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
        tell({**line, **phases, "ended_ms": self.now()})

    async def read(self, answer, one):
        count = 0
        if one["file"] is None:
            async for piece in answer.aiter_raw():
                count += len(piece)
            return count
        with open(os.path.join(job["output"], one["file"]), "wb") as file:
            async for piece in answer.aiter_raw():
                file.write(piece)
                count += len(piece)
        return count

    async def work(self, tell):
        rest = job["fetches"]
        if job["workload"] == "page" and rest:
            await self.fetch(rest[0], self.now(), tell)
            rest = rest[1:]
        kind = job["pattern"]["kind"]
        if kind == "serial":
            for one in rest:
                await self.fetch(one, self.now(), tell)
        elif kind == "parallel":
            await asyncio.gather(*(self.fetch(one, self.now(), tell) for one in rest))
        else:
            every = job["pattern"]["every_ms"]

            async def later(nth, one):
                await asyncio.sleep(max(0, nth * every - self.now()) / 1000)
                await self.fetch(one, nth * every, tell)

            await asyncio.gather(*(later(nth, one) for nth, one in enumerate(rest)))


async def main():
    begun = time.monotonic()
    for _ in range(job["warmup"]):
        async with client() as made:
            await Fetcher(made, lambda: 0.0).work(lambda line: None)
    warm = {"warmup_ms": (time.monotonic() - begun) * 1000} if job["warmup"] else {}
    async with client() as made:
        runtime = f"{platform.python_implementation()} {platform.python_version()}"
        logs = job["tls"] != "none" and bool(job["key_log"])
        made_of = {"name": "httpx", "version": httpx.__version__, "runtime": runtime, "key_log": logs, **warm}
        say({"event": "ready", **made_of})
        zero = time.monotonic()
        fetcher = Fetcher(made, lambda: (time.monotonic() - zero) * 1000)
        await fetcher.work(say)
        done = {"event": "done"}
        say(done)


asyncio.run(main())
