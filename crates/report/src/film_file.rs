//! Two films beside each other as one file that a review shows: an animated PNG, at real speed, with the time below each.
//! It is a picture as any other to whoever does not know animation, which shows its first frame.

mod canvas;
mod font;
mod picture;

use crate::film::{self, FilmFrame};
use canvas::{Area, Canvas, Colour, TEXT_HEIGHT, text_width};
use picture::Picture;

/// One of the two films.
#[derive(Debug, Clone, Copy)]
pub struct FilmSide<'a> {
    /// Written above it: the contender, in ASCII. What does not fit is cut off.
    pub label: &'a str,
    /// What it shows, in the order of time.
    pub frames: &'a [FilmFrame],
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum FilmFileError {
    /// There are no frames.
    #[error("the film of {label} has no frames")]
    Empty {
        /// Whose.
        label: String,
    },
    /// A frame is no JPEG.
    #[error(
        "the film of {label} has a frame at {at_ms} ms that cannot be decoded as JPEG: {reason}"
    )]
    Undecodable {
        /// Whose.
        label: String,
        /// Which one, in milliseconds from the start of the navigation.
        at_ms: f64,
        /// What the decoder says.
        reason: String,
    },
    /// The file cannot be written.
    #[error("the film cannot be written as PNG: {0}")]
    Unwritable(#[from] png::EncodingError),
}

/// The bytes of an animated PNG that repeats for ever: ten frames a second from the start of the navigation to the last change
/// of the slower one, and then a second and a half for the eye. It lasts 10 seconds at most; of a longer load it shows the
/// first 8.4 s. A time stops where its page is visually complete, or changes no more where nobody computed that.
pub fn side_by_side(left: FilmSide<'_>, right: FilmSide<'_>) -> Result<Vec<u8>, FilmFileError> {
    let mut sides = [Side::of(left)?, Side::of(right)?];
    let layout = Layout::of(&sides);
    let last = sides.iter().map(|side| film::last_change_ms(side.frames)).fold(0.0, f64::max);
    // A load that is seen between two frames is seen in the later one.
    let frames = ((last / STEP_MS).ceil() as u32).saturating_add(1).min(MOST_FRAMES);

    let mut bytes = Vec::new();
    let mut before = layout.draw(&mut sides, 0.0)?;
    let whole = before.area();
    let mut encoder = png::Encoder::new(&mut bytes, whole.width as u32, whole.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.set_animated(frames, 0)?;
    let mut writer = encoder.write_header()?;
    for frame in 0..frames {
        let now = layout.draw(&mut sides, f64::from(frame) * STEP_MS)?;
        // Only what changes is written. A frame has a pixel at least.
        let nothing = Area { x: 0, y: 0, width: 1, height: 1 };
        let area = match frame {
            0 => whole,
            _ => now.change_since(&before).unwrap_or(nothing),
        };
        writer.reset_frame_position()?;
        writer.set_frame_dimension(area.width as u32, area.height as u32)?;
        writer.set_frame_position(area.x as u32, area.y as u32)?;
        let tenths = if frame + 1 == frames { HOLD_TENTHS } else { 1 };
        writer.set_frame_delay(tenths, 10)?;
        writer.write_image_data(&now.bytes(area))?;
        before = now;
    }
    writer.finish()?;
    Ok(bytes)
}

/// From one frame to the next.
const STEP_MS: f64 = 100.0;

/// With the hold it is less than 10 seconds.
const MOST_FRAMES: u32 = 85;

/// How long the last frame stays, in tenths of a second.
const HOLD_TENTHS: u16 = 15;

/// A film that is being drawn.
struct Side<'a> {
    label: &'a str,
    frames: &'a [FilmFrame],
    /// Of its pictures in the file.
    size: (usize, usize),
    /// The frame that was shown last, and its picture.
    shown: Option<(usize, Picture)>,
    /// When its time stops.
    done_ms: f64,
}

impl<'a> Side<'a> {
    fn of(FilmSide { label, frames }: FilmSide<'a>) -> Result<Self, FilmFileError> {
        let Some(first) = frames.first() else {
            return Err(FilmFileError::Empty { label: label.to_owned() });
        };
        let picture = decode(label, first)?;
        let (width, height) = (picture.width as f64, picture.height as f64);
        let shrink = (LARGEST / width).min(LARGEST / height).min(1.0);
        let size = [width, height].map(|side| ((side * shrink).round() as usize).max(1));
        let done_ms = film::complete_ms(frames).unwrap_or_else(|| film::last_change_ms(frames));
        Ok(Self { label, frames, size: size.into(), shown: None, done_ms })
    }

