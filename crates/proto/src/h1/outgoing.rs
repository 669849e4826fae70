//! A message on its way out: its heads, and its body in the framing that the head announced.

use super::head::check_fields;
use crate::{Fields, Fin, Misuse};
use bytes::Bytes;
use endpoint::{FilePart, SendBuf};
use wire::h1;

/// Bytes below which an application is asked for more.
const LOW_WATER: usize = 16 * 1024;

/// The head and the body of one message.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: SendBuf,
    stage: Stage,
    hold: Hold,
    /// Whether the application waits to be asked for more.
    owes_writable: bool,
    /// Bytes of heads that have not been moved on.
    heads: usize,
    /// Bytes moved on.
    moved: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The (final) head is still to come.
    #[default]
    Head,
    /// The body is coming.
    Body(Framing),
    /// Everything is queued.
    Whole,
    /// The receiver wants no more: what is still sent goes nowhere.
    Dropped,
}

/// How the receiver finds the end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes are still owed.
    Exactly(u64),
    /// By chunks.
    Chunked,
    /// Bytes as they are, to the end of the connection.
    Raw,
    /// The body is not sent at all (HEAD).
    Unsent,
}

/// Whether the body may go.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    #[default]
    Free,
    /// Only the head may, of which so many bytes are left.
    AfterHead(usize),
}

impl Outgoing {
    /// Makes way for another message, which takes the buffers over.
    pub(super) fn reset(&mut self) {
        self.bytes.clear();
        (self.stage, self.hold, self.owes_writable) = (Stage::Head, Hold::Free, false);
        (self.heads, self.moved) = (0, 0);
    }

    /// Bytes queued.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no final head has been given.
    pub(super) fn awaits_head(&self) -> bool {
        self.stage == Stage::Head
    }

    /// Whether nothing has been moved on.
    pub(super) fn is_untouched(&self) -> bool {
        self.moved == 0
    }

