//! The two roles of a session.

use super::framing::Spdy;
use super::settings::Settings;
use crate::multiplex::Session;
use crate::multiplex::role::impl_roles;
use wire::spdy::Setting;

/// A client's session. The level of a stream can be set by `prioritise` until its request is
/// transmitted.
#[derive(Debug)]
pub struct Client {
    pub(super) session: Session<Spdy>,
}

/// A server's session. It has no informational responses: SPDY answers a stream once (SPDY §2.6.2).
#[derive(Debug)]
pub struct Server {
    pub(super) session: Session<Spdy>,
}

impl_roles!(Spdy, Settings);

impl Client {
    /// What the server asked to keep for the next session with it: put it into that session's
    /// [`Settings::persisted`] (SPDY §2.6.4).
    pub fn persisted(&self) -> &[Setting] {
        &self.session.framing.peer.persisted
    }
}
