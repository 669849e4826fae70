//! A page of three hosts, recorded by a browser and replayed: redirects, a font, requests of scripts, a WebSocket.

use crate::bench::{Bench, Ran, outcomes, trials_run_here};
use crate::recorded::is_whole;
use crate::started::started;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use testing::peers::{free_port, program};

/// Serves the three hosts on one port, which is its argument. The picture that the page's `load` event waits for comes once
/// everything else has been asked for.
const SERVER: &str = r##"
import base64, hashlib, struct, sys, threading, zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
port = int(sys.argv[1])
all_asked = {"font": threading.Event(), "api": threading.Event(), "chat": threading.Event(), "items": threading.Event()}
PAGE = f'''<!doctype html><title>a shop</title><link rel=stylesheet href="http://b.test:{port}/old.css">
<script src="/app.js"></script><p style="font-family: own">some words</p><img src="/last.png" width=10 height=10>'''
CSS = f'@font-face {{ font-family: own; src: url(http://c.test:{port}/own.woff2) }} p {{ color: green }}'
APP = f'''
// Half of an emoji, as where a text was cut: a string may hold it, and Unicode has no such character.
document.title += ' \\ud83d';
console.log('\\ud83d', document.title);
fetch('/items?nonce=' + Math.random()).then(answer => answer.json());
fetch('http://b.test:{port}/api', {{ method: 'POST', body: JSON.stringify({{ at: 'x'.repeat(500) }}),
  headers: {{ 'Content-Type': 'application/json' }} }});
const chat = new WebSocket('ws://c.test:{port}/chat');
chat.onopen = () => chat.send('hello');
chat.onmessage = message => {{ if (message.data === 'good day') chat.send('bye'); }};
'''
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
PICTURE = (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 10, 10, 8, 2, 0, 0, 0))
  + chunk(b'IDAT', zlib.compress((b'\0' + b'\x20\x80\x40' * 10) * 10)) + chunk(b'IEND', b''))
class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, said=b"", status=200, kind="text/plain", **more):
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "content-type")
        self.send_header("Content-Length", str(len(said)))
        if said: self.send_header("Content-Type", kind)
        for name, value in more.items(): self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)
    def do_OPTIONS(self): self.say(status=204)
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        all_asked["api"].set()
        self.say(b'{"ok":1}', 201, "application/json")
    def do_GET(self):
        host, path = self.headers["Host"].split(":")[0], self.path.split("?")[0]
        if (host, path) == ("a.test", "/"): self.say(PAGE.encode(), kind="text/html")
        elif (host, path) == ("a.test", "/app.js"): self.say(APP.encode(), kind="text/javascript")
        elif (host, path) == ("a.test", "/items"):
            all_asked["items"].set()
            self.say(b"[1, 2, 3]", kind="application/json")
        elif (host, path) == ("a.test", "/last.png"):
            for event in all_asked.values(): event.wait(20)
            self.say(PICTURE, kind="image/png")
        elif (host, path) == ("b.test", "/old.css"): self.say(status=302, Location="/new.css")
        elif (host, path) == ("b.test", "/new.css"): self.say(CSS.encode(), kind="text/css")
        elif (host, path) == ("c.test", "/own.woff2"):
            all_asked["font"].set()
            self.say(b"no font" * 500, kind="font/woff2")
        elif (host, path) == ("c.test", "/chat"): self.chat()
        else: self.say(b"there is nothing here", 404)
    def chat(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())
        def message():
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8: return None
            mask = self.rfile.read(4)
            return bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
        def send(said): self.wfile.write(bytes([0x81, len(said)]) + said)
        if message() == b"hello": send(b"good day")
        if message() == b"bye": send(b"see you")
        all_asked["chat"].set()
        message()
        self.close_connection = True
    def log_message(self, *words): pass
ThreadingHTTPServer(("127.0.0.1", port), Site).serve_forever()
"##;

/// What the recording has, in the order of its URLs: host and path, status, and bytes.
const ASKED: [(&str, u64, u64); 10] = [
    ("a.test/", 200, 0),
    ("a.test/app.js", 200, 0),
    ("a.test/items", 200, 9),
    ("a.test/last.png", 200, 0),
    ("b.test/api", 201, 8),
    ("b.test/api", 204, 0),
    ("b.test/new.css", 200, 0),
    ("b.test/old.css", 302, 0),
    ("c.test/chat", 101, 15),
    ("c.test/own.woff2", 200, 3_500),
];

