//! Ports that lead onto the link.

use crate::link::relay::Route;
use serde::{Deserialize, Serialize};

/// What a relay process is told, beside its listeners: the route of each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelayJob {
    pub(crate) routes: Vec<Route>,
}
