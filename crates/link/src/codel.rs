//! CoDel's decision for one queue (RFC 8289 §5). The one rule: nothing here holds a packet; it is told of each packet
//! at the head of the queue how long it waited, and says what becomes of it.

use std::time::Duration;
use unit::{ByteSize, Instant};

/// CoDel's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// The standing delay that is accepted.
    pub target: Duration,
    /// How long the delay must stand before anything is done.
    pub interval: Duration,
    /// Whether packets that understand ECN are marked instead of dropped.
    pub ecn: EcnMarks,
}

/// What an active queue does to a packet whose sender understands ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMarks {
    /// It sets CE (RFC 3168 §5) and lets the packet pass.
    #[default]
    Set,
    /// It drops the packet like any other.
    Unused,
}

impl Default for Codel {
    /// 5 ms and 100 ms (RFC 8289 §5.3, RFC 8290 §5.2), with marks (RFC 8290 §5.2.6).
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: EcnMarks::Set,
        }
    }
}

/// A queue of one packet or less is never acted on: RFC 8289's `maxpacket`.
pub(crate) const MAX_PACKET: ByteSize = ByteSize(1500);

/// A queue that left the dropping state less than this many intervals ago continues where it was (RFC 8289 §5.5).
const RECENT_INTERVALS: u32 = 16;

/// The state of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CodelState {
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    is_dropping: bool,
    dropped: Dropped,
}

/// What was dropped last, in the same call of RFC 8289's `deque`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Dropped {
    #[default]
    Nothing,
    /// The packet that begins the dropping state. The packet behind it passes, whatever it is.
    First,
    /// A packet in the dropping state.
    Another,
}

/// The packet at the head of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// How long it waited.
    pub(crate) sojourn: Duration,
    /// Bytes in the queue behind it.
    pub(crate) behind: ByteSize,
    pub(crate) is_ecn_capable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Pass,
    /// Set CE, and let it pass.
    Mark,
    /// Drop it, and ask about the next one.
    Drop,
}

impl CodelState {
    /// What becomes of the packet at the head at `now`; `deque` of RFC 8289 §5.5, one packet a call.
    pub(crate) fn decide(&mut self, codel: &Codel, now: Instant, head: Head) -> Action {
        let is_late = self.is_late(codel, now, head);
        match std::mem::take(&mut self.dropped) {
            Dropped::Nothing => {}
            Dropped::First => {
                self.enter(codel, now);
                return Action::Pass;
            }
            Dropped::Another if is_late => {
                self.drop_next = control_law(self.drop_next, codel.interval, self.count);
            }
            Dropped::Another => {}
        }
        let marks = head.is_ecn_capable && codel.ecn == EcnMarks::Set;
        if self.is_dropping {
            return self.go_on(codel, now, is_late, marks);
        }
        match (is_late, marks) {
            (false, _) => Action::Pass,
            (true, true) => {
                self.enter(codel, now);
                Action::Mark
            }
            (true, false) => {
                self.dropped = Dropped::First;
                Action::Drop
            }
        }
    }

    /// The queue has no further packet.
    pub(crate) fn emptied(&mut self, codel: &Codel, now: Instant) {
        self.first_above = None;
        match std::mem::take(&mut self.dropped) {
            Dropped::First => self.enter(codel, now),
            Dropped::Nothing | Dropped::Another => self.is_dropping = false,
        }
    }

    /// `dodeque` of RFC 8289 §5.6: whether the delay stood above target for an interval.
    fn is_late(&mut self, codel: &Codel, now: Instant, head: Head) -> bool {
        if head.sojourn < codel.target || head.behind <= MAX_PACKET {
            self.first_above = None;
            return false;
        }
        let since = *self.first_above.get_or_insert(now + codel.interval);
        now >= since
    }

    fn go_on(&mut self, codel: &Codel, now: Instant, is_late: bool, marks: bool) -> Action {
        if !is_late {
            self.is_dropping = false;
            return Action::Pass;
        }
        if now < self.drop_next {
            return Action::Pass;
        }
        self.count = self.count.saturating_add(1);
        if !marks {
            self.dropped = Dropped::Another;
            return Action::Drop;
        }
        self.drop_next = control_law(self.drop_next, codel.interval, self.count);
        Action::Mark
    }

    fn enter(&mut self, codel: &Codel, now: Instant) {
        self.is_dropping = true;
        let more = self.count.saturating_sub(self.last_count);
        let is_recent = now.since(self.drop_next) < codel.interval * RECENT_INTERVALS;
        self.count = if more > 1 && is_recent { more } else { 1 };
        self.drop_next = control_law(now, codel.interval, self.count);
        self.last_count = self.count;
    }
}

/// RFC 8289 §5.6: drops come closer together by the square root of their count.
fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    let nanos = interval.as_nanos() as f64 / f64::from(count).sqrt();
    from + Duration::from_nanos(nanos as u64)
}
