//! Commands of the application that both roles have.

use super::connection::Core;
use super::head_out;
use super::priority;
use crate::connection::{Fin, StreamId};
use crate::error::Misuse;
use crate::multiplex::outgoing::Ending;
use crate::multiplex::state::State;
use crate::multiplex::streams::{Gone, HeadSent, Opener, Stream};
use crate::schedule::Priority;
use bytes::Bytes;
use unit::Instant;
use wire::Fields;
use wire::spdy::{Frame, ResetCode};

impl Core {
    pub(super) fn consume(&mut self, stream: StreamId, bytes: usize) {
        let Some(id) = number(stream) else { return };
        let Some(stream) = self.streams.find_mut(id) else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(stream.unconsumed);
        stream.unconsumed -= bytes;
        let over = stream.state == State::Closed && stream.unconsumed == 0;
        self.credit_stream(id, bytes);
        self.credit_session(bytes);
        if over {
            self.streams.remove(id);
        }
    }

    pub(super) fn send(&mut self, stream: StreamId, data: Bytes, fin: Fin) -> Result<(), Misuse> {
        let (id, stream) = self.sendable(stream)?;
        stream.outgoing.push(data);
        match fin {
            Fin::Last => stream.outgoing.ending = Ending::Last,
            Fin::More => stream.outgoing.owes_writable = true,
        }
        self.send_on(id, fin);
        Ok(())
    }

    pub(super) fn send_trailers(
        &mut self,
        stream: StreamId,
        fields: &Fields,
    ) -> Result<(), Misuse> {
        head_out::check_fields(fields)
            .map_err(|head_out::Unsendable(why)| Misuse::Unsendable(why))?;
        let (id, stream) = self.sendable(stream)?;
        stream.outgoing.ending = Ending::Trailers(fields.clone());
        self.send_on(id, Fin::Last);
        Ok(())
    }

    fn send_on(&mut self, id: u32, fin: Fin) {
        let Some(stream) = self.streams.find_mut(id) else { return };
        if stream.outgoing.bytes() > 0 {
            self.reschedule(id);
        } else if fin == Fin::Last {
            // Nothing to schedule: the end needs no credit.
            if matches!(stream.outgoing.ending, Ending::Last) {
                self.queue(Frame::Data { stream: id, data: &[], fin: true });
            }
            self.finish_sending(id);
        }
    }

    fn sendable(&mut self, stream: StreamId) -> Result<(u32, &mut Stream), Misuse> {
        let id = number(stream).ok_or(Misuse::UnknownStream)?;
        let stream = self.streams.find_mut(id).ok_or(Misuse::UnknownStream)?;
        if stream.head_sent == HeadSent::No {
            return Err(Misuse::OutOfOrder("a body before its head"));
        }
        if !stream.state.gives_data() || !matches!(stream.outgoing.ending, Ending::Open) {
            return Err(Misuse::OutOfOrder("bytes after the end"));
        }
        Ok((id, stream))
    }

    pub(super) fn unsent(&self, stream: StreamId) -> usize {
        let stream = number(stream).and_then(|id| self.streams.find(id));
        stream.map_or(0, |stream| stream.outgoing.bytes())
    }

    pub(super) fn reset(&mut self, now: Instant, stream: StreamId) {
        self.now = now;
        let Some((id, stream)) = number(stream).and_then(|id| Some((id, self.streams.find(id)?)))
        else {
            return;
        };
        if stream.state == State::Closed {
            // Its bytes are all that is left of it.
            let unconsumed = stream.unconsumed;
            self.streams.remove(id);
            self.credit_session(unconsumed);
            return;
        }
        self.say_promises();
        self.queue_reset(id, ResetCode::CANCEL);
        self.drop_stream(id, Gone::ResetByUs);
        self.close_if_drained();
    }

    pub(super) fn prioritise(&mut self, stream: StreamId, priority: Priority) {
        self.scheduler.reprioritise(stream, priority);
        let Some(id) = number(stream) else { return };
        if self.opener(id) == Opener::We && self.streams.find(id).is_some() {
            let level = priority::to_level(priority, self.settings.default_priority);
            self.mend_priority(id, level);
        }
    }
}

/// A stream's number on the wire.
pub(super) fn number(stream: StreamId) -> Option<u32> {
    u32::try_from(stream.0).ok()
}
