//! The protocols and TLS versions that records name. The one rule: a decision compares these values; their names are
//! for files and for people.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// An application protocol that the lab knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    Http1,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// HTTP/3 (RFC 9114).
    Http3,
    /// SPDY/3.1.
    Spdy31,
    /// SPDY/3: SPDY/3.1 without flow control of the session.
    Spdy3,
    /// WebSocket (RFC 6455), entered by an Upgrade from HTTP/1.1.
    WebSocket,
    /// WebSocket on a stream of HTTP/2 (RFC 8441).
    WebSocketH2,
    /// WebSocket on a stream of HTTP/3 (RFC 9220).
    WebSocketH3,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 8] = [
        Self::Http1,
        Self::Http2,
        Self::Http3,
        Self::Spdy31,
        Self::Spdy3,
        Self::WebSocket,
        Self::WebSocketH2,
        Self::WebSocketH3,
    ];

    /// The definition of each protocol.
    const fn facts(self) -> Facts {
        match self {
            Self::Http1 => Facts { name: "http/1.1", title: "HTTP/1.1", multiplexes: false },
            Self::Http2 => Facts { name: "h2", title: "HTTP/2", multiplexes: true },
            Self::Http3 => Facts { name: "h3", title: "HTTP/3", multiplexes: true },
            Self::Spdy31 => Facts { name: "spdy/3.1", title: "SPDY/3.1", multiplexes: true },
            Self::Spdy3 => Facts { name: "spdy/3", title: "SPDY/3", multiplexes: true },
            Self::WebSocket => Facts { name: "ws", title: "WebSocket", multiplexes: false },
            Self::WebSocketH2 => {
                Facts { name: "ws-h2", title: "WebSocket over HTTP/2", multiplexes: false }
            }
            Self::WebSocketH3 => {
                Facts { name: "ws-h3", title: "WebSocket over HTTP/3", multiplexes: false }
            }
        }
    }

    /// The name in files and on the command line: the ALPN name, and for WebSockets, which have none, `ws`, `ws-h2`
    /// and `ws-h3`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in prose: `HTTP/2`.
    pub const fn title(self) -> &'static str {
        self.facts().title
    }

    /// The protocol with this [name](Self::name); None for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// The protocol of its connection: that of HTTP for a WebSocket, which is opened by a request, itself for any other.
    pub const fn begins_as(self) -> Self {
        match self {
            Self::WebSocket => Self::Http1,
            Self::WebSocketH2 => Self::Http2,
            Self::WebSocketH3 => Self::Http3,
            other => other,
        }
    }

    /// Whether it is a WebSocket, over whichever version of HTTP.
    pub const fn is_web_socket(self) -> bool {
        matches!(self, Self::WebSocket | Self::WebSocketH2 | Self::WebSocketH3)
    }

    /// Whether it is over QUIC (RFC 9000).
    pub const fn is_over_quic(self) -> bool {
        matches!(self, Self::Http3 | Self::WebSocketH3)
    }

    /// The protocol of a WebSocket whose connection speaks `http`; None where none is opened over that.
    pub const fn web_socket_over(http: Self) -> Option<Self> {
        match http {
            Self::Http1 => Some(Self::WebSocket),
            Self::Http2 => Some(Self::WebSocketH2),
            Self::Http3 => Some(Self::WebSocketH3),
            _ => None,
        }
    }

    /// The name to offer by ALPN (RFC 7301). A WebSocket's connection begins as one of HTTP.
    pub const fn alpn(self) -> &'static str {
        self.begins_as().name()
    }

    /// The protocol of this ALPN name, as it stands in a handshake; None for any other.
    pub fn from_alpn(alpn: &[u8]) -> Option<Self> {
        let has_it = |protocol: &Self| protocol.name().as_bytes() == alpn;
        Self::ALL.into_iter().filter(|protocol| !protocol.is_web_socket()).find(has_it)
    }

    /// Whether its clients can name dependencies (RFC 7540 §5.3).
    pub fn has_dependency_tree(self) -> bool {
        matches!(self, Self::Http2 | Self::WebSocketH2)
    }

    /// Whether one connection carries several requests at a time.
    pub const fn multiplexes(self) -> bool {
        self.facts().multiplexes
    }
}

/// The names and properties of a protocol.
struct Facts {
    name: &'static str,
    title: &'static str,
    multiplexes: bool,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The protocol of a fetch or a connection, as its client or server reports it. In files it is its
/// [name](Self::name), the empty string for [`SpokenProtocol::None`]. It is ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum SpokenProtocol {
    /// None: there was no connection, or its protocol was not reported.
    #[default]
    None,
    /// A protocol that the lab knows.
    Known(Protocol),
    /// What a foreign program calls it.
    Other(String),
}

