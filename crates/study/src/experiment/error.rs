//! An error in an experiment's file, and where it stands.

use crate::nearest;
use std::ops::Range;

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
        let message = error.message().trim().replace('\n', ": ");
        let names = backquoted(&message);
        let built = Self::at(text, span, message.clone());
        // serde's wording for a name that it does not know: the name, then all that it knows.
        match names.split_first() {
            Some((name, known)) if message.starts_with("unknown ") => {
                built.suggesting(name, known.iter().copied())
            }
            _ => built,
        }
    }
}

pub(super) fn help(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn backquoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}
