//! Films: what a page showed while it loaded. The caller hands in screenshots, with their progress if it knows it.

use std::collections::BTreeMap;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

/// What a page showed from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct FilmFrame {
    /// When it was shown first, in milliseconds from the start of the navigation.
    pub at_ms: f64,
    /// The picture. A film with one that is no JPEG is left out of pages.
    pub jpeg: Vec<u8>,
    /// Visual completeness from 0 to 100; None where nobody computed it.
    pub percent: Option<f64>,
}

/// Whose film it is: the names of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilmKey {
    /// The workload.
    pub workload: String,
    /// The link.
    pub link: String,
    /// The contender.
    pub contender: String,
}

/// The film of each cell's median trial, each in the order of time. Cells without a film are missing.
pub type Films = BTreeMap<FilmKey, Vec<FilmFrame>>;

/// The frame of `frames` that is shown at `at_ms`; None before the first.
pub(crate) fn shown_at(frames: &[FilmFrame], at_ms: f64) -> Option<usize> {
    frames.partition_point(|frame| frame.at_ms <= at_ms).checked_sub(1)
}

/// When the picture changed last; 0 where there is none.
pub(crate) fn last_change_ms(frames: &[FilmFrame]) -> f64 {
    let changes = frames.windows(2).filter(|pair| pair[0].jpeg != pair[1].jpeg);
    let last = changes.map(|pair| pair[1].at_ms).next_back();
    last.or(frames.first().map(|frame| frame.at_ms)).unwrap_or(0.0).max(0.0)
}

/// When it was visually complete; None where the percentages are missing or never reach 100.
pub(crate) fn complete_ms(frames: &[FilmFrame]) -> Option<f64> {
    let complete = frames.iter().find(|frame| frame.percent.is_some_and(|p| p >= 100.0))?;
    Some(complete.at_ms.max(0.0))
}

/// Width and height of a JPEG in pixels, from its head; None where it has none.
pub(crate) fn size(jpeg: &[u8]) -> Option<(usize, usize)> {
    let mut decoder = JpegDecoder::new(ZCursor::new(jpeg));
    decoder.decode_headers().ok()?;
    decoder.dimensions().filter(|&(width, height)| width > 0 && height > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn film(shown: &[(f64, &[u8], f64)]) -> Vec<FilmFrame> {
        let frame = |&(at_ms, jpeg, percent): &(f64, &[u8], f64)| FilmFrame {
            at_ms,
            jpeg: jpeg.to_owned(),
            percent: Some(percent),
        };
        shown.iter().map(frame).collect()
    }

    #[test]
    fn a_frame_is_shown_until_the_next_one() {
        let film = film(&[(20.0, b"a", 0.0), (50.0, b"b", 60.0), (90.0, b"b", 60.0)]);
        let shown: Vec<_> = [0.0, 20.0, 49.9, 50.0, 500.0].map(|at| shown_at(&film, at)).into();
        assert_eq!(shown, [None, Some(0), Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_film_ends_with_its_last_change() {
        let whole = film(&[(20.0, b"a", 0.0), (50.0, b"b", 100.0), (90.0, b"b", 100.0)]);
        assert_eq!((last_change_ms(&whole), complete_ms(&whole)), (50.0, Some(50.0)));
        assert_eq!((last_change_ms(&whole[..1]), complete_ms(&whole[..1])), (20.0, None));
        assert_eq!(last_change_ms(&[]), 0.0);
    }

    #[test]
    fn a_pictures_size_is_read_from_its_head() {
        assert_eq!(size(include_bytes!("../../../vectors/film/half.jpg")), Some((64, 48)));
        assert_eq!(size(b"GIF89a"), None);
    }
}
