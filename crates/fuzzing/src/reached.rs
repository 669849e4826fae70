//! What targets made of their input, on this thread. A seed that is dropped at the first byte passes its target as well as one that
//! reaches the code under test: `tests/seeds.rs` tells them apart by this.

use proto::Event;
use std::cell::Cell;

/// How far a target came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// Values that a codec read, and messages or parts of them that a bare machine told of.
    pub values: usize,
    /// Bytes that an end point sent.
    pub sent: usize,
}

/// How far the targets came that ran since the last call.
pub fn take() -> Reached {
    REACHED.take()
}

/// A machine has given an event. Any rubbish brings about a reset or an end, so these do not count.
pub(crate) fn note_event(event: &Event<'_>) {
    if !matches!(event, Event::Reset { .. } | Event::Closed { .. }) {
        note_value();
    }
}

/// A codec has read something.
pub(crate) fn note_value() {
    REACHED.with(|reached| {
        let before = reached.get();
        reached.set(Reached { values: before.values + 1, ..before });
    });
}

/// An end point under test has sent bytes.
pub(crate) fn note_sent(bytes: usize) {
    REACHED.with(|reached| {
        let before = reached.get();
        reached.set(Reached { sent: before.sent + bytes, ..before });
    });
}

thread_local! {
    static REACHED: Cell<Reached> = const { Cell::new(Reached { values: 0, sent: 0 }) };
}
