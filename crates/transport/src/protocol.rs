//! The protocols that there are. A further one is a further variant here and a further arm in each `match`: the
//! compiler finds them all.

use crate::client::{ClientMachine, ClientSettings};
use crate::server::{ServerMachine, ServerSettings};
use proto::schedule::RoundRobin;
use proto::{Scheme, h1, h2, spdy};
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
    ) -> Box<ClientMachine> {
        match self {
            Self::Http1 => Box::new(h1::Client::new(now, settings.h1.clone(), tracer)),
            // Uploads take turns; what is asked for is the server's to order.
            Self::Http2 => {
                let turns = Box::new(RoundRobin::new());
                Box::new(h2::Client::new(now, settings.h2.clone(), turns, tracer))
            }
            Self::Spdy31 | Self::Spdy3 => {
                let settings =
                    spdy::Settings { version: self.spdy_version(), ..settings.spdy.clone() };
                Box::new(spdy::Client::new(now, settings, Box::new(RoundRobin::new()), tracer))
            }
        }
    }

    /// The server's machine. `scheme` is what its requests are made under.
    pub(crate) fn server(
        self,
        now: Instant,
        scheme: Scheme,
        settings: &ServerSettings,
        tracer: Tracer,
    ) -> Box<ServerMachine> {
        match self {
            Self::Http1 => {
                let settings = h1::ServerSettings { scheme, ..settings.h1.clone() };
                Box::new(h1::Server::new(now, settings, tracer))
            }
            Self::Http2 => {
                let policy = settings.priorities;
                let no_rfc7540_priorities = policy.rules_out_dependencies();
                let settings = h2::Settings { no_rfc7540_priorities, ..settings.h2.clone() };
                Box::new(h2::Server::new(now, settings, policy.scheduler(), tracer))
            }
            Self::Spdy31 | Self::Spdy3 => {
                let scheduler = settings.priorities.scheduler();
                let settings =
                    spdy::Settings { version: self.spdy_version(), ..settings.spdy.clone() };
                Box::new(spdy::Server::new(now, settings, scheduler, tracer))
            }
        }
    }

    fn spdy_version(self) -> spdy::Version {
        match self {
            Self::Spdy3 => spdy::Version::V3,
            Self::Http1 | Self::Http2 | Self::Spdy31 => spdy::Version::V3_1,
        }
    }
}

impl From<Protocol> for trace::Protocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1,
            Protocol::Http2 => Self::Http2,
            Protocol::Spdy31 => Self::Spdy31,
            Protocol::Spdy3 => Self::Spdy3,
        }
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
