//! When a cell has run often enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the trials of a workload on a link end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// After all trials that were asked for. This learns the most.
    #[default]
    Fixed,
    /// At the first of a few looks at which all of its pairs are decided, at the latest after all trials that were
    /// asked for. Each look costs a share of the error, so fewer differences are found in a run that does not end
    /// early.
    Sequential,
}

impl Stopping {
    /// Whether it is the default.
    pub fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}
