//! All protocols. To add one, add a variant, its entry in [`Protocol::ALL`] and its arm in `Protocol::definition`.

use crate::client::{ClientByteStream, ClientMultiplexed, ClientSettings};
use crate::server::{ServerByteStream, ServerMultiplexed, ServerSettings};
use proto::schedule::RoundRobin;
use proto::{Scheme, h1, h2, h3, spdy};
use std::sync::Arc;
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
    /// HTTP/3 (RFC 9114), over QUIC.
    Http3,
    /// SPDY/3.1.
    Spdy31,
    /// SPDY/3: as SPDY/3.1 but without flow control for the whole session.
    Spdy3,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Http1, Self::Http2, Self::Http3, Self::Spdy31, Self::Spdy3];

    /// The one arm of each protocol: its entry in [`trace::Protocol`] and its two machines.
    fn definition(self) -> Definition {
        match self {
            Self::Http1 => over_byte_streams(
                trace::Protocol::Http1,
                |now, settings, tracer| Box::new(h1::Client::new(now, settings.h1.clone(), tracer)),
                |now, scheme, settings, tracer| {
                    let settings = h1::ServerSettings { scheme, ..settings.h1.clone() };
                    Box::new(h1::Server::new(now, settings, tracer))
                },
            ),
            Self::Http2 => over_byte_streams(
                trace::Protocol::Http2,
                |now, settings, tracer| {
                    // A client's uploads share by round robin. The order of responses is the server's decision.
                    let turns = Box::new(RoundRobin::default());
                    Box::new(h2::Client::new(now, settings.h2.clone(), turns, tracer))
                },
                |now, _, settings, tracer| {
                    let no_rfc7540_priorities = settings.priorities.rules_out_dependencies();
                    let scheduler = settings.scheduler();
                    let settings = h2::Settings { no_rfc7540_priorities, ..settings.h2.clone() };
                    Box::new(h2::Server::new(now, settings, scheduler, tracer))
                },
            ),
            Self::Http3 => Definition {
                protocol: trace::Protocol::Http3,
                machines: Machines::OverQuic {
                    client: |now, settings, tracer| {
                        let turns = Box::new(RoundRobin::default());
                        Box::new(h3::Client::new(now, settings, turns, tracer))
                    },
                    server: |now, settings, tracer| {
                        let scheduler = settings.scheduler_over_http3();
                        let h3 = Arc::clone(&settings.h3);
                        Box::new(h3::Server::new(now, h3, scheduler, tracer))
                    },
                },
            },
            Self::Spdy31 => over_byte_streams(
                trace::Protocol::Spdy31,
                |now, settings, tracer| spdy_client(spdy::Version::V3_1, now, settings, tracer),
                |now, _, settings, tracer| spdy_server(spdy::Version::V3_1, now, settings, tracer),
            ),
            Self::Spdy3 => over_byte_streams(
                trace::Protocol::Spdy3,
                |now, settings, tracer| spdy_client(spdy::Version::V3, now, settings, tracer),
                |now, _, settings, tracer| spdy_server(spdy::Version::V3, now, settings, tracer),
            ),
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

    /// Whether it runs over QUIC, and not over byte streams.
    pub fn is_over_quic(self) -> bool {
        matches!(self.definition().machines, Machines::OverQuic { .. })
    }

    /// The client's machine over a byte stream.
    pub(crate) fn client(
        self,
        now: Instant,
        settings: &ClientSettings,
        tracer: Tracer,
    ) -> Option<Box<dyn ClientByteStream>> {
        match self.definition().machines {
            Machines::OverByteStreams { client, .. } => Some(client(now, settings, tracer)),
            Machines::OverQuic { .. } => None,
        }
    }

    /// The client's machine over QUIC.
    pub(crate) fn client_over_quic(
        self,
        now: Instant,
        settings: &ClientSettings,
        remembered: Option<h3::PeerSettings>,
        tracer: Tracer,
    ) -> Option<Box<dyn ClientMultiplexed>> {
        match self.definition().machines {
            Machines::OverQuic { client, .. } => {
                let h3 = h3::Settings { remembered, ..settings.h3.clone() };
                Some(client(now, h3, tracer))
            }
            Machines::OverByteStreams { .. } => None,
        }
    }

    /// The server's machine over a byte stream. `scheme` is what its requests are made under.
    pub(crate) fn server(
        self,
        now: Instant,
        scheme: Scheme,
        settings: &ServerSettings,
        tracer: Tracer,
    ) -> Option<Box<dyn ServerByteStream>> {
        match self.definition().machines {
            Machines::OverByteStreams { server, .. } => Some(server(now, scheme, settings, tracer)),
            Machines::OverQuic { .. } => None,
        }
    }

    /// The server's machine over QUIC.
    pub(crate) fn server_over_quic(
        self,
        now: Instant,
        settings: &ServerSettings,
        tracer: Tracer,
    ) -> Option<Box<dyn ServerMultiplexed>> {
        match self.definition().machines {
            Machines::OverQuic { server, .. } => Some(server(now, settings, tracer)),
            Machines::OverByteStreams { .. } => None,
        }
    }
}

/// The name and the machines of a protocol.
struct Definition {
    protocol: trace::Protocol,
    machines: Machines,
}

/// The machines of both roles.
enum Machines {
    OverByteStreams {
        client: StreamClient,
        server: StreamServer,
    },
    OverQuic {
        client: fn(Instant, h3::Settings, Tracer) -> Box<dyn ClientMultiplexed>,
        server: fn(Instant, &ServerSettings, Tracer) -> Box<dyn ServerMultiplexed>,
    },
}

type StreamClient = fn(Instant, &ClientSettings, Tracer) -> Box<dyn ClientByteStream>;
type StreamServer = fn(Instant, Scheme, &ServerSettings, Tracer) -> Box<dyn ServerByteStream>;

fn over_byte_streams(
    protocol: trace::Protocol,
    client: StreamClient,
    server: StreamServer,
) -> Definition {
    Definition { protocol, machines: Machines::OverByteStreams { client, server } }
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
    let scheduler = settings.scheduler();
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

/// This crate has no machine for the protocol: WebSocket, which begins by an Upgrade of HTTP/1.1.
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
                socket if socket.is_web_socket() => Err(NoMachine(recorded)),
                other => Ok(other),
            };
            let own = Protocol::try_from(recorded);
            assert_eq!(own.map(trace::Protocol::from), expected);
        }
    }
}
