//! The sending half of a stream: body bytes that wait, how it ends, and its credit. Frame formats are
//! not known here.

use super::flow::SendWindow;
use bytes::Bytes;
use endpoint::SendBuf;
use std::collections::VecDeque;
use wire::Fields;

/// How the sending half ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// More may be queued.
    Open,
    /// With the last byte.
    Last,
    /// With these fields after the last byte.
    Trailers(Fields),
    /// The end has been sent.
    Sent,
}

#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) window: SendWindow,
    pub(crate) ending: Ending,
    /// The first piece stands by itself: most bodies are one, and need no list.
    first: Bytes,
    rest: VecDeque<Bytes>,
    bytes: usize,
    /// Whether the application waits to be told that there is room.
    pub(crate) owes_writable: bool,
}

impl Outgoing {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window: SendWindow::new(window),
            ending: Ending::Open,
            first: Bytes::new(),
            rest: VecDeque::new(),
            bytes: 0,
            owes_writable: false,
        }
    }

    /// Bytes queued.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.bytes += data.len();
            if self.first.is_empty() {
                self.first = data;
            } else {
                self.rest.push_back(data);
            }
        }
    }

    /// Moves the first `bytes` bytes to `out`, by reference where they are many.
    pub(crate) fn take(&mut self, bytes: usize, out: &mut SendBuf) {
        let mut left = bytes.min(self.bytes);
        self.bytes -= left;
        while left > 0 {
            if self.first.len() <= left {
                left -= self.first.len();
                let next = self.rest.pop_front().unwrap_or_default();
                out.put_shared(std::mem::replace(&mut self.first, next));
            } else {
                out.put_shared(self.first.split_to(left));
                left = 0;
            }
        }
    }

    /// Whether there are bytes to send and credit to send them.
    pub(crate) fn is_ready(&self) -> bool {
        self.bytes > 0 && self.window.available() > 0
    }

    /// Whether there are bytes to send and no credit.
    pub(crate) fn is_stalled(&self) -> bool {
        self.bytes > 0 && self.window.available() == 0
    }
}
