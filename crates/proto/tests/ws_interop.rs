//! Our WebSocket client against other people's servers: Python's websockets, and the Autobahn suite.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use endpoint::SendBuf;
use proto::h1::{Client, ClientSettings};
use proto::ws::{
    ClientHandshake, ClientWindow, CloseCode, Connection, DeflateOffer, Event, Key, MessageKind,
    Offer, Role, Settings, Via,
};
use proto::{
    ByteStreamConnection as _, ClientConnection, Connection as _, ConnectionState, Event as Http,
    Fin, RequestHead, Scheme, StreamId,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use support::drive::now;
use support::peers::{Folder, Peer};
use testing::peers::{free_address, kept};
use trace::Tracer;
use unit::Seed;

/// Cases of the suite that take long in a build without optimisation are left to the ignored test.
const QUICK: &str = r#"["1.*","2.*","3.*","4.*","5.*","6.*","7.*","9.1.1","9.2.1","9.7.1","10.*",
    "12.1.1","12.2.2","12.3.3","12.4.4","12.5.5","13.1.1","13.2.2","13.3.3","13.4.4","13.5.5","13.6.6","13.7.7"]"#;

/// What a client does with what it hears.
type Answer = fn(&mut Connection, MessageKind, bytes::Bytes);

/// A WebSocket over HTTP/1.1 on a blocking socket.
struct Talk {
    tcp: TcpStream,
    http: Client,
    stream: StreamId,
    handshake: ClientHandshake,
    socket: Option<Connection>,
    heard: Vec<Event>,
}

impl Talk {
    fn open(address: SocketAddr, path: &str) -> Self {
        let deflate = DeflateOffer {
            client_max_window_bits: ClientWindow::Limitable,
            ..DeflateOffer::default()
        };
        let offer = Offer { deflate: vec![deflate], ..Offer::default() };
        let handshake = ClientHandshake::new(Via::Upgrade, Key(*b"0123456789abcdef"), offer);
        let mut http = Client::new(now(), ClientSettings::default(), Tracer::off());
        let head = RequestHead::get(Scheme::Http, address.to_string(), path);
        let stream = http.request(now(), &handshake.request(head), Fin::Last).unwrap();
        let tcp = TcpStream::connect(address).unwrap();
        tcp.set_nodelay(true).unwrap();
        Self { tcp, http, stream, handshake, socket: None, heard: Vec::new() }
    }

    /// Goes on until the connection is over; gives what was heard.
    fn run(mut self, answer: Answer) -> Vec<Event> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            self.transmit();
            if self.socket.as_ref().is_some_and(Connection::wants_end)
                || self.http.state() == ConnectionState::Closed
            {
                return self.heard;
            }
            match self.tcp.read(&mut buffer) {
                Ok(0) | Err(_) => {
                    self.http.handle_eof(now());
                    self.take(&[], answer);
                    return self.heard;
                }
                Ok(length) => self.take(&buffer[..length], answer),
            }
        }
    }

    fn take(&mut self, bytes: &[u8], answer: Answer) {
        let mut input = bytes;
        while let Some(event) = self.http.handle_bytes(now(), &mut input) {
            let (data, fin) = match event {
                Http::Response { head, .. } => {
                    let agreed = self.handshake.confirm(&head).unwrap();
                    let role = Role::Client { masks: Seed(11) };
                    let socket =
                        Connection::new(now(), role, Settings::default(), &agreed, Tracer::off());
                    self.socket = Some(socket);
                    (&[][..], Fin::More)
                }
                Http::Data { data, fin, .. } => (data, fin),
                _ => continue,
            };
            let length = data.len();
            if let Some(socket) = &mut self.socket {
                if fin == Fin::Last {
                    socket.handle_eof(now());
                }
                let mut data = data;
                while let Some(event) = socket.handle_bytes(now(), &mut data) {
                    if let Event::Message { kind, data } = &event {
                        answer(socket, *kind, data.clone());
                    }
                    self.heard.push(event);
                }
            }
            self.http.consume(self.stream, length);
        }
    }

    fn transmit(&mut self) {
        loop {
            let mut out = SendBuf::new();
            if let Some(socket) = &mut self.socket {
                socket.poll_transmit(now(), &mut out, 256 * 1024);
                while let Some(piece) = out.take_piece() {
                    let _gone = self.http.send(self.stream, piece, Fin::More);
                }
            }
            self.http.poll_transmit(now(), &mut out, usize::MAX);
            if out.is_empty() {
                return;
            }
            for chunk in out.chunks() {
                if self.tcp.write_all(chunk).is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn pythons_websockets_hears_and_answers_in_both_codings() {
    let Some(folder) = kept("python") else { return };
    let address = free_address();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/ws_server.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(folder).arg(address.port().to_string());
    let Some(_server) = Peer::start(&mut command, address, "apt-get install python3") else {
        return;
    };
    for path in ["/plain", "/deflate"] {
        // The server greets; what it says is said back until it closes after a hundred.
        let heard = Talk::open(address, path).run(|socket, kind, data| {
            let _closing = socket.send(kind, data);
        });
        let messages = heard.iter().filter(|event| matches!(event, Event::Message { .. })).count();
        assert_eq!(messages, 100, "{path}");
        let end = &heard[heard.len() - 2..];
        assert!(
            matches!(end, [Event::Close { frame: Some(frame) }, Event::Closed { error: None }]
                if frame.code == CloseCode::NORMAL && frame.reason == "all right"),
            "{end:?}"
        );
    }
}

#[test]
fn the_autobahn_suite_finds_every_quick_case_of_our_client_ok() {
    autobahn(QUICK);
}

#[test]
#[ignore = "takes minutes: ./test --autobahn"]
fn the_autobahn_suite_finds_every_case_of_our_client_ok() {
    autobahn(r#"["*"]"#);
}

fn autobahn(cases: &str) {
    let Some(wstest) = kept("bin/wstest") else { return };
    let folder = Folder::new();
    let address = free_address();
    let report = folder.path().join("report");
    let text = format!(
        r#"{{"outdir": {report:?}, "url": "ws://{address}", "options": {{"failByDrop": false}},
            "cases": {cases}, "exclude-cases": [], "exclude-agent-cases": {{}}}}"#
    );
    let spec = folder.write("spec.json", text);
    let mut command = Command::new(wstest);
    // Without its web pages, whose port would be the same for all that run it.
    command.args(["-m", "fuzzingserver", "-u", "0", "-s"]).arg(&spec);
    let Some(_server) = Peer::start(&mut command, address, "./peers install") else { return };
    let count = Talk::open(address, "/getCaseCount").run(|_, _, _| {});
    let Some(Event::Message { data, .. }) = count.first() else { panic!("{count:?}") };
    let count: u32 = std::str::from_utf8(data).unwrap().parse().unwrap();
    for case in 1..=count {
        Talk::open(address, &format!("/runCase?case={case}&agent=wirelap")).run(
            |socket, kind, data| {
                let _closing = socket.send(kind, data);
            },
        );
    }
    Talk::open(address, "/updateReports?agent=wirelap").run(|_, _, _| {});
    let index = std::fs::read_to_string(report.join("index.json")).unwrap();
    let verdicts: Vec<&str> = index.split("\"behavior").skip(1).collect();
    assert_eq!(verdicts.len(), 2 * count as usize, "{index}");
    let right = |verdict: &&&str| {
        [" \"OK\"", " \"INFORMATIONAL\""]
            .iter()
            .any(|said| verdict.split(',').next().is_some_and(|v| v.contains(said)))
    };
    let wrong: Vec<_> = verdicts.iter().filter(|verdict| !right(verdict)).collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{index}");
}
