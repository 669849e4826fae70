//! A body on its way in: bytes to events, by the length that its head promised.

use crate::{Event, Fin, StreamId};
use wire::h1::{BodyLength, ChunkPart, ChunkedDecoder, Limits};

/// Where a body stands.
#[derive(Debug)]
pub(super) enum Incoming {
    /// So many bytes are still to come, at least one.
    Exactly(u64),
    /// Chunks are.
    Chunked(ChunkedDecoder),
    /// Everything until the connection ends.
    UntilClose,
}

impl Incoming {
    /// None where there is no body.
    pub(super) fn new(length: BodyLength, limits: Limits) -> Option<Self> {
        match length {
            BodyLength::Empty => None,
            BodyLength::Exactly(length) => Some(Self::Exactly(length)),
            BodyLength::Chunked => Some(Self::Chunked(ChunkedDecoder::new(limits))),
            BodyLength::UntilClose => Some(Self::UntilClose),
        }
    }

    /// Takes bytes off the front of `input`; gives the next event, or None where more are needed.
    pub(super) fn read<'i>(
        &mut self,
        stream: StreamId,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'i>>, wire::h1::Error> {
        if input.is_empty() {
            return Ok(None);
        }
        Ok(match self {
            Self::Exactly(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(length);
                *input = rest;
                *left -= length as u64;
                let fin = if *left == 0 { Fin::Last } else { Fin::More };
                Some(Event::Data { stream, data, fin })
            }
            Self::Chunked(decoder) => decoder.decode(input)?.map(|part| match part {
                ChunkPart::Data(data) => Event::Data { stream, data, fin: Fin::More },
                ChunkPart::End(fields) if fields.is_empty() => end(stream),
                ChunkPart::End(fields) => Event::Trailers { stream, fields },
            }),
            Self::UntilClose => {
                let data = std::mem::take(input);
                Some(Event::Data { stream, data, fin: Fin::More })
            }
        })
    }
}

/// The end of a body whose last bytes came before.
pub(super) fn end<'i>(stream: StreamId) -> Event<'i> {
    Event::Data { stream, data: &[], fin: Fin::Last }
}

/// Whether a message is whole with this event.
pub(super) fn is_last(event: &Event<'_>) -> bool {
    matches!(event, Event::Data { fin: Fin::Last, .. } | Event::Trailers { .. })
}
