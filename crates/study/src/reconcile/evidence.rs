//! Checks what a foreign client reports against the link's log, the server's log and the key log. A claim that one of
//! them contradicts fails the trial. A claim that none of them can check is recorded as unverified.

#[cfg(test)]
mod tests;

use super::packets::{PacketSummary, payload_until, summarise};
use super::path::finished;
use crate::outcome::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use trace::{FetchRecord, PacketRecord, Protocol, SpokenProtocol, TlsRecord, TlsVersion};
use unit::{Instant, counted};

/// A claim and its grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The kind of claim.
    pub claim: Claim,
    /// The claimed value.
    pub value: String,
    /// What confirms it.
    pub grade: Grade,
}

/// How a kind of claim was confirmed in all measured trials of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GradedClaim {
    /// The kind of claim.
    pub claim: Claim,
    /// The weakest grade of all trials.
    pub grade: Grade,
}

/// The weakest grade of each claim over several trials.
pub(crate) fn weakest<'e>(evidence: impl Iterator<Item = &'e Evidence>) -> Vec<GradedClaim> {
    let mut grades: BTreeMap<Claim, Grade> = BTreeMap::new();
    for one in evidence {
        let grade = grades.entry(one.claim).or_insert(one.grade);
        *grade = one.grade.max(*grade);
    }
    grades.into_iter().map(|(claim, grade)| GradedClaim { claim, grade }).collect()
}

/// The kind of a claim.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The protocol that carried the fetches.
    Protocol,
    /// The TLS version below it.
    Tls,
    /// Connections opened.
    Connections,
    /// Connections that resumed an earlier TLS session.
    Resumed,
    /// Bytes of bodies.
    Bytes,
    /// That no byte arrived before the link delivered it.
    Times,
}

/// What confirms a claim, best first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The link's packet log.
    Wire,
    /// The TLS key log that the client wrote.
    KeyLog,
    /// The server's log.
    ServerLog,
    /// Nothing: only the client says so.
    Unverified,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wire => "wire",
            Self::KeyLog => "key log",
            Self::ServerLog => "server log",
            Self::Unverified => "unverified",
        })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protocol => "protocol",
            Self::Tls => "TLS",
            Self::Connections => "connections",
            Self::Resumed => "resumed",
            Self::Bytes => "bytes",
            Self::Times => "times",
        })
    }
}

/// A server's log, connection by connection: from our own origin, or parsed from another server's log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerLog {
    /// Every connection that carried a request.
    pub connections: Vec<ServerConnection>,
}

/// One connection, as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerConnection {
    /// Its number, in the order of acceptance.
    pub id: u64,
    /// The protocol spoken.
    pub protocol: SpokenProtocol,
    /// What TLS agreed on; None on a clear connection, or where the server does not log it.
    #[serde(default)]
    pub tls: Option<TlsRecord>,
    /// Requests answered.
    pub requests: u32,
    /// Bytes of bodies sent.
    pub body_bytes: u64,
}

/// What a TLS key log shows. It lists each session's secrets under its client random.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyLogFacts {
    /// Handshakes by the TLS version that their secrets belong to.
    pub handshakes: BTreeMap<TlsVersion, u64>,
}

impl KeyLogFacts {
    /// Reads a key log in NSS format. Lines of other kinds are skipped.
    pub fn read(text: &str) -> Self {
        let mut versions: BTreeMap<&str, TlsVersion> = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some(random)) = (words.next(), words.next()) else { continue };
            let version = match label {
                "CLIENT_RANDOM" => TlsVersion::V1_2,
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => TlsVersion::V1_3,
                _ => continue,
            };
            versions.insert(random, version);
        }
        let mut facts = Self::default();
        for version in versions.into_values() {
            *facts.handshakes.entry(version).or_default() += 1;
        }
        facts
    }
}

