//! An error in an experiment's file, and where it stands.

use std::ops::Range;
use unit::nearest;

/// What is wrong with an experiment's file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}{}", help(.suggestion.as_deref()))]
pub struct ExperimentError {
    /// The line of the fault.
    pub line: usize,
    /// The column of the fault.
    pub column: usize,
    /// The bytes of the text that are at fault.
    pub span: Range<usize>,
    /// What is wrong and what was expected.
    pub message: String,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

impl ExperimentError {
    /// A fault at `span` of `text`.
    pub(super) fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
            message: message.into(),
            suggestion: None,
        }
    }

    /// With the one of `candidates` that `name` is nearest to.
    pub(super) fn suggesting<'a>(
        mut self,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.suggestion = nearest(name, candidates).map(str::to_owned);
        self
    }

    /// The parser's own error, in our form.
    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let mut message = in_words_of_toml(&error.message().trim().replace('\n', ": "));
        let begins = ["name", "title", "question", "baseline"];
        let lacks = |field: &&str| message.starts_with(&format!("missing field `{field}`"));
        if span.start == 0 && begins.iter().any(lacks) {
            message
                .push_str("; an experiment begins with `name`, `title`, `question` and `baseline`");
        }
        let names = backquoted(&message);
        let built = Self::at(text, span, message.clone());
        // serde's wording for a name that it does not know: the name, then all that it knows.
        match names.split_first() {
            Some((name, known)) if message.starts_with("unknown ") => {
                match known_alias(name, known) {
                    Some(meant) => Self { suggestion: Some(meant.to_owned()), ..built },
                    None => built.suggesting(name, known.iter().copied()),
                }
            }
            _ => built,
        }
    }
}

pub(super) fn help(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// What a transport is called elsewhere: as a contender, or by the version alone. By letters `h1` is nearest to `h2`.
const ALIASES: [(&str, &str); 8] = [
    ("h1", "http/1.1"),
    ("h1-tls", "http/1.1"),
    ("http1", "http/1.1"),
    ("https", "http/1.1"),
    ("http/2", "h2"),
    ("http/3", "h3"),
    ("spdy", "spdy/3.1"),
    ("wss", "ws"),
];

/// The one of `known` that `name` is another name of.
fn known_alias<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (_, meant) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name))?;
    known.iter().copied().find(|one| one == meant)
}

/// serde names the Rust type that it expected; a reader of the file knows TOML's words.
fn in_words_of_toml(message: &str) -> String {
    let Some((before, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let plain = match expected.split_once(' ').map_or(expected, |(word, _)| word) {
        "struct" => "a table, as [[links]] or { name = \"…\" } begins one",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f32" | "f64" => "a number",
        _ => return message.to_owned(),
    };
    format!("{before}, expected {plain}")
}

fn backquoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    fn refused(text: &str) -> String {
        text.parse::<Experiment>().map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_transport_by_another_name_is_told_the_name_here() {
        for (wrong, right) in [("h1", "http/1.1"), ("http/2", "h2"), ("spdy", "spdy/3.1")] {
            let error =
                refused(&format!("[[contenders]]\nname = \"a\"\ntransport = \"{wrong}\"\n"));
            assert!(error.ends_with(&format!("did you mean `{right}`?")), "{error}");
        }
    }

    #[test]
    fn what_was_expected_is_told_in_words_of_toml() {
        let error = refused("links = [\"4g\"]\n");
        assert!(error.contains("expected a table") && !error.contains("LinkFile"), "{error}");
        let error = refused("trials = \"x\"\n");
        assert!(error.ends_with("expected a whole number"), "{error}");
    }

    #[test]
    fn all_that_an_experiment_begins_with_is_told_at_once() {
        let error = refused("[[workloads]]\nkind = \"page\"\n");
        assert!(error.contains("missing field `name`"), "{error}");
        assert!(
            error.ends_with("begins with `name`, `title`, `question` and `baseline`"),
            "{error}"
        );
    }
}
