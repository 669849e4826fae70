//! Lengths that lie: a body that is longer than its head says, or shorter, over HTTP/1.1 and HTTP/2. Each is a clear
//! error, nothing stands under the final name, and a server that has turned honest is gone on from.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, put};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The words of a body that goes on after its end.
const MORE: &str = "sent more after the end of the body";

/// Serves `body` with `head`, which lies, until it is told to be honest.
fn liar(head: String, body: Vec<u8>) -> (Server, Arc<AtomicBool>) {
    let honest = Arc::new(AtomicBool::new(false));
    let is_honest = honest.clone();
    let server = Server::new(move |request, stream| {
        if is_honest.load(Ordering::SeqCst) {
            return answer(request, stream, ("\"a\"", &body, usize::MAX));
        }
        let ends = head.contains("close");
        // In one piece, so that what is too much is there when the body has ended.
        put(stream, [head.as_bytes(), &body].concat()) && !ends
    });
    (server, honest)
}

#[test]
fn a_length_that_is_too_small_is_told_and_an_honest_server_is_gone_on_from() {
    // Below the buffer of the reactor, above it, and large enough to be received where it is written from.
    for length in [1_000, 50_000, 300_000, 20 << 20] {
        for fields in ["", "Connection: close\r\n"] {
            for flags in [&[][..], &["--page-cache"]] {
                let bench = Bench::new();
                let (body, said) = (content(length), length - 100);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n{fields}Content-Length: {said}\r\n\r\n"
                );
                let (server, honest) = liar(head, body.clone());
                let url = server.url("/file");
                let args = [&[url.as_str()], flags].concat();
                get(&bench, &args).said(1, &[&url, MORE, "Content-Length"]);
                assert!(!bench.path("file").exists(), "{length} {fields:?}");
                assert_eq!(server.seen().len(), 1, "a lie is not tried again");
                honest.store(true, Ordering::SeqCst);
                get(&bench, &args).said(0, &[]);
                is_whole(&bench, "file", &body);
            }
        }
    }
}

#[test]
fn what_follows_the_last_chunk_is_told() {
    let bench = Bench::new();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthere\r\n0\r\n\r\n";
    let (server, _) = liar(head.to_owned(), b"more".to_vec());
    get(&bench, &[&server.url("/file")]).said(1, &[MORE]);
    assert!(!bench.path("file").exists());
}

#[test]
fn one_that_lies_does_not_spoil_the_others_of_its_connection() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| match request.path.as_str() {
        "/lie" => put(stream, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nlonger"),
        _ => answer(request, stream, ("\"a\"", b"there", usize::MAX)),
    });
    let urls = ["/one", "/lie", "/two"].map(|path| server.url(path));
    let args: Vec<&str> = urls.iter().map(String::as_str).collect();
    get(&bench, &args).said(1, &[&urls[1], MORE]);
    for name in ["one", "two"] {
        assert_eq!(std::fs::read(bench.path(name)).unwrap(), b"there");
    }
    assert!(!bench.path("lie").exists());
}

#[test]
fn a_piece_that_is_longer_than_its_range_is_told() {
    let bench = Bench::new();
    let body = content(20 << 20);
    let server = Server::new(move |request, stream| {
        let (from, to) = (request.from.unwrap_or(0), request.to.unwrap_or(body.len()));
        let to = to.min(body.len());
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes {from}-{}/{}\r\n\
             Content-Length: {}\r\n\r\n",
            to - 1,
            body.len(),
            to - from
        );
        put(stream, [head.as_bytes(), &body[from..to], b"more"].concat())
    });
    get(&bench, &[&server.url("/file"), "--connections", "4"]).said(1, &[MORE]);
    assert!(!bench.path("file").exists());
}

/// An HTTP/2 server by prior knowledge that says `said` of the length of `body`; honest, it says nothing of it.
fn h2_liar(said: usize, body: Vec<u8>) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let honest = Arc::new(AtomicBool::new(false));
    let is_honest = honest.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let told = (!is_honest.load(Ordering::SeqCst)).then_some(said);
            // A client that has had enough closes the connection.
            let _ = speak_h2(stream, told, &body);
        }
    });
    (url, honest)
}

fn speak_h2(mut stream: TcpStream, said: Option<usize>, body: &[u8]) -> std::io::Result<()> {
    // RFC 9113 §3.4: the preface of both sides.
    stream.read_exact(&mut [0; 24])?;
    stream.write_all(&frame(4, 0, 0, &[]))?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize])?;
        // RFC 9113 §6.2: HEADERS.
        if head[3] == 1 {
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            // RFC 7541 §6.1, §6.2.2, appendix A: 8 is `:status: 200`, 28 `content-length`, 34 `etag`.
            let mut fields = vec![0x88, 0x0f, 34 - 15, 3];
            fields.extend(b"\"a\"");
            if let Some(said) = said.map(|said| said.to_string()) {
                fields.extend([0x0f, 28 - 15, said.len() as u8]);
                fields.extend(said.as_bytes());
            }
            stream.write_all(&frame(1, 4, id, &fields))?;
            let last = body.len().div_ceil(16_384) - 1;
            for (index, piece) in body.chunks(16_384).enumerate() {
                stream.write_all(&frame(0, u8::from(index == last), id, piece))?;
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

#[test]
fn a_length_that_lies_over_http2_is_a_malformed_answer() {
    // Below the window that every stream begins with, so that nobody waits for it.
    let body = content(60_000);
    for (said, words) in [
        (59_000, "more DATA than Content-Length says"),
        (70_000, "less DATA than Content-Length says"),
    ] {
        let bench = Bench::new();
        let (url, honest) = h2_liar(said, body.clone());
        let args = [&url, "--http2-prior-knowledge"];
        get(&bench, &args).said(1, &[&url, words]);
        assert!(!bench.path("file").exists(), "{said}");
        honest.store(true, Ordering::SeqCst);
        get(&bench, &args).said(0, &[]);
        is_whole(&bench, "file", &body);
    }
}
