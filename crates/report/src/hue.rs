//! One colour for each transport, the same in every picture and in the terminal. The colours are those of
//! Okabe and Ito, "Color Universal Design" (2008), which colour-blind readers can distinguish. A transport with TLS and
//! the same without have two similar hues. No picture shows anything by colour alone.

use study::experiment::{Contender, Tls, Transport};

/// The colour of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hue {
    /// HTTP/1.1 in the clear: orange, #E69F00.
    Http1Clear,
    /// HTTP/1.1 over TLS: vermilion, #D55E00.
    Http1Tls,
    /// HTTP/2 by prior knowledge: sky blue, #56B4E9.
    H2Clear,
    /// HTTP/2 over TLS: blue, #0072B2.
    H2Tls,
    /// HTTP/3: yellow, #F0E442; text in it is olive.
    H3,
    /// SPDY by prior knowledge: a lighter variant of the next, #5CC3A4.
    SpdyClear,
    /// SPDY over TLS: bluish green, #009E73.
    SpdyTls,
    /// WebSocket without TLS: a lighter variant of the next, #E2A7CB.
    WebSocketClear,
    /// WebSocket over TLS: reddish purple, #CC79A7.
    WebSocketTls,
}

impl Hue {
    /// The colour that `contender` has everywhere.
    pub(crate) fn of(contender: &Contender) -> Self {
        match (contender.transport, contender.tls) {
            (Transport::Http1, Tls::None) => Self::Http1Clear,
            (Transport::Http1, Tls::V1_2 | Tls::V1_3) => Self::Http1Tls,
            (Transport::H2, Tls::None) => Self::H2Clear,
            (Transport::H2, Tls::V1_2 | Tls::V1_3) => Self::H2Tls,
            (Transport::H3, _) => Self::H3,
            (Transport::Spdy | Transport::Spdy3, Tls::None) => Self::SpdyClear,
            (Transport::Spdy | Transport::Spdy3, Tls::V1_2 | Tls::V1_3) => Self::SpdyTls,
            (Transport::WebSocket | Transport::WebSocketH2 | Transport::WebSocketH3, Tls::None) => {
                Self::WebSocketClear
            }
            (
                Transport::WebSocket | Transport::WebSocketH2 | Transport::WebSocketH3,
                Tls::V1_2 | Tls::V1_3,
            ) => Self::WebSocketTls,
        }
    }

    /// The style sheet's class for the colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Http1Clear => "http1-clear",
            Self::Http1Tls => "http1-tls",
            Self::H2Clear => "h2-clear",
            Self::H2Tls => "h2-tls",
            Self::H3 => "h3",
            Self::SpdyClear => "spdy-clear",
            Self::SpdyTls => "spdy-tls",
            Self::WebSocketClear => "ws-clear",
            Self::WebSocketTls => "ws-tls",
        }
    }

    /// The nearest of the 256 terminal colours, light enough on a dark background and dark enough on a light one.
    pub(crate) fn ansi(self) -> u8 {
        match self {
            Self::Http1Clear => 172,
            Self::Http1Tls => 166,
            Self::H2Clear => 74,
            Self::H2Tls => 32,
            Self::H3 => 142,
            Self::SpdyClear => 79,
            Self::SpdyTls => 36,
            Self::WebSocketClear => 176,
            Self::WebSocketTls => 133,
        }
    }
}
