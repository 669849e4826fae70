//! What `--fast` leaves of an experiment whose every trial takes long, or of which small workloads would answer another
//! question, beside what it leaves of any.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contenders, links and workloads that are enough. A command line that names contenders or links overrides them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fast {
    /// Contenders by name, the baseline among them; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contenders: Vec<String>,
    /// Workloads by name, which are left as they are; none: the small ones, with fewer serial calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Links by name; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}
