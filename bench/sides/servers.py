"""The servers: how each is started on one core with the same files and certificate.

Each takes the place's folder, is bound to one processor and answers on up to two ports, clear and TLS. A current
nginx, Caddy and HAProxy come from a Debian sid root (`install`), Debian's own stand in where there is none.
"""

import os
import shutil
import signal
import subprocess
import tempfile

from . import place

HOME = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wirelap")
SID = os.path.join(HOME, "sid")
BUILT = os.path.join(HOME, "bench")
PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs")

# Of the server that stands still: how long a request is served, and how long of every second it is not there.
SERVICE_US, STALL_MS = 100, 100


class Missing(Exception):
    """The peer is not there; the words say which and how it comes."""


def sid_root():
    """Whether the root is whole: debootstrap leaves its own folder in one that is not."""
    return os.path.exists(os.path.join(SID, "usr/sbin/nginx")) and not os.path.exists(os.path.join(SID, "debootstrap"))


def in_root():
    """What a command within the root begins with."""
    return ["chroot", SID] if os.geteuid() == 0 else ["unshare", "-r", "chroot", SID]


class Silent(Missing):
    """The server was started and does not listen."""


def start(make, spot, core, options):
    """The server, running. A port that was free may be taken by the time it is asked for: then another one is."""
    for _ in range(3):
        try:
            return make(spot, core, options)
        except Silent as error:
            told = error
    raise told


# Names that each file has besides its own.
NAMES = 100


