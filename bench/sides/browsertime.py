"""browsertime and wirelap's race, each loading one page in Chromium over one link: how they are installed, called and read."""

import datetime
import glob
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import venv

from . import place

HOME = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "wirelap", "browsertime")
MAJOR = 26
PACKAGE = os.path.join(HOME, "node_modules", "browsertime")
PYTHON = os.path.join(HOME, "python", "bin", "python")
VISUALMETRICS = os.path.join(PACKAGE, "visualmetrics", "visualmetrics-portable.py")
# What visualmetrics imports, by pip's names.
MODULES = ("numpy", "opencv-python-headless", "pillow", "pyssim")
# Program to the Debian package that brings it.
PROGRAMS = {"node": "nodejs", "npm": "npm", "chromium": "chromium", "chromedriver": "chromium-driver", "ffmpeg": "ffmpeg",
            "Xvfb": "xvfb", "openssl": "openssl"}
OLDEST_NODE = 20
# Without them browsertime fetches drivers from hosts that many machines do not reach. Debian has the driver of its Chromium.
NO_DRIVERS = {f"{name}_SKIP_DOWNLOAD": "true" for name in ("CHROMEDRIVER", "GECKODRIVER", "EDGEDRIVER")}
# wirelap's window. Chromium's own bars take a part of it on both sides.
VIEW_PORT = "800x600"
AS_SHIPPED = []
# The load event ends the wait for the page, and nothing waits after it but what has no option.
SHORT_WAITS = ["--pageLoadStrategy", "normal", "--pageCompleteWaitTime", "1", "--pageCompleteCheckPollTimeout", "100"]
FILMED = ["--xvfb", "--xvfbParams.display", "DISPLAY", "--video", "--visualMetrics"]
NOT_FILMED = ["--headless", "--video", "false", "--visualMetrics", "false"]
# The browser asks for it by itself, after the page.
ICON = "/favicon.ico"


class Missing(Exception):
    """Something is not here and cannot be had; the words say what, and how it comes."""


class Failed(Exception):
    """A side was called and gave no figures; the words are its own."""


def install(may_install):
    """Sees to it that everything is there."""
    packages = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    command = f"apt-get install --no-install-recommends {' '.join(packages)}"
    if packages and may_install and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {' '.join(packages)}")
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run([*command.split(), "-y", "-qq"], check=False, stdout=subprocess.DEVNULL,
                       env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    if absent:
        raise Missing(f"{', '.join(absent)} not found: run as root `{command}` (elsewhere than on Debian: the packages of the same programs)")
    node = place.first_line(["node", "--version"]) or ""
    if int(re.sub(r"^v(\d+).*", r"\1", node) or 0) < OLDEST_NODE:
        raise Missing(f"node {node} is too old: browsertime {MAJOR} asks for {OLDEST_NODE} or newer (https://nodejs.org)")
    if not version().startswith(f"{MAJOR}."):
        ask(may_install, ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--prefix", HOME,
                          f"browsertime@{MAJOR}"], f"browsertime {MAJOR}", os.environ | NO_DRIVERS)
    if not works():
        if may_install:
            venv.create(os.path.dirname(os.path.dirname(PYTHON)), with_pip=True)
        ask(may_install, [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *MODULES],
            "the Python packages of visualmetrics", os.environ)
        if not works():
            raise Missing(f"visualmetrics still lacks something: {shlex.join([PYTHON, VISUALMETRICS, '--check'])} tells what")


def ask(may_install, command, what, environment):
    if not may_install:
        raise Missing(f"{what} not found: `{shlex.join(command)}`, or without --no-install")
    say(f"installing {what} in {HOME}")
    os.makedirs(HOME, exist_ok=True)
    if subprocess.run(command, check=False, env=environment).returncode:
        raise Missing(f"{what} could not be installed: `{shlex.join(command)}` fails on this machine; it needs npm's and PyPI's registries")


def version():
    """browsertime's; empty where it is not installed."""
    try:
        with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as file:
            return json.load(file)["version"]
    except FileNotFoundError:
        return ""


