//! The client's role: it opens streams and takes promises.

use super::framing::Http2;
use super::settings::Settings;
use crate::connection::{ClientConnection, Fin};
use crate::error::Refused;
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::role::impl_connection;
use crate::multiplex::session::{Endowment, Session};
use crate::multiplex::status::Role;
use crate::schedule::Scheduler;
use crate::stream_id::StreamId;
use trace::Tracer;
use unit::Instant;

/// A client's connection. A server may reset a stream with NO_ERROR after its whole answer, to say that
/// it needs no more of the request (RFC 9113 §8.1): the answer then came before `Event::Reset`, and counts.
#[derive(Debug)]
pub struct Client {
    pub(super) session: Session<Http2>,
}

impl_connection!(Client);

impl Client {
    /// A connection that begins with the preface. `scheduler` ranks request bodies.
    pub fn new(
        now: Instant,
        settings: Settings,
        scheduler: Box<dyn Scheduler>,
        tracer: Tracer,
    ) -> Self {
        let endowment = Endowment { role: Role::Client, now, scheduler, tracer };
        Self { session: Http2::session(endowment, settings) }
    }

    /// Whether the server has said that it takes extended CONNECT (RFC 8441 §3).
    pub fn takes_extended_connect(&self) -> bool {
        self.session.framing().peer.enable_connect_protocol
    }
}

impl ClientConnection for Client {
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused> {
        self.session.request(now, head, fin)
    }

    fn recycle(&mut self, head: ResponseHead) {
        self.session.framing_mut().codec.recycle_fields(head.fields);
    }

    fn available_streams(&self) -> usize {
        self.session.available_streams()
    }
}
