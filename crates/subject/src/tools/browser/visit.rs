//! What the visits of all browsers share.

use crate::contract::{FetchLine, NextLine};
use crate::tools::ToolError;
use std::collections::BTreeSet;
use std::time::Duration;
use unit::Instant;

/// How long nothing is asked for after a visit: what the server has closed is closed at the browser then, and no packet of the
/// visit is taken for one of the work.
pub(crate) const REST: Duration = Duration::from_millis(250);

/// The contract's zero, which is that of all times, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zero {
    pub(crate) at: Instant,
    /// Since the epoch of the wall clock.
    pub(crate) wall: Duration,
}

impl Zero {
    /// Now.
    pub(crate) fn now() -> Self {
        Self { at: os::clock::now(), wall: os::clock::realtime() }
    }

    /// Milliseconds of the wall clock.
    pub(crate) fn wall_ms(self) -> f64 {
        self.wall.as_secs_f64() * 1e3
    }
}

/// The next load of a page, from its fetches.
pub(crate) fn next_line(lines: &[FetchLine]) -> Result<NextLine, ToolError> {
    let least = |times: &mut dyn Iterator<Item = f64>| times.reduce(f64::min);
    let started_ms = least(&mut lines.iter().map(|line| line.started_ms));
    let first_byte_ms = least(&mut lines.iter().filter_map(|line| line.first_byte_ms));
    let ended_ms = lines.iter().map(|line| line.ended_ms).reduce(f64::max);
    let (Some(started_ms), Some(first_byte_ms), Some(ended_ms)) =
        (started_ms, first_byte_ms, ended_ms)
    else {
        return Err(ToolError::Broken("the next view had no answer".to_owned()));
    };
    let protocols: BTreeSet<String> =
        lines.iter().filter_map(|line| line.protocol.clone()).collect();
    Ok(NextLine { started_ms, first_byte_ms, ended_ms, protocols: protocols.into_iter().collect() })
}
