//! The WebSocket that a browser listens on: whole messages over TCP on the loopback device, one thread.

use endpoint::SendBuf;
use proto::ws::{Agreed, Connection, Event, Key, MessageKind, Role, Settings};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use trace::Tracer;
use unit::{Instant, Seed};

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// Bytes of the answer to the handshake at most.
const MAX_HEAD: usize = 16 * 1024;

/// An open WebSocket.
pub(super) struct WebSocket {
    tcp: TcpStream,
    machine: Connection,
    /// Messages that have come and were not taken.
    received: VecDeque<Vec<u8>>,
    is_closed: bool,
}

impl WebSocket {
    /// Opens one at `ws://ADDRESS/PATH`. An error says why there is none by then.
    pub(super) fn open(address: SocketAddr, path: &str, deadline: Instant) -> io::Result<Self> {
        let mut tcp = TcpStream::connect(address)?;
        tcp.set_nodelay(true)?;
        let seed = Seed(os::clock::realtime().as_nanos() as u64);
        // Nothing stands between that the key would have to keep from answering.
        let key = Key(u128::from(seed.0).to_be_bytes()).encode();
        write!(
            tcp,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        )?;
        let rest = granted(&mut tcp, deadline)?;
        let machine = Connection::new(
            os::clock::now(),
            Role::Client { masks: seed },
            Settings::default(),
            &Agreed::default(),
            Tracer::off(),
        );
        let mut socket = Self { tcp, machine, received: VecDeque::new(), is_closed: false };
        socket.take(&rest)?;
        Ok(socket)
    }

    /// Sends a text.
    pub(super) fn send(&mut self, text: String) -> io::Result<()> {
        self.machine
            .send(MessageKind::Text, text.into())
            .map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        self.transmit()
    }

    /// The next message; None when the deadline has passed. The error is that none will come.
    pub(super) fn receive(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; BUFFER];
        loop {
            if let Some(message) = self.received.pop_front() {
                return Ok(Some(message));
            }
            if self.is_closed {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match read(&mut self.tcp, &mut buffer, deadline)? {
                None => return Ok(None),
                Some(0) => self.is_closed = true,
                Some(length) => self.take(&buffer[..length])?,
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(event) = self.machine.handle_bytes(os::clock::now(), &mut bytes) {
            match event {
                Event::Message { data, .. } => self.received.push_back(data.to_vec()),
                Event::Close { .. } | Event::Closed { .. } => self.is_closed = true,
                Event::Ping { .. } | Event::Pong { .. } => {}
            }
        }
        self.transmit()
    }

    fn transmit(&mut self) -> io::Result<()> {
        while self.machine.wants_transmit() {
            let mut out = SendBuf::new();
            self.machine.poll_transmit(os::clock::now(), &mut out, BUFFER);
            for chunk in out.chunks() {
                self.tcp.write_all(chunk)?;
            }
        }
        Ok(())
    }
}

/// Reads the answer to the handshake; gives what came after it.
fn granted(tcp: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = vec![0; MAX_HEAD];
    loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = head.split_off(end + 4);
            return match head.starts_with(b"HTTP/1.1 101 ") {
                true => Ok(rest),
                false => {
                    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
                    let line = String::from_utf8_lossy(line).into_owned();
                    Err(io::Error::other(format!("it opens no WebSocket: {line}")))
                }
            };
        }
        match read(tcp, &mut buffer, deadline)? {
            Some(length @ 1..) if head.len() < MAX_HEAD => {
                head.extend_from_slice(&buffer[..length]);
            }
            None => return Err(ErrorKind::TimedOut.into()),
            Some(_) => return Err(io::Error::other("it opens no WebSocket")),
        }
    }
}

/// Reads once; None when the deadline has passed, 0 at the end.
fn read(tcp: &mut TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<Option<usize>> {
    loop {
        let left = deadline.since(os::clock::now());
        if left < Duration::from_micros(1) {
            return Ok(None);
        }
        tcp.set_read_timeout(Some(left))?;
        match tcp.read(buffer) {
            Ok(length) => return Ok(Some(length)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(None),
                ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that answers with `bytes` and keeps the connection until the client has ended it.
    fn answering(bytes: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut tcp, _) = listener.accept().unwrap();
            tcp.write_all(bytes).unwrap();
            let mut sink = Vec::new();
            let _ = tcp.read_to_end(&mut sink);
        });
        address
    }

    fn soon() -> Instant {
        os::clock::now() + Duration::from_secs(5)
    }

    #[test]
    fn messages_come_whole_and_silence_is_none() {
        // Two frames behind the head in one segment, the first of them a fragment.
        let address =
            answering(b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x01\x02ab\x80\x01c\x81\x02{}");
        let mut socket = WebSocket::open(address, "/session", soon()).unwrap();
        socket.send("a command".to_owned()).unwrap();
        assert_eq!(socket.receive(soon()).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(socket.receive(soon()).unwrap().as_deref(), Some(&b"{}"[..]));
        let short = os::clock::now() + Duration::from_millis(20);
        assert_eq!(socket.receive(short).unwrap(), None);
    }

    #[test]
    fn a_close_ends_it_and_another_answer_opens_none() {
        let address = answering(b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x88\x00");
        let mut socket = WebSocket::open(address, "/session", soon()).unwrap();
        assert!(socket.receive(soon()).is_err());
        let address = answering(b"HTTP/1.1 404 Not Found\r\n\r\n");
        let refused = WebSocket::open(address, "/session", soon()).err().unwrap().to_string();
        assert!(refused.contains("404 Not Found"), "{refused}");
    }
}
