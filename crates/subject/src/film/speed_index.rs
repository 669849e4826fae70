//! Visual progress and Speed Index of one page load, from its screenshots, as WebPageTest defines them and Lighthouse
//! (speedline) computes them from Chromium's traces.
//!
//! - Each frame has a histogram of each colour channel. Pixels that are nearly white in all three count for nothing: they
//!   are the page's empty ground.
//! - A frame's progress is the share of the last frame's histograms that it has already. speedline sets both against a
//!   white picture at the start of the navigation, which is what a browser shows before a cold load. Its histograms
//!   are empty, so that the differences to it are the counts themselves.
//! - Progress is a whole percentage, rounded down: 100 is the last frame's colours and nothing less.
//! - Speed Index is the integral of (1 − progress) over time, from the start of the navigation.
//!
//! The rule of a histogram: it knows how much of each colour there is and not where. A picture that only moves has
//! the same progress.

use super::Frame;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// How a page came to be seen. Times are milliseconds from the start of the navigation.
#[derive(Debug, Clone, PartialEq)]
pub struct VisualProgress {
    /// The first frame with any progress.
    pub first_change_ms: f64,
    /// The first frame with a progress of 100 %. What moves afterwards and comes back does not delay it.
    pub complete_ms: f64,
    /// The Speed Index. Where the page falls below 100 % once more, that time counts, as it does in WebPageTest.
    pub speed_index_ms: f64,
    /// Every frame's progress, in the order of time.
    pub frames: Vec<FrameProgress>,
}

/// The progress of one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameProgress {
    /// When it was shown first, in milliseconds from the start of the navigation.
    pub at_ms: f64,
    /// A whole number from 0 to 100.
    pub percent: f64,
}

/// Why frames give no visual progress. Frames are counted from one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// Chromium sends the blank page first, so a load without a second frame was not recorded.
    #[error(
        "{frames} screenshots, and visual progress needs two or more: was the page recorded until it was loaded?"
    )]
    TooFew {
        /// How many there are.
        frames: usize,
    },
    /// The time is earlier than that of the frame before, or no number.
    #[error(
        "screenshot {frame} is at {at_ms} ms, which is not after the one before: sort them by time"
    )]
    OutOfOrder {
        /// Which one.
        frame: usize,
        /// Its time.
        at_ms: f64,
    },
    /// No JPEG, a broken one, or one of more than [`LARGEST`] pixels a side.
    #[error("screenshot {frame} at {at_ms} ms cannot be decoded as JPEG: {reason}")]
    Undecodable {
        /// Which one.
        frame: usize,
        /// Its time.
        at_ms: f64,
        /// What the decoder says.
        reason: String,
    },
    /// The window changed its size during the load.
    #[error(
        "screenshot {frame} at {at_ms} ms has {}×{} pixels and the first has {}×{}: keep the window's size during the load",
        .size.0, .size.1, .first.0, .first.1
    )]
    OtherSize {
        /// Which one.
        frame: usize,
        /// Its time.
        at_ms: f64,
        /// Its width and height.
        size: (usize, usize),
        /// Those of the first frame.
        first: (usize, usize),
    },
}

/// Most pixels of a frame's width and of its height. Chromium scales screenshots in traces to 500.
pub const LARGEST: usize = 4096;

/// The visual progress of a load, of which `frames` are all screenshots in the order of time. A frame from before the
/// navigation counts as shown at its start.
pub fn visual_progress(frames: &[Frame]) -> Result<VisualProgress, FrameError> {
    let pictures = histograms(frames)?;
    let Some(target) = pictures.last() else { return Err(FrameError::TooFew { frames: 0 }) };
    let progress = |(frame, now): (&Frame, &Histograms)| FrameProgress {
        at_ms: frame.at_ms.max(0.0),
        percent: now.percent_of(target),
    };
    let frames: Vec<FrameProgress> = frames.iter().zip(&pictures).map(progress).collect();
    // The last frame is complete: it is the target.
    let first = |least: f64| {
        frames.iter().find(|frame| frame.percent >= least).map_or(0.0, |frame| frame.at_ms)
    };
    Ok(VisualProgress {
        first_change_ms: first(1.0),
        complete_ms: first(100.0),
        speed_index_ms: speed_index(&frames),
        frames,
    })
}

/// The integral of (1 − progress).
fn speed_index(frames: &[FrameProgress]) -> f64 {
    let (mut index, mut since, mut percent) = (0.0, 0.0, 0.0);
    for frame in frames {
        index += (frame.at_ms - since) * (1.0 - percent / 100.0);
        (since, percent) = (frame.at_ms, frame.percent);
    }
    index
}

/// The histograms of all frames. A frame with the bytes of the one before is not decoded again.
fn histograms(frames: &[Frame]) -> Result<Vec<Histograms>, FrameError> {
    if frames.len() < 2 {
        return Err(FrameError::TooFew { frames: frames.len() });
    }
    let mut pictures: Vec<Histograms> = Vec::with_capacity(frames.len());
    let (mut before, mut first) = (f64::NEG_INFINITY, None);
    for (i, Frame { at_ms, jpeg }) in frames.iter().enumerate() {
        let (frame, at_ms) = (i + 1, *at_ms);
        if !at_ms.is_finite() || at_ms < before {
            return Err(FrameError::OutOfOrder { frame, at_ms });
        }
        before = at_ms;
        let same = pictures.last().filter(|_| frames[i - 1].jpeg == *jpeg);
        if let Some(same) = same.cloned() {
            pictures.push(same);
            continue;
        }
        let undecodable = |reason| FrameError::Undecodable { frame, at_ms, reason };
        let (size, pixels) = decode(jpeg).map_err(undecodable)?;
        let first = *first.get_or_insert(size);
        if size != first {
            return Err(FrameError::OtherSize { frame, at_ms, size, first });
        }
        pictures.push(Histograms::of(&pixels));
    }
    Ok(pictures)
}

/// Width and height of a JPEG, and its pixels: three bytes each, red, green and blue.
fn decode(jpeg: &[u8]) -> Result<((usize, usize), Vec<u8>), String> {
    let options = DecoderOptions::default()
        .set_max_width(LARGEST)
        .set_max_height(LARGEST)
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let pixels = decoder.decode().map_err(|error| error.to_string())?;
    let size = decoder.dimensions().ok_or("it has no size")?;
    Ok((size, pixels))
}

/// How many pixels have each value of each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Histograms([[u32; 256]; 3]);

impl Histograms {
    /// Of pixels of three bytes each.
    fn of(pixels: &[u8]) -> Self {
        let mut counts = [[0; 256]; 3];
        for pixel in pixels.chunks_exact(3).filter(|pixel| pixel.iter().any(|&v| v < NEARLY_WHITE))
        {
            for (channel, &value) in counts.iter_mut().zip(pixel) {
                channel[usize::from(value)] += 1;
            }
        }
        Self(counts)
    }

    /// The share of `target` that is there already: a whole percentage, rounded down. All of it, where `target` is white.
    fn percent_of(&self, target: &Self) -> f64 {
        let (mut there, mut all) = (0_u64, 0_u64);
        for (now, then) in self.0.iter().flatten().zip(target.0.iter().flatten()) {
            there += u64::from(*now.min(then));
            all += u64::from(*then);
        }
        (there * 100).checked_div(all).unwrap_or(100) as f64
    }
}

/// The least value of all three channels that counts as white, as in speedline. The room is for what JPEG does to white.
const NEARLY_WHITE: u8 = 249;

#[cfg(test)]
mod tests;
