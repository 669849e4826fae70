//! What an earlier run has left of a file, and whose it is.

use super::names::Target;
use client::{Joins, Kept, Modified, Strength, Version};
use os::files::writer::{self, Unusable};
use page::Url;
use std::fs;
use unit::Ranges;

/// The lines of ours in the note beside a part.
pub(crate) fn label(url: &str, version: &Version) -> String {
    let or_none = |value: Option<&str>| value.unwrap_or("-").to_owned();
    let length = version.length.map_or_else(|| "-".to_owned(), |length| length.to_string());
    let tag = or_none(version.tag.as_deref());
    let modified = or_none(version.modified.as_ref().map(|modified| modified.date.as_str()));
    let strength = match version.modified.as_ref().map(|modified| modified.strength) {
        Some(Strength::Strong) => "strong",
        Some(Strength::Weak) | None => "weak",
    };
    format!("url {url}\nlength {length}\netag {tag}\nlast-modified {modified}\nstrength {strength}")
}

/// What is left of an earlier download.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// Nothing.
    None,
    /// Bytes to go on from.
    Usable(Kept),
    /// Bytes that cannot be used, and why.
    Unusable(String),
}

/// What is left of an earlier download of `target`. `half`: whether the file itself may be incomplete.
pub(crate) fn find(url: &Url, target: &Target, joins: Joins, half: bool) -> Leftover {
    let Target::File(path) = target else { return Leftover::None };
    let left = match writer::inspect(path) {
        Ok(left) => judge(left, &url.to_string(), joins),
        Err(Unusable::Nothing) => Leftover::None,
        Err(Unusable::NoProgress) => {
            Leftover::Unusable("nothing says which bytes of the partial file are there".to_owned())
        }
        Err(Unusable::Restarted) => Leftover::Unusable(
            "the machine has restarted since, and its last writes may be lost".to_owned(),
        ),
    };
    if matches!(left, Leftover::Usable(_)) || !half {
        return left;
    }
    match fs::metadata(path).ok().filter(fs::Metadata::is_file) {
        None => left,
        Some(file) => {
            let mut ranges = Ranges::new();
            ranges.insert(0..file.len());
            Leftover::Usable(Kept { ranges, version: Version::default() })
        }
    }
}

fn judge(left: writer::Leftover, url: &str, joins: Joins) -> Leftover {
    let Some((of, version)) = version(&left.label) else {
        return Leftover::Unusable("the note beside the partial file cannot be read".to_owned());
    };
    if of != url {
        return Leftover::Unusable(format!("the partial file is of another URL ({of})"));
    }
    match (version.validator(), joins) {
        (Ok(()), _) | (Err(_), Joins::DigestChecked) => {
            Leftover::Usable(Kept { ranges: left.ranges, version })
        }
        (Err(lack), Joins::Validated) => Leftover::Unusable(lack.to_string()),
    }
}

/// The URL and the version that a label names.
fn version(label: &str) -> Option<(&str, Version)> {
    let mut lines = label.lines();
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let url = value("url")?;
    let length = value("length")?.parse().ok();
    let given = |text: &str| (text != "-").then(|| text.to_owned());
    let (tag, date) = (given(value("etag")?), given(value("last-modified")?));
    let strength = match value("strength")? {
        "strong" => Strength::Strong,
        _ => Strength::Weak,
    };
    let modified = date.map(|date| Modified { date, strength });
    Some((url, Version { length, tag, modified }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(version: &Version) -> writer::Leftover {
        writer::Leftover { ranges: "0-5".parse().unwrap(), label: label("http://a/", version) }
    }

    #[test]
    fn a_label_keeps_all_that_names_the_version() {
        for tag in [None, Some("\"x\"".to_owned()), Some("W/\"x\"".to_owned())] {
            for strength in [Strength::Weak, Strength::Strong] {
                let modified = Some(Modified { date: "Sun, 06 Nov 1994".to_owned(), strength });
                let known = Version { length: Some(7), tag: tag.clone(), modified };
                assert_eq!(version(&label("http://a/", &known)), Some(("http://a/", known)));
            }
        }
        assert_eq!(version("rubbish"), None);
    }

    #[test]
    fn a_leftover_counts_for_its_own_url_and_with_a_validator_or_a_digest() {
        let known = Version { length: Some(7), tag: Some("\"x\"".to_owned()), modified: None };
        let usable = |left, url, joins| matches!(judge(left, url, joins), Leftover::Usable(_));
        assert!(usable(left(&known), "http://a/", Joins::Validated));
        assert!(!usable(left(&known), "http://b/", Joins::Validated));
        let unknown = Version { tag: None, ..known };
        assert!(!usable(left(&unknown), "http://a/", Joins::Validated));
        assert!(usable(left(&unknown), "http://a/", Joins::DigestChecked));
        assert!(!usable(left(&unknown), "http://b/", Joins::DigestChecked));
    }
}
