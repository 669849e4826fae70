//! What the heads of recorded pages come to as header blocks: SPDY's by fields and by zlib, and HTTP/2's.
//! `header_sizes FILE.har …`. As on a wire, all requests to a host share a connection, and so do its
//! answers.
#![allow(clippy::print_stdout, reason = "an example is a program")]

use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use wire::spdy::{Effort, Encoder};
use wire::{Field, hpack};

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    url: String,
    headers: Vec<Header>,
}

#[derive(Deserialize)]
struct Response {
    status: i32,
    headers: Vec<Header>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

type Head = Vec<(String, String)>;

const EFFORTS: [(&str, Effort); 4] = [
    ("fields", Effort::Fields),
    ("zlib 1", Effort::Zlib(1)),
    ("zlib 6", Effort::Zlib(6)),
    ("zlib 9", Effort::Zlib(9)),
];

fn main() -> Result<(), Box<dyn Error>> {
    print!("{:<28} {:<9} {:>5} {:>8}", "page", "heads", "", "plain");
    EFFORTS.iter().for_each(|(name, _)| print!(" {name:>8}"));
    println!(" {:>8}", "h2");
    for path in std::env::args().skip(1) {
        let har: Har = serde_json::from_slice(&std::fs::read(&path)?)?;
        let page = path.rsplit('/').next().unwrap_or(&path);
        let (mut requests, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for entry in &har.log.entries {
            let (scheme, host, path) = parts(&entry.request.url);
            let request = (request(entry, (scheme, host, path)), answer(entry));
            requests.entry(host).or_insert_with(Vec::new).push(request.0);
            answers.entry(host).or_insert_with(Vec::new).push(request.1);
        }
        for (kind, connections) in [("requests", requests), ("answers", answers)] {
            let heads: usize = connections.values().map(Vec::len).sum();
            print!("{page:<28} {kind:<9} {heads:>5}");
            let plain = connections.values().flatten().flatten();
            print!(" {:>8}", plain.map(|(name, value)| name.len() + value.len()).sum::<usize>());
            for (_, effort) in EFFORTS {
                print!(" {:>8}", connections.values().map(|c| spdy(c, effort)).sum::<usize>());
            }
            println!(" {:>8}", connections.values().map(|c| h2(c)).sum::<usize>());
        }
    }
    Ok(())
}

fn spdy(heads: &[Head], effort: Effort) -> usize {
    let (mut encoder, mut out) = (Encoder::new(effort), Vec::new());
    for head in heads {
        encoder.begin();
        for (name, value) in head {
            encoder.field(name.as_bytes(), value.as_bytes());
        }
        encoder.finish(&mut out);
    }
    out.len()
}

fn h2(heads: &[Head]) -> usize {
    let (mut encoder, mut out) = (hpack::Encoder::new(4096), Vec::new());
    for head in heads {
        encoder.begin(&mut out);
        for (name, value) in head.iter().filter(|(name, _)| name != ":version") {
            let name = if name == ":host" { ":authority" } else { name };
            let value = if name == ":status" { &value[..3] } else { value };
            let (name, value) = (name.as_bytes(), value.as_bytes());
            encoder.field(Field { name, value, sensitive: false }, &mut out);
        }
    }
    out.len()
}

fn request(entry: &Entry, (scheme, host, path): (&str, &str, &str)) -> Head {
    let method = entry.request.method.as_str();
    let special = [
        (":host", host),
        (":method", method),
        (":path", path),
        (":scheme", scheme),
        (":version", "HTTP/1.1"),
    ];
    head(&special, &entry.request.headers)
}

fn answer(entry: &Entry) -> Head {
    // A status that is missing is -1 or 0, an aborted one -2.
    let status = format!("{:03} OK", entry.response.status.max(0));
    head(&[(":status", &status), (":version", "HTTP/1.1")], &entry.response.headers)
}

fn head(special: &[(&str, &str)], headers: &[Header]) -> Head {
    let is_of_connection = |name: &str| {
        name.starts_with(':')
            || ["connection", "host", "keep-alive", "transfer-encoding", "status", "version"]
                .contains(&name)
    };
    let regular = headers.iter().map(|header| (header.name.to_lowercase(), header.value.clone()));
    special
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .chain(regular.filter(|(name, _)| !is_of_connection(name)))
        .collect()
}

fn parts(url: &str) -> (&str, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let at = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(at);
    (scheme, host, if path.is_empty() { "/" } else { path })
}
