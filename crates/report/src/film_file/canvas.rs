//! What one frame of a film file is drawn on.

use super::font;
use super::picture::Picture;

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Pixels of one colour each. What is drawn beyond the edges is cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Canvas(Picture);

impl Canvas {
    /// Of one colour.
    pub(super) fn new(width: usize, height: usize, ground: Colour) -> Self {
        Self(Picture { width, height, pixels: vec![ground; width * height] })
    }

    fn set(&mut self, x: usize, y: usize, colour: Colour) {
        if x < self.0.width && y < self.0.height {
            self.0.pixels[y * self.0.width + x] = colour;
        }
    }

    /// Fills an area.
    pub(super) fn fill(&mut self, area: Area, colour: Colour) {
        for y in area.y..area.y + area.height {
            (area.x..area.x + area.width).for_each(|x| self.set(x, y, colour));
        }
    }

    /// Draws a picture with its upper left corner at (`left`, `top`).
    pub(super) fn picture(&mut self, picture: &Picture, left: usize, top: usize) {
        for (y, row) in picture.pixels.chunks(picture.width.max(1)).enumerate() {
            for (x, pixel) in row.iter().enumerate() {
                self.set(left + x, top + y, *pixel);
            }
        }
    }

    /// Writes text with its upper left corner at (`left`, `top`).
    pub(super) fn text(&mut self, text: &str, (left, top): (usize, usize), colour: Colour) {
        for (i, letter) in text.chars().enumerate() {
            for (x, y) in font::pixels(letter) {
                let (x, y) = (left + (i * font::ADVANCE + x) * SCALE, top + y * SCALE);
                self.fill(Area { x, y, width: SCALE, height: SCALE }, colour);
            }
        }
    }

    /// The least area outside of which it is as `before`, a canvas of the same size; None where they are equal.
    pub(super) fn change_since(&self, before: &Self) -> Option<Area> {
        let width = self.0.width;
        let pixels = self.0.pixels.iter().zip(&before.0.pixels).enumerate();
        let changed =
            pixels.filter(|(_, (now, then))| now != then).map(|(i, _)| (i % width, i / width));
        let corners = changed.fold(None, |corners: Option<[usize; 4]>, (x, y)| match corners {
            None => Some([x, y, x, y]),
            Some([left, top, right, bottom]) => {
                Some([x.min(left), y.min(top), x.max(right), y.max(bottom)])
            }
        });
        let [left, top, right, bottom] = corners?;
        Some(Area { x: left, y: top, width: right - left + 1, height: bottom - top + 1 })
    }

    /// The bytes of an area, row by row, three a pixel.
    pub(super) fn bytes(&self, area: Area) -> Vec<u8> {
        let rows = self.0.pixels.chunks(self.0.width).skip(area.y).take(area.height);
        rows.flat_map(|row| &row[area.x..area.x + area.width]).flatten().copied().collect()
    }

    /// All of it.
    pub(super) fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.0.width, height: self.0.height }
    }
}

/// Pixels of the file for each pixel of a letter.
const SCALE: usize = 2;

/// The height of text in pixels.
pub(super) const TEXT_HEIGHT: usize = font::HEIGHT * SCALE;

/// The width of `letters` letters in pixels.
pub(super) fn text_width(letters: usize) -> usize {
    (letters * font::ADVANCE * SCALE).saturating_sub(SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_is_the_least_area_around_it() {
        let before = Canvas::new(60, 40, [255; 3]);
        let mut after = before.clone();
        assert_eq!(after.change_since(&before), None);
        after.text("-", (10, 20), [0; 3]);
        let dash = Area { x: 10, y: 26, width: 10, height: 2 };
        assert_eq!(after.change_since(&before), Some(dash));
        assert_eq!(after.bytes(dash), [0; 60]);
        // What lies outside is cut off.
        after.fill(Area { x: 59, y: 39, width: 9, height: 9 }, [1, 2, 3]);
        let both = Area { x: 10, y: 26, width: 50, height: 14 };
        assert_eq!(after.change_since(&before), Some(both));
        assert!(after.bytes(both).ends_with(&[255, 255, 255, 1, 2, 3]));
    }

    #[test]
    fn text_is_as_wide_as_it_says() {
        let ground = Canvas::new(200, 30, [255; 3]);
        let mut written = ground.clone();
        written.text("MM1", (0, 0), [0; 3]);
        // The last letter is three of five pixels wide, from its second one on.
        let width = written.change_since(&ground).map(|area| area.width);
        assert_eq!(width, Some(text_width(3) - 2));
    }
}
