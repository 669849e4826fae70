//! Frames other than DATA, in the order they were made, on their way to `poll_transmit`.

use crate::send_buf::SendBuf;

/// Room that an empty queue keeps.
const KEEP: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Control {
    octets: Vec<u8>,
    /// Octets at the front that are no frames (the client's preface).
    preface: usize,
}

impl Control {
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Appends the connection preface, before all frames.
    pub(crate) fn put_preface(&mut self, preface: &[u8]) {
        self.octets.extend_from_slice(preface);
        self.preface = preface.len();
    }

    /// Where to append frames.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.octets
    }

    /// Moves whole frames to `out` until it holds `limit` octets or more. `frame_length` tells how long
    /// the frame is that the octets begin with.
    pub(crate) fn flush(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
        frame_length: impl Fn(&[u8]) -> Option<usize>,
    ) {
        let room = limit.saturating_sub(out.len());
        if room == 0 || self.octets.is_empty() {
            return;
        }
        let end = if self.octets.len() <= room {
            self.octets.len()
        } else {
            self.frames_in(room, frame_length)
        };
        out.put(&self.octets[..end]);
        self.octets.drain(..end);
        if self.octets.is_empty() {
            self.octets.shrink_to(KEEP);
        }
        self.preface = 0;
    }

    /// The end of the first frame that reaches `room`.
    fn frames_in(&self, room: usize, frame_length: impl Fn(&[u8]) -> Option<usize>) -> usize {
        let mut end = self.preface;
        while end < room
            && let Some(length) = frame_length(&self.octets[end..])
        {
            end += length;
        }
        end
    }
}
