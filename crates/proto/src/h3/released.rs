//! Small responses that wait for the transport without their streams: the application has given all of them, and needs to hear nothing
//! more. The one rule: what is sent, and in which order, is what streams would have sent. So a response is released only where nothing
//! else is under way on its connection, and the scheduler takes equals by their numbers. As soon as there is a stream that is no equal, or
//! has a lower number, those that wait become streams again.

use super::session::Session;
use super::stream::Message;
use crate::connection::{ConnectionState, Fin};
use crate::multiplex::outgoing::Ending;
use crate::multiplexed_connection::StreamTransmit;
use crate::schedule::Priority;
use crate::stream_id::StreamId;
use bytes::Bytes;
use endpoint::SendBuf;

impl Session {
    /// The application has given this stream its response, and is done with it. Tells whether the stream is: else the application
    /// goes on hearing of it.
    pub(super) fn release(&mut self, stream: StreamId) -> bool {
        let StreamId(id) = stream;
        if self.streams.len() != 1 || !self.may_release() {
            return false;
        }
        let Some(stream) = self.streams.get(id).filter(|stream| !stream.is_ranked) else {
            return false;
        };
        let Some(frames) = stream.whole_response() else { return false };
        let frames = Bytes::copy_from_slice(frames);
        self.put_released(id, frames);
        self.forget(id);
        true
    }

    /// Whether the connection is one on which responses wait without their streams.
    pub(super) fn may_release(&self) -> bool {
        self.goes_by_number && self.state == ConnectionState::Open && !self.tracer.is_on()
    }

    /// Whether a stream's turn is before that of a response that waits: streams that overtook each other go in the scheduler's order.
    pub(super) fn overtakes_released(&self, id: u64) -> bool {
        self.buffers.released.back().is_some_and(|&(last, _)| last > id)
    }

    /// Adds the frames of a response.
    pub(super) fn put_released(&mut self, id: u64, frames: Bytes) {
        let is_first = !self.has_ready();
        self.buffers.released.push_back((id, frames));
        if is_first && self.stall.update(self.now, self.sent, true) {
            self.watch_stall(self.now);
        }
    }

    /// Whether responses of which the application hears nothing wait for the transport.
    pub(super) fn has_released(&self) -> bool {
        self.reopened > 0 || !self.buffers.released.is_empty()
    }

    /// Gives the next response that waits, where all of it may go.
    pub(super) fn send_released(
        &mut self,
        out: &mut SendBuf,
        limit: usize,
    ) -> Option<StreamTransmit> {
        let (_, frames) = self.buffers.released.front()?;
        if frames.len() > limit {
            self.reopen_released();
            return None;
        }
        let (id, frames) = self.buffers.released.pop_front()?;
        self.sent += frames.len() as u64;
        out.put_piece(frames);
        if !self.has_ready() {
            self.stall.end();
            self.close_if_drained();
        }
        Some(StreamTransmit { stream: StreamId(id), fin: Fin::Last })
    }

    /// The responses that wait become streams.
    pub(super) fn reopen_released(&mut self) {
        while let Some((id, frames)) = self.buffers.released.front().cloned() {
            let mut stream = self.buffers.stream();
            stream.message = Message::Over;
            stream.head_sent = true;
            stream.head.put_with(|head| head.extend_from_slice(&frames));
            stream.outgoing.end(Ending::Sent);
            stream.ends_with_head = true;
            stream.is_reopened = true;
            self.reopened += 1;
            self.streams.insert(id, stream);
            self.scheduler.insert(StreamId(id), Priority::Unset);
            self.update(id);
            self.buffers.released.pop_front();
        }
    }
}
