//! A view of a page after a first one, which each trial makes itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is left of the first view when the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NextView {
    /// Per cent of the stored responses that are gone; which ones, the block's seed decides (default 0).
    #[schemars(range(max = 100))]
    pub evicted: u32,
    /// How long ago the first view was, such as "2h" (default "0s"): stored responses are older by it.
    #[serde(with = "super::quantity::span")]
    #[schemars(with = "String")]
    pub away: Duration,
    /// How long wirelap's own origin says that all files but the document are fresh (default a year).
    #[serde(with = "super::quantity::span")]
    #[schemars(with = "String")]
    pub max_age: Duration,
}

impl Default for NextView {
    fn default() -> Self {
        Self { evicted: 0, away: Duration::ZERO, max_age: YEAR }
    }
}

/// What servers say of files whose names change with their contents (RFC 8246).
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
