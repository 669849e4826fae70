//! The delivery log: what each stream asked for and what it got, as one record a stream. It is put together from the trace
//! events of the connection, which have the client's signals and the times of DATA frames, and from the access log. The one
//! rule: times come in with events and records; nothing here reads a clock.

use crate::access::{AccessLog, AccessRecord, ExchangeEnd};
use crate::policy::Urgency;
use proto::ResponseHead;
use proto::schedule::{Incremental, Policy};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;
use trace::{
    AskedPriority, DeliveredPiece, DeliveryEnd, DeliveryRecord, Event, PrioritySignal, PushFate,
    Sink,
};
use transport::Protocol;
use unit::Instant;

/// Makes a [`DeliveryRecord`] of each stream of an origin's thread. It has to be both the sink of the origin's tracer and its
/// access log, alone or with others.
pub struct DeliveryLog {
    policy: Policy,
    give: Box<dyn Fn(DeliveryRecord)>,
    /// By connection and stream: those that have not ended.
    open: RefCell<BTreeMap<(u64, u64), OpenStream>>,
    /// The stream that each connection sent of last, of those with open streams.
    latest: RefCell<BTreeMap<u64, u64>>,
    /// The latest signals for streams that are not open, with connection and stream. Most streams open at once; others
    /// never do.
    early: RefCell<VecDeque<((u64, u64), PrioritySignal)>>,
}

/// What is known so far of a stream.
#[derive(Debug, Default)]
struct OpenStream {
    asked: Vec<PrioritySignal>,
    /// Signals that were not kept.
    more: u64,
    media_type: String,
    first_byte: Option<Instant>,
    pieces: Vec<DeliveredPiece>,
}

impl DeliveryLog {
    /// Gives the record of each stream that ends to `give`. `policy` is the origin's.
    pub fn new(policy: Policy, give: Box<dyn Fn(DeliveryRecord)>) -> Self {
        let (open, latest, early) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { policy, give, open, latest, early }
    }

    fn signal(&self, name: (u64, u64), signal: PrioritySignal) {
        if let Some(open) = self.open.borrow_mut().get_mut(&name) {
            return open.note(signal);
        }
        let mut early = self.early.borrow_mut();
        if early.len() == MOST_EARLY {
            early.pop_front();
        }
        early.push_back((name, signal));
    }

    /// What was known of a stream that ends. With the last of its connection goes what is known of that: nobody tells when a
    /// connection ends, and the next stream begins a piece of its own anyway.
    fn forget(&self, name: (u64, u64)) -> OpenStream {
        let mut open = self.open.borrow_mut();
        let known = open.remove(&name).unwrap_or_default();
        let (connection, _) = name;
        if open.range((connection, 0)..=(connection, u64::MAX)).next().is_none() {
            self.latest.borrow_mut().remove(&connection);
        }
        known
    }
}

impl AccessLog for DeliveryLog {
    fn began(&self, connection: u64, stream: u64) {
        let (name, mut begun) = ((connection, stream), OpenStream::default());
        self.early.borrow_mut().retain(|(of, signal)| {
            if *of == name {
                begun.note(*signal);
            }
            *of != name
        });
        self.open.borrow_mut().insert(name, begun);
    }

    fn answered(&self, connection: u64, stream: u64, head: &ResponseHead) {
        if let Some(open) = self.open.borrow_mut().get_mut(&(connection, stream)) {
            let media_type = head.fields.find_str("content-type").unwrap_or_default();
            media_type.clone_into(&mut open.media_type);
        }
    }

    fn record(&self, record: &AccessRecord<'_>) {
        let name = (record.connection, record.stream);
        let known = self.forget(name);
        (self.give)(known.record(record, self.policy));
    }
}

impl Sink for DeliveryLog {
    fn record(&self, at: Instant, connection: u64, event: &Event<'_>) {
        match *event {
            Event::PriorityReceived { stream, by, asked } => {
                self.signal((connection, stream), PrioritySignal { at, by, asked });
            }
            Event::FrameCreated { stream, frame: "DATA", length: bytes @ 1.. } => {
                if let Some(open) = self.open.borrow_mut().get_mut(&(connection, stream)) {
                    let before = self.latest.borrow_mut().insert(connection, stream);
                    open.first_byte.get_or_insert(at);
                    open.add(at, bytes, before == Some(stream));
                }
            }
            _ => {}
        }
    }
}

impl OpenStream {
    fn note(&mut self, signal: PrioritySignal) {
        match self.asked.len() < MOST_SIGNALS {
            true => self.asked.push(signal),
            false => self.more += 1,
        }
    }

