//! The table of streams, and a bounded memory of those that are gone. Frame formats are not known here.

use super::flow::ReceiveWindow;
use super::outgoing::Outgoing;
use super::state::State;
use crate::id_map::IdMap;
use std::collections::VecDeque;
use unit::Instant;

/// How many streams that are gone are remembered, to tell late frames from wrong ones.
const REMEMBERED: usize = 512;

/// Who opened a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opener {
    We,
    Peer,
}

/// What the body of the message being received must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    Any,
    /// Content-Length, less what has arrived.
    Left(u64),
    /// HEAD, 204, 304: none, whatever Content-Length says (RFC 9110 §6.4.1).
    None,
}

impl BodyLength {
    /// What is left after `bytes`; None where that is more than there may be.
    pub(crate) fn checked_sub(self, bytes: u32) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Any),
            Self::Left(left) => left.checked_sub(u64::from(bytes)).map(Self::Left),
            Self::None => (bytes == 0).then_some(Self::None),
        }
    }
}

/// How far the message being received has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The (final) head is still to come.
    Head,
    /// Body or trailers are next.
    Body(BodyLength),
}

/// Whether the final head has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadSent {
    No,
    Yes,
}

/// Whether the answer to the request may have a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    ForHeadOnly,
    ForBody,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) opener: Opener,
    pub(crate) state: State,
    pub(crate) asked: Asked,
    pub(crate) incoming: Incoming,
    pub(crate) receive: ReceiveWindow,
    /// Bytes received that the application has not given back.
    pub(crate) unconsumed: u32,
    pub(crate) head_sent: HeadSent,
    pub(crate) outgoing: Outgoing,
    /// Whether the scheduler counts it as ready.
    pub(crate) scheduled: bool,
    /// Since when it has had bytes and no credit.
    pub(crate) stalled_since: Option<Instant>,
}

impl Stream {
    pub(crate) fn new(opener: Opener, state: State, receive: u32, send: u32) -> Self {
        Self {
            opener,
            state,
            asked: Asked::ForBody,
            incoming: Incoming::Head,
            receive: ReceiveWindow::new(receive),
            unconsumed: 0,
            head_sent: HeadSent::No,
            outgoing: Outgoing::new(send),
            scheduled: false,
            stalled_since: None,
        }
    }
}

/// How a stream went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Both sides ended it.
    Ended,
    /// We reset it: frames of the peer may still be on their way.
    ResetByUs,
    /// The peer reset it.
    ResetByPeer,
}

/// Streams by identifier. A stream that has ended stays until the application has given its bytes
/// back, and no longer counts as active.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    table: IdMap<u32, Stream>,
    /// Active streams that we, and that the peer, opened.
    active: [usize; 2],
    gone: VecDeque<(u32, Gone)>,
}

impl Streams {
    pub(crate) fn find(&self, id: u32) -> Option<&Stream> {
        self.table.get(&id)
    }

    pub(crate) fn find_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.table.get_mut(&id)
    }

    pub(crate) fn insert(&mut self, id: u32, stream: Stream) {
        if stream.state.is_active() {
            self.active[stream.opener as usize] += 1;
        }
        self.table.insert(id, stream);
    }

    /// Moves a stream to another state and keeps count.
    pub(crate) fn set_state(&mut self, id: u32, state: State) {
        let Some(stream) = self.table.get_mut(&id) else { return };
        let count = &mut self.active[stream.opener as usize];
        *count += usize::from(state.is_active());
        *count -= usize::from(stream.state.is_active());
        stream.state = state;
    }

    /// Takes a stream out.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.table.remove(&id)?;
        self.active[stream.opener as usize] -= usize::from(stream.state.is_active());
        Some(stream)
    }

    /// Remembers how a stream went.
    pub(crate) fn remember(&mut self, id: u32, gone: Gone) {
        if self.gone.len() == REMEMBERED {
            self.gone.pop_front();
        }
        self.gone.push_back((id, gone));
    }

    /// How a stream went, where that is still known.
    pub(crate) fn recall(&self, id: u32) -> Option<Gone> {
        self.gone.iter().rev().find(|(other, _)| *other == id).map(|&(_, gone)| gone)
    }

    /// Active streams that `opener` opened.
    pub(crate) fn active(&self, opener: Opener) -> usize {
        self.active[opener as usize]
    }

    /// Streams that have not ended, reserved ones too.
    pub(crate) fn unfinished(&self) -> usize {
        self.table.values().filter(|stream| stream.state != State::Closed).count()
    }

    /// Streams in the table, ended ones too.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Stream)> {
        self.table.iter_mut().map(|(&id, stream)| (id, stream))
    }

    /// Identifiers of the streams that `pick` picks, in order.
    pub(crate) fn select(&self, pick: impl Fn(u32, &Stream) -> bool) -> Vec<u32> {
        let chosen = self.table.iter().filter(|&(&id, stream)| pick(id, stream));
        let mut ids: Vec<u32> = chosen.map(|(&id, _)| id).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
        self.active = [0; 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_gone_streams_is_bounded() {
        let mut streams = Streams::default();
        for id in 0..10_000 {
            streams.remember(id, Gone::Ended);
        }
        assert_eq!(streams.gone.len(), REMEMBERED);
        assert_eq!(streams.recall(9_999), Some(Gone::Ended));
        assert_eq!(streams.recall(0), None);
    }

    #[test]
    fn only_active_streams_count_as_concurrent() {
        let mut streams = Streams::default();
        streams.insert(2, Stream::new(Opener::We, State::ReservedLocal, 1, 1));
        assert_eq!(streams.active(Opener::We), 0);
        streams.set_state(2, State::HalfClosedRemote);
        assert_eq!(streams.active(Opener::We), 1);
        streams.set_state(2, State::Closed);
        assert_eq!((streams.active(Opener::We), streams.len(), streams.unfinished()), (0, 1, 0));
    }
}
