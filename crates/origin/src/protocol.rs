//! The protocols that an origin can speak, by name. Another one joins by a constant of its own.

use crate::config::Limits;
use endpoint::FilePart;
use proto::schedule::RoundRobin;
use proto::{Fin, Misuse, Scheme, ServerConnection, StreamId, h1, h2, spdy};
use trace::Tracer;
use unit::Instant;

/// A protocol.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// Its ALPN name.
    pub name: &'static str,
    /// Makes the server's end of a connection.
    pub open: fn(Opening) -> Box<dyn Speaker>,
}

/// What a new connection is made of.
#[derive(Debug)]
pub struct Opening {
    /// The connection's beginning.
    pub now: Instant,
    /// https where TLS lies below.
    pub scheme: Scheme,
    /// The origin's limits.
    pub limits: Limits,
    /// For the connection's events.
    pub tracer: Tracer,
}

/// The server's end of a connection, and what a protocol without flow control asks of its socket.
pub trait Speaker: ServerConnection {
    /// Whether more bytes are welcome; while not, the socket is not read.
    fn wants_read(&self) -> bool {
        true
    }

    /// Bytes that came before their turn, which has come now: to be handed in again.
    fn take_backlog(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether everything is sent and FIN should follow, while the peer may still be sending.
    fn wants_shutdown(&self) -> bool {
        false
    }

    /// Requests may come: it takes buffers for them, where it has none.
    fn take_buffers(&mut self, _pool: &mut h1::BufferPool) {}

    /// It gives the buffers back, where no request is under way.
    fn return_buffers(&mut self, _pool: &mut h1::BufferPool) {}

    /// Queues a file's part where the protocol sends a body's bytes as they are; None where it does not.
    fn send_file(
        &mut self,
        _stream: StreamId,
        _part: FilePart,
        _fin: Fin,
    ) -> Option<Result<(), Misuse>> {
        None
    }
}

impl Protocol {
    /// HTTP/1.1
    pub const HTTP_1_1: Self = Self { name: "http/1.1", open: open_h1 };
    /// HTTP/2
    pub const HTTP_2: Self = Self { name: "h2", open: open_h2 };
    /// SPDY/3.1
    pub const SPDY_3_1: Self = Self { name: "spdy/3.1", open: open_spdy_3_1 };
    /// SPDY/3
    pub const SPDY_3: Self = Self { name: "spdy/3", open: open_spdy_3 };
}

impl Protocol {
    /// Whether it is one of those that begin with a frame of version 3.
    pub(crate) fn is_spdy(&self) -> bool {
        [Self::SPDY_3_1.name, Self::SPDY_3.name].contains(&self.name)
    }
}

impl Speaker for h1::Server {
    fn wants_read(&self) -> bool {
        self.wants_read()
    }

    fn take_backlog(&mut self) -> Vec<u8> {
        self.take_backlog()
    }

    fn wants_shutdown(&self) -> bool {
        self.wants_shutdown()
    }

    fn take_buffers(&mut self, pool: &mut h1::BufferPool) {
        self.take_buffers(pool);
    }

    fn return_buffers(&mut self, pool: &mut h1::BufferPool) {
        self.return_buffers(pool);
    }

