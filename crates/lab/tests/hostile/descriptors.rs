//! A server that has no more descriptors.

use crate::bench::Bench;
use crate::process::eventually;
use crate::served::Served;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// RLIMIT_NOFILE of the server.
const LIMIT: usize = 40;

#[test]
fn a_server_takes_as_many_descriptors_as_it_may() {
    let bench = Bench::new();
    let served = Served::start_after(&bench, &format!("ulimit -Sn {LIMIT};"), "");
    let mut crowd: Vec<TcpStream> = (0..3 * LIMIT).map(|_| served.connect()).collect();
    for stream in &mut crowd {
        assert_eq!(ask(stream, "/a.txt"), 200);
    }
    drop(crowd);
    served.end();
}

/// Asks for a file over a connection that is kept; the answer's status.
fn ask(stream: &mut TcpStream, path: &str) -> u16 {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection was closed: {answer:?}");
        answer.extend(&buffer[..count]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() == length.unwrap().parse::<usize>().unwrap() {
            return head[9..12].parse().unwrap();
        }
    }
}

#[test]
fn a_server_without_descriptors_serves_those_it_has_and_rests() {
    let bench = Bench::new();
    let served = Served::start_after(&bench, &format!("ulimit -n {LIMIT};"), "");
    let mut kept = served.connect();
    assert_eq!(ask(&mut kept, "/a.txt"), 200);
    let crowd: Vec<TcpStream> = (0..3 * LIMIT).map(|_| served.connect()).collect();
    eventually("all descriptors are taken", || served.process.descriptors() >= LIMIT);
    // Longer than a file is taken for unchanged: it is served as it was, since it cannot be opened anew.
    served.process.rests(|| {
        for _ in 0..20 {
            assert_eq!(ask(&mut kept, "/a.txt"), 200);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    assert_eq!(ask(&mut kept, "/c.txt"), 503, "a file that was never open");
    drop(crowd);
    assert_eq!(ask(&mut kept, "/a.txt"), 200);
    drop(kept);
    assert_eq!(served.get("/b.txt"), (200, 10), "it accepts again");
    served.recovers(24 << 20);
    served.end();
}
