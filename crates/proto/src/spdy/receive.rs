//! Frames in: what each means, but for header blocks (`headers`). What SPDY has in common with HTTP/2
//! is the session's.

use super::framing::{Spdy, broken};
use super::headers::Syn;
use crate::Fin;
use crate::multiplex::{DataFrame, Next, Opener, Over, Session, Timer, rule};
use wire::spdy::{
    FLAG_FIN, Frame, FrameError, FrameHeader, FrameKind, Reach, SettingsList, Subject,
};

impl Session<Spdy> {
    /// Checks a frame header and decides how its payload is read.
    pub(super) fn on_header(&mut self, header: FrameHeader) -> Result<Next, Over> {
        let stream = match header.subject {
            Subject::Data { stream } => stream,
            Subject::Control { .. } => 0,
        };
        self.log.frame_parsed(stream, header.name(), header.length);
        if self.is_unread() {
            return Err(self.fail(broken("the peer does not read what it makes us send")));
        }
        if let Err(error) = header.check() {
            return Err(self.fail(broken(error.rule)));
        }
        let kind = match header.subject {
            Subject::Data { stream } => {
                let (length, fin) = (header.length, fin(header.has(FLAG_FIN)));
                return Ok(Next::Data(DataFrame { stream, length, overhead: 0, fin }));
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
            self.count_chatter()?;
            return Ok(Next::Skip(header.length));
        }
        if header.length > self.framing.settings.max_control_frame {
            // A block that is not inflated leaves no state to go on with.
            let text = "SPDY §2.2.1: the control frame is larger than we take";
            return Err(self.fail(broken(text)));
        }
        Ok(Next::Payload(header.length))
    }

    /// Acts on a control frame.
    pub(super) fn on_payload(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Over> {
        let frame = match Frame::parse(header, payload) {
            Ok(frame) => frame,
            Err(FrameError { reach: Reach::Session, rule }) => {
                return Err(self.fail(broken(rule)));
            }
            Err(FrameError { reach: Reach::Stream { stream, code }, rule: text }) => {
                return self.fail_stream(stream, rule(code, text));
            }
        };
        match frame {
            Frame::SynStream { stream, associated, priority, fin: last, unidirectional, block } => {
                let fin = fin(last);
                let syn = Syn { id: stream, associated, priority, fin, unidirectional };
                self.on_syn_stream(syn, block)
            }
            Frame::SynReply { stream, fin: last, block } => {
                self.on_syn_reply(stream, fin(last), block)
            }
            Frame::Headers { stream, fin: last, block } => {
                self.on_headers(stream, fin(last), block)
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

    fn on_settings(&mut self, clear: bool, list: SettingsList<'_>) -> Result<(), Over> {
        self.count_reply()?;
        match self.framing.peer.apply(clear, list) {
            Ok(window_shift) => self.shift_send_windows(window_shift),
            Err(rule) => Err(self.fail(broken(rule))),
        }
    }

    /// SPDY §2.6.5: the identifier's parity says which side sent the PING.
    fn on_ping(&mut self, id: u32) -> Result<(), Over> {
        if self.opener(id) == Opener::Peer {
            self.count_reply()?;
            self.queue(&Frame::Ping(id));
            return Ok(());
        }
        // An echo of what was never asked is ignored.
        if self.framing.has_pinged(id) {
            self.timers.cancel(Timer::KeepAliveAck);
        }
        self.count_chatter()
    }
}

/// FLAG_FIN in our words.
fn fin(flag: bool) -> Fin {
    if flag { Fin::Last } else { Fin::More }
}
