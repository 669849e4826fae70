//! What a client keeps of servers from one connection to the next, beside TLS's sessions.

use bytes::Bytes;
use proto::h3::PeerSettings;
use quinn_proto::{TokenMemoryCache, TokenStore};
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
    fn settings_of(&self, server: &str) -> Option<PeerSettings> {
        self.settings().get(server).copied()
    }

    fn remember(&self, server: &str, settings: PeerSettings) {
        let mut servers = self.settings();
        if servers.len() >= MAX_SERVERS && !servers.contains_key(server) {
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
    /// Host and port: another port is another server, which may know neither the tokens (RFC 9000 §8.1.3) nor the settings.
    name: Arc<str>,
    /// Whether this connection has told its settings.
    is_told: bool,
}

impl RememberedServer {
    pub(super) fn new(memory: &ServerMemory, host: &str, port: u16) -> Self {
        let name = format!("{host}:{port}").into();
        Self { memory: memory.clone(), name, is_told: false }
    }

    /// Its tokens.
    pub(super) fn tokens(&self) -> Arc<dyn TokenStore> {
        let (tokens, name) = (Arc::clone(&self.memory.tokens), Arc::clone(&self.name));
        Arc::new(TokensOf { tokens, name })
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

/// The tokens of one server, whatever quinn-proto calls it: it knows hosts alone.
struct TokensOf {
    tokens: Arc<TokenMemoryCache>,
    name: Arc<str>,
}

impl TokenStore for TokensOf {
    fn insert(&self, _host: &str, token: Bytes) {
        self.tokens.insert(&self.name, token);
    }

    fn take(&self, _host: &str) -> Option<Bytes> {
        self.tokens.take(&self.name)
    }
}

impl fmt::Debug for ServerMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMemory").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

/// Servers whose settings are kept: more hosts than the largest recorded page has.
const MAX_SERVERS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_known_takes_no_others_place() {
        let memory = ServerMemory::default();
        let name = |server: usize| format!("{server:04}.test:443");
        (0..MAX_SERVERS).for_each(|server| memory.remember(&name(server), PeerSettings::default()));
        memory.remember(&name(MAX_SERVERS - 1), PeerSettings::default());
        assert!((0..MAX_SERVERS).all(|server| memory.settings_of(&name(server)).is_some()));
        memory.remember(&name(MAX_SERVERS), PeerSettings::default());
        assert_eq!(memory.settings().len(), MAX_SERVERS);
    }
}
