//! Bodies, sent in pieces as the connection takes them. No body is held in memory as a whole.

use crate::files::File;
use crate::token_stream::PolledLines;
use bytes::Bytes;
use endpoint::FilePart;
use page::{Padding, PartPiece, Pixels, SyntheticHtml, SyntheticImage};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use unit::Seed;

/// The rest of a response's body.
pub(crate) enum Body {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Pseudo-random bytes of a seed.
    Noise { seed: Seed, left: Range<u64> },
    /// A PNG of a synthetic page. Its own bytes are made when they are sent, so that an image that waits holds nothing.
    Image { seed: Seed, left: Range<u64> },
    /// Bytes that fill a body up.
    Padding { padding: Padding, left: Range<u64> },
    /// A synthetic page, made as it is sent.
    Page(Box<SyntheticHtml>),
    /// The tokens of a poll's answer, made as they are sent.
    Polled(Box<PolledLines>),
    /// A piece of a file.
    File { file: Rc<dyn File>, left: Range<u64> },
    /// One after another.
    Sequence(VecDeque<Body>),
}

/// The body cannot be read any more: its file was truncated or cannot be read. Its length has been promised, so only a
/// reset is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// The size from which the kernel sends a file that is not in memory by itself (sendfile). Below it, one more call
/// costs more than a copy (docs/performance.md, "What helped").
const UNSEEN_FROM: usize = 32 * 1024;

/// More bytes than an image has of its own.
const MOST_OWN: u64 = 100;

/// Bytes of a synthetic page, or of tokens, that are made at a time: a peer that asks and leaves has cost no more.
const PAGE_PIECE: usize = 16 * 1024;

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Bytes(Bytes::new())
    }

    /// The body of an image of a synthetic page without parts.
    pub(crate) fn of_image(image: &SyntheticImage) -> Self {
        let (seed, left) = (image.seed, 0..image.body.0);
        if image.is_noise() { Self::Noise { seed, left } } else { Self::Image { seed, left } }
    }

    /// The body of a part of a synthetic page.
    pub(crate) fn of_pieces(pieces: Vec<PartPiece>) -> Self {
        let pieces = pieces.into_iter().map(|piece| match piece {
            PartPiece::Bytes(bytes) => Self::Bytes(bytes.into()),
            PartPiece::Padding(padding, bytes) => Self::Padding { padding, left: 0..bytes },
        });
        Self::Sequence(pieces.collect())
    }

    /// Bytes that are still to be sent.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Noise { left, .. }
            | Self::Image { left, .. }
            | Self::Padding { left, .. }
            | Self::File { left, .. } => left.end - left.start,
            Self::Page(html) => html.left(),
            Self::Polled(lines) => lines.left(),
            Self::Sequence(bodies) => left_of(bodies),
        }
    }

    /// Whether its pieces take memory of their own while they wait to be sent. Those of files that are kept in memory
    /// and of noise and padding are shared by all who send them.
    pub(crate) fn is_made(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.len() > PAGE_PIECE,
            Self::Noise { .. } | Self::Image { .. } | Self::Padding { .. } => false,
            Self::Page(_) | Self::Polled(_) => true,
            Self::File { file, .. } => !file.is_held(),
            Self::Sequence(bodies) => bodies.iter().any(Self::is_made),
        }
    }

    /// The rest of the body, where it is a part of one file that is large enough for the driver to send by itself.
    pub(crate) fn file_part(&self) -> Option<FilePart> {
        let Self::File { file, left } = self else { return None };
        let length = usize::try_from(left.end - left.start).ok()?;
        (length >= UNSEEN_FROM && !file.is_held()).then_some(())?;
        Some(FilePart::new(file.handle()?, left.start, length))
    }

    /// The first bytes of what is left, at most so many. They are not taken. Empty where there are none to be read.
    pub(crate) fn first(&self, most: usize) -> Bytes {
        let of_range =
            |left: &Range<u64>| most.min(usize::try_from(left.end - left.start).unwrap_or(most));
        match self {
            Self::Bytes(bytes) => bytes.slice(..bytes.len().min(most)),
            Self::Page(html) => html.as_ref().clone().next(most).into(),
            Self::File { file, left } => file.read(left.start, of_range(left)).unwrap_or_default(),
            // Nothing of them is a document.
            Self::Noise { .. } | Self::Image { .. } | Self::Padding { .. } | Self::Polled(_) => {
                Bytes::new()
            }
            Self::Sequence(bodies) => {
                bodies.front().map_or_else(Bytes::new, |body| body.first(most))
            }
        }
    }

    /// The next piece, of about `limit` bytes at most where it has to be made. Empty only at the end.
    pub(crate) fn next(&mut self, limit: usize) -> Result<Bytes, Broken> {
        match self {
            Self::Bytes(bytes) => {
                let count = bytes.len().min(limit);
                Ok(bytes.split_to(count))
            }
            Self::Noise { seed, left } => {
                let limit = limit.min(usize::try_from(left.end - left.start).unwrap_or(limit));
                let piece = page::noise(*seed, left.start, limit);
                left.start += piece.len() as u64;
                Ok(Bytes::from_static(piece))
            }
            Self::Image { seed, left } => {
                let own = match left.start {
                    0..MOST_OWN => SyntheticImage::own(*seed, left.end),
                    _ => Vec::new(),
                };
                let piece = match own.get(left.start as usize..) {
                    Some(rest) if !rest.is_empty() => {
                        Bytes::copy_from_slice(&rest[..rest.len().min(limit)])
                    }
                    _ => Bytes::from_static(Padding::Png(Pixels::Small).piece(left.clone(), limit)),
                };
                left.start += piece.len() as u64;
                Ok(piece)
            }
            Self::Padding { padding, left } => {
                let piece = padding.piece(left.clone(), limit);
                left.start += piece.len() as u64;
                Ok(Bytes::from_static(piece))
            }
            Self::Page(html) => Ok(html.next(limit.min(PAGE_PIECE)).into()),
            Self::Polled(lines) => Ok(lines.next(limit.min(PAGE_PIECE))),
            Self::File { file, left } => {
                // A file in memory is sent in one call with its head: nothing is copied for it.
                let limit = if file.is_held() { usize::MAX } else { limit };
                let wanted = limit.min(usize::try_from(left.end - left.start).unwrap_or(limit));
                if wanted == 0 {
                    return Ok(Bytes::new());
                }
                let piece = file.read(left.start, wanted).ok_or(Broken)?;
                if piece.is_empty() {
                    return Err(Broken);
                }
                left.start += piece.len() as u64;
                Ok(piece)
            }
            Self::Sequence(bodies) => {
                while let Some(first) = bodies.front_mut() {
                    let piece = first.next(limit)?;
                    if !piece.is_empty() {
                        return Ok(piece);
                    }
                    bodies.pop_front();
                }
                Ok(Bytes::new())
            }
        }
    }
}