/// Records the page into `site`. None, and a skip, where this machine cannot.
fn recorded(bench: &Bench) -> Option<Ran> {
    let python = program("python3")?;
    program("chromium-headless-shell")?;
    bench.write("site.py", SERVER);
    let port = free_port();
    let server = started(bench, (&python, &["site.py", &port.to_string()]), port);
    let url = format!("http://a.test:{port}/");
    let rules = ["a", "b", "c"].map(|host| format!("{host}.test:{port}:127.0.0.1"));
    let resolve = rules.iter().flat_map(|rule| ["--resolve", rule]);
    let words: Vec<&str> =
        ["record", &url, "-o", "site", "--har", "page.har"].into_iter().chain(resolve).collect();
    let ran = bench.run(&words);
    server.signal("TERM");
    server.end();
    Some(ran)
}

fn rows(run: &Path) -> Vec<Value> {
    let rows = rusqlite::Connection::open(run.join("rows.sqlite")).unwrap();
    let mut all = rows.prepare("SELECT record FROM trials").unwrap();
    let texts = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
    texts.map(|text| serde_json::from_str(&text.unwrap()).unwrap()).collect()
}

/// Every fetch: host and path, status, bytes, and what became of it.
fn fetched(row: &Value) -> Vec<(String, u64, u64, Value)> {
    let one = |fetch: &Value| {
        let url: page::Url = fetch["url"].as_str().unwrap().parse().unwrap();
        let path = url.path.split('?').next().unwrap();
        let number = |name: &str| fetch[name].as_u64().unwrap_or(0);
        let outcome = fetch["outcome"].clone();
        (format!("{}{path}", url.host), number("status"), number("body_bytes"), outcome)
    };
    let mut fetched: Vec<_> = row["fetches"].as_array().unwrap().iter().map(one).collect();
    fetched.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    fetched
}

/// That a replay has everything that was recorded.
fn assert_whole(name: &str, row: &Value) {
    let fetched = fetched(row);
    assert_eq!(fetched.len(), ASKED.len(), "{name}: {fetched:#?}");
    for ((place, status, bytes, outcome), (asked, answer, length)) in fetched.iter().zip(ASKED) {
        assert_eq!(place, asked, "{name}");
        assert_eq!(outcome, "done", "{name}: {place}");
        // A WebSocket over HTTP/2 and HTTP/3 is answered with 200.
        let is_socket = answer == 101 && matches!(status, 101 | 200);
        assert!(*status == answer || is_socket, "{name}: {place}: {status}");
        // In a HAR `_transferSize` goes before `bodySize`, and has the bytes of the head, too.
        let is_length = if name == "site" { *bytes == length } else { *bytes >= length };
        assert!(length == 0 || is_length, "{name}: {place}: {bytes} bytes");
    }
}

#[test]
fn a_recorded_page_of_three_hosts_is_replayed_whole_over_each_http_and_by_its_har() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some(ran) = recorded(&bench) else { return };
    ran.said(0, &[]);
    for words in [
        "10 requests, 10 responses",
        "Replay it: wirelap race site",
        "1 WebSocket is opened over the contender's transport",
        "1 request is answered with a redirect",
        "it names 3 hosts",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let site: Value =
        serde_json::from_slice(&fs::read(bench.path("site/site.json")).unwrap()).unwrap();
    assert_eq!(site["wirelap_site"], 1);
    let har: Value = serde_json::from_slice(&fs::read(bench.path("page.har")).unwrap()).unwrap();
    assert_eq!(har["log"]["pages"][0]["title"], "a shop \u{fffd}");
    let entries = har["log"]["entries"].as_array().unwrap();
    let blocks = |entry: &&Value| entry["_renderBlocking"] == "blocking";
    assert!(entries.iter().any(|entry| blocks(&entry)), "a sheet blocks: {entries:#?}");
    let bodies = fs::read_dir(bench.path("site/bodies")).unwrap().count();
    assert_eq!(bodies, 7, "the page, a script, a sheet, a font, a picture, two answers");
    // The HAR is read by the same reader: two ways are enough.
    for (what, contenders, cells) in [("site", "h1-tls,h2,h3", 6), ("page.har", "h1-tls,h2", 4)] {
        let run = format!("run-{what}");
        let link = "rtt=10ms,down=20mbit,up=20mbit";
        let args = ["--contenders", contenders, "--links", link, "--trials", "1", "--out", &run];
        bench.run(&[&["race", what][..], &args].concat()).raced();
        for (key, outcome, reason) in outcomes(&bench.path(&run)) {
            assert!(is_whole(&outcome), "{key}: {outcome}: {reason:?}");
        }
        let rows = rows(&bench.path(&run));
        rows.iter().for_each(|row| assert_whole(what, row));
        // A busy machine has some of them run again.
        let cell = |row: &Value| {
            let cell = &row["plan"]["cell"];
            format!("{} {}", cell["workload"]["name"], cell["contender"]["name"])
        };
        let seen: BTreeSet<String> = rows.iter().map(cell).collect();
        assert_eq!(seen.len(), cells, "each way, with the recorded order and flat: {seen:?}");
    }
}

