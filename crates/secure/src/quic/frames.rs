//! The frames of a packet (RFC 9000 §19), and where the padding at its end begins: the bytes of a stream may end with zeros,
//! too, so the frames before it are read one by one.

use trace::{QuicAck, QuicConnectionId, QuicEcnCounts, QuicErrorSpace, QuicFrame, QuicStreamType};

/// Where the PADDING frames that end this payload begin. None where it does not end with padding, or where its frames
/// cannot be told apart: then quinn-proto finds the error.
pub(super) fn padding_start(payload: &[u8]) -> Option<usize> {
    padding_behind(payload, |_| ())
}

/// The same for a payload with PATH_CHALLENGE; None for all others.
pub(super) fn padding_behind_challenge(payload: &[u8]) -> Option<usize> {
    let mut has_challenge = false;
    let note = |frame: &QuicFrame| has_challenge |= matches!(frame, QuicFrame::PathChallenge);
    padding_behind(payload, note).filter(|_| has_challenge)
}

fn padding_behind(payload: &[u8], mut note: impl FnMut(&QuicFrame)) -> Option<usize> {
    // Most packets end with a stream's data.
    if payload.last() != Some(&0) {
        return None;
    }
    let mut rest = payload;
    while !rest.is_empty() {
        let before = rest;
        let frame = read_frame(&mut rest, &mut |_, _| {})?;
        note(&frame);
        match frame {
            QuicFrame::Padding { .. } if rest.is_empty() => {
                return Some(payload.len() - before.len());
            }
            QuicFrame::Unknown { .. } => return None,
            _ => {}
        }
    }
    None
}

/// The frames of a packet. The last one is [`QuicFrame::Unknown`] where the rest cannot be read.
pub(super) fn read_frames(payload: &[u8]) -> Vec<QuicFrame> {
    let mut frames = Vec::new();
    let mut rest = payload;
    while !rest.is_empty() {
        let mut kind = rest;
        let mut ranges = Vec::new();
        let mut frame = read_frame(&mut rest, &mut |first, last| ranges.push((first, last)));
        match &mut frame {
            Some(QuicFrame::Ack(ack)) => {
                ranges.reverse();
                ack.ranges = ranges;
            }
            Some(QuicFrame::Unknown { .. }) | None => rest = &[],
            Some(_) => {}
        }
        let cut_off = || QuicFrame::Unknown { kind: integer(&mut kind).unwrap_or_default() };
        frames.push(frame.unwrap_or_else(cut_off));
    }
    frames
}

/// Takes the next frame off the front. None where it is cut off; of an unknown frame only the type is taken. The ranges
/// of an ACK go to `on_range`, highest first, and not into the frame.
fn read_frame(rest: &mut &[u8], on_range: &mut impl FnMut(u64, u64)) -> Option<QuicFrame> {
    let is_padding = rest.first() == Some(&0);
    let kind = integer(rest)?;
    Some(match kind {
        // RFC 9000 §12.4: a type has the shortest encoding, and a longer one is an error.
        0x00 if !is_padding => return None,
        0x00 => {
            let more = zeros(rest);
            *rest = &rest[more..];
            QuicFrame::Padding { length: 1 + more as u64 }
        }
        0x01 => QuicFrame::Ping,
        0x02 | 0x03 => QuicFrame::Ack(read_ack(rest, kind, on_range)?),
        0x04 => {
            let [stream, code, final_size] = integers(rest)?;
            QuicFrame::ResetStream { stream, code, final_size }
        }
        0x05 => {
            let [stream, code] = integers(rest)?;
            QuicFrame::StopSending { stream, code }
        }
        0x06 => {
            let offset = integer(rest)?;
            QuicFrame::Crypto { offset, length: skip_prefixed(rest)? }
        }
        0x07 => QuicFrame::NewToken { length: skip_prefixed(rest)? },
        0x08..=0x0f => read_stream(rest, kind)?,
        0x10..=0x17 => read_limit(rest, kind)?,
        0x18 => read_new_id(rest)?,
        0x19 => QuicFrame::RetireConnectionId { sequence: integer(rest)? },
        0x1a | 0x1b => {
            *rest = rest.get(8..)?;
            if kind == 0x1a { QuicFrame::PathChallenge } else { QuicFrame::PathResponse }
        }
        0x1c | 0x1d => read_close(rest, kind)?,
        0x1e => QuicFrame::HandshakeDone,
        0x1f => QuicFrame::ImmediateAck,
        0x30 => QuicFrame::Datagram { length: skip_all(rest) },
        0x31 => QuicFrame::Datagram { length: skip_prefixed(rest)? },
        0xaf => {
            let [_sequence, threshold, _max_delay, _reordering] = integers(rest)?;
            QuicFrame::AckFrequency { threshold }
        }
        kind => QuicFrame::Unknown { kind },
    })
}

