//! How much a server may send to an address that may be somebody else's (RFC 9000 §8.1): three times what came from it.
//! quinn-proto counts, too, but begins a datagram whenever a single byte is allowed, and so sends one too many.

/// A client's address until it is proven, by a Handshake packet or by a token.
#[derive(Debug, Default)]
pub(super) struct UnprovenAddress {
    received: u64,
    sent: u64,
}

impl UnprovenAddress {
    /// A datagram of so many bytes came.
    pub(super) fn handle_received(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// So many bytes of datagrams go.
    pub(super) fn handle_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Bytes that may go.
    pub(super) fn credit(&self) -> u64 {
        (3 * self.received).saturating_sub(self.sent)
    }
}
