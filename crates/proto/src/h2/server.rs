//! The server's role: it answers, informs and promises.

use super::framing::Http2;
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

/// A server's connection.
#[derive(Debug)]
pub struct Server {
    pub(super) session: Session<Http2>,
}

impl_connection!(Server);

impl Server {
    /// A connection that expects the client's preface. `scheduler` ranks response bodies.
    pub fn new(
        now: Instant,
        settings: Settings,
        scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        let endowment = Endowment { role: Role::Server, now, scheduler, tracer };
        Self { session: Http2::session(endowment, settings) }
    }
}

impl ServerConnection for Server {
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        self.session.inform(stream, head)
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        self.session.respond(stream, head, fin)
    }

    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Result<StreamId, Refused> {
        self.session.promise(parent, head)
    }

    fn recycle(&mut self, head: RequestHead) {
        self.session.framing_mut().codec.recycle(head);
    }
}
