//! The protocols that an origin can speak, by name. Another one joins by a constant of its own.

use crate::config::Limits;
use proto::{Scheme, ServerConnection, h1};
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
    /// Whether more octets are welcome; while not, the socket is not read.
    fn wants_read(&self) -> bool {
        true
    }

    /// Octets that came before their turn, which has come now: to be handed in again.
    fn take_backlog(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether everything is sent and FIN should follow, while the peer may still be sending.
    fn wants_shutdown(&self) -> bool {
        false
    }
}

impl Protocol {
    /// HTTP/1.1
    pub const HTTP_1_1: Self = Self { name: "http/1.1", open: open_h1 };
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
}

fn open_h1(opening: Opening) -> Box<dyn Speaker> {
    let settings = h1::ServerSettings {
        scheme: opening.scheme,
        header_timeout: Some(opening.limits.head),
        keep_alive_timeout: Some(opening.limits.idle),
        body_timeout: Some(opening.limits.stall),
        ..h1::ServerSettings::default()
    };
    Box::new(h1::Server::new(opening.now, settings, opening.tracer))
}

/// What a clear connection (or one over TLS without ALPN) turns out to speak; None while too little
/// has arrived. RFC 9113 §3.4: no HTTP/1.1 request begins like the preface.
pub(crate) fn recognise(seen: &[u8]) -> Option<Protocol> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    let common = seen.len().min(PREFACE.len());
    match (seen[..common] == PREFACE[..common], common == PREFACE.len()) {
        (false, _) => Some(Protocol::HTTP_1_1),
        (true, true) => Some(Protocol::HTTP_1_1),
        (true, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_octets_tell_the_protocol_however_they_are_cut() {
        let name = |seen: &[u8]| recognise(seen).map(|protocol| protocol.name);
        assert_eq!(name(b""), None);
        assert_eq!(name(b"PRI * HTTP/2."), None);
        assert_eq!(name(b"PRI * HTTP/2.0"), Some("h2"));
        assert_eq!(name(b"PRI * HTTP/2.0\r\n\r\nSM"), Some("h2"));
        assert_eq!(name(b"P"), None);
        assert_eq!(name(b"PO"), Some("http/1.1"));
        assert_eq!(name(b"GET"), Some("http/1.1"));
    }
}
