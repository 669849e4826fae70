//! The packets of one connection in clear. Its keys note each packet that they seal or open, and its owner, who knows the
//! time, takes the notes after each call. Without a tap the keys are those of rustls, and nothing is noted.

use super::frames::{integer, read_frames};
use super::observed_key::{PacketObserver, observed};
use bytes::BytesMut;
use quinn_proto::Side;
use quinn_proto::crypto::PacketKey;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trace::{QuicConnectionId, QuicInitiator, QuicPacket, QuicPacketType, QuicParameter};

/// What a connection's cryptography has seen and nobody has taken yet. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PacketTap(Arc<Mutex<Vec<Observed>>>);

/// Something that a connection's cryptography has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// A packet was encrypted: it is sent next.
    Sent(QuicPacket),
    /// A packet was decrypted. It may be a duplicate.
    Received(QuicPacket),
    /// The transport parameters of an end (RFC 9000 §18).
    Parameters(QuicInitiator, Vec<QuicParameter>),
}

impl PacketTap {
    /// Takes what was seen since the last call, in its order.
    pub fn take(&self) -> Vec<Observed> {
        mem::take(&mut self.notes())
    }

    pub(super) fn note(&self, observed: Observed) {
        self.notes().push(observed);
    }

    fn notes(&self) -> MutexGuard<'_, Vec<Observed>> {
        // A panic elsewhere leaves whole notes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Transport parameters as they are sent: number and value. What cannot be read is left out: quinn-proto finds the error.
fn parameters(mut bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        let (id, length) = (integer(&mut bytes)?, integer(&mut bytes)?);
        let (value, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        Some((id, value))
    })
}

pub(super) fn read_parameters(bytes: &[u8]) -> Vec<QuicParameter> {
    parameters(bytes).map(|(id, value)| QuicParameter { id, value: value.to_vec() }).collect()
}

/// How much a peer lets this side send before it says more (RFC 9000 §18.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerWindows {
    /// Bytes of all streams.
    pub connection: u64,
    /// Bytes of a stream that a client has opened.
    pub stream: u64,
}

impl PeerWindows {
    /// Those that a peer which is a `side` tells by its transport parameters. What it leaves out is 0.
    pub(super) fn told_by(side: Side, bytes: &[u8]) -> Self {
        let value = |id| {
            let mut values = parameters(bytes).filter(|(other, _)| *other == id);
            values.next().and_then(|(_, mut value)| integer(&mut value)).unwrap_or(0)
        };
        let stream = match side {
            Side::Client => INITIAL_MAX_STREAM_DATA_BIDI_LOCAL,
            Side::Server => INITIAL_MAX_STREAM_DATA_BIDI_REMOTE,
        };
        Self { connection: value(INITIAL_MAX_DATA), stream: value(stream) }
    }
}

/// After how long without a packet a peer ends the connection, by its transport parameters (RFC 9000 §18.2). None for never.
pub(super) fn idle_timeout(bytes: &[u8]) -> Option<Duration> {
    let (_, mut value) = parameters(bytes).find(|(id, _)| *id == MAX_IDLE_TIMEOUT)?;
    integer(&mut value).filter(|&milliseconds| milliseconds > 0).map(Duration::from_millis)
}

const MAX_IDLE_TIMEOUT: u64 = 1;
const INITIAL_MAX_DATA: u64 = 4;
const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 5;
const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 6;

/// The same key, seen by the tap where there is one.
pub(super) fn tapped(key: Box<dyn PacketKey>, tap: Option<&PacketTap>) -> Box<dyn PacketKey> {
    match tap {
        Some(tap) => observed(key, tap.clone()),
        None => key,
    }
}

impl PacketObserver for PacketTap {
    fn sealing(&self, number: u64, header: &[u8], payload: &[u8], length: usize) {
        if let Some(packet) = read_packet(number, header, payload, length) {
            self.note(Observed::Sent(packet));
        }
    }

    fn opened(&self, number: u64, header: &[u8], payload: &mut BytesMut, length: usize) {
        if let Some(packet) = read_packet(number, header, payload, length) {
            self.note(Observed::Received(packet));
        }
    }
}

/// A packet of `length` bytes, by its header without protection and its payload in clear.
fn read_packet(number: u64, header: &[u8], payload: &[u8], length: usize) -> Option<QuicPacket> {
    let (&first, rest) = header.split_first()?;
    let (kind, destination, source) = if first & LONG_HEADER == 0 {
        // RFC 9000 §17.3.1: between the first byte and the packet number there is only the ID.
        let id = rest.get(..rest.len().checked_sub(usize::from(first & 3) + 1)?)?;
        (QuicPacketType::OneRtt, QuicConnectionId::new(id)?, None)
    } else {
        let kind = match first >> 4 & 3 {
            0 => QuicPacketType::Initial,
            1 => QuicPacketType::ZeroRtt,
            2 => QuicPacketType::Handshake,
            // A Retry is not encrypted.
            _ => return None,
        };
        let mut ids = rest.get(VERSION_BYTES..)?;
        let destination = take_id(&mut ids)?;
        (kind, destination, Some(take_id(&mut ids)?))
    };
    Some(QuicPacket {
        kind,
        number,
        destination,
        source,
        length: length as u64,
        payload_length: payload.len() as u64,
        frames: read_frames(payload),
    })
}

fn take_id(rest: &mut &[u8]) -> Option<QuicConnectionId> {
    let (&length, after) = rest.split_first()?;
    let (id, after) = after.split_at_checked(usize::from(length))?;
    *rest = after;
    QuicConnectionId::new(id)
}

/// RFC 9000 §17.2.
const LONG_HEADER: u8 = 0x80;
const VERSION_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use trace::QuicFrame;

    #[test]
    fn parameters_are_read_one_by_one() {
        let parameter = |id, value: &[u8]| QuicParameter { id, value: value.to_vec() };
        let read = read_parameters(b"\x04\x01\x09\x0c\x00\x40\xaa\x02ab\x05\x09cut");
        assert_eq!(read, [parameter(4, b"\x09"), parameter(12, b""), parameter(0xaa, b"ab")]);
    }

    #[test]
    fn headers_tell_the_type_and_the_connection_ids() {
        let id = |bytes: &[u8]| QuicConnectionId::new(bytes).unwrap();
        let long = |first: u8| [&[first][..], b"\0\0\0\x01\x04near\x03far\0\x40\x09\x00"].concat();
        for (first, kind) in [
            (0xc0, QuicPacketType::Initial),
            (0xd0, QuicPacketType::ZeroRtt),
            (0xe0, QuicPacketType::Handshake),
        ] {
            let packet = read_packet(9, &long(first), b"\x01", 40).unwrap();
            assert_eq!((packet.kind, packet.number, packet.length), (kind, 9, 40));
            assert_eq!((packet.destination, packet.source), (id(b"near"), Some(id(b"far"))));
            assert_eq!(packet.frames, [QuicFrame::Ping]);
        }
        assert_eq!(read_packet(9, &long(0xf0), b"\x01", 40), None);
        let packet = read_packet(700, b"\x41near\x02\xbc", b"\x01\0\0", 30).unwrap();
        assert_eq!((packet.kind, packet.destination), (QuicPacketType::OneRtt, id(b"near")));
        assert_eq!((packet.source, packet.payload_length), (None, 3));
        assert_eq!(read_packet(0, b"", b"", 0), None);
        assert_eq!(read_packet(0, b"\x43ab", b"", 3), None);
        assert_eq!(read_packet(0, b"\xc0\0\0\0\x01\x40near", b"", 3), None);
    }
}