/// What a client was asked to do, what it reports, and the logs to check that against.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// The protocol asked for.
    pub protocol: Protocol,
    /// Another that the client may try meanwhile, as a browser does that has heard of HTTP/3 by Alt-Svc.
    pub beside: Option<Protocol>,
    /// The TLS version asked for; None in the clear.
    pub tls: Option<TlsVersion>,
    /// The fetches that it reports.
    pub fetches: &'a [FetchRecord],
    /// The expected body bytes, by fetch number.
    pub expected: &'a BTreeMap<u32, u64>,
    /// The body bytes that it reports, by fetch number, where it does.
    pub reported_bytes: &'a BTreeMap<u32, u64>,
    /// The number of connections that it reports.
    pub connections: Option<u64>,
    /// The number of distinct connections that its fetches name.
    pub named_connections: u64,
    /// The TLS versions that it reports.
    pub reported_tls: Vec<TlsVersion>,
    /// The number of resumed connections that it reports.
    pub resumed: Option<u64>,
    /// The link's log; None where none was kept.
    pub packets: Option<&'a [PacketRecord]>,
    /// When the measured work began, where the client warmed up before it over the same link.
    pub since: Option<Instant>,
    /// The server's log; None where it keeps none.
    pub server: Option<&'a ServerLog>,
    /// What its key log shows; None where it writes none.
    pub key_log: Option<&'a KeyLogFacts>,
}

/// The sums of the link's log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// All packets, warm-up included.
    pub(super) whole: PacketSummary,
    /// Connections of the measured work.
    pub(super) connections: u64,
    /// Payload bytes of the measured work that were delivered towards the client.
    pub(super) payload: u64,
    /// TCP payload bytes of the measured work that entered the link again, both ways.
    pub(super) retransmitted: u64,
    /// How many bytes of `payload` were delivered before the client says that it was done.
    pub(super) in_time: u64,
}

impl Sums {
    /// Of a case's log.
    pub(super) fn of(case: &Case<'_>) -> Self {
        let Some(packets) = case.packets else { return Self::default() };
        let measured: Cow<'_, [PacketRecord]> = match case.since {
            None => packets.into(),
            Some(since) => packets.iter().filter(|p| p.at >= since).cloned().collect(),
        };
        let end = case.fetches.iter().map(finished).max().unwrap_or_default();
        let work = summarise(&measured);
        Self {
            whole: summarise(packets),
            connections: work.connections,
            retransmitted: work.up.retransmitted + work.down.retransmitted,
            payload: payload_until(&measured, Instant::from_nanos(u64::MAX)),
            in_time: payload_until(&measured, end + READING),
        }
    }
}

/// Judges every claim: the evidence, and the first claim that is contradicted.
pub(super) fn judge(case: &Case<'_>, sums: &Sums) -> (Vec<Evidence>, Option<Outcome>) {
    let mut judge = Judge { case, sums, evidence: Vec::new(), objections: Vec::new() };
    judge.protocol();
    judge.tls();
    judge.connections();
    judge.resumed();
    judge.bytes();
    judge.times();
    let first = judge.objections.into_iter().next();
    (judge.evidence, first.map(|reason| Outcome::Failed { reason }))
}

struct Judge<'a, 'c> {
    case: &'a Case<'c>,
    sums: &'a Sums,
    evidence: Vec<Evidence>,
    objections: Vec<String>,
}

impl Judge<'_, '_> {
    fn grade(&mut self, claim: Claim, value: impl Into<String>, grade: Grade) {
        self.evidence.push(Evidence { claim, value: value.into(), grade });
    }

    fn object(&mut self, reason: String) {
        self.objections.push(reason);
    }

