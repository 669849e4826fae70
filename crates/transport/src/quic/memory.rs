//! What a client keeps of servers from one connection to the next, beside TLS's sessions.

use proto::h3::PeerSettings;
use quinn_proto::TokenMemoryCache;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tokens that prove the client's address (NEW_TOKEN, RFC 9000 §8.1.3), and the SETTINGS of HTTP/3 servers, by which early
/// data keeps (RFC 9114 §7.2.4.2). Clones share it.
#[derive(Clone, Default)]
pub struct ServerMemory {
    tokens: Arc<TokenMemoryCache>,
    settings: Arc<Mutex<BTreeMap<String, PeerSettings>>>,
}

impl ServerMemory {
    pub(super) fn tokens(&self) -> Arc<TokenMemoryCache> {
        Arc::clone(&self.tokens)
    }

    pub(super) fn settings_of(&self, server: &str) -> Option<PeerSettings> {
        self.settings().get(server).copied()
    }

    pub(super) fn remember(&self, server: &str, settings: PeerSettings) {
        let mut servers = self.settings();
        if servers.len() >= MAX_SERVERS {
            servers.pop_first();
        }
        servers.insert(server.to_owned(), settings);
    }

    fn settings(&self) -> MutexGuard<'_, BTreeMap<String, PeerSettings>> {
        // A panic elsewhere leaves whole settings.
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ServerMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMemory").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

/// Servers whose settings are kept: more hosts than the largest recorded page has.
const MAX_SERVERS: usize = 512;
