//! The films of a run, for its report: those of the trials that the report's waterfalls draw.

use crate::inputs::regular;
use crate::race::run_folder::RunFolder;
use crate::trial::capture;
use report::{FilmFrame, FilmKey, Films};
use std::fs;
use std::path::Path;
use study::result::RunResult;
use subject::film::{Frame, visual_progress};

/// The film of each cell's median trial. What is no film, or cannot be read, is left out: the figures do not hang on it.
pub(crate) fn of_medians(folder: &RunFolder, result: &RunResult) -> Films {
    let film = |cell: &study::result::CellResult| {
        let trial = cell.median_trial.as_ref()?;
        let frames = of_trial(folder, &trial.key)?;
        let key = FilmKey {
            workload: cell.workload.name.clone(),
            link: cell.link.name.clone(),
            contender: cell.contender.name.clone(),
        };
        Some((key, frames))
    };
    result.cells.iter().filter_map(film).collect()
}

/// The film of the trial with this key; None where it has none.
pub(crate) fn of_trial(folder: &RunFolder, key: &str) -> Option<Vec<FilmFrame>> {
    frames(&folder.films().join(capture::file_stem(key)))
}

/// Bytes of a frame at most; one of 1280 x 720 has some hundred thousand.
const LONGEST_FRAME: u64 = 16 << 20;

/// The most frames of a film: ten minutes at 25 a second.
const MOST_FRAMES: usize = 15_000;

/// The frames in a folder, `MS.jpg` each, in the order of time, with their visual progress.
fn frames(folder: &Path) -> Option<Vec<FilmFrame>> {
    let mut frames: Vec<Frame> = fs::read_dir(folder)
        .ok()?
        .take(MOST_FRAMES)
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let at_ms: f64 = path.file_stem()?.to_str()?.parse().ok()?;
            let jpeg = regular::read(&path, LONGEST_FRAME).ok().filter(|_| at_ms.is_finite())?;
            Some(Frame { at_ms, jpeg })
        })
        .collect();
    frames.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
    let progress = visual_progress(&frames).ok();
    let percent = |place: usize| Some(progress.as_ref()?.frames.get(place)?.percent);
    let film = frames.into_iter().enumerate().map(|(place, frame)| FilmFrame {
        at_ms: frame.at_ms,
        jpeg: frame.jpeg,
        percent: percent(place),
    });
    Some(film.collect::<Vec<_>>()).filter(|film| !film.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_the_order_of_time_and_what_is_none_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/film");
        for (picture, name) in
            [("whole", "001200.5.jpg"), ("blank", "000000.0.jpg"), ("half", "000400.0.jpg")]
        {
            fs::copy(vectors.join(format!("{picture}.jpg")), folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("notes.txt"), "none").unwrap();
        let film = frames(folder.path()).unwrap();
        let times: Vec<f64> = film.iter().map(|frame| frame.at_ms).collect();
        assert_eq!(times, [0.0, 400.0, 1200.5]);
        assert_eq!((film[0].percent, film[2].percent), (Some(0.0), Some(100.0)));
        assert!(frames(&folder.path().join("none")).is_none());
    }
}
