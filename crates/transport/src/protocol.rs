//! All protocols. To add one, add a variant, its entry in [`Protocol::ALL`] and its arm in `Protocol::definition`.

use crate::client::{ClientByteStream, ClientSettings};
use crate::server::{ServerByteStream, ServerSettings};
use proto::schedule::RoundRobin;
use proto::{Scheme, h1, h2, spdy};
use thiserror::Error;
use trace::Tracer;
use unit::Instant;

/// What a connection can speak. [`trace::Protocol`] has the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// SPDY/3.1.
    Spdy31,
    /// SPDY/3: as SPDY/3.1 but without flow control for the whole session.
    Spdy3,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Http1, Self::Http2, Self::Spdy31, Self::Spdy3];

    /// The one arm of each protocol: its entry in [`trace::Protocol`] and its two machines.
    fn definition(self) -> Definition {
        match self {
            Self::Http1 => Definition {
                protocol: trace::Protocol::Http1,
                client: |now, settings, tracer| {
                    Box::new(h1::Client::new(now, settings.h1.clone(), tracer))
                },
                server: |now, scheme, settings, tracer| {
                    let settings = h1::ServerSettings { scheme, ..settings.h1.clone() };
                    Box::new(h1::Server::new(now, settings, tracer))
                },
            },
            Self::Http2 => Definition {
                protocol: trace::Protocol::Http2,
                client: |now, settings, tracer| {
                    // A client's uploads share by round robin. The order of responses is the server's decision.
                    let turns = Box::new(RoundRobin::default());
                    Box::new(h2::Client::new(now, settings.h2.clone(), turns, tracer))
                },
                server: |now, _, settings, tracer| {
                    let policy = settings.priorities;
                    let no_rfc7540_priorities = policy.rules_out_dependencies();
                    let settings = h2::Settings { no_rfc7540_priorities, ..settings.h2.clone() };
                    Box::new(h2::Server::new(now, settings, policy.scheduler(), tracer))
                },
            },
            Self::Spdy31 => Definition {
                protocol: trace::Protocol::Spdy31,
                client: |now, settings, tracer| {
                    spdy_client(spdy::Version::V3_1, now, settings, tracer)
                },
                server: |now, _, settings, tracer| {
                    spdy_server(spdy::Version::V3_1, now, settings, tracer)
                },
            },
            Self::Spdy3 => Definition {
                protocol: trace::Protocol::Spdy3,
                client: |now, settings, tracer| {
                    spdy_client(spdy::Version::V3, now, settings, tracer)
                },
                server: |now, _, settings, tracer| {
                    spdy_server(spdy::Version::V3, now, settings, tracer)
                },
            },
        }
    }

    /// Its name in rows and messages.
    pub fn name(self) -> &'static str {
        trace::Protocol::from(self).name()
    }

    /// Its name in ALPN (RFC 7301).
    pub fn alpn(self) -> &'static str {
        trace::Protocol::from(self).alpn()
    }

    /// The protocol of an ALPN name.
    pub fn from_alpn(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.alpn().as_bytes() == name)
    }

    /// Whether one connection carries many requests at a time.
    pub fn multiplexes(self) -> bool {
        trace::Protocol::from(self).multiplexes()
    }

    /// The client's machine.
    pub(crate) fn client(
        self,
        now: Instant,
        settings: &ClientSettings,
        tracer: Tracer,
    ) -> Box<dyn ClientByteStream> {
        (self.definition().client)(now, settings, tracer)
    }

    /// The server's machine. `scheme` is what its requests are made under.
    pub(crate) fn server(
        self,
        now: Instant,
        scheme: Scheme,
        settings: &ServerSettings,
        tracer: Tracer,
    ) -> Box<dyn ServerByteStream> {
        (self.definition().server)(now, scheme, settings, tracer)
    }
}

/// The name and the machines of a protocol.
struct Definition {
    protocol: trace::Protocol,
    client: fn(Instant, &ClientSettings, Tracer) -> Box<dyn ClientByteStream>,
    server: fn(Instant, Scheme, &ServerSettings, Tracer) -> Box<dyn ServerByteStream>,
}

fn spdy_client(
    version: spdy::Version,
    now: Instant,
    settings: &ClientSettings,
    tracer: Tracer,
) -> Box<dyn ClientByteStream> {
    let settings = spdy::Settings { version, ..settings.spdy.clone() };
    Box::new(spdy::Client::new(now, settings, Box::new(RoundRobin::default()), tracer))
}

fn spdy_server(
    version: spdy::Version,
    now: Instant,
    settings: &ServerSettings,
    tracer: Tracer,
) -> Box<dyn ServerByteStream> {
    let scheduler = settings.priorities.scheduler();
    let settings = spdy::Settings { version, ..settings.spdy.clone() };
    Box::new(spdy::Server::new(now, settings, scheduler, tracer))
}

impl From<Protocol> for trace::Protocol {
    fn from(protocol: Protocol) -> Self {
        protocol.definition().protocol
    }
}

impl From<Protocol> for trace::SpokenProtocol {
    fn from(protocol: Protocol) -> Self {
        trace::Protocol::from(protocol).into()
    }
}

/// This crate has no machine for the protocol: HTTP/3, and WebSocket, which begins by an Upgrade of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there is no machine for {0}")]
pub struct NoMachine(pub trace::Protocol);

impl TryFrom<trace::Protocol> for Protocol {
    type Error = NoMachine;

    fn try_from(protocol: trace::Protocol) -> Result<Self, NoMachine> {
        let has_it = |own: &Self| trace::Protocol::from(*own) == protocol;
        Self::ALL.into_iter().find(has_it).ok_or(NoMachine(protocol))
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_protocol_has_a_machine_or_none() {
        for recorded in trace::Protocol::ALL {
            let expected = match recorded {
                trace::Protocol::Http3 | trace::Protocol::WebSocket => Err(NoMachine(recorded)),
                other => Ok(other),
            };
            let own = Protocol::try_from(recorded);
            assert_eq!(own.map(trace::Protocol::from), expected);
        }
    }
}
