//! The client's role: it opens streams and takes pushes.

use super::framing::Spdy;
use super::settings::Settings;
use crate::connection::{ClientConnection, Fin};
use crate::error::Refused;
use crate::message::RequestHead;
use crate::multiplex::role::impl_connection;
use crate::multiplex::session::{Endowment, Session};
use crate::multiplex::status::Role;
use crate::schedule::Scheduler;
use crate::stream_id::StreamId;
use trace::Tracer;
use unit::Instant;
use wire::spdy::Setting;

/// A client's session.
#[derive(Debug)]
pub struct Client {
    pub(super) session: Session<Spdy>,
}

impl_connection!(Client);

impl Client {
    /// A session that begins with SETTINGS. `scheduler` ranks request bodies.
    pub fn new(
        now: Instant,
        settings: Settings,
        scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        let endowment = Endowment { role: Role::Client, now, scheduler, tracer };
        Self { session: Spdy::session(endowment, settings) }
    }

    /// What the server asked to keep for the next session with it: put it into that session's
    /// [`Settings::persisted`] (SPDY §2.6.4).
    pub fn persisted(&self) -> &[Setting] {
        &self.session.framing().peer.persisted
    }
}

impl ClientConnection for Client {
    /// Asks. The stream's level can be set by `prioritise` until the request is transmitted.
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused> {
        self.session.request(now, head, fin)
    }

    fn available_streams(&self) -> usize {
        self.session.available_streams()
    }
}
