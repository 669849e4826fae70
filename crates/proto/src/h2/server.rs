//! The server's role: it answers, informs and promises.

use super::command::number;
use super::connection::{Core, Role};
use super::head_out::{self, Unsendable};
use super::settings::Settings;
use crate::connection::{ConnectionState, Fin, ServerConnection, StreamId};
use crate::error::{Misuse, Refused};
use crate::message::{RequestHead, ResponseHead};
use crate::multiplex::role::impl_connection;
use crate::multiplex::state::{State, Step};
use crate::multiplex::streams::{BodyLength, HeadSent, Incoming, Opener};
use crate::schedule::{Priority, Scheduler};
use trace::Tracer;
use unit::Instant;
use wire::h2::{FrameHeader, FrameKind, LAST_STREAM};

/// A server's connection.
#[derive(Debug)]
pub struct Server {
    pub(super) core: Core,
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
        Self { core: Core::new(Role::Server, now, settings, scheduler, tracer) }
    }
}

impl ServerConnection for Server {
    fn inform(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), Misuse> {
        if !head.status.is_informational() || head.status.code() == 101 {
            return Err(Misuse::Unsendable("an informational status is 100 or 102 to 199"));
        }
        let id = answerable(&self.core, stream, head)?;
        self.core.queue_response(id, head, Fin::More);
        Ok(())
    }

    fn respond(&mut self, stream: StreamId, head: &ResponseHead, fin: Fin) -> Result<(), Misuse> {
        if head.status.is_informational() {
            return Err(Misuse::Unsendable("a final status is 200 or above"));
        }
        let id = answerable(&self.core, stream, head)?;
        let core = &mut self.core;
        core.queue_response(id, head, fin);
        core.step(id, Step::SendHeaders);
        if let Some(stream) = core.streams.find_mut(id) {
            stream.head_sent = HeadSent::Yes;
            if fin == Fin::Last {
                stream.outgoing.ending = crate::multiplex::outgoing::Ending::Last;
                core.finish_sending(id);
            }
        }
        Ok(())
    }

    fn promise(&mut self, parent: StreamId, head: &RequestHead) -> Result<StreamId, Refused> {
        let core = &mut self.core;
        let parent = number(parent).filter(|&parent| {
            core.streams
                .find(parent)
                .is_some_and(|stream| stream.opener == Opener::Peer && stream.state.gives_data())
        });
        let Some(parent) = parent.filter(|_| core.peer.enable_push) else {
            return Err(Refused::NotAllowed);
        };
        if core.state != ConnectionState::Open || core.next_id > LAST_STREAM {
            return Err(Refused::Draining);
        }
        let limit = core.peer.max_concurrent_streams as usize;
        let promised = core
            .streams
            .select(|_, stream| stream.opener == Opener::We && stream.state != State::Closed);
        if promised.len() >= limit {
            return Err(Refused::Full);
        }
        head_out::check_request(head, core.peer.max_header_list_size)
            .map_err(|Unsendable(why)| Refused::Unsendable(why))?;
        let id = core.next_id;
        core.next_id += 2;
        let mut stream = core.new_stream(Opener::We, Step::SendPromise, Fin::More);
        stream.incoming = Incoming::Body(BodyLength::None);
        core.streams.insert(id, stream);
        core.scheduler.insert(StreamId(u64::from(id)), Priority::Unset);
        queue_promise(core, parent, id, head);
        Ok(StreamId(u64::from(id)))
    }

    fn recycle(&mut self, head: RequestHead) {
        let spare = &mut self.core.spare_heads;
        if spare.len() < SPARE_HEADS && head.room() <= SPARE_ROOM {
            spare.push(head);
        }
    }
}

/// Heads kept for their room: as many as are under way at once.
const SPARE_HEADS: usize = 32;

/// Bytes of room that such a head has at most.
const SPARE_ROOM: usize = 2 * 1024;

/// Checks that a head can be sent on the stream now.
fn answerable(core: &Core, stream: StreamId, head: &ResponseHead) -> Result<u32, Misuse> {
    let id = number(stream).ok_or(Misuse::UnknownStream)?;
    let stream = core.streams.find(id).ok_or(Misuse::UnknownStream)?;
    if stream.head_sent == HeadSent::Yes {
        return Err(Misuse::OutOfOrder("a head after the head"));
    }
    head_out::check_response(&head.fields, core.peer.max_header_list_size)
        .map_err(|Unsendable(why)| Misuse::Unsendable(why))?;
    Ok(id)
}

fn queue_promise(core: &mut Core, parent: u32, promised: u32, head: &RequestHead) {
    let mut block = std::mem::take(&mut core.scratch);
    block.clear();
    head_out::encode_request(&mut core.encoder, head, &mut block);
    core.count_block(promised, core.encoder.plain_size(), block.len());
    let header = FrameHeader { length: 0, kind: FrameKind::PUSH_PROMISE, flags: 0, stream: parent };
    core.queue_fragments(header, &promised.to_be_bytes(), &block);
    core.scratch = block;
}
