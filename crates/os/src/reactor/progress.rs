//! Which peers still take bytes, once the reactor was asked to stop. The one rule: a peer that acknowledges bytes is waited
//! for, one that does not is no reason to go on running.

use super::Reactor;
use super::socket::Phase;
use super::table::Token;
use crate::{clock, tcp};
use endpoint::EndPoint;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::Duration;
use unit::Instant;

/// How often the kernel is asked.
const EVERY: Duration = Duration::from_millis(250);

/// How long a socket that the end point has released may have bytes to send of which its peer takes none.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of the sockets of a reactor that stops.
#[derive(Debug)]
pub(super) struct Progress {
    next: Instant,
    seen: BTreeMap<Token, Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Bytes that the peer had acknowledged.
    acknowledged: u64,
    /// When they last became more.
    since: Instant,
}

impl Progress {
    /// It begins: the first look is for comparison.
    pub(super) fn begin(now: Instant) -> Self {
        Self { next: now, seen: BTreeMap::new() }
    }

    /// When to look again.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Since when the peer has acknowledged nothing more.
    fn update(&mut self, now: Instant, token: Token, acknowledged: u64) -> Instant {
        let seen = self.seen.entry(token).or_insert(Seen { acknowledged, since: now });
        if seen.acknowledged != acknowledged {
            *seen = Seen { acknowledged, since: now };
        }
        seen.since
    }
}

impl Reactor {
    /// Looks at each stream socket: tells the end point which have moved, and closes those that it has released and that
    /// stand still.
    pub(super) fn watch_progress<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        let now = clock::now();
        let Some(mut progress) = self.progress.take_if(|progress| progress.next <= now) else {
            return;
        };
        progress.next = now + EVERY;
        for token in self.table.stream_tokens() {
            let Some(socket) = self.table.find(token) else { continue };
            let Ok(acknowledged) = tcp::acknowledged(socket.fd.as_fd()) else { continue };
            let (id, phase) = (socket.id, socket.phase);
            let is_new = !progress.seen.contains_key(&token);
            let since = progress.update(now, token, acknowledged);
            if phase == Phase::Leaving && since + PATIENCE <= now {
                self.remove(token);
            } else if phase.is_attached() && since == now && !is_new && !self.finishing {
                end_point.handle_progress(now, id);
                self.act(end_point);
            }
        }
        self.progress = Some(progress);
    }
}
