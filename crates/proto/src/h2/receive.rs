//! Frames in: what each means for the stream and the connection, but for header blocks (`block`) and
//! DATA (`data`).

use super::block::Begun;
use super::connection::{Core, Over, Place, Progress, Reading, Role, Shutdown};
use super::priority;
use crate::connection::{ConnectionState, Event, StreamId};
use crate::error::Error;
use crate::multiplex::reader::Payload;
use crate::multiplex::state::State;
use crate::multiplex::streams::{Gone, Opener};
use crate::multiplex::timers::Timer;
use crate::schedule::Priority;
use wire::h2::{
    Dependency, ErrorCode, FLAG_ACK, FLAG_PADDED, Frame, FrameError, FrameHeader, FrameKind,
    LAST_STREAM, PREFACE, Reach, SettingsList,
};

/// What our own PINGs carry.
pub(super) const DRAIN_PING: [u8; 8] = *b"draining";
pub(super) const KEEP_ALIVE_PING: [u8; 8] = *b"keepaliv";

impl Core {
    /// Reads on by one step.
    pub(super) fn read<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, Over> {
        match std::mem::replace(&mut self.reading, Reading::Header) {
            Reading::Preface(matched) => self.read_preface(matched, input),
            Reading::Header => match self.reader.header(input) {
                None => Ok(Progress::Starved),
                Some(header) => {
                    self.on_header(FrameHeader::parse(&header)).map(|()| Progress::Made)
                }
            },
            Reading::Payload(header) => self.read_payload(header, input),
            Reading::PadLength(header) => match input.split_first() {
                None => {
                    self.reading = Reading::PadLength(header);
                    Ok(Progress::Starved)
                }
                Some((&padding, rest)) => {
                    *input = rest;
                    self.begin_data(header, Some(padding))
                }
            },
            Reading::Data(body) => self.read_data(body, input),
            Reading::Skip(left) => {
                let take = input.len().min(left as usize);
                *input = &input[take..];
                let left = left - take as u32;
                if left == 0 {
                    return Ok(Progress::Made);
                }
                self.reading = Reading::Skip(left);
                Ok(Progress::Starved)
            }
        }
    }

