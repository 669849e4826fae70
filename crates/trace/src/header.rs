//! The size of header blocks before and after compression, each way. The one rule: the size before compression is what
//! the same protocol would have sent uncompressed, so that the two differ by compression alone.

use crate::fetch::ConnectionRecord;
use serde::{Deserialize, Serialize};

/// Bytes of heads and trailers on one connection, as counted at one of its ends. Which bytes count depends on the
/// protocol:
///
/// | protocol | `plain` | `coded` |
/// |---|---|---|
/// | HTTP/1.1, and a WebSocket's handshake over it | a head from its start line to the empty line | the same |
/// | HTTP/2 | each field as HTTP/1.1 writes one, pseudo-fields too: name, `: `, value, CRLF | header blocks (RFC 7541), without frame headers |
/// | HTTP/3 | as HTTP/2 | field sections, and the instructions of QPACK's encoder stream (RFC 9204 §4.3), without frame headers |
/// | SPDY | the name/value block (SPDY §2.6.10), lengths and counts too | the block deflated, without the frame around it |
///
/// Blocks that could not be decoded are not counted, nor are trailers of HTTP/1.1, which are chunks of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeaderBytes {
    /// Sent.
    pub sent: HeaderSize,
    /// Received.
    pub received: HeaderSize,
}

/// Bytes of heads one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeaderSize {
    /// Before compression.
    pub plain: u64,
    /// After compression: on the wire.
    pub coded: u64,
}

impl HeaderSize {
    fn plus(self, other: Self) -> Self {
        Self { plain: self.plain + other.plain, coded: self.coded + other.coded }
    }

    /// Counts a block.
    #[inline]
    pub fn count(&mut self, plain: usize, coded: usize) {
        self.plain += plain as u64;
        self.coded += coded as u64;
    }
}

impl HeaderBytes {
    /// The sum over `connections`; None where one of them has no figures, and without a connection.
    pub fn of<'c>(connections: impl IntoIterator<Item = &'c ConnectionRecord>) -> Option<Self> {
        let add = |sum: Self, one: Self| Self {
            sent: sum.sent.plus(one.sent),
            received: sum.received.plus(one.received),
        };
        let mut figures = connections.into_iter().map(|connection| connection.headers);
        let first = figures.next()??;
        figures.try_fold(first, |sum, one| Some(add(sum, one?)))
    }
}