fn left_of(bodies: &VecDeque<Body>) -> u64 {
    bodies.iter().map(Body::left).sum()
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes left)", self.left())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileFacts;
    use std::any::Any;
    use std::sync::Arc;

    struct Cut;

    impl File for Cut {
        fn facts(&self) -> FileFacts {
            FileFacts { length: 10, modified: 0, modified_nanos: 0, identity: 0 }
        }

        fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
            let there = Bytes::from_static(b"abcde");
            let start = (offset as usize).min(there.len());
            Some(there.slice(start..(start + length).min(there.len())))
        }
    }

    #[test]
    fn a_sequence_gives_its_parts_in_order() {
        let mut body = Body::Sequence(VecDeque::from([
            Body::Bytes(Bytes::from_static(b"head")),
            Body::empty(),
            Body::File { file: Rc::new(Cut), left: 1..4 },
        ]));
        assert_eq!(body.left(), 7);
        let mut all = Vec::new();
        loop {
            let piece = body.next(3).unwrap();
            assert!(piece.len() <= 3);
            if piece.is_empty() {
                break;
            }
            all.extend_from_slice(&piece);
        }
        assert_eq!(all, b"headbcd");
    }

    #[test]
    fn an_image_is_the_same_however_it_is_cut_and_its_pieces_take_no_memory_of_their_own() {
        for bytes in [0, 199, 200, 5_000, 65_700, 1_000_000] {
            let image: page::SyntheticImage = format!("/image/1?bytes={bytes}").parse().unwrap();
            let cut = |limit| {
                let mut body = Body::of_image(&image);
                assert!(!body.is_made());
                let mut all = Vec::new();
                while body.left() > 0 {
                    let piece = body.next(limit).unwrap();
                    assert!((1..=limit).contains(&piece.len()));
                    all.extend_from_slice(&piece);
                    assert_eq!(all.len() as u64 + body.left(), bytes);
                }
                all
            };
            let whole = cut(usize::MAX);
            let mut pieces = Body::of_pieces(image.pieces());
            let mut all = Vec::new();
            while pieces.left() > 0 {
                all.extend_from_slice(&pieces.next(usize::MAX).unwrap());
            }
            assert!(whole == all, "{bytes} bytes");
            assert_eq!(whole.len() as u64, bytes);
            for limit in [7, 1_448, 65_536] {
                assert!(cut(limit) == whole, "{bytes} bytes, {limit} at a time");
            }
        }
    }

    /// A file of 100 kB, in memory or not.
    struct Middle {
        is_held: bool,
    }

    impl File for Middle {
        fn facts(&self) -> FileFacts {
            FileFacts { length: 100_000, modified: 0, modified_nanos: 0, identity: 0 }
        }

        fn read(&self, _offset: u64, length: usize) -> Option<Bytes> {
            Some(Bytes::from(vec![0; length]))
        }

        fn handle(&self) -> Option<Arc<dyn Any + Send + Sync>> {
            Some(Arc::new(()))
        }

        fn is_held(&self) -> bool {
            self.is_held
        }
    }

    #[test]
    fn a_file_in_memory_comes_at_once_and_another_in_pieces_or_by_the_driver() {
        let middle = |is_held| Body::File { file: Rc::new(Middle { is_held }), left: 0..100_000 };
        assert!(middle(true).file_part().is_none());
        assert_eq!(middle(true).next(64 * 1024).map(|piece| piece.len()), Ok(100_000));
        assert_eq!(middle(false).file_part().map(|part| part.len()), Some(100_000));
        assert_eq!(middle(false).next(64 * 1024).map(|piece| piece.len()), Ok(64 * 1024));
    }

    #[test]
    fn a_file_that_was_cut_breaks_the_body() {
        let mut body = Body::File { file: Rc::new(Cut), left: 0..10 };
        assert_eq!(body.next(100).as_deref(), Ok(&b"abcde"[..]));
        assert_eq!(body.next(100), Err(Broken));
    }
}
