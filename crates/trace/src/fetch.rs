//! The client's records of fetches and of connections, one row each.

use crate::header::HeaderBytes;
use crate::protocol::{SpokenProtocol, TlsVersion};
use serde::{Deserialize, Serialize};
use unit::Instant;

/// One resource asked for, from when it was queued to the last byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FetchRecord {
    /// Number within the trial, in the order of asking.
    pub id: u32,
    /// The URL requested last (after redirects). Over TLS it is an `https` or `wss` one, whatever the page has.
    pub url: String,
    /// The method of that request.
    #[serde(default = "get")]
    pub method: String,
    /// The connection that carried it; None where it failed without one.
    pub connection: Option<u32>,
    /// The stream on that connection (0 for HTTP/1.1).
    pub stream: u64,
    /// The protocol that carried it; none where it never got a connection.
    pub protocol: SpokenProtocol,
    /// Final status code.
    pub status: Option<u16>,
    /// Whether the server pushed it.
    pub pushed: bool,
    /// Whether it began for a `Link` field (103, or `rel=preload` of the document's head), before the page knew of it.
    #[serde(default)]
    pub hinted: bool,
    /// Whether it came from the client's cache, with nothing asked for over the link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Length of the body of the request sent last; None where the client does not report it.
    #[serde(default)]
    pub request_body_bytes: Option<u64>,
    /// Redirects followed.
    pub redirects: u32,
    /// Why its request was made again, in order: an entry for each time; mostly none. All else is of the last time, but
    /// `queued`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_again: Vec<MadeAgain>,
    /// Bytes of body received.
    pub body_bytes: u64,
    /// When each phase ended.
    pub phases: Phases,
    /// How it ended.
    pub outcome: FetchOutcome,
}

/// The times of one fetch. A phase that did not happen (no connect on a kept connection) is None.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// The client knew that it needs the resource.
    #[serde(with = "crate::nanos")]
    pub queued: Instant,
    /// A TCP connect was begun for it.
    #[serde(with = "crate::nanos::option", default)]
    pub connect_start: Option<Instant>,
    /// TCP connected.
    #[serde(with = "crate::nanos::option", default)]
    pub connected: Option<Instant>,
    /// TLS done.
    #[serde(with = "crate::nanos::option", default)]
    pub secured: Option<Instant>,
    /// The peer allowed a stream for it, after it had allowed no more (SETTINGS_MAX_CONCURRENT_STREAMS, MAX_STREAMS).
    #[serde(with = "crate::nanos::option", default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Instant>,
    /// The request was handed to the connection.
    #[serde(with = "crate::nanos::option", default)]
    pub sent: Option<Instant>,
    /// The first byte of the final response's head arrived.
    #[serde(with = "crate::nanos::option", default)]
    pub first_byte: Option<Instant>,
    /// The last byte of the body arrived, or the fetch failed.
    #[serde(with = "crate::nanos::option", default)]
    pub last_byte: Option<Instant>,
}

/// Why a client made a request a second time. A redirect is not among these: it asks for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadeAgain {
    /// The server answered 425 (Too Early) to a request within the handshake (RFC 8470 §5.2).
    #[serde(rename = "425")]
    TooEarly,
    /// The server dropped the early data that it was in. Over QUIC the client makes it again; over TCP the TLS layer sends
    /// the same bytes again.
    EarlyDataRejected,
    /// The server said that it has not acted on it (GOAWAY, or a stream reset with such a code), or reset the push that was to answer
    /// it.
    NotProcessed,
    /// Its connection ended before the response was whole.
    ConnectionLost,
}

/// How a fetch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchOutcome {
    /// The whole response came.
    Done,
    /// It did not; the message for people. Nothing decides by it.
    Failed(String),
}

/// One connection, from connect to close, as the client saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Number within the trial, in the order of opening.
    pub id: u32,
    /// Host name and port that it was opened for.
    pub authority: String,
    /// Address and port that it went to.
    pub remote: String,
    /// The protocol spoken, negotiated or known beforehand.
    pub protocol: SpokenProtocol,
    /// What TLS agreed on; None on a clear connection.
    pub tls: Option<TlsRecord>,
    /// Connect began.
    #[serde(with = "crate::nanos")]
    pub opened: Instant,
    /// TCP connected.
    #[serde(with = "crate::nanos::option", default)]
    pub connected: Option<Instant>,
    /// TLS done.
    #[serde(with = "crate::nanos::option", default)]
    pub secured: Option<Instant>,
    /// Closed by either side.
    #[serde(with = "crate::nanos::option", default)]
    pub closed: Option<Instant>,
    /// Requests carried: streams that the client opened.
    pub requests: u32,
    /// Streams that the server opened: pushes, whether they were taken or not.
    #[serde(default)]
    pub pushed: u32,
    /// What became of these pushes.
    #[serde(default)]
    pub pushes: PushTally,
    /// Bytes of heads, before and after compression; None where the client does not report them.
    #[serde(default)]
    pub headers: Option<HeaderBytes>,
    /// Request rounds: times the client, having nothing more coming on this connection, sent a request and waited.
    pub rounds: u32,
    /// Bytes given to the socket.
    pub bytes_sent: u64,
    /// Bytes taken from the socket.
    pub bytes_received: u64,
}

