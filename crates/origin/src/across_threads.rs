//! State that all threads of one server share. The one rule: it is asked for once a connection, or once a message, and never
//! for a request.

use crate::access::NotPushed;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of the last connection, and which skipped pushes were told. Each thread has a clone.
#[derive(Debug, Clone, Default)]
pub struct AcrossThreads {
    known: Arc<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Connections that were numbered.
    connections: AtomicU64,
    told: Mutex<HashSet<(Box<str>, NotPushed)>>,
}

impl AcrossThreads {
    /// The number of a connection that is accepted now, from 1.
    pub(crate) fn next_connection(&self) -> u64 {
        self.known.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether this is the first thread that tells of this push. Beyond [`MOST_TOLD`] none is.
    pub(crate) fn is_first_to_tell(&self, target: &str, why: NotPushed) -> bool {
        let mut told = self.known.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST_TOLD && told.insert((target.into(), why))
    }
}

/// Skipped pushes that are told, in all.
pub(crate) const MOST_TOLD: usize = 256;
