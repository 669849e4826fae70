//! The policies that are part of wirelap, by name.

use crate::error::CliError;

/// A policy that is part of wirelap.
pub(crate) struct BuiltinPolicy {
    /// The name that `policy` and `serve --policy` take.
    pub(crate) name: &'static str,
    /// Its text. The comment at its top says what it does.
    pub(crate) toml: &'static str,
}

macro_rules! policies {
    ($($name:literal),+ $(,)?) => {
        &[$(BuiltinPolicy {
            name: $name,
            toml: include_str!(concat!("../../../../../policies/", $name, ".toml")),
        }),+]
    };
}

/// All of them.
pub(crate) const BUILTIN_POLICIES: &[BuiltinPolicy] = policies![
    "none",
    "preload",
    "push",
    "push-casper",
    "push-preload",
    "early-hints",
    "server-driven",
    "hero-first",
    "h2o-2015",
    "rules-of-thumb",
];

impl BuiltinPolicy {
    /// What it does, in a line: its first comment.
    pub(crate) fn title(&self) -> &'static str {
        self.toml.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

/// The text of the policy of this name.
pub(super) fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN_POLICIES.iter().find(|policy| policy.name == name).map(|policy| policy.toml)
}

/// That no policy has this name, and which there are.
pub(super) fn unknown_words(name: &str) -> String {
    format!("no policy is called `{name}`; {}", known(name))
}

pub(super) fn unknown(name: &str) -> CliError {
    CliError::misuse(format!("no policy is called `{name}`")).remedy(known(name))
}

fn known(name: &str) -> String {
    let names: Vec<&str> = BUILTIN_POLICIES.iter().map(|policy| policy.name).collect();
    let guess = unit::nearest(name, names.iter().copied());
    let guess = guess.map_or_else(String::new, |guess| format!("did you mean `{guess}`? "));
    format!("{guess}known are {}, and files that end in .toml", names.join(", "))
}