/// The zeros that `bytes` begin with. A client may fill each datagram with more than a thousand, so most are compared many at
/// a time.
fn zeros(bytes: &[u8]) -> usize {
    const MANY: usize = 64;
    let (many, _) = bytes.as_chunks::<MANY>();
    let whole = MANY * many.iter().take_while(|part| **part == [0; MANY]).count();
    whole + bytes[whole..].iter().take_while(|byte| **byte == 0).count()
}

/// RFC 9000 §19.3.
fn read_ack(rest: &mut &[u8], kind: u64, on_range: &mut impl FnMut(u64, u64)) -> Option<QuicAck> {
    let [largest, delay, more, length] = integers(rest)?;
    let mut first = largest.checked_sub(length)?;
    on_range(first, largest);
    for _ in 0..more {
        let [gap, length] = integers(rest)?;
        let last = first.checked_sub(gap)?.checked_sub(2)?;
        first = last.checked_sub(length)?;
        on_range(first, last);
    }
    let ecn = match kind {
        0x03 => {
            let [ect0, ect1, ce] = integers(rest)?;
            Some(QuicEcnCounts { ect0, ect1, ce })
        }
        _ => None,
    };
    Some(QuicAck { delay, ranges: Vec::new(), ecn })
}

/// RFC 9000 §19.8. Without a length it reaches to the packet's end.
fn read_stream(rest: &mut &[u8], kind: u64) -> Option<QuicFrame> {
    let stream = integer(rest)?;
    let offset = if kind & 4 != 0 { integer(rest)? } else { 0 };
    let length = if kind & 2 != 0 { skip_prefixed(rest)? } else { skip_all(rest) };
    Some(QuicFrame::Stream { stream, offset, length, is_last: kind & 1 != 0 })
}

/// The frames of flow control (RFC 9000 §19.9 to §19.14).
fn read_limit(rest: &mut &[u8], kind: u64) -> Option<QuicFrame> {
    let first = integer(rest)?;
    let streams = match kind {
        0x12 | 0x16 => QuicStreamType::Bidirectional,
        _ => QuicStreamType::Unidirectional,
    };
    Some(match kind {
        0x10 => QuicFrame::MaxData { maximum: first },
        0x11 => QuicFrame::MaxStreamData { stream: first, maximum: integer(rest)? },
        0x12 | 0x13 => QuicFrame::MaxStreams { kind: streams, maximum: first },
        0x14 => QuicFrame::DataBlocked { limit: first },
        0x15 => QuicFrame::StreamDataBlocked { stream: first, limit: integer(rest)? },
        _ => QuicFrame::StreamsBlocked { kind: streams, limit: first },
    })
}

/// RFC 9000 §19.15: the ID has a length of one byte; a reset token follows.
fn read_new_id(rest: &mut &[u8]) -> Option<QuicFrame> {
    let [sequence, retire_prior_to] = integers(rest)?;
    let (&length, after) = rest.split_first()?;
    let (id, after) = after.split_at_checked(usize::from(length))?;
    *rest = after.get(16..)?;
    let id = QuicConnectionId::new(id)?;
    Some(QuicFrame::NewConnectionId { sequence, retire_prior_to, id })
}

