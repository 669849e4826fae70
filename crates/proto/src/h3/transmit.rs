//! What goes out: the control stream's and QPACK's bytes first, then the request stream that the scheduler names.

use super::session::Session;
use super::stream::{Stream, WINDOW};
use crate::connection::{ConnectionState, Event, Fin};
use crate::multiplex::outgoing::Ending;
use crate::multiplexed_connection::{StreamAction, StreamTransmit};
use crate::stream_id::StreamId;
use endpoint::SendBuf;
use std::collections::VecDeque;
use unit::Instant;
use wire::h3::{FrameHeader, FrameKind};

/// Bytes of a DATA frame's header at most, as far as a limit counts.
const HEADER: usize = 9;

impl Session {
    pub(super) fn poll_stream_action(&mut self) -> Option<StreamAction> {
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        // What the greeting took. A server has few actions later.
        if self.streams.is_empty() && self.actions.capacity() > 0 {
            self.actions = VecDeque::new();
        }
        self.closing.take_if(|_| !self.outputs.is_owed())
    }

    pub(super) fn wants_transmit(&self) -> bool {
        self.has_ready()
            || !self.actions.is_empty()
            || self.closing.is_some()
            || !self.datagrams_out.is_empty()
            || self.outputs.can_send()
    }

    /// Whether responses or requests could go out, if the transport took them.
    pub(super) fn has_ready(&self) -> bool {
        self.ready > 0 || !self.buffers.released.is_empty()
    }

    pub(super) fn poll_stream_transmit(
        &mut self,
        now: Instant,
        out: &mut SendBuf,
        limit: usize,
    ) -> Option<StreamTransmit> {
        self.now = now;
        self.pause_stalls();
        if let Some(transmit) = self.outputs.move_to(out, limit) {
            return Some(transmit);
        }
        if let Some(transmit) = self.send_released(out, limit) {
            return Some(transmit);
        }
        while self.ready > 0 {
            let stream = self.scheduler.next()?;
            let before = out.len();
            let Some(fin) = self.send_from(stream.0, out, limit) else {
                self.scheduler.blocked(stream);
                continue;
            };
            let size = out.len() - before;
            self.scheduler.sent(stream, size);
            self.count_sent(stream.0, size as u64);
            return Some(StreamTransmit { stream, fin });
        }
        None
    }

    /// Moves a stream's next bytes to `out`; None where it has none.
    fn send_from(&mut self, id: u64, out: &mut SendBuf, limit: usize) -> Option<Fin> {
        let start = out.len();
        let low_water = self.settings.send_low_water;
        let mut stream = self.streams.get_mut(id).filter(|stream| stream.can_send())?;
        loop {
            let left = limit.saturating_sub(out.len() - start).max(usize::from(out.len() == start));
            stream.head.move_to(out, left);
            if !stream.head.is_empty() {
                break;
            }
            if stream.ends_with_head {
                return Some(finish(stream));
            }
            if stream.outgoing.bytes() > 0 {
                let left = limit.saturating_sub(out.len() - start);
                if left <= HEADER && out.len() > start {
                    break;
                }
                let DataSent { length, writable } = send_data(stream, out, left, low_water);
                self.guard.useful();
                let frame = FrameKind::DATA.name();
                self.tracer.emit(self.now, || trace::Event::FrameCreated {
                    stream: id,
                    frame,
                    length,
                });
                if writable {
                    self.events.push_back(Event::Writable { stream: StreamId(id) });
                }
                continue;
            }
            match stream.outgoing.take_ending() {
                None => break,
                Some(Ending::Trailers(fields)) => {
                    self.write_trailers(id, &fields);
                    stream = self.streams.get_mut(id)?;
                }
                Some(_) => return Some(finish(stream)),
            }
        }
        Some(Fin::More)
    }

    /// Bytes of a stream went out: it may be over now, and where it has nothing left it is not stalled any more.
    fn count_sent(&mut self, id: u64, size: u64) {
        self.sent += size;
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.given += size;
        if stream.is_over() {
            self.forget(id);
            return self.close_if_drained();
        }
        if !stream.can_send() {
            stream.stall.end();
        }
        self.update(id);
    }

    pub(super) fn set_stuck(&mut self, stream: StreamId, is_stuck: bool) {
        // Nobody waits for the streams of a connection that is over.
        if self.outputs.set_stuck(stream.0, is_stuck) || self.state == ConnectionState::Closed {
            return;
        }
        if let Some(entry) = self.streams.get_mut(stream.0) {
            entry.is_stuck = is_stuck;
            let stalls = is_stuck && entry.stall.update(self.now, entry.given, true);
            let since = entry.stall.since();
            if let Some(since) = since.filter(|_| stalls) {
                self.watch_stall(since);
            }
            if !is_stuck && since.is_some() {
                // From here on it waits for its turn, not for credit.
                self.became_writable.push(stream.0);
            }
            self.update(stream.0);
        } else if is_stuck {
            // Its last bytes were given to the transport, which cannot send them.
            self.held.entry(stream.0).or_insert(self.now);
            self.watch_stall(self.now);
        } else {
            self.held.remove(&stream.0);
        }
    }
}

/// A DATA frame that was written.
struct DataSent {
    /// Bytes of its payload.
    length: u64,
    /// Whether the application is to send more.
    writable: bool,
}

/// Writes one DATA frame.
fn send_data(stream: &mut Stream, out: &mut SendBuf, limit: usize, low_water: usize) -> DataSent {
    let chunk = stream.outgoing.chunk(limit.saturating_sub(HEADER).clamp(1, WINDOW as usize));
    let length = chunk.size as u64;
    let header = FrameHeader { kind: FrameKind::DATA, length };
    out.put_with(|out| header.encode(out));
    let sent = stream.outgoing.send(chunk, out, low_water);
    // The credit is QUIC's: what was used comes back at once, so it never overflows.
    let _ = stream.outgoing.adjust(chunk.size as i64);
    DataSent { length, writable: sent.writable }
}

fn finish(stream: &mut Stream) -> Fin {
    stream.is_sent = true;
    Fin::Last
}
