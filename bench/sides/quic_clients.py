"""Who asks in `bench/interop`: each client takes wirelap's program, the spot, what is wanted, the URLs and a folder for the files,
and gives a command. A client that cannot do what a case wants raises `Unsupported` with the reason."""

import glob
import json
import os
import re
import shlex
import shutil
import sys

from . import servers
from .quic_sides import AIOQUIC, CHACHA20, CURRENT, EARLY_RTT_S, HERE, IDLE_S, OHA, PEERS, QUIC_GO, Unsupported, there

# Those that open a page, whose script asks, and the programs that it takes.
BROWSERS = {"Chromium": ("chromium",), "Firefox": ("firefox-esr", "certutil")}
LIBCURL = ("curl", "curl_cffi")
CIPHERS = {"Chromium": "has no choice of TLS 1.3 ciphers",
           "Firefox": "does not heed its settings of TLS 1.3 ciphers over QUIC, and our server takes the cheapest"}
# Who keeps no file, but says how many answers and bytes came.
COUNTS = ("h2load", "oha")
# Most requests at once that they make; our server allows so many.
AT_ONCE = 100


def ask_wirelap(wirelap, spot, wanted, urls, out):
    ca = spot.certificates(wanted)[0]
    if wanted.migrate:
        raise Unsupported("our client never changes its address by itself")
    if wanted.websocket:
        url = urls[0].replace("https://", "wss://")
        return [wirelap, "load", "--http3", "--cacert", ca, "-c", "1", "-m", "4", "-n", "20", "--data", "a message", "--json", url]
    if wanted.key_update:
        return [wirelap, "load", "--http3", "--cacert", ca, "-c", "1", "-m", "1", "-n", "1500", "--json", urls[0]]
    if wanted.resume or wanted.early:
        flag = "--early-data" if wanted.early else "--resume"
        return [wirelap, "load", "--http3", "--cacert", ca, "-c", "1", "-n", "2", "--close", flag, "--json", urls[0]]
    return [wirelap, "get", "--http3", "--cacert", ca, "--no-resume", "--retry", "0", "--parallel-max", "256", "--connect-timeout",
            "40", *(["-v"] if wanted.verbose else ["-sS"]), "--output-dir", out, *urls]


def ask_curl(_wirelap, spot, wanted, urls, out):
    curl = there(os.path.join(CURRENT, "curl"))
    ca = spot.certificates(wanted)[0]
    for what, is_wanted in (("WebSocket over HTTP/3", wanted.websocket), ("migration", wanted.migrate)):
        if is_wanted:
            raise Unsupported(f"curl has no {what}")
    common = [curl, "-sS", "--http3-only", "--cacert", ca, "--connect-timeout", "40"]
    if wanted.chacha20:
        common += ["--tls13-ciphers", CHACHA20]
    config = os.path.join(spot.fresh(), "urls")
    if wanted.resume or wanted.early:
        # Another range of local ports is another connection; the process keeps the session.
        common += ["--fail", "-v", "-w", r"first byte after %{time_starttransfer} s\n"]
        common += ["--tls-earlydata"] if wanted.early else []
        files = [["-o", os.path.join(out, os.path.basename(url)), url] for url in urls]
        return [*common, *files[0], "--next", *common[1:], "--local-port", "20000-30000", *files[1]]
    with open(config, "w", encoding="utf-8") as file:
        for url in urls:
            file.write(f'url = "{url}"\noutput = "{os.path.join(out, os.path.basename(url))}"\n')
    return common + ["--fail", "-Z", "--parallel-max", "50", "-K", config]


def ask_aioquic(_wirelap, spot, wanted, urls, out):
    there(os.path.join(PEERS, "quic", "aioquic"))
    if wanted.migrate:
        raise Unsupported("aioquic's client never changes its address by itself")
    flags = [flag for flag, is_wanted in (
        ("--chacha20", wanted.chacha20), ("--key-update", wanted.key_update)) if is_wanted]
    return ask_peer(spot, wanted, ["env", f"PYTHONPATH={PEERS}/quic"] + AIOQUIC, (urls, out), flags)


