//! Blocking drivers on loopback sockets, and real programs as peers. A peer that is missing is a
//! skip (`testing::skip`).

use bytes::Bytes;
use endpoint::SendBuf;
use proto::h1::{Client, ClientSettings, Server, ServerSettings};
use proto::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, Event, Fields, Fin,
    RequestHead, ResponseHead, ServerConnection, Status, StreamId,
};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

/// A child that dies with its owner.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `command` and waits until it listens.
pub(crate) fn start(command: &mut Command, address: SocketAddr) -> Running {
    let running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    for _ in 0..500 {
        if TcpStream::connect(address).is_ok() {
            return running;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{command:?} does not listen on {address}");
}

/// Wall time for drivers: only differences count.
#[allow(clippy::disallowed_methods, reason = "a test's driver stands in for the os crate")]
fn now() -> Instant {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    Instant::ZERO + start.elapsed()
}

/// A server on loopback that answers like [`answer`]; each connection has a thread.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Served {
    pub(crate) fn start(settings: ServerSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let settings = settings.clone();
                std::thread::spawn(move || serve(stream.unwrap(), settings));
            }
        });
        Self { address, connections }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// The bytes of a body that has a pattern.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

fn serve(mut stream: TcpStream, settings: ServerSettings) {
    let mut server = Server::new(now(), settings, Tracer::off());
    let mut bodies = HashMap::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut fin_sent = false;
    loop {
        let backlog = server.take_backlog();
        react(&mut server, &mut bodies, &backlog);
        react(&mut server, &mut bodies, b"");
        if transmit(&mut server, &mut stream).is_err() {
            return;
        }
        react(&mut server, &mut bodies, b"");
        if server.state() == ConnectionState::Closed && !server.wants_transmit() {
            return;
        }
        if server.wants_shutdown() && !fin_sent {
            fin_sent = true;
            let _ = stream.shutdown(Shutdown::Write);
        }
        match receive(&mut server, &mut stream, &mut buffer) {
            Some(0) => server.handle_eof(now()),
            Some(length) => react(&mut server, &mut bodies, &buffer[..length]),
            None => {}
        }
    }
}

/// Bytes read; None where a time-out passed or nothing came yet. A reset counts as the end.
fn receive(
    connection: &mut impl ByteStreamConnection,
    stream: &mut TcpStream,
    buffer: &mut [u8],
) -> Option<usize> {
    let wait = connection.poll_timeout().map_or(Duration::from_millis(50), |at| at.since(now()));
    stream
        .set_read_timeout(Some(wait.clamp(Duration::from_millis(1), Duration::from_millis(50))))
        .unwrap();
    match stream.read(buffer) {
        Ok(length) => Some(length),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            if connection.poll_timeout().is_some_and(|at| at <= now()) {
                connection.handle_timeout(now());
            }
            None
        }
        Err(_) => Some(0),
    }
}

fn transmit(
    connection: &mut impl ByteStreamConnection,
    stream: &mut TcpStream,
) -> std::io::Result<()> {
    while connection.wants_transmit() {
        let mut out = SendBuf::new();
        connection.poll_transmit(now(), &mut out, 64 * 1024);
        for chunk in out.chunks() {
            stream.write_all(chunk)?;
        }
    }
    Ok(())
}

fn react(
    server: &mut Server,
    bodies: &mut HashMap<StreamId, (RequestHead, Vec<u8>)>,
    bytes: &[u8],
) {
    let mut input = bytes;
    while let Some(event) = server.handle_bytes(now(), &mut input) {
        let whole = match event {
            Event::Request { stream, head, fin } => {
                bodies.insert(stream, (*head, Vec::new()));
                (fin == Fin::Last).then_some(stream)
            }
            Event::Data { stream, data, fin } => {
                server.consume(stream, data.len());
                if let Some((_, body)) = bodies.get_mut(&stream) {
                    body.extend_from_slice(data);
                }
                (fin == Fin::Last).then_some(stream)
            }
            Event::Trailers { stream, fields } => {
                if let Some((head, _)) = bodies.get_mut(&stream) {
                    head.fields.push(b"x-trailer", fields.find(b"x-sum").unwrap_or(b"none"));
                }
                Some(stream)
            }
            _ => None,
        };
        if let Some((stream, (head, body))) = whole.and_then(|id| Some((id, bodies.remove(&id)?))) {
            answer(server, stream, &head, body);
        }
    }
}

