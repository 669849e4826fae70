//! Leaves the padding off packets before they are sealed. quinn-proto fills up a datagram with PATH_CHALLENGE to 1,200 bytes, also where
//! so many may not be sent (RFC 9000 §8.2.1), and cannot be told otherwise.

use super::frames::padding_start;
use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, PacketKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Asks a connection's key to leave the padding off the next packet. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PaddingSwitch(Arc<AtomicUsize>);

/// Nothing is asked for.
const NOTHING: usize = 0;

/// The next packet that ends with padding is to be sealed without it. Any other number is the bytes that one was shorter.
const ASKED: usize = usize::MAX;

/// Bytes of frames that stay at least: header protection needs a sample behind them (RFC 9001 §5.4.2).
const LEAST: usize = 4;

impl PaddingSwitch {
    /// The next packet with a short header goes without its padding.
    pub fn leave_off(&self) {
        self.0.store(ASKED, Ordering::Relaxed);
    }

    /// How many bytes shorter a packet was made since then: so many at its end are not to be sent. Nothing is asked for from now on.
    pub fn take(&self) -> usize {
        match self.0.swap(NOTHING, Ordering::Relaxed) {
            ASKED => 0,
            bytes => bytes,
        }
    }
}

/// `key`, which leaves padding off where `switch` says so.
pub(super) fn switched(key: Box<dyn PacketKey>, switch: &PaddingSwitch) -> Box<dyn PacketKey> {
    Box::new(SwitchedKey { key, switch: switch.clone() })
}

struct SwitchedKey {
    key: Box<dyn PacketKey>,
    switch: PaddingSwitch,
}

impl PacketKey for SwitchedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let mut end = buf.len();
        if self.switch.0.load(Ordering::Relaxed) == ASKED {
            let frames = &buf[header_len..end - self.key.tag_len()];
            if let Some(start) = padding_start(frames) {
                let left_off = frames.len() - start.max(LEAST).min(frames.len());
                end -= left_off;
                self.switch.0.store(left_off, Ordering::Relaxed);
            }
        }
        self.key.encrypt(packet, &mut buf[..end], header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)
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

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: usize = 2;

    /// A key whose tag is the length of what was sealed.
    struct Plain;

    impl PacketKey for Plain {
        fn encrypt(&self, _packet: u64, buf: &mut [u8], header_len: usize) {
            let length = (buf.len() - header_len - TAG) as u16;
            let at = buf.len() - TAG;
            buf[at..].copy_from_slice(&length.to_be_bytes());
        }

        fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
            Ok(())
        }

        fn tag_len(&self) -> usize {
            TAG
        }

        fn confidentiality_limit(&self) -> u64 {
            u64::MAX
        }

        fn integrity_limit(&self) -> u64 {
            u64::MAX
        }
    }

    /// What is sent of a packet with these frames, and how much shorter it is.
    fn sealed(switch: &PaddingSwitch, frames: &[u8], padding: usize) -> (Vec<u8>, usize) {
        let mut packet = [b"header", frames, &vec![0; padding], &[9; TAG]].concat();
        switched(Box::new(Plain), switch).encrypt(7, &mut packet, 6);
        let shorter = switch.take();
        packet.truncate(packet.len() - shorter);
        (packet, shorter)
    }

    #[test]
    fn padding_is_left_off_one_packet_that_was_asked_for() {
        let switch = PaddingSwitch::default();
        let challenge = b"\x1a1234567\x00";
        assert_eq!(sealed(&switch, challenge, 1_000).1, 0, "nobody has asked");
        switch.leave_off();
        let (packet, shorter) = sealed(&switch, challenge, 1_000);
        assert_eq!((&packet[..], shorter), (&b"header\x1a1234567\x00\x00\x09"[..], 1_000));
        assert_eq!(sealed(&switch, challenge, 1_000).1, 0, "it was for one packet");
    }

    #[test]
    fn a_packet_without_padding_stays_as_it_is_and_a_short_one_keeps_enough_for_its_sample() {
        let switch = PaddingSwitch::default();
        for (frames, padding, shorter) in
            [(&b"\x08\x00data"[..], 0, 0), (b"\x01", 1_000, 997), (b"\x01", 2, 0), (b"", 10, 6)]
        {
            switch.leave_off();
            let (packet, left_off) = sealed(&switch, frames, padding);
            assert_eq!(left_off, shorter, "{frames:?} and {padding}");
            assert_eq!(packet.len(), 6 + frames.len() + padding - shorter + TAG);
            let length = (frames.len() + padding - shorter) as u16;
            assert!(packet.ends_with(&length.to_be_bytes()));
        }
    }
}
