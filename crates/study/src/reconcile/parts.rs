//! How a load time splits into parts. The critical path is walked back from the byte that ended the load: each step
//! asks what the next one was waiting for. Its stretches follow each other without a gap, so the parts, in whole
//! nanoseconds, sum to the load time exactly.
//!
//! The model, where it has to choose:
//! - A fetch that waited for a busy connection waited for the fetch before it there. One that waited for a new
//!   connection waited for its connect and handshake. Otherwise it waited for the fetch whose bytes had arrived last
//!   when it was queued: its initiator is not in the rows, and this gives the smallest gap.
//! - One that waited for a stream waited for the end of another: of the first one that ended for the first one that
//!   waited, and so on. Over QUIC the peer has to say so (MAX_STREAMS): with the answer, or a round trip later.
//! - From request to first byte: one least round trip, then the server time that the workload asked for, then
//!   serialisation while the link was busy (with bytes of any connection). Within a body: serialisation alone.
//! - In the rest of the time the link was idle. `causes.rs` looks at the packet that ended each idle interval on the
//!   fetch's own connection: the sender waited for an acknowledgement or other bytes of the client's (window growth),
//!   for loss recovery, or the server took its time. `held.rs` finds bytes that Nagle's rule delayed. After the last
//!   packet the client had not yet read what had arrived.
//! - A handshake's lost packets are loss recovery: connect and TLS are told as they are where nothing is lost.
//! - Without a packet log, or on a link without a limit to its rate, a request's wait beyond the server time counts as the
//!   request's, and a body's time as serialisation.

use super::TrialLogs;
use super::causes::Cause;
use super::packets::{Activity, Idle};
use super::path::{Stretch, StretchKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The parts of a load time, in nanoseconds; they sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Round trips of TCP connects, and of QUIC handshakes, which have TLS within them.
    pub connect_ns: u64,
    /// Round trips of TLS handshakes, with both sides' computation.
    pub tls_ns: u64,
    /// Round trips from request to first byte, and until a peer that allowed no more streams allowed one.
    pub request_ns: u64,
    /// Idle time until an acknowledgement or flow-control credit let the sender go on: its window grew.
    pub window_ns: u64,
    /// Time in which the link was busy with bytes.
    pub serialisation_ns: u64,
    /// Idle time until dropped bytes were retransmitted, and time on connections that were lost, until another was begun.
    pub loss_ns: u64,
    /// The server's own time.
    pub server_ns: u64,
    /// The client's own time, with the time in which received bytes lay unread.
    pub client_ns: u64,
    /// Time in which a sender's kernel delayed bytes until earlier ones were acknowledged (Nagle's rule).
    #[serde(default)]
    pub held_ns: u64,
}

impl Parts {
    /// The load time.
    pub fn total_ns(&self) -> u64 {
        self.named().iter().map(|(_, nanos)| nanos).sum()
    }

    /// Each part with its name in tables and pictures, in the order of a load.
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("connect", self.connect_ns),
            ("TLS", self.tls_ns),
            ("request rounds", self.request_ns),
            ("window growth", self.window_ns),
            ("serialisation", self.serialisation_ns),
            ("loss recovery", self.loss_ns),
            ("server", self.server_ns),
            ("client", self.client_ns),
            ("held back", self.held_ns),
        ]
    }

    /// Time spent waiting for round trips alone: connects, handshakes, requests, window growth.
    pub fn round_trips_ns(&self) -> u64 {
        self.connect_ns + self.tls_ns + self.request_ns + self.window_ns
    }

    fn add(&mut self, kind: Part, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        *match kind {
            Part::Connect => &mut self.connect_ns,
            Part::Tls => &mut self.tls_ns,
            Part::Request => &mut self.request_ns,
            Part::Window => &mut self.window_ns,
            Part::Serialisation => &mut self.serialisation_ns,
            Part::Loss => &mut self.loss_ns,
            Part::Server => &mut self.server_ns,
            Part::Client => &mut self.client_ns,
            Part::Held => &mut self.held_ns,
        } += nanos;
    }
}

#[derive(Clone, Copy)]
enum Part {
    Connect,
    Tls,
    Request,
    Window,
    Serialisation,
    Loss,
    Server,
    Client,
    Held,
}

