//! Our unidirectional streams: control, QPACK's two, and one of a reserved type (RFC 9114 §6.2). Most of the time nothing waits
//! on any of them, which one number tells.

use super::frame_queue::FrameQueue;
use crate::connection::Fin;
use crate::multiplexed_connection::StreamTransmit;
use crate::stream_id::StreamId;
use endpoint::SendBuf;
use wire::h3::{StreamType, put_varint};

/// Their places: they are opened in this order.
pub(super) const CONTROL: usize = 0;
pub(super) const ENCODER: usize = 1;
pub(super) const DECODER: usize = 2;
pub(super) const GREASE: usize = 3;

/// Streams that stay open as long as the connection (RFC 9114 §6.2.1, RFC 9204 §4.2).
const CRITICAL: usize = 3;

/// What waits on our unidirectional streams.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    streams: Vec<Output>,
    /// Bytes that wait on all of them.
    waiting: usize,
}

#[derive(Debug)]
struct Output {
    id: u64,
    bytes: FrameQueue,
    /// The transport takes no more of it.
    is_stuck: bool,
}

impl Outputs {
    /// Adds a stream, which begins with its type.
    pub(super) fn open(&mut self, id: u64, kind: StreamType) {
        let bytes = FrameQueue::default();
        self.streams.push(Output { id, bytes, is_stuck: false });
        self.put_with(self.streams.len() - 1, |out| put_varint(kind.0, out));
    }

    /// Appends to a stream what `write` appends to the vector.
    pub(super) fn put_with(&mut self, place: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = &mut self.streams[place].bytes;
        let before = bytes.len();
        bytes.put_with(write);
        self.waiting += bytes.len() - before;
    }

    /// The stream's identifier.
    pub(super) fn id(&self, place: usize) -> u64 {
        self.streams[place].id
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether the transport could take some.
    pub(super) fn can_send(&self) -> bool {
        let can_send = |output: &Output| !output.bytes.is_empty() && !output.is_stuck;
        self.waiting > 0 && self.streams.iter().any(can_send)
    }

    /// Whether there is something that the peer cannot have got.
    pub(super) fn is_owed(&self) -> bool {
        self.waiting > 0 || self.streams.iter().any(|output| output.is_stuck)
    }

    /// Moves bytes of one stream to `out`, `limit` at most. A stream that may end (RFC 9114 §6.2.3) ends with its last bytes, so
    /// that the transport forgets it.
    pub(super) fn move_to(&mut self, out: &mut SendBuf, limit: usize) -> Option<StreamTransmit> {
        if self.waiting == 0 {
            return None;
        }
        let can_move = |(_, output): &(usize, &mut Output)| !output.is_stuck;
        for (place, output) in self.streams.iter_mut().enumerate().filter(can_move) {
            let moved = output.bytes.move_to(out, limit);
            if moved > 0 {
                self.waiting -= moved;
                let is_over = place >= CRITICAL && output.bytes.is_empty();
                let fin = if is_over { Fin::Last } else { Fin::More };
                return Some(StreamTransmit { stream: StreamId(output.id), fin });
            }
        }
        None
    }

    /// Drops what waits: the connection is closed at once.
    pub(super) fn clear(&mut self) {
        self.streams.iter_mut().for_each(|output| output.bytes.clear());
        self.waiting = 0;
    }

    /// The transport takes no more of a stream, or does again. False where it is none of these.
    pub(super) fn set_stuck(&mut self, id: u64, is_stuck: bool) -> bool {
        let output = self.streams.iter_mut().find(|output| output.id == id);
        output.map(|output| output.is_stuck = is_stuck).is_some()
    }

    /// Drops what waits on a stream that the peer wants no more of.
    pub(super) fn abandon(&mut self, id: u64) {
        if let Some(output) = self.streams.iter_mut().find(|output| output.id == id) {
            self.waiting -= output.bytes.len();
            output.bytes.clear();
            output.is_stuck = false;
        }
    }

    /// Whether the peer must not refuse the stream.
    pub(super) fn is_critical(&self, id: u64) -> bool {
        self.streams.iter().take(CRITICAL).any(|output| output.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::h3::reserved;

    #[test]
    fn what_waits_is_counted_until_it_is_moved() {
        let (mut outputs, mut out) = (Outputs::default(), SendBuf::new());
        outputs.open(3, StreamType::CONTROL);
        outputs.open(7, StreamType::QPACK_ENCODER);
        outputs.put_with(ENCODER, |out| out.extend_from_slice(b"abc"));
        assert_eq!((outputs.waiting(), outputs.can_send()), (5, true));
        assert!(outputs.set_stuck(3, true) && !outputs.set_stuck(4, true));
        let more = |id| Some(StreamTransmit { stream: StreamId(id), fin: Fin::More });
        assert_eq!(outputs.move_to(&mut out, 3), more(7));
        assert_eq!(outputs.move_to(&mut out, 3), more(7));
        assert_eq!((outputs.move_to(&mut out, 3), outputs.can_send()), (None, false));
        assert_eq!((outputs.waiting(), outputs.is_owed()), (1, true));
        outputs.set_stuck(3, false);
        assert_eq!(outputs.move_to(&mut out, 3), more(3));
        assert_eq!((outputs.waiting(), outputs.is_owed()), (0, false));
        assert_eq!(out.to_vec(), [2, b'a', b'b', b'c', 0]);
    }

    #[test]
    fn what_waits_on_a_stream_that_is_abandoned_is_owed_no_more() {
        let mut outputs = Outputs::default();
        for place in [CONTROL, ENCODER, DECODER, GREASE] {
            outputs.open(place as u64, StreamType(reserved(place as u64)));
        }
        let before = outputs.waiting();
        outputs.put_with(GREASE, |out| out.extend_from_slice(b"grease"));
        let mut out = SendBuf::new();
        while outputs.waiting() > 6 {
            outputs.move_to(&mut out, 1);
        }
        assert!(before > 6 && outputs.set_stuck(GREASE as u64, true) && outputs.is_owed());
        outputs.abandon(GREASE as u64);
        assert_eq!((outputs.waiting(), outputs.is_owed()), (0, false));
    }

    #[test]
    fn only_the_stream_of_a_reserved_type_ends() {
        let (mut outputs, mut out) = (Outputs::default(), SendBuf::new());
        for place in [CONTROL, ENCODER, DECODER, GREASE] {
            outputs.open(place as u64, StreamType(reserved(place as u64)));
        }
        let fins = std::iter::from_fn(|| outputs.move_to(&mut out, 1)).map(|sent| sent.fin);
        let fins: Vec<_> = fins.collect();
        assert!(fins.iter().rev().skip(1).all(|fin| *fin == Fin::More), "{fins:?}");
        assert_eq!(fins.last(), Some(&Fin::Last));
    }
}
