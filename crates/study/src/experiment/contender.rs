//! A contender: one transport with its security and settings, every default filled in, so that a row
//! says all that ran.

use super::browser::{Profile, RaiseBy};
use super::first_visit::FirstVisit;
use super::next_view::NextView;
use super::page::FetchPriority;
use super::policy::PolicyChoice;
use super::quantity::size;
use super::receive_windows::{CHROMIUM_CONNECTION_WINDOW, CHROMIUM_STREAM_WINDOW};
use super::service::{PortKind, RunningService, Server};
use super::side::Side;
use super::stream::Delivery;
use super::terms::{Terms, unmatched};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use trace::{Protocol, TlsVersion};
use unit::ByteSize;

/// One way of moving the bytes, that races against others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// What it is called in tables and pictures.
    pub name: String,
    /// The protocol spoken.
    pub transport: Transport,
    /// The security below it.
    pub tls: Tls,
    /// Whose client, by the name that its declaration gives it; absent: wirelap's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSubject>,
    /// The server that answers.
    #[serde(default, skip_serializing_if = "Server::is_origin")]
    pub server: Server,
    /// All that can be turned.
    pub settings: Settings,
}

/// A foreign client, run through the subject contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSubject {
    /// The name that its declaration gives it.
    pub name: String,
    /// Times that it does the whole work, in the process that is then measured.
    #[serde(default)]
    pub warmup: u32,
}

impl ClientSubject {
    /// What does downloads where no other client is named: `wirelap get`, as a subject.
    pub const OWN_DOWNLOADER: &str = "wirelap-get";
}

impl Contender {
    /// The client's name, where it is not wirelap's own.
    pub fn foreign_client(&self) -> Option<&str> {
        let name = self.client.as_ref().map(|client| client.name.as_str());
        name.filter(|name| *name != ClientSubject::OWN_DOWNLOADER)
    }

    /// The declared server that wirelap starts for it, where that is not its own.
    pub fn foreign_server(&self) -> Option<&str> {
        match &self.server {
            Server::Named(name) if !self.server.is_origin() => Some(name),
            Server::Named(_) | Server::Running(_) => None,
        }
    }

    /// The service that answers it and that runs already.
    pub fn service(&self) -> Option<&RunningService> {
        match &self.server {
            Server::Named(_) => None,
            Server::Running(service) => Some(service),
        }
    }

    /// It as one of `contenders`: beside HTTP/3 on equal terms, TCP is paced as QUIC is, and what differs all the same is said.
    pub fn among(&self, contenders: &[Self]) -> Self {
        let mut own = self.clone();
        let is_equal = |one: &Self| one.settings.terms == Terms::Equal;
        let is_quic = |one: &Self| one.transport.is_over_quic();
        let has_equal_quic = contenders.iter().any(|other| is_quic(other) && is_equal(other));
        let uses_tcp = !is_quic(self) || self.settings.first_visit.uses_tcp();
        own.settings.pacing |= has_equal_quic && is_equal(self) && uses_tcp;
        own.settings.unmatched = unmatched(self, contenders);
        own
    }

    /// It, answered by `service`: a port that is said to be clear or to speak TLS decides whether there is TLS.
    pub(super) fn at(self, service: &RunningService) -> Self {
        let tls = match (service.port_kind(), self.tls) {
            (Some(PortKind::Clear), _) => Tls::None,
            (Some(PortKind::Tls), Tls::None) => Tls::V1_3,
            (_, tls) => tls,
        };
        Self { tls, server: Server::Running(service.clone()), ..self }
    }
}

/// A protocol.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Transport {
    /// HTTP/1.1 (RFC 9112).
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2 (RFC 9113), by prior knowledge where there is no TLS.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/3 (RFC 9114), over QUIC.
    #[serde(rename = "h3")]
    H3,
    /// SPDY/3.1, by prior knowledge where there is no TLS.
    #[serde(rename = "spdy/3.1")]
    Spdy,
    /// SPDY/3: as SPDY/3.1 without flow control of the session.
    #[serde(rename = "spdy/3")]
    Spdy3,
    /// WebSocket (RFC 6455) by HTTP/1.1's Upgrade, which carries messages and nothing else; wss over TLS.
    #[serde(rename = "ws")]
    WebSocket,
    /// WebSocket on a stream of HTTP/2 (RFC 8441).
    #[serde(rename = "ws-h2")]
    WebSocketH2,
    /// WebSocket on a stream of HTTP/3 (RFC 9220).
    #[serde(rename = "ws-h3")]
    WebSocketH3,
}

impl Transport {
    /// Every transport that an experiment may name.
    pub const ALL: [Self; 8] = [
        Self::Http1,
        Self::H2,
        Self::H3,
        Self::Spdy,
        Self::Spdy3,
        Self::WebSocket,
        Self::WebSocketH2,
        Self::WebSocketH3,
    ];