/// `/length/N` and `/chunks/N` give patterns, `/echo` gives back, `/trailers` ends with one, `/304` and
/// `/204` have no body, `/hints` says 103 first.
fn answer(server: &mut Server, stream: StreamId, request: &RequestHead, body: Vec<u8>) {
    let path = request.path.as_str();
    let (_, last) = path.rsplit_once('/').unwrap();
    let number: u16 = last.parse().unwrap_or(200);
    let mut head = ResponseHead::new(Status::OK);
    let body = match path {
        "/304" | "/204" => {
            head.status = Status::new(number).unwrap();
            return server.respond(stream, &head, Fin::Last).unwrap();
        }
        "/echo" => {
            let trailer = request.fields.find(b"x-trailer").unwrap_or(b"none");
            head.fields.push(b"x-trailer", trailer);
            body
        }
        _ if path.starts_with("/length/") || path.starts_with("/chunks/") => {
            pattern(last.parse().unwrap())
        }
        _ => b"hello".to_vec(),
    };
    if path == "/hints" {
        let mut hints = ResponseHead::new(Status::new(103).unwrap());
        hints.fields.push(b"link", b"</a.css>; rel=preload");
        server.inform(stream, &hints).unwrap();
    }
    if path.starts_with("/length/") || path == "/echo" {
        head.fields.push(b"content-length", body.len().to_string().as_bytes());
    }
    server.respond(stream, &head, Fin::More).unwrap();
    for piece in body.chunks(10_000) {
        server.send(stream, Bytes::copy_from_slice(piece), Fin::More).unwrap();
    }
    if path == "/trailers" {
        server.send_trailers(stream, &Fields::new().with("x-sum", "42")).unwrap();
    } else {
        server.send(stream, Bytes::new(), Fin::Last).unwrap();
    }
}

/// What came of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Vec<u8>,
    pub(crate) informed: Vec<u16>,
}

/// A client on one connection.
pub(crate) struct Fetcher {
    client: Client,
    stream: TcpStream,
}

impl Fetcher {
    pub(crate) fn connect(address: SocketAddr, settings: ClientSettings) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        Self { client: Client::new(now(), settings, Tracer::off()), stream }
    }

    pub(crate) fn available_streams(&self) -> usize {
        self.client.available_streams()
    }

    /// Asks and waits for the whole answer.
    pub(crate) fn fetch(&mut self, head: &RequestHead, body: Option<Vec<u8>>) -> Answer {
        let fin = if body.is_some() { Fin::More } else { Fin::Last };
        let id = self.client.request(now(), head, fin).unwrap();
        if let Some(body) = body {
            for piece in body.chunks(30_000) {
                self.client.send(id, Bytes::copy_from_slice(piece), Fin::More).unwrap();
            }
            self.client.send(id, Bytes::new(), Fin::Last).unwrap();
        }
        let mut answer =
            Answer { status: 0, fields: Fields::new(), body: Vec::new(), informed: Vec::new() };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            transmit(&mut self.client, &mut self.stream).unwrap();
            let length = receive(&mut self.client, &mut self.stream, &mut buffer);
            if length == Some(0) {
                self.client.handle_eof(now());
            }
            let mut input = &buffer[..length.unwrap_or(0)];
            while let Some(event) = self.client.handle_bytes(now(), &mut input) {
                let fin = match event {
                    Event::Informational { head, .. } => {
                        answer.informed.push(head.status.code());
                        Fin::More
                    }
                    Event::Response { head, fin, .. } => {
                        (answer.status, answer.fields) = (head.status.code(), head.fields);
                        fin
                    }
                    Event::Data { stream, data, fin } => {
                        self.client.consume(stream, data.len());
                        answer.body.extend_from_slice(data);
                        fin
                    }
                    Event::Trailers { .. } => Fin::Last,
                    Event::Writable { .. } => Fin::More,
                    other => panic!("{other:?} after {answer:?}"),
                };
                if fin == Fin::Last {
                    return answer;
                }
            }
        }
    }
}
