//! Contenders that every experiment can use by name, whether its file declares them or not: one for each transport, as
//! browsers spoke it, over TLS 1.3 or without TLS.

use super::contender::{Contender, Settings, Tls, Transport};
use super::service::Server;

/// A contender that is part of wirelap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownContender {
    /// The name that `race --contenders` takes.
    pub name: &'static str,
    /// The protocol spoken.
    pub transport: Transport,
    /// The security below it.
    pub tls: Tls,
}

/// The built-in contenders. An experiment's own contender of the same name replaces one.
pub const KNOWN_CONTENDERS: &[KnownContender] = &[
    KnownContender { name: "h1", transport: Transport::Http1, tls: Tls::None },
    KnownContender { name: "h1-tls", transport: Transport::Http1, tls: Tls::V1_3 },
    KnownContender { name: "h2", transport: Transport::H2, tls: Tls::V1_3 },
    KnownContender { name: "h2-clear", transport: Transport::H2, tls: Tls::None },
    KnownContender { name: "h3", transport: Transport::H3, tls: Tls::V1_3 },
    KnownContender { name: "spdy", transport: Transport::Spdy, tls: Tls::V1_3 },
    KnownContender { name: "spdy-clear", transport: Transport::Spdy, tls: Tls::None },
    KnownContender { name: "spdy-3", transport: Transport::Spdy3, tls: Tls::V1_3 },
    KnownContender { name: "ws", transport: Transport::WebSocket, tls: Tls::None },
    KnownContender { name: "wss", transport: Transport::WebSocket, tls: Tls::V1_3 },
    KnownContender { name: "ws-h2", transport: Transport::WebSocketH2, tls: Tls::V1_3 },
    KnownContender { name: "ws-h3", transport: Transport::WebSocketH3, tls: Tls::V1_3 },
];

impl KnownContender {
    /// The one of this name, or the first that speaks the transport of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        let named = KNOWN_CONTENDERS.iter().find(|known| known.name == name);
        named.or_else(|| KNOWN_CONTENDERS.iter().find(|known| known.transport.name() == name))
    }

    /// It as an experiment has it.
    pub fn contender(&self) -> Contender {
        let settings = Settings::usual(self.transport);
        let Self { name, transport, tls } = *self;
        let server = Server::default();
        Contender { name: name.to_owned(), transport, tls, client: None, server, settings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, builtin};

    #[test]
    fn a_known_contender_is_the_one_that_quick_names_so() {
        let quick: Experiment = builtin()[0].toml.parse().unwrap();
        for own in &quick.contenders {
            let known = KnownContender::find(&own.name).map(KnownContender::contender);
            assert_eq!(known.as_ref(), Some(own));
        }
    }

    #[test]
    fn every_transport_has_a_known_contender() {
        for transport in Transport::ALL {
            let found = KnownContender::find(transport.name());
            assert_eq!(found.map(|known| known.transport), Some(transport));
        }
    }
}
