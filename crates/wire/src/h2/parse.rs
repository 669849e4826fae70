//! Bytes to frames. The one rule: what can be known wrong from the frame alone is found here; what
//! depends on the stream or the connection is not.

use super::header::{FLAG_ACK, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PADDED, FLAG_PRIORITY};
use super::{Dependency, ErrorCode, Frame, FrameHeader, FrameKind, SettingsList};
use std::fmt;

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The frame's stream.
    Stream,
    /// The connection.
    Connection,
}

/// A frame that breaks its own rules. Its bytes begin where the frame header begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameError {
    /// How far it reaches.
    pub reach: Reach,
    /// The code to answer with.
    pub code: ErrorCode,
    /// The rule broken.
    pub rule: &'static str,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.rule)
    }
}

impl std::error::Error for FrameError {}

fn protocol(rule: &'static str) -> FrameError {
    FrameError { reach: Reach::Connection, code: ErrorCode::PROTOCOL_ERROR, rule }
}

fn size(rule: &'static str) -> FrameError {
    FrameError { reach: Reach::Connection, code: ErrorCode::FRAME_SIZE_ERROR, rule }
}

impl FrameHeader {
    /// Checks what the header alone can break: whether the type belongs to a stream or to the
    /// connection, and lengths that are fixed. Long because it has one arm a rule.
    pub fn check(self) -> Result<(), FrameError> {
        let on_stream = self.stream != 0;
        match self.kind {
            FrameKind::DATA
            | FrameKind::HEADERS
            | FrameKind::PUSH_PROMISE
            | FrameKind::CONTINUATION
                if !on_stream =>
            {
                Err(protocol("RFC 9113 §6: the frame belongs to a stream"))
            }
            FrameKind::PRIORITY | FrameKind::RST_STREAM if !on_stream => {
                Err(protocol("RFC 9113 §6: the frame belongs to a stream"))
            }
            FrameKind::SETTINGS
            | FrameKind::PING
            | FrameKind::GOAWAY
            | FrameKind::PRIORITY_UPDATE
                if on_stream =>
            {
                Err(protocol("RFC 9113 §6: the frame belongs to the connection"))
            }
            FrameKind::PRIORITY if self.length != 5 => Err(FrameError {
                reach: Reach::Stream,
                code: ErrorCode::FRAME_SIZE_ERROR,
                rule: "RFC 9113 §6.3: PRIORITY has 5 bytes",
            }),
            FrameKind::RST_STREAM if self.length != 4 => {
                Err(size("RFC 9113 §6.4: RST_STREAM has 4 bytes"))
            }
            FrameKind::SETTINGS if self.has(FLAG_ACK) && self.length != 0 => {
                Err(size("RFC 9113 §6.5: an acknowledgement is empty"))
            }
            FrameKind::SETTINGS if !self.length.is_multiple_of(6) => {
                Err(size("RFC 9113 §6.5: SETTINGS has 6 bytes a parameter"))
            }
            FrameKind::PING if self.length != 8 => Err(size("RFC 9113 §6.7: PING has 8 bytes")),
            FrameKind::GOAWAY if self.length < 8 => {
                Err(size("RFC 9113 §6.8: GOAWAY has 8 bytes or more"))
            }
            FrameKind::WINDOW_UPDATE if self.length != 4 => {
                Err(size("RFC 9113 §6.9: WINDOW_UPDATE has 4 bytes"))
            }
            FrameKind::PRIORITY_UPDATE if self.length < 4 => {
                Err(size("RFC 9218 §7.1: PRIORITY_UPDATE has 4 bytes or more"))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Frame<'a> {
    /// Reads the frame with that header from its whole payload. Long because it has one arm a frame.
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        header.check()?;
        if payload.len() != header.length as usize {
            return Err(size("the payload is not as long as the header says"));
        }
        let stream = header.stream;
        let end_stream = header.has(FLAG_END_STREAM);
        let end_headers = header.has(FLAG_END_HEADERS);
        let mut rest = Cursor(payload);
        Ok(match header.kind {
            FrameKind::DATA => {
                let (data, padding) = unpad(header, payload)?;
                Self::Data { stream, data, end_stream, padding }
            }
            FrameKind::HEADERS => {
                let (content, padding) = unpad(header, payload)?;
                let mut rest = Cursor(content);
                let dependency = match header.has(FLAG_PRIORITY) {
                    true => Some(rest.dependency()?),
                    false => None,
                };
                Self::Headers {
                    stream,
                    block: rest.0,
                    end_stream,
                    end_headers,
                    dependency,
                    padding,
                }
            }
            FrameKind::PRIORITY => Self::Priority { stream, dependency: rest.dependency()? },
            FrameKind::RST_STREAM => Self::ResetStream { stream, code: ErrorCode(rest.u32()?) },
            FrameKind::SETTINGS if header.has(FLAG_ACK) => Self::SettingsAck,
            FrameKind::SETTINGS => Self::Settings(SettingsList(payload)),
            FrameKind::PUSH_PROMISE => {
                let (content, padding) = unpad(header, payload)?;
                let mut rest = Cursor(content);
                let promised = rest.u32()? & 0x7fff_ffff;
                Self::PushPromise { stream, promised, block: rest.0, end_headers, padding }
            }
            FrameKind::PING if header.has(FLAG_ACK) => Self::PingAck(rest.take()?),
            FrameKind::PING => Self::Ping(rest.take()?),
            FrameKind::GOAWAY => {
                let last = rest.u32()? & 0x7fff_ffff;
                let code = ErrorCode(rest.u32()?);
                Self::GoAway { last, code, debug: rest.0 }
            }
            FrameKind::WINDOW_UPDATE => Self::window_update(stream, rest.u32()? & 0x7fff_ffff)?,
            FrameKind::CONTINUATION => Self::Continuation { stream, block: payload, end_headers },
            FrameKind::PRIORITY_UPDATE => {
                let prioritised = rest.u32()? & 0x7fff_ffff;
                if prioritised == 0 {
                    return Err(protocol("RFC 9218 §7.1: a prioritised stream is not 0"));
                }
                Self::PriorityUpdate { prioritised, value: rest.0 }
            }
            FrameKind(_) => Self::Unknown { header, payload },
        })
    }

    fn window_update(stream: u32, increment: u32) -> Result<Self, FrameError> {
        if increment == 0 {
            let reach = if stream == 0 { Reach::Connection } else { Reach::Stream };
            let rule = "RFC 9113 §6.9: an increment is not 0";
            return Err(FrameError { reach, code: ErrorCode::PROTOCOL_ERROR, rule });
        }
        Ok(Self::WindowUpdate { stream, increment })
    }
}

/// RFC 9113 §6.1: Pad Length before, padding behind.
fn unpad(header: FrameHeader, payload: &[u8]) -> Result<(&[u8], Option<u8>), FrameError> {
    if !header.has(FLAG_PADDED) {
        return Ok((payload, None));
    }
    let (&padding, content) =
        payload.split_first().ok_or(size("RFC 9113 §6.1: the Pad Length is missing"))?;
    let end = content.len().checked_sub(usize::from(padding));
    let end = end.ok_or(protocol("RFC 9113 §6.1: more padding than payload"))?;
    Ok((&content[..end], Some(padding)))
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (head, tail) =
            self.0.split_first_chunk().ok_or(size("RFC 9113 §4.2: the frame is too short"))?;
        self.0 = tail;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        self.take().map(u32::from_be_bytes)
    }

    fn dependency(&mut self) -> Result<Dependency, FrameError> {
        let parent = self.u32()?;
        let [weight] = self.take()?;
        Ok(Dependency { parent: parent & 0x7fff_ffff, exclusive: parent >> 31 == 1, weight })
    }
}