#[test]
fn a_browser_loads_a_recorded_page_and_finds_every_answer() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let Some(ran) = recorded(&bench) else { return };
    ran.said(0, &[]);
    let link = "rtt=10ms,down=20mbit,up=20mbit";
    let args = ["--client", "chromium", "--contenders", "h1-tls,h2,h3", "--links", link];
    let args = [&args[..], &["--trials", "1", "--out", "run"]].concat();
    let ran = bench.run(&[&["race", "site"][..], &args].concat());
    ran.raced();
    assert!(ran.out.contains("Replays by browsers, "), "{}", ran.out);
    let rows = rows(&bench.path("run"));
    let mut seen = 0;
    for row in &rows {
        let contender = row["plan"]["cell"]["contender"]["name"].as_str().unwrap();
        // A browser that had no time for the page on a busy machine tells nothing.
        let outcome = row["outcome"]["kind"].as_str().unwrap();
        assert!(is_whole(outcome), "{contender}: {:?}", row["outcome"]);
        let count = |name: &str| row["metrics"][name].as_f64().unwrap();
        assert_eq!((count("replay_missed"), count("replay_nearest")), (0.0, 0.0), "{contender}");
        assert_eq!(count("replay_not_asked"), 0.0, "{contender}");
        // Browsers open WebSockets over TCP alone.
        let missed = if contender == "h3" { 1.0 } else { 0.0 };
        assert_eq!(count("replay_sockets_missed"), missed, "{contender}");
        let fetched: Vec<(String, u64)> =
            fetched(row).into_iter().map(|(place, status, ..)| (place, status)).collect();
        let expected =
            ASKED.iter().filter(|(place, ..)| !matches!(*place, "b.test/api" | "c.test/chat"));
        let expected: Vec<(String, u64)> =
            expected.map(|(place, status, _)| ((*place).to_owned(), *status)).collect();
        assert_eq!(fetched, expected, "{contender}: {:?}", row["fetches"]);
        seen += 1;
    }
    assert!(seen >= 3, "each contender has a row");
}

#[test]
fn a_recording_is_refused_where_it_would_lose_something_and_leaves_nothing_behind() {
    let bench = Bench::new();
    fs::create_dir(bench.path("full")).unwrap();
    bench.write("full/mine", "mine");
    let ran = bench.run(&["record", "http://127.0.0.1:1/", "-o", "full"]);
    ran.said(2, &["full is there already, and not empty", "name a new folder by -o"]);
    let ran = bench.run(&["record", "ftp://a.test/", "-o", "new"]);
    ran.said(2, &["scheme `ftp` is not fetched over http"]);
    let ran = bench.run(&["record", "http://a.test/", "-o", "new", "--browser", "firefox"]);
    assert!(ran.code == 2 || ran.code == 3, "{ran:?}");
    let mut alone = bench.wirelap(&["record", "http://a.test/", "-o", "new"]);
    alone.env("PATH", "/nowhere");
    bench.start(alone).end().said(3, &["chromium-headless-shell", "apt-get install"]);
    if program("chromium-headless-shell").is_some() {
        // Nobody listens there.
        let ran = bench.run(&["record", "http://127.0.0.1:1/", "-o", "new"]);
        ran.said(1, &["http://127.0.0.1:1/: net::ERR_"]);
    }
    // Nobody answers here, until Ctrl-C.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    if program("chromium-headless-shell").is_some() {
        let running = bench.start(bench.wirelap(&["record", &url, "-o", "new"]));
        let (_asked, _) = silent.accept().unwrap();
        running.signal("INT");
        running.end().said(130, &["stopped: a signal came before the page was recorded"]);
    }
    let mut left: Vec<_> =
        fs::read_dir(&bench.folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["full"]);
}
