//! The sending half of a stream: body octets that wait, how it ends, and its credit. Frame formats are
//! not known here.

use super::flow::SendWindow;
use crate::send_buf::SendBuf;
use bytes::Bytes;
use std::collections::VecDeque;
use wire::Fields;

/// How the sending half ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// More may be queued.
    Open,
    /// With the last octet.
    Last,
    /// With these fields after the last octet.
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
    octets: usize,
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
            octets: 0,
            owes_writable: false,
        }
    }

    /// Octets queued.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    pub(crate) fn push(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.octets += data.len();
            if self.first.is_empty() {
                self.first = data;
            } else {
                self.rest.push_back(data);
            }
        }
    }

    /// Moves the first `octets` octets to `out`, by reference where they are many.
    pub(crate) fn take(&mut self, octets: usize, out: &mut SendBuf) {
        let mut left = octets.min(self.octets);
        self.octets -= left;
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

    /// Whether there are octets to send and credit to send them.
    pub(crate) fn is_ready(&self) -> bool {
        self.octets > 0 && self.window.available() > 0
    }

    /// Whether there are octets to send and no credit.
    pub(crate) fn is_stalled(&self) -> bool {
        self.octets > 0 && self.window.available() == 0
    }
}
