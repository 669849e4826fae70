//! A policer: a token bucket that drops what exceeds it, without a queue. It is RFC 2697's meter with a committed burst
//! and no excess burst. What policers of networks look like: Flach et al., "An Internet-Wide Analysis of Traffic
//! Policing" (SIGCOMM 2016). The one rule: tokens are exact, in bits times nanoseconds a second.

use unit::{BitRate, ByteSize, Instant};

/// A rate that may be exceeded by one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Tokens come at this rate. Each passes one byte of IP.
    pub rate: BitRate,
    /// The most tokens that are kept, and those that there are at first.
    pub burst: ByteSize,
}

/// What of UDP a path lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Udp {
    /// All of it.
    #[default]
    Allowed,
    /// As much as this policer lets through.
    Policed(Policer),
    /// Nothing.
    Blocked,
}

#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    rate: u128,
    full: u128,
    tokens: u128,
    at: Instant,
}

/// Tokens of one byte.
const BYTE: u128 = 8 * 1_000_000_000;

impl TokenBucket {
    pub(crate) fn new(policer: Policer) -> Self {
        let full = u128::from(policer.burst.0) * BYTE;
        let rate = policer.rate.bits_per_second().into();
        Self { rate, full, tokens: full, at: Instant::ZERO }
    }

    /// When a packet of `length` passes, if none comes before it; None where it is longer than a burst.
    pub(crate) fn ready_at(&self, now: Instant, length: ByteSize) -> Option<Instant> {
        let price = u128::from(length.0) * BYTE;
        let wait = price.saturating_sub(self.tokens).div_ceil(self.rate);
        let at = self.at.nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
        (price <= self.full).then(|| now.max(Instant::from_nanos(at)))
    }

    /// Whether a packet of `length` that comes at `now` passes. A dropped packet takes no tokens.
    pub(crate) fn passes(&mut self, now: Instant, length: ByteSize) -> bool {
        let came = now.since(self.at).as_nanos() * self.rate;
        self.tokens = self.full.min(self.tokens + came);
        self.at = now;
        let price = u128::from(length.0) * BYTE;
        let passes = price <= self.tokens;
        if passes {
            self.tokens -= price;
        }
        passes
    }
}
