//! Bodies, given out in pieces as the connection has room: none is ever held whole for sending.

use crate::files::File;
use bytes::Bytes;
use proto::FilePart;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use unit::Seed;

/// What a response says after its head.
pub(crate) enum Body {
    /// Octets in memory.
    Octets(Bytes),
    /// Noise of a seed.
    Noise { seed: Seed, left: Range<u64> },
    /// A piece of a file.
    File { file: Rc<dyn File>, left: Range<u64> },
    /// One after another.
    Sequence(VecDeque<Body>),
}

/// The body cannot be had any more: the file was cut or cannot be read. The length has been promised,
/// so only a reset is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// Octets from which a file is better sent by the kernel itself: below, one more call costs more than a copy.
const UNSEEN_FROM: usize = 32 * 1024;

impl Body {
    pub(crate) fn empty() -> Self {
        Self::Octets(Bytes::new())
    }

    /// Octets still to come.
    pub(crate) fn left(&self) -> u64 {
        match self {
            Self::Octets(octets) => octets.len() as u64,
            Self::Noise { left, .. } | Self::File { left, .. } => left.end - left.start,
            Self::Sequence(bodies) => bodies.iter().map(Self::left).sum(),
        }
    }

    /// All that is left, where it is enough of one file that the driver can send by itself.
    pub(crate) fn file_part(&self) -> Option<FilePart> {
        let Self::File { file, left } = self else { return None };
        let length = usize::try_from(left.end - left.start).ok()?;
        (length >= UNSEEN_FROM).then_some(())?;
        Some(FilePart::new(file.handle()?, left.start, length))
    }

    /// The next piece, about `limit` octets at most; empty only where nothing is left.
    pub(crate) fn next(&mut self, limit: usize) -> Result<Bytes, Broken> {
        match self {
            Self::Octets(octets) => {
                let count = octets.len().min(limit);
                Ok(octets.split_to(count))
            }
            Self::Noise { seed, left } => {
                let limit = limit.min(usize::try_from(left.end - left.start).unwrap_or(limit));
                let piece = page::noise(*seed, left.start, limit);
                left.start += piece.len() as u64;
                Ok(Bytes::from_static(piece))
            }
            Self::File { file, left } => {
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

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} octets left)", self.left())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileFacts;

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
            Body::Octets(Bytes::from_static(b"head")),
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
    fn a_file_that_was_cut_breaks_the_body() {
        let mut body = Body::File { file: Rc::new(Cut), left: 0..10 };
        assert_eq!(body.next(100).as_deref(), Ok(&b"abcde"[..]));
        assert_eq!(body.next(100), Err(Broken));
    }
}