    /// The name in files, and for those that have one in ALPN.
    pub fn name(self) -> &'static str {
        self.protocol().name()
    }

    /// The one arm of each transport: its protocol, and what an experiment that says nothing gets.
    fn defaults(self) -> Defaults {
        match self {
            Self::Http1 => Defaults {
                protocol: Protocol::Http1,
                tls: Tls::None,
                connections: 6,
                ways: "clear, TLS 1.2 or TLS 1.3; six connections an origin, as browsers keep",
            },
            Self::H2 => Defaults {
                protocol: Protocol::Http2,
                tls: Tls::V1_3,
                connections: 1,
                ways: "TLS by ALPN, or clear by prior knowledge; one connection an origin",
            },
            Self::H3 => Defaults {
                protocol: Protocol::Http3,
                tls: Tls::V1_3,
                connections: 1,
                ways: "over QUIC, which has TLS 1.3 within it; one connection an origin",
            },
            Self::Spdy => Defaults {
                protocol: Protocol::Spdy31,
                tls: Tls::V1_3,
                connections: 1,
                ways: "as h2; flow control of streams and of the session",
            },
            Self::Spdy3 => Defaults {
                protocol: Protocol::Spdy3,
                tls: Tls::V1_3,
                connections: 1,
                ways: "as spdy/3.1, with flow control of streams alone",
            },
            Self::WebSocket => Defaults {
                protocol: Protocol::WebSocket,
                tls: Tls::None,
                connections: 1,
                ways: "clear or TLS (wss), by HTTP/1.1's Upgrade; carries echo and stream alone",
            },
            Self::WebSocketH2 => Defaults {
                protocol: Protocol::WebSocketH2,
                tls: Tls::V1_3,
                connections: 1,
                ways: "TLS, or clear by prior knowledge, by HTTP/2's extended CONNECT; carries what ws carries",
            },
            Self::WebSocketH3 => Defaults {
                protocol: Protocol::WebSocketH3,
                tls: Tls::V1_3,
                connections: 1,
                ways: "over QUIC, by HTTP/3's extended CONNECT; carries what ws carries",
            },
        }
    }

    /// The protocol that is spoken.
    pub fn protocol(self) -> Protocol {
        self.defaults().protocol
    }

    /// Whether it is a WebSocket, over whichever version of HTTP.
    pub fn is_web_socket(self) -> bool {
        self.protocol().is_web_socket()
    }

    /// Whether it is over QUIC, in UDP.
    pub fn is_over_quic(self) -> bool {
        self.protocol().is_over_quic()
    }

    /// Whether it has receive windows for streams, beside TCP's.
    pub fn has_receive_windows(self) -> bool {
        !matches!(self.protocol(), Protocol::Http1 | Protocol::WebSocket)
    }

    /// What `tls = "auto"` means: browsers speak HTTP/2 and SPDY over TLS alone, and HTTP/1.1 is clear until asked,
    /// as WebSocket is, which begins as it.
    pub fn usual_tls(self) -> Tls {
        self.defaults().tls
    }

    /// Connections that browsers keep to an origin at most: six of HTTP/1.1 (Chromium's
    /// `max_sockets_per_group`, Firefox's `network.http.max-persistent-connections-per-server`), one of HTTP/2
    /// (RFC 9113 §9.1), of HTTP/3 (RFC 9114 §3.3) and of SPDY. A WebSocket is one connection.
    pub fn usual_connections(self) -> u32 {
        self.defaults().connections
    }

    /// How it can be had, in a line for a reader.
    pub fn ways(self) -> &'static str {
        self.defaults().ways
    }
}

/// What a transport is, and what is usual for it.
struct Defaults {
    protocol: Protocol,
    tls: Tls,
    connections: u32,
    ways: &'static str,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The TLS version spoken, exactly this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Tls {
    /// None: clear text.
    #[serde(rename = "none")]
    None,
    /// TLS 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    V1_3,
}

impl Tls {
    /// The version as connections are recorded with it; None in the clear.
    pub fn version(self) -> Option<TlsVersion> {
        match self {
            Self::None => None,
            Self::V1_2 => Some(TlsVersion::V1_2),
            Self::V1_3 => Some(TlsVersion::V1_3),
        }
    }
}