impl SpokenProtocol {
    /// The protocol that goes by `name`.
    pub fn from_name(name: &str) -> Self {
        match Protocol::from_name(name) {
            Some(protocol) => Self::Known(protocol),
            None if name.is_empty() => Self::None,
            None => Self::Other(name.to_owned()),
        }
    }

    /// Its name; empty where there was none.
    pub fn name(&self) -> &str {
        match self {
            Self::None => "",
            Self::Known(protocol) => protocol.name(),
            Self::Other(name) => name,
        }
    }

    /// Whether it is [`SpokenProtocol::None`].
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The protocol, where the lab knows it.
    pub fn known(&self) -> Option<Protocol> {
        match self {
            Self::Known(protocol) => Some(*protocol),
            Self::None | Self::Other(_) => None,
        }
    }
}

impl From<Protocol> for SpokenProtocol {
    fn from(protocol: Protocol) -> Self {
        Self::Known(protocol)
    }
}

impl PartialEq<Protocol> for SpokenProtocol {
    fn eq(&self, other: &Protocol) -> bool {
        self.known() == Some(*other)
    }
}

impl Ord for SpokenProtocol {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for SpokenProtocol {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SpokenProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for SpokenProtocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for SpokenProtocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

/// A version of TLS, as its [name](Self::name) in files. It is ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    V1_2,
    /// TLS 1.3 (RFC 8446).
    V1_3,
    /// What a foreign program calls it.
    Other(String),
}

impl TlsVersion {
    /// The version that goes by `name`.
    pub fn from_name(name: &str) -> Self {
        match name {
            "TLSv1.2" => Self::V1_2,
            "TLSv1.3" => Self::V1_3,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Its name as TLS libraries tell it: `TLSv1.2`, `TLSv1.3`.
    pub fn name(&self) -> &str {
        match self {
            Self::V1_2 => "TLSv1.2",
            Self::V1_3 => "TLSv1.3",
            Self::Other(name) => name,
        }
    }
}

impl Ord for TlsVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for TlsVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for TlsVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for TlsVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionRecord, TlsRecord};
    use unit::Instant;

    #[test]
    fn every_name_is_read_back_as_what_it_names() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::from_name(protocol.name()), Some(protocol));
            assert_eq!(SpokenProtocol::from_name(protocol.name()), protocol);
        }
        for name in ["", "http/1.0", "spdy/2"] {
            assert_eq!(Protocol::from_name(name), None);
            assert_eq!(SpokenProtocol::from_name(name).name(), name);
        }
        for name in ["TLSv1.2", "TLSv1.3", "TLSv1", "unknown"] {
            assert_eq!(TlsVersion::from_name(name).name(), name);
        }
    }

    #[test]
    fn alpn_names_are_read_back_and_a_web_socket_has_none_of_its_own() {
        for protocol in Protocol::ALL {
            let read = Protocol::from_alpn(protocol.alpn().as_bytes());
            assert_eq!(read, Some(protocol.begins_as()));
            let opened = Protocol::web_socket_over(protocol.begins_as());
            assert!(!protocol.is_web_socket() || opened == Some(protocol));
        }
        let begun = [Protocol::WebSocket, Protocol::WebSocketH2, Protocol::WebSocketH3];
        let over = [Protocol::Http1, Protocol::Http2, Protocol::Http3];
        assert_eq!(begun.map(Protocol::begins_as), over);
        for name in ["ws", "ws-h2", "ws-h3"] {
            assert_eq!(Protocol::from_alpn(name.as_bytes()), None);
        }
    }

    #[test]
    fn rows_hold_names_and_those_of_earlier_versions_are_read() {
        let mut record = ConnectionRecord::begun(0, "a".into(), "b".into(), Instant::ZERO);
        for name in
            ["http/1.1", "h2", "h3", "spdy/3.1", "spdy/3", "ws", "ws-h2", "ws-h3", "", "http/1.0"]
        {
            record.protocol = SpokenProtocol::from_name(name);
            let version = TlsVersion::from_name("TLSv1.3");
            let (cipher, alpn) = (String::new(), String::new());
            record.tls = Some(TlsRecord {
                version,
                cipher,
                alpn,
                resumed: false,
                early_data: crate::EarlyData::None,
            });
            let json = serde_json::to_value(&record).unwrap();
            assert_eq!(json["protocol"], name);
            assert_eq!(json["tls"]["version"], "TLSv1.3");
            assert_eq!(serde_json::from_value::<ConnectionRecord>(json).unwrap(), record);
        }
    }
}
