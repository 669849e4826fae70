//! An application server behind the origin, in virtual time. With sockets: `upstream.rs`.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod bench;

use bench::Bench;
use endpoint::SocketId;
use origin::{OriginConfig, UpstreamSettings};
use sim::{Connections, Path, Script, Scripted};
use std::collections::HashSet;
use std::time::Duration;
use wire::h2::{Frame, Setting, SettingId};

const ADDRESS: &str = "10.0.0.9:3000";

/// What an application does with what it is sent.
struct Application<F>(F);

impl<F: FnMut(&mut Connections, SocketId, &str)> Script for Application<F> {
    fn handle_bytes(&mut self, connections: &mut Connections, socket: SocketId, bytes: &[u8]) {
        (self.0)(connections, socket, &String::from_utf8_lossy(bytes));
    }
}

/// An origin before an application.
fn before<F>(change: impl FnOnce(&mut UpstreamSettings), does: F) -> Bench
where
    F: FnMut(&mut Connections, SocketId, &str) + 'static,
{
    let mut settings = UpstreamSettings::new(ADDRESS.parse().unwrap());
    change(&mut settings);
    let mut bench = Bench::set(|usual| OriginConfig { upstream: Some(settings), ..usual });
    let application = bench.world.listen(ADDRESS, Scripted::new(Application(does)));
    bench.world.connect(bench.origin, application, Path::delay(Duration::ZERO));
    bench
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// The status of each answer over HTTP/1.1.
fn statuses(heard: &str) -> Vec<&str> {
    heard.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

/// Increments of the connection's window (RFC 9113 §6.9).
fn connection_credit(mut heard: &[u8]) -> u64 {
    let mut credit = 0;
    while heard.len() >= 9 {
        let length = usize::from(heard[1]) << 8 | usize::from(heard[2]);
        let stream = u32::from_be_bytes([heard[5], heard[6], heard[7], heard[8]]);
        if (heard[3], stream) == (8, 0) {
            credit += u64::from(u32::from_be_bytes(heard[9..13].try_into().unwrap()));
        }
        heard = &heard[9 + length..];
    }
    credit
}

#[test]
fn what_a_refused_upload_has_sent_is_credited() {
    let mut bench = Bench::set(|usual| {
        // Nobody is there.
        let upstream = UpstreamSettings::new("10.0.0.1:3000".parse().unwrap());
        OriginConfig { upstream: Some(upstream), ..usual }
    });
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let (id, value) = (SettingId::INITIAL_WINDOW_SIZE, 1_000_000);
    Setting::encode_all(&[Setting { id, value }], &mut hello);
    Frame::SettingsAck.encode(&mut hello);
    let socket = bench.connect(&hello);
    let mut credit = connection_credit(&bench.hear(socket));
    let (mut sent, uploads) = (0, 200);
    for stream in (0..uploads).map(|number| 2 * number + 1) {
        let mut bytes = Vec::new();
        // POST, http, "/up" and "a" (RFC 7541, appendix A).
        let block = &b"\x83\x86\x04\x03/up\x01\x01a"[..];
        let (end_headers, dependency, padding) = (true, None, None);
        Frame::Headers { stream, block, end_stream: false, end_headers, dependency, padding }
            .encode(&mut bytes);
        for part in 1..=4 {
            let (data, end_stream) = (&[7; 15_000][..], part == 4);
            Frame::Data { stream, data, end_stream, padding }.encode(&mut bytes);
            sent += data.len() as u64;
        }
        bench.say(socket, &bytes);
        credit += connection_credit(&bench.hear(socket));
    }
    assert_eq!(bench.connections(), 1);
    // Credit comes once half of the window is dealt with.
    assert!(credit > sent / 2, "{credit} of {sent} bytes");
}

#[test]
fn a_request_that_goes_out_again_goes_over_a_new_connection() {
    let (mut held, mut kept) = (Vec::new(), HashSet::new());
    let mut bench = before(
        |_| {},
        move |connections, socket, heard| {
            if heard.starts_with("GET /hold") {
                held.push(socket);
                if held.len() == 3 {
                    held.drain(..).for_each(|socket| connections.send(socket, ANSWER));
                }
            } else if kept.contains(&socket) {
                connections.close(socket);
            } else {
                connections.send(socket, ANSWER);
            }
            // Only later requests on it are refused.
            kept.insert(socket);
        },
    );
    let sockets = [(); 3].map(|()| bench.connect(get("/hold")));
    for socket in sockets {
        assert_eq!(statuses(&bench.hear_text(socket)), ["200"]);
    }
    bench.say(sockets[0], get("/die"));
    assert_eq!(statuses(&bench.hear_text(sockets[0])), ["200"]);
}

#[test]
fn a_request_does_not_wait_for_ever_for_a_connection() {
    let limit = Duration::from_secs(60);
    let change = |settings: &mut UpstreamSettings| {
        (settings.connections, settings.silence) = (1, limit);
    };
    let mut bench = before(change, |_, _, _| {});
    let upload = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
    let uploading = bench.connect(upload);
    let waiting = bench.connect(get("/fast"));
    for _ in 0..limit.as_secs() {
        assert_eq!(bench.hear_text(waiting), "");
        bench.wait(Duration::from_secs(1));
        bench.say(uploading, "x");
    }
    assert_eq!(statuses(&bench.hear_text(waiting)), ["503"]);
    assert_eq!(bench.hear_text(uploading), "");
}
