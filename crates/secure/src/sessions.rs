//! A client's store of sessions: as rustls's own, with as many tickets of a server as a client may have connections to it.

use rustls::NamedGroup;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sessions of a client, by the ports of its servers: rustls asks for them by host, and the servers of one host do not take each
/// other's tickets. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionsByPort(Arc<Mutex<BTreeMap<u16, Arc<ClientSessions>>>>);

impl SessionsByPort {
    /// Those of the servers at this port.
    pub(crate) fn of(&self, port: u16) -> Arc<ClientSessions> {
        // A panic elsewhere leaves whole sessions.
        let mut ports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ports.len() >= PORTS && !ports.contains_key(&port) {
            // The usual ports are low.
            ports.pop_last();
        }
        Arc::clone(ports.entry(port).or_default())
    }
}

/// The sessions of a client. A ticket of TLS 1.3 serves one connection (RFC 8446 §C.4).
#[derive(Debug)]
pub(crate) struct ClientSessions {
    /// All but the tickets of TLS 1.3.
    others: ClientSessionMemoryCache,
    tickets: Mutex<HashMap<ServerName<'static>, VecDeque<Tls13ClientSessionValue>>>,
}

impl Default for ClientSessions {
    fn default() -> Self {
        // rustls counts eight tickets for each server.
        Self { others: ClientSessionMemoryCache::new(8 * SERVERS), tickets: Mutex::default() }
    }
}

impl ClientSessions {
    fn tickets(
        &self,
    ) -> MutexGuard<'_, HashMap<ServerName<'static>, VecDeque<Tls13ClientSessionValue>>> {
        // A panic elsewhere leaves whole tickets.
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for ClientSessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.others.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.others.kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.others.set_tls12_session(server, session);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.others.tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.others.remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut servers = self.tickets();
        if servers.len() >= SERVERS && !servers.contains_key(&server) {
            // No page has so many hosts: any of them may go.
            let any = servers.keys().next().cloned();
            any.map(|any| servers.remove(&any));
        }
        let tickets = servers.entry(server).or_default();
        if tickets.len() >= TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.tickets().get_mut(server)?.pop_back()
    }
}

/// Ports whose sessions are kept: more than any page names.
const PORTS: usize = 64;

/// Servers of a port whose sessions are kept: more hosts than the largest recorded page has.
const SERVERS: usize = 512;

/// Tickets kept of each: more connections than any client of ours opens to a host.
const TICKETS: usize = 256;
