//! Leaves the padding off packets with PATH_CHALLENGE before they are sealed. quinn-proto fills up their datagrams to 1,200 bytes, also
//! where so many may not be sent (RFC 9000 §8.2.1), and cannot be told otherwise. All other packets stay as they are: padding is what a
//! probe of the MTU is for.

use super::frames::padding_behind_challenge;
use super::observed_key::PacketObserver;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Asks a connection's key to leave the padding off a packet with PATH_CHALLENGE. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PaddingSwitch(Arc<AtomicUsize>);

/// Nothing is asked for.
const NOTHING: usize = 0;

/// The next packet with PATH_CHALLENGE is to be sealed without padding. Any other number is the bytes that one was shorter.
const ASKED: usize = usize::MAX;

impl PaddingSwitch {
    /// The next packet with PATH_CHALLENGE goes without its padding. It must be the last of its datagram, and alone in its batch.
    pub fn leave_off(&self) {
        self.0.store(ASKED, Ordering::Relaxed);
    }

    /// How many bytes shorter a packet was made: so many at its end are not to be sent. Nothing is asked for from now on.
    pub fn take(&self) -> usize {
        match self.0.swap(NOTHING, Ordering::Relaxed) {
            ASKED => 0,
            bytes => bytes,
        }
    }
}

impl PacketObserver for PaddingSwitch {
    fn left_off(&self, payload: &[u8]) -> usize {
        if self.0.load(Ordering::Relaxed) != ASKED {
            return 0;
        }
        let Some(start) = padding_behind_challenge(payload) else { return 0 };
        let left_off = payload.len() - start;
        self.0.store(left_off, Ordering::Relaxed);
        left_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::observed_key::observed;
    use bytes::BytesMut;
    use quinn_proto::crypto::{CryptoError, PacketKey};

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
        observed(Box::new(Plain), switch.clone()).encrypt(7, &mut packet, 6);
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
    fn all_but_padded_challenges_stay_as_they_are() {
        let switch = PaddingSwitch::default();
        for (frames, padding) in [
            (&b"\x1a12345678\x08\x00data"[..], 0),
            // A probe of the MTU, and an answer to a challenge.
            (b"\x01", 1_000),
            (b"\x1b12345678", 1_000),
        ] {
            switch.leave_off();
            let (packet, left_off) = sealed(&switch, frames, padding);
            assert_eq!((packet.len(), left_off), (6 + frames.len() + padding + TAG, 0));
        }
    }
}