    /// The recorded packet headers do not show what TLS encrypts. Over QUIC there is only HTTP/3.
    fn protocol(&mut self) {
        let asked = self.case.protocol;
        if let Some(reason) = self.below() {
            return self.object(reason);
        }
        let reported = self.case.fetches.iter().map(|fetch| &fetch.protocol);
        if let Some(other) =
            reported.filter(|reported| !reported.is_none()).find(|reported| !self.may_be(reported))
        {
            let reason =
                format!("{asked} was asked for, but the client says that it spoke {other}");
            return self.object(reason);
        }
        let seen = self.case.server.map(|log| log.connections.iter().filter(|c| c.requests > 0));
        match seen {
            Some(mut seen) => match seen.clone().find(|seen| !self.may_be(&seen.protocol)) {
                Some(other) => {
                    let reason = format!(
                        "{asked} was asked for, but the server saw {} on connection {}",
                        other.protocol, other.id
                    );
                    self.object(reason);
                }
                None if seen.next().is_some() => {
                    self.grade(Claim::Protocol, asked.name(), Grade::ServerLog);
                }
                None => self.grade(Claim::Protocol, asked.name(), self.seen_below()),
            },
            None => self.grade(Claim::Protocol, asked.name(), self.seen_below()),
        }
    }

    /// Whether a protocol is the one asked for, or may be spoken beside it. A WebSocket begins as a request of HTTP, and a server's
    /// log may list that alone.
    fn may_be(&self, spoken: &SpokenProtocol) -> bool {
        *spoken == self.case.protocol
            || *spoken == self.case.protocol.begins_as()
            || self.case.beside.is_some_and(|beside| *spoken == beside)
    }

    /// What the link saw that contradicts the protocol's transport.
    fn below(&self) -> Option<String> {
        self.case.packets?;
        let asked = self.case.protocol;
        let (quic, all) = (self.sums.whole.quic_connections, self.sums.whole.connections);
        match asked == Protocol::Http3 {
            true if all > quic => {
                let tcp = all - quic;
                Some(format!("{asked} was asked for, but the link saw {tcp} TCP connections begin"))
            }
            true if quic == 0 => {
                Some(format!("{asked} was asked for, but the link saw no QUIC connection begin"))
            }
            false if quic > 0 && self.case.beside != Some(Protocol::Http3) => Some(format!(
                "{asked} was asked for, but the link saw {quic} QUIC connections begin"
            )),
            _ => None,
        }
    }

    /// How far the link's log alone confirms the protocol.
    fn seen_below(&self) -> Grade {
        let is_quic = self.case.protocol == Protocol::Http3 && self.case.packets.is_some();
        if is_quic { Grade::Wire } else { Grade::Unverified }
    }

    fn tls(&mut self) {
        let Some(asked) = &self.case.tls else { return };
        if let Some(other) = self.case.reported_tls.iter().find(|reported| *reported != asked) {
            let reason =
                format!("{asked} was asked for, but the client says that it spoke {other}");
            return self.object(reason);
        }
        let keyed = self.case.key_log.map(|log| log.handshakes.keys());
        if let Some(other) = keyed.and_then(|mut keyed| keyed.find(|seen| *seen != asked)) {
            let reason = format!("{asked} was asked for, but its key log is of {other}");
            return self.object(reason);
        }
        let server = self.case.server.into_iter().flat_map(|log| &log.connections);
        let seen: Vec<&TlsVersion> =
            server.filter_map(|c| c.tls.as_ref()).map(|tls| &tls.version).collect();
        if let Some(other) = seen.iter().find(|seen| **seen != asked) {
            let reason = format!("{asked} was asked for, but the server saw {other}");
            return self.object(reason);
        }
        let keyed = self.case.key_log.is_some_and(|log| !log.handshakes.is_empty());
        let grade = match (keyed, seen.is_empty()) {
            (true, _) => Grade::KeyLog,
            (false, false) => Grade::ServerLog,
            (false, true) => Grade::Unverified,
        };
        self.grade(Claim::Tls, asked.name(), grade);
    }