def ask_quic_go(_wirelap, spot, wanted, urls, out):
    if wanted.chacha20:
        raise Unsupported("Go's TLS 1.3 has no choice of ciphers, and our server takes the cheapest")
    # It updates its keys by itself after 100 packets.
    flags = ["--migrate"] if wanted.migrate else []
    return ask_peer(spot, wanted, [there(QUIC_GO)], (urls, out), flags)


def ask_peer(spot, wanted, command, what, flags):
    urls, out = what
    flags = flags + [flag for flag, is_wanted in (
        ("--resume", wanted.resume), ("--early", wanted.early), ("--websocket", wanted.websocket)) if is_wanted]
    return command + ["client", "--ca", spot.certificates(wanted)[0], "--out", out, *flags, *urls]


def refuse(client, wanted, reasons):
    """Raises the reason of the first thing wanted that the client cannot do."""
    for name, why in reasons.items():
        if getattr(wanted, name):
            raise Unsupported(f"{client} {why}")


def ask_curl_cffi(_wirelap, spot, wanted, urls, out):
    folder = os.path.join(PEERS, "curl")
    there(os.path.join(folder, "curl_cffi"))
    refuse("curl_cffi", wanted, {
        "chacha20": "has BoringSSL for TLS, whose TLS 1.3 has no choice of ciphers",
        "early": "has BoringSSL for TLS, with which libcurl sends no early data",
        "websocket": "has no WebSocket over HTTP/3", "migrate": "has no migration"})
    flags = ["--resume"] if wanted.resume else []
    return ["env", f"PYTHONPATH={folder}", sys.executable, os.path.join(HERE, "programs", "curl_cffi_client.py"),
            "--ca", spot.certificates(wanted)[0], "--out", out, *flags, *urls]


def h2load():
    """The program of the Debian sid root, by that root's own loader and libraries."""
    program = os.path.join(servers.SID, "usr/local/bin/h2load-h3")
    loaders = glob.glob(os.path.join(servers.SID, "usr/lib/*-linux-gnu/ld-linux-*.so.*"))
    if not os.path.exists(program) or not loaders:
        raise Unsupported("h2load with HTTP/3 is not installed: bench/run builds it")
    return [loaders[0], "--library-path", os.path.dirname(loaders[0]), program]


def ask_h2load(_wirelap, _spot, wanted, urls, out):
    refuse("h2load", wanted, {
        "early": "sends no early data", "websocket": "has no WebSocket over HTTP/3", "migrate": "has no migration"})
    common = [*h2load(), "--alpn-list=h3", "-t", "1", "-c", "1", "-m", str(AT_ONCE)]
    if wanted.chacha20:
        common.append(f"--tls13-ciphers={CHACHA20}")
    if "QLOGDIR" in os.environ:
        common.append(f"--qlog-file-base={os.environ['QLOGDIR']}/h2load")
    if wanted.resume:
        common.append(f"--tls-session-file={out}/session")
        return ["sh", "-c", " && ".join(shlex.join([*common, "-n", "1", url]) for url in urls)]
    return [*common, "-n", str(len(urls)), *urls]


def ask_oha(_wirelap, spot, wanted, urls, out):
    refuse("oha", wanted, {
        "chacha20": "has no choice of TLS 1.3 ciphers",
        "resume": "makes a second connection only after an error, and does not tell whether it resumed a session",
        "early": "asks for nothing before its handshake is complete",
        "websocket": "has no WebSocket", "migrate": "has no migration"})
    if not os.path.exists(OHA):
        raise Unsupported("oha is not installed: ./peers install-oha")
    common = [OHA, "--http-version", "3", "--cacert", spot.certificates(wanted)[0], "--connect-timeout", "40s", "--no-tui",
              "--output-format", "json", "-c", "1"]
    # It takes the host of a URL for the name in TLS, and no such name has the brackets of an IPv6 address.
    authority = urls[0].split("/")[2]
    port = authority.rpartition(":")[2]
    common += ["--connect-to", f"localhost:{port}:{authority}"]
    # Of many URLs it takes one at random for each request. So those of one length go together, over a connection of their own.
    by_length = {}
    for url in urls:
        length = os.path.getsize(os.path.join(spot.www, os.path.basename(url)))
        by_length.setdefault(length, []).append(url.replace(authority, f"localhost:{port}", 1))
    runs, folder = [], spot.fresh()
    for number, chosen in enumerate(by_length.values()):
        listed = os.path.join(folder, f"urls-{number}")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("\n".join(chosen) + "\n")
        runs.append(shlex.join([*common, "-p", str(min(AT_ONCE, len(chosen))), "-n", str(len(chosen)), "--output",
                                os.path.join(out, f"told-{number}"), "--urls-from-file", listed]))
    return ["sh", "-c", " & ".join(runs) + f" & wait; cat {shlex.quote(out)}/told-*"]


