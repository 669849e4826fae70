//! What a load time was spent on. The critical path is walked back from the byte that ended the load: each
//! step asks what the one after it was waiting for, so that its stretches follow one another without a gap and
//! the parts, in whole nanoseconds, sum to the load time exactly.
//!
//! The model, where it has to choose:
//! - A fetch that waited for a connection to become free waited for the fetch before it there; one that waited
//!   for a new connection waited for its connect and handshake; else it waited for the fetch whose bytes
//!   had arrived last when it was queued (its initiator is not in the rows, so this is the least gap).
//! - From request to first byte: one least round trip, then the server time that the workload asked for, then
//!   serialisation while the link was busy (with bytes of any connection). Within a body: serialisation alone.
//! - What is left is time in which the link was idle; `causes.rs` tells from the packet that ended each piece of it on the
//!   fetch's own connection whether it was waiting for an acknowledgement or other bytes of the client's (window growth),
//!   loss recovery, or the server; `held.rs`, whether bytes were held back. After the last packet it was the client,
//!   who had not yet read what had come.
//! - Without a packet log, or on a link without a rate, a request's wait beyond the server time counts as the
//!   request's and a body's time as serialisation.

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
    /// Round trips of TCP connects.
    pub connect_ns: u64,
    /// Round trips of TLS handshakes, with both sides' computing.
    pub tls_ns: u64,
    /// Round trips from request to first byte.
    pub request_ns: u64,
    /// Idle waits until an acknowledgement or credit let the sender go on: its window grew.
    pub window_ns: u64,
    /// The link being busy with bytes.
    pub serialisation_ns: u64,
    /// Idle waits for bytes that had been dropped.
    pub loss_ns: u64,
    /// The server's own time.
    pub server_ns: u64,
    /// The client's own time, with what had come and lay unread.
    pub client_ns: u64,
    /// Waits of bytes that a sender's kernel held back until the other side's acknowledged (Nagle).
    #[serde(default)]
    pub held_ns: u64,
}

impl Parts {
    /// The load time.
    pub fn total_ns(&self) -> u64 {
        self.named().iter().map(|(_, nanos)| nanos).sum()
    }

    /// Each part under the name that tables and pictures give it, in the order of a load.
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

    /// Time spent waiting for the far side and nothing else: connects, handshakes, requests, window growth.
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
    let activity = logs.packets.and_then(|log| Activity::of(log, &logs.link, logs.connections));
    let mut parts = Parts::default();
    for stretch in path {
        let rtt = logs.link.rtt;
        match stretch.kind {
            StretchKind::Client => parts.add(Part::Client, stretch.span()),
            StretchKind::Connect => {
                Split::of(&mut parts, stretch).take(Part::Connect, rtt).rest(
                    &activity,
                    |_| Part::Connect,
                    Part::Connect,
                );
            }
            StretchKind::Tls { round_trips } => {
                let least = rtt * round_trips;
                let split = Split::of(&mut parts, stretch).take(Part::Tls, least);
                split.rest(&activity, |_| Part::Tls, Part::Tls);
            }
            StretchKind::Wait { fetch } => {
                let server = logs.server_time.get(&fetch).copied().unwrap_or_default();
                let split = Split::of(&mut parts, stretch).take(Part::Request, rtt);
                let known = if activity.is_some() { Part::Server } else { Part::Request };
                split.take(Part::Server, server).rest(&activity, told, known);
            }
            StretchKind::Receive => {
                let known = if activity.is_some() { Part::Window } else { Part::Serialisation };
                Split::of(&mut parts, stretch).rest(&activity, told, known);
            }
        }
    }
    parts
}

/// Where request and body waited for something that the log tells.
fn told(cause: Cause) -> Part {
    match cause {
        Cause::Window => Part::Window,
        Cause::Loss => Part::Loss,
        Cause::Server => Part::Server,
    }
}

/// A stretch being handed out, part by part, until nothing is left.
struct Split<'p> {
    parts: &'p mut Parts,
    stretch: Stretch,
    left: Duration,
    /// What the server was given.
    planted: Duration,
}

impl<'p> Split<'p> {
    fn of(parts: &'p mut Parts, stretch: &Stretch) -> Self {
        Self { parts, stretch: *stretch, left: stretch.span(), planted: Duration::ZERO }
    }

    /// Gives `part` up to `span` of what is left.
    fn take(mut self, part: Part, span: Duration) -> Self {
        let taken = span.min(self.left);
        self.parts.add(part, taken);
        self.left -= taken;
        if matches!(part, Part::Server) {
            self.planted += taken;
        }
        self
    }

    /// Hands out all that is left: what the link was busy for, then each idle piece to its cause's part, what was held
    /// back apart; `otherwise` gets what the log tells nothing of.
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
        // What the wait lasts at the least stands at its beginning; the server's time, wherever it took it.
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

    /// Whether bytes of an answer end it.
    fn is_answered(&self) -> bool {
        matches!(self.stretch.kind, StretchKind::Wait { .. } | StretchKind::Receive)
    }
}

/// Takes `span` of the first pieces that are `meant`, or as much as there is; gives how much it was.
fn skip(pieces: &mut [(Idle, Duration)], span: Duration, meant: impl Fn(Idle) -> bool) -> Duration {
    let mut left = span;
    for (_, piece) in pieces.iter_mut().filter(|(idle, _)| meant(*idle)) {
        let taken = left.min(*piece);
        *piece -= taken;
        left -= taken;
    }
    span - left
}
