//! One fetch: its request, its state, and its record. The one rule: it knows connections by number only.

use crate::config::{ClientConfig, Downgrades};
use crate::failure::Failure;
use crate::redirect;
use crate::transport_choice::Transport;
use bytes::Bytes;
use endpoint::ConnectionId;
use page::{Kind, Message, Place, Priority, Scheme, Url};
use proto::{Fields, Method, ResponseHead, StreamId};
use std::fmt;
use std::sync::Arc;
use trace::{FetchOutcome, FetchRecord, MadeAgain, Phases, SpokenProtocol};
use transport::{Protocol, Timings};
use unit::{ByteSize, Instant};

/// A fetch's number within the trial, in the order of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FetchId(pub u32);

/// What is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSpec {
    /// Its URL.
    pub url: Url,
    /// Its method.
    pub method: Method,
    /// Fields besides the profile's.
    pub fields: Fields,
    /// The request's body.
    pub body: Bytes,
    /// The kind of resource. The profile's fields depend on it.
    pub kind: Kind,
    /// The page that refers to it.
    pub referrer: Option<Url>,
    /// Its priority: the order in the queue, and the signal to the server.
    pub priority: Priority,
    /// The place in HTTP/2's dependency tree; None: Chromium's place for the urgency.
    pub place: Option<Place>,
    /// The length that the response's body must have.
    pub expected: Option<ByteSize>,
    /// The status that the response must have.
    pub status: ExpectedStatus,
    /// When it was due, where that was before it could be made. Its times count from then.
    pub wanted: Option<Instant>,
    /// Whether a `Link` field asks for it, and nothing else so far.
    pub hinted: bool,
    /// The messages of a WebSocket; None where it is none. Its response's body is what the server's messages hold.
    pub messages: Option<Arc<[Message]>>,
}

impl FetchSpec {
    /// A plain GET, as for a navigation.
    pub fn get(url: Url) -> Self {
        Self {
            url,
            method: Method::Get,
            fields: Fields::new(),
            body: Bytes::new(),
            kind: Kind::Document,
            referrer: None,
            priority: Priority::default(),
            place: None,
            expected: None,
            status: ExpectedStatus::Any,
            wanted: None,
            hinted: false,
            messages: None,
        }
    }

    /// Its place in HTTP/2's dependency tree.
    pub(crate) fn place(&self) -> Place {
        self.place.unwrap_or(Place::Chain { level: self.priority.urgency })
    }

    /// The level at which it stands in the tree.
    pub(crate) fn level(&self) -> u8 {
        match self.place() {
            Place::Chain { level } => level,
            Place::Root { .. } | Place::Group { .. } => self.priority.urgency,
        }
    }
}

/// The status that a response must have; with another one its fetch has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpectedStatus {
    /// Any at all.
    #[default]
    Any,
    /// One from 200 to 299.
    Successful,
    /// This one.
    Exactly(u16),
    /// This one, or 304 (Not Modified) without a body.
    ExactlyOrNotModified(u16),
}

impl ExpectedStatus {
    /// Whether a response of `status` is what was expected.
    pub fn allows(self, status: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Successful => (200..300).contains(&status),
            Self::Exactly(expected) => status == expected,
            Self::ExactlyOrNotModified(expected) => status == expected || status == NOT_MODIFIED,
        }
    }
}

impl fmt::Display for ExpectedStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any status"),
            Self::Successful => f.write_str("2xx"),
            Self::Exactly(status) => status.fmt(f),
            Self::ExactlyOrNotModified(status) => write!(f, "{status} or {NOT_MODIFIED}"),
        }
    }
}

