"""The rows of the table: who does what against whom, and what is demanded. Figures are requests per CPU second of
the side that is measured, as ratios in one run."""

from dataclasses import dataclass, field, replace

from . import drivers, servers

SMALL, MIDDLE, LARGE = "13B", "100kB", "10MB"
SIZES = {SMALL: 13, "1kB": 1_000, MIDDLE: 100_000, LARGE: 10_000_000}

# The servers that serve files, wirelap's own first.
FILES = {"wirelap": servers.wirelap, "nginx": servers.nginx, "h2o": servers.h2o,
         "caddy": servers.caddy, "haproxy": servers.haproxy, "floor": servers.floor}


@dataclass
class Demand:
    """At least so many times what the best of `others` does."""
    factor: float
    others: tuple
    key: str = "per_cpu_s"


@dataclass
class Truth:
    """Within this of what is known to be true."""
    within: float
    key: str = "told_of_true"


@dataclass
class Row:
    name: str
    work: str
    # Contender's name to (its server, its driver).
    contenders: dict
    demands: list
    scheme: str = "http"
    port: str = "http"
    file: str = SMALL
    # How many names of the file each connection asks for in turn.
    names: int = 1
    connections: int = 64
    streams: int = 0
    bytes: int = 64
    # Whose CPU seconds count.
    side: str = "server"
    # A subset that shows within seconds that everything works.
    quick: bool = False
    # Runs where loopback has Ethernet's MTU. Its own would let QUIC send datagrams that no path takes.
    small_mtu: bool = False
    # Set by the run.
    seconds: int = 2
    wirelap: str = field(default="", repr=False)

    @property
    def length(self):
        """Bytes of its file."""
        return SIZES[self.file]


def served(names, driver):
    return {name: (FILES[name], driver) for name in names}


def every():
    """All rows, in the table's order."""
    four = ("nginx", "h2o", "caddy", "haproxy")
    rows = [
        Row("h1-clear", "HTTP/1.1 clear, 13 bytes, 64 connections", served(("wirelap", "floor", "nginx", "h2o"), drivers.wrk),
            [Demand(1.5, ("nginx", "h2o")), Demand(1.2, ("nginx", "h2o"), "per_s"), Demand(0.85, ("floor",))], quick=True),
        Row("h1-tls", "HTTP/1.1 TLS, 13 bytes, 64 connections", served(("wirelap",) + four, drivers.wrk),
            [Demand(1.25, four)], scheme="https", port="https"),
        Row("h2-tls", "h2 TLS, 13 bytes, 10 connections x 32 streams", served(("wirelap",) + four, drivers.h2load),
            [Demand(1.25, four)], scheme="https", port="https", connections=10, streams=32, quick=True),
        Row("h2-clear", "h2 clear, 13 bytes, 10 connections x 32 streams", served(("wirelap",) + four, drivers.h2load),
            [Demand(1.25, four)], port="h2c", connections=10, streams=32),
    ]
    for file, connections in ((MIDDLE, 16), (LARGE, 4)):
        for version, driver, streams in (("h1", drivers.wrk, 0), ("h2", drivers.h2load, 4)):
            for kind, scheme, port in (("clear", "http", "h2c" if streams else "http"), ("tls", "https", "https")):
                kernel = file == LARGE and kind == "clear" and version == "h1"
                what = f"{version.replace('h1', 'HTTP/1.1')} {kind.replace('tls', 'TLS')}, {file}"
                how = f"{connections} connections" + (f" x {streams} streams" if streams else "")
                rows.append(Row(f"{file}-{version}-{kind}", f"{what}, {how}", served(("wirelap",) + four, driver),
                                [Demand(1.0 if kernel else 1.1, four)], scheme=scheme, port=port, file=file,
                                connections=connections, streams=streams))
    echo = {"wirelap": (servers.wirelap, drivers.echoes), "node-ws": (servers.node_ws, drivers.echoes),
            "fastwebsockets": (servers.fastwebsockets, drivers.echoes)}
    rows.append(Row("ws-echo", "WebSocket echo, 64 bytes, 64 connections", echo,
                    [Demand(1.5, ("node-ws",)), Demand(1.0, ("fastwebsockets",))]))
    for connections in (1, 64, 1024, 8192):
        rows.append(Row(f"floor-{connections}", f"HTTP/1.1 clear, 13 bytes, connections: {connections}",
                        served(("wirelap", "floor"), drivers.wrk), [Demand(0.8, ("floor",))], connections=connections))
    rows += engine()
    rows += http3()
    rows += backends(rows)
    return rows


