//! How a client finds out that a server speaks HTTP/3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trace::Protocol;

/// How HTTP/3 is found by a client that has not visited the server before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstVisit {
    /// The client knows, and speaks HTTP/3 from its first packet.
    #[default]
    Known,
    /// By the `Alt-Svc` field of an answer (RFC 7838): the first view is over HTTP/2, the next one over HTTP/3.
    AltSvc,
    /// By the HTTPS record of DNS (RFC 9460), which comes with the address: as known.
    HttpsRecord,
    /// Connections over QUIC and TCP begin side by side, and the slower one is dropped.
    Race,
    /// As in a race, over a link that drops UDP.
    UdpBlocked,
}

impl FirstVisit {
    /// Every way.
    pub const ALL: [Self; 5] =
        [Self::Known, Self::AltSvc, Self::HttpsRecord, Self::Race, Self::UdpBlocked];

    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::AltSvc => "alt-svc",
            Self::HttpsRecord => "https-record",
            Self::Race => "race",
            Self::UdpBlocked => "udp-blocked",
        }
    }

    /// Whether connections over QUIC and TCP begin side by side.
    pub fn races(self) -> bool {
        matches!(self, Self::Race | Self::UdpBlocked)
    }

    /// Whether HTTP/2 over TCP is spoken or tried beside HTTP/3.
    pub fn uses_tcp(self) -> bool {
        self.races() || self == Self::AltSvc
    }

    /// What may carry the requests of the view that is judged.
    pub fn carriers(self) -> &'static [Protocol] {
        match self {
            Self::Known | Self::HttpsRecord => &[Protocol::Http3],
            Self::AltSvc | Self::UdpBlocked => &[Protocol::Http2],
            Self::Race => &[Protocol::Http2, Protocol::Http3],
        }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
