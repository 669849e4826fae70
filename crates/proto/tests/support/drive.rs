//! Drives one connection over a TCP stream: a thread reads, the caller's thread does all else.

use endpoint::SendBuf;
use proto::{ByteStreamConnection, ConnectionState, Event};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant as StdInstant};
use unit::Instant;

/// Time since the first call.
#[allow(clippy::disallowed_methods, reason = "a test's driver has no other clock")]
pub fn now() -> Instant {
    static EPOCH: OnceLock<StdInstant> = OnceLock::new();
    let epoch = EPOCH.get_or_init(StdInstant::now);
    Instant::ZERO + epoch.elapsed()
}

/// Drives the connection until it is closed, or until `on_event` has had enough.
pub fn drive<C: ByteStreamConnection>(
    tcp: &TcpStream,
    connection: &mut C,
    mut on_event: impl FnMut(&mut C, Option<Event<'_>>) -> Go,
) -> std::io::Result<()> {
    tcp.set_nodelay(true)?;
    let bytes = read_beside(tcp.try_clone()?);
    let mut input = Vec::new();
    loop {
        let mut rest = &input[..];
        let mut go = Go::On;
        loop {
            let event = connection.handle_bytes(now(), &mut rest);
            let none = event.is_none();
            if on_event(connection, event) == Go::Stop {
                go = Go::Stop;
            }
            if none {
                break;
            }
        }
        assert!(rest.is_empty(), "a connection takes all bytes");
        input.clear();
        if transmit(tcp, connection)? {
            continue;
        }
        if go == Go::Stop || connection.state() == ConnectionState::Closed {
            let _ = tcp.shutdown(Shutdown::Write);
            // Closing with bytes unread would reset the connection under the last GOAWAY.
            let _ = bytes.recv_timeout(Duration::from_millis(200));
            let _ = tcp.shutdown(Shutdown::Both);
            return Ok(());
        }
        let wait = connection.poll_timeout().map_or(Duration::from_secs(60), |at| at.since(now()));
        match bytes.recv_timeout(wait.max(Duration::from_millis(1))) {
            Ok(more) if more.is_empty() => connection.handle_eof(now()),
            Ok(more) => input = more,
            Err(RecvTimeoutError::Timeout) => connection.handle_timeout(now()),
            Err(RecvTimeoutError::Disconnected) => connection.handle_eof(now()),
        }
    }
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    On,
    Stop,
}

fn transmit<C: ByteStreamConnection>(
    mut tcp: &TcpStream,
    connection: &mut C,
) -> std::io::Result<bool> {
    let mut sent = false;
    while connection.wants_transmit() {
        let mut out = SendBuf::new();
        connection.poll_transmit(now(), &mut out, 64 * 1024);
        if out.is_empty() {
            break;
        }
        sent = true;
        for chunk in out.chunks() {
            tcp.write_all(chunk)?;
        }
    }
    Ok(sent)
}

/// An empty vector is the end.
fn read_beside(mut tcp: TcpStream) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = tcp.read(&mut buffer).unwrap_or(0);
            if sender.send(buffer[..count].to_vec()).is_err() || count == 0 {
                return;
            }
        }
    });
    receiver
}
