//! How a trial ended: measured, or why its figures do not count.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Its figures count.
    Measured,
    /// The audit found a reason not to trust its figures.
    Invalid {
        /// What the audit found.
        reason: String,
    },
    /// The contender did not do the work. It ranks as the slowest.
    Failed {
        /// What went wrong.
        reason: String,
    },
    /// This machine cannot run it.
    Unsupported {
        /// What is missing.
        reason: String,
        /// What would fix it.
        remedy: String,
    },
}

impl Outcome {
    /// Why the figures do not count; None for a measured trial.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured => None,
            Self::Invalid { reason }
            | Self::Failed { reason }
            | Self::Unsupported { reason, .. } => Some(reason),
        }
    }
}
