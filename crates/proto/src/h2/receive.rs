//! Frames in: what each means, but for header blocks (`headers`). What HTTP/2 has in common with SPDY
//! is the session's.

use super::framing::{DRAIN_PING, Http2, KEEP_ALIVE_PING, protocol};
use super::headers::{Begun, Headers};
use super::priority;
use crate::Fin;
use crate::error::Error;
use crate::multiplex::{
    DataFrame, Next, Opener, Over, Role, Rule, Session, StreamStatus, Timer, rule,
};
use trace::PrioritySource;
use wire::h2::{
    Dependency, ErrorCode, FLAG_ACK, FLAG_END_STREAM, FLAG_PADDED, Frame, FrameError, FrameHeader,
    FrameKind, Reach, SettingsList,
};

/// What an answer in HTTP/1 begins with: as long as a frame's header.
const HTTP1_ANSWERS: [&[u8; 9]; 2] = [b"HTTP/1.1 ", b"HTTP/1.0 "];

impl Session<Http2> {
    /// Checks a frame header and decides how its payload is read.
    #[inline]
    pub(super) fn on_header(&mut self, header: FrameHeader) -> Result<Next, Over> {
        self.log.frame_parsed(header.stream, header.kind.name(), header.length);
        if let Some(rule) = self.misplaced(header) {
            return Err(match self.is_http1_answer(header) {
                true => self.fail_as(rule, Error::AnsweredInHttp1),
                false => self.fail(rule),
            });
        }
        if let Err(error) = header.check() {
            self.on_frame_error(header.stream, error)?;
            return Ok(Next::Skip(header.length));
        }
        match header.kind {
            FrameKind::DATA if header.has(FLAG_PADDED) && header.length == 0 => {
                let text = "RFC 9113 §6.1: the Pad Length is missing";
                Err(self.fail(rule(ErrorCode::FRAME_SIZE_ERROR, text)))
            }
            // The Pad Length comes first.
            FrameKind::DATA if header.has(FLAG_PADDED) => Ok(Next::Payload(1)),
            FrameKind::DATA => Ok(Next::Data(data_frame(header, 0))),
            kind if kind.0 <= FrameKind::CONTINUATION.0 || kind == FrameKind::PRIORITY_UPDATE => {
                Ok(Next::Payload(header.length))
            }
            // RFC 9113 §5.5: extensions that are not known are ignored.
            _ => {
                self.count_chatter()?;
                Ok(Next::Skip(header.length))
            }
        }
    }

    /// Whether the peer's first bytes, read as a frame's header, are a status line of HTTP/1.
    fn is_http1_answer(&self, header: FrameHeader) -> bool {
        !self.framing.peer.have_come()
            && HTTP1_ANSWERS.iter().any(|bytes| header == FrameHeader::parse(bytes))
    }

    /// Why the connection cannot have such a frame now, where it cannot.
    fn misplaced(&self, header: FrameHeader) -> Option<Rule<ErrorCode>> {
        let continues = header.kind == FrameKind::CONTINUATION;
        let expected = match &self.framing.partial {
            None => !continues,
            Some(partial) => continues && partial.stream() == header.stream,
        };
        let settings = header.kind == FrameKind::SETTINGS && !header.has(FLAG_ACK);
        if !self.framing.peer.have_come() && !settings {
            Some(protocol("RFC 9113 §3.4: SETTINGS come first"))
        } else if header.length > self.framing.settings.max_frame_size {
            let text = "RFC 9113 §4.2: the frame is larger than we take";
            Some(rule(ErrorCode::FRAME_SIZE_ERROR, text))
        } else if !expected {
            let text =
                "RFC 9113 §6.10: CONTINUATION follows its header block, and nothing else does";
            Some(protocol(text))
        } else if self.is_unread() {
            let text = "RFC 9113 §10.5: the peer does not read what it makes us send";
            Some(rule(ErrorCode::ENHANCE_YOUR_CALM, text))
        } else {
            None
        }
    }

    /// A frame that broke its own rules.
    fn on_frame_error(&mut self, stream: u32, error: FrameError) -> Result<(), Over> {
        let broken = rule(error.code, error.rule);
        match error.reach {
            Reach::Stream if self.status(stream) != StreamStatus::Idle => {
                self.fail_stream(stream, broken)
            }
            _ => Err(self.fail(broken)),
        }
    }

