//! The keys of packets, and the integrity tag of Retry packets.

use super::frames::padding_start;
use super::observed_key::{PacketObserver, observed};
use super::padding::PaddingSwitch;
use super::tap::{PacketTap, tapped};
use bytes::BytesMut;
use quinn_proto::crypto::{HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::{ConnectionId, Side};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::quic::{DirectionalKeys, PacketKeySet, Suite, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes the padding off opened packets. quinn-proto parses each PADDING byte as a frame, and a datagram may hold a
/// thousand; bytes of a stream that wait for earlier ones keep all of the packet that they came in.
struct PaddingCut;

/// Where no more than this part of a packet is left, it is copied, so that the rest is kept by nobody.
const COPIED_PART: usize = 2;

impl PacketObserver for PaddingCut {
    fn opened(&self, _number: u64, _header: &[u8], payload: &mut BytesMut, _length: usize) {
        if let Some(start) = padding_start(payload) {
            // One byte stays: a packet must hold a frame (RFC 9000 §12.4), and padding alone counts as in flight.
            let frames = &payload[..start + 1];
            if COPIED_PART * frames.len() <= payload.len() {
                *payload = BytesMut::from(frames);
            } else {
                payload.truncate(start + 1);
            }
        }
    }
}

/// Whether a packet was opened.
struct HasOpened(Arc<AtomicBool>);

impl PacketObserver for HasOpened {
    fn opened(&self, _number: u64, _header: &[u8], _payload: &mut BytesMut, _length: usize) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The keys of Initial packets, which follow from the connection ID that the client chose first. Their padding stays: by
/// the opened length quinn-proto counts how much it may send to a client whose address is unproven (RFC 9000 §8.1).
pub(super) fn initial_keys(
    suite: &Suite,
    id: &ConnectionId,
    side: Side,
    tap: Option<&PacketTap>,
) -> Keys {
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    let keys = suite.keys(id, side, Version::V1);
    let ((header_local, local), (header_remote, remote)) = (split(keys.local), split(keys.remote));
    Keys {
        header: KeyPair { local: header_local, remote: header_remote },
        packet: KeyPair { local: tapped(local, tap), remote: tapped(remote, tap) },
    }
}

fn packet_keys(keys: rustls::quic::Keys, tap: Option<&PacketTap>) -> Keys {
    let (header_local, packet_local) = split(keys.local);
    let (header_remote, packet_remote) = split(keys.remote);
    Keys {
        header: KeyPair { local: header_local, remote: header_remote },
        packet: KeyPair {
            local: tapped(packet_local, tap),
            remote: observed(tapped(packet_remote, tap), PaddingCut),
        },
    }
}

/// The keys of Handshake packets, the first that a client can only make from what it was sent.
pub(super) fn handshake_keys(
    keys: rustls::quic::Keys,
    has_opened: Arc<AtomicBool>,
    tap: Option<&PacketTap>,
) -> Keys {
    let mut keys = packet_keys(keys, tap);
    keys.packet.remote = observed(keys.packet.remote, HasOpened(has_opened));
    keys
}

/// The keys of 1-RTT packets.
pub(super) fn one_rtt_keys(
    keys: rustls::quic::Keys,
    tap: Option<&PacketTap>,
    padding: Option<&PaddingSwitch>,
) -> Keys {
    let mut keys = packet_keys(keys, tap);
    keys.packet.local = with_switch(keys.packet.local, padding);
    keys
}

pub(super) fn updated_keys(
    keys: PacketKeySet,
    tap: Option<&PacketTap>,
    padding: Option<&PaddingSwitch>,
) -> KeyPair<Box<dyn PacketKey>> {
    let (local, remote) = (tapped(Box::new(keys.local), tap), tapped(Box::new(keys.remote), tap));
    KeyPair { local: with_switch(local, padding), remote: observed(remote, PaddingCut) }
}

fn with_switch(key: Box<dyn PacketKey>, padding: Option<&PaddingSwitch>) -> Box<dyn PacketKey> {
    match padding {
        Some(switch) => observed(key, switch.clone()),
        None => key,
    }
}

/// One direction's keys. For a client's early data, too: it only seals with them. A server opens early data with them.
pub(super) fn early_keys(
    keys: DirectionalKeys,
    tap: Option<&PacketTap>,
) -> (Box<dyn HeaderKey>, Box<dyn PacketKey>) {
    let (header, packet) = split(keys);
    (header, observed(tapped(packet, tap), PaddingCut))
}

fn split(keys: DirectionalKeys) -> (Box<dyn HeaderKey>, Box<dyn PacketKey>) {
    (Box::new(keys.header), Box::new(keys.packet))
}

/// RFC 9001 §5.8.
pub(super) fn retry_tag(original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
    const KEY: [u8; 16] = *b"\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e";
    const NONCE: [u8; 12] = *b"\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb";
    let mut pseudo_packet = Vec::with_capacity(1 + original.len() + packet.len());
    pseudo_packet.push(original.len() as u8);
    pseudo_packet.extend_from_slice(original);
    pseudo_packet.extend_from_slice(packet);
    let mut tag = [0; 16];
    let sealed = UnboundKey::new(&AES_128_GCM, &KEY).and_then(|key| {
        let nonce = Nonce::assume_unique_for_key(NONCE);
        LessSafeKey::new(key).seal_in_place_separate_tag(nonce, Aad::from(&pseudo_packet), &mut [])
    });
    if let Ok(sealed) = sealed {
        tag.copy_from_slice(sealed.as_ref());
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_padded_packet_keeps_little_memory() {
        for (frames, most) in [(&b"\x0e\x00\x01\x01x"[..], 64), (&[1; 900], 1_200)] {
            let mut payload =
                BytesMut::from(&[frames, &vec![0; 1_150 - frames.len()]].concat()[..]);
            PaddingCut.opened(0, b"", &mut payload, 1_200);
            assert_eq!(payload, [frames, b"\0"].concat());
            assert!(payload.capacity() <= most, "{}", payload.capacity());
        }
    }

    /// RFC 9001, appendix A.4.
    #[test]
    fn the_tag_of_a_retry_is_that_of_the_example() {
        let original = ConnectionId::new(b"\x83\x94\xc8\xf0\x3e\x51\x57\x08");
        let packet = b"\xff\x00\x00\x00\x01\x00\x08\xf0\x67\xa5\x50\x2a\x42\x62\xb5token";
        let tag = b"\x04\xa2\x65\xba\x2e\xff\x4d\x82\x90\x58\xfb\x3f\x0f\x24\x96\xba";
        assert_eq!(&retry_tag(&original, packet), tag);
    }
}
