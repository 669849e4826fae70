//! Words that completion offers for values that may be anything else too.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;
use study::experiment::{KNOWN_CONTENDERS, builtin};

/// Takes any text, and offers some to the shell.
#[derive(Debug, Clone)]
pub(crate) struct Suggested(Vec<&'static str>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(*name))))
    }
}

/// The built-in experiments.
pub(crate) fn experiments() -> Suggested {
    Suggested(builtin().iter().map(|builtin| builtin.name).chain(["published"]).collect())
}

/// The links known by name.
pub(crate) fn links() -> Suggested {
    Suggested(link::profiles().iter().map(|profile| profile.name).chain(["none"]).collect())
}

/// The contenders known by name.
pub(crate) fn contenders() -> Suggested {
    Suggested(KNOWN_CONTENDERS.iter().map(|known| known.name).collect())
}
