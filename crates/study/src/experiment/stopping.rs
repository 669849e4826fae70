//! When a cell has run often enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the trials of a workload on a link end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// After as many trials as were asked for: the most is learnt from them.
    #[default]
    Fixed,
    /// At the first of a few looks at which all of its pairs are decided, and after as many trials as were asked
    /// for at the latest. Each look costs a share of the error: what is not decided early is decided less often.
    Sequential,
}

impl Stopping {
    /// Whether it is the default.
    pub fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}