    fn read_preface<'i>(
        &mut self,
        matched: usize,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        let take = input.len().min(PREFACE.len() - matched);
        let (head, rest) = input.split_at(take);
        if head != &PREFACE[matched..matched + take] {
            let rule = "RFC 9113 §3.4: not the connection preface";
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
        }
        *input = rest;
        if matched + take == PREFACE.len() {
            return Ok(Progress::Made);
        }
        self.reading = Reading::Preface(matched + take);
        Ok(Progress::Starved)
    }

    fn read_payload<'i>(
        &mut self,
        header: FrameHeader,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        match self.reader.payload(header.length as usize, input) {
            None => {
                self.reading = Reading::Payload(header);
                Ok(Progress::Starved)
            }
            Some(Payload::Borrowed(payload)) => {
                self.on_payload(header, payload).map(|()| Progress::Made)
            }
            Some(Payload::Gathered(payload)) => {
                let outcome = self.on_payload(header, &payload);
                self.reader.recycle(payload);
                outcome.map(|()| Progress::Made)
            }
        }
    }

    /// Checks a frame header and decides how its payload is read.
    fn on_header(&mut self, header: FrameHeader) -> Result<(), Over> {
        self.tracer.emit(self.now, || trace::Event::FrameParsed {
            stream: u64::from(header.stream),
            frame: header.kind.name(),
            length: u64::from(header.length),
        });
        if let Some((code, rule)) = self.misplaced(header) {
            return Err(self.fail(code, rule));
        }
        if let Err(error) = header.check() {
            self.reading = Reading::Skip(header.length);
            return self.frame_error(header.stream, error);
        }
        match header.kind {
            FrameKind::DATA if header.has(FLAG_PADDED) && header.length == 0 => {
                let rule = "RFC 9113 §6.1: the Pad Length is missing";
                return Err(self.fail(ErrorCode::FRAME_SIZE_ERROR, rule));
            }
            FrameKind::DATA if header.has(FLAG_PADDED) => {
                self.reading = Reading::PadLength(header);
            }
            // Its bytes are streamed through, so its begin is all there is to see.
            FrameKind::DATA => self.reading = Reading::Data(self.open_data(header, None)?),
            kind if kind.0 <= FrameKind::CONTINUATION.0 || kind == FrameKind::PRIORITY_UPDATE => {
                self.reading = Reading::Payload(header);
            }
            // RFC 9113 §5.5: extensions that are not known are ignored.
            _ => {
                self.chatter()?;
                self.reading = Reading::Skip(header.length);
            }
        }
        Ok(())
    }

    /// Why the connection cannot have such a frame now, where it cannot.
    fn misplaced(&self, header: FrameHeader) -> Option<(ErrorCode, &'static str)> {
        let continues = header.kind == FrameKind::CONTINUATION;
        let expected = match &self.block {
            None => !continues,
            Some(block) => continues && block.stream == header.stream,
        };
        let settings = header.kind == FrameKind::SETTINGS && !header.has(FLAG_ACK);
        if !self.greeted && !settings {
            Some((ErrorCode::PROTOCOL_ERROR, "RFC 9113 §3.4: SETTINGS come first"))
        } else if header.length > self.settings.max_frame_size {
            let rule = "RFC 9113 §4.2: the frame is larger than we take";
            Some((ErrorCode::FRAME_SIZE_ERROR, rule))
        } else if !expected {
            let rule =
                "RFC 9113 §6.10: CONTINUATION follows its header block, and nothing else does";
            Some((ErrorCode::PROTOCOL_ERROR, rule))
        } else if self.control.len() > self.settings.limits.queued_bytes {
            let rule = "RFC 9113 §10.5: the peer does not read what it makes us send";
            Some((ErrorCode::ENHANCE_YOUR_CALM, rule))
        } else {
            None
        }
    }

    /// A frame that broke its own rules.
    fn frame_error(&mut self, stream: u32, error: FrameError) -> Result<(), Over> {
        match error.reach {
            Reach::Stream if self.place(stream) != Place::Idle => {
                self.fail_stream(stream, error.code, error.rule)
            }
            _ => Err(self.fail(error.code, error.rule)),
        }
    }

    fn on_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Over> {
        let frame = match Frame::parse(header, payload) {
            Ok(frame) => frame,
            Err(error) => return self.frame_error(header.stream, error),
        };
        match frame {
            Frame::Headers { stream, block, end_stream, end_headers, dependency, .. } => {
                let begun = Begun::Headers { end_stream, dependency };
                self.on_block(stream, begun, block, end_headers)
            }
            Frame::PushPromise { stream, promised, block, end_headers, .. } => {
                let begun = Begun::Promise { promised };
                self.on_block(stream, begun, block, end_headers)
            }
            Frame::Continuation { block, end_headers, .. } => {
                self.on_continuation(block, end_headers)
            }
            Frame::Priority { stream, dependency } => self.on_priority(stream, dependency),
            Frame::PriorityUpdate { prioritised, value } => {
                self.on_priority_update(prioritised, value)
            }
            Frame::ResetStream { stream, code } => self.on_reset(stream, code),
            Frame::Settings(list) => self.on_settings(list),
            Frame::SettingsAck => self.on_settings_ack(),
            Frame::Ping(opaque) => {
                self.reply()?;
                self.queue(Frame::PingAck(opaque));
                Ok(())
            }
            Frame::PingAck(opaque) => self.on_ping_ack(opaque),
            Frame::GoAway { last, code, .. } => self.on_goaway(last, code),
            Frame::WindowUpdate { stream, increment } => self.on_window_update(stream, increment),
            // DATA and unknown types never come here whole.
            Frame::Data { .. } | Frame::Unknown { .. } => Ok(()),
        }
    }

    fn on_priority(&mut self, stream: u32, dependency: Dependency) -> Result<(), Over> {
        self.chatter()?;
        if dependency.parent == stream {
            let rule = "RFC 7540 §5.3.1: a stream cannot depend on itself";
            let error = FrameError { reach: Reach::Stream, code: ErrorCode::PROTOCOL_ERROR, rule };
            return self.frame_error(stream, error);
        }
        // Idle and closed streams too: they group others (RFC 7540 §5.3.4).
        let stream = StreamId(u64::from(stream));
        self.scheduler.reprioritise(stream, priority::from_dependency(dependency));
        Ok(())
    }

    fn on_priority_update(&mut self, stream: u32, value: &[u8]) -> Result<(), Over> {
        self.chatter()?;
        if self.role == Role::Client {
            let rule = "RFC 9218 §7.1: servers send no PRIORITY_UPDATE";
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
        }
        let priority = priority::from_field(value);
        match (self.place(stream), self.opener(stream)) {
            (Place::Live(_), _) => {
                self.scheduler.reprioritise(StreamId(u64::from(stream)), priority);
            }
            (Place::Idle, Opener::We) => {
                let rule = "RFC 9218 §7.1: a push stream that was never promised";
                return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
            }
            (Place::Idle, Opener::Peer) => self.keep_early(stream, priority),
            (Place::Gone(_), _) => {}
        }
        Ok(())
    }

    /// Keeps a priority until its stream opens; as many as there may be streams (RFC 9218 §7.1).
    fn keep_early(&mut self, stream: u32, priority: Priority) {
        self.early_priorities.retain(|&(other, _)| other != stream);
        if self.early_priorities.len() >= self.settings.max_concurrent_streams.min(256) as usize {
            self.early_priorities.pop_front();
        }
        self.early_priorities.push_back((stream, priority));
    }

    fn on_reset(&mut self, id: u32, code: ErrorCode) -> Result<(), Over> {
        match self.place(id) {
            Place::Idle => {
                let rule = "RFC 9113 §6.4: RST_STREAM on an idle stream";
                Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule))
            }
            Place::Gone(_) => self.chatter(),
            Place::Live(_) => {
                if let Err(too_much) = self.guard.reset(self.now) {
                    return Err(self.calm(too_much));
                }
                self.drop_stream(id, Gone::ResetByPeer);
                self.tracer.emit(self.now, || trace::Event::StreamReset {
                    stream: u64::from(id),
                    code: u64::from(code.0),
                });
                let error = match code {
                    ErrorCode::REFUSED_STREAM => Error::Unprocessed,
                    _ => Error::PeerReset { code: u64::from(code.0), name: code.name() },
                };
                self.events.push_back(Event::Reset { stream: StreamId(u64::from(id)), error });
                self.close_if_drained();
                Ok(())
            }
        }
    }

    fn on_settings(&mut self, list: SettingsList<'_>) -> Result<(), Over> {
        self.reply()?;
        if !self.greeted {
            self.greeted = true;
            // RFC 9113 §6.5.2: without a word, there is no limit.
            self.peer.max_concurrent_streams = u32::MAX;
            self.tracer.emit(self.now, || trace::Event::ConnectionReady { protocol: "h2" });
        }
        let before = self.peer.initial_window;
        if let Err(bad) = self.peer.apply(list) {
            return Err(self.fail(bad.code, bad.rule));
        }
        if self.role == Role::Client
            && list.iter().any(|s| s.id == wire::h2::SettingId::ENABLE_PUSH && s.value == 1)
        {
            let rule = "RFC 9113 §6.5.2: a server cannot enable push";
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule));
        }
        let table = self.peer.header_table_size.min(self.settings.encoder_table_size);
        self.encoder.set_capacity(table as usize);
        self.queue(Frame::SettingsAck);
        self.shift_send_windows(i64::from(self.peer.initial_window) - i64::from(before))
    }

    /// RFC 9113 §6.9.2: a new initial window moves the windows of all streams.
    fn shift_send_windows(&mut self, by: i64) -> Result<(), Over> {
        if by == 0 {
            return Ok(());
        }
        let mut overflow = false;
        for (_, stream) in self.streams.iter_mut() {
            overflow |= stream.outgoing.window.adjust(by).is_err();
        }
        if overflow {
            let rule = "RFC 9113 §6.9.2: a window above 2^31 - 1";
            return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, rule));
        }
        for id in self.streams.select(|_, stream| stream.outgoing.bytes() > 0) {
            self.reschedule(id);
        }
        Ok(())
    }

    /// Ours are in force now (RFC 9113 §6.5.3).
    fn on_settings_ack(&mut self) -> Result<(), Over> {
        if !self.timers.is_set(Timer::SettingsAck) {
            return self.chatter();
        }
        self.timers.cancel(Timer::SettingsAck);
        self.decoder.set_allowed(self.settings.header_table_size as usize);
        self.stream_window = self.settings.stream_window;
        for (_, stream) in self.streams.iter_mut() {
            stream.receive.resize(self.settings.stream_window);
        }
        // What was too little to announce of the old window may be all that the peer had of the new one: it sends
        // nothing more until it hears of it.
        for id in self.streams.select(|_, stream| stream.state.takes_data()) {
            self.credit_stream(id, 0);
        }
        Ok(())
    }

    fn on_ping_ack(&mut self, opaque: [u8; 8]) -> Result<(), Over> {
        match opaque {
            DRAIN_PING if self.shutdown == Shutdown::Announced => self.finish_shutdown(),
            KEEP_ALIVE_PING => self.timers.cancel(Timer::KeepAliveAck),
            _ => return self.chatter(),
        }
        Ok(())
    }

    /// RFC 9113 §6.8: what is above `last` was not acted on.
    fn on_goaway(&mut self, last: u32, code: ErrorCode) -> Result<(), Over> {
        self.chatter()?;
        let last = self.farewell.map_or(last, |(earlier, _)| last.min(earlier));
        let first = self.farewell.replace((last, code)).is_none();
        if first {
            self.state = ConnectionState::Draining;
            let named = (last < LAST_STREAM).then_some(StreamId(u64::from(last)));
            self.events.push_back(Event::Draining { last: named });
        }
        let unprocessed = self.streams.select(|id, stream| {
            stream.opener == Opener::We && id > last && stream.state != State::Closed
        });
        for id in unprocessed {
            self.drop_stream(id, Gone::ResetByPeer);
            let stream = StreamId(u64::from(id));
            self.events.push_back(Event::Reset { stream, error: Error::Unprocessed });
        }
        self.close_if_drained();
        Ok(())
    }

    fn on_window_update(&mut self, id: u32, increment: u32) -> Result<(), Over> {
        self.chatter()?;
        const RULE: &str = "RFC 9113 §6.9.1: a window above 2^31 - 1";
        if id == 0 {
            if self.send_window.adjust(i64::from(increment)).is_err() {
                return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, RULE));
            }
            self.watch_connection();
            return Ok(());
        }
        match self.place(id) {
            Place::Idle => {
                let rule = "RFC 9113 §5.1: WINDOW_UPDATE on an idle stream";
                Err(self.fail(ErrorCode::PROTOCOL_ERROR, rule))
            }
            // RFC 9113 §6.9: it may come late.
            Place::Gone(_) => Ok(()),
            Place::Live(_) => {
                let Some(stream) = self.streams.find_mut(id) else { return Ok(()) };
                if stream.outgoing.window.adjust(i64::from(increment)).is_err() {
                    return self.fail_stream(id, ErrorCode::FLOW_CONTROL_ERROR, RULE);
                }
                self.reschedule(id);
                Ok(())
            }
        }
    }

    /// Counts a frame that moves nothing.
    pub(super) fn chatter(&mut self) -> Result<(), Over> {
        self.guard.chatter(self.now).map_err(|too_much| self.calm(too_much))
    }

    /// Counts a frame that must be answered.
    fn reply(&mut self) -> Result<(), Over> {
        self.guard.reply(self.now).map_err(|too_much| self.calm(too_much))
    }
}
