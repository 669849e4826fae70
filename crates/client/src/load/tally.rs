//! Counts and latency histograms of a load run. The one rule: every request that was started counts once, as an answer or
//! as a fault. Tallies of several engines can be added.

use super::trend::Trend;
use hdrhistogram::Histogram;
use proto::Status;
use std::collections::BTreeMap;
use std::time::Duration;
use trace::Protocol;
use unit::Instant;

/// The longest time that histograms tell apart from longer ones.
pub(super) const LONGEST: u64 = 3_600 * 1_000_000_000;

/// Digits to which times are counted.
pub(super) const DIGITS: u8 = 3;

/// Why a request came to no answer, or a connection to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The server refused the TCP connection, or nothing listens on its UDP port (ICMP).
    ConnectRefused,
    /// TCP's, TLS's or QUIC's handshake was not done in time.
    ConnectTimedOut,
    /// The host's name has no address.
    UnknownHost,
    /// There is no way there.
    Unreachable,
    /// No more descriptors.
    NoDescriptors,
    /// No local port is left.
    NoPorts,
    /// TLS failed, in its handshake or later.
    Tls,
    /// The peer reset the connection; over QUIC: its port was closed (ICMP).
    Reset,
    /// The peer closed the connection before the answer was whole.
    Closed,
    /// The peer ended the stream, or refused it again and again.
    StreamReset,
    /// No whole answer in time.
    TimedOut,
    /// What came is not the protocol.
    Protocol,
    /// What came is an answer in HTTP/1.1 where HTTP/2 was spoken.
    Http1Answer,
    /// An echo that is not its message.
    WrongEcho,
    /// Any other refusal of the system.
    System,
}

impl Fault {
    /// All of them, in the order in which reports list them.
    pub const ALL: [Self; 15] = [
        Self::ConnectRefused,
        Self::ConnectTimedOut,
        Self::UnknownHost,
        Self::Unreachable,
        Self::NoDescriptors,
        Self::NoPorts,
        Self::Tls,
        Self::Reset,
        Self::Closed,
        Self::StreamReset,
        Self::TimedOut,
        Self::Protocol,
        Self::Http1Answer,
        Self::WrongEcho,
        Self::System,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimedOut => "connect-timed-out",
            Self::UnknownHost => "unknown-host",
            Self::Unreachable => "unreachable",
            Self::NoDescriptors => "no-descriptors",
            Self::NoPorts => "no-ports",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::StreamReset => "stream-reset",
            Self::TimedOut => "timed-out",
            Self::Protocol => "protocol",
            Self::Http1Answer => "answered-in-http1",
            Self::WrongEcho => "wrong-echo",
            Self::System => "system",
        }
    }
}

/// How often each fault was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults([u64; Fault::ALL.len()]);

impl Faults {
    /// One more.
    pub(super) fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// So many of each, in the order of [`Fault::ALL`].
    pub(super) fn from_counts(counts: [u64; Fault::ALL.len()]) -> Self {
        Self(counts)
    }

    /// How many of one kind.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn add(&mut self, other: &Self) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            *own += others;
        }
    }
}

/// Times in nanoseconds, to three digits.
#[derive(Debug, Clone)]
pub struct Times(Histogram<u64>);

impl Times {
    pub(super) fn new() -> Self {
        // The bounds are constants that the crate takes; a histogram that grows by itself could not fail either.
        let fixed = Histogram::new_with_bounds(1, LONGEST, DIGITS);
        Self(fixed.unwrap_or_else(|_| unreachable!("constant bounds")))
    }

    pub(super) fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_nanos() as u64);
    }

    /// Adds a histogram from elsewhere; an error where it has other bounds.
    pub(super) fn merge(&mut self, other: &Histogram<u64>) -> Result<(), ()> {
        self.0.add(other).map_err(|_| ())
    }

    /// The histogram, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Adds what another engine counted.
    pub fn add(&mut self, other: &Self) {
        // It cannot fail: both have the same bounds.
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "histograms of the same bounds");
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.reset();
    }
}

/// What became of the requests of a stage, or of a target.
#[derive(Debug, Clone)]
pub struct Part {
    /// Answers that came whole, whatever their status.
    pub answers: u64,
    /// Of those, answers with a status of 400 or more.
    pub refused: u64,
    /// Requests that came to no answer.
    pub faults: Faults,
    /// Requests that were due and never made, because too many waited already.
    pub not_begun: u64,
    /// Bytes of answers' bodies.
    pub body: u64,
    /// From when a request was due (closed loop: was made) to the last byte of its answer.
    pub latency: Times,
}