def ask_browser(client):
    def ask(_wirelap, spot, wanted, urls, out):
        for program in BROWSERS[client]:
            if not shutil.which(program):
                raise Unsupported(f"{program} is not installed: ./peers install")
        refuse(client, wanted, {
            "chacha20": CIPHERS[client],
            "websocket": "opens no WebSocket over HTTP/3",
            "migrate": "changes its address only where the machine's network changes"})
        shutil.copy(os.path.join(HERE, "programs", "fetch.html"), spot.www)
        flags = []
        if wanted.resume or wanted.early:
            # The server has closed the first connection by then.
            flags += ["--rest", str(2 * IDLE_S)]
        if "QLOGDIR" in os.environ:
            flags += ["--linger", str(3 * IDLE_S)]
        return [sys.executable, os.path.join(HERE, "programs", "browser_client.py"), "--browser", client.lower(),
                "--ca", spot.certificates(wanted)[0], "--out", out, "--scratch", spot.fresh(), *flags, *urls]
    return ask


CLIENTS = {"wirelap": ask_wirelap, "curl": ask_curl, "curl_cffi": ask_curl_cffi, "h2load": ask_h2load, "oha": ask_oha,
           "aioquic": ask_aioquic, "quic-go": ask_quic_go, **{client: ask_browser(client) for client in BROWSERS}}


def told(client, text):
    """What a client says of its last connection: whether it resumed a session, and whether early data were accepted."""
    if client == "curl":
        # It does not say whether early data were accepted, but when the answer came.
        took = re.findall(r"first byte after ([\d.]+) s", text)
        return {"resumed": "reusing session" in text, "early": bool(took) and float(took[-1]) < 1.5 * EARLY_RTT_S}
    if client == "h2load":
        counted = {"answers": r"(\d+) 2xx", "bytes": r"\((\d+)\) data"}
        sums = {name: sum(map(int, re.findall(pattern, text))) for name, pattern in counted.items()}
        said = {name: re.findall(rf"{name}: (\w+)", text)[-1:] for name in ("Resumption", "Cipher")}
        return sums | {"resumed": said["Resumption"] == ["yes"], "cipher": "".join(said["Cipher"])}
    if client == "oha":
        told = {"answers": 0, "bytes": 0, "errors": ""}
        for one in documents(text):
            told["answers"] += sum(count for status, count in one["statusCodeDistribution"].items() if status.startswith("2"))
            told["bytes"] += one["summary"]["totalData"]
            told["errors"] += "".join(f"; {count} x {why}" for why, count in one["errorDistribution"].items())
        return told
    if client in BROWSERS:
        # Nor does a browser. Early data that were accepted mean a session that was resumed.
        is_early = json.loads(text)["first_byte_s"] < 1.5 * EARLY_RTT_S
        return {"resumed": is_early, "early": is_early}
    cipher = re.search(r"\* connection .*, TLSv?1\.3 (\w+)", text)
    if cipher:
        return {"cipher": cipher.group(1)}
    try:
        connects = json.loads(text)["connects"]
        return {"resumed": connects["resumed"] > 0, "early": connects["early_data"]["accepted"] > 0}
    except (ValueError, KeyError, TypeError):
        pass
    for line in reversed(text.splitlines()):
        try:
            return json.loads(line)
        except ValueError:
            continue
    return {}


def documents(text):
    """Every JSON value of a text that holds some, one after another."""
    decoder, values = json.JSONDecoder(), []
    text = text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:].lstrip()
    return values
