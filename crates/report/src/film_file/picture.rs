//! Pictures in memory: decoded from JPEG, and made smaller.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// A picture of `width` by `height` pixels, from its upper left corner, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Decodes a JPEG of at most [`LARGEST`] pixels a side; else what the decoder says.
    pub(super) fn decode(jpeg: &[u8]) -> Result<Self, String> {
        let options = DecoderOptions::default()
            .set_max_width(LARGEST)
            .set_max_height(LARGEST)
            .set_strict_mode(true)
            .jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
        let bytes = decoder.decode().map_err(|error| error.to_string())?;
        let (width, height) = decoder.dimensions().ok_or("it has no size")?;
        let (pixels, _) = bytes.as_chunks::<3>();
        Ok(Self { width, height, pixels: pixels.to_vec() })
    }

    /// The same in fewer pixels: each is the mean of the area that it covers. Nothing becomes larger.
    pub(super) fn shrunk_to(&self, (width, height): (usize, usize)) -> Self {
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let columns: Vec<_> = (0..width).map(|x| Span::of(x, self.width, width)).collect();
        let rows: Vec<_> = (0..height).map(|y| Span::of(y, self.height, height)).collect();
        let mean = |row: &Span, column: &Span| {
            let (mut sum, mut area) = ([0.0; 3], 0.0);
            for (y, tall) in row.parts() {
                for (x, wide) in column.parts() {
                    let pixel = self.pixels[y * self.width + x];
                    area += tall * wide;
                    for (sum, value) in sum.iter_mut().zip(pixel) {
                        *sum += f64::from(value) * tall * wide;
                    }
                }
            }
            sum.map(|sum| (sum / area).round() as u8)
        };
        let row = |row| columns.iter().map(move |column| mean(row, column));
        let pixels = rows.iter().flat_map(row).collect();
        Self { width, height, pixels }
    }
}

/// Most pixels of a picture's width and of its height.
const LARGEST: usize = 4096;

/// What one pixel of a smaller picture covers of a larger one, along one side.
struct Span {
    from: f64,
    to: f64,
}

impl Span {
    /// The pixel `at` of `small`, in pixels of `large`.
    fn of(at: usize, large: usize, small: usize) -> Self {
        let ratio = large as f64 / small as f64;
        let from = at as f64 * ratio;
        Self { from, to: (from + ratio).min(large as f64) }
    }

    /// Each pixel that is covered, with the share of it that is.
    fn parts(&self) -> impl Iterator<Item = (usize, f64)> {
        let (from, to) = (self.from, self.to);
        (from as usize..(to - 1e-9).ceil() as usize).map(move |pixel| {
            let at = pixel as f64;
            (pixel, (to.min(at + 1.0) - from.max(at)).max(0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screenshot_keeps_its_colours() {
        let half = Picture::decode(include_bytes!("../../../../vectors/film/half.jpg")).unwrap();
        assert_eq!((half.width, half.height, half.pixels.len()), (64, 48, 64 * 48));
        let near = |pixel: [u8; 3], expected: [u8; 3]| {
            pixel.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 5)
        };
        assert!(near(half.pixels[0], [0x20, 0x40, 0x60]), "{:?}", half.pixels[0]);
        assert!(near(half.pixels[63], [255; 3]), "{:?}", half.pixels[63]);
        assert!(Picture::decode(b"GIF89a").is_err());
    }

    #[test]
    fn a_smaller_pixel_is_the_mean_of_what_it_covers() {
        let grey = |value: u8| [value; 3];
        let picture = Picture { width: 3, height: 1, pixels: [0, 90, 240].map(grey).into() };
        // The middle pixel goes half to either side.
        let expected = Picture { width: 2, height: 1, pixels: [30, 190].map(grey).into() };
        assert_eq!(picture.shrunk_to((2, 1)), expected);
        assert_eq!(picture.shrunk_to((1, 1)).pixels, [grey(110)]);
        assert_eq!(picture.shrunk_to((3, 1)), picture);
    }

    #[test]
    fn a_plain_picture_stays_plain_at_any_size() {
        let plain = Picture { width: 50, height: 31, pixels: vec![[7, 200, 99]; 50 * 31] };
        for size in [(49, 30), (37, 23), (7, 5), (1, 1)] {
            let small = plain.shrunk_to(size);
            assert_eq!(small.pixels, vec![[7, 200, 99]; size.0 * size.1]);
        }
    }
}
