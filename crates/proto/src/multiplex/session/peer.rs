//! What the peer says about streams and the connection beside messages: resets, windows, priorities,
//! GOAWAY.

use super::{Over, Session};
use crate::multiplex::framing::ErrorCode;
use crate::multiplex::{Framing, Gone, Opener, Role, StreamStatus};
use crate::schedule::Priority;
use crate::{Error, Event, StreamId};
use trace::PrioritySource;

impl<F: Framing> Session<F> {
    /// RST_STREAM.
    pub(crate) fn on_reset(&mut self, id: u32, code: F::StreamCode) -> Result<(), Over> {
        match (self.status(id), F::RULES.idle_reset) {
            (StreamStatus::Idle, Some(rule)) => Err(self.fail(rule)),
            (StreamStatus::Idle | StreamStatus::Gone(_), _) => self.count_chatter(),
            (StreamStatus::Live(_), _) => {
                // A server ends what its client has asked for, after a whole answer, too (RFC 9113 §8.1): that is no flood.
                if self.role == Role::Server || self.streams.opener(id) == Opener::Peer {
                    self.count_reset(id)?;
                }
                self.drop_stream(id, Gone::ResetByPeer);
                self.log.stream_reset(id, code.number());
                let error = if code == F::RULES.refused {
                    Error::Unprocessed
                } else {
                    Error::PeerReset { code: code.number(), name: code.name() }
                };
                self.events.push(Event::Reset { stream: StreamId(u64::from(id)), error });
                self.close_if_drained();
                Ok(())
            }
        }
    }

    /// WINDOW_UPDATE.
    pub(crate) fn on_window_update(&mut self, id: u32, increment: u32) -> Result<(), Over> {
        self.count_chatter()?;
        if id == 0 {
            if self.windows.add(increment).is_err() {
                return Err(self.fail(F::RULES.connection_window));
            }
            self.watch_connection();
            return Ok(());
        }
        match (self.status(id), F::RULES.idle_window_update) {
            (StreamStatus::Idle, Some(rule)) => return Err(self.fail(rule)),
            // It may come late (RFC 9113 §6.9, SPDY §2.6.8).
            (StreamStatus::Idle | StreamStatus::Gone(_), _) => return Ok(()),
            (StreamStatus::Live(_), _) => {}
        }
        let Some(stream) = self.streams.find_mut(id) else { return Ok(()) };
        if stream.outgoing_mut().adjust(i64::from(increment)).is_err() {
            return self.fail_stream(id, F::RULES.stream_window);
        }
        self.credit_came(id);
        Ok(())
    }

    /// A stream has another window. An application that queued nothing for want of credit gets an event to go on.
    fn credit_came(&mut self, id: u32) {
        self.reschedule(id);
        if self.streams.find(id).is_some_and(|stream| stream.outgoing().is_idle()) {
            self.events.push(Event::Writable { stream: StreamId(u64::from(id)) });
        }
    }

    /// A new initial window of the peer moves the windows of all streams by so many bytes (RFC 9113
    /// §6.9.2, SPDY §2.6.8).
    pub(crate) fn shift_send_windows(&mut self, by: i64) -> Result<(), Over> {
        if by == 0 {
            return Ok(());
        }
        let mut overflow = false;
        for stream in self.streams.iter_mut() {
            overflow |= stream.outgoing_mut().adjust(by).is_err();
        }
        if overflow {
            return Err(self.fail(F::RULES.initial_window));
        }
        for id in self.streams.select(|_, stream| stream.outgoing().is_open()) {
            self.credit_came(id);
        }
        for id in self.streams.select(|_, stream| !stream.outgoing().is_open()) {
            self.reschedule(id);
        }
        Ok(())
    }

    /// The peer has acknowledged our initial window: all streams have it.
    pub(crate) fn resize_receive_windows(&mut self, bytes: u32) {
        self.stream_window = bytes;
        for stream in self.streams.iter_mut() {
            stream.resize_window(bytes);
        }
        // Credit that was too little to announce of the old window may be all of the new one: the peer
        // sends nothing more until it hears of it.
        for id in self.streams.select(|_, stream| stream.state().takes_data()) {
            self.credit_stream(id, 0);
        }
    }

    /// A priority frame names a stream, whatever its status.
    pub(crate) fn change_priority(&mut self, id: u32, by: PrioritySource, priority: Priority) {
        self.log.priority_received(id, by, priority);
        self.order.change(StreamId(u64::from(id)), priority);
    }

    /// SETTINGS_NO_RFC7540_PRIORITIES = 1 (RFC 9218 §2.1).
    pub(crate) fn rule_out_dependencies(&mut self) {
        self.order.rule_out_dependencies();
    }

    /// A priority came before its stream; as many are kept as there may be streams, 256 at most.
    pub(crate) fn keep_early_priority(&mut self, id: u32, priority: Priority) {
        let most = self.settings.max_concurrent_streams.min(256);
        self.log.priority_received(id, PrioritySource::PriorityUpdate, priority);
        self.order.keep_early(id, priority, most as usize);
    }

    /// GOAWAY: what is above `last` was not acted on (RFC 9113 §6.8, SPDY §2.6.6).
    pub(crate) fn on_goaway(&mut self, last: u32, code: F::ConnectionCode) -> Result<(), Over> {
        self.count_chatter()?;
        let is_first = !self.draining.has_peers_goaway();
        let last = self.draining.handle_goaway(last, code);
        if is_first {
            let named = (F::GOAWAY_NAMES_NONE != Some(last)).then_some(StreamId(u64::from(last)));
            self.events.push(Event::Draining { last: named });
        }
        let unprocessed = self
            .streams
            .select(|id, stream| stream.opener() == Opener::We && id > last && stream.is_live());
        for id in unprocessed {
            self.drop_stream(id, Gone::ResetByPeer);
            let stream = StreamId(u64::from(id));
            self.events.push(Event::Reset { stream, error: Error::Unprocessed });
        }
        self.close_if_drained();
        Ok(())
    }
}
