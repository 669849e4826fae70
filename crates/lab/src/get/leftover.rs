//! What an earlier run has left of a file, and whose it is.

use super::names::Target;
use client::{Kept, Version};
use os::files::writer;
use page::Url;
use std::fs;
use unit::Ranges;

/// The lines of ours in the note beside a part.
pub(crate) fn label(url: &str, version: &Version) -> String {
    let length = version.length.map_or_else(|| "-".to_owned(), |length| length.to_string());
    let validator = version.validator.as_deref().unwrap_or("-");
    format!("url {url}\nlength {length}\nvalidator {validator}")
}

/// What is left of an earlier download of `target`. `half`: whether the file itself may be incomplete.
pub(crate) fn find(url: &Url, target: &Target, half: bool) -> Option<Kept> {
    let Target::File(path) = target else { return None };
    if let Some(left) = writer::inspect(path)
        && let Some(version) = version(&left.label, &url.to_string())
    {
        return Some(Kept { ranges: left.ranges, version });
    }
    if !half {
        return None;
    }
    let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    let mut ranges = Ranges::new();
    ranges.insert(0..length);
    Some(Kept { ranges, version: Version::default() })
}

/// The version that a label names; None if it is another URL's or has no validator.
fn version(label: &str, url: &str) -> Option<Version> {
    let mut lines = label.lines();
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    if value("url")? != url {
        return None;
    }
    let length = value("length")?.parse().ok();
    let validator = value("validator")?.to_owned();
    (validator != "-").then_some(Version { length, validator: Some(validator) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_believed_for_its_own_url_and_with_a_validator() {
        let known = Version { length: Some(7), validator: Some("\"x\"".to_owned()) };
        let text = label("http://a/", &known);
        assert_eq!(version(&text, "http://a/"), Some(known.clone()));
        assert_eq!(version(&text, "http://b/"), None);
        let unknown = label("http://a/", &Version { validator: None, ..known });
        assert_eq!(version(&unknown, "http://a/"), None);
        assert_eq!(version("rubbish", "http://a/"), None);
    }
}
