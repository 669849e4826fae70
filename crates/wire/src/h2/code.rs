//! Error codes (RFC 9113 §7).

use std::fmt;

/// Why a stream or connection ends. Unknown codes are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

#[rustfmt::skip]
impl ErrorCode {
    /// In good order.
    pub const NO_ERROR: Self = Self(0x0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The sender failed.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// The peer sent more than its credit.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame came after the stream was half closed.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame has the wrong size.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// Refused before anything was done.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// No longer wanted.
    pub const CANCEL: Self = Self(0x8);
    /// The compression state is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection behind a CONNECT broke.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer makes too much work.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// TLS is too weak.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// HTTP/1.1 is wanted.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);
}

impl ErrorCode {
    /// The RFC's name.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
