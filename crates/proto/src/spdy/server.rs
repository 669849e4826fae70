//! The server's role: it answers and pushes.

use super::command::number;
use super::connection::{Core, Role};
use super::head_out::{self, Unsendable};
use super::settings::Settings;
use super::transmit::{fin_flag, syn_fields};
use crate::connection::{ConnectionState, Fin, ServerConnection, StreamId};
use crate::error::{Misuse, Refused};
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::outgoing::Ending;
use crate::multiplex::role::impl_connection;
use crate::multiplex::state::Step;
use crate::multiplex::streams::{BodyLength, HeadSent, Incoming, Opener};
use crate::schedule::{Priority, Scheduler};
use trace::Tracer;
use unit::Instant;
use wire::spdy::{FLAG_UNIDIRECTIONAL, FrameKind, LAST_STREAM};

/// A server's session.
#[derive(Debug)]
pub struct Server {
    pub(super) core: Core,
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
        Self { core: Core::new(Role::Server, now, settings, scheduler, tracer) }
    }
}

impl ServerConnection for Server {
    /// Never: SPDY answers a stream once (SPDY §2.6.2).
    fn inform(&mut self, stream: StreamId, _head: &ResponseHead) -> Result<(), Misuse> {
        number(stream).and_then(|id| self.core.streams.find(id)).ok_or(Misuse::UnknownStream)?;
        Err(Misuse::Unsendable("SPDY has no informational responses"))
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        if head.status.is_informational() {
            return Err(Misuse::Unsendable("a final status is 200 or above"));
        }
        head_out::check_fields(&head.fields).map_err(|Unsendable(why)| Misuse::Unsendable(why))?;
        let core = &mut self.core;
        let id = number(stream).ok_or(Misuse::UnknownStream)?;
        let stream = core.streams.find_mut(id).ok_or(Misuse::UnknownStream)?;
        if stream.head_sent == HeadSent::Yes {
            return Err(Misuse::OutOfOrder("a head after the head"));
        }
        stream.head_sent = HeadSent::Yes;
        if fin == Fin::Last {
            stream.outgoing.ending = Ending::Last;
        }
        match stream.opener {
            Opener::Peer => core.queue_reply(id, head, fin),
            // SPDY §3.3.1: the SYN_STREAM has gone ahead.
            Opener::We => core.queue_push_head(id, head, fin),
        }
        core.step(id, Step::SendHeaders);
        if fin == Fin::Last {
            core.finish_sending(id);
        }
        Ok(())
    }

    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Result<StreamId, Refused> {
        let core = &mut self.core;
        let limit = core.peer.max_concurrent_streams as usize;
        let open = number(parent).filter(|&parent| {
            core.streams
                .find(parent)
                .is_some_and(|stream| stream.opener == Opener::Peer && stream.state.gives_data())
        });
        // A client that lets us open no streams takes no pushes.
        let Some(parent) = open.filter(|_| limit > 0) else { return Err(Refused::NotAllowed) };
        if core.state != ConnectionState::Open || core.next_id > LAST_STREAM {
            return Err(Refused::Draining);
        }
        if core.streams.active(Opener::We) >= limit {
            return Err(Refused::Full);
        }
        head_out::check_request(head).map_err(|Unsendable(why)| Refused::Unsendable(why))?;
        let id = core.next_id;
        core.next_id += 2;
        let steps = [Step::SendPromise, Step::SendHeaders];
        let mut stream = core.new_stream(Opener::We, &steps, Fin::More);
        stream.incoming = Incoming::Body(BodyLength::None);
        core.streams.insert(id, stream);
        core.scheduler.insert(StreamId(u64::from(id)), Priority::Unset);
        core.promised.push(Promised { id, parent, head: head.clone() });
        Ok(StreamId(u64::from(id)))
    }
}

/// A push whose SYN_STREAM is still to be said.
#[derive(Debug)]
pub(super) struct Promised {
    pub(super) id: u32,
    parent: u32,
    head: RequestHead,
}

impl Core {
    /// Says the pushes whose answers nobody has begun; their heads come in HEADERS.
    pub(super) fn say_promises(&mut self) {
        for Promised { id, parent, head } in std::mem::take(&mut self.promised) {
            head_out::put_request(&mut self.encoder, &head);
            self.queue_push(id, parent, Fin::More);
        }
    }

    /// Says a push with its answer. Those promised before it are said before it, since identifiers only
    /// grow.
    pub(super) fn say_push(&mut self, id: u32, answer: &ResponseHead, fin: Fin) {
        let mut rest = std::mem::take(&mut self.promised).into_iter();
        for Promised { id: other, parent, head } in rest.by_ref() {
            if other == id {
                head_out::put_push(&mut self.encoder, &head, answer);
                self.queue_push(id, parent, fin);
                break;
            }
            head_out::put_request(&mut self.encoder, &head);
            self.queue_push(other, parent, Fin::More);
        }
        self.promised = rest.collect();
    }

    fn queue_push(&mut self, id: u32, parent: u32, fin: Fin) {
        let between = syn_fields(parent, self.settings.default_priority);
        let flags = FLAG_UNIDIRECTIONAL | fin_flag(fin);
        self.queue_block(FrameKind::SYN_STREAM, flags, id, &between);
    }
}