    fn connections(&mut self) {
        let wire = self.case.packets.map(|_| self.sums.whole.connections);
        let server = self.case.server.map(|log| log.connections.len() as u64);
        match (self.case.connections, wire, server) {
            (Some(reported), Some(seen), _) if reported != seen => self.object(format!(
                "the client says that it opened {}, but the link saw {seen}",
                counted(reported, "connection")
            )),
            (None, Some(seen), _) if self.case.named_connections > seen => {
                let named = self.case.named_connections;
                self.object(format!(
                    "its fetches name {}, but the link saw {seen}",
                    counted(named, "connection")
                ));
            }
            // A connection without a request is not in every server's log.
            (Some(reported), None, Some(seen)) if reported < seen => self.object(format!(
                "the client says that it opened {}, but the server answered on {seen}",
                counted(reported, "connection")
            )),
            (_, Some(seen), _) => self.grade(Claim::Connections, seen.to_string(), Grade::Wire),
            (None, None, Some(seen)) | (Some(seen), None, Some(_)) => {
                self.grade(Claim::Connections, seen.to_string(), Grade::ServerLog);
            }
            (Some(reported), None, None) => {
                self.grade(Claim::Connections, reported.to_string(), Grade::Unverified);
            }
            (None, None, None) => {}
        }
    }

    fn resumed(&mut self) {
        let tls = |c: &ServerConnection| c.tls.as_ref().map(|tls| tls.resumed);
        let server = self.case.server.map(|log| log.connections.iter().filter_map(tls));
        let seen = server.map(|seen| seen.filter(|resumed| *resumed).count() as u64);
        match (self.case.resumed, seen) {
            (Some(reported), Some(seen)) if reported != seen => self.object(format!(
                "the client says that {reported} connections resumed a session, but the server saw {seen}"
            )),
            (_, Some(seen)) if self.case.tls.is_some() => {
                self.grade(Claim::Resumed, seen.to_string(), Grade::ServerLog);
            }
            (Some(reported), None) => self.grade(Claim::Resumed, reported.to_string(), Grade::Unverified),
            _ => {}
        }
    }

    fn bytes(&mut self) {
        let wrong = self.case.fetches.iter().find_map(|fetch| {
            let (expected, reported) =
                (self.case.expected.get(&fetch.id)?, self.case.reported_bytes.get(&fetch.id)?);
            (reported != expected).then_some((fetch, reported, expected))
        });
        if let Some((fetch, reported, expected)) = wrong {
            let url = &fetch.url;
            return self.object(format!(
                "the client says that {url} has {reported} bytes, but it has {expected}"
            ));
        }
        let total: u64 = self.case.expected.values().sum();
        let sent = self
            .case
            .server
            .map(|log| log.connections.iter().map(|connection| connection.body_bytes).sum::<u64>());
        // Headers, frames and records add to the bodies' bytes and never subtract.
        if self.case.packets.is_some() && self.sums.payload < total {
            let came = self.sums.payload;
            self.object(format!(
                "the client says that it received {total} bytes, but the link delivered only {came}"
            ));
        } else if let Some(sent) = sent.filter(|sent| *sent < total) {
            self.object(format!(
                "the client says that it received {total} bytes, but the server sent {sent}"
            ));
        } else {
            let grade = match (self.case.packets, sent) {
                (Some(_), _) => Grade::Wire,
                (None, Some(_)) => Grade::ServerLog,
                (None, None) => Grade::Unverified,
            };
            self.grade(Claim::Bytes, total.to_string(), grade);
        }
    }

    /// A client that is done has received every byte, so the link must have delivered all of them by then.
    fn times(&mut self) {
        let end = self.case.fetches.iter().map(finished).max();
        let (Some(_), Some(end)) = (self.case.packets, end) else { return };
        let total: u64 = self.case.expected.values().sum();
        let came = self.sums.in_time;
        if came < total {
            let last = millis(end, self.case.fetches);
            self.object(format!(
                "the client says that it had {total} bytes after {last:.1} ms, but the link had delivered only {came} by then"
            ));
        } else {
            self.grade(Claim::Times, "last byte", Grade::Wire);
        }
    }
}

fn millis(end: Instant, fetches: &[FetchRecord]) -> f64 {
    let start = fetches.iter().map(|fetch| fetch.phases.queued).min().unwrap_or(end);
    end.since(start).as_secs_f64() * 1e3
}

/// The tolerance between the two clocks. A client's report is read after it was written, which makes its times later,
/// not earlier.
const READING: Duration = Duration::from_millis(5);
