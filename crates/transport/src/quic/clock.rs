//! quinn-proto's time is std's `Instant`, which nothing but the system's clock can make. Ours is an offset to one that was
//! taken once; nothing here asks how late it is.

use std::sync::LazyLock;
use std::time::{Duration, Instant as StdInstant};
use unit::Instant;

#[expect(clippy::disallowed_methods, reason = "any value will do: it stands for our epoch")]
static EPOCH: LazyLock<StdInstant> = LazyLock::new(StdInstant::now);

/// Our time as quinn-proto's.
pub(super) fn to_std(at: Instant) -> StdInstant {
    *EPOCH + Duration::from_nanos(at.nanos())
}

/// quinn-proto's time as ours.
pub(super) fn from_std(at: StdInstant) -> Instant {
    Instant::ZERO + at.saturating_duration_since(*EPOCH)
}
