"""Chromium or Firefox as a client of HTTP/3, for `bench/interop`: a fresh profile opens fetch.html, whose script gets the files.

    browser_client.py --browser chromium|firefox --ca FILE --out DIR --scratch DIR [--rest SECONDS] [--linger SECONDS] URL...

The server has to serve fetch.html beside the files. The page gives each file to this program over the clear on loopback, and tells
how it was carried; anything but HTTP/3 is a failure. `--rest` waits between the first URL and the others: long enough for the
server to close the connection. `--linger` stays when all is done: Firefox's qlog file is whole when its connection has ended.
Prints a line of JSON at its end: the seconds until the first byte of the last group's first file. Profile and everything else of
the browser's is in `--scratch`; its processes are in this program's group, and are ended with it.
"""

import argparse
import glob
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import urlparse

# No browser takes as long to start, or for what a case asks of it, unless it hangs.
OPENS_S, ENDS_S = 60, 165

# Neither browser can be told to speak HTTP/3 to a literal address of IPv6: the server has this name for both.
NAME = "interop.test"

CHROMIUM = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--disable-dev-shm-usage", "--disable-breakpad", "--no-proxy-server", "--enable-quic",
    "--disable-features=HttpsUpgrades,LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"]

# What keeps it from asking anybody else, and from TCP: it acts as if an earlier visit had told it of HTTP/3 (Alt-Svc).
FIREFOX = {
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.security.https_first": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.native_https_query": False,
    "network.http.happy_eyeballs_enabled": False,
    "network.http.http3.enable_0rtt": True,
    "network.http.http3.backup_timer_delay": 60000,
    "network.http.http3.disable_when_third_party_roots_found": False,
    "network.http.http3.force-use-alt-svc-mapping-for-testing": True,
    "network.http.speculative-parallel-limit": 0,
    "network.proxy.type": 0,
    "network.trr.mode": 5,
    "privacy.reduceTimerPrecision": False,
    "security.OCSP.enabled": 0,
}


class Failed(Exception):
    """The browser did not do it, and why."""


class Collector(http.server.ThreadingHTTPServer):
    """What the page asks here what to do, and gives what it has."""

    daemon_threads = True

    def __init__(self, work, out):
        super().__init__(("127.0.0.1", 0), Collected)
        self.work, self.out = json.dumps(work).encode(), out
        self.is_open, self.is_over = threading.Event(), threading.Event()
        self.told, self.why = None, None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def keep(self, name, body):
        with open(os.path.join(self.out, os.path.basename(name)), "wb") as file:
            file.write(body)

    def finish(self, kind, body):
        self.told, self.why = (body, None) if kind == "done" else (None, body.decode(errors="replace"))
        self.is_over.set()

    def handle_error(self, request, client_address):
        """A browser that has gone is none."""


class Collected(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body=b""):
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.is_open.set()
        self.answer(self.server.work)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind, _, name = self.path.strip("/").partition("/")
        # A file is whole before the page goes on, and the page's last request before its browser is ended.
        if kind == "file":
            self.server.keep(name, body)
        self.answer()
        if kind != "file":
            self.server.finish(kind, body)

    def log_message(self, *_):
        pass


def chromium(options, address, page):
    host, port = address
    authority = f"{NAME}:{port}"
    script = "openssl x509 -in \"$0\" -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64"
    digest = subprocess.run(["sh", "-c", script, options.ca], check=True, capture_output=True, text=True).stdout.strip()
    return [*CHROMIUM, f"--user-data-dir={options.scratch}/profile", f"--origin-to-force-quic-on={authority}",
            f"--host-resolver-rules=MAP {NAME} {host}", f"--ignore-certificate-errors-spki-list={digest}",
            f"https://{authority}/{page}"]


def firefox(options, address, page):
    host, port = address
    profile = os.path.join(options.scratch, "profile")
    os.makedirs(profile)
    settings = FIREFOX | {
        "network.http.http3.alt-svc-mapping-for-testing": f"{NAME};h3=:{port}", "network.dns.forceResolve": host.strip("[]")}
    settings["network.http.http3.enable_qlog"] = "QLOGDIR" in os.environ
    with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
        file.writelines(f'user_pref("{name}", {json.dumps(value)});\n' for name, value in settings.items())
    store = f"sql:{profile}"
    for arguments in (["-N", "--empty-password"], ["-A", "-n", "wirelap", "-t", "C,,", "-i", options.ca]):
        subprocess.run(["certutil", *arguments, "-d", store], check=True)
    return ["firefox-esr", "--headless", "--no-remote", "--profile", profile, f"https://{NAME}:{port}/{page}"]


def group():
    """The processes of this one's group beside itself."""
    own, found = os.getpid(), []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                after_name = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(path.split("/")[2])
        # State, parent, group (proc_pid_stat(5)).
        if int(after_name[2]) == own and number != own and after_name[0] != "Z":
            found.append(number)
    return found


def end(process):
    """Ends all of the browser's processes."""
    for _ in range(10):
        left = group()
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not left:
            break
        time.sleep(0.02)
    process.wait()


def visit(options):
    first = urlparse(options.urls[0])
    paths = [urlparse(url).path for url in options.urls]
    groups = [paths[:1], paths[1:]] if options.rest else [paths]
    collector = Collector({"groups": groups, "rest_s": options.rest}, options.out)
    address, page = first.netloc.rsplit(":", 1), f"fetch.html#{collector.url()}"
    command = {"chromium": chromium, "firefox": firefox}[options.browser](options, address, page)
    temporary = os.path.join(options.scratch, "tmp")
    os.makedirs(temporary, exist_ok=True)
    environment = os.environ | {"HOME": options.scratch, "TMPDIR": temporary}
    said = os.path.join(options.scratch, "said")
    with open(said, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment)
    try:
        if not collector.is_open.wait(OPENS_S):
            raise Failed(f"the page was not opened within {OPENS_S} s")
        if not collector.is_over.wait(ENDS_S - OPENS_S):
            raise Failed(f"the page had not ended after {ENDS_S - OPENS_S} s")
        if collector.why is not None:
            raise Failed(collector.why)
        time.sleep(options.linger)
    finally:
        end(process)
    for file in glob.glob(os.path.join(temporary, "**", "*.*qlog"), recursive=True):
        shutil.move(file, os.path.join(os.environ["QLOGDIR"], os.path.basename(file)))
    print(collector.told.decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", required=True, choices=["chromium", "firefox"])
    for name in ("ca", "out", "scratch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rest", type=float, default=0)
    parser.add_argument("--linger", type=float, default=0)
    parser.add_argument("urls", nargs="+")
    options = parser.parse_args()
    # What this one starts is to be in a group of its own.
    if os.getpgrp() != os.getpid():
        os.setsid()
    try:
        visit(options)
    except (Failed, OSError, subprocess.CalledProcessError) as error:
        print(f"{options.browser}: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
