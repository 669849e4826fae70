"""Who serves HTTP/3 in `bench/interop`, and what a case wants of either side. A side that cannot do it raises `Unsupported` with
the reason."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from . import place

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wirelap", "peers")
CURRENT = os.path.join(PEERS, "current", "bin")
QUIC_GO = os.path.join(PEERS, "bin", "wirelap-quic-go")
OHA = os.path.join(PEERS, "bin", "oha")
AIOQUIC = [sys.executable, os.path.join(HERE, "programs", "quic_peer.py")]
CHACHA20 = "TLS_CHACHA20_POLY1305_SHA256"
# Go's TLS 1.3 has no choice of ciphers, but a server of its on a machine that cannot compute AES well takes ChaCha20 first.
GO_CHACHA20 = ["env", "GODEBUG=cpu.aes=off"]
# Who reads no ECN marks of datagrams, or does not report them (RFC 9000 §13.4.1 lets it be so).
WITHOUT_ECN = ("aioquic", "nginx", "HAProxy", "curl_cffi", "h2load")
WITHOUT_QLOG = ("nginx", "HAProxy", "oha", "Chromium")
# The longest that a client may take for what a case wants of it.
PATIENCE_S = 180
# The round trip of the case zerortt.
EARLY_RTT_S = 0.2
# After how long a server closes a connection on which nothing is asked, where that is how its client comes to a second one.
IDLE_S = 1
# What the servers are called.
NAMES = ["localhost", "interop.test"]
# Names that make a leaf larger than a server may send at once to an address that is not proven.
MANY_NAMES = 400


class Unsupported(Exception):
    """A side cannot do what the case wants, and why."""


class Failed(Exception):
    """It can, or should, and did not."""


class Wanted:
    """What a case wants of one side."""

    def __init__(self, **wanted):
        self.chacha20 = wanted.pop("chacha20", False)
        # Server.
        self.retry = wanted.pop("retry", False)
        self.address = wanted.pop("address", "127.0.0.1")
        self.large_certificate = wanted.pop("large_certificate", False)
        self.closes_idle = wanted.pop("closes_idle", False)
        # Client: the first URL over a connection of its own, the others over one that resumes its session, or within its
        # handshake.
        self.resume = wanted.pop("resume", False)
        self.early = wanted.pop("early", False)
        self.key_update = wanted.pop("key_update", False)
        self.websocket = wanted.pop("websocket", False)
        self.migrate = wanted.pop("migrate", False)
        # Our client says which cipher it speaks.
        self.verbose = False
        assert not wanted, wanted

    def makes_load(self):
        """Whether our client does it by `wirelap load`, which keeps no file."""
        return self.resume or self.early or self.key_update


class Spot:
    """A folder with files to serve, their digests, and two certificates."""

    def __init__(self, files):
        self.folder = tempfile.mkdtemp(prefix="wirelap-interop-")
        self.www = os.path.join(self.folder, "www")
        os.makedirs(self.www)
        for name, length in files.items():
            place.fill(os.path.join(self.www, name), length)
        self.small = self.certificate("small", NAMES)
        self.large = self.certificate("large", NAMES + [f"name-{number}.example.test" for number in range(MANY_NAMES)])
        self.count = 0

    def certificate(self, kind, names):
        """A leaf that is its own authority: the file, its key's, and one with both."""
        cert, key, both = (os.path.join(self.folder, f"{kind}-{part}.pem") for part in ("cert", "key", "both"))
        named = ",".join([f"DNS:{name}" for name in names] + ["IP:127.0.0.1", "IP:::1"])
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
             "-out", cert, "-subj", "/CN=localhost", "-days", "2", "-addext", f"subjectAltName={named}",
             # Firefox takes no leaf that may sign others.
             "-addext", "basicConstraints=critical,CA:FALSE"],
            check=True, stderr=subprocess.DEVNULL)
        with open(both, "w", encoding="utf-8") as file:
            for part in (cert, key):
                with open(part, encoding="utf-8") as text:
                    file.write(text.read())
        return cert, key, both

    def certificates(self, wanted):
        return self.large if wanted.large_certificate else self.small

    def fresh(self):
        """A new folder within this one."""
        self.count += 1
        made = os.path.join(self.folder, str(self.count))
        os.makedirs(made)
        return made

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Process:
    """A server that runs, and what it has said."""

    def __init__(self, command, port, is_ready):
        self.port = port
        self.said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said,
                                        start_new_session=True)
        for _ in range(1000):
            if is_ready(self):
                return
            if self.process.poll() is not None:
                break
            try:
                self.process.wait(0.01)
            except subprocess.TimeoutExpired:
                pass
        self.kill()
        raise Failed(f"{os.path.basename(command[0])} does not serve: {self.text()[-300:].strip()}")

    def text(self):
        self.said.flush()
        with open(f"/proc/self/fd/{self.said.fileno()}", encoding="utf-8", errors="replace") as again:
            return again.read()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def stop(self):
        """Ends it as an operator does; gives its exit code, None where it had to be killed."""
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            return self.process.wait(timeout=15)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            return None
        finally:
            self.kill()


