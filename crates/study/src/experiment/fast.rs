//! What `--fast` leaves of an experiment whose every trial takes long, beside what it leaves of any.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contenders and links that are enough to see that everything works. A command line that names its own goes before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fast {
    /// Contenders by name, the baseline among them; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contenders: Vec<String>,
    /// Links by name; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}
