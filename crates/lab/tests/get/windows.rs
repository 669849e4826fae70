//! Receive windows, as a server over HTTP/2 is told of them.

use crate::bench::Bench;
use crate::server::get;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

/// The windows of a stream and of the connection that a client tells before its first request (RFC 9113 §6.5.2 and §6.9).
fn windows(stream: &mut TcpStream) -> [u32; 2] {
    const PREFACE: u64 = 24;
    const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
    std::io::copy(&mut stream.by_ref().take(PREFACE), &mut std::io::sink()).unwrap();
    let [mut of_stream, mut of_connection] = [65_535; 2];
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let number =
            |bytes: &[u8]| bytes.iter().fold(0_u32, |sum, &byte| sum << 8 | u32::from(byte));
        let mut payload = vec![0; number(&header[..3]) as usize];
        stream.read_exact(&mut payload).unwrap();
        match (header[3], number(&header[5..])) {
            // HEADERS, SETTINGS, WINDOW_UPDATE.
            (1, _) => return [of_stream, of_connection],
            (4, _) => {
                let mut settings = payload.chunks_exact(6);
                let size = settings.find(|setting| setting[..2] == INITIAL_WINDOW_SIZE);
                of_stream = size.map_or(of_stream, |setting| number(&setting[2..]));
            }
            (8, 0) => of_connection += number(&payload),
            _ => {}
        }
    }
}

#[test]
fn a_server_is_told_of_the_windows_that_are_asked_for() {
    const MIB: u32 = 1 << 20;
    for (flags, expected) in [
        (&[][..], [6 * MIB, 15 * MIB]),
        (&["--stream-window", "70kB"], [70_000, 15 * MIB]),
        (&["--stream-window", "64KiB", "--connection-window", "80000"], [65_536, 80_000]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        // It ends the connection in place of an answer.
        let server = std::thread::spawn(move || windows(&mut listener.accept().unwrap().0));
        let asked = ["--http2-prior-knowledge", "--retry", "0", &url];
        get(&Bench::new(), &[flags, &asked].concat()).said(1, &[]);
        assert_eq!(server.join().unwrap(), expected, "{flags:?}");
    }
}
