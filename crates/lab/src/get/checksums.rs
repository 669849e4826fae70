//! Files of checksums, in the format that sha256sum writes and reads with `-c`.

use crate::error::{self, CliError};
use secure::Digest;
use std::collections::BTreeMap;
use std::path::Path;

/// Digests by file name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksums(BTreeMap<String, Digest>);

impl Checksums {
    /// Reads `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let place = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| error::file(format!("reading {place}"), &error))?;
        Self::parse(&text).map_err(|(line, wrong)| {
            CliError::misuse(format!("{place}, line {line}: {wrong}"))
                .remedy("lines as sha256sum prints them are expected: DIGEST  NAME")
        })
    }

    /// The digest of the file called `name`, or of the one file whose path ends in it.
    pub(crate) fn find(&self, name: &str) -> Option<Digest> {
        if let Some(digest) = self.0.get(name) {
            return Some(*digest);
        }
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut alike = self.0.iter().filter(|(path, _)| last(path) == last(name));
        match (alike.next(), alike.next()) {
            (Some((_, digest)), None) => Some(*digest),
            _ => None,
        }
    }

    /// The error tells its line, counted from 1.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut digests = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: String| (index + 1, what);
            let (digest, name) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| wrong("there is no name".to_owned()))?;
            let digest =
                digest.parse().map_err(|error: secure::BadDigest| wrong(error.to_string()))?;
            // The second character of the gap distinguishes text from binary files. Here they are the same.
            let name = name.strip_prefix(['*', ' ']).unwrap_or(name);
            if digests.insert(name.to_owned(), digest).is_some_and(|before| before != digest) {
                return Err(wrong(format!("`{name}` is listed above with another digest")));
            }
        }
        Ok(Self(digests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sha256sum_are_read() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let text = format!("# made today\n{a}  one.jar\n\n{b} *lib/two words.jar\n");
        let sums = Checksums::parse(&text).unwrap();
        assert_eq!(sums.find("one.jar").unwrap().to_string(), a);
        assert_eq!(sums.find("two words.jar").unwrap().to_string(), b);
        assert_eq!(sums.find("three.jar"), None);
    }

    #[test]
    fn what_is_no_checksum_is_told_by_its_line() {
        let a = "a".repeat(64);
        let b = "b".repeat(64);
        for (text, line) in [
            (format!("{a}  x\nabc  y\n"), 2),
            (format!("{a}\n"), 1),
            (format!("{a}  x\n{b}  x\n"), 2),
        ] {
            assert_eq!(Checksums::parse(&text).unwrap_err().0, line, "{text}");
        }
    }
}