/// What can be turned on a contender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Whether a connection serves more requests once it carries none: without it, HTTP/1.1 has a connection
    /// a request, and a multiplexed connection is closed when nothing is under way on it.
    pub keep_alive: bool,
    /// The same of wirelap's own origin: whether it keeps a connection that carries no request. Without it HTTP/1.1's is closed
    /// after its first response, and a multiplexed one once every response is sent.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub server_keep_alive: bool,
    /// Whether TLS sessions are taken up again by a later connection (tickets).
    #[serde(default = "yes")]
    pub resumption: bool,
    /// What is left of an earlier visit when the work begins.
    #[serde(default, skip_serializing_if = "Temperature::is_default")]
    pub temperature: Temperature,
    /// How HTTP/3 is found.
    #[serde(default, skip_serializing_if = "FirstVisit::is_default")]
    pub first_visit: FirstVisit,
    /// Whether the client knows beforehand what the server speaks.
    #[serde(default)]
    pub negotiation: Negotiation,
    /// Connections to one origin at most.
    pub connections: u32,
    /// The client's HTTP/2, HTTP/3 or SPDY receive window for a stream, in bytes.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub stream_window: ByteSize,
    /// The client's HTTP/2, HTTP/3 or SPDY receive window for the connection, in bytes.
    #[serde(with = "size")]
    #[schemars(with = "u64")]
    pub connection_window: ByteSize,
    /// TCP's or QUIC's congestion control of both sides, by the kernel's name.
    pub congestion_control: CongestionControl,
    /// TCP's or QUIC's initial congestion window of both sides, in packets.
    pub initial_window: u32,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Whether TCP and QUIC send on the same terms.
    #[serde(default, skip_serializing_if = "Terms::is_equal")]
    pub terms: Terms,
    /// TCP: whether wirelap's own ends spread a congestion window over the round trip, as QUIC does. In an experiment with
    /// h3 they do, unless `terms` says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pacing: bool,
    /// What no contender over the other of TCP and QUIC has the same, in words. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
    /// QUIC of wirelap's own ends: whether packets larger than the first ones are tried (RFC 8899).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mtu_discovery: bool,
    /// QUIC of wirelap's own ends: whether one system call sends several datagrams (UDP GSO).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub gso: bool,
    /// QUIC of wirelap's own ends: the peer is asked to acknowledge when more than so many packets came
    /// (draft-ietf-quic-ack-frequency). Absent: RFC 9000's every other packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_threshold: Option<u32>,
    /// Whether a congestion window that nothing went through for a retransmission time-out starts anew (RFC 5681 §4.1).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub slow_start_after_idle: bool,
    /// Whether the first bytes go with the SYN (TCP Fast Open, RFC 7413); the cookie is fetched before the trial begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fast_open: bool,
    /// Who sends next where responses share a connection: wirelap's own origin over HTTP/2 and SPDY.
    #[serde(default, skip_serializing_if = "Priorities::is_default")]
    pub priorities: Priorities,
    /// Whether wirelap's own client takes what a server pushes, over HTTP/2 and SPDY.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub push: bool,
    /// Whether wirelap's own client follows early hints (103) of a page, over HTTP/2 and HTTP/3.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub early_hints: bool,
    /// The browser as which wirelap's own client loads a page.
    #[serde(default, skip_serializing_if = "Profile::is_default")]
    pub profile: Profile,
    /// How that client raises an image that can be seen, over HTTP/2 and HTTP/3.
    #[serde(default, skip_serializing_if = "RaiseBy::is_default")]
    pub raise: RaiseBy,
    /// What the markup of this contender's page says of the hero; absent: what the workload says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetchpriority: Option<FetchPriority>,
    /// The view of a page that is measured is the one after a first, with its cache and its cookies; absent: a first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_view: Option<NextView>,
    /// What wirelap's own origin pushes, hints and sends first; absent: what is asked for, and no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyChoice>,
    /// How tokens of a stream come.
    #[serde(default, skip_serializing_if = "Delivery::is_default")]
    pub delivery: Delivery,
    /// What the client's side does.
    #[serde(default)]
    pub client: Side,
    /// What the server's side does.
    #[serde(default)]
    pub server: Side,
    /// How much longer than the workload says the contender's server thinks about each call.
    #[serde(with = "super::quantity::span", default, skip_serializing_if = "Duration::is_zero")]
    #[schemars(with = "String")]
    pub server_time: Duration,
}