    /// What it shows at `at_ms`; None before its first frame.
    fn picture_at(&mut self, at_ms: f64) -> Result<Option<&Picture>, FilmFileError> {
        let Some(wanted) = film::shown_at(self.frames, at_ms) else { return Ok(None) };
        let is_there = |shown: &(usize, Picture)| {
            shown.0 == wanted || self.frames[shown.0].jpeg == self.frames[wanted].jpeg
        };
        let picture = match self.shown.take().filter(is_there) {
            Some((_, picture)) => picture,
            None => decode(self.label, &self.frames[wanted])?.shrunk_to(self.size),
        };
        Ok(Some(&self.shown.insert((wanted, picture)).1))
    }

    /// The time below the picture and what is there of it.
    fn caption(&self, at_ms: f64) -> (String, String) {
        let time = match at_ms >= self.done_ms {
            true => format!("{:.2} s", self.done_ms / 1000.0),
            false => format!("{:.1} s", at_ms / 1000.0),
        };
        let percent = match film::shown_at(self.frames, at_ms) {
            Some(shown) => self.frames[shown].percent,
            None => self.frames[0].percent.map(|_| 0.0),
        };
        (time, percent.map(|percent| format!("{percent:.0} %")).unwrap_or_default())
    }
}

fn decode(label: &str, frame: &FilmFrame) -> Result<Picture, FilmFileError> {
    let (label, at_ms) = (label.to_owned(), frame.at_ms);
    Picture::decode(&frame.jpeg).map_err(|reason| FilmFileError::Undecodable {
        label,
        at_ms,
        reason,
    })
}

/// Where everything is.
struct Layout {
    /// Left edge and width of each side.
    columns: [(usize, usize); 2],
    /// Of the pictures' box.
    height: usize,
}

impl Layout {
    fn of(sides: &[Side<'_>; 2]) -> Self {
        let [left, right] = [&sides[0], &sides[1]].map(|side| side.size.0.max(LEAST_WIDTH));
        Self {
            columns: [(MARGIN, left), (MARGIN + left + GAP, right)],
            height: sides[0].size.1.max(sides[1].size.1),
        }
    }

    fn draw(&self, sides: &mut [Side<'_>; 2], at_ms: f64) -> Result<Canvas, FilmFileError> {
        let [_, (right, width)] = self.columns;
        let top = MARGIN + TEXT_HEIGHT + MARGIN;
        let bottom = top + self.height + MARGIN;
        let mut canvas = Canvas::new(right + width + MARGIN, bottom + TEXT_HEIGHT + MARGIN, GROUND);
        for (side, (x, width)) in sides.iter_mut().zip(self.columns) {
            let fits =
                (1..=side.label.chars().count()).rfind(|&letters| text_width(letters) <= width);
            let label: String = side.label.chars().take(fits.unwrap_or(0)).collect();
            canvas.text(&label, (x, MARGIN), TEXT);
            let (picture_width, picture_height) = side.size;
            let frame =
                Area { x: x - 1, y: top - 1, width: picture_width + 2, height: picture_height + 2 };
            canvas.fill(frame, RULE);
            let inner = Area { x, y: top, width: picture_width, height: picture_height };
            canvas.fill(inner, GROUND);
            let (time, percent) = side.caption(at_ms);
            let colour = if at_ms >= side.done_ms { TEXT } else { MUTED };
            canvas.text(&time, (x, bottom), colour);
            let end = x + width.max(picture_width);
            canvas.text(&percent, (end - text_width(percent.chars().count()), bottom), colour);
            if let Some(picture) = side.picture_at(at_ms)? {
                canvas.picture(picture, x, top);
            }
        }
        Ok(canvas)
    }
}

/// Most pixels of a picture's width and of its height in the file: two fit beside each other in a review.
const LARGEST: f64 = 400.0;
/// Pixels that the line below a picture needs.
const LEAST_WIDTH: usize = 160;
/// Pixels around everything.
const MARGIN: usize = 10;
/// Pixels between the two.
const GAP: usize = 20;

const GROUND: Colour = [255; 3];
const TEXT: Colour = [27, 27, 26];
const MUTED: Colour = [110, 110, 105];
const RULE: Colour = [200, 200, 194];

#[cfg(test)]
mod tests;