impl Part {
    pub(super) fn new() -> Self {
        let (faults, latency) = (Faults::default(), Times::new());
        Self { answers: 0, refused: 0, faults, not_begun: 0, body: 0, latency }
    }

    /// Requests that ended, in whichever way.
    pub fn ended(&self) -> u64 {
        self.answers + self.faults.total()
    }

    /// Adds what another engine counted.
    pub fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.refused += other.refused;
        self.faults.add(&other.faults);
        self.not_begun += other.not_begun;
        self.body += other.body;
        self.latency.add(&other.latency);
    }

    pub(super) fn answer(&mut self, answer: &Answered) {
        self.answers += 1;
        self.refused += u64::from(answer.refused);
        self.body += answer.body;
        self.latency.record(answer.latency);
    }

    fn clear(&mut self) {
        (self.answers, self.refused, self.not_begun, self.body) = (0, 0, 0, 0);
        self.faults = Faults::default();
        self.latency.clear();
    }
}

/// An answer, as it is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) refused: bool,
    pub(super) body: u64,
    pub(super) latency: Duration,
}

/// Connections made, and how long they took.
#[derive(Debug, Clone)]
pub struct Connects {
    /// Connections that came to where requests can be made.
    pub opened: u64,
    /// The most that were open at a time; of several engines, the sum of theirs.
    pub most_open: u64,
    /// Attempts that came to nothing.
    pub faults: Faults,
    /// TCP's handshake.
    pub tcp: Times,
    /// TLS's handshake, after TCP's.
    pub tls: Times,
    /// QUIC's handshake, which TLS's is a part of.
    pub quic: Times,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Connections whose first requests went within the handshake (0-RTT), and were accepted there.
    pub early_accepted: u64,
    /// The same, and were rejected: they were made again.
    pub early_rejected: u64,
}

impl Connects {
    fn new() -> Self {
        Self {
            opened: 0,
            most_open: 0,
            faults: Faults::default(),
            tcp: Times::new(),
            tls: Times::new(),
            quic: Times::new(),
            resumed: 0,
            early_accepted: 0,
            early_rejected: 0,
        }
    }

    /// What a handshake agreed on.
    pub(super) fn note_handshake(&mut self, tls: &secure::Negotiated<'_>) {
        self.resumed += u64::from(tls.resumed);
        match tls.early_data {
            trace::EarlyData::None => {}
            trace::EarlyData::Accepted => self.early_accepted += 1,
            trace::EarlyData::Rejected => self.early_rejected += 1,
        }
    }

    fn add(&mut self, other: &Self) {
        self.opened += other.opened;
        self.most_open += other.most_open;
        self.faults.add(&other.faults);
        self.tcp.add(&other.tcp);
        self.tls.add(&other.tls);
        self.quic.add(&other.quic);
        self.resumed += other.resumed;
        self.early_accepted += other.early_accepted;
        self.early_rejected += other.early_rejected;
    }
}

/// Everything that an engine counts.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The requests of the warm-up.
    pub warm_up: Part,
    /// The requests of each stage; a closed loop has one.
    pub stages: Vec<Part>,
    /// The requests of each target, where there are several.
    pub targets: Vec<Part>,
    /// From the first byte of a request being ready to go to the head of its answer.
    pub first_byte: Times,
    /// How much later than it was due a request was begun, for this engine's own fault: it is woken late, or busy.
    pub lateness: Times,
    /// Open loop: from when this engine saw that a request was due to its answer. `latency` without the engine's
    /// lateness in beginning requests.
    pub latency_since_seen: Times,
    /// The same without any time in which the engine may have been late to read answers: the least that the server and
    /// the network took.
    pub latency_floor: Times,
    /// Open loop: whether times grow while the run goes on.
    pub trend: Trend,
    /// Answers by status code.
    statuses: Box<[u64; STATUSES]>,
    /// Connections, those of the warm-up too.
    pub connects: Connects,
    /// Attempts at connections that came to nothing, by the first target of their server, where there are several targets.
    pub unreached: Vec<Faults>,
    /// What the first fault of a kind said, where it said something.
    pub causes: BTreeMap<Fault, String>,
    /// The most requests under way on a connection that took no more at that time.
    pub most_streams: u64,
    /// Bytes received over all connections, of the whole run.
    pub received: u64,
    /// Bytes sent, likewise.
    pub sent: u64,
    /// Requests that a server said it had not acted on, and that were made again.
    pub again: u64,
    /// Requests under way, or due and not begun, when the engine was stopped: nothing is known of them.
    pub unfinished: u64,
    /// What was spoken, by ALPN's name; None where no connection came to it.
    pub protocol: Option<Protocol>,
    /// When the first measured request could be made; None where it came to none.
    pub began: Option<Instant>,
    /// Answers that came from `began` to `ended`, those of the warm-up's requests too: where a server falls behind, they
    /// are all that it answers then. What is under way at the end would make the rate look lower or, of a run of so many
    /// seconds, higher than it was.
    pub in_time: u64,
    /// When no further request was begun; of a run by number, when all had ended.
    pub ended: Option<Instant>,
}

