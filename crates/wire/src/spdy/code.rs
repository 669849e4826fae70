//! Status codes of RST_STREAM (SPDY §2.6.3) and GOAWAY (§2.6.6).

use std::fmt;

/// Why a stream ends. Unknown codes are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResetCode(pub u32);

#[rustfmt::skip]
impl ResetCode {
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// A frame for a stream that is not active.
    pub const INVALID_STREAM: Self = Self(2);
    /// Refused before anything was done.
    pub const REFUSED_STREAM: Self = Self(3);
    /// The version of a SYN_STREAM is not spoken here.
    pub const UNSUPPORTED_VERSION: Self = Self(4);
    /// No longer wanted.
    pub const CANCEL: Self = Self(5);
    /// The sender failed.
    pub const INTERNAL_ERROR: Self = Self(6);
    /// The peer sent more than its credit.
    pub const FLOW_CONTROL_ERROR: Self = Self(7);
    /// A second SYN_REPLY.
    pub const STREAM_IN_USE: Self = Self(8);
    /// A frame came after the stream was half closed.
    pub const STREAM_ALREADY_CLOSED: Self = Self(9);
    /// Credentials of a CREDENTIAL slot do not fit.
    pub const INVALID_CREDENTIALS: Self = Self(10);
    /// A frame is larger than the receiver takes.
    pub const FRAME_TOO_LARGE: Self = Self(11);
}

impl ResetCode {
    /// The draft's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 12] = [
            "unknown",
            "PROTOCOL_ERROR",
            "INVALID_STREAM",
            "REFUSED_STREAM",
            "UNSUPPORTED_VERSION",
            "CANCEL",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "STREAM_IN_USE",
            "STREAM_ALREADY_CLOSED",
            "INVALID_CREDENTIALS",
            "FRAME_TOO_LARGE",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a session ends. Unknown codes are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GoAwayCode(pub u32);

#[rustfmt::skip]
impl GoAwayCode {
    /// In good order.
    pub const OK: Self = Self(0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// The sender failed.
    pub const INTERNAL_ERROR: Self = Self(2);
}

impl GoAwayCode {
    /// The draft's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 3] = ["OK", "PROTOCOL_ERROR", "INTERNAL_ERROR"];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

impl fmt::Display for GoAwayCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
