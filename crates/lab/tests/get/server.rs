//! An HTTP/1.1 server small enough to lie: each test says what goes over the wire.

use crate::bench::{Bench, Ran};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// The first byte asked for, where it asked for a range.
    pub(crate) from: Option<usize>,
    /// The byte after the last asked for, where it named one.
    pub(crate) to: Option<usize>,
    pub(crate) if_range: Option<String>,
    pub(crate) if_unmodified_since: Option<String>,
    /// Its number, from 0, over all connections.
    pub(crate) number: usize,
}

/// A server, for as long as the test runs.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// One that answers by `script`, a thread a connection. A script that returns false ends the connection.
    pub(crate) fn new(
        script: impl Fn(&Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, all) = (Arc::new(script), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, all) = (Arc::clone(&script), Arc::clone(&all));
                std::thread::spawn(move || serve(stream, &*script, &all));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &dyn Fn(&Request, &mut TcpStream) -> bool,
    all: &Mutex<Vec<Request>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let field = |name: &str| {
            lines.iter().find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let request = {
            let mut all = all.lock().unwrap();
            let request = Request {
                path: lines[0].split(' ').nth(1).unwrap_or_default().to_owned(),
                from: field("range").and_then(|range| {
                    range.strip_prefix("bytes=")?.split('-').next()?.parse().ok()
                }),
                to: field("range").and_then(|range| {
                    range.split('-').nth(1)?.parse::<usize>().ok().map(|last| last + 1)
                }),
                if_range: field("if-range"),
                if_unmodified_since: field("if-unmodified-since"),
                number: all.len(),
            };
            all.push(request.clone());
            request
        };
        if !script(&request, &mut stream) {
            return;
        }
    }
}

/// Writes, and does not mind a client that has gone.
pub(crate) fn put(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) -> bool {
    stream.write_all(bytes.as_ref()).is_ok()
}

/// Answers as an honest server would, with the tag `tag`; but of the body only `sent` bytes.
pub(crate) fn answer(
    request: &Request,
    stream: &mut TcpStream,
    (tag, body, sent): (&str, &[u8], usize),
) -> bool {
    let fits = request.if_range.as_deref().is_none_or(|value| value == tag);
    let (length, asked) = (body.len(), request.from.filter(|_| fits));
    let from = asked.unwrap_or(0).min(length);
    let to = asked.and(request.to).unwrap_or(length).min(length);
    let head = match asked {
        Some(from) if from >= length => format!(
            "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */{length}\r\n\
             Content-Length: 0\r\n\r\n"
        ),
        Some(_) => format!(
            "HTTP/1.1 206 Partial Content\r\nETag: {tag}\r\n\
             Content-Range: bytes {from}-{}/{length}\r\nContent-Length: {}\r\n\r\n",
            to - 1,
            to - from
        ),
        None => format!("HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {length}\r\n\r\n"),
    };
    let end = from.saturating_add(sent).min(to);
    put(stream, head) && put(stream, &body[from..end]) && end == to
}

/// Bytes that no two places share by accident.
pub(crate) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 256 * 7 + index / 65_536) as u8).collect()
}

/// Downloads with flags that keep rests short.
pub(crate) fn get(bench: &Bench, args: &[&str]) -> Ran {
    bench.run(&[&["get"], args].concat())
}

/// What stands in the folder, hidden names too.
pub(crate) fn names(bench: &Bench) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(&bench.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The whole file stands there, and nothing beside it.
pub(crate) fn is_whole(bench: &Bench, name: &str, body: &[u8]) {
    assert!(std::fs::read(bench.path(name)).unwrap() == body, "{name} has another content");
    assert!(!names(bench).iter().any(|name| name.contains("wirelap")), "{:?}", names(bench));
}

/// SHA-256 by another program.
pub(crate) fn sha256(bench: &Bench, file: &str) -> String {
    let ran = bench.shell(&[], &format!("sha256sum {file}"));
    ran.out.split(' ').next().unwrap().to_owned()
}