    /// Whether everything has been given and moved on.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Whole | Stage::Dropped) && self.bytes.is_empty()
    }

    /// Whether it takes more than one turn to move on: its body is not all given, or much of it is queued.
    pub(super) fn is_long(&self) -> bool {
        matches!(self.stage, Stage::Body(_)) || self.bytes.len() > LOW_WATER
    }

    /// Whether `transmit` would move something, or the application is to be asked for more.
    pub(super) fn is_ready(&self) -> bool {
        let moves = match self.hold {
            Hold::Free => !self.bytes.is_empty(),
            Hold::AfterHead(left) => left > 0,
        };
        moves || self.asks()
    }

    /// Whether the body is held back; and whether the head is out by now.
    pub(super) fn hold(&self) -> Hold {
        self.hold
    }

    /// Lets the body go.
    pub(super) fn release(&mut self) {
        self.hold = Hold::Free;
    }

    /// Appends a head that another one follows.
    #[inline]
    pub(super) fn put_interim(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        self.bytes.put_with(write);
        self.heads += self.bytes.len() - before;
    }

    /// Appends the head; the body follows in `framing`, or there is none.
    #[inline]
    pub(super) fn put_head(&mut self, framing: Option<Framing>, write: impl FnOnce(&mut Vec<u8>)) {
        self.put_interim(write);
        self.stage = framing.map_or(Stage::Whole, Stage::Body);
    }

    /// Holds back the body.
    pub(super) fn hold_body(&mut self) {
        self.hold = Hold::AfterHead(self.bytes.len());
    }

    /// Says that nothing follows what is queued, whatever the head promised.
    pub(super) fn cut(&mut self) {
        self.stage = Stage::Whole;
    }

    /// Takes bytes as they are from here on: the connection is another protocol's.
    pub(super) fn switch(&mut self) {
        self.stage = Stage::Body(Framing::Raw);
    }

    /// Drops what is queued, and everything that would have followed.
    pub(super) fn discard(&mut self) {
        self.bytes.clear();
        self.heads = 0;
        self.hold = Hold::Free;
        self.owes_writable = false;
        self.stage = Stage::Dropped;
    }

    /// Appends body bytes.
    pub(super) fn send(&mut self, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        self.send_with(data.len(), fin, |bytes| bytes.put_shared(data))
    }

    /// Appends body bytes of a file.
    pub(super) fn send_file(&mut self, part: FilePart, fin: Fin) -> Result<(), Misuse> {
        self.send_with(part.len(), fin, |bytes| bytes.put_file(part))
    }

    /// Appends `length` body bytes, which `put` does.
    fn send_with(
        &mut self,
        length: usize,
        fin: Fin,
        put: impl FnOnce(&mut SendBuf),
    ) -> Result<(), Misuse> {
        let framing = match self.stage {
            Stage::Body(framing) => framing,
            Stage::Dropped => return Ok(()),
            _ => return Err(self.out_of_order()),
        };
        match framing {
            Framing::Exactly(left) => {
                let left = left
                    .checked_sub(length as u64)
                    .ok_or(Misuse::OutOfOrder("more bytes than Content-Length said"))?;
                if fin == Fin::Last && left > 0 {
                    return Err(Misuse::OutOfOrder("fewer bytes than Content-Length said"));
                }
                self.stage = Stage::Body(Framing::Exactly(left));
                put(&mut self.bytes);
            }
            Framing::Chunked if length > 0 => {
                self.bytes.put_with(|out| h1::put_chunk_size(out, length));
                put(&mut self.bytes);
                self.bytes.put(b"\r\n");
            }
            Framing::Raw => put(&mut self.bytes),
            Framing::Chunked | Framing::Unsent => {}
        }
        self.owes_writable = true;
        if fin == Fin::Last {
            self.end(framing, &Fields::new());
        }
        Ok(())
    }

    /// Appends trailers, where the framing can carry them, and ends the body.
    pub(super) fn send_trailers(&mut self, fields: &Fields) -> Result<(), Misuse> {
        let framing = match self.stage {
            Stage::Body(framing) => framing,
            Stage::Dropped => return Ok(()),
            _ => return Err(self.out_of_order()),
        };
        check_fields(fields).map_err(Misuse::Unsendable)?;
        if matches!(framing, Framing::Exactly(left) if left > 0) {
            return Err(Misuse::OutOfOrder("fewer bytes than Content-Length said"));
        }
        self.end(framing, fields);
        Ok(())
    }

    fn end(&mut self, framing: Framing, trailers: &Fields) {
        if framing == Framing::Chunked {
            self.bytes.put_with(|out| h1::put_last_chunk(out, trailers));
        }
        self.stage = Stage::Whole;
        self.owes_writable = false;
    }

    fn out_of_order(&self) -> Misuse {
        match self.stage {
            Stage::Head => Misuse::OutOfOrder("a body before its head"),
            _ => Misuse::OutOfOrder("bytes after the end of the message"),
        }
    }

    /// Moves about `limit` bytes on.
    pub(super) fn transmit(&mut self, out: &mut SendBuf, limit: usize) -> Moved {
        let total = match self.hold {
            Hold::Free => self.bytes.move_to(out, limit),
            Hold::AfterHead(left) => self.bytes.move_to(out, limit.min(left)),
        };
        self.moved += total as u64;
        if let Hold::AfterHead(left) = &mut self.hold {
            *left -= total;
        }
        let head = total.min(self.heads);
        self.heads -= head;
        Moved { head, body: total - head }
    }

    /// Whether the application is to be asked for more; asked once a `send`.
    pub(super) fn take_ask(&mut self) -> bool {
        let asks = self.asks();
        self.owes_writable &= !asks;
        asks
    }

    fn asks(&self) -> bool {
        self.owes_writable && self.bytes.len() < LOW_WATER
    }
}

/// Bytes that `transmit` moved, framing included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moved {
    /// Of heads.
    pub(super) head: usize,
    /// Of the body.
    pub(super) body: usize,
}
