//! Its own process with one test, because it weighs the process.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use std::io::{Read, Write};
use std::time::Duration;
use support::{Folder, Serving};
use testing::resident;

#[test]
fn peers_that_do_not_read_keep_memory_bounded() {
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    twenty_slow_readers(&serving);
    a_hundred_streams(&serving);
}

fn twenty_slow_readers(serving: &Serving) {
    let before = resident();
    let mut readers: Vec<_> = (0..20).map(|_| serving.connect()).collect();
    for reader in &mut readers {
        reader.write_all(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        // The first bytes are there: the origin is sending.
        reader.read_exact(&mut [0; 1000]).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    let grown = resident().saturating_sub(before);
    // 1 GB was asked for.
    assert!(grown < 20_000_000, "{grown} bytes more");
}

fn a_hundred_streams(serving: &Serving) {
    let before = resident();
    let mut stream = serving.connect();
    // SETTINGS with INITIAL_WINDOW_SIZE of 2^31-1 and a WINDOW_UPDATE of as much: nothing but the
    // origin's own bound is in the way.
    let mut said = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    said.extend_from_slice(b"\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff");
    said.extend_from_slice(b"\0\0\x04\x08\0\0\0\0\0\x7f\xff\0\0");
    for index in 0..100_u32 {
        // :method GET, :scheme http, :path /big.bin, :authority a (RFC 7541 appendix A).
        let block = b"\x82\x86\x04\x08/big.bin\x01\x01a";
        said.extend_from_slice(&[0, 0, block.len() as u8, 1, 5]);
        said.extend_from_slice(&(2 * index + 1).to_be_bytes());
        said.extend_from_slice(block);
    }
    stream.write_all(&said).unwrap();
    stream.read_exact(&mut [0; 100_000]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let grown = resident().saturating_sub(before);
    // 5 GB was asked for.
    assert!(grown < 20_000_000, "{grown} bytes more");
}