def backends(rows):
    """The reactor's two backends beside each other, in the rows where their costs could differ."""
    found = {row.name: row for row in rows}
    for name in ("h1-clear", "h2-tls", "100kB-h1-clear", "ws-echo", "floor-1", "floor-1024", "floor-8192"):
        row = found[name]
        make, driver = row.contenders["wirelap"]
        contenders = {"wirelap": (make, driver), "wirelap-epoll": (servers.wirelap_epoll, driver)}
        if "floor" in row.contenders:
            contenders |= {"floor": (servers.floor, driver), "floor-io-uring": (servers.floor_io_uring, driver)}
        # What is the default, io_uring where the kernel has it, is the better one.
        yield replace(row, name=f"reactor-{name}", work=f"the default reactor beside epoll: {row.work}",
                      contenders=contenders, demands=[Demand(1.0, ("wirelap-epoll",))], quick=False)


def http3():
    """HTTP/3: h2load with QUIC as the driver, and the load engine beside it."""
    peers = {"nginx": (servers.nginx_h3, drivers.h2load_h3), "nginx-gso-off": (servers.nginx_h3_as_shipped, drivers.h2load_h3),
             "haproxy": (servers.haproxy_h3, drivers.h2load_h3), "caddy": (servers.caddy_h3, drivers.h2load_h3),
             "quinn-proto": (servers.quinn_proto, drivers.h2load_h3)}
    own = {"wirelap": (servers.wirelap_h3, drivers.h2load_h3)}
    common = {"scheme": "https", "port": "https", "small_mtu": True}
    for file, connections, streams, demands in (
            (SMALL, 32, 32, [Demand(3.0, ("nginx",)), Demand(4.0, ("haproxy",)), Demand(25.0, ("caddy",))]),
            (SMALL, 64, 1, [Demand(1.2, ("nginx",))]),
            ("1kB", 50, 10, [Demand(1.6, ("nginx",))]),
            (MIDDLE, 8, 8, [Demand(1.5, ("nginx",)), Demand(1.15, ("haproxy",))]),
            (LARGE, 4, 1, [Demand(1.5, ("nginx",)), Demand(0.4, ("floor",))])):
        bare = {"floor": (servers.quic_floor, drivers.quic_floor)} if file == LARGE else {}
        yield Row(f"h3-{file}-{connections}x{streams}", f"h3, {file}, {connections} connections x {streams} streams",
                  own | peers | bare, demands, file=file, connections=connections, streams=streams, **common)
    few = {name: contender for name, contender in (own | peers).items() if name in ("wirelap", "nginx")}
    yield Row("h3-13B-names", f"h3, 13B under {servers.NAMES} names, 32 connections x 32 streams", few, [Demand(3.0, ("nginx",))],
              connections=32, streams=32, names=servers.NAMES, **common)
    over_tls = {"wirelap-h2": (servers.wirelap, drivers.h2load)}
    for file, connections, streams, factor in ((SMALL, 32, 32, 1 / 2), (MIDDLE, 8, 8, 1 / 1.6)):
        yield Row(f"h3-of-h2-{file}", f"our h3 beside our h2 over TLS, {file}, {connections} connections x {streams} streams",
                  own | over_tls, [Demand(factor, ("wirelap-h2",))], file=file, connections=connections, streams=streams, **common)
    for of, server in (("", servers.wirelap_h3), ("-nginx", servers.nginx_h3)):
        drive = {"wirelap load": (server, drivers.load_h3), "h2load": (server, drivers.h2load_h3)}
        whose = "nginx" if of else "our server"
        yield Row(f"load-h3{of}", f"load engine, h3, 32 connections x 32 streams, {whose}", drive, [Demand(1.5, ("h2load",))],
                  connections=32, streams=32, side="client", **common)


def engine():
    """The load engine beside other drivers, against one server."""
    clear = {"wirelap load": (servers.floor, drivers.load_engine), "wrk": (servers.floor, drivers.wrk)}
    h2 = {"wirelap load": (servers.wirelap, drivers.load_engine), "h2load": (servers.wirelap, drivers.h2load)}
    return [
        Row("load-h1-clear", "load engine, HTTP/1.1 clear, on the floor", clear, [Demand(1.25, ("wrk",))], side="client"),
        Row("load-h2-tls", "load engine, h2 TLS, 10 connections x 32 streams", h2, [Demand(1.25, ("h2load",))],
            scheme="https", port="https", connections=10, streams=32, side="client"),
        Row("load-h2-clear", "load engine, h2 clear, 10 connections x 32 streams", h2, [Demand(1.25, ("h2load",))],
            port="h2c", connections=10, streams=32, side="client"),
        Row("stall", "open loop at half the capacity: p99 of a server that stands still for 100 ms of every second",
            {"wirelap load": (servers.stalling, drivers.open_loop)}, [Truth(0.02)], side="client"),
    ]
