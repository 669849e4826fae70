//! Responses whose body is made as time goes: tokens, each when it is due, and bodies of a recording that came bit by bit.

use crate::token_stream::TokenStream;
use bytes::Bytes;
use page::Padding;
use proto::Fields;
use std::time::Duration;
use unit::Instant;

/// Between two pieces of a body that comes evenly.
const STEP: Duration = Duration::from_millis(20);

/// The rest of such a body.
#[derive(Debug)]
pub(crate) struct Streamed {
    source: Source,
    /// Whether what is due waits because the connection takes no more bytes.
    pub(crate) is_full: bool,
}

#[derive(Debug)]
enum Source {
    Tokens(TokenStream),
    Even(EvenBody),
}

/// A body of a recording, in pieces that come evenly over a span of time.
#[derive(Debug)]
pub(crate) struct EvenBody {
    /// The fields of its response.
    pub(crate) fields: Fields,
    /// Bytes in all.
    pub(crate) bytes: u64,
    /// Its first bytes, where the recording has them. Text of no meaning stands for the others.
    pub(crate) content: Bytes,
    /// When its first piece is due.
    pub(crate) begin: Instant,
    /// From then until the last piece.
    pub(crate) span: Duration,
    /// Bytes that have left.
    pub(crate) sent: u64,
}

impl Streamed {
    pub(crate) fn tokens(stream: TokenStream) -> Self {
        Self { source: Source::Tokens(stream), is_full: false }
    }

    pub(crate) fn even(body: EvenBody) -> Self {
        Self { source: Source::Even(body), is_full: false }
    }

    /// The fields of its response.
    pub(crate) fn fields(&self) -> Fields {
        match &self.source {
            Source::Tokens(stream) => stream.fields(),
            Source::Even(body) => body.fields.clone(),
        }
    }

    /// When the next piece is due; None where all have left.
    pub(crate) fn due(&self) -> Option<Instant> {
        match &self.source {
            Source::Tokens(stream) => stream.due(),
            Source::Even(body) => body.due(),
        }
    }

    /// When the next piece can leave.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.due().filter(|_| !self.is_full)
    }

    /// The next piece that is due, of `limit` bytes at most.
    pub(crate) fn next(&mut self, now: Instant, limit: usize) -> Option<Bytes> {
        match &mut self.source {
            Source::Tokens(stream) => stream.next(now, limit).map(Bytes::from),
            Source::Even(body) => body.next(now, limit),
        }
    }
}

impl EvenBody {
    /// How many pieces it has.
    fn steps(&self) -> u64 {
        let steps = self.span.as_nanos() / STEP.as_nanos();
        u64::try_from(steps).unwrap_or(u64::MAX).clamp(1, self.bytes.max(1))
    }

    /// Bytes that are to have left after so many pieces.
    fn until(&self, pieces: u64) -> u64 {
        (u128::from(self.bytes) * u128::from(pieces) / u128::from(self.steps())) as u64
    }

    /// Pieces that have left whole.
    fn pieces(&self) -> u64 {
        let guess = u128::from(self.sent) * u128::from(self.steps());
        let mut pieces = (guess / u128::from(self.bytes.max(1))) as u64;
        // Lengths are rounded down.
        while pieces < self.steps() && self.until(pieces + 1) <= self.sent {
            pieces += 1;
        }
        pieces
    }

    fn due(&self) -> Option<Instant> {
        (self.sent < self.bytes).then(|| {
            let part =
                self.span.as_nanos() * u128::from(self.pieces() + 1) / u128::from(self.steps());
            self.begin + Duration::from_nanos(part as u64)
        })
    }

    fn next(&mut self, now: Instant, limit: usize) -> Option<Bytes> {
        self.due().filter(|due| *due <= now)?;
        let left = self.until(self.pieces() + 1) - self.sent;
        let own = usize::try_from(self.sent).ok().and_then(|sent| self.content.get(sent..));
        let piece = match own.filter(|own| !own.is_empty()) {
            Some(own) => {
                let most = limit.min(usize::try_from(left).unwrap_or(limit));
                self.content.slice_ref(&own[..own.len().min(most)])
            }
            None => Bytes::from_static(Padding::Text.piece(self.sent..self.sent + left, limit)),
        };
        self.sent += piece.len() as u64;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_body_is_whole_at_the_end_of_its_span_and_never_early() {
        for (bytes, span_ms, limit) in [(1_000, 950, 7), (3, 950, 100), (70_000, 10, 100_000)] {
            let (begin, span) = (Instant::from_nanos(5_000_000), Duration::from_millis(span_ms));
            let content = Bytes::from_static(b"data: own\n\n");
            let fields = Fields::new();
            let mut body =
                EvenBody { fields, bytes, content: content.clone(), begin, span, sent: 0 };
            let mut now = begin;
            let mut all = Vec::new();
            while let Some(due) = body.due() {
                assert!(due >= now, "{bytes}");
                now = due;
                assert!(body.next(Instant::from_nanos(now.nanos() - 1), limit).is_none());
                while let Some(piece) = body.next(now, limit) {
                    assert!(!piece.is_empty() && piece.len() <= limit);
                    all.extend_from_slice(&piece);
                }
            }
            assert_eq!((all.len() as u64, now), (bytes, begin + span));
            let own = all.len().min(content.len());
            assert_eq!(all[..own], content[..own]);
        }
    }
}