class Spot:
    """A folder with the files, the certificate and its key. Where there is a root it stands within it, so that
    programs of the root and of the machine serve the same bytes."""

    def __init__(self, sizes):
        self.root = SID if sid_root() else ""
        self.folder = os.path.join(self.root or BUILT, f"spot-{os.getpid()}")
        self.www = os.path.join(self.folder, "www")
        os.makedirs(self.www)
        for name, length in sizes.items():
            place.fill(os.path.join(self.www, name), length)
            for number in range(NAMES):
                os.link(os.path.join(self.www, name), os.path.join(self.www, f"{name}-{number}"))
        self.cert, self.key = place.certificate(self.folder)
        with open(self.key, "rb") as key, open(self.cert, "rb") as cert:
            both = key.read() + cert.read()
        with open(os.path.join(self.folder, "both.pem"), "wb") as file:
            file.write(both)

    def of(self, program):
        """The command of a program, of the root where there is one, and what it calls this folder."""
        if self.root:
            return in_root() + [program], self.folder[len(SID):]
        found = shutil.which(program)
        if not found:
            raise Missing(f"{program} is not there: ./peers install")
        return [found], self.folder

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """A running server. `name` is the contender's, `origin` the path before a file's name."""

    def __init__(self, name, command, ports, core):
        self.name, self.ports = name, ports
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(core)] + command, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True)
            for port in ports.values():
                if not place.wait_for(port, self.process):
                    self.stop()
                    said.seek(0)
                    raise Silent(f"{name} does not listen: {said.read().strip()[-300:]}")

    def cpu(self):
        """CPU seconds so far of the process, its threads and its children, to the nanosecond."""
        return sum(thread_cpu(pid) for pid in family(self.process.pid))

    def resident(self):
        """Bytes of memory that are its own, children among them: resident, without what it shares with files."""
        return sum(anonymous(pid) for pid in family(self.process.pid))

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            # Workers that outlive their master, and who heeds no SIGTERM.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def family(pid):
    """The process and all below it."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", encoding="utf-8") as file:
                    found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def thread_cpu(pid):
    total = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8") as file:
                total += int(file.read().split()[0])
    except OSError:
        pass
    return total / 1e9


def anonymous(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))
    except OSError:
        return 0


def both_ports():
    return {"http": place.free_port(), "https": place.free_port()}


def wirelap(spot, core, options, name="wirelap", flags=()):
    ports = both_ports()
    return Server(name, [
        options.wirelap, "serve", "--threads", "1", "--listen", f"127.0.0.1:{ports['http']}",
        "--listen-tls", f"127.0.0.1:{ports['https']}", "--cert", spot.cert, "--key", spot.key, *flags,
        spot.www], ports, core)


def wirelap_epoll(spot, core, options):
    return wirelap(spot, core, options, "wirelap-epoll", ("--reactor", "epoll"))


def wirelap_quic(spot, core, options):
    """Over TCP in clear and in TLS, and over UDP at the port of TLS."""
    ports = both_ports()
    https = f"127.0.0.1:{ports['https']}"
    return Server("wirelap", [
        options.wirelap, "serve", "--threads", "1", "--listen", f"127.0.0.1:{ports['http']}", "--listen-tls", https,
        "--listen-quic", https, "--cert", spot.cert, "--key", spot.key, spot.www], ports, core)


def wirelap_h3(spot, core, options):
    port = place.free_port()
    return Server("wirelap", [
        options.wirelap, "serve", "--threads", "1", "--listen-tls", f"127.0.0.1:{port}", "--listen-quic", f"127.0.0.1:{port}",
        "--cert", spot.cert, "--key", spot.key, spot.www], {"https": port}, core)


def floor(spot, core, options, name="floor"):
    program = built(name)
    port = place.free_port()
    return Server(name, [program, str(port), os.path.join(spot.www, options.floor_file)], {"http": port}, core)


def floor_io_uring(spot, core, options):
    return floor(spot, core, options, "floor-io-uring")


def example(package, name):
    program = os.path.join(BUILT, "target/release/examples", name)
    if not os.path.exists(program):
        raise Missing(f"{name} could not be built: cargo build --release -p {package} --example {name}")
    return program


def quic_floor_program():
    return example("os", "quic_floor")


def quic_floor(spot, core, options):
    """Datagrams sealed and sent, and nothing else."""
    port = place.free_port()
    return Server("floor", [quic_floor_program(), "serve", str(port), os.path.join(spot.www, options.floor_file)], {"https": port}, core)


def quinn_proto(spot, core, options):
    """A fixed answer by quinn-proto and rustls alone, on our reactor: what a server upon quinn-proto can do at most."""
    port = place.free_port()
    words = [str(port), spot.cert, spot.key, os.path.join(spot.www, options.floor_file)]
    return Server("quinn-proto", [example("origin", "quinn_proto"), *words], {"https": port}, core)


def stalling(_spot, core, _options):
    ports = {"http": place.free_port(), "calm": place.free_port()}
    words = [str(ports["http"]), str(SERVICE_US), str(STALL_MS), str(ports["calm"])]
    return Server("stall", [built("stall")] + words, ports, core)


def nginx(spot, core, _options):
    return nginx_with(spot, core, both_ports(), "")


def nginx_h3(spot, core, _options, gso="on"):
    """The same, over UDP too. Few requests of a kept connection are the default over every protocol."""
    of_root("nginx")
    ports = both_ports()
    return nginx_with(spot, core, ports, (
        f"listen 127.0.0.1:{ports['https']} quic reuseport; http3 on; quic_gso {gso}; http3_max_concurrent_streams 256;"))


def nginx_h3_as_shipped(spot, core, options):
    """nginx sends a datagram a call unless it is told otherwise."""
    return nginx_h3(spot, core, options, gso="off")


def nginx_with(spot, core, ports, of_quic):
    command, see = spot.of("nginx")
    user = "user root;" if os.geteuid() == 0 and not spot.root else ""
    temporary = " ".join(f"{kind}_temp_path {see}/{kind};"
                         for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    # 1.25.1 took the word out of listen.
    word, line = ("", "http2 on;") if sid_root() else (" http2", "")
    # An HTTP/1.1 request on a clear port that takes HTTP/2 is served too since 1.25.1; before, it has its own port.
    ports["h2c"] = ports["http"] if sid_root() else place.free_port()
    more = "" if sid_root() else f"listen 127.0.0.1:{ports['h2c']} http2;"
    # Heads of requests may be as large as with the others: it would refuse what they answer, and hold nothing for it.
    large = "large_client_header_buffers 8 64k;"
    spot.write("nginx.conf", (
        f"daemon off; master_process off; {user} pid {see}/nginx.pid; error_log /dev/null;\n"
        "worker_rlimit_nofile 65536; events { worker_connections 16384; multi_accept on; }\n"
        "http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000;\n"
        f"keepalive_timeout 600; {large} open_file_cache max=1000; http2_max_concurrent_streams 256; {temporary}\n"
        f"types {{ }} default_type text/plain;\n"
        f"server {{ listen 127.0.0.1:{ports['http']} backlog=4096; {more}\n"
        f"listen 127.0.0.1:{ports['https']} ssl{word}; {line} {of_quic}\n"
        f"ssl_certificate {see}/cert.pem; ssl_certificate_key {see}/key.pem; root {see}/www; }} }}\n"))
    return Server("nginx", command + ["-c", f"{see}/nginx.conf"], ports, core)


def h2o(spot, core, _options):
    if not shutil.which("h2o"):
        raise Missing("h2o is not there: ./peers install")
    ports = both_ports()
    user = "user: root\n" if os.geteuid() == 0 else ""
    config = spot.write("h2o.conf", (
        f"{user}num-threads: 1\nmax-connections: 16384\nlisten:\n  host: 127.0.0.1\n  port: {ports['http']}\n"
        f"http2-max-concurrent-requests-per-connection: 256\nhttp1-request-timeout: 600\nhttp2-idle-timeout: 600\n"
        f"hosts:\n  default:\n    listen:\n      host: 127.0.0.1\n      port: {ports['https']}\n      ssl:\n"
        f"        certificate-file: {spot.cert}\n        key-file: {spot.key}\n"
        f"    paths:\n      /:\n        file.dir: {spot.www}\n"))
    return Server("h2o", ["h2o", "-c", config], ports, core)


def caddy(spot, core, _options, protocols="h1 h2 h2c"):
    ports = both_ports()
    command, see = spot.of("caddy")
    spot.write("Caddyfile", (
        "{\n admin off\n auto_https off\n"
        f" servers {{\n  protocols {protocols}\n }}\n log {{\n  output discard\n }}\n}}\n"
        f"http://127.0.0.1:{ports['http']} {{\n root * {see}/www\n file_server\n}}\n"
        f"https://127.0.0.1:{ports['https']} {{\n tls {see}/cert.pem {see}/key.pem\n root * {see}/www\n file_server\n}}\n"))
    return Server("caddy", ["env", "GOMAXPROCS=1", f"HOME={see}"] + command
                  + ["run", "--config", f"{see}/Caddyfile", "--adapter", "caddyfile"], ports, core)


def caddy_h3(spot, core, options):
    of_root("caddy")
    return caddy(spot, core, options, "h1 h2 h3")


def haproxy_h3(spot, core, options):
    of_root("haproxy")
    return haproxy(spot, core, options, " bind quic4@127.0.0.1:{https} ssl crt {see}/both.pem alpn h3\n")


def of_root(name):
    if not sid_root():
        raise Missing(f"{name} with HTTP/3 is in the Debian sid root alone, and there is none: install debootstrap")


def haproxy(spot, core, options, of_quic=""):
    length = os.path.getsize(os.path.join(spot.www, options.floor_file))
    if length > 100_000:
        raise Missing("haproxy answers with a file from one of its buffers, and this one is larger than any that it is fair to give it")
    # A buffer that holds the answer and its head; the default's 16 KiB where that does.
    buffers = " tune.bufsize 131072\n" if length > 8192 else ""
    ports = both_ports() | {"h2c": place.free_port()}
    command, see = spot.of("haproxy")
    answer = (f" http-request return status 200 content-type text/plain file {see}/www/{options.floor_file}\n")
    spot.write("haproxy.cfg", (
        f"global\n maxconn 9000\n nbthread 1\n{buffers}"
        "defaults\n mode http\n timeout client 600s\n timeout connect 5s\n timeout server 600s\n"
        f"frontend clear\n bind 127.0.0.1:{ports['http']}\n{answer}"
        f"frontend prior\n bind 127.0.0.1:{ports['h2c']} proto h2\n{answer}"
        f"frontend tls\n bind 127.0.0.1:{ports['https']} ssl crt {see}/both.pem alpn h2,http/1.1\n"
        + of_quic.format(https=ports["https"], see=see) + answer))
    return Server("haproxy", command + ["-db", "-q", "-f", f"{see}/haproxy.cfg"], ports, core)


def node_ws(spot, core, _options):
    if not shutil.which("node"):
        raise Missing("node is not there: ./peers install")
    modules = os.path.join(HOME, "peers/node/node_modules")
    if not os.path.isdir(os.path.join(modules, "ws")):
        raise Missing("Node's ws is not there: ./peers install")
    port = place.free_port()
    program = spot.write("echo.js", (
        f"const {{ WebSocketServer }} = require('{modules}/ws');\n"
        f"new WebSocketServer({{ host: '127.0.0.1', port: {port}, perMessageDeflate: false }})\n"
        "  .on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })));\n"))
    return Server("node-ws", ["node", program], {"http": port}, core)


def fastwebsockets(_spot, core, _options):
    program = os.path.join(BUILT, "target/release/fastwebsockets-echo")
    if not os.path.exists(program):
        raise Missing("fastwebsockets could not be built")
    port = place.free_port()
    return Server("fastwebsockets", [program, str(port)], {"http": port}, core)


def built(name):
    program = os.path.join(BUILT, name)
    if not os.path.exists(program):
        raise Missing(f"{name} could not be built: a C compiler is needed")
    return program
