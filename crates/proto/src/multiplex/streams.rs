//! The table of streams, and a bounded memory of those that are gone. Frame formats are not known here.

pub(crate) use super::stream::{Opener, Stream};
use super::{Gone, Role, Step, StreamStatus};
use crate::IdMap;
use std::collections::VecDeque;

/// How many streams that are gone are remembered, to tell late frames from wrong ones.
const REMEMBERED: usize = 512;

/// RFC 9113 §5.1.1, SPDY §2.3.2: an identifier has 31 bits.
const LAST_STREAM: u32 = 0x7fff_ffff;

/// Streams by identifier. A stream that has ended stays until the application has given its bytes
/// back, and no longer counts as active.
#[derive(Debug)]
pub(crate) struct Streams {
    role: Role,
    table: IdMap<u32, Stream>,
    /// Active streams that we, and that the peer, opened.
    active: [usize; 2],
    gone: VecDeque<(u32, Gone)>,
    /// The next stream that we open.
    next: u32,
    /// The highest stream that the peer opened or promised.
    highest_peer: u32,
}

impl Streams {
    pub(crate) fn new(role: Role) -> Self {
        Self {
            role,
            table: IdMap::default(),
            active: [0; 2],
            gone: VecDeque::new(),
            next: role.first_stream(),
            highest_peer: 0,
        }
    }

    /// Who opens streams with that identifier: a client's are odd (RFC 9113 §5.1.1, SPDY §2.3.2).
    pub(crate) fn opener(&self, id: u32) -> Opener {
        let by_client = id % 2 == 1;
        if by_client == (self.role == Role::Client) { Opener::We } else { Opener::Peer }
    }

    /// What a stream is that a frame names.
    #[inline]
    pub(crate) fn status(&self, id: u32) -> StreamStatus {
        if let Some(stream) = self.table.get(&id).filter(|stream| stream.is_live()) {
            return StreamStatus::Live(stream.state());
        }
        let idle = match self.opener(id) {
            Opener::We => id >= self.next,
            Opener::Peer => id > self.highest_peer,
        };
        if idle { StreamStatus::Idle } else { StreamStatus::Gone(self.recall(id)) }
    }

    pub(crate) fn find(&self, id: u32) -> Option<&Stream> {
        self.table.get(&id)
    }

    pub(crate) fn find_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.table.get_mut(&id)
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: u32, stream: Stream) {
        if stream.state().is_active() {
            self.active[stream.opener() as usize] += 1;
        }
        // An entry copies the stream once less than `insert`, which would return the old one.
        self.table.entry(id).insert_entry(stream);
    }

    /// The identifier of a stream that we open; none is left after 2^30 streams.
    pub(crate) fn take_identifier(&mut self) -> u32 {
        let id = self.next;
        self.next += 2;
        id
    }

    /// No stream is opened whose number is this one or a lower one.
    pub(crate) fn open_after(&mut self, id: u32) {
        while self.next <= id {
            self.next += 2;
        }
    }

    /// How many streams we may still open.
    pub(crate) fn identifiers_left(&self) -> usize {
        (LAST_STREAM.saturating_sub(self.next) / 2) as usize
    }

    /// Whether we may open another stream.
    pub(crate) fn has_identifiers(&self) -> bool {
        self.next <= LAST_STREAM
    }

    /// The peer has opened or promised a stream.
    pub(crate) fn note_peer(&mut self, id: u32) {
        self.highest_peer = id;
    }

    /// The highest stream that the peer opened or promised.
    pub(crate) fn highest_peer(&self) -> u32 {
        self.highest_peer
    }

    /// Moves a stream on by a step that its state allows, and keeps count.
    pub(crate) fn advance(&mut self, id: u32, step: Step) -> Option<&mut Stream> {
        let stream = self.table.get_mut(&id)?;
        let (before, after) = (stream.state(), stream.state().after(step));
        debug_assert!(after.is_some(), "{step:?} in {before:?}");
        let after = after?;
        let count = &mut self.active[stream.opener() as usize];
        *count += usize::from(after.is_active());
        *count -= usize::from(before.is_active());
        stream.set_state(after);
        Some(stream)
    }

    /// Takes a stream out.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.table.remove(&id)?;
        self.active[stream.opener() as usize] -= usize::from(stream.state().is_active());
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
    fn recall(&self, id: u32) -> Option<Gone> {
        self.gone.iter().rev().find(|(other, _)| *other == id).map(|&(_, gone)| gone)
    }

    /// Active streams that `opener` opened.
    pub(crate) fn active(&self, opener: Opener) -> usize {
        self.active[opener as usize]
    }

    /// Streams that have not ended, reserved ones too.
    pub(crate) fn unfinished(&self) -> usize {
        self.table.values().filter(|stream| stream.is_live()).count()
    }

    /// Streams in the table, ended ones too.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.table.values_mut()
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
    use crate::multiplex::state::State;
    use crate::multiplex::stream::Windows;

    #[test]
    fn the_memory_of_gone_streams_is_bounded() {
        let mut streams = Streams::new(Role::Client);
        for id in 0..10_000 {
            streams.remember(id, Gone::Ended);
        }
        assert_eq!(streams.gone.len(), REMEMBERED);
        assert_eq!(streams.recall(9_999), Some(Gone::Ended));
        assert_eq!(streams.recall(0), None);
    }

    #[test]
    fn only_active_streams_count_as_concurrent() {
        let mut streams = Streams::new(Role::Server);
        streams.insert(
            2,
            Stream::new(Opener::We, State::ReservedLocal, Windows { receive: 1, send: 1 }),
        );
        assert_eq!(streams.active(Opener::We), 0);
        streams.advance(2, Step::SendHeaders);
        assert_eq!(streams.active(Opener::We), 1);
        streams.advance(2, Step::SendEnd);
        assert_eq!((streams.active(Opener::We), streams.len(), streams.unfinished()), (0, 1, 0));
    }
}
