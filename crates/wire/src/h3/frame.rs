//! Frames (RFC 9114 §7). The one rule: what can be known wrong from a frame alone is found here; what depends on the
//! stream it came on, or on the connection, is not.

use super::varint::{VarintReader, parse_varint, put_varint};
use super::{ErrorCode, SettingsList};
use std::fmt;

/// The type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u64);

#[rustfmt::skip]
impl FrameKind {
    /// Bytes of a body.
    pub const DATA: Self = Self(0x0);
    /// A field section.
    pub const HEADERS: Self = Self(0x1);
    /// A push is not wanted.
    pub const CANCEL_PUSH: Self = Self(0x3);
    /// Parameters of the connection.
    pub const SETTINGS: Self = Self(0x4);
    /// A request that the server made up.
    pub const PUSH_PROMISE: Self = Self(0x5);
    /// The connection takes no new requests.
    pub const GOAWAY: Self = Self(0x7);
    /// How many pushes the client takes.
    pub const MAX_PUSH_ID: Self = Self(0xd);
    /// A request's priority (RFC 9218 §7.2).
    pub const PRIORITY_UPDATE: Self = Self(0xf_0700);
    /// A push's priority (RFC 9218 §7.2).
    pub const PRIORITY_UPDATE_PUSH: Self = Self(0xf_0701);
}

impl FrameKind {
    /// The RFC's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::DATA => "DATA",
            Self::HEADERS => "HEADERS",
            Self::CANCEL_PUSH => "CANCEL_PUSH",
            Self::SETTINGS => "SETTINGS",
            Self::PUSH_PROMISE => "PUSH_PROMISE",
            Self::GOAWAY => "GOAWAY",
            Self::MAX_PUSH_ID => "MAX_PUSH_ID",
            Self::PRIORITY_UPDATE | Self::PRIORITY_UPDATE_PUSH => "PRIORITY_UPDATE",
            _ => "unknown",
        }
    }

    /// Whether it is a frame of HTTP/2 that HTTP/3 forbids (RFC 9114 §7.2.8).
    pub fn is_http2_only(self) -> bool {
        matches!(self.0, 0x2 | 0x6 | 0x8 | 0x9)
    }
}

/// What every frame begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Type.
    pub kind: FrameKind,
    /// Bytes of payload.
    pub length: u64,
}

impl FrameHeader {
    /// Appends the header.
    pub fn encode(self, out: &mut Vec<u8>) {
        put_varint(self.kind.0, out);
        put_varint(self.length, out);
    }
}

/// Reads frame headers that may come in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrameReader {
    kind: Option<FrameKind>,
    varint: VarintReader,
}

/// What a [`FrameReader`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// More bytes are needed.
    Incomplete,
    /// A header; its payload follows.
    Header(FrameHeader),
}

impl FrameReader {
    /// Takes a header's bytes off the front of `input`.
    pub fn read(&mut self, input: &mut &[u8]) -> Read {
        if self.kind.is_none() {
            let Some(kind) = self.varint.read(input) else { return Read::Incomplete };
            self.kind = Some(FrameKind(kind));
        }
        match (self.varint.read(input), self.kind) {
            (Some(length), Some(kind)) => {
                self.kind = None;
                Read::Header(FrameHeader { kind, length })
            }
            _ => Read::Incomplete,
        }
    }

    /// Whether it stands in the middle of a header.
    pub fn is_partial(&self) -> bool {
        self.kind.is_some() || self.varint.is_partial()
    }
}

/// A frame that breaks its own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameError {
    /// Bytes from the start of the payload.
    pub at: usize,
    /// The code to answer with.
    pub code: ErrorCode,
    /// The rule broken.
    pub rule: &'static str,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}: {}", self.at, self.code, self.rule)
    }
}

impl std::error::Error for FrameError {}

