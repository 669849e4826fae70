//! What comes after a fault: nothing stands under the final name, and the same command brings the file once the fault is
//! gone.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, put, sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LENGTH: usize = 50_000;

/// A server that does `fault` until the test says that it is over, and answers as an honest one then; what it serves.
fn mended(
    fault: impl Fn(&mut std::net::TcpStream, &[u8]) -> bool + Send + Sync + 'static,
) -> (Server, Arc<AtomicBool>, Vec<u8>) {
    let over = Arc::new(AtomicBool::new(false));
    let (is_over, body) = (over.clone(), content(LENGTH));
    let sent = body.clone();
    let server = Server::new(move |request, stream| match is_over.load(Ordering::SeqCst) {
        true => answer(request, stream, ("\"a\"", &sent, usize::MAX)),
        false => fault(stream, &sent),
    });
    (server, over, body)
}

/// One run into the fault, which says `words`, and one after it.
fn fails_and_then_brings(
    (server, over, body): (Server, Arc<AtomicBool>, Vec<u8>),
    flags: &[&str],
    words: &str,
) {
    let bench = Bench::new();
    let url = server.url("/file");
    let args = [&[&url, "--retry", "0"], flags].concat();
    get(&bench, &args).said(1, &[words]);
    assert!(!bench.path("file").exists(), "half a file has the final name after: {words}");
    over.store(true, Ordering::SeqCst);
    get(&bench, &args).said(0, &[]);
    is_whole(&bench, "file", &body);
}

#[test]
fn after_a_lie_about_the_length_the_file_is_brought_whole() {
    let lies: [(&str, &str); 4] = [
        ("Content-Length: 50000\r\n\r\nshort", "ended in the middle"),
        ("Content-Length: 5\r\nContent-Length: 9\r\n\r\nshort", "broke the protocol"),
        ("Content-Length: 99999999999999999999\r\n\r\nshort", "broke the protocol"),
        ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nshort", "broke the protocol"),
    ];
    for (rest, words) in lies {
        // Without a tag, nobody vouches that these bytes are the file's: they are not gone on from.
        let head = format!("HTTP/1.1 200 OK\r\n{rest}");
        let lying = mended(move |stream, _| {
            put(stream, &head);
            false
        });
        fails_and_then_brings(lying, &[], words);
    }
}

#[test]
fn a_file_that_is_cut_to_the_length_it_names_is_found_by_the_checksum() {
    let bench = Bench::new();
    bench.write("whole", content(LENGTH));
    let digest = sha256(&bench, "whole");
    let lying = mended(|stream, body| {
        put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 40000\r\n\r\n");
        put(stream, &body[..40_000]);
        false
    });
    fails_and_then_brings(lying, &["--sha256", &digest], "is not the file expected");
}

#[test]
fn after_a_circle_of_redirects_the_file_is_brought() {
    let circle = mended(|stream, _| {
        put(stream, "HTTP/1.1 302 Found\r\nLocation: /file\r\nContent-Length: 0\r\n\r\n")
    });
    fails_and_then_brings(circle, &[], "circle");
}

#[test]
fn after_a_link_that_died_for_good_the_rest_is_brought() {
    let dead = mended(|stream, body| {
        put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 50000\r\n\r\n");
        put(stream, &body[..20_000]);
        // Nothing more comes, and nobody says so.
        std::thread::sleep(Duration::from_secs(600));
        false
    });
    fails_and_then_brings(dead, &["--stall-timeout", "300ms"], "nothing came from");
}

#[test]
fn after_a_server_that_died_in_the_middle_the_rest_is_brought() {
    let dying = mended(|stream, body| {
        put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 50000\r\n\r\n");
        put(stream, &body[..20_000]);
        false
    });
    fails_and_then_brings(dying, &[], "ended in the middle");
}
