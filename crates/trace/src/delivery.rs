//! What a server's streams asked for and what they got.

use crate::SpokenProtocol;
use serde::{Deserialize, Serialize};
use unit::Instant;

/// One stream of a server's: how its client ranked it, and what became of it. Times are of the server's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// The server's number of the connection, in the order of accepting, from 1, over all its threads.
    pub connection: u64,
    /// The protocol on it.
    pub protocol: SpokenProtocol,
    /// The number of the stream on it.
    pub stream: u64,
    /// The host and port asked for.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// The status of the response; None without one.
    pub status: Option<u16>,
    /// The media type of the response; empty where it has none.
    pub media_type: String,
    /// What the client asked for, in the order in which it came.
    pub asked: Vec<PrioritySignal>,
    /// Signals that came beyond those, and were not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_more: u64,
    /// The policy that chose which stream sends next.
    pub policy: String,
    /// The server's own decision, which goes before what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<AskedPriority>,
    /// Of a push: the stream whose response it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed_with: Option<u64>,
    /// Of a push: what the client did with it, as far as a server hears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushFate>,
    /// The head of the request had arrived, or the push was promised.
    #[serde(with = "crate::nanos")]
    pub requested: Instant,
    /// The head of the response was given to the connection.
    #[serde(with = "crate::nanos::option", default)]
    pub answered: Option<Instant>,
    /// The first byte of the body was given to the socket.
    #[serde(with = "crate::nanos::option", default)]
    pub first_byte: Option<Instant>,
    /// The last byte was given to the socket, or the stream was cut off.
    #[serde(with = "crate::nanos")]
    pub ended: Instant,
    /// Bytes of body that were given to the connection.
    pub bytes: u64,
    /// The body's pieces as the connection sent them, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<DeliveredPiece>,
    /// How it ended.
    pub end: DeliveryEnd,
}

/// A piece of a response's body, and when it was sent. What follows at once, with nothing of another stream between, is of the same
/// piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredPiece {
    /// Its first byte was given to the socket.
    #[serde(with = "crate::nanos")]
    pub from: Instant,
    /// Its last byte was.
    #[serde(with = "crate::nanos")]
    pub until: Instant,
    /// Bytes of the body in it, without the headers of frames.
    pub bytes: u64,
}

/// A client's word on the priority of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrioritySignal {
    /// When it came.
    #[serde(with = "crate::nanos")]
    pub at: Instant,
    /// What said it.
    pub by: PrioritySource,
    /// What it said.
    #[serde(flatten)]
    pub asked: AskedPriority,
}

/// What says how a stream ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrioritySource {
    /// The dependency in HTTP/2's HEADERS (RFC 7540 §5.3).
    #[serde(rename = "HEADERS")]
    Headers,
    /// HTTP/2's PRIORITY (RFC 7540 §6.3).
    #[serde(rename = "PRIORITY")]
    Priority,
    /// The field `priority` of the request (RFC 9218 §5).
    #[serde(rename = "priority field")]
    Field,
    /// PRIORITY_UPDATE (RFC 9218 §7), of HTTP/2 or HTTP/3.
    #[serde(rename = "PRIORITY_UPDATE")]
    PriorityUpdate,
    /// SPDY's SYN_STREAM.
    #[serde(rename = "SYN_STREAM")]
    SynStream,
}

/// How a stream is to rank, in the words of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AskedPriority {
    /// A place in the dependency tree (RFC 7540 §5.3).
    Dependency {
        /// The stream it depends on, 0 for the root.
        parent: u64,
        /// 1 to 256.
        weight: u16,
        /// Whether it comes between the parent and all the parent's other children.
        exclusive: bool,
    },
    /// Urgency and incremental delivery (RFC 9218).
    Urgency {
        /// 0 (first) to 7 (last).
        urgency: u8,
        /// Whether parts of it are useful before the whole.
        incremental: bool,
    },
    /// SPDY's 0 (first) to 7 (last).
    Level {
        /// The level.
        level: u8,
    },
}

/// What became of a push, as far as a server hears. A client that leaves one unused says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PushFate {
    /// The client refused it, the connection ended before it was sent, or the server gave it up.
    Cancelled,
    /// It was sent. Whether it was used is not known.
    UseUnknown,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryEnd {
    /// Everything was sent.
    Done,
    /// The peer reset it, or the connection ended before it did.
    CutOff,
    /// The server gave it up.
    Broken,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reads_as_the_protocol_says_it() {
        let signal = |by, asked| PrioritySignal { at: Instant::from_nanos(7), by, asked };
        for (signal, json) in [
            (
                signal(
                    PrioritySource::Headers,
                    AskedPriority::Dependency { parent: 3, weight: 256, exclusive: true },
                ),
                r#"{"at":7,"by":"HEADERS","parent":3,"weight":256,"exclusive":true}"#,
            ),
            (
                signal(
                    PrioritySource::Field,
                    AskedPriority::Urgency { urgency: 2, incremental: true },
                ),
                r#"{"at":7,"by":"priority field","urgency":2,"incremental":true}"#,
            ),
            (
                signal(PrioritySource::SynStream, AskedPriority::Level { level: 4 }),
                r#"{"at":7,"by":"SYN_STREAM","level":4}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&signal).unwrap(), json);
            assert_eq!(serde_json::from_str::<PrioritySignal>(json).unwrap(), signal);
        }
    }
}
