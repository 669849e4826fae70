//! Servers that break off, fall silent, and talk rubbish at each point of each protocol: every request is counted by
//! the kind of its end, the run ends, and the engine does not spin meanwhile.

use crate::bench::Bench;
use crate::frames::frame;
use crate::load;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// What a server does after its words.
#[derive(Debug, Clone, Copy)]
enum Then {
    Close,
    Reset,
    Stay,
}
use Then::{Close, Reset, Stay};

/// What the server says, what it does then, and what each request is counted as.
type Case = (Vec<u8>, Then, &'static str);

/// Requests of a run, on a connection each.
const REQUESTS: u64 = 4;

/// Seconds of a processor that a run may take, which has next to nothing to do and lasts for a second or two.
const SPIN: f64 = 0.3;

/// Stands for what answers a WebSocket's key.
const ACCEPT: &[u8] = b"ACCEPT";

/// A server that says the same on each connection, after a client's first bytes.
fn server(said: Vec<u8>, then: Then) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let said = said.clone();
            std::thread::spawn(move || answer(stream, &said, then));
        }
    });
    address.to_string()
}

fn answer(mut stream: TcpStream, said: &[u8], then: Then) {
    let mut asked = [0; 4096];
    let Ok(count @ 1..) = stream.read(&mut asked) else { return };
    let _gone = stream.write_all(&with_key(said, &asked[..count]));
    match then {
        // By FIN: what the client says meanwhile is read, or the close would be a reset.
        Close => {
            let _gone = stream.shutdown(Shutdown::Write);
            while stream.read(&mut asked).is_ok_and(|count| count > 0) {}
        }
        Reset => {
            // The words are to be heard first.
            std::thread::sleep(Duration::from_millis(20));
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        }
        // Until the client ends it.
        Stay => while stream.read(&mut asked).is_ok_and(|count| count > 0) {},
    }
}

/// With the client's key answered (RFC 6455 §4.2.2).
fn with_key(said: &[u8], asked: &[u8]) -> Vec<u8> {
    let Some(place) = said.windows(ACCEPT.len()).position(|window| window == ACCEPT) else {
        return said.to_vec();
    };
    let asked = String::from_utf8_lossy(asked);
    let mut fields = asked.lines().filter_map(|line| line.split_once(": "));
    let key = fields.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key")).unwrap().1;
    let answer = wire::ws::accept(key.as_bytes());
    [&said[..place], answer.as_bytes(), &said[place + ACCEPT.len()..]].concat()
}

/// Makes the requests; each is counted as the case says, and nothing as anything else.
fn are_counted(args: &[&str], cases: &[Case], scheme: &str) {
    let bench = Bench::new();
    for (said, then, kind) in cases {
        let url = format!("{scheme}://{}/", server(said.clone(), *then));
        let (requests, what) = (REQUESTS.to_string(), String::from_utf8_lossy(said).into_owned());
        let line = [&["-c", &requests, "-n", &requests, "--timeout", "500ms"], args, &[&url]];
        let (code, result) = load(&bench, &line.concat());
        assert_eq!(code, 1, "nothing was answered: {what:?} {then:?}: {result:#}");
        let whole = &result["whole"];
        assert_eq!(
            (whole["requests"].as_u64(), &whole["errors"][*kind]),
            (Some(REQUESTS), &Value::from(REQUESTS)),
            "{what:?} {then:?}: {whole}"
        );
        does_not_spin(&result);
    }
}

fn does_not_spin(result: &Value) {
    let taken = result["client"]["cpu_seconds"].as_f64().unwrap();
    assert!(taken < SPIN, "{taken} seconds of a processor: {result:#}");
}

#[test]
fn http_1_1_is_counted_by_kind_wherever_it_breaks() {
    let says = |text: &str| text.as_bytes().to_vec();
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    are_counted(
        &["--http1.1"],
        &[
            (says(""), Close, "closed"),
            (says(""), Reset, "reset"),
            (says(""), Stay, "timed-out"),
            (says("HTTP/1.1 200 OK\r\ncont"), Close, "closed"),
            (says("HTTP/1.1 200 OK\r\ncont"), Reset, "reset"),
            (says("HTTP/1.1 200 OK\r\ncont"), Stay, "timed-out"),
            (says(begun), Close, "closed"),
            (says(begun), Reset, "reset"),
            (says(begun), Stay, "timed-out"),
            (says(&format!("{chunked}5\r\nhe")), Close, "closed"),
            (says(&format!("{chunked}5\r\nhello\r\n")), Stay, "timed-out"),
            (says(&format!("{chunked}no number\r\n")), Stay, "protocol"),
            (says("HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\n\r\n"), Stay, "protocol"),
            (
                says("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"),
                Stay,
                "protocol",
            ),
            (says("HTTP/9.9 what\r\n\r\n"), Stay, "protocol"),
        ],
        "http",
    );
}

