//! A message on its way in. The one rule: capacity is taken for bytes that have arrived, never for those
//! that a header promises.

use super::MessageKind;
use super::settings::Settings;
use wire::ws::{CloseCode, FrameHeader, InflateError, Inflater, OpCode, Utf8, mask};

/// What a peer broke: the close code for it, and the rule.
pub(super) type Broken = (CloseCode, &'static str);

/// Bytes that a message gets capacity for before they have arrived.
const FIRST_ROOM: u64 = 16 * 1024;

/// A message that is arriving.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) kind: MessageKind,
    coding: Coding,
    /// The check of a text; for binary messages, unused.
    text: Utf8,
    fragments: u32,
    data: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Deflate,
}

impl Assembly {
    /// The message that a first data frame begins.
    pub(super) fn new(header: &FrameHeader) -> Self {
        Self {
            kind: if header.op_code == OpCode::Text {
                MessageKind::Text
            } else {
                MessageKind::Binary
            },
            coding: if header.rsv1 { Coding::Deflate } else { Coding::Plain },
            text: Utf8::new(),
            fragments: 0,
            data: Vec::with_capacity(header.length.min(FIRST_ROOM) as usize),
        }
    }

    /// Another frame of the message begins. What it promises is judged before it arrives.
    pub(super) fn begin_frame(
        &mut self,
        header: &FrameHeader,
        settings: &Settings,
    ) -> Result<(), Broken> {
        self.fragments += 1;
        if self.fragments > settings.max_fragments {
            return Err((
                CloseCode::MESSAGE_TOO_BIG,
                "a message has more fragments than the limit",
            ));
        }
        if header.length > settings.max_frame {
            return Err((CloseCode::MESSAGE_TOO_BIG, "a frame is longer than the limit"));
        }
        let promised = (self.data.len() as u64).saturating_add(header.length);
        if self.coding == Coding::Plain && promised > settings.max_message as u64 {
            return Err(TOO_BIG);
        }
        Ok(())
    }

    /// Takes bytes of the frame's payload, of which `key` and `offset` tell the mask.
    #[inline]
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        unmask: Option<([u8; 4], usize)>,
        inflater: &mut Option<Inflater>,
        limit: usize,
    ) -> Result<(), Broken> {
        let before = self.data.len();
        match (self.coding, inflater, unmask) {
            (Coding::Deflate, Some(inflater), None) => {
                inflater.take(bytes, &mut self.data, limit).map_err(broken)?;
            }
            (Coding::Deflate, Some(inflater), Some((key, mut offset))) => {
                // Most messages are short, and the buffer is zeroed for each.
                let mut plain = [0; 1024];
                for piece in bytes.chunks(plain.len()) {
                    let plain = &mut plain[..piece.len()];
                    plain.copy_from_slice(piece);
                    mask(plain, key, offset);
                    offset += piece.len();
                    inflater.take(plain, &mut self.data, limit).map_err(broken)?;
                }
            }
            (_, _, unmask) => {
                self.data.extend_from_slice(bytes);
                if let Some((key, offset)) = unmask {
                    mask(&mut self.data[before..], key, offset);
                }
            }
        }
        self.check(before)
    }

    /// Bytes that its buffer holds, filled or not.
    pub(super) fn capacity(&self) -> usize {
        self.data.capacity()
    }

    /// The message is whole.
    #[inline]
    pub(super) fn end(
        mut self,
        inflater: &mut Option<Inflater>,
        limit: usize,
    ) -> Result<(MessageKind, Vec<u8>), Broken> {
        if let (Coding::Deflate, Some(inflater)) = (self.coding, inflater) {
            let before = self.data.len();
            inflater.end(&mut self.data, limit).map_err(broken)?;
            self.check(before)?;
        }
        self.text.end().map_err(|_| NOT_TEXT)?;
        Ok((self.kind, self.data))
    }

    /// RFC 6455 §8.1: a text is UTF-8; what is not is refused as soon as it arrives.
    fn check(&mut self, from: usize) -> Result<(), Broken> {
        match self.kind {
            MessageKind::Text => self.text.take(&self.data[from..]).map_err(|_| NOT_TEXT),
            MessageKind::Binary => Ok(()),
        }
    }
}

const TOO_BIG: Broken = (CloseCode::MESSAGE_TOO_BIG, "a message is longer than the limit");
const NOT_TEXT: Broken = (CloseCode::INVALID_PAYLOAD, "a text message is UTF-8 (RFC 6455 §8.1)");

fn broken(error: InflateError) -> Broken {
    match error {
        InflateError::TooBig => TOO_BIG,
        InflateError::Broken => {
            (CloseCode::INVALID_PAYLOAD, "a compressed message is DEFLATE (RFC 7692 §7.2.2)")
        }
    }
}
