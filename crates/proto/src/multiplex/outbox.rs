//! Frames other than DATA, in the order they were made, on their way to `poll_transmit`.

use super::{Log, OutgoingFrame};
use endpoint::SendBuf;

/// Capacity that an empty queue keeps.
const KEEP: usize = 2 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// How many of them were given.
    gone: usize,
    /// Bytes at the front that are given together: what the connection begins with.
    greeting: usize,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.waiting().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    fn waiting(&self) -> &[u8] {
        &self.bytes[self.gone..]
    }

    /// Moves whole frames to `out` until it holds `limit` bytes or more. `frame_length` tells how long
    /// the frame is that the bytes begin with.
    pub(crate) fn flush(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
        frame_length: impl Fn(&[u8]) -> Option<usize>,
    ) {
        let left = limit.saturating_sub(out.len());
        if left == 0 || self.is_empty() {
            return;
        }
        let end =
            if self.len() <= left { self.len() } else { self.frames_up_to(left, frame_length) };
        out.put(&self.waiting()[..end]);
        self.gone += end;
        // What is left moves to the front when it is the smaller part: so no more bytes are moved than were given.
        if self.gone * 2 >= self.bytes.len() {
            self.bytes.drain(..self.gone);
            self.gone = 0;
        }
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEEP);
        }
        self.greeting = 0;
    }

    /// All that waits now is what the connection begins with.
    pub(crate) fn end_greeting(&mut self) {
        self.greeting = self.len();
    }

    /// Bytes of the first frame; at first, of the greeting and all that waits behind it.
    pub(crate) fn first(&self, frame_length: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        match self.greeting {
            0 => frame_length(self.waiting()),
            _ => Some(self.len()),
        }
    }

    /// The end of the first frame that reaches `limit`.
    fn frames_up_to(&self, limit: usize, frame_length: impl Fn(&[u8]) -> Option<usize>) -> usize {
        let mut end = self.greeting;
        while end < limit
            && let Some(length) = frame_length(&self.waiting()[end..])
        {
            end += length;
        }
        end
    }
}

/// Appends frames to the outbox and traces each.
#[derive(Debug)]
pub(crate) struct FrameWriter<'s> {
    outbox: &'s mut Outbox,
    log: &'s mut Log,
}

impl<'s> FrameWriter<'s> {
    pub(crate) fn new(outbox: &'s mut Outbox, log: &'s mut Log) -> Self {
        Self { outbox, log }
    }

    /// Appends the connection preface. Nothing may stand before it.
    pub(crate) fn put_preface(&mut self, preface: &[u8]) {
        self.outbox.bytes.extend_from_slice(preface);
    }

    /// Appends a frame.
    pub(crate) fn queue<F: OutgoingFrame>(&mut self, frame: &F) {
        let before = self.outbox.bytes.len();
        frame.encode(&mut self.outbox.bytes);
        let length = self.outbox.bytes.len() - before - F::HEADER_LENGTH;
        self.log.frame_created(frame.stream(), frame.name(), length);
    }

    /// The bytes that wait, perhaps behind whole frames that were given, for frames that are written in place. Tell the log of each.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.outbox.bytes
    }

    pub(crate) fn log(&mut self) -> &mut Log {
        self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of this test are their own length in one byte, and so many bytes.
    fn length(bytes: &[u8]) -> Option<usize> {
        bytes.first().map(|length| usize::from(*length))
    }

    #[test]
    fn frames_are_given_one_by_one_or_together_and_in_order() {
        let mut outbox = Outbox::default();
        let add = |outbox: &mut Outbox, frame: u8| outbox.bytes.extend(vec![frame; frame.into()]);
        for frame in [9, 2] {
            add(&mut outbox, frame);
        }
        outbox.end_greeting();
        for frame in [3, 4, 5] {
            add(&mut outbox, frame);
        }
        let mut given = Vec::new();
        let mut give = |outbox: &mut Outbox, limit: usize| {
            let mut out = SendBuf::new();
            outbox.flush(&mut out, limit, length);
            given.extend(out.chunks().flatten().copied());
            out.len()
        };
        assert_eq!(outbox.first(length), Some(23), "the greeting, and what waits behind it");
        assert_eq!(give(&mut outbox, 1), 11, "the greeting");
        assert_eq!((outbox.first(length), outbox.len()), (Some(3), 12));
        assert_eq!(give(&mut outbox, 1), 3);
        add(&mut outbox, 6);
        assert_eq!(give(&mut outbox, 4), 4);
        assert_eq!(give(&mut outbox, 100), 11);
        assert_eq!((outbox.first(length), outbox.is_empty()), (None, true));
        let expected = [9, 2, 3, 4, 5, 6].map(|frame| vec![frame; frame.into()]).concat();
        assert_eq!(given, expected);
    }
}