#[test]
fn http_2_is_counted_by_kind_wherever_it_breaks() {
    // After SETTINGS. `:status: 200` is the static table's eighth entry (RFC 7541 appendix A).
    let after = |frames: &[Vec<u8>]| [frame(4, 0, 0, b""), frames.concat()].concat();
    let head = || frame(1, 4, 1, b"\x88");
    let cut = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() - 1);
        bytes
    };
    are_counted(
        &["--http2-prior-knowledge"],
        &[
            (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Stay, "answered-in-http1"),
            (cut(frame(4, 0, 0, b"\0\x03\0\0\0\x64")), Close, "closed"),
            (after(&[]), Close, "closed"),
            (after(&[]), Reset, "reset"),
            (after(&[]), Stay, "timed-out"),
            (after(&[cut(head())]), Close, "closed"),
            (after(&[cut(head())]), Stay, "timed-out"),
            (after(&[head()]), Close, "closed"),
            (after(&[head(), cut(frame(0, 1, 1, b"half"))]), Close, "closed"),
            (after(&[head(), cut(frame(0, 1, 1, b"half"))]), Reset, "reset"),
            (after(&[head(), frame(0, 0, 1, b"half")]), Stay, "timed-out"),
            (after(&[head(), frame(3, 0, 1, &[0, 0, 0, 2])]), Stay, "stream-reset"),
            (after(&[frame(0, 0, 0, b"DATA of no stream")]), Stay, "protocol"),
            (after(&[frame(1, 4, 1, b"\xff\xff\xff\xff\xff\xff\xff")]), Stay, "protocol"),
            (after(&[frame(9, 4, 1, b"\x88")]), Stay, "protocol"),
            // GOAWAY: nothing was acted on, so it is made again, five times in all.
            (after(&[frame(7, 0, 0, &[0; 8])]), Close, "stream-reset"),
        ],
        "http",
    );
}

#[test]
fn spdy_is_counted_by_kind_wherever_it_breaks() {
    are_counted(
        &["--spdy"],
        &[
            // To SPDY that is the header of a DATA frame of 3 MB, of which no more comes (§2.2.2).
            (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Stay, "timed-out"),
            (Vec::new(), Close, "closed"),
            (Vec::new(), Stay, "timed-out"),
            // SYN_REPLY (SPDY §2.6.2), cut off, and with a block that does not inflate.
            (b"\x80\x03\0\x02\0\0\0\x40\0\0\0\x01half".to_vec(), Close, "closed"),
            (b"\x80\x03\0\x02\0\0\0\x08\0\0\0\x01\xff\xff\xff\xff".to_vec(), Stay, "protocol"),
            // RST_STREAM (§2.6.3): PROTOCOL_ERROR.
            (b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\x01".to_vec(), Stay, "stream-reset"),
        ],
        "http",
    );
}

#[test]
fn a_websocket_is_counted_by_kind_wherever_it_breaks() {
    let opened = |frames: &[u8]| {
        let head =
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: ACCEPT\r\n\r\n";
        [&head[..], frames].concat()
    };
    are_counted(
        &["--data", "hello"],
        &[
            (opened(b""), Close, "closed"),
            (opened(b""), Reset, "reset"),
            (opened(b""), Stay, "timed-out"),
            (opened(b"\x81\x05hel"), Close, "closed"),
            (opened(b"\x81\x05hel"), Stay, "timed-out"),
        ],
        "ws",
    );
}

/// What comes before a WebSocket is open ends the attempt: nobody could be connected to, and the kind says why.
#[test]
fn a_websocket_that_never_opens_is_a_connection_that_failed() {
    let bench = Bench::new();
    for (said, then, kind) in [
        ("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", Stay, "protocol"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", Stay, "protocol"),
        ("rubbish\r\n\r\n", Stay, "protocol"),
        ("HTTP/1.1 101 Swi", Close, "closed"),
        ("", Reset, "reset"),
        ("", Stay, "connect-timed-out"),
    ] {
        let url = format!("ws://{}/", server(said.into(), then));
        let (code, result) =
            load(&bench, &["-c", "2", "-n", "2", "--connect-timeout", "300ms", &url]);
        assert_eq!(code, 1, "{said:?}: {result:#}");
        assert_eq!(result["connects"]["errors"][kind], 2, "{said:?} {then:?}: {result:#}");
        does_not_spin(&result);
    }
}

/// For as long as it lasts: connections that are closed at once are made again after rests, which are no spin.
#[test]
fn servers_that_always_break_are_not_stormed() {
    let bench = Bench::new();
    for (said, then) in [("", Close), ("", Reset), ("rubbish\r\n\r\n", Stay)] {
        let url = format!("http://{}/", server(said.into(), then));
        let (_, result) = load(&bench, &["--http1.1", "-c", "4", "-d", "1s", &url]);
        // Rests of 10, 20, 40, 80, 100, 100 … ms: 13 attempts in the first second. A storm would be thousands.
        let opened = result["connects"]["opened"].as_u64().unwrap();
        assert!(opened <= 4 * 20, "{opened} connections: {result:#}");
        does_not_spin(&result);
    }
}