/// Codes from 0 to 999.
pub(super) const STATUSES: usize = 1_000;

impl Tally {
    pub(super) fn new(stages: usize, targets: usize) -> Self {
        let parts = |count| (0..count).map(|_| Part::new()).collect();
        Self {
            warm_up: Part::new(),
            stages: parts(stages),
            targets: if targets > 1 { parts(targets) } else { Vec::new() },
            first_byte: Times::new(),
            lateness: Times::new(),
            latency_since_seen: Times::new(),
            latency_floor: Times::new(),
            trend: Trend::default(),
            statuses: Box::new([0; STATUSES]),
            connects: Connects::new(),
            unreached: vec![Faults::default(); if targets > 1 { targets } else { 0 }],
            causes: BTreeMap::new(),
            most_streams: 0,
            received: 0,
            sent: 0,
            again: 0,
            unfinished: 0,
            protocol: None,
            began: None,
            in_time: 0,
            ended: None,
        }
    }

    /// Adds what another engine counted of the same plan.
    pub fn add(&mut self, other: &Self) {
        self.warm_up.add(&other.warm_up);
        for (own, others) in self.stages.iter_mut().zip(&other.stages) {
            own.add(others);
        }
        for (own, others) in self.targets.iter_mut().zip(&other.targets) {
            own.add(others);
        }
        self.first_byte.add(&other.first_byte);
        self.lateness.add(&other.lateness);
        self.latency_since_seen.add(&other.latency_since_seen);
        self.latency_floor.add(&other.latency_floor);
        self.trend.add(&other.trend);
        for (own, others) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *own += others;
        }
        self.connects.add(&other.connects);
        for (own, others) in self.unreached.iter_mut().zip(&other.unreached) {
            own.add(others);
        }
        for (fault, said) in &other.causes {
            self.causes.entry(*fault).or_insert_with(|| said.clone());
        }
        self.most_streams = self.most_streams.max(other.most_streams);
        self.received += other.received;
        self.sent += other.sent;
        self.again += other.again;
        self.unfinished += other.unfinished;
        self.in_time += other.in_time;
        self.protocol = self.protocol.or(other.protocol);
        self.began = [self.began, other.began].into_iter().flatten().min();
        self.ended = self.ended.max(other.ended);
    }

    /// All measured requests together.
    pub fn whole(&self) -> Part {
        let mut whole = Part::new();
        for part in &self.stages {
            whole.add(part);
        }
        whole
    }

    /// Answers by status code, those that came.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        let codes = self.statuses.iter().enumerate();
        codes.filter(|(_, count)| **count > 0).map(|(code, count)| (code as u16, *count))
    }

    /// Answers with one status code; None where there is no such code.
    pub(super) fn set_status(&mut self, code: u64, count: u64) -> Option<()> {
        *self.statuses.get_mut(usize::try_from(code).ok()?)? = count;
        Some(())
    }

    pub(super) fn status(&mut self, status: Status) {
        if let Some(count) = self.statuses.get_mut(usize::from(status.code())) {
            *count += 1;
        }
    }
}

/// What happened since the last look, in the whole engine: for people to watch and for the course over time.
#[derive(Debug, Clone)]
pub struct Interval {
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
    /// What became of requests that ended within it, those of the warm-up too.
    pub part: Part,
    /// Requests under way at its end.
    pub under_way: u64,
    /// Requests due and not begun at its end.
    pub waiting: u64,
    /// Connections open at its end.
    pub connections: u64,
}

impl Interval {
    pub(super) fn new(from: Instant) -> Self {
        Self { from, to: from, part: Part::new(), under_way: 0, waiting: 0, connections: 0 }
    }

    /// Begins anew.
    pub(super) fn restart(&mut self, now: Instant) {
        self.from = now;
        self.part.clear();
    }
}
