//! Bytes out: what is queued as control frames first, then DATA, frame by frame, as the scheduler
//! decides at the moment of sending.

use super::Session;
use crate::multiplex::{Answered, Ending, Framing, Opener, PROGRESS, Step, Timer, Update};
use crate::{Event, Fin, ResponseHead, StreamId};
use endpoint::SendBuf;
use unit::Instant;

/// A frame smaller than this is not worth its header, however small the limit is.
const LEAST_FRAME: usize = 1024;

/// Less than this, forced by a peer that gives credit in driblets, earns it no credit with the guard
/// (CVE-2019-9511).
const LEAST_USEFUL: usize = 256;

impl<F: Framing> Session<F> {
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        self.log.set_now(now);
        let (framing, mut writer) = self.writer();
        framing.before_transmit(&mut writer);
        let limit = out.len() + limit;
        loop {
            self.outbox.flush(out, limit, F::frame_length);
            if !self.outbox.is_empty() || out.len() >= limit || !self.can_send_data() {
                return;
            }
            let Some(id) = self.order.next() else { return };
            self.send_data(id, limit - out.len(), out);
        }
    }

    pub(crate) fn wants_transmit(&self) -> bool {
        self.can_send_data() || !self.outbox.is_empty() || self.framing.has_kept_frames()
    }

    /// Bytes of the first frame that waits, DATA excepted.
    pub(crate) fn next_frame(&self) -> Option<usize> {
        self.outbox.first(F::frame_length)
    }

    fn can_send_data(&self) -> bool {
        self.order.has_ready()
            && self.windows.available() > 0
            && !self.draining.is_closed()
            && !self.awaits_application()
    }

    /// Whether a body ran out that keeps its turn, and the application has not yet had the event that asks for more.
    fn awaits_application(&self) -> bool {
        self.has_run_out && !self.events.is_empty()
    }

    /// Sends one DATA frame of the stream.
    fn send_data(&mut self, id: u32, limit: usize, out: &mut SendBuf) {
        let header_length = size_of::<F::RawHeader>();
        let now = self.now();
        let Some(stream) = self.streams.find_mut(id).filter(|stream| stream.is_scheduled()) else {
            self.order.skip(id);
            return;
        };
        let most = self.settings.data_frame_size.min(self.framing.peer().max_frame_size) as usize;
        let most = most
            .min(self.windows.available())
            .min(limit.saturating_sub(header_length).max(LEAST_FRAME));
        let outgoing = stream.outgoing_mut();
        let chunk = outgoing.chunk(most);
        out.put(F::data_header(id, chunk.size, chunk.fin).as_mut());
        let sent = outgoing.send(chunk, out, self.settings.send_low_water);
        self.has_run_out = outgoing.has_run_out();
        let update = stream.update_readiness(now);
        self.windows.take(chunk.size);
        self.sent += chunk.size as u64;
        if sent.drained || chunk.size >= LEAST_USEFUL {
            self.guard.useful();
        }
        self.order.sent(id, chunk.size);
        self.log.frame_created(id, "DATA", chunk.size);
        self.apply(id, update);
        if sent.writable {
            self.events.push(Event::Writable { stream: StreamId(u64::from(id)) });
        }
        if sent.drained {
            self.finish_sending(id);
        }
    }

    /// Ends our side of a stream whose bytes have all gone, where the application has ended it.
    pub(super) fn finish_sending(&mut self, id: u32) {
        let Some(stream) = self.streams.find_mut(id) else { return };
        match stream.outgoing_mut().take_ending() {
            None => return,
            Some(Ending::Trailers(fields)) => {
                let (framing, mut writer) = self.writer();
                framing.put_trailers(&mut writer, id, &fields);
            }
            Some(_) => {}
        }
        self.step(id, Step::SendEnd);
    }

    /// Tells the scheduler whether a stream can send, where that has changed.
    pub(super) fn reschedule(&mut self, id: u32) {
        let now = self.now();
        let Some(stream) = self.streams.find_mut(id) else { return };
        let update = stream.update_readiness(now);
        self.apply(id, update);
    }

    #[inline]
    pub(super) fn apply(&mut self, id: u32, update: Update) {
        if let Some(readiness) = update.changed {
            self.order.set(id, readiness);
        }
        if update.is_stalled {
            self.watch_stalls();
        }
        self.watch_connection();
    }

    /// Notes since when streams have waited for the connection's credit alone.
    pub(super) fn watch_connection(&mut self) {
        let (available, now) = (self.windows.available(), self.now());
        let begins = if !self.order.has_ready() || available >= PROGRESS {
            self.stall.end()
        } else {
            self.stall.update(now, self.sent, available == 0)
        };
        if begins {
            self.watch_stalls();
        }
    }

    fn watch_stalls(&mut self) {
        if !self.timers.is_set(Timer::Stall) {
            let at = self.now() + self.settings.stall_timeout;
            self.timers.set(Timer::Stall, at);
        }
    }

    /// Queues the head of a response.
    pub(super) fn queue_response(
        &mut self,
        id: u32,
        opener: Opener,
        head: &ResponseHead,
        fin: Fin,
    ) {
        let (framing, mut writer) = self.writer();
        framing.put_response(&mut writer, Answered { id, opener }, head, fin);
    }
}
