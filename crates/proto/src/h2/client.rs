//! The client's role: it opens streams and takes promises.

use super::connection::{Core, Role};
use super::head_out;
use super::settings::Settings;
use crate::connection::{ClientConnection, ConnectionState, Fin, StreamId};
use crate::error::Refused;
use crate::message::{Method, RequestHead, ResponseHead};
use crate::multiplex::outgoing::Ending;
use crate::multiplex::role::impl_connection;
use crate::multiplex::state::Step;
use crate::multiplex::streams::{Asked, HeadSent, Opener};
use crate::prepared::Prepared;
use crate::schedule::{Priority, Scheduler};
use trace::Tracer;
use unit::Instant;
use wire::h2::LAST_STREAM;

/// A client's connection. A server may reset a stream with NO_ERROR after its whole answer, to say that
/// it needs no more of the request (RFC 9113 §8.1): the answer then came before `Event::Reset`, and counts.
#[derive(Debug)]
pub struct Client {
    pub(super) core: Core,
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
        Self { core: Core::new(Role::Client, now, settings, scheduler, tracer) }
    }

    /// Whether the server has said that it takes extended CONNECT (RFC 8441 §3).
    pub fn takes_extended_connect(&self) -> bool {
        self.core.peer.enable_connect_protocol
    }
}

impl Core {
    /// Whether a stream can be opened for `head`.
    fn check_room(&self, head: &RequestHead) -> Result<(), Refused> {
        if self.state != ConnectionState::Open || self.next_id > LAST_STREAM {
            return Err(Refused::Draining);
        }
        if self.streams.active(Opener::We) >= self.peer.max_concurrent_streams as usize {
            return Err(Refused::Full);
        }
        if head.protocol.is_some() && !self.peer.enable_connect_protocol {
            return Err(Refused::NotAllowed);
        }
        Ok(())
    }

    /// Opens a stream whose HEADERS follow.
    fn open_stream(&mut self, head: &RequestHead, fin: Fin) -> u32 {
        let id = self.next_id;
        self.next_id += 2;
        let mut stream = self.new_stream(Opener::We, Step::SendHeaders, fin);
        stream.head_sent = HeadSent::Yes;
        if head.method == Method::Head {
            stream.asked = Asked::ForHeadOnly;
        }
        if fin == Fin::Last {
            stream.outgoing.ending = Ending::Sent;
        }
        self.streams.insert(id, stream);
        self.scheduler.insert(StreamId(u64::from(id)), Priority::Unset);
        id
    }
}

impl ClientConnection for Client {
    fn request(&mut self, now: Instant, head: &RequestHead, fin: Fin) -> Result<StreamId, Refused> {
        let core = &mut self.core;
        core.now = now;
        core.check_room(head)?;
        head_out::check_request(head, core.peer.max_header_list_size)
            .map_err(|head_out::Unsendable(why)| Refused::Unsendable(why))?;
        let id = core.open_stream(head, fin);
        let mut block = std::mem::take(&mut core.scratch);
        block.clear();
        head_out::encode_request(&mut core.encoder, head, &mut block);
        core.count_block(id, core.encoder.plain_size(), block.len());
        core.queue_block(id, fin, &block);
        core.scratch = block;
        Ok(StreamId(u64::from(id)))
    }

    fn request_prepared(&mut self, now: Instant, prepared: &Prepared) -> Result<StreamId, Refused> {
        let core = &mut self.core;
        let era = core.encoder.era();
        let name = (prepared.id(), core.peer.max_header_list_size);
        let (head, fin) = (prepared.head(), prepared.fin());
        let Some((plain, known)) = core.known_requests.find(era, |&known| known == name) else {
            let stream = self.request(now, head, fin)?;
            let core = &mut self.core;
            let (eras, plain) = ((era, core.encoder.era()), core.encoder.plain_size());
            core.known_requests.keep(eras, &core.scratch, (plain, name));
            return Ok(stream);
        };
        let mut block = std::mem::take(&mut core.scratch);
        block.clear();
        block.extend_from_slice(known);
        core.now = now;
        let opened = core.check_room(head).map(|()| core.open_stream(head, fin));
        if let Ok(id) = opened {
            core.count_block(id, plain, block.len());
            core.queue_block(id, fin, &block);
        }
        core.scratch = block;
        opened.map(|id| StreamId(u64::from(id)))
    }

    fn recycle(&mut self, head: ResponseHead) {
        self.core.room = head.fields;
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
