//! Pushed responses that no fetch has taken. They wait in their connection (RFC 9113 §8.4), as in Chromium up to 105.
//!
//! The one rule: what waits is bounded, in number and in bytes. A body that waits is not given back to flow control, so
//! that a server which pushes in vain gets no further than its windows.

use proto::{Fin, ResponseHead, StreamId};
use std::collections::BTreeMap;
use trace::PushTally;

/// The pushes of one connection.
#[derive(Debug, Default)]
pub(crate) struct HeldPushes {
    held: BTreeMap<StreamId, HeldPush>,
    /// Bytes of all bodies in `held`.
    bytes: usize,
    /// Without those that are held.
    tally: PushTally,
}

/// A promised response, as far as it has come.
#[derive(Debug)]
pub(crate) struct HeldPush {
    /// The request's path. Scheme and authority are those of the connection.
    path: String,
    pub(crate) stream: StreamId,
    pub(crate) head: Option<ResponseHead>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: Fin,
}

/// More bytes wait than may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overfull;

impl HeldPushes {
    /// Holds what will come on `stream`; false where there are too many or one with this path waits already.
    pub(crate) fn hold(&mut self, stream: StreamId, path: String) -> bool {
        if self.held.len() >= MOST_HELD || self.has(&path) {
            return false;
        }
        let push = HeldPush { path, stream, head: None, body: Vec::new(), end: Fin::More };
        self.held.insert(stream, push);
        true
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether what comes on `stream` waits.
    pub(crate) fn holds(&self, stream: StreamId) -> bool {
        self.held.contains_key(&stream)
    }

    /// Whether a response to a GET of `path` waits or is on its way.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.held.values().any(|push| push.path == path)
    }

    /// The head of a held response arrived.
    pub(crate) fn answered(&mut self, stream: StreamId, head: ResponseHead, fin: Fin) {
        if let Some(push) = self.held.get_mut(&stream) {
            (push.head, push.end) = (Some(head), fin);
        }
    }

    /// Bytes of a held response arrived.
    pub(crate) fn received(
        &mut self,
        stream: StreamId,
        data: &[u8],
        fin: Fin,
    ) -> Result<(), Overfull> {
        let Some(push) = self.held.get_mut(&stream) else { return Ok(()) };
        self.tally.bytes += data.len() as u64;
        self.bytes += data.len();
        push.body.extend_from_slice(data);
        push.end = fin;
        if self.bytes > MOST_BYTES { Err(Overfull) } else { Ok(()) }
    }

    /// Takes the response to a GET of `path`, for a fetch.
    pub(crate) fn take(&mut self, path: &str) -> Option<HeldPush> {
        let stream = self.held.values().find(|push| push.path == path)?.stream;
        self.tally.used += 1;
        self.remove(stream)
    }

    /// Drops a push: it is cancelled, or the server has reset it.
    pub(crate) fn drop_push(&mut self, stream: StreamId) {
        if let Some(push) = self.remove(stream) {
            self.tally.wasted_bytes += push.body.len() as u64;
            self.tally.cancelled += 1;
        }
    }

    /// Counts a push that was cancelled before it could wait.
    pub(crate) fn note_refused(&mut self) {
        self.tally.cancelled += 1;
    }

    /// Counts bytes of a push that a fetch has taken.
    pub(crate) fn note_received(&mut self, bytes: usize) {
        self.tally.bytes += bytes as u64;
    }

    /// All pushes; those that wait are counted as unused.
    pub(crate) fn tally(&self) -> PushTally {
        let mut tally = self.tally;
        tally.unused += self.held.len() as u32;
        tally.wasted_bytes += self.bytes as u64;
        tally
    }

    fn remove(&mut self, stream: StreamId) -> Option<HeldPush> {
        let push = self.held.remove(&stream)?;
        self.bytes -= push.body.len();
        Some(push)
    }
}

/// Pushes of a connection that wait at a time. Our origin pushes at most 100, H2O what the links of a response name.
const MOST_HELD: usize = 256;

/// Bytes of a connection's pushes that wait at a time: half of Chromium's connection window, so that the other half is
/// left to responses that were asked for.
const MOST_BYTES: usize = 7_864_320;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_every_push_is_counted_once() {
        let mut pushes = HeldPushes::default();
        for n in 0..300 {
            if !pushes.hold(StreamId(2 * n), format!("/{n}")) {
                pushes.note_refused();
            }
        }
        assert!(!pushes.hold(StreamId(1_000), "/0".into()), "the path waits already");
        pushes.note_refused();
        let taken = pushes.take("/7").unwrap();
        assert_eq!(taken.stream, StreamId(14));
        assert!(pushes.take("/7").is_none());
        assert_eq!(pushes.received(StreamId(0), &[1; 5], Fin::Last), Ok(()));
        assert_eq!(pushes.received(StreamId(2), &[1; 7], Fin::More), Ok(()));
        pushes.drop_push(StreamId(2));
        let tally = pushes.tally();
        assert_eq!((tally.used, tally.cancelled, tally.unused), (1, 46, 254));
        assert_eq!((tally.bytes, tally.wasted_bytes), (12, 12));
        assert_eq!(
            pushes.received(StreamId(4), &vec![0; MOST_BYTES - 4], Fin::More),
            Err(Overfull)
        );
    }
}
