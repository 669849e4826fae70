//! A packet key of quinn-proto's, and somebody who looks at what passes through it and may shorten it.

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, PacketKey};

/// Looks at packets in clear: before they are sealed, and after they were opened.
pub(super) trait PacketObserver: Send + Sync + 'static {
    /// Bytes at the end of `payload` that are left off before it is sealed.
    fn left_off(&self, _payload: &[u8]) -> usize {
        0
    }

    /// Packet `number` is sealed next; with its tag it has `length` bytes.
    fn sealing(&self, _number: u64, _header: &[u8], _payload: &[u8], _length: usize) {}

    /// Packet `number` was opened; sealed it had `length` bytes. What is cut off `payload` is not read by quinn-proto.
    fn opened(&self, _number: u64, _header: &[u8], _payload: &mut BytesMut, _length: usize) {}
}

/// `key`, with `observer` looking on.
pub(super) fn observed(
    key: Box<dyn PacketKey>,
    observer: impl PacketObserver,
) -> Box<dyn PacketKey> {
    Box::new(ObservedKey { key, observer })
}

struct ObservedKey<O> {
    key: Box<dyn PacketKey>,
    observer: O,
}

impl<O: PacketObserver> PacketKey for ObservedKey<O> {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let (header, rest) = buf.split_at(header_len);
        let payload = &rest[..rest.len().saturating_sub(self.key.tag_len())];
        let left_off = self.observer.left_off(payload);
        let (payload, end) = (&payload[..payload.len() - left_off], buf.len() - left_off);
        self.observer.sealing(packet, header, payload, end);
        self.key.encrypt(packet, &mut buf[..end], header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = header.len() + payload.len();
        self.key.decrypt(packet, header, payload)?;
        self.observer.opened(packet, header, payload, length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