/// A fetch in progress.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) spec: FetchSpec,
    pub(crate) state: State,
    pub(crate) retried: Retried,
    /// Whether a server has refused it as early data (425).
    pub(crate) was_too_early: bool,
    /// Whether its stream is void because the server has rejected the early data that it was in (QUIC).
    is_void: bool,
    /// When it was asked for last. A redirect asks again.
    pub(crate) asked: Instant,
    /// When the last byte came; at first, when the request was sent.
    pub(crate) progress: Instant,
    visited: Vec<Url>,
    record: FetchRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// In the pool's queue.
    Waiting,
    /// On a connection.
    Active { connection: ConnectionId, stream: StreamId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retried {
    Never,
    Once,
}

/// The connection that took the request.
pub(crate) struct Assignment {
    pub(crate) connection: ConnectionId,
    /// The connection's number in records.
    pub(crate) number: u32,
    pub(crate) stream: StreamId,
    pub(crate) protocol: Protocol,
    /// How the connection was opened, where that was for this fetch.
    pub(crate) opening: Option<Timings>,
    /// When the peer allowed its stream, where it had to wait for that.
    pub(crate) allowed: Option<Instant>,
}

impl Fetch {
    pub(crate) fn new(now: Instant, id: FetchId, spec: FetchSpec, transport: Transport) -> Self {
        let queued = spec.wanted.map_or(now, |wanted| wanted.min(now));
        let hinted = spec.hinted;
        let url = transport.requested(&spec.url).to_string();
        let method = spec.method.as_str().to_owned();
        let record = FetchRecord { hinted, method, ..FetchRecord::new(id.0, url, queued) };
        Self {
            spec,
            state: State::Waiting,
            retried: Retried::Never,
            was_too_early: false,
            is_void: false,
            asked: now,
            progress: now,
            visited: Vec::new(),
            record,
        }
    }

    /// When the fetch was asked for.
    pub(crate) fn queued(&self) -> Instant {
        self.record.phases.queued
    }

    /// Records that the request was sent.
    pub(crate) fn sent(&mut self, now: Instant, assigned: Assignment) {
        let Assignment { connection, number, stream, protocol, opening, allowed } = assigned;
        self.state = State::Active { connection, stream };
        self.progress = now;
        self.record.connection = Some(number);
        // HTTP/1.1 has no streams; its machine counts exchanges.
        self.record.stream = if protocol == Protocol::Http1 { 0 } else { stream.0 };
        self.record.protocol = trace::Protocol::from(protocol).into();
        if let Some(Timings { opened, connected, secured }) = opening {
            self.record.phases.connect_start = Some(opened);
            self.record.phases.connected = connected;
            self.record.phases.secured = secured;
        }
        self.record.phases.allowed = allowed;
        self.record.phases.sent = Some(now);
    }

    /// Whether a pushed response may answer it: it can be answered by any response to a GET of its URL.
    pub(crate) fn may_be_pushed(&self) -> bool {
        self.state == State::Waiting
            && self.spec.method == Method::Get
            && self.spec.body.is_empty()
            && self.spec.fields.find(b"range").is_none()
            && self.spec.messages.is_none()
    }

    /// Records that a pushed response answers it.
    pub(crate) fn take_push(&mut self, now: Instant, assigned: Assignment) {
        self.sent(now, assigned);
        self.record.pushed = true;
    }

    /// Whether a pushed response answers it.
    pub(crate) fn is_pushed(&self) -> bool {
        self.record.pushed
    }

    /// Resets it to the state before it was sent, to be queued again.
    pub(crate) fn take_back(&mut self) {
        self.state = State::Waiting;
        self.record.connection = None;
        self.record.stream = 0;
        self.record.pushed = false;
        self.record.protocol = SpokenProtocol::None;
        self.record.status = None;
        self.record.body_bytes = 0;
        self.record.phases = Phases::new(self.record.phases.queued);
    }

    /// Records the head of the final response.
    pub(crate) fn answered(&mut self, now: Instant, head: &ResponseHead) {
        self.progress = now;
        self.record.status = Some(head.status.code());
        self.record.phases.first_byte = Some(now);
    }

    /// Records bytes of the body.
    pub(crate) fn received(&mut self, now: Instant, bytes: usize) {
        self.progress = now;
        self.record.body_bytes += bytes as u64;
    }

    /// Bytes of body so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.record.body_bytes
    }

    /// Whether the same request may be repeated: nothing of a response has come, it was not repeated before, and the
    /// server either did not act on it or may act on it twice.
    pub(crate) fn may_retry(&self, acted: Acted) -> bool {
        let repeatable = match acted {
            Acted::Certainly => false,
            Acted::Perhaps => is_idempotent(&self.spec.method),
            Acted::No => true,
        };
        repeatable && self.retried == Retried::Never && self.record.phases.first_byte.is_none()
    }

    /// Whether the same request may be made again after its connection was lost, whatever has come of the response. Over QUIC
    /// a connection outlives its addresses (RFC 9000 §9): where it was lost, that is the finding.
    pub(crate) fn may_be_made_again(&self) -> bool {
        self.record.protocol != trace::Protocol::Http3
            && self.spec.method.is_safe()
            && self.spec.messages.is_none()
            && self.record.times_lost() < MOST_TIMES_AGAIN
    }

    /// Its connection was lost: it is to be made again, and what has come of the response is dropped.
    pub(crate) fn make_again(&mut self) {
        self.take_back();
        self.retried = Retried::Once;
        self.record.made_again.push(MadeAgain::ConnectionLost);
    }

    /// The handshake that it waited for was cut. Whether it waits for another one.
    pub(crate) fn wait_again(&mut self) -> bool {
        let waits = self.record.times_lost() < MOST_TIMES_AGAIN;
        if waits {
            self.record.made_again.push(MadeAgain::ConnectionLost);
        }
        waits
    }

    /// Whether it may go as early data, which somebody else may send a second time (RFC 8470 §4).
    pub(crate) fn may_go_early(&self) -> bool {
        let is_read = self.spec.method.is_safe() && self.spec.body.is_empty();
        is_read && self.spec.messages.is_none() && !self.was_too_early
    }

    /// The server has refused it as early data: it is made again after the handshake (RFC 8470 §5.2).
    pub(crate) fn refuse_early(&mut self) {
        self.take_back();
        self.record.made_again.push(MadeAgain::TooEarly);
        self.was_too_early = true;
    }

    /// The server has rejected the early data that it was in, and its stream is void.
    pub(crate) fn note_void(&mut self) {
        self.is_void = true;
    }

    /// The server has rejected the early data that it was in, and the layer below sends the same bytes again.
    pub(crate) fn note_sent_again(&mut self) {
        self.record.made_again.push(MadeAgain::EarlyDataRejected);
    }

    /// Resets it to be made again, after a connection has failed it.
    pub(crate) fn retry(&mut self, acted: Acted) {
        self.take_back();
        self.retried = Retried::Once;
        self.record.made_again.push(match acted {
            _ if std::mem::take(&mut self.is_void) => MadeAgain::EarlyDataRejected,
            Acted::No => MadeAgain::NotProcessed,
            Acted::Perhaps | Acted::Certainly => MadeAgain::ConnectionLost,
        });
    }

    /// Changes the fetch to follow a redirect.
    pub(crate) fn redirect(
        &mut self,
        now: Instant,
        head: &ResponseHead,
        config: &ClientConfig,
    ) -> Result<(), Failure> {
        let limit = config.redirects;
        let next = redirect::next(&self.spec, head)?;
        let to = next.url.to_string();
        let is_downgrade = self.spec.url.scheme == Scheme::Https && next.url.scheme == Scheme::Http;
        if is_downgrade && config.downgrades == Downgrades::Refused {
            return Err(Failure::Downgrade { to });
        }
        if self.record.redirects >= limit {
            return Err(Failure::TooManyRedirects { limit, to });
        }
        let before = std::mem::replace(&mut self.spec, next);
        // The same URL may answer differently to another method, or to fields set since. A server that redirects the
        // same request to itself does not.
        if before.method == self.spec.method {
            self.visited.push(before.url);
        } else {
            self.visited.clear();
        }
        if self.visited.contains(&self.spec.url) {
            return Err(Failure::RedirectLoop { to });
        }
        self.take_back();
        self.retried = Retried::Never;
        self.asked = now;
        self.record.redirects += 1;
        self.record.method = self.spec.method.as_str().to_owned();
        self.record.url = config.transport.requested(&self.spec.url).to_string();
        Ok(())
    }

    /// Whether the complete response has the expected length.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let expected = self.spec.status;
        if let Some(status) = self.record.status.filter(|status| !expected.allows(*status)) {
            return Err(Failure::WrongStatus {
                method: self.spec.method.as_str().to_owned(),
                path: self.spec.url.path.clone(),
                status,
                expected,
            });
        }
        let is_unchanged = matches!(expected, ExpectedStatus::ExactlyOrNotModified(_))
            && self.record.status == Some(NOT_MODIFIED);
        match self.spec.expected.filter(|_| !is_unchanged) {
            Some(expected) if expected.0 != self.record.body_bytes => {
                Err(Failure::WrongLength { expected: expected.0, got: self.record.body_bytes })
            }
            _ => Ok(()),
        }
    }

    /// The record of the fetch, which has ended.
    pub(crate) fn into_record(self, now: Instant, outcome: Result<(), Failure>) -> FetchRecord {
        let mut record = self.record;
        record.phases.last_byte = Some(now);
        record.request_body_bytes = Some(self.spec.body.len() as u64);
        record.outcome = match outcome {
            Ok(()) => FetchOutcome::Done,
            Err(failure) => FetchOutcome::Failed(failure.to_string()),
        };
        record
    }
}

