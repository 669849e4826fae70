"""The drivers: how each is run against a server for a while, and what it says that it did."""

import json
import os
import re
import resource
import subprocess
import time

from . import servers


class Failed(Exception):
    """The driver, or the server under it, did not do the work."""


def run(command, core, server, seconds):
    """Runs the driver; its words, and the CPU seconds of both sides and the wall's."""
    before, began = server.cpu(), time.monotonic()
    process = subprocess.Popen(["taskset", "-c", str(core)] + command, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        said = process.stdout.read()
    finally:
        _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}: {said.strip()[-300:]}")
    if wall > 5 * seconds + 20:
        raise Failed(f"{command[0]} took {wall:.0f} s")
    return said, {"server_cpu_s": server.cpu() - before, "client_cpu_s": used.ru_utime + used.ru_stime, "wall_s": wall}


def raise_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def number(pattern, said, program):
    found = re.search(pattern, said)
    if not found:
        raise Failed(f"{program} told no figure: {said.strip()[-300:]}")
    return int(found.group(1))


def wrk(url, core, server, row):
    said, figures = run(["wrk", "-t1", f"-c{row.connections}", f"-d{row.seconds}s", url], core, server, row.seconds)
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    if errors:
        raise Failed(f"wrk counted {errors.group(1)} answers that are none: {server.name}")
    return figures | {"requests": number(r"(\d+) requests in", said, "wrk")}


def h2load(url, core, server, row):
    command = ["h2load", "-t1", f"-c{row.connections}", f"-m{row.streams}", "-D", str(row.seconds), url]
    said, figures = run(command, core, server, row.seconds)
    done = number(r"(\d+) succeeded", said, "h2load")
    if number(r"(\d+) 2xx", said, "h2load") < done or not done:
        raise Failed(f"h2load: {said.strip()[-300:]}")
    return figures | {"requests": done}


def echoes(url, core, server, row):
    path = "/ws/echo" if server.name.startswith("wirelap") else "/"
    port = url.rsplit(":", 1)[1].split("/")[0]
    command = [servers.built("echoes"), port, path, str(row.connections), str(row.octets), str(row.seconds)]
    said, figures = run(command, core, server, row.seconds)
    return figures | {"requests": int(said)}


def load_engine(url, core, server, row):
    """wirelap's own, which says as JSON what it did."""
    flags = ["-m", str(row.streams)] if row.streams else []
    clear_or_not = "--http2" if row.scheme == "https" else "--http2-prior-knowledge"
    flags += [clear_or_not] if row.streams else ["--http1.1"]
    command = [row.wirelap, "load", "-k", "-c", str(row.connections), "-d", f"{row.seconds}s", "--json", *flags, url]
    said, figures = run(command, core, server, row.seconds)
    try:
        told = json.loads(said[said.index("{"):])
        return figures | {"requests": int(told["whole"]["answers"])}
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"wirelap load --json told no answers: {error}") from error
