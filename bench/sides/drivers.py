"""The drivers: how each is run against a server for a while, and what it says that it did."""

import json
import os
import re
import resource
import signal
import subprocess
import threading
import time

from . import servers


class Failed(Exception):
    """The driver, or the server under it, did not do the work."""


def patience(seconds):
    """How long a driver may take for a turn of that many seconds. An open loop takes five times as long."""
    return 5 * seconds + 20


def run(command, core, server, seconds):
    """Runs the driver; its words, and the CPU seconds of both sides and the wall's. It is killed where it takes too long."""
    before, began, limit = server.cpu(), time.monotonic(), patience(seconds)
    # In a session of its own, so that what it has started ends with it.
    process = subprocess.Popen(["taskset", "-c", str(core)] + command, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    overdue = threading.Event()

    def kill():
        overdue.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, kill)
    timer.start()
    try:
        said = process.stdout.read()
        # It closed its output, and may still run. It is not reaped here: the timer must not kill another process.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        timer.cancel()
        timer.join()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
    wall = time.monotonic() - began
    if overdue.is_set():
        raise Failed(f"{command[0]} did not end within {limit:g} s and was killed: {said.strip()[-300:] or 'it printed nothing'}")
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}: {said.strip()[-300:]}")
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
    return h2load_by(["h2load"], url, core, server, row)


def h2load_by(program, url, core, server, row):
    urls = [url] if row.names == 1 else [f"{url}-{number}" for number in range(row.names)]
    command = program + ["-t1", f"-c{row.connections}", f"-m{row.streams}", "-D", str(row.seconds), *urls]
    said, figures = run(command, core, server, row.seconds)
    done = number(r"(\d+) succeeded", said, "h2load")
    if number(r"(\d+) 2xx", said, "h2load") < done or not done:
        raise Failed(f"h2load: {said.strip()[-300:]}")
    return figures | {"requests": done}


def h2load_h3(url, core, server, row):
    """That of the Debian sid root, which has QUIC behind it."""
    if not os.path.exists(os.path.join(servers.SID, "usr/local/bin/h2load-h3")):
        raise servers.Missing("h2load with HTTP/3 could not be built in the Debian sid root (bench/programs/h2load-h3.sh)")
    program = servers.in_root() + ["/usr/local/bin/h2load-h3", "--alpn-list=h3"]
    return h2load_by(program, url, core, server, row)


def quic_floor(_url, core, server, row):
    words = [server.ports["https"], row.length, row.connections, row.seconds]
    said, figures = run([servers.quic_floor_program(), "drive", *map(str, words)], core, server, row.seconds)
    return figures | {"requests": int(said)}


def load_h3(url, core, server, row):
    flags = ["-c", str(row.connections), "-m", str(row.streams), "-d", f"{row.seconds}s", "--http3", url]
    return engine(row, core, server, flags)[1]


def echoes(url, core, server, row):
    path = "/ws/echo" if server.name.startswith("wirelap") else "/"
    port = url.rsplit(":", 1)[1].split("/")[0]
    command = [servers.built("echoes"), port, path, str(row.connections), str(row.bytes), str(row.seconds)]
    said, figures = run(command, core, server, row.seconds)
    return figures | {"requests": int(said)}


def engine(row, core, server, flags):
    """wirelap's own, which says as JSON what it did."""
    said, figures = run([row.wirelap, "load", "-k", "--json", *flags], core, server, row.seconds)
    try:
        told = json.loads(said[said.index("{"):])
        return told, figures | {"requests": int(told["whole"]["answers"])}
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"wirelap load --json told no answers: {error}") from error


def load_engine(url, core, server, row):
    flags = ["-m", str(row.streams)] if row.streams else []
    clear_or_not = "--http2" if row.scheme == "https" else "--http2-prior-knowledge"
    flags += [clear_or_not] if row.streams else ["--http1.1"]
    return engine(row, core, server, ["-c", str(row.connections), "-d", f"{row.seconds}s", *flags, url])[1]


def open_loop(url, core, server, row):
    """What an open loop at half of the server's capacity says of the 99th percentile, over what is true."""
    calm = f"http://127.0.0.1:{server.ports['calm']}/"
    closed, _ = engine(row, core, server, ["-c", str(row.connections), "-d", "2s", calm])
    capacity = closed["answers_per_second"]
    # Whole seconds, so that each has its stall.
    rate, seconds = round(capacity / 2), 5 * row.seconds
    told, figures = engine(row, core, server, ["-c", str(row.connections), "--rate", str(rate), "-d", f"{seconds}s", url])
    p99 = next(point["ms"] for point in told["whole"]["latency"]["at"] if point["share"] == 0.99)
    known = truth(rate, 1 / capacity, servers.STALL_MS / 1e3, seconds)
    return figures | {"told_of_true": p99 / known, "told_ms": p99, "true_ms": known}


def truth(rate, service, stall, seconds):
    """The 99th percentile, in milliseconds, of a queue that is served in order, each request in the same time, by who
    stands still at the beginning of every second: the queue's own arithmetic."""
    free, times = 0.0, []
    for number in range(int(rate * seconds)):
        due = number / rate
        begin = max(due, free)
        if begin % 1.0 < stall:
            begin = begin - begin % 1.0 + stall
        free = begin + service
        times.append(free - due)
    times.sort()
    return times[int(len(times) * 0.99)] * 1e3
