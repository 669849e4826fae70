//! Close codes and the payload of Close frames (RFC 6455 §5.5.1, §7.4).

use super::error::Error;
use super::frame::MAX_CONTROL;
use std::fmt;

/// Bytes of the longest reason.
pub const MAX_REASON: usize = MAX_CONTROL - 2;

/// Why a WebSocket ends (RFC 6455 §7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// An end point goes away.
    pub const GOING_AWAY: Self = Self(1001);
    /// A protocol error.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// A kind of data that is not taken.
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// Data that does not fit the kind of the message.
    pub const INVALID_PAYLOAD: Self = Self(1007);
    /// A policy.
    pub const POLICY_VIOLATION: Self = Self(1008);
    /// A message that is too big.
    pub const MESSAGE_TOO_BIG: Self = Self(1009);
    /// The client misses an extension.
    pub const MANDATORY_EXTENSION: Self = Self(1010);
    /// The server met something unexpected.
    pub const INTERNAL_ERROR: Self = Self(1011);

    /// `code` where it may stand in a Close frame: those that are registered for it, those that
    /// libraries register (3000 to 3999) and private ones (4000 to 4999). 1005, 1006 and 1015 are
    /// names for what no frame said (RFC 6455 §7.4.1, §7.4.2).
    pub const fn new(code: u16) -> Option<Self> {
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(code)),
            _ => None,
        }
    }

    /// The number.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// The name in the registry of close codes.
    pub const fn name(self) -> &'static str {
        match self.0 {
            1000 => "Normal Closure",
            1001 => "Going Away",
            1002 => "Protocol error",
            1003 => "Unsupported Data",
            1007 => "Invalid frame payload data",
            1008 => "Policy Violation",
            1009 => "Message Too Big",
            1010 => "Mandatory Ext.",
            1011 => "Internal Error",
            1012 => "Service Restart",
            1013 => "Try Again Later",
            1014 => "Bad Gateway",
            3000..=3999 => "a library's code",
            _ => "a private code",
        }
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a Close frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseFrame {
    /// Why.
    pub code: CloseCode,
    /// In words, not for people: 123 bytes at most.
    pub reason: String,
}

impl CloseFrame {
    /// Reads the payload; None for an empty one.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Error> {
        let (code, reason) = match payload {
            [] => return Ok(None),
            [_] => {
                return Err(Error::protocol(0, "a close code has two bytes (RFC 6455 §5.5.1)"));
            }
            [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        };
        let code = CloseCode::new(code)
            .ok_or(Error::protocol(0, "the close code is one that may be sent (RFC 6455 §7.4)"))?;
        let reason = std::str::from_utf8(reason).map_err(|error| Error {
            code: CloseCode::INVALID_PAYLOAD,
            position: 2 + error.valid_up_to(),
            rule: "the reason of a Close frame is UTF-8 (RFC 6455 §5.5.1)",
        })?;
        Ok(Some(Self { code, reason: reason.to_owned() }))
    }

    /// The payload. A reason that is too long is cut at the last character that fits.
    pub fn payload(&self) -> Vec<u8> {
        let mut end = self.reason.len().min(MAX_REASON);
        while !self.reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut payload = self.code.0.to_be_bytes().to_vec();
        payload.extend_from_slice(&self.reason.as_bytes()[..end]);
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_that_no_frame_may_carry_are_refused() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
            let payload = u16::to_be_bytes(code);
            assert_eq!(CloseFrame::parse(&payload).map_err(|e| e.code.code()), Err(1002), "{code}");
        }
        for code in [1000, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999] {
            let payload = u16::to_be_bytes(code);
            let parsed =
                CloseFrame::parse(&payload).map(|close| close.map(|close| close.code.code()));
            assert_eq!(parsed, Ok(Some(code)));
        }
    }

    #[test]
    fn a_payload_of_one_byte_and_a_reason_that_is_no_text_are_refused() {
        assert_eq!(CloseFrame::parse(&[3]).map_err(|error| error.code.code()), Err(1002));
        let error = CloseFrame::parse(&[3, 0xe8, b'a', 0xff]);
        assert_eq!(error.map_err(|error| (error.code.code(), error.position)), Err((1007, 3)));
        assert_eq!(CloseFrame::parse(&[]), Ok(None));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_cut_to_what_fits(code in 3000..5000_u16, reason in "\\PC*") {
            let close = CloseFrame { code: CloseCode::new(code).unwrap(), reason };
            let payload = close.payload();
            prop_assert!(payload.len() <= MAX_CONTROL);
            let read = CloseFrame::parse(&payload).unwrap().unwrap();
            prop_assert_eq!(read.code, close.code);
            prop_assert!(close.reason.starts_with(&read.reason));
            prop_assert!(read.reason == close.reason || read.reason.len() > MAX_REASON - 4);
        }
    }
}
