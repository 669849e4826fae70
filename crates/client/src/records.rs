//! The records that a workload keeps.

use trace::{ConnectionRecord, FetchRecord};

/// What was fetched, and over which connections.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// The fetches, in the order in which they ended.
    pub fetches: Vec<FetchRecord>,
    /// The connections that were used, in the order in which they ended.
    pub connections: Vec<ConnectionRecord>,
}
