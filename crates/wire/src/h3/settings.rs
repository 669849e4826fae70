//! The parameters of SETTINGS (RFC 9114 §7.2.4).

use super::varint::{parse_varint, put_varint};
use super::{ErrorCode, FrameError};

/// Which setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SettingId(pub u64);

#[rustfmt::skip]
impl SettingId {
    /// Bytes of the decoder's dynamic table at most (RFC 9204 §5).
    pub const QPACK_MAX_TABLE_CAPACITY: Self = Self(0x1);
    /// Largest field section, in bytes as RFC 9114 §4.2.2 counts them.
    pub const MAX_FIELD_SECTION_SIZE: Self = Self(0x6);
    /// Streams that may wait for the dynamic table (RFC 9204 §5).
    pub const QPACK_BLOCKED_STREAMS: Self = Self(0x7);
    /// Extended CONNECT (RFC 9220 §3).
    pub const ENABLE_CONNECT_PROTOCOL: Self = Self(0x8);
    /// HTTP datagrams (RFC 9297 §2.1.1).
    pub const H3_DATAGRAM: Self = Self(0x33);
}

/// A setting and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub id: SettingId,
    /// Its value.
    pub value: u64,
}

/// The payload of a SETTINGS frame whose parameters are whole and stand once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsList<'a>(&'a [u8]);

/// More parameters than any peer sends.
const MOST: usize = 256;

impl<'a> SettingsList<'a> {
    /// Reads a payload. HTTP/2's settings that HTTP/3 does not have are an error (RFC 9114 §7.2.4.1).
    pub fn parse(payload: &'a [u8]) -> Result<Self, FrameError> {
        let (mut rest, mut seen) = (payload, Vec::new());
        while !rest.is_empty() {
            let at = payload.len() - rest.len();
            let wrong = |code, rule| FrameError { at, code, rule };
            let cut =
                wrong(ErrorCode::FRAME_ERROR, "RFC 9114 §7.1: SETTINGS ends within a parameter");
            let id = parse_varint(&mut rest).ok_or(cut)?;
            parse_varint(&mut rest).ok_or(cut)?;
            if matches!(id, 0x0 | 0x2..=0x5) {
                let rule = "RFC 9114 §7.2.4.1: a setting of HTTP/2 that HTTP/3 does not have";
                return Err(wrong(ErrorCode::SETTINGS_ERROR, rule));
            }
            seen.push(id);
            if seen.len() > MOST {
                let rule = "RFC 9114 §10.5: more settings than there are";
                return Err(wrong(ErrorCode::EXCESSIVE_LOAD, rule));
            }
        }
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            let rule = "RFC 9114 §7.2.4: a setting stands once";
            return Err(FrameError { at: 0, code: ErrorCode::SETTINGS_ERROR, rule });
        }
        Ok(Self(payload))
    }

    /// The parameters, in order.
    pub fn iter(self) -> impl Iterator<Item = Setting> + 'a {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let id = SettingId(parse_varint(&mut rest)?);
            parse_varint(&mut rest).map(|value| Setting { id, value })
        })
    }

    /// Appends the payload of a SETTINGS frame with these parameters.
    pub fn encode(settings: &[Setting], out: &mut Vec<u8>) {
        for setting in settings {
            put_varint(setting.id.0, out);
            put_varint(setting.value, out);
        }
    }
}
