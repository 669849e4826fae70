//! Film files, read back.

use super::*;
use std::io::Cursor;

const BLANK: &[u8] = include_bytes!("../../../../vectors/film/blank.jpg");
const HALF: &[u8] = include_bytes!("../../../../vectors/film/half.jpg");
const WHOLE: &[u8] = include_bytes!("../../../../vectors/film/whole.jpg");

/// Frames of so many milliseconds, picture and percentage.
fn film(shown: &[(f64, &[u8], f64)]) -> Vec<FilmFrame> {
    let frame = |&(at_ms, jpeg, percent): &(f64, &[u8], f64)| FilmFrame {
        at_ms,
        jpeg: jpeg.to_owned(),
        percent: Some(percent),
    };
    shown.iter().map(frame).collect()
}

fn loaded_after(ms: f64) -> Vec<FilmFrame> {
    film(&[
        (12.0, BLANK, 0.0),
        (ms / 2.0, HALF, 50.0),
        (ms, WHOLE, 100.0),
        (ms + 900.0, WHOLE, 100.0),
    ])
}

fn file(left: &[FilmFrame], right: &[FilmFrame]) -> Result<Vec<u8>, FilmFileError> {
    let side = |label, frames| FilmSide { label, frames };
    side_by_side(side("h1-tls", left), side("h2 (priorities)", right))
}

/// A frame as a viewer shows it, and its delay in milliseconds.
struct Seen {
    pixels: Vec<[u8; 3]>,
    delay_ms: u32,
    written: (u32, u32),
}

/// Width, height, plays and frames of a file.
fn read(file: &[u8]) -> (usize, usize, u32, Vec<Seen>) {
    let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let animation = *reader.info().animation_control().unwrap();
    let mut pixels = vec![[0; 3]; width * height];
    let mut seen = Vec::new();
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    for _ in 0..animation.num_frames {
        let output = reader.next_frame(&mut buffer).unwrap();
        let control = *reader.info().frame_control().unwrap();
        let rows = buffer[..output.buffer_size()].chunks(output.line_size);
        for (y, row) in rows.enumerate() {
            let at = (control.y_offset as usize + y) * width + control.x_offset as usize;
            let (row, _) = row.as_chunks::<3>();
            pixels[at..at + row.len()].copy_from_slice(row);
        }
        seen.push(Seen {
            pixels: pixels.clone(),
            delay_ms: 1000 * u32::from(control.delay_num) / u32::from(control.delay_den),
            written: (control.width, control.height),
        });
    }
    assert!(reader.next_frame(&mut buffer).is_err(), "more frames than it says");
    (width, height, animation.num_plays, seen)
}

#[test]
fn it_runs_at_real_speed_to_the_last_change_of_the_slower_one_and_rests() {
    let file = file(&loaded_after(640.0), &loaded_after(1180.0)).unwrap();
    let (width, height, plays, seen) = read(&file);
    // Two columns for text, as the pictures are smaller; margins and the gap.
    assert_eq!(
        (width, height, plays),
        (10 + 160 + 20 + 160 + 10, 10 + 18 + 10 + 48 + 10 + 18 + 10, 0)
    );
    // 0, 0.1 ... 1.2 s.
    let delays: Vec<u32> = seen.iter().map(|frame| frame.delay_ms).collect();
    assert_eq!(delays, [[100; 12].as_slice(), &[1500]].concat());
}

#[test]
fn each_side_shows_what_was_there_at_the_time() {
    let (width, _, _, seen) = read(&file(&loaded_after(640.0), &loaded_after(1180.0)).unwrap());
    // The first and the last column of a picture, in the middle of its height.
    let corners = |frame: usize, x: usize| {
        let row = (38 + 24) * width;
        [x, x + 63].map(|x| seen[frame].pixels[row + x][2] > 200)
    };
    // Navy and orange are dark in blue, white is not.
    let (nothing, half, whole) = ([true, true], [false, true], [false, false]);
    let sides = |frame: usize| [corners(frame, 10), corners(frame, 190)];
    assert_eq!(sides(0), [nothing, nothing]);
    assert_eq!(sides(3), [nothing, nothing]);
    assert_eq!(sides(4), [half, nothing]);
    assert_eq!(sides(6), [half, half]);
    assert_eq!(sides(7), [whole, half]);
    assert_eq!(sides(12), [whole, whole]);
}

#[test]
fn the_first_frame_is_whole_and_the_others_are_what_changed() {
    let (width, height, _, seen) =
        read(&file(&loaded_after(640.0), &loaded_after(1180.0)).unwrap());
    assert_eq!(seen[0].written, (width as u32, height as u32));
    // At 0.2 s only the tenths of both times are another.
    let (_, changed) = seen[2].written;
    assert!(changed <= 14, "{changed}");
    // One side's time stops at 0.64 s. Then a figure of the other is another, at 1.1 s.
    assert!(seen[11].written.0 <= 10, "{:?}", seen[11].written);
}

#[test]
fn a_long_load_is_cut_at_ten_seconds() {
    let (_, _, _, seen) = read(&file(&loaded_after(640.0), &loaded_after(31_000.0)).unwrap());
    let total: u32 = seen.iter().map(|frame| frame.delay_ms).sum();
    assert_eq!((seen.len(), total), (85, 9_900));
}

#[test]
fn times_stop_where_the_page_is_complete_or_changes_no_more() {
    let caption = |frames: &[FilmFrame], at_ms: f64| {
        let side = Side::of(FilmSide { label: "h2", frames }).unwrap();
        let (time, percent) = side.caption(at_ms);
        [time, percent]
    };
    let mut frames = loaded_after(640.0);
    assert_eq!(caption(&frames, 0.0), ["0.0 s", "0 %"]);
    assert_eq!(caption(&frames, 600.0), ["0.6 s", "50 %"]);
    assert_eq!(caption(&frames, 700.0), ["0.64 s", "100 %"]);
    assert_eq!(caption(&frames, 9000.0), ["0.64 s", "100 %"]);
    frames.iter_mut().for_each(|frame| frame.percent = None);
    assert_eq!(caption(&frames, 600.0), ["0.6 s", ""]);
    assert_eq!(caption(&frames, 9000.0), ["0.64 s", ""]);
}

#[test]
fn films_that_do_not_change_and_labels_that_do_not_fit_are_drawn_too() {
    let still = film(&[(0.0, BLANK, 100.0)]);
    let label = "a contender of a name that is much too long".repeat(3);
    let side = FilmSide { label: &label, frames: &still };
    let (width, _, _, seen) = read(&side_by_side(side, side).unwrap());
    assert_eq!((width, seen.len(), seen[0].delay_ms), (360, 1, 1500));
    // Nothing is written beyond the first column.
    let gap = |row: &[[u8; 3]]| row[170..189].iter().all(|pixel| *pixel == GROUND);
    assert!(seen[0].pixels.chunks(width).all(gap));
}

#[test]
fn films_that_cannot_be_drawn_are_named() {
    let whole = loaded_after(500.0);
    assert_eq!(
        file(&whole, &[]).unwrap_err().to_string(),
        "the film of h2 (priorities) has no frames"
    );
    let broken = film(&[(0.0, BLANK, 0.0), (250.5, b"GIF89a", 100.0)]);
    let said = file(&broken, &whole).unwrap_err().to_string();
    let expected = "the film of h1-tls has a frame at 250.5 ms that cannot be decoded as JPEG: ";
    assert!(said.starts_with(expected), "{said}");
}
