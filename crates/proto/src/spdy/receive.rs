//! Frames in: what each means for the stream and the session, but for header blocks (`block`) and DATA
//! (`data`).

use super::block::Syn;
use super::connection::{Core, Over, Place, Progress, Reading};
use crate::connection::{ConnectionState, Event, StreamId};
use crate::error::Error;
use crate::multiplex::reader::Payload;
use crate::multiplex::state::State;
use crate::multiplex::streams::{Gone, Opener};
use crate::multiplex::timers::Timer;
use wire::spdy::{
    FLAG_FIN, Frame, FrameError, FrameHeader, FrameKind, GoAwayCode, Reach, ResetCode,
    SettingsList, Subject,
};

impl Core {
    /// Reads on by one step.
    pub(super) fn read<'i>(&mut self, input: &mut &'i [u8]) -> Result<Progress<'i>, Over> {
        match std::mem::replace(&mut self.reading, Reading::Header) {
            Reading::Header => match self.reader.header(input) {
                None => Ok(Progress::Starved),
                Some(header) => {
                    self.on_header(FrameHeader::parse(&header)).map(|()| Progress::Made)
                }
            },
            Reading::Payload(header) => self.read_payload(header, input),
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

    fn read_payload<'i>(
        &mut self,
        header: FrameHeader,
        input: &mut &'i [u8],
    ) -> Result<Progress<'i>, Over> {
        match self.reader.payload(header.length as usize, input) {
            None => {
                self.reading = Reading::Payload(header);
                if !self.timers.is_set(Timer::HeaderBlock) {
                    self.timers.set(Timer::HeaderBlock, self.now + self.settings.head_timeout);
                }
                Ok(Progress::Starved)
            }
            Some(Payload::Borrowed(payload)) => {
                self.timers.cancel(Timer::HeaderBlock);
                self.on_payload(header, payload).map(|()| Progress::Made)
            }
            Some(Payload::Gathered(payload)) => {
                self.timers.cancel(Timer::HeaderBlock);
                let outcome = self.on_payload(header, &payload);
                self.reader.recycle(payload);
                outcome.map(|()| Progress::Made)
            }
        }
    }

    /// Checks a frame header and decides how its payload is read.
    fn on_header(&mut self, header: FrameHeader) -> Result<(), Over> {
        self.tracer.emit(self.now, || trace::Event::FrameParsed {
            stream: match header.subject {
                Subject::Data { stream } => u64::from(stream),
                Subject::Control { .. } => 0,
            },
            frame: header.name(),
            length: u64::from(header.length),
        });
        if self.control.len() > self.settings.limits.queued_bytes {
            return Err(self.fail("the peer does not read what it makes us send"));
        }
        if let Err(error) = header.check() {
            return Err(self.fail(error.rule));
        }
        let kind = match header.subject {
            // Its bytes are streamed through, so its begin is all there is to see.
            Subject::Data { stream } => {
                let body = self.open_data(stream, header.length, header.has(FLAG_FIN))?;
                self.reading = Reading::Data(body);
                return Ok(());
            }
            Subject::Control { kind, .. } => kind,
        };
        // SPDY §2.2.1: types that are not known are ignored; CREDENTIAL is one of them here.
        let known = matches!(
            kind,
            FrameKind::SYN_STREAM
                | FrameKind::SYN_REPLY
                | FrameKind::RST_STREAM
                | FrameKind::SETTINGS
                | FrameKind::PING
                | FrameKind::GOAWAY
                | FrameKind::HEADERS
                | FrameKind::WINDOW_UPDATE
        );
        if !known {
            self.reading = Reading::Skip(header.length);
            return self.chatter();
        }
        if header.length > self.settings.max_control_frame {
            // A block that is not inflated leaves no state to go on with.
            return Err(self.fail("SPDY §2.2.1: the control frame is larger than we take"));
        }
        self.reading = Reading::Payload(header);
        Ok(())
    }

    fn on_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Over> {
        let frame = match Frame::parse(header, payload) {
            Ok(frame) => frame,
            Err(FrameError { reach: Reach::Session, rule }) => return Err(self.fail(rule)),
            Err(FrameError { reach: Reach::Stream { stream, code }, rule }) => {
                return self.fail_stream(stream, code, rule);
            }
        };
        match frame {
            Frame::SynStream { stream, associated, priority, fin, unidirectional, block } => {
                let fin = super::data::fin(fin);
                let syn = Syn { id: stream, associated, priority, fin, unidirectional };
                self.on_syn_stream(syn, block)
            }
            Frame::SynReply { stream, fin, block } => {
                self.on_syn_reply(stream, super::data::fin(fin), block)
            }
            Frame::Headers { stream, fin, block } => {
                self.on_headers(stream, super::data::fin(fin), block)
            }
            Frame::ResetStream { stream, code } => self.on_reset(stream, code),
            Frame::Settings { clear, list } => self.on_settings(clear, list),
            Frame::Ping(id) => self.on_ping(id),
            Frame::GoAway { last, code } => self.on_goaway(last, code),
            Frame::WindowUpdate { stream, increment } => self.on_window_update(stream, increment),
            // DATA and unknown types never come here whole.
            Frame::Data { .. } | Frame::Unknown { .. } => Ok(()),
        }
    }

    fn on_reset(&mut self, id: u32, code: ResetCode) -> Result<(), Over> {
        match self.place(id) {
            // SPDY §2.4.2: it is no cause for a RST_STREAM of ours.
            Place::Idle | Place::Gone(_) => self.chatter(),
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
                    ResetCode::REFUSED_STREAM => Error::Unprocessed,
                    _ => Error::PeerReset { code: u64::from(code.0), name: code.name() },
                };
                self.events.push_back(Event::Reset { stream: StreamId(u64::from(id)), error });
                self.close_if_drained();
                Ok(())
            }
        }
    }

    fn on_settings(&mut self, clear: bool, list: SettingsList<'_>) -> Result<(), Over> {
        self.reply()?;
        if !self.greeted {
            self.greeted = true;
            // SPDY §2.6.4: without a word, there is no limit.
            self.peer.max_concurrent_streams = u32::MAX;
        }
        let before = self.peer.initial_window;
        if let Err(rule) = self.peer.apply(clear, list) {
            return Err(self.fail(rule));
        }
        self.shift_send_windows(i64::from(self.peer.initial_window) - i64::from(before))
    }

    /// SPDY §2.6.8: a new initial window moves the windows of all streams.
    fn shift_send_windows(&mut self, by: i64) -> Result<(), Over> {
        if by == 0 {
            return Ok(());
        }
        let mut overflow = false;
        for (_, stream) in self.streams.iter_mut() {
            overflow |= stream.outgoing.window.adjust(by).is_err();
        }
        if overflow {
            return Err(self.fail("SPDY §2.6.8: a window above 2^31 - 1"));
        }
        for id in self.streams.select(|_, stream| stream.outgoing.bytes() > 0) {
            self.reschedule(id);
        }
        Ok(())
    }

    /// SPDY §2.6.5: the identifier's parity tells whose PING it is.
    fn on_ping(&mut self, id: u32) -> Result<(), Over> {
        if self.opener(id) == Opener::Peer {
            self.reply()?;
            self.queue(Frame::Ping(id));
            return Ok(());
        }
        // An echo of what was never asked is ignored.
        if id < self.next_ping {
            self.timers.cancel(Timer::KeepAliveAck);
        }
        self.chatter()
    }

    /// SPDY §2.6.6: what is above `last` was not acted on.
    fn on_goaway(&mut self, last: u32, code: GoAwayCode) -> Result<(), Over> {
        self.chatter()?;
        let last = self.farewell.map_or(last, |(earlier, _)| last.min(earlier));
        if self.farewell.replace((last, code)).is_none() {
            self.state = ConnectionState::Draining;
            self.events.push_back(Event::Draining { last: Some(StreamId(u64::from(last))) });
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
        const RULE: &str = "SPDY §2.6.8: a window above 2^31 - 1";
        self.chatter()?;
        if id == 0 {
            if self.session.add(increment).is_err() {
                return Err(self.fail(RULE));
            }
            self.watch_session();
            return Ok(());
        }
        // SPDY §2.6.8: it may come late.
        let Place::Live(_) = self.place(id) else { return Ok(()) };
        let Some(stream) = self.streams.find_mut(id) else { return Ok(()) };
        if stream.outgoing.window.adjust(i64::from(increment)).is_err() {
            return self.fail_stream(id, ResetCode::FLOW_CONTROL_ERROR, RULE);
        }
        self.reschedule(id);
        Ok(())
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
