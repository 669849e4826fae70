//! The screenshots of one page load in time order, which of them a film of the load needs, and what they tell of it.

mod speed_index;

pub use speed_index::{FrameError, FrameProgress, LARGEST, VisualProgress, visual_progress};

/// The picture that a page showed from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// When it was shown first, in milliseconds from the start of the navigation.
    pub at_ms: f64,
    /// The picture as JPEG, as Chromium's trace category `disabled-by-default-devtools.screenshot` has it in base64.
    pub jpeg: Vec<u8>,
}

/// Most frames of a film. A report draws sixteen columns at most; the rest is for whoever looks closer.
pub const MOST_FRAMES: usize = 40;

/// The frames that a film keeps, as indices into `frames`: the first, the last, and those between them that show another
/// picture than the frame before. Equal pictures have equal bytes, because one encoder wrote them. Where more than
/// [`MOST_FRAMES`] remain, those go whose neighbours are closest in time to each other.
pub fn kept(frames: &[Frame]) -> Vec<usize> {
    let last = frames.len().saturating_sub(1);
    let differs = |i: usize| i == 0 || i == last || frames[i].jpeg != frames[i - 1].jpeg;
    let mut kept: Vec<usize> = (0..frames.len()).filter(|&i| differs(i)).collect();
    while kept.len() > MOST_FRAMES {
        let gap = |&place: &usize| frames[kept[place + 1]].at_ms - frames[kept[place - 1]].at_ms;
        let closest = (1..kept.len() - 1).min_by(|a, b| gap(a).total_cmp(&gap(b)));
        // There is one: more than forty have a middle.
        let Some(closest) = closest else { break };
        // Its neighbours' gaps grow by it, so of a burst every other frame stays.
        kept.remove(closest);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of one byte each, at these times.
    fn frames(shown: impl IntoIterator<Item = (f64, u8)>) -> Vec<Frame> {
        shown.into_iter().map(|(at_ms, picture)| Frame { at_ms, jpeg: vec![picture] }).collect()
    }

    #[test]
    fn a_picture_that_stays_is_kept_once_and_the_last_frame_always() {
        let all =
            frames([(0.0, 1), (10.0, 1), (20.0, 2), (30.0, 2), (40.0, 1), (50.0, 1), (60.0, 1)]);
        assert_eq!(kept(&all), [0, 2, 4, 6]);
    }

    #[test]
    fn short_films_are_whole() {
        assert_eq!(kept(&[]), Vec::<usize>::new());
        assert_eq!(kept(&frames([(5.0, 1)])), [0]);
        assert_eq!(kept(&frames([(5.0, 1), (9.0, 1)])), [0, 1]);
    }

    #[test]
    fn of_too_many_frames_those_go_that_are_missed_least() {
        // Forty pictures for 100 ms each; behind the tenth stands another one for 16 ms.
        let mut all = frames((0..40).map(|i| (f64::from(i) * 100.0, i as u8)));
        all.insert(11, Frame { at_ms: 1084.0, jpeg: vec![200] });
        let kept = kept(&all);
        assert_eq!(kept.len(), MOST_FRAMES);
        assert!(!kept.contains(&11), "{kept:?}");
    }

    #[test]
    fn of_an_even_burst_no_part_is_lost() {
        let kept = kept(&frames((0..=240).map(|i| (f64::from(i) * 16.0, i as u8))));
        assert_eq!((kept.len(), kept[0], kept[39]), (MOST_FRAMES, 0, 240));
        let widest = kept.windows(2).map(|pair| pair[1] - pair[0]).max();
        // Evenly spread they would be 6 frames apart.
        assert!(widest <= Some(16), "{kept:?}");
    }
}
