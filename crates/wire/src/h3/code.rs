//! Error codes of HTTP/3 (RFC 9114 §8.1), QPACK (RFC 9204 §6) and datagrams (RFC 9297 §5.2).

use std::fmt;

/// Why a stream or connection ends. Unknown codes are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u64);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)*) => {
        impl ErrorCode {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The RFC's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    _ => "unknown",
                }
            }
        }
    };
}

codes! {
    /// An HTTP datagram is malformed.
    DATAGRAM_ERROR = 0x33, "H3_DATAGRAM_ERROR";
    /// In good order.
    NO_ERROR = 0x100, "H3_NO_ERROR";
    /// The peer broke the protocol, and no other code fits.
    GENERAL_PROTOCOL_ERROR = 0x101, "H3_GENERAL_PROTOCOL_ERROR";
    /// The sender failed.
    INTERNAL_ERROR = 0x102, "H3_INTERNAL_ERROR";
    /// The peer opened a stream that is not accepted.
    STREAM_CREATION_ERROR = 0x103, "H3_STREAM_CREATION_ERROR";
    /// A stream that the connection needs was closed.
    CLOSED_CRITICAL_STREAM = 0x104, "H3_CLOSED_CRITICAL_STREAM";
    /// A frame is not allowed where it came.
    FRAME_UNEXPECTED = 0x105, "H3_FRAME_UNEXPECTED";
    /// A frame breaks its layout or has the wrong size.
    FRAME_ERROR = 0x106, "H3_FRAME_ERROR";
    /// The peer makes too much work.
    EXCESSIVE_LOAD = 0x107, "H3_EXCESSIVE_LOAD";
    /// A stream or push identifier is used wrongly.
    ID_ERROR = 0x108, "H3_ID_ERROR";
    /// SETTINGS are wrong.
    SETTINGS_ERROR = 0x109, "H3_SETTINGS_ERROR";
    /// The control stream does not begin with SETTINGS.
    MISSING_SETTINGS = 0x10a, "H3_MISSING_SETTINGS";
    /// Refused before anything was done.
    REQUEST_REJECTED = 0x10b, "H3_REQUEST_REJECTED";
    /// No longer wanted.
    REQUEST_CANCELLED = 0x10c, "H3_REQUEST_CANCELLED";
    /// The request ended too soon.
    REQUEST_INCOMPLETE = 0x10d, "H3_REQUEST_INCOMPLETE";
    /// A message is malformed.
    MESSAGE_ERROR = 0x10e, "H3_MESSAGE_ERROR";
    /// The connection behind a CONNECT broke.
    CONNECT_ERROR = 0x10f, "H3_CONNECT_ERROR";
    /// HTTP/1.1 is wanted.
    VERSION_FALLBACK = 0x110, "H3_VERSION_FALLBACK";
    /// A field section cannot be decoded.
    QPACK_DECOMPRESSION_FAILED = 0x200, "QPACK_DECOMPRESSION_FAILED";
    /// An encoder's instruction cannot be followed.
    QPACK_ENCODER_STREAM_ERROR = 0x201, "QPACK_ENCODER_STREAM_ERROR";
    /// A decoder's instruction cannot be followed.
    QPACK_DECODER_STREAM_ERROR = 0x202, "QPACK_DECODER_STREAM_ERROR";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