    /// Acts on a frame, or on the Pad Length of a DATA frame.
    pub(super) fn on_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<Next, Over> {
        if let (FrameKind::DATA, &[padding]) = (header.kind, payload) {
            let overhead = 1 + u32::from(padding);
            if overhead > header.length {
                return Err(self.fail(protocol("RFC 9113 §6.1: more padding than payload")));
            }
            return Ok(Next::Data(data_frame(header, overhead)));
        }
        match Frame::parse(header, payload) {
            Ok(frame) => self.on_frame(frame)?,
            Err(error) => self.on_frame_error(header.stream, error)?,
        }
        Ok(Next::Frame)
    }

    fn on_frame(&mut self, frame: Frame<'_>) -> Result<(), Over> {
        match frame {
            Frame::Headers { stream, block, end_stream, end_headers, dependency, .. } => {
                let fin = if end_stream { Fin::Last } else { Fin::More };
                let headers = Headers { id: stream, fin, dependency };
                self.on_block(Begun::Headers(headers), block, end_headers)
            }
            Frame::PushPromise { stream, promised, block, end_headers, .. } => {
                let begun = Begun::Promise { parent: stream, promised };
                self.on_block(begun, block, end_headers)
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
                self.count_reply()?;
                self.queue(&Frame::PingAck(opaque));
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
        self.count_chatter()?;
        if dependency.parent == stream {
            let rule = "RFC 7540 §5.3.1: a stream cannot depend on itself";
            let error = FrameError { reach: Reach::Stream, code: ErrorCode::PROTOCOL_ERROR, rule };
            return self.on_frame_error(stream, error);
        }
        // Idle and closed streams too: they group others (RFC 7540 §5.3.4).
        let asked = priority::from_dependency(dependency);
        self.change_priority(stream, PrioritySource::Priority, asked);
        Ok(())
    }

    fn on_priority_update(&mut self, stream: u32, value: &[u8]) -> Result<(), Over> {
        self.count_chatter()?;
        if self.role == Role::Client {
            return Err(self.fail(protocol("RFC 9218 §7.1: servers send no PRIORITY_UPDATE")));
        }
        let priority = priority::from_field(value);
        match (self.status(stream), self.opener(stream)) {
            (StreamStatus::Live(_), _) => {
                self.change_priority(stream, PrioritySource::PriorityUpdate, priority);
            }
            (StreamStatus::Idle, Opener::We) => {
                return Err(
                    self.fail(protocol("RFC 9218 §7.1: a push stream that was never promised"))
                );
            }
            (StreamStatus::Idle, Opener::Peer) => self.keep_early_priority(stream, priority),
            (StreamStatus::Gone(_), _) => {}
        }
        Ok(())
    }

    fn on_settings(&mut self, list: SettingsList<'_>) -> Result<(), Over> {
        self.count_reply()?;
        let role = self.role;
        let Http2 { settings, peer, codec, .. } = &mut self.framing;
        let applied = match peer.apply(role, list) {
            Ok(applied) => applied,
            Err(rule) => return Err(self.fail(rule)),
        };
        // RFC 7541 §4.2: the smallest size since the last block is told to the decoder, too.
        for allowed in [applied.smallest_table, peer.header_table_size] {
            codec.set_encoder_capacity(allowed.min(settings.encoder_table_size) as usize);
        }
        if applied.is_first {
            self.log.connection_ready("h2");
        }
        if applied.rules_out_dependencies {
            self.rule_out_dependencies();
        }
        self.queue(&Frame::SettingsAck);
        self.shift_send_windows(applied.window_shift)
    }

    /// Ours are in force now (RFC 9113 §6.5.3).
    fn on_settings_ack(&mut self) -> Result<(), Over> {
        if !self.timers.is_set(Timer::SettingsAck) {
            return self.count_chatter();
        }
        self.timers.cancel(Timer::SettingsAck);
        let Http2 { settings, codec, .. } = &mut self.framing;
        codec.set_decoder_capacity(settings.header_table_size as usize);
        let window = settings.stream_window;
        self.resize_receive_windows(window);
        Ok(())
    }

    fn on_ping_ack(&mut self, opaque: [u8; 8]) -> Result<(), Over> {
        match opaque {
            DRAIN_PING if self.is_shutdown_announced() => self.finish_shutdown(),
            KEEP_ALIVE_PING => self.timers.cancel(Timer::KeepAliveAck),
            _ => return self.count_chatter(),
        }
        Ok(())
    }
}

/// `overhead` counts padding and its length byte.
fn data_frame(header: FrameHeader, overhead: u32) -> DataFrame {
    let fin = if header.has(FLAG_END_STREAM) { Fin::Last } else { Fin::More };
    DataFrame { stream: header.stream, length: header.length, overhead, fin }
}