/// RFC 9000 §19.19.
fn read_close(rest: &mut &[u8], kind: u64) -> Option<QuicFrame> {
    let code = integer(rest)?;
    let space = if kind == 0x1c {
        let _frame_type = integer(rest)?;
        QuicErrorSpace::Transport
    } else {
        QuicErrorSpace::Application
    };
    skip_prefixed(rest)?;
    Some(QuicFrame::ConnectionClose { space, code })
}

/// Skips bytes whose number stands before them.
fn skip_prefixed(rest: &mut &[u8]) -> Option<u64> {
    let length = integer(rest)?;
    *rest = rest.get(usize::try_from(length).ok()?..)?;
    Some(length)
}

fn skip_all(rest: &mut &[u8]) -> u64 {
    std::mem::take(rest).len() as u64
}

fn integers<const COUNT: usize>(rest: &mut &[u8]) -> Option<[u64; COUNT]> {
    let mut values = [0; COUNT];
    for value in &mut values {
        *value = integer(rest)?;
    }
    Some(values)
}

/// A variable-length integer (RFC 9000 §16).
pub(super) fn integer(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let length = 1 << (first >> 6);
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    let value =
        bytes[1..].iter().fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte));
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(frames: &[u8], padding: usize) -> Vec<u8> {
        [frames, &vec![0; padding]].concat()
    }

    #[test]
    fn padding_is_found_after_any_frames_and_never_within_them() {
        let frames: [&[u8]; 9] = [
            b"\x01",
            // CRYPTO whose data end with zeros; an ACK of two ranges that ends with one.
            b"\x06\x00\x03a\x00\x00",
            b"\x02\x05\x00\x01\x00\x01\x00",
            b"\x03\x05\x00\x00\x00\x01\x00\x00",
            b"\x0e\x04\x41\x00\x02\x00\x00",
            b"\x18\x01\x00\x04abcd0123456789abcde\x00",
            b"\x1a1234567\x00",
            b"\x1d\x41\x00\x00",
            b"\x31\x02\x00\x00",
        ];
        for frame in frames {
            for before in [&b""[..], b"\x00\x00", &[0; 130], b"\x01\x06\x00\x01\x00"] {
                let frames = [before, frame].concat();
                assert_eq!(padding_start(&frames), None, "{frame:02x?}");
                for padding in [1, 2, 64, 65, 66, 900] {
                    let found = padding_start(&padded(&frames, padding));
                    assert_eq!(found, Some(frames.len()), "{frame:02x?} and {padding}");
                }
            }
        }
        assert_eq!(padding_start(&[0; 20]), Some(0));
        assert_eq!(padding_start(b""), None);
    }

    #[test]
    fn every_frame_is_read_with_its_fields() {
        let stream =
            |offset, length, is_last| QuicFrame::Stream { stream: 4, offset, length, is_last };
        let (one_way, both_ways) = (QuicStreamType::Unidirectional, QuicStreamType::Bidirectional);
        let ack = |ranges: &[(u64, u64)], ecn| {
            QuicFrame::Ack(QuicAck { delay: 7, ranges: ranges.to_vec(), ecn })
        };
        let counts = QuicEcnCounts { ect0: 1, ect1: 2, ce: 3 };
        let id = QuicConnectionId::new(b"abcd").unwrap();
        let (application, transport) = (QuicErrorSpace::Application, QuicErrorSpace::Transport);
        let table: Vec<(&[u8], QuicFrame)> = vec![
            (b"\x00\x00\x00", QuicFrame::Padding { length: 3 }),
            (b"\x01", QuicFrame::Ping),
            (b"\x02\x14\x07\x02\x01\x01\x02\x00\x08", ack(&[(4, 12), (14, 16), (19, 20)], None)),
            (b"\x03\x05\x07\x00\x00\x01\x02\x03", ack(&[(5, 5)], Some(counts))),
            (
                b"\x04\x04\x41\x02\x09",
                QuicFrame::ResetStream { stream: 4, code: 258, final_size: 9 },
            ),
            (b"\x05\x04\x41\x02", QuicFrame::StopSending { stream: 4, code: 258 }),
            (b"\x06\x05\x02ab", QuicFrame::Crypto { offset: 5, length: 2 }),
            (b"\x07\x03abc", QuicFrame::NewToken { length: 3 }),
            (b"\x0f\x04\x09\x02ab", stream(9, 2, true)),
            (b"\x0a\x04\x02ab", stream(0, 2, false)),
            (b"\x10\x09", QuicFrame::MaxData { maximum: 9 }),
            (b"\x11\x04\x09", QuicFrame::MaxStreamData { stream: 4, maximum: 9 }),
            (b"\x12\x09", QuicFrame::MaxStreams { kind: both_ways, maximum: 9 }),
            (b"\x13\x09", QuicFrame::MaxStreams { kind: one_way, maximum: 9 }),
            (b"\x14\x09", QuicFrame::DataBlocked { limit: 9 }),
            (b"\x15\x04\x09", QuicFrame::StreamDataBlocked { stream: 4, limit: 9 }),
            (b"\x16\x09", QuicFrame::StreamsBlocked { kind: both_ways, limit: 9 }),
            (b"\x17\x09", QuicFrame::StreamsBlocked { kind: one_way, limit: 9 }),
            (
                b"\x18\x02\x01\x04abcd0123456789abcdef",
                QuicFrame::NewConnectionId { sequence: 2, retire_prior_to: 1, id },
            ),
            (b"\x19\x02", QuicFrame::RetireConnectionId { sequence: 2 }),
            (b"\x1a12345678", QuicFrame::PathChallenge),
            (b"\x1b12345678", QuicFrame::PathResponse),
            (b"\x1c\x02\x06\x02no", QuicFrame::ConnectionClose { space: transport, code: 2 }),
            (b"\x1d\x41\x00\x00", QuicFrame::ConnectionClose { space: application, code: 256 }),
            (b"\x1e", QuicFrame::HandshakeDone),
            (b"\x1f", QuicFrame::ImmediateAck),
            (b"\x40\xaf\x01\x0a\x02\x03", QuicFrame::AckFrequency { threshold: 10 }),
            (b"\x31\x02ab", QuicFrame::Datagram { length: 2 }),
        ];
        for (bytes, frame) in &table {
            assert_eq!(read_frames(bytes), std::slice::from_ref(frame), "{bytes:02x?}");
            // Cut off anywhere it is nothing else, and the next frame is not read into it.
            for end in 1..bytes.len() {
                let cut = read_frames(&bytes[..end]);
                assert!(!cut.contains(frame), "{bytes:02x?} to {end}");
            }
            let two = read_frames(&[bytes, &b"\x01"[..]].concat());
            assert_eq!(two, [frame.clone(), QuicFrame::Ping]);
        }
        assert_eq!(read_frames(b"\x0d\x04\x09abc"), [stream(9, 3, true)]);
        assert_eq!(read_frames(b"\x30abc"), [QuicFrame::Datagram { length: 3 }]);
        assert_eq!(
            read_frames(b"\x01\x21ab"),
            [QuicFrame::Ping, QuicFrame::Unknown { kind: 0x21 }]
        );
        assert_eq!(read_frames(b"\x02\x01\x07\x00\x05"), [QuicFrame::Unknown { kind: 2 }]);
    }

    #[test]
    fn data_that_reach_to_the_end_of_the_packet_keep_their_zeros() {
        for frame in [&b"\x08\x00data\x00\x00"[..], b"\x30data\x00\x00", b"\x0d\x00\x05\x00\x00"] {
            assert_eq!(padding_start(frame), None);
        }
    }

    #[test]
    fn a_packet_that_cannot_be_read_stays_as_it_is() {
        for frame in
            [&b"\x40\x00"[..], b"\x06\x00\x09\x00", b"\x02\x05\x00\x3f\x00\x00", b"\x21\x00"]
        {
            assert_eq!(padding_start(frame), None, "{frame:02x?}");
        }
    }
}