/// Splits the stretches of a critical path into parts.
pub(super) fn split(path: &[Stretch], logs: &TrialLogs<'_>) -> Parts {
    let activity =
        logs.packets.and_then(|log| Activity::of(log, &logs.link, logs.connections, logs.nagle));
    let mut parts = Parts::default();
    for stretch in path {
        let rtt = logs.link.rtt;
        match stretch.kind {
            StretchKind::Client => parts.add(Part::Client, stretch.span()),
            StretchKind::Lost => parts.add(Part::Loss, stretch.span()),
            StretchKind::Connect => {
                Split::of(&mut parts, stretch).take(Part::Connect, rtt).rest(
                    &activity,
                    |_| Part::Connect,
                    Part::Connect,
                );
            }
            StretchKind::Tls { .. } => {
                let least = rtt * stretch.round_trips(rtt);
                let split = Split::of(&mut parts, stretch).take(Part::Tls, least);
                split.rest(&activity, |_| Part::Tls, Part::Tls);
            }
            StretchKind::StreamLimit => {
                let least = rtt * stretch.round_trips(rtt);
                let split = Split::of(&mut parts, stretch).take(Part::Request, least);
                split.rest(&activity, part_of, Part::Request);
            }
            StretchKind::Wait { fetch } => {
                let server = logs.server_time.get(&fetch).copied().unwrap_or_default();
                let split = Split::of(&mut parts, stretch).take(Part::Request, rtt);
                let known = if activity.is_some() { Part::Server } else { Part::Request };
                split.take(Part::Server, server).rest(&activity, part_of, known);
            }
            StretchKind::Receive => {
                let known = if activity.is_some() { Part::Window } else { Part::Serialisation };
                Split::of(&mut parts, stretch).rest(&activity, part_of, known);
            }
        }
    }
    parts
}

/// The part that a cause in the log belongs to.
fn part_of(cause: Cause) -> Part {
    match cause {
        Cause::Window => Part::Window,
        Cause::Loss => Part::Loss,
        Cause::Server => Part::Server,
    }
}

/// A stretch that is being split until nothing is left.
struct Split<'p> {
    parts: &'p mut Parts,
    stretch: Stretch,
    left: Duration,
    /// The server time that the workload asked for.
    planted: Duration,
}

impl<'p> Split<'p> {
    fn of(parts: &'p mut Parts, stretch: &Stretch) -> Self {
        Self { parts, stretch: *stretch, left: stretch.span(), planted: Duration::ZERO }
    }

    /// Assigns up to `span` of the rest to `part`.
    fn take(mut self, part: Part, span: Duration) -> Self {
        let taken = span.min(self.left);
        self.parts.add(part, taken);
        self.left -= taken;
        if matches!(part, Part::Server) {
            self.planted += taken;
        }
        self
    }

    /// Assigns the whole rest: the link's busy time, then each idle interval to the part of its cause, with Nagle's
    /// delays apart. `otherwise` gets what the log cannot explain.
    fn rest(self, activity: &Option<Activity>, part: impl Fn(Cause) -> Part, otherwise: Part) {
        let Some(activity) = activity else {
            let left = self.left;
            self.take(otherwise, left);
            return;
        };
        let Stretch { from, to, .. } = self.stretch;
        let (spoken_for, planted) = (self.stretch.span() - self.left, self.planted);
        let mut split = self.take(Part::Serialisation, activity.busy_within(from, to));
        let mut idle = activity.idle_within(&split.stretch);
        // The least round trip comes first; then the server's time, wherever it was spent.
        skip(&mut idle, spoken_for - planted, |_| true);
        let elsewhere =
            planted - skip(&mut idle, planted, |piece| piece == Idle::For(Cause::Server));
        skip(&mut idle, elsewhere, |_| true);
        let mut held = activity.held_within(from, to).min(split.left);
        let mut were_held = Duration::ZERO;
        for may_be in [Cause::Server, Cause::Window] {
            let skipped = skip(&mut idle, held, |piece| piece == Idle::For(may_be));
            held -= skipped;
            were_held += skipped;
        }
        split = split.take(Part::Held, were_held);
        for (piece, span) in idle {
            let part = match piece {
                Idle::For(Cause::Loss) => Part::Loss,
                Idle::For(cause) => part(cause),
                Idle::Unread if split.is_answered() => Part::Client,
                Idle::Unread | Idle::Unseen => otherwise,
            };
            split = split.take(part, span);
        }
        let left = split.left;
        split.take(otherwise, left);
    }

    /// Whether the stretch ends with bytes of a response.
    fn is_answered(&self) -> bool {
        matches!(self.stretch.kind, StretchKind::Wait { .. } | StretchKind::Receive)
    }
}

/// Takes `span` from the first pieces that are `meant`, or as much as they have; returns how much that was.
fn skip(pieces: &mut [(Idle, Duration)], span: Duration, meant: impl Fn(Idle) -> bool) -> Duration {
    let mut left = span;
    for (_, piece) in pieces.iter_mut().filter(|(idle, _)| meant(*idle)) {
        let taken = left.min(*piece);
        *piece -= taken;
        left -= taken;
    }
    span - left
}
