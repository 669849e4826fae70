//! The capture of a trial: which file it goes to, and the TLS secrets that both ends tell for it.

use crate::link::capture::Capture;
use crate::trial::job::TrialOrder;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The longest name of a file, less what is put behind it, on the file systems of Linux.
const LONGEST_NAME: usize = 200;

/// A trial's capture, begun; None where it is to have none.
pub(crate) fn begin(order: &TrialOrder) -> io::Result<Option<Capture>> {
    if order.capture.is_none() {
        return Ok(None);
    }
    fs::create_dir_all(&order.scratch)?;
    Capture::begin(&order.scratch.join("packets")).map(Some)
}

/// Keeps a trial's capture with the TLS secrets of both ends.
pub(crate) fn keep(capture: Option<Capture>, order: &TrialOrder) -> Result<(), String> {
    let (Some(capture), Some(to)) = (capture, &order.capture) else { return Ok(()) };
    let (near, far) = (read(&near_keys(order)), read(&far_keys(order)));
    let plan = &order.plan;
    let about = format!(
        "{}, trial {}: {} over {}, seed {}",
        plan.experiment,
        plan.key,
        plan.cell.contender.name,
        plan.cell.link.text(),
        plan.seed
    );
    capture
        .finish(to, &about, &lines_once(&near, &far))
        .map_err(|error| format!("keeping the capture {}: {error}", to.display()))
}

/// Where the client of a trial with a capture writes its secrets.
pub(crate) fn near_keys(order: &TrialOrder) -> PathBuf {
    order.scratch.join("keys")
}

/// Where our origin does: not every client tells its own.
pub(crate) fn far_keys(order: &TrialOrder) -> PathBuf {
    order.scratch.join("far-keys")
}

/// Gives the user's own key log what our client wrote for the capture.
pub(crate) fn share_keys(order: &TrialOrder) {
    let (Some(_), Some(path)) = (&order.capture, &order.key_log) else { return };
    let appended = OpenOptions::new().create(true).append(true).open(path);
    // It is for looking at packets; no figure hangs on it.
    let _ = appended.and_then(|mut file| file.write_all(read(&near_keys(order)).as_bytes()));
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The lines of both, those of both ends once.
fn lines_once(near: &str, far: &str) -> String {
    let mut seen = BTreeSet::new();
    let lines = near.lines().chain(far.lines()).filter(|line| seen.insert(*line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The file of a trial's capture.
pub(crate) fn file_name(key: &str) -> String {
    file_stem(key) + ".pcapng"
}

/// What the names of a trial's files begin with, by the trial's key: no two keys have the same.
pub(crate) fn file_stem(key: &str) -> String {
    let mut name = String::new();
    for (at, byte) in key.bytes().enumerate() {
        match byte {
            b'/' => name.push('+'),
            b'.' if at == 0 => name.push_str("%2E"),
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'_' | b'~' | b',' | b'=' => {
                name.push(char::from(byte));
            }
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    if name.len() > LONGEST_NAME {
        let mark = unit::Seed(0).child(key).0;
        name.truncate(LONGEST_NAME - 17);
        name.push_str(&format!("-{mark:016x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_a_plain_name_of_its_own() {
        assert_eq!(file_name("page/3g/h2-tls/w0~1"), "page+3g+h2-tls+w0~1.pcapng");
        assert_eq!(file_name("a+b/c"), "a%2Bb+c.pcapng");
        assert_eq!(file_name("../x y%2F"), "%2E.+x%20y%252F.pcapng");
        let long = |end: &str| file_name(&format!("{}{end}", "\u{fc}".repeat(300)));
        assert!(long("1").len() < 255 && long("1") != long("2"));
    }

    #[test]
    fn what_both_ends_tell_is_kept_once() {
        assert_eq!(lines_once("A 1\nB 2\n", "B 2\nC 3"), "A 1\nB 2\nC 3\n");
        assert_eq!(lines_once("", ""), "");
    }
}