/// A frame with its whole payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Bytes of a body.
    Data(&'a [u8]),
    /// A field section.
    Headers(&'a [u8]),
    /// A push is not wanted.
    CancelPush {
        /// Which.
        push: u64,
    },
    /// Parameters of the connection.
    Settings(SettingsList<'a>),
    /// A request that the server made up.
    PushPromise {
        /// The push that will carry its response.
        push: u64,
        /// Its field section.
        section: &'a [u8],
    },
    /// The connection takes no new requests (from a server) or pushes (from a client).
    GoAway {
        /// The first that is not processed.
        id: u64,
    },
    /// How many pushes the client takes.
    MaxPushId {
        /// The highest one.
        push: u64,
    },
    /// The priority of a request (RFC 9218 §7.2).
    PriorityUpdate {
        /// Its stream.
        stream: u64,
        /// A Priority field's value.
        value: &'a [u8],
    },
    /// The priority of a push (RFC 9218 §7.2).
    PriorityUpdatePush {
        /// Which.
        push: u64,
        /// A Priority field's value.
        value: &'a [u8],
    },
    /// A type that is not known: ignored (RFC 9114 §9).
    Unknown {
        /// Its type.
        kind: FrameKind,
        /// Its payload.
        payload: &'a [u8],
    },
}

impl<'a> Frame<'a> {
    /// Reads the frame of that type from its whole payload.
    pub fn parse(kind: FrameKind, payload: &'a [u8]) -> Result<Self, FrameError> {
        let mut rest = payload;
        Ok(match kind {
            FrameKind::DATA => Self::Data(payload),
            FrameKind::HEADERS => Self::Headers(payload),
            FrameKind::CANCEL_PUSH => Self::CancelPush { push: only(payload)? },
            FrameKind::SETTINGS => Self::Settings(SettingsList::parse(payload)?),
            FrameKind::PUSH_PROMISE => Self::PushPromise { push: first(&mut rest)?, section: rest },
            FrameKind::GOAWAY => Self::GoAway { id: only(payload)? },
            FrameKind::MAX_PUSH_ID => Self::MaxPushId { push: only(payload)? },
            FrameKind::PRIORITY_UPDATE => {
                Self::PriorityUpdate { stream: first(&mut rest)?, value: rest }
            }
            FrameKind::PRIORITY_UPDATE_PUSH => {
                Self::PriorityUpdatePush { push: first(&mut rest)?, value: rest }
            }
            kind => Self::Unknown { kind, payload },
        })
    }

    /// Its type.
    pub fn kind(&self) -> FrameKind {
        match self {
            Self::Data(_) => FrameKind::DATA,
            Self::Headers(_) => FrameKind::HEADERS,
            Self::CancelPush { .. } => FrameKind::CANCEL_PUSH,
            Self::Settings(_) => FrameKind::SETTINGS,
            Self::PushPromise { .. } => FrameKind::PUSH_PROMISE,
            Self::GoAway { .. } => FrameKind::GOAWAY,
            Self::MaxPushId { .. } => FrameKind::MAX_PUSH_ID,
            Self::PriorityUpdate { .. } => FrameKind::PRIORITY_UPDATE,
            Self::PriorityUpdatePush { .. } => FrameKind::PRIORITY_UPDATE_PUSH,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    /// Appends header and payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        match *self {
            Self::Data(bytes) | Self::Headers(bytes) | Self::Unknown { payload: bytes, .. } => {
                payload.extend_from_slice(bytes);
            }
            Self::CancelPush { push: id } | Self::GoAway { id } | Self::MaxPushId { push: id } => {
                put_varint(id, &mut payload);
            }
            Self::Settings(list) => {
                SettingsList::encode(&list.iter().collect::<Vec<_>>(), &mut payload);
            }
            Self::PushPromise { push: id, section: bytes }
            | Self::PriorityUpdate { stream: id, value: bytes }
            | Self::PriorityUpdatePush { push: id, value: bytes } => {
                put_varint(id, &mut payload);
                payload.extend_from_slice(bytes);
            }
        }
        FrameHeader { kind: self.kind(), length: payload.len() as u64 }.encode(out);
        out.extend_from_slice(&payload);
    }
}

fn first(rest: &mut &[u8]) -> Result<u64, FrameError> {
    let rule = "RFC 9114 §7.1: the frame ends within its first field";
    parse_varint(rest).ok_or(FrameError { at: 0, code: ErrorCode::FRAME_ERROR, rule })
}

fn only(payload: &[u8]) -> Result<u64, FrameError> {
    let mut rest = payload;
    let value = first(&mut rest)?;
    match rest.is_empty() {
        true => Ok(value),
        false => Err(FrameError {
            at: payload.len() - rest.len(),
            code: ErrorCode::FRAME_ERROR,
            rule: "RFC 9114 §7.1: bytes after the frame's last field",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h3::{Setting, SettingId};
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
        let mut input = bytes;
        let Read::Header(header) = FrameReader::default().read(&mut input) else {
            panic!("the header is not whole")
        };
        assert_eq!(header.length, input.len() as u64);
        Frame::parse(header.kind, input)
    }

    proptest! {
        #[test]
        fn every_frame_survives_the_wire(
            id in 0..(1_u64 << 62),
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            split in 0..9_usize,
        ) {
            let mut list = Vec::new();
            let setting = Setting { id: SettingId::MAX_FIELD_SECTION_SIZE, value: id };
            SettingsList::encode(&[setting], &mut list);
            for frame in [
                Frame::Data(&bytes),
                Frame::Headers(&bytes),
                Frame::CancelPush { push: id },
                Frame::Settings(SettingsList::parse(&list).unwrap()),
                Frame::PushPromise { push: id, section: &bytes },
                Frame::GoAway { id },
                Frame::MaxPushId { push: id },
                Frame::PriorityUpdate { stream: id, value: &bytes },
                Frame::PriorityUpdatePush { push: id, value: &bytes },
                Frame::Unknown { kind: FrameKind(0x21), payload: &bytes },
            ] {
                let mut coded = Vec::new();
                frame.encode(&mut coded);
                prop_assert_eq!(whole(&coded), Ok(frame));
                let mut reader = FrameReader::default();
                let (a, b) = coded.split_at(split.min(coded.len()));
                let (mut a, mut b) = (a, b);
                let header = match reader.read(&mut a) {
                    Read::Incomplete => reader.read(&mut b),
                    header => header,
                };
                let expected = (coded.len() - a.len() - b.len()) as u64;
                let Read::Header(header) = header else { panic!("{coded:?}") };
                prop_assert_eq!((header.kind, header.length), (frame.kind(), coded.len() as u64 - expected));
            }
        }

        #[test]
        fn any_payload_is_a_frame_or_an_error_within_it(
            kind in 0..16_u64,
            payload in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Err(error) = Frame::parse(FrameKind(kind), &payload) {
                prop_assert!(error.at <= payload.len());
            }
        }
    }

    #[test]
    fn settings_stand_once_and_are_http_3s() {
        let code =
            |payload: &[u8]| SettingsList::parse(payload).map(drop).map_err(|error| error.code);
        assert_eq!(code(&[0x6, 1, 0x6, 2]), Err(ErrorCode::SETTINGS_ERROR));
        for old in [0, 2, 3, 4, 5] {
            assert_eq!(code(&[old, 1]), Err(ErrorCode::SETTINGS_ERROR), "{old}");
        }
        assert_eq!(code(&[0x6]), Err(ErrorCode::FRAME_ERROR));
        assert!(code(&[0x21, 1, 0x40, 0x40, 2]).is_ok());
    }

    #[test]
    fn a_frame_of_one_number_has_nothing_behind_it() {
        assert_eq!(Frame::parse(FrameKind::GOAWAY, &[4]), Ok(Frame::GoAway { id: 4 }));
        for payload in [&[][..], &[0x40], &[4, 0]] {
            let error = Frame::parse(FrameKind::GOAWAY, payload).unwrap_err();
            assert_eq!(error.code, ErrorCode::FRAME_ERROR);
        }
    }
}