def free_port(address):
    """A port that is free for TCP and UDP."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(20):
        with socket.socket(family) as tcp, socket.socket(family, socket.SOCK_DGRAM) as udp:
            tcp.bind((address, 0))
            try:
                udp.bind((address, tcp.getsockname()[1]))
            except OSError:
                continue
            return tcp.getsockname()[1]
    raise Failed("no port is free")


def listens(address):
    """Whether a server that takes TCP at the same port does so."""
    def ask(process):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            return probe.connect_ex((address, process.port)) == 0
    return ask


def says_ready(process):
    return '"ready"' in process.text()


def at(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def there(program):
    if not os.path.exists(program):
        raise Unsupported("it is not installed: ./peers install")
    return program


# Servers: each takes the program of wirelap, the spot and what is wanted, and gives a Process.

def serve_wirelap(wirelap, spot, wanted):
    cert, key, _ = spot.certificates(wanted)
    port = free_port(wanted.address)
    listen = at(wanted.address, port)
    flags = (["--quic-retry"] if wanted.retry else []) + (["--idle-timeout", f"{IDLE_S}s"] if wanted.closes_idle else [])
    return Process([wirelap, "serve", "--threads", "1", "--handshake-timeout", "60s", "--early-data", *flags, "--listen-tls", listen,
                    "--listen-quic", listen, "--cert", cert, "--key", key, spot.www], port, listens(wanted.address))


def serve_nginx(_wirelap, spot, wanted):
    cert, key, _ = spot.certificates(wanted)
    port, folder = free_port(wanted.address), spot.fresh()
    listen = at(wanted.address, port)
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(
            f"daemon off; master_process off; {user} pid {folder}/pid; error_log {folder}/error; events {{}}\n"
            f"http {{ access_log off; {temporary} types {{}} default_type text/plain;\n"
            f"keepalive_requests 100000; http3_max_concurrent_streams 256;\n"
            f"server {{ listen {listen} ssl; listen {listen} quic reuseport; http3 on; quic_gso on; ssl_early_data on;\n"
            f"quic_retry {'on' if wanted.retry else 'off'}; ssl_certificate {cert}; ssl_certificate_key {key};\n"
            + (f"ssl_conf_command Ciphersuites {CHACHA20};\n" if wanted.chacha20 else "")
            + f"root {spot.www}; }} }}\n")
    return Process([there(os.path.join(CURRENT, "nginx")), "-e", "/dev/null", "-c", config], port, listens(wanted.address))


def serve_caddy(_wirelap, spot, wanted):
    if wanted.retry:
        raise Unsupported("Caddy has no setting for Retry")
    cert, key, _ = spot.certificates(wanted)
    port, folder = free_port(wanted.address), spot.fresh()
    config = os.path.join(folder, "Caddyfile")
    with open(config, "w", encoding="utf-8") as file:
        file.write(
            "{\n admin off\n auto_https off\n servers {\n  protocols h1 h2 h3\n }\n}\n"
            f"https://:{port} {{\n bind {wanted.address}\n tls {cert} {key}\n root * {spot.www}\n file_server\n}}\n")
    command = GO_CHACHA20 if wanted.chacha20 else ["env"]
    command = command + [f"HOME={folder}", f"XDG_DATA_HOME={folder}", there(os.path.join(CURRENT, "caddy"))]
    return Process(command + ["run", "--config", config, "--adapter", "caddyfile"], port, listens(wanted.address))


class Proxied:
    """HAProxy before a server of ours that speaks HTTP/1.1."""

    def __init__(self, front, back):
        self.front, self.back, self.port = front, back, front.port

    def kill(self):
        self.front.kill()
        self.back.kill()

    def stop(self):
        self.back.stop()
        return self.front.stop()


def serve_haproxy(wirelap, spot, wanted):
    program = there(os.path.join(CURRENT, "haproxy"))
    _, _, both = spot.certificates(wanted)
    behind = free_port("127.0.0.1")
    back = Process([wirelap, "serve", "--threads", "1", "--listen", f"127.0.0.1:{behind}", spot.www], behind,
                   listens("127.0.0.1"))
    port, folder = free_port(wanted.address), spot.fresh()
    family = "quic6" if ":" in wanted.address else "quic4"
    options = f"ssl crt {both} alpn h3 allow-0rtt" + (" quic-force-retry" if wanted.retry else "")
    options += f" ciphersuites {CHACHA20}" if wanted.chacha20 else ""
    config = os.path.join(folder, "haproxy.cfg")
    with open(config, "w", encoding="utf-8") as file:
        file.write(
            "global\n maxconn 1000\n nbthread 1\n"
            "defaults\n mode http\n timeout client 60s\n timeout connect 5s\n timeout server 60s\n"
            f"frontend udp\n bind {family}@{at(wanted.address, port)} {options}\n default_backend files\n"
            f"frontend tcp\n bind {at(wanted.address, port)}\n default_backend files\n"
            f"backend files\n server own 127.0.0.1:{behind}\n")
    try:
        return Proxied(Process([program, "-db", "-q", "-f", config], port, listens(wanted.address)), back)
    except Failed:
        back.kill()
        raise


def serve_aioquic(_wirelap, spot, wanted):
    there(os.path.join(PEERS, "quic", "aioquic"))
    return serve_peer(spot, wanted, ["env", f"PYTHONPATH={PEERS}/quic"] + AIOQUIC, ["--chacha20"] if wanted.chacha20 else [])


def serve_quic_go(_wirelap, spot, wanted):
    return serve_peer(spot, wanted, (GO_CHACHA20 if wanted.chacha20 else []) + [there(QUIC_GO)], [])


def serve_peer(spot, wanted, command, flags):
    cert, key, _ = spot.certificates(wanted)
    port = free_port(wanted.address)
    flags = flags + (["--retry"] if wanted.retry else [])
    return Process(command + ["server", "--address", wanted.address, "--port", str(port), "--cert", cert, "--key", key,
                              "--root", spot.www, *flags], port, says_ready)


SERVERS = {"wirelap": serve_wirelap, "nginx": serve_nginx, "Caddy": serve_caddy, "HAProxy": serve_haproxy,
           "aioquic": serve_aioquic, "quic-go": serve_quic_go}
