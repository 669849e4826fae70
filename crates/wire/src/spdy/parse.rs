//! Bytes to frames. The one rule: what can be known wrong from the frame alone is found here; what
//! depends on the stream or the session is not.

use super::header::{FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL, Subject};
use super::{Frame, FrameHeader, FrameKind, GoAwayCode, ResetCode, SettingsList, VERSION};
use std::fmt;

/// How far an error reaches, and what to answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A stream, which RST_STREAM ends.
    Stream {
        /// The stream.
        stream: u32,
        /// The code to answer with.
        code: ResetCode,
    },
    /// The session, which GOAWAY (PROTOCOL_ERROR) ends.
    Session,
}

/// A frame that breaks its own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameError {
    /// How far it reaches.
    pub reach: Reach,
    /// The rule broken.
    pub rule: &'static str,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)
    }
}

impl std::error::Error for FrameError {}

fn session(rule: &'static str) -> FrameError {
    FrameError { reach: Reach::Session, rule }
}

impl FrameHeader {
    /// Checks what the header alone can break: the version, and lengths that are too short.
    pub fn check(self) -> Result<(), FrameError> {
        let Subject::Control { version, kind } = self.subject else {
            return match self.subject {
                Subject::Data { stream: 0 } => {
                    Err(session("SPDY §2.2.2: DATA belongs to a stream"))
                }
                _ => Ok(()),
            };
        };
        let (least, rule) = match kind {
            FrameKind::SYN_STREAM => (10, "SPDY §2.6.1: SYN_STREAM has 10 bytes or more"),
            FrameKind::SYN_REPLY => (4, "SPDY §2.6.2: SYN_REPLY has 4 bytes or more"),
            // The draft says 8; node-spdy may add words for a log.
            FrameKind::RST_STREAM => (8, "SPDY §2.6.3: RST_STREAM has 8 bytes"),
            FrameKind::SETTINGS => (4, "SPDY §2.6.4: SETTINGS has 4 bytes or more"),
            FrameKind::PING => (4, "SPDY §2.6.5: PING has 4 bytes"),
            FrameKind::GOAWAY => (8, "SPDY §2.6.6: GOAWAY has 8 bytes"),
            FrameKind::HEADERS => (4, "SPDY §2.6.7: HEADERS has 4 bytes or more"),
            FrameKind::WINDOW_UPDATE => (8, "SPDY §2.6.8: WINDOW_UPDATE has 8 bytes"),
            _ => return Ok(()),
        };
        let exact = matches!(kind, FrameKind::PING | FrameKind::GOAWAY | FrameKind::WINDOW_UPDATE);
        if self.length < least || exact && self.length != least {
            return Err(session(rule));
        }
        if version != VERSION && kind != FrameKind::SYN_STREAM {
            return Err(session("SPDY §2.2.1: a version that is not 3"));
        }
        Ok(())
    }
}

impl<'a> Frame<'a> {
    /// Reads the frame with that header from its whole payload.
    pub fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        header.check()?;
        if payload.len() != header.length as usize {
            return Err(session("the payload is not as long as the header says"));
        }
        let fin = header.has(FLAG_FIN);
        let (version, kind) = match header.subject {
            Subject::Data { stream } => return Ok(Self::Data { stream, data: payload, fin }),
            Subject::Control { version, kind } => (version, kind),
        };
        let mut rest = Cursor(payload);
        Ok(match kind {
            FrameKind::SYN_STREAM => {
                let (stream, associated) = (rest.stream()?, rest.stream()?);
                let [priority, _slot] = rest.take()?;
                if version != VERSION {
                    let code = ResetCode::UNSUPPORTED_VERSION;
                    let rule = "SPDY §2.6.1: a version that is not 3";
                    return Err(FrameError { reach: Reach::Stream { stream, code }, rule });
                }
                Self::SynStream {
                    stream,
                    associated,
                    priority: priority >> 5,
                    fin,
                    unidirectional: header.has(FLAG_UNIDIRECTIONAL),
                    block: rest.0,
                }
            }
            FrameKind::SYN_REPLY => Self::SynReply { stream: rest.stream()?, fin, block: rest.0 },
            FrameKind::HEADERS => Self::Headers { stream: rest.stream()?, fin, block: rest.0 },
            FrameKind::RST_STREAM => {
                let (stream, code) = (rest.stream()?, ResetCode(rest.u32()?));
                if code.0 == 0 {
                    return Err(session("SPDY §2.6.3: a status of 0 is not valid"));
                }
                Self::ResetStream { stream, code }
            }
            FrameKind::SETTINGS => {
                let count = rest.u32()?;
                if u64::from(count) * 8 != rest.0.len() as u64 {
                    return Err(session("SPDY §2.6.4: SETTINGS has 8 bytes an entry"));
                }
                let clear = header.has(FLAG_CLEAR_SETTINGS);
                Self::Settings { clear, list: SettingsList(rest.0) }
            }
            FrameKind::PING => Self::Ping(rest.u32()?),
            FrameKind::GOAWAY => {
                Self::GoAway { last: rest.stream()?, code: GoAwayCode(rest.u32()?) }
            }
            FrameKind::WINDOW_UPDATE => Self::window_update(rest.stream()?, rest.stream()?)?,
            FrameKind(_) => Self::Unknown { header, payload },
        })
    }

    fn window_update(stream: u32, increment: u32) -> Result<Self, FrameError> {
        let rule = "SPDY §2.6.8: an increment is not 0";
        match (increment, stream) {
            (0, 0) => Err(session(rule)),
            (0, _) => {
                let code = ResetCode::PROTOCOL_ERROR;
                Err(FrameError { reach: Reach::Stream { stream, code }, rule })
            }
            _ => Ok(Self::WindowUpdate { stream, increment }),
        }
    }
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (head, tail) =
            self.0.split_first_chunk().ok_or(session("SPDY §2.2.1: the frame is too short"))?;
        self.0 = tail;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        self.take().map(u32::from_be_bytes)
    }

    /// 31 bits; the one before them is ignored.
    fn stream(&mut self) -> Result<u32, FrameError> {
        self.u32().map(|word| word & 0x7fff_ffff)
    }
}