def works():
    """Whether visualmetrics has all that it imports."""
    return os.path.exists(PYTHON) and subprocess.run([PYTHON, VISUALMETRICS, "--check"], check=False, capture_output=True).returncode == 0


class Browsertime:
    """browsertime on the near side of a `wirelap link`, `wirelap serve` on its far side."""

    def __init__(self, name, is_filmed, flags):
        self.name, self.is_filmed, self.flags = name, is_filmed, flags

    def measure(self, options, trials):
        """So many iterations by one call: a row each, and the seconds of the call."""
        with tempfile.TemporaryDirectory() as folder:
            command = self.command(options, trials, folder)
            began = time.monotonic()
            ran = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHON": PYTHON})
            wall = time.monotonic() - began
            if ran.returncode:
                raise Failed(f"{shlex.join(command)}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
            with open(os.path.join(folder, "result", "browsertime.json"), encoding="utf-8") as file:
                pages = json.load(file)
            with open(os.path.join(folder, "result", "browsertime.har"), encoding="utf-8") as file:
                archive = json.load(file)["log"]
            rows = [self.row(pages[0], archive, number) for number in range(len(pages[0]["timestamps"]))]
            return {"wall_s": wall, "asked": trials, "rows": rows, "notes": notes(ran.stderr)}

    def command(self, options, trials, folder):
        cert, key = place.certificate(folder)
        os.mkdir(os.path.join(folder, "site"))
        serve = [options.wirelap, "serve", "site", "--listen-tls", "0.0.0.0:443", "--cert", cert, "--key", key]
        chrome = ["no-sandbox", "hide-scrollbars", "disable-quic", f"ignore-certificate-errors-spki-list={digest(cert)}"]
        browsertime = ["node", os.path.join(PACKAGE, "bin", "browsertime.js"), "--browser", "chrome", "--iterations", str(trials),
                       "--viewPort", VIEW_PORT, "--chrome.binaryPath", shutil.which("chromium"),
                       "--chrome.chromedriverPath", shutil.which("chromedriver"), "--resultDir", "result",
                       *(part for one in chrome for part in ("--chrome.args", one)),
                       *(display() if part == "DISPLAY" else part for part in (FILMED if self.is_filmed else NOT_FILMED)),
                       *self.flags, options.url]
        return [options.wirelap, "link", options.link, "--far", shlex.join(serve), "--ready-port", "443", "--", *browsertime]

    @staticmethod
    def row(page, archive, number):
        """One iteration. The last byte of the page is the archive's: the other times are the page's own."""
        ends = [(moment(one), one["time"]) for one in archive["entries"]
                if one["pageref"] == archive["pages"][number]["id"] and not one["request"]["url"].endswith(ICON)]
        begin = min(at for at, _ in ends)
        vitals, scripts = page["googleWebVitals"][number], page["browserScripts"][number]
        seen = page["visualMetrics"][number] if page.get("visualMetrics") else {}
        return {"began_s": datetime.datetime.fromisoformat(page["timestamps"][number]).timestamp(), "counts": True,
                "load_ms": max(at - begin + took for at, took in ends), "requests": len(ends),
                "fcp_ms": vitals.get("firstContentfulPaint"), "lcp_ms": vitals.get("largestContentfulPaint"),
                "load_event_ms": scripts["timings"]["pageTimings"]["pageLoadTime"],
                "fetch_start_ms": scripts["timings"]["navigationTiming"]["fetchStart"],
                "speed_index_ms": seen.get("SpeedIndex"), "window": scripts["browser"]["windowSize"]}


class Race:
    """The same page as an experiment with one contender."""

    def __init__(self, name, is_filmed):
        self.name, self.is_filmed = name, is_filmed

    def measure(self, options, trials):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "page.toml"), "w", encoding="utf-8") as file:
                file.write(experiment(options, trials))
            # A wait for a quiet machine is no part of an iteration.
            command = [options.wirelap, "race", "page.toml", "--no-wait", *(["--film"] if self.is_filmed else [])]
            began = time.monotonic()
            ran = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
            wall = time.monotonic() - began
            runs = glob.glob(os.path.join(folder, "wirelap-page-*"))
            # 1: no trial counts, and the rows say why.
            if ran.returncode not in (0, 1) or not runs:
                raise Failed(f"{shlex.join(command)}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
            rows, refused = self.rows(runs[0])
            return {"wall_s": wall, "asked": trials, "rows": rows, "notes": notes(ran.stderr) + refused}

    def rows(self, run):
        """Every trial, with what visualmetrics says of its film, and why some do not count."""
        database = sqlite3.connect(os.path.join(run, "rows.sqlite"))
        told = database.execute("SELECT key, outcome, reason, started_unix_ms, record FROM trials ORDER BY started_unix_ms").fetchall()
        database.close()
        rows, refused = [], []
        for key, outcome, reason, started, record in told:
            record = json.loads(record)
            times = {name: record["metrics"].get(name) for name in ("load_ms", "fcp_ms", "lcp_ms", "speed_index_ms")}
            if outcome != "measured":
                refused.append(f"{key}: {outcome}: {reason}")
            row = {"began_s": started / 1e3, "counts": outcome == "measured", "requests": len(record.get("fetches", []))} | times
            if self.is_filmed and times["speed_index_ms"] is not None:
                row |= visualmetrics(os.path.join(run, "films", folder_name(key)))
            rows.append(row)
        return rows, refused


def folder_name(key):
    """Of a trial's film."""
    return "+".join(urllib.parse.quote(part, safe=",=") for part in key.split("/"))


def experiment(options, trials):
    page = "\n".join(f"{key} = {value}" for key, value in options.page.items())
    return f"""name = "page"
title = "One page in Chromium"
question = "How long does an iteration take, and how far do its figures spread?"
trials = {trials}
warmup = 0
[[workloads]]
kind = "page"
{page}
[[contenders]]
name = "chromium"
transport = "h2"
client = "chromium-full"
[[links]]
name = "{options.link}"
"""


def visualmetrics(film):
    """What visualmetrics makes of the frames that a trial has kept. It reads `ms_NNNNNN.jpg`, and demands that the first be at 0: until
    the first screenshot the window is white, in both counts."""
    times = sorted((float(name[:-4]), name) for name in os.listdir(film) if name.endswith(".jpg"))
    with tempfile.TemporaryDirectory() as folder:
        for place_in_film, (at_ms, name) in enumerate(times):
            whole = round(at_ms) if place_in_film else 0
            shutil.copy(os.path.join(film, name), os.path.join(folder, f"ms_{whole:06}.jpg"))
        ran = subprocess.run([PYTHON, VISUALMETRICS, "--dir", folder, "--json"], check=False, capture_output=True, text=True)
        if ran.returncode:
            raise Failed(f"visualmetrics on {len(times)} frames: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        seen = json.loads(ran.stdout)
    return {"visualmetrics_ms": seen["SpeedIndex"], "frames": len(times), "progress": seen["VisualProgress"]}


def display():
    """A number that no X server has. One that was killed leaves its lock, and no other begins under that number."""
    taken = {int(re.sub(r"\D", "", name)) for name in os.listdir("/tmp") if re.fullmatch(r"\.X\d+-lock", name)}
    return str(next(number for number in range(99, 1000) if number not in taken))


def digest(cert):
    """Of the certificate's public key, as Chromium's list of keys to trust takes it."""
    def run(*command, given):
        return subprocess.run(["openssl", *command], input=given, check=True, capture_output=True).stdout
    with open(cert, "rb") as file:
        key = run("x509", "-pubkey", "-noout", given=file.read())
    hashed = run("dgst", "-sha256", "-binary", given=run("pkey", "-pubin", "-outform", "der", given=key))
    return run("base64", "-A", given=hashed).decode().strip()


def moment(entry):
    """When an entry of an archive began, in milliseconds."""
    return datetime.datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00")).timestamp() * 1e3


def notes(text):
    """What the link or the race has to say of the machine."""
    return [line for line in text.splitlines() if line.startswith(("note:", "calibration:"))]


def say(text):
    print(f"browsertime: {text}", file=sys.stderr, flush=True)
