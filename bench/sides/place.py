"""Files, a certificate and free ports on loopback: what any server of a measurement needs."""

import os
import socket
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(path, length):
    """Noise, which no compression shortens."""
    with open(path, "wb") as file:
        while length > 0:
            part = os.urandom(min(length, 1 << 20))
            file.write(part)
            length -= len(part)


def certificate(folder):
    """A fresh leaf for localhost, signed by itself: its file and its key's."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-days", "2",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-addext", "basicConstraints=critical,CA:FALSE"],
        check=True, stderr=subprocess.DEVNULL)
    return cert, key


def wait_for(port, process=None):
    """Whether something listens there within ten seconds; not where the process ended before."""
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        if process and process.poll() is not None:
            return False
        time.sleep(0.02)
    return False


def paired(rows, key, one, other):
    """The median over the rounds of one / other within one round; not a number where no round has both."""
    by_round = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["client"]] = row[key]
    ratios = [got[one] / got[other] for got in by_round.values()
              if one in got and got.get(other)]
    return median(ratios)


def median(values):
    values = sorted(values)
    if not values:
        return float("nan")
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def first_line(command):
    """What a program says of its version; None where it is not there."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    lines = (ran.stdout or ran.stderr).splitlines()
    return lines[0] if lines else None
