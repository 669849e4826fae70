//! Delivery policies: what our origin decides by itself, as TOML. `serve --policy` and experiments read them here;
//! docs/delivery.md has all keys.
//!
//! ```toml
//! priorities = "server-driven"   # who sends next: auto, rfc9218, rfc7540, spdy, fifo, round-robin, server-driven
//!
//! [[rules]]
//! path = "/index.html"
//! push = ["/style.css"]
//! ```

mod choice;
mod effect;
mod keys;
mod named;
#[cfg(test)]
mod tests;
mod upstream;

pub(crate) use choice::check_choices;
pub(crate) use named::BUILTIN_POLICIES;

use crate::error::{self, CliError};
use crate::inputs::regular::{self, LONGEST_TEXT, position};
use keys::Keys;
use named::builtin;
use origin::{DeliveryPolicy, PushCheck};
use proto::schedule::Policy;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use study::experiment::{Experiment, PolicyChoice};
use toml::Spanned;
use unit::Instant;

/// A policy in TOML, and what it is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PolicyText {
    name: String,
    text: String,
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PolicyFile {
    /// Who sends next where responses share a connection; None leaves the default.
    pub(crate) priorities: Option<Policy>,
    /// What is sent besides responses; None for nothing.
    pub(crate) delivery: Option<DeliveryPolicy>,
    /// What is pushed by list, with its place in the text.
    pushes: Vec<Spanned<String>>,
}

impl PolicyText {
    /// The built-in policy of this name, else the file at this path.
    pub(crate) fn find(named: &Path) -> Result<Self, CliError> {
        let name = named.to_str().unwrap_or_default();
        if let Some(text) = builtin(name) {
            return Ok(Self { name: name.to_owned(), text: text.to_owned() });
        }
        let looks_like_a_file = name.contains(['/', '.']) || named.exists();
        if !looks_like_a_file {
            return Err(named::unknown(name));
        }
        Self::of_file(named)
    }

    /// The file at this path.
    pub(crate) fn of_file(path: &Path) -> Result<Self, CliError> {
        let name = path.display().to_string();
        let text = regular::read_text(path, LONGEST_TEXT)
            .map_err(|error| error::file(format!("reading {name}"), &error))?;
        Ok(Self { name, text })
    }

    /// What a contender's `policy` stands for; files are in the folder `inputs`.
    pub(crate) fn of_choice(choice: &PolicyChoice, inputs: &Path) -> Result<Self, CliError> {
        match choice {
            PolicyChoice::Named(file) if choice.file().is_some() => {
                Self::of_file(&inputs.join(file))
            }
            PolicyChoice::Named(name) => match builtin(name) {
                Some(text) => Ok(Self { name: name.clone(), text: text.to_owned() }),
                None => Err(named::unknown(name)),
            },
            PolicyChoice::Keys(keys) => {
                let text = toml::to_string(keys).map_err(CliError::failed)?;
                Ok(Self { name: "policy".to_owned(), text })
            }
        }
    }

    /// What it says. An error names it, with line and column.
    pub(crate) fn read(&self) -> Result<PolicyFile, CliError> {
        PolicyFile::parse(&self.text).map_err(|fault| self.misuse(&fault))
    }

    /// The same, where all that it pushes by list can be pushed.
    pub(crate) fn read_for(&self, check: PushCheck) -> Result<PolicyFile, CliError> {
        let read = PolicyFile::parse(&self.text);
        let read = read.and_then(|policy| policy.check_pushes(check).map(|()| policy));
        read.map_err(|fault| self.misuse(&fault))
    }

    fn misuse(&self, Fault { span, words }: &Fault) -> CliError {
        let (line, column) = line_and_column(&self.text, span.start);
        CliError::misuse(format!("{}:{line}:{column}: {words}", self.name))
            .remedy("docs/delivery.md has the keys of a policy file, with examples")
    }
}

impl PolicyFile {
    fn parse(text: &str) -> Result<Self, Fault> {
        toml::from_str::<Keys>(text).map_err(|error| Fault::of_toml(&error))?.policy()
    }

    fn check_pushes(&self, mut check: PushCheck) -> Result<(), Fault> {
        for push in &self.pushes {
            // The time is of no account: a file is there or not.
            check.check(Instant::ZERO, push.get_ref()).map_err(|why| {
                Fault::at(push, format!("{:?} is not pushed: {why}", push.get_ref()))
            })?;
        }
        Ok(())
    }
}

/// Checks that each contender takes something of its policy.
pub(crate) fn check_effects(experiment: &Experiment) -> Result<(), CliError> {
    for contender in &experiment.contenders {
        if let Some(choice) = &contender.settings.policy {
            let policy = PolicyText::of_choice(choice, Path::new(""))?.read()?;
            policy.check_effect(contender).map_err(|words| {
                CliError::misuse(words)
                    .remedy("take the policy away, or give the contender what it needs")
            })?;
        }
    }
    Ok(())
}

/// What is wrong with a text, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    span: Range<usize>,
    words: String,
}

impl Fault {
    fn at<T>(place: &Spanned<T>, words: impl fmt::Display) -> Self {
        Self { span: place.span(), words: words.to_string() }
    }

    fn of_toml(error: &toml::de::Error) -> Self {
        Self { span: error.span().unwrap_or(0..0), words: error.message().to_owned() }
    }

    /// Where it is in `text`: line and column, both from 1.
    pub(crate) fn place(&self, text: &str) -> (usize, usize) {
        line_and_column(text, self.span.start)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    position(&text[..at.min(text.len())])
}
