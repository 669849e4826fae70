//! Bytes of HTTP/2, SPDY and WebSocket as an attacker writes them: no machine of ours has to find them right.

/// A frame of HTTP/2 (RFC 9113 §4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A client's beginning, with all the credit that there is: nothing but the server's own bounds is in the way.
pub(crate) fn preface() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, b"\x00\x04\x7f\xff\xff\xff"));
    bytes.extend(frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\x00\x00"));
    bytes
}

/// GET, or with a body to come POST, of a path of less than 128 bytes: the static table's entries, and literals
/// (RFC 7541 appendix A).
pub(crate) fn request(stream: u32, path: &str, flags: u8) -> Vec<u8> {
    let method = if flags & END_STREAM == 0 { 0x83 } else { 0x82 };
    let mut block = vec![method, 0x86, 0x04, path.len() as u8];
    block.extend(path.as_bytes());
    block.extend(b"\x01\x01a");
    frame(HEADERS, flags, stream, &block)
}

/// The error code of a server's GOAWAY among its bytes.
pub(crate) fn goaway(mut bytes: &[u8]) -> Option<u32> {
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        if head[3] == GOAWAY {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
        bytes = rest;
    }
    None
}

/// A request for a WebSocket.
pub(crate) const UPGRADE: &[u8] = b"GET /ws/echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// A client's binary message in one frame, masked with nothing (RFC 6455 §5.2).
pub(crate) fn message(length: usize) -> Vec<u8> {
    let mut bytes = vec![0x82, 0x80 | 127];
    bytes.extend((length as u64).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.resize(bytes.len() + length, b'm');
    bytes
}

/// A SYN_STREAM frame of SPDY/3 whose block is cut off (SPDY §2.6.1).
pub(crate) const CUT_SYN_STREAM: &[u8] = b"\x80\x03\x00\x01\x01\x00\x01\x00\x00\x00\x00\x01";
