//! The server's role: it answers and pushes.

use super::framing::Spdy;
use super::settings::Settings;
use crate::connection::{Fin, ServerConnection};
use crate::error::{Misuse, Refused};
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::role::impl_connection;
use crate::multiplex::session::{Endowment, Session};
use crate::multiplex::status::Role;
use crate::schedule::Scheduler;
use crate::stream_id::StreamId;
use trace::Tracer;
use unit::Instant;

/// A server's session.
#[derive(Debug)]
pub struct Server {
    pub(super) session: Session<Spdy>,
}

impl_connection!(Server);

impl Server {
    /// A session that begins with SETTINGS. `scheduler` ranks response bodies.
    pub fn new(
        now: Instant,
        settings: Settings,
        scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        let endowment = Endowment { role: Role::Server, now, scheduler, tracer };
        Self { session: Spdy::session(endowment, settings) }
    }
}

impl ServerConnection for Server {
    /// Never: SPDY answers a stream once (SPDY §2.6.2).
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        self.session.inform(stream, head)
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        self.session.respond(stream, head, fin)
    }

    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Result<StreamId, Refused> {
        self.session.promise(parent, head)
    }
}
