//! Receive windows (flow control) of HTTP/2, HTTP/3 and SPDY: which there are, and the usual ones.

use unit::ByteSize;

/// Chromium, net/http/http_network_session.cc: `kSpdyStreamMaxRecvWindowSize`.
pub(super) const CHROMIUM_STREAM_WINDOW: ByteSize = ByteSize(6 * 1024 * 1024);
/// Chromium, net/http/http_network_session.cc: `kSpdySessionMaxRecvWindowSize`.
pub(super) const CHROMIUM_CONNECTION_WINDOW: ByteSize = ByteSize(15 * 1024 * 1024);

/// A receive window of HTTP/2, HTTP/3 and SPDY, in bytes; the error says which there are. HTTP/2 decides (RFC 9113 §6.9): above
/// 2^31-1 a window is an error, and below 65,535 a connection's cannot be set.
pub fn receive_window(size: ByteSize) -> Result<ByteSize, &'static str> {
    match size.0 {
        65_535..=0x7fff_ffff => Ok(size),
        _ => Err("a receive window is from 65535 to 2147483647 bytes"),
    }
}
