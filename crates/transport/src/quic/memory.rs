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

    fn settings_of(&self, server: &str) -> Option<PeerSettings> {
        self.settings().get(server).copied()
    }

    fn remember(&self, server: &str, settings: PeerSettings) {
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

/// The server of a connection, and what is kept of it.
pub(super) struct RememberedServer {
    memory: ServerMemory,
    name: String,
    /// Whether this connection has told its settings.
    is_told: bool,
}

impl RememberedServer {
    pub(super) fn new(memory: &ServerMemory, name: &str) -> Self {
        Self { memory: memory.clone(), name: name.to_owned(), is_told: false }
    }

    /// Its settings, from an earlier connection.
    pub(super) fn settings(&self) -> Option<PeerSettings> {
        self.memory.settings_of(&self.name)
    }

    /// Keeps its settings, once they are known. They are asked for until then.
    pub(super) fn tell(&mut self, settings: impl FnOnce() -> Option<PeerSettings>) {
        if !self.is_told
            && let Some(settings) = settings()
        {
            self.is_told = true;
            self.memory.remember(&self.name, settings);
        }
    }
}

impl fmt::Debug for ServerMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMemory").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

/// Servers whose settings are kept: more hosts than the largest recorded page has.
const MAX_SERVERS: usize = 512;