/// What became of the responses that a server pushed. `used`, `cancelled` and `unused` sum to the streams that it opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PushTally {
    /// Pushes that a fetch took.
    pub used: u32,
    /// Pushes that the client refused or cancelled, or that the server reset before a fetch took them.
    pub cancelled: u32,
    /// Pushes that no fetch had taken when the connection ended.
    pub unused: u32,
    /// Body bytes of pushes that were received.
    pub bytes: u64,
    /// Those of them that no fetch took, and what came for streams that were cancelled by then.
    pub wasted_bytes: u64,
}

impl std::ops::AddAssign for PushTally {
    fn add_assign(&mut self, other: Self) {
        self.used += other.used;
        self.cancelled += other.cancelled;
        self.unused += other.unused;
        self.bytes += other.bytes;
        self.wasted_bytes += other.wasted_bytes;
    }
}

/// What became of the fetches that began for a `Link` field, before the page knew of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HintTally {
    /// Fetches that began so.
    pub fetches: u32,
    /// Those that the page found to need.
    pub used: u32,
    /// Body bytes of the others.
    pub wasted_bytes: u64,
    /// Origins that were to be connected to (`rel=preconnect`).
    pub connections: u32,
}

/// What the next view of a page found in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CacheTally {
    /// Responses that were used without asking.
    pub fresh: u32,
    /// Responses that the server said were current (304).
    pub revalidated: u32,
    /// Bytes of bodies that so were not transferred.
    pub bytes: u64,
}

/// What a TLS handshake agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsRecord {
    /// The version spoken.
    pub version: TlsVersion,
    /// Cipher suite, by its IANA name.
    pub cipher: String,
    /// ALPN name agreed on, empty where there was none.
    pub alpn: String,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// What became of data sent within the handshake.
    #[serde(default)]
    pub early_data: EarlyData,
}

/// What became of the data that a client sent within its handshake (0-RTT: RFC 8446 §2.3, RFC 9001 §4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyData {
    /// None was sent.
    #[default]
    None,
    /// The server has processed it.
    Accepted,
    /// The server has dropped it, and it was sent again after the handshake.
    Rejected,
}

impl Phases {
    /// Nothing has happened but queueing.
    pub fn new(queued: Instant) -> Self {
        Self {
            queued,
            connect_start: None,
            connected: None,
            secured: None,
            allowed: None,
            sent: None,
            first_byte: None,
            last_byte: None,
        }
    }
}

/// Of rows that were written before methods were.
fn get() -> String {
    "GET".to_owned()
}

impl FetchRecord {
    /// A GET of `url` when it is queued; the rest is filled in later.
    pub fn new(id: u32, url: String, queued: Instant) -> Self {
        Self {
            id,
            url,
            method: get(),
            connection: None,
            stream: 0,
            protocol: SpokenProtocol::None,
            status: None,
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 0,
            phases: Phases::new(queued),
            outcome: FetchOutcome::Done,
        }
    }

    /// How often its connection was lost under it, so that it was made again.
    pub fn times_lost(&self) -> usize {
        self.made_again.iter().filter(|why| **why == MadeAgain::ConnectionLost).count()
    }
}

impl ConnectionRecord {
    /// A connection whose connect begins.
    pub fn begun(id: u32, authority: String, remote: String, opened: Instant) -> Self {
        Self {
            id,
            authority,
            remote,
            protocol: SpokenProtocol::None,
            tls: None,
            opened,
            connected: None,
            secured: None,
            closed: None,
            requests: 0,
            pushed: 0,
            pushes: PushTally::default(),
            headers: None,
            rounds: 0,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_tells_in_the_trades_words_why_it_was_made_again_and_nothing_where_it_was_not() {
        let once = FetchRecord::new(0, "https://a.test/".to_owned(), Instant::ZERO);
        let row = serde_json::to_value(&once).unwrap();
        assert_eq!(row.get("made_again"), None);
        assert_eq!(serde_json::from_value::<FetchRecord>(row).unwrap(), once);
        let made_again = vec![
            MadeAgain::TooEarly,
            MadeAgain::EarlyDataRejected,
            MadeAgain::NotProcessed,
            MadeAgain::ConnectionLost,
        ];
        let again = FetchRecord { made_again, ..once };
        let row = serde_json::to_value(&again).unwrap();
        let words = ["425", "early-data-rejected", "not-processed", "connection-lost"];
        assert_eq!(row["made_again"], serde_json::json!(words));
        assert_eq!(serde_json::from_value::<FetchRecord>(row).unwrap(), again);
    }

    #[test]
    fn a_row_says_of_a_fetch_that_a_cache_answered_it_and_nothing_where_none_did() {
        let asked = FetchRecord::new(0, "https://a.test/".to_owned(), Instant::ZERO);
        let row = serde_json::to_value(&asked).unwrap();
        assert_eq!(row.get("cached"), None);
        assert!(!serde_json::from_value::<FetchRecord>(row).unwrap().cached);
        let row = serde_json::to_value(FetchRecord { cached: true, ..asked }).unwrap();
        assert_eq!(row["cached"], true);
        assert!(serde_json::from_value::<FetchRecord>(row).unwrap().cached);
    }
}
