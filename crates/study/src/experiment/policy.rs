//! A delivery policy as a contender's setting. The one rule: its keys mean nothing here. The lab reads them, as it reads a
//! policy file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What wirelap's own origin pushes, hints and sends first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a policy's name, a file that ends in .toml, or a table with the keys of such a file"
)]
pub enum PolicyChoice {
    /// A built-in policy's name, or a policy file, whose name ends in `.toml`.
    Named(String),
    /// The keys of a policy file (docs/delivery.md).
    Keys(BTreeMap<String, Value>),
}

impl PolicyChoice {
    /// The file that it names.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Named(name) if name.ends_with(FILE_SUFFIX) => Some(name),
            Self::Named(_) | Self::Keys(_) => None,
        }
    }

    /// The file that it names, to be renamed.
    pub fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Named(name) if name.ends_with(FILE_SUFFIX) => Some(name),
            Self::Named(_) | Self::Keys(_) => None,
        }
    }
}

/// The name, or the keys as JSON.
impl fmt::Display for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Keys(keys) => {
                let text = serde_json::to_string(keys).map_err(|_| fmt::Error)?;
                f.write_str(&text)
            }
        }
    }
}

const FILE_SUFFIX: &str = ".toml";