    fn send_file(
        &mut self,
        stream: StreamId,
        part: FilePart,
        fin: Fin,
    ) -> Option<Result<(), Misuse>> {
        Some(self.send_file(stream, part, fin))
    }
}

impl Speaker for h2::Server {}

impl Speaker for spdy::Server {}

fn open_h1(opening: Opening) -> Box<dyn Speaker> {
    let settings = h1::ServerSettings {
        scheme: opening.scheme,
        expect: h1::Expect::Application,
        header_timeout: Some(opening.limits.head),
        keep_alive_timeout: Some(opening.limits.idle),
        body_timeout: Some(opening.limits.stall),
        ..h1::ServerSettings::default()
    };
    Box::new(h1::Server::new(opening.now, settings, opening.tracer))
}

fn open_h2(opening: Opening) -> Box<dyn Speaker> {
    let settings = h2::Settings {
        // Many streams share a connection: each may wait with little.
        send_low_water: 16 * 1024,
        head_timeout: opening.limits.head,
        stall_timeout: opening.limits.stall,
        drain_timeout: opening.limits.drain,
        enable_connect_protocol: true,
        ..h2::Settings::server()
    };
    let scheduler = Box::new(RoundRobin::new());
    Box::new(h2::Server::new(opening.now, settings, scheduler, opening.tracer))
}

fn open_spdy_3_1(opening: Opening) -> Box<dyn Speaker> {
    open_spdy(spdy::Version::V3_1, opening)
}

fn open_spdy_3(opening: Opening) -> Box<dyn Speaker> {
    open_spdy(spdy::Version::V3, opening)
}

fn open_spdy(version: spdy::Version, opening: Opening) -> Box<dyn Speaker> {
    let settings = spdy::Settings {
        // As over HTTP/2.
        send_low_water: 16 * 1024,
        head_timeout: opening.limits.head,
        stall_timeout: opening.limits.stall,
        // The protocol's own, of which nothing is announced: OkHttp 1.5.1 (Twitter4J's SPDY module) gives credit back
        // when half of the *server's* window has come in, which its own of 64 KiB never holds where that is above 128 KiB.
        stream_window: 65_536,
        ..spdy::Settings::server(version)
    };
    let scheduler = Box::new(RoundRobin::new());
    Box::new(spdy::Server::new(opening.now, settings, scheduler, opening.tracer))
}

/// What a connection without ALPN turns out to speak.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Recognised {
    /// Too little has arrived.
    NotYet,
    /// This.
    Speaks(Protocol),
    /// SPDY/3 or SPDY/3.1, which look alike.
    Spdy,
    /// Nothing that has a name here. It gets no answer, which it would take for something else.
    Nothing,
}

/// Looks at the first bytes. RFC 9113 §3.4: no HTTP/1.1 request begins like the preface of HTTP/2;
/// RFC 9112 §3: a request line names its version. SPDY §2.2.1: a control frame of version 3 begins with 80 03,
/// which no text does; SPDY/3 is not told from 3.1 by its bytes.
pub(crate) fn recognise(seen: &[u8]) -> Recognised {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    /// Longer lines are left to HTTP/1.1, which has a limit and an answer for them.
    const LINE: usize = 8 * 1024;
    const SPDY_CONTROL: &[u8] = &[0x80, 0x03];
    if seen.starts_with(&SPDY_CONTROL[..1]) {
        return match seen.get(..2) {
            None => Recognised::NotYet,
            Some(SPDY_CONTROL) => Recognised::Spdy,
            Some(_) => Recognised::Nothing,
        };
    }
    let common = seen.len().min(PREFACE.len());
    if seen[..common] == PREFACE[..common] {
        let is_whole = common == PREFACE.len();
        return if is_whole { Recognised::Speaks(Protocol::HTTP_2) } else { Recognised::NotYet };
    }
    // RFC 9112 §2.2: empty lines may stand before a request.
    let blank = seen.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let line = &seen[blank..];
    match line.iter().position(|&byte| byte == b'\n') {
        Some(end) if !line[..end].windows(5).any(|window| window == b"HTTP/") => {
            Recognised::Nothing
        }
        None if seen.len() < LINE => Recognised::NotYet,
        _ => Recognised::Speaks(Protocol::HTTP_1_1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_protocol_however_they_are_cut() {
        let name = |seen: &[u8]| match recognise(seen) {
            Recognised::NotYet => "not yet",
            Recognised::Speaks(protocol) => protocol.name,
            Recognised::Spdy => "spdy",
            Recognised::Nothing => "nothing",
        };
        assert_eq!(name(b""), "not yet");
        assert_eq!(name(b"PRI * HTTP/2."), "not yet");
        assert_eq!(name(b"PRI * HTTP/2.0"), "h2");
        assert_eq!(name(b"PRI * HTTP/2.0\r\n\r\nSM"), "h2");
        assert_eq!(name(b"GET / HTTP/1.1\r"), "not yet");
        assert_eq!(name(b"\r\nGET / HTTP/1.1\r\n"), "http/1.1");
        assert_eq!(name(b"GET /a b HTTP/1.1\r\n"), "http/1.1");
        assert_eq!(name(b"INVALID CONNECTION PREFACE\r\n\r\n"), "nothing");
        assert_eq!(name(b"\x80"), "not yet");
        assert_eq!(name(b"\x80\x03\x00\x01"), "spdy");
        assert_eq!(name(b"\x80\x02\x00\x01"), "nothing");
        assert_eq!(name(&[b'x'; 8 * 1024]), "http/1.1");
    }
}
