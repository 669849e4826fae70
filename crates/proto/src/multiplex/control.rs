//! Frames other than DATA, in the order they were made, on their way to `poll_transmit`.

use crate::send_buf::SendBuf;
use wire::h2::{FrameHeader, HEADER_LENGTH};

#[derive(Debug, Default)]
pub(super) struct Control {
    octets: Vec<u8>,
    /// Octets at the front that are no frames (the client's preface).
    preface: usize,
}

impl Control {
    pub(super) fn len(&self) -> usize {
        self.octets.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Appends the connection preface, before all frames.
    pub(super) fn put_preface(&mut self, preface: &[u8]) {
        self.octets.extend_from_slice(preface);
        self.preface = preface.len();
    }

    /// Where to append frames.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.octets
    }

    /// Moves whole frames to `out` until it holds `limit` octets or more.
    pub(super) fn flush(&mut self, out: &mut SendBuf, limit: usize) {
        let room = limit.saturating_sub(out.len());
        if room == 0 || self.octets.is_empty() {
            return;
        }
        let end = if self.octets.len() <= room { self.octets.len() } else { self.frames_in(room) };
        out.put(&self.octets[..end]);
        self.octets.drain(..end);
        self.preface = 0;
    }

    /// The end of the first frame that reaches `room`.
    fn frames_in(&self, room: usize) -> usize {
        let mut end = self.preface;
        while end < room
            && let Some(header) = self.octets[end..].first_chunk::<HEADER_LENGTH>()
        {
            end += HEADER_LENGTH + FrameHeader::parse(header).length as usize;
        }
        end
    }
}
