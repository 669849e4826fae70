//! Frames other than DATA, in the order they were made, on their way to `poll_transmit`.

use endpoint::SendBuf;

/// Room that an empty queue keeps.
const KEEP: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Control {
    bytes: Vec<u8>,
    /// Bytes at the front that are no frames (the client's preface).
    preface: usize,
}

impl Control {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends the connection preface, before all frames.
    pub(crate) fn put_preface(&mut self, preface: &[u8]) {
        self.bytes.extend_from_slice(preface);
        self.preface = preface.len();
    }

    /// Where to append frames.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Moves whole frames to `out` until it holds `limit` bytes or more. `frame_length` tells how long
    /// the frame is that the bytes begin with.
    pub(crate) fn flush(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
        frame_length: impl Fn(&[u8]) -> Option<usize>,
    ) {
        let room = limit.saturating_sub(out.len());
        if room == 0 || self.bytes.is_empty() {
            return;
        }
        let end = if self.bytes.len() <= room {
            self.bytes.len()
        } else {
            self.frames_in(room, frame_length)
        };
        out.put(&self.bytes[..end]);
        self.bytes.drain(..end);
        if self.bytes.is_empty() {
            self.bytes.shrink_to(KEEP);
        }
        self.preface = 0;
    }

    /// The end of the first frame that reaches `room`.
    fn frames_in(&self, room: usize, frame_length: impl Fn(&[u8]) -> Option<usize>) -> usize {
        let mut end = self.preface;
        while end < room
            && let Some(length) = frame_length(&self.bytes[end..])
        {
            end += length;
        }
        end
    }
}
