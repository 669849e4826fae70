//! The client's role: it opens streams and takes pushes.

use super::connection::{Core, Role};
use super::head_out;
use super::settings::Settings;
use super::transmit::{fin_flag, syn_fields};
use crate::connection::{ClientConnection, ConnectionState, Fin, StreamId};
use crate::error::Refused;
use crate::message::{Method, RequestHead};
use crate::multiplex::outgoing::Ending;
use crate::multiplex::role::impl_connection;
use crate::multiplex::state::Step;
use crate::multiplex::streams::{Asked, HeadSent, Opener};
use crate::schedule::{Priority, Scheduler};
use trace::Tracer;
use unit::Instant;
use wire::spdy::{FrameKind, LAST_STREAM, Setting};

/// A client's session.
#[derive(Debug)]
pub struct Client {
    pub(super) core: Core,
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
        Self { core: Core::new(Role::Client, now, settings, scheduler, tracer) }
    }

    /// What the server asked to keep for the next session with it: put it into that session's
    /// [`Settings::persisted`] (SPDY §2.6.4).
    pub fn persisted(&self) -> &[Setting] {
        &self.core.peer.persisted
    }
}

impl ClientConnection for Client {
    /// Asks. The stream's level can be set by `prioritise` until the request is transmitted.
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused> {
        let core = &mut self.core;
        core.now = now;
        if core.state != ConnectionState::Open || core.next_id > LAST_STREAM {
            return Err(Refused::Draining);
        }
        if core.streams.active(Opener::We) >= core.peer.max_concurrent_streams as usize {
            return Err(Refused::Full);
        }
        head_out::check_request(head)
            .map_err(|head_out::Unsendable(why)| Refused::Unsendable(why))?;
        let id = core.next_id;
        core.next_id += 2;
        let mut stream = core.new_stream(Opener::We, &[Step::SendHeaders], fin);
        stream.head_sent = HeadSent::Yes;
        if head.method == Method::Head {
            stream.asked = Asked::ForHeadOnly;
        }
        if fin == Fin::Last {
            stream.outgoing.ending = Ending::Sent;
        }
        core.streams.insert(id, stream);
        core.scheduler.insert(StreamId(u64::from(id)), Priority::Unset);
        head_out::put_request(&mut core.encoder, head);
        let between = syn_fields(0, core.settings.default_priority);
        core.queue_block(FrameKind::SYN_STREAM, fin_flag(fin), id, &between);
        Ok(StreamId(u64::from(id)))
    }

    fn room(&self) -> usize {
        if self.core.state != ConnectionState::Open {
            return 0;
        }
        let limit = self.core.peer.max_concurrent_streams as usize;
        let identifiers = (LAST_STREAM.saturating_sub(self.core.next_id) / 2) as usize;
        limit.saturating_sub(self.core.streams.active(Opener::We)).min(identifiers)
    }
}