/// Whether the server has acted on a request that got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acted {
    /// It may have, so it must be assumed.
    Certainly,
    /// The server probably closed the kept connection before the request arrived.
    Perhaps,
    /// The server said that it has not.
    No,
}

/// One loss may follow another: over HTTP/1.1 the next connection that is free may be dead, too. A server that cuts every
/// response is found out soon.
const MOST_TIMES_AGAIN: usize = 3;

/// 304 (RFC 9110 §15.4.5).
const NOT_MODIFIED: u16 = proto::Status::NOT_MODIFIED.code();

/// RFC 9110 §9.2.2.
fn is_idempotent(method: &Method) -> bool {
    match method {
        Method::Get
        | Method::Head
        | Method::Options
        | Method::Trace
        | Method::Put
        | Method::Delete => true,
        Method::Post | Method::Connect | Method::Patch | Method::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fetch that this protocol carried when its connection was lost.
    fn lost(protocol: Protocol) -> Fetch {
        let spec = FetchSpec::get("https://a.test/".parse().expect("a URL"));
        let transport = Transport::H2;
        let mut fetch = Fetch::new(Instant::ZERO, FetchId(0), spec, transport);
        fetch.record.protocol = trace::Protocol::from(protocol).into();
        fetch
    }

    #[test]
    fn what_is_lost_over_tcp_is_made_again_three_times_and_over_quic_never() {
        assert!(!lost(Protocol::Http3).may_be_made_again());
        let mut fetch = lost(Protocol::Http2);
        for _ in 0..MOST_TIMES_AGAIN {
            assert!(fetch.may_be_made_again());
            fetch.make_again();
        }
        assert!(!fetch.may_be_made_again() && !fetch.may_retry(Acted::Perhaps));
        assert_eq!(fetch.record.times_lost(), 3);
    }
}