    /// A piece of its body was sent. `follows`: nothing of another stream was sent since its last one.
    fn add(&mut self, sent: Instant, bytes: u64, follows: bool) {
        let is_full = self.pieces.len() == MOST_PIECES;
        match self.pieces.last_mut() {
            Some(last) if is_full || (follows && sent.since(last.until) < ONE_PIECE) => {
                last.until = sent;
                last.bytes += bytes;
            }
            _ => self.pieces.push(DeliveredPiece { from: sent, until: sent, bytes }),
        }
    }

    fn record(self, access: &AccessRecord<'_>, policy: Policy) -> DeliveryRecord {
        let first_byte = match access.protocol {
            // A response has the connection for itself.
            Protocol::Http1 => access.answered.filter(|_| access.sent_bytes > 0),
            _ => self.first_byte,
        };
        let pieces = match (access.protocol, first_byte) {
            (Protocol::Http1, Some(from)) => {
                let (until, bytes) = (access.finished, access.sent_bytes);
                vec![DeliveredPiece { from, until, bytes }]
            }
            _ => self.pieces,
        };
        let end = match access.end {
            ExchangeEnd::Done => DeliveryEnd::Done,
            ExchangeEnd::CutOff => DeliveryEnd::CutOff,
            ExchangeEnd::Broken => DeliveryEnd::Broken,
        };
        let policy = match (access.protocol, policy) {
            (Protocol::Http3, Policy::Rfc7540) => policy.over_http3(),
            _ => policy,
        };
        let push = access.pushed_with.map(|_| match end {
            DeliveryEnd::Done => PushFate::UseUnknown,
            DeliveryEnd::CutOff | DeliveryEnd::Broken => PushFate::Cancelled,
        });
        DeliveryRecord {
            connection: access.connection,
            protocol: access.protocol.into(),
            stream: access.stream,
            authority: access.authority.to_owned(),
            path: access.path.to_owned(),
            status: access.status,
            media_type: self.media_type,
            asked: self.asked,
            asked_more: self.more,
            policy: policy.name().to_owned(),
            decided: access.decided.map(Urgency::asked),
            pushed_with: access.pushed_with,
            push,
            requested: access.received,
            answered: access.answered,
            first_byte,
            ended: access.finished,
            bytes: access.sent_bytes,
            pieces,
            end,
        }
    }
}

impl Urgency {
    /// It in the words of a record.
    fn asked(self) -> AskedPriority {
        let Self { urgency, incremental } = self;
        AskedPriority::Urgency { urgency, incremental: incremental == Incremental::Parts }
    }
}

impl fmt::Debug for DeliveryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryLog")
            .field("open", &self.open.borrow().len())
            .finish_non_exhaustive()
    }
}

/// Pieces of a body that are told apart. The rest are the last one.
const MOST_PIECES: usize = 64;

/// What follows within this time is of the same piece, if nothing of another stream is sent between.
const ONE_PIECE: Duration = Duration::from_millis(5);

/// Signals of a stream that are kept. A browser sends two or three.
const MOST_SIGNALS: usize = 32;

/// Signals that are kept for streams that are not open.
const MOST_EARLY: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(connection: u64, stream: u64) -> AccessRecord<'static> {
        AccessRecord {
            connection,
            stream,
            protocol: Protocol::Http2,
            method: "GET",
            authority: "a.test",
            path: "/",
            status: Some(200),
            received_bytes: 0,
            sent_bytes: 10,
            received: Instant::ZERO,
            answered: None,
            finished: Instant::ZERO,
            end: ExchangeEnd::Done,
            pushed_with: None,
            decided: None,
        }
    }

    #[test]
    fn nothing_is_kept_of_connections_without_open_streams() {
        let log = DeliveryLog::new(Policy::Auto, Box::new(drop));
        let sends = |connection, stream| {
            let frame = Event::FrameCreated { stream, frame: "DATA", length: 10 };
            Sink::record(&log, Instant::ZERO, connection, &frame);
        };
        for connection in 1..=100 {
            for stream in [1, 3] {
                log.began(connection, stream);
                sends(connection, stream);
            }
            AccessLog::record(&log, &ended(connection, 1));
            assert_eq!(log.latest.borrow().len(), 1, "one stream is open");
            AccessLog::record(&log, &ended(connection, 3));
            sends(connection, 3);
            assert_eq!((log.open.borrow().len(), log.latest.borrow().len()), (0, 0));
        }
    }
}
