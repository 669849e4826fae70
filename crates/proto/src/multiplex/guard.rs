//! Bounds on the work that a peer can cause for nothing. Each kind of cheap act has an allowance that
//! time refills; a peer above it gets ENHANCE_YOUR_CALM.
//!
//! Against: rapid reset (CVE-2023-44487), MadeYouReset (CVE-2025-8671), PING, SETTINGS, PRIORITY,
//! empty-frame and WINDOW_UPDATE floods (CVE-2019-9511 to 9518), CONTINUATION floods (VU#421644).

use crate::meter::{Allowance, Meter};
use unit::Instant;

/// What a peer may do for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Streams reset before their end, by the peer or by us for the peer's fault. The default is
    /// nghttp2's. A stream whose queued bytes are thrown away counts for up to 5.
    pub resets: Allowance,
    /// Frames that we must answer: SETTINGS, PING.
    pub replies: Allowance,
    /// Frames that move nothing: empty DATA, PRIORITY, WINDOW_UPDATE, unknown types, late frames, informational responses.
    /// Useful work (a request, a final response, a DATA frame sent) earns some of it back.
    pub chatter: Allowance,
    /// CONTINUATION frames in one header block.
    pub continuations: u32,
    /// Bytes of frames other than DATA that may wait because the peer does not read.
    pub queued_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            resets: Allowance { burst: 1000, per_second: 33 },
            replies: Allowance { burst: 1000, per_second: 33 },
            chatter: Allowance { burst: 10_000, per_second: 500 },
            continuations: 64,
            queued_bytes: 1024 * 1024,
        }
    }
}

/// The peer is above an allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMuch(pub(crate) &'static str);

#[derive(Debug)]
pub(crate) struct Guard {
    resets: Meter,
    replies: Meter,
    chatter: Meter,
}

impl Guard {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            resets: Meter::new(limits.resets),
            replies: Meter::new(limits.replies),
            chatter: Meter::new(limits.chatter),
        }
    }

    /// A stream is reset, with bytes of it that wait to be sent: the work of making them was for nothing.
    pub(crate) fn reset(&mut self, now: Instant, unsent: usize) -> Result<(), TooMuch> {
        let cost = reset_cost(unsent);
        spend(&mut self.resets, now, cost, "RFC 9113 §10.5: too many streams reset")
    }

    pub(crate) fn reply(&mut self, now: Instant) -> Result<(), TooMuch> {
        spend(&mut self.replies, now, 1, "RFC 9113 §10.5: too many SETTINGS and PING frames")
    }

    pub(crate) fn chatter(&mut self, now: Instant) -> Result<(), TooMuch> {
        spend(&mut self.chatter, now, 1, "RFC 9113 §10.5: too many frames without effect")
    }

    /// A request or a final response came, or a DATA frame went: the frames that come with it (two WINDOW_UPDATEs, a
    /// PRIORITY or two, an informational response) are no chatter.
    pub(crate) fn useful(&mut self) {
        self.chatter.earn(4);
    }
}

fn spend(meter: &mut Meter, now: Instant, acts: u32, what: &'static str) -> Result<(), TooMuch> {
    if meter.spend(now, acts) { Ok(()) } else { Err(TooMuch(what)) }
}

/// What the reset of a stream counts for: 1, and 1 more for each 16 KiB that had been made for it, 5 at most. A browser
/// that leaves a page may reset a hundred downloads.
fn reset_cost(unsent: usize) -> u32 {
    1 + (unsent / (16 * 1024)).min(4) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_that_throws_bytes_away_counts_for_more() {
        let mut guard = Guard::new(&Limits::default());
        let now = Instant::from_nanos(7_000_000_000);
        let allowed = (0..1000).take_while(|_| guard.reset(now, 64 * 1024).is_ok()).count();
        assert_eq!(allowed, 200, "1,000 of 5 each");
    }

    #[test]
    fn useful_work_pays_for_chatter() {
        let mut guard = Guard::new(&Limits::default());
        for _ in 0..100_000 {
            guard.useful();
            assert_eq!(guard.chatter(Instant::ZERO), Ok(()));
            assert_eq!(guard.chatter(Instant::ZERO), Ok(()));
        }
    }
}