impl Settings {
    /// What a browser and a current kernel do over `transport`.
    pub fn usual(transport: Transport) -> Self {
        Self {
            keep_alive: true,
            server_keep_alive: true,
            resumption: true,
            temperature: Temperature::Cold,
            first_visit: FirstVisit::Known,
            negotiation: Negotiation::Known,
            connections: transport.usual_connections(),
            stream_window: CHROMIUM_STREAM_WINDOW,
            connection_window: CHROMIUM_CONNECTION_WINDOW,
            congestion_control: CongestionControl::Cubic,
            initial_window: RFC_6928_INITIAL_WINDOW,
            mtu: ETHERNET_MTU,
            terms: Terms::Equal,
            pacing: false,
            unmatched: Vec::new(),
            mtu_discovery: false,
            gso: true,
            ack_threshold: None,
            slow_start_after_idle: true,
            fast_open: false,
            priorities: Priorities::Auto,
            push: false,
            early_hints: true,
            profile: Profile::default(),
            raise: RaiseBy::default(),
            fetchpriority: None,
            next_view: None,
            policy: None,
            delivery: match transport.is_web_socket() {
                true => Delivery::WebSocket,
                false => Delivery::Sse,
            },
            client: Side::default(),
            server: Side::default(),
            server_time: Duration::ZERO,
        }
    }
}

impl Settings {
    /// Whether view, visit and temperature are such as a browser can be asked for. Its cache is its own, it finds HTTP/3 by
    /// Alt-Svc or knows it, and finds it cold.
    pub(super) fn can_be_anothers(&self) -> bool {
        let keeps_all = |view: &NextView| view.evicted == 0 && view.away.is_zero();
        let finds = match self.first_visit {
            FirstVisit::Known | FirstVisit::HttpsRecord => true,
            FirstVisit::AltSvc => self.temperature == Temperature::Cold && self.next_view.is_none(),
            FirstVisit::Race | FirstVisit::UdpBlocked => false,
        };
        finds && self.next_view.as_ref().is_none_or(keeps_all)
    }
}

/// What is left of an earlier visit when the work begins. Each trial makes that visit itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Temperature {
    /// Nothing: the first handshake with each host is a full one.
    #[default]
    Cold,
    /// TLS sessions: every handshake resumes one.
    Resumed,
    /// The same, and the first requests go within the handshake (0-RTT).
    Early,
    /// The connections themselves: they stand open.
    Open,
}

impl Temperature {
    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Resumed => "resumed",
            Self::Early => "early",
            Self::Open => "open",
        }
    }

    /// Whether sessions of an earlier visit are resumed.
    pub fn resumes(self) -> bool {
        matches!(self, Self::Resumed | Self::Early)
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The policy by which a server picks the response that sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priorities {
    /// What the client's signals ask for: the dependency tree where it sends dependencies (RFC 7540), urgency and
    /// incremental delivery where it sends these alone (RFC 9218), SPDY's levels over SPDY.
    #[default]
    Auto,
    /// Urgency and incremental delivery (RFC 9218).
    Rfc9218,
    /// The dependency tree with weights (RFC 7540 §5.3).
    Rfc7540,
    /// SPDY's levels, 0 to 7.
    Spdy,
    /// One response after another, in the order of the requests.
    Fifo,
    /// A frame of each response in turn, whatever the client says.
    RoundRobin,
    /// CSS, fonts and the scripts that block first, whatever the client says; all else as `auto`.
    ServerDriven,
}

impl Priorities {
    /// Every policy.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::Rfc9218,
        Self::Rfc7540,
        Self::Spdy,
        Self::Fifo,
        Self::RoundRobin,
        Self::ServerDriven,
    ];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Rfc9218 => "rfc9218",
            Self::Rfc7540 => "rfc7540",
            Self::Spdy => "spdy",
            Self::Fifo => "fifo",
            Self::RoundRobin => "round-robin",
            Self::ServerDriven => "server-driven",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a client comes to the protocol over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Negotiation {
    /// It knows: it offers that one name by ALPN (RFC 9113 §3.3 wants one over TLS) and opens as many
    /// connections as it may at once.
    #[default]
    Known,
    /// It offers http/1.1 beside its own protocol as a browser does (h2 and http/1.1 where that is http/1.1), and until the first handshake has shown which, it opens
    /// no second connection.
    Alpn,
}

/// A congestion control that a contender may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// CUBIC (RFC 9438), the default of most servers.
    Cubic,
    /// NewReno (RFC 6582).
    Reno,
    /// BBR: over TCP in the version that the kernel has, over QUIC of wirelap's own ends version 1 as quinn-proto has it.
    Bbr,
}

impl CongestionControl {
    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

/// Rows of before there was the choice: browsers resume, and kernels start anew.
fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// RFC 6928 §2: ten segments.
const RFC_6928_INITIAL_WINDOW: u32 = 10;
/// RFC 894: what Ethernet carries.
const ETHERNET_MTU: u32 = 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_transport_is_its_name_in_files() {
        for transport in Transport::ALL {
            let json = serde_json::to_value(transport).unwrap();
            assert_eq!(json, transport.name());
        }
        assert_eq!(serde_json::to_value(CongestionControl::Bbr).unwrap(), "bbr");
        for policy in Priorities::ALL {
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.name());
        }
    }
}
