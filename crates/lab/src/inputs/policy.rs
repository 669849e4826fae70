//! The file of `serve --policy`: what the origin decides by itself, as TOML.
//!
//! ```toml
//! priorities = "rfc9218"    # who sends next: auto, rfc9218, rfc7540, spdy, fifo, round-robin
//! ```

use crate::error::{self, CliError};
use proto::schedule::Policy;
use serde::Deserialize;
use std::fs;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// What a policy file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PolicyFile {
    /// Who sends next where responses share a connection; None leaves the default.
    pub(crate) priorities: Option<Policy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    priorities: Option<Spanned<String>>,
}

impl PolicyFile {
    /// Reads the file at `path`. An error names file, line and column.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let name = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| error::file(format!("reading {name}"), &error))?;
        Self::parse(&text).map_err(|Fault { span, words }| {
            let (line, column) = line_and_column(&text, span.start);
            CliError::misuse(format!("{name}:{line}:{column}: {words}"))
                .remedy("a policy file has the key `priorities`, such as priorities = \"rfc9218\"")
        })
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let keys: Keys = toml::from_str(text).map_err(|error| Fault {
            span: error.span().unwrap_or(0..0),
            words: error.message().to_owned(),
        })?;
        let priorities = keys.priorities.map(|field| {
            let name = field.get_ref().parse();
            name.map_err(|unknown: proto::schedule::UnknownPolicy| Fault {
                span: field.span(),
                words: unknown.to_string(),
            })
        });
        Ok(Self { priorities: priorities.transpose()? })
    }
}

/// What is wrong with the text, and where.
#[derive(Debug)]
struct Fault {
    span: Range<usize>,
    words: String,
}

/// Both from 1.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_named() {
        for policy in Policy::ALL {
            let read = PolicyFile::parse(&format!("priorities = \"{policy}\"")).unwrap();
            assert_eq!(read.priorities, Some(policy));
        }
        assert_eq!(PolicyFile::parse("# nothing\n").unwrap(), PolicyFile::default());
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let fault = PolicyFile::parse("\npriorities = \"lifo\"").unwrap_err();
        assert_eq!(line_and_column("\npriorities = \"lifo\"", fault.span.start), (2, 14));
        assert!(fault.words.contains("round-robin"), "{}", fault.words);
        let unknown = PolicyFile::parse("priority = \"fifo\"").unwrap_err();
        assert!(unknown.words.contains("unknown field"), "{}", unknown.words);
        assert!(PolicyFile::parse("priorities = 3").is_err());
    }
}
