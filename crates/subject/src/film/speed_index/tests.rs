//! Progress below the decoder, with pictures of known colours, and of screenshots that Chromium took.

use super::*;

const BLANK: &[u8] = include_bytes!("../../../../../vectors/film/blank.jpg");
const HALF: &[u8] = include_bytes!("../../../../../vectors/film/half.jpg");
const WHOLE: &[u8] = include_bytes!("../../../../../vectors/film/whole.jpg");

fn film<const N: usize>(shown: [(f64, &[u8]); N]) -> Vec<Frame> {
    shown.map(|(at_ms, jpeg)| Frame { at_ms, jpeg: jpeg.to_owned() }).into()
}

/// A picture with so many pixels of each colour.
fn picture(parts: &[(usize, [u8; 3])]) -> Histograms {
    let pixels: Vec<u8> =
        parts.iter().flat_map(|&(count, colour)| [colour].repeat(count).concat()).collect();
    Histograms::of(&pixels)
}

const WHITE: [u8; 3] = [255, 255, 255];
const NAVY: [u8; 3] = [32, 64, 96];
const GREY: [u8; 3] = [128, 128, 128];

#[test]
fn progress_is_the_share_of_the_last_pictures_colours_that_is_there() {
    let target = picture(&[(100, NAVY), (100, GREY), (50, WHITE)]);
    let percent = |parts: &[(usize, [u8; 3])]| picture(parts).percent_of(&target);
    assert_eq!(percent(&[(250, WHITE)]), 0.0);
    assert_eq!(percent(&[(50, NAVY), (200, WHITE)]), 25.0);
    // Two of the grey's pixels are missing: 99 %, and 99.5 % is no more than that.
    assert_eq!(percent(&[(100, NAVY), (98, GREY), (52, WHITE)]), 99.0);
    assert_eq!(percent(&[(100, NAVY), (99, GREY), (51, WHITE)]), 99.0);
    assert_eq!(percent(&[(100, NAVY), (100, GREY), (50, WHITE)]), 100.0);
}

#[test]
fn more_of_a_colour_than_the_last_picture_has_is_no_progress() {
    let target = picture(&[(100, NAVY), (100, GREY)]);
    assert_eq!(picture(&[(200, NAVY)]).percent_of(&target), 50.0);
    // A channel counts by itself: a third of this colour is the grey's.
    assert_eq!(picture(&[(200, [128, 7, 9])]).percent_of(&target), 16.0);
}

#[test]
fn a_pixel_is_white_only_where_all_its_channels_are() {
    assert_eq!(picture(&[(9, [249, 250, 255])]), picture(&[]));
    assert_ne!(picture(&[(9, [248, 255, 255])]), picture(&[]));
    assert_eq!(picture(&[]).percent_of(&picture(&[(9, WHITE)])), 100.0);
}

#[test]
fn the_index_of_chromiums_frames_is_the_area_above_their_progress() {
    let frames =
        film([(13.0, BLANK), (233.0, BLANK), (528.0, HALF), (823.0, WHOLE), (900.0, WHOLE)]);
    let seen = visual_progress(&frames).unwrap();
    let percents: Vec<f64> = seen.frames.iter().map(|frame| frame.percent).collect();
    assert_eq!(percents, [0.0, 0.0, 50.0, 100.0, 100.0]);
    assert_eq!((seen.first_change_ms, seen.complete_ms), (528.0, 823.0));
    assert!((seen.speed_index_ms - (528.0 + 295.0 / 2.0)).abs() < 1e-9, "{seen:?}");
}

#[test]
fn a_page_that_takes_something_back_pays_for_it_and_stays_complete() {
    let frames = film([(0.0, BLANK), (100.0, WHOLE), (200.0, HALF), (300.0, WHOLE)]);
    let seen = visual_progress(&frames).unwrap();
    assert_eq!((seen.complete_ms, seen.speed_index_ms), (100.0, 150.0));
}

#[test]
fn what_was_shown_before_the_navigation_counts_from_its_start() {
    let seen = visual_progress(&film([(-40.0, BLANK), (-5.0, HALF), (60.0, WHOLE)])).unwrap();
    assert_eq!((seen.first_change_ms, seen.speed_index_ms), (0.0, 30.0));
}

#[test]
fn a_page_that_stays_white_is_complete_with_its_first_frame() {
    let seen = visual_progress(&film([(12.0, BLANK), (700.0, BLANK)])).unwrap();
    assert_eq!((seen.first_change_ms, seen.complete_ms, seen.speed_index_ms), (12.0, 12.0, 12.0));
}

#[test]
fn frames_that_tell_nothing_are_refused_by_their_place() {
    let said = |frames: &[Frame]| visual_progress(frames).unwrap_err().to_string();
    assert!(said(&[]).starts_with("0 screenshots, and "));
    assert!(said(&film([(12.0, BLANK)])).starts_with("1 screenshots, and "));
    let broken = said(&film([(12.0, BLANK), (20.5, b"GIF89a")]));
    assert!(broken.starts_with("screenshot 2 at 20.5 ms cannot be decoded as JPEG: "), "{broken}");
    let cut = said(&film([(12.0, BLANK), (20.5, &WHOLE[..WHOLE.len() - 40])]));
    assert!(cut.starts_with("screenshot 2 at 20.5 ms cannot be decoded as JPEG: "), "{cut}");
    let late = said(&film([(12.0, BLANK), (20.0, HALF), (19.0, WHOLE)]));
    assert!(late.starts_with("screenshot 3 is at 19 ms"), "{late}");
    assert!(
        said(&film([(12.0, BLANK), (f64::NAN, HALF)])).starts_with("screenshot 2 is at NaN ms")
    );
}

#[test]
fn a_window_that_changes_its_size_is_refused() {
    // The height in the frame header: FFC0, length, precision, height, width.
    let mut lower = WHOLE.to_owned();
    let header = lower.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    assert_eq!(lower[header + 5..header + 9], [0, 48, 0, 64]);
    lower[header + 6] = 40;
    let said = visual_progress(&film([(12.0, BLANK), (20.0, &lower)])).unwrap_err();
    let expected = FrameError::OtherSize { frame: 2, at_ms: 20.0, size: (64, 40), first: (64, 48) };
    assert_eq!(said, expected);
    assert!(said.to_string().contains("has 64×40 pixels and the first has 64×48"), "{said}");
}
