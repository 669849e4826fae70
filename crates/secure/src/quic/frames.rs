//! Where the padding at the end of a packet begins. The bytes of a stream may end with zeros, too, so the frames before
//! it are skipped one by one (RFC 9000 §19).

/// Where the PADDING frames that end this payload begin. None where it does not end with padding, or where its frames
/// cannot be told apart: then quinn-proto finds the error.
pub(super) fn padding_start(payload: &[u8]) -> Option<usize> {
    // Most packets end with a stream's data.
    if payload.last() != Some(&0) {
        return None;
    }
    let mut rest = payload;
    while let Some(&first) = rest.first() {
        if first == 0 {
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if zeros == rest.len() {
                return Some(payload.len() - zeros);
            }
            rest = &rest[zeros..];
        } else {
            rest = skip_frame(rest)?;
        }
    }
    None
}

fn skip_frame(frame: &[u8]) -> Option<&[u8]> {
    let mut rest = frame;
    let kind = integer(&mut rest)?;
    match kind {
        // PING, HANDSHAKE_DONE, IMMEDIATE_ACK.
        0x01 | 0x1e | 0x1f => {}
        0x02 | 0x03 => skip_ack(&mut rest, kind)?,
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => integers(&mut rest, 1)?,
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => integers(&mut rest, 2)?,
        // RESET_STREAM.
        0x04 => integers(&mut rest, 3)?,
        // CRYPTO.
        0x06 => {
            integers(&mut rest, 1)?;
            skip_prefixed(&mut rest)?;
        }
        // NEW_TOKEN, DATAGRAM with a length.
        0x07 | 0x31 => skip_prefixed(&mut rest)?,
        0x08..=0x0f => skip_stream(&mut rest, kind)?,
        // NEW_CONNECTION_ID: the ID has a length of one byte; a reset token follows.
        0x18 => {
            integers(&mut rest, 2)?;
            let (&length, after) = rest.split_first()?;
            rest = after.get(usize::from(length) + 16..)?;
        }
        // PATH_CHALLENGE, PATH_RESPONSE.
        0x1a | 0x1b => rest = rest.get(8..)?,
        // CONNECTION_CLOSE.
        0x1c | 0x1d => {
            integers(&mut rest, if kind == 0x1c { 2 } else { 1 })?;
            skip_prefixed(&mut rest)?;
        }
        // ACK_FREQUENCY.
        0xaf => integers(&mut rest, 4)?,
        // A DATAGRAM without a length reaches to the packet's end; others are unknown.
        _ => return None,
    }
    Some(rest)
}

fn skip_ack(rest: &mut &[u8], kind: u64) -> Option<()> {
    integers(rest, 2)?;
    let ranges = integer(rest)?;
    integer(rest)?;
    for _ in 0..ranges {
        integers(rest, 2)?;
    }
    // The three counters of ECN.
    if kind == 0x03 { integers(rest, 3) } else { Some(()) }
}

fn skip_stream(rest: &mut &[u8], kind: u64) -> Option<()> {
    let (has_offset, has_length) = (kind & 4 != 0, kind & 2 != 0);
    integers(rest, if has_offset { 2 } else { 1 })?;
    // Without a length it reaches to the packet's end.
    if has_length { skip_prefixed(rest) } else { None }
}

fn skip_prefixed(rest: &mut &[u8]) -> Option<()> {
    let length = usize::try_from(integer(rest)?).ok()?;
    *rest = rest.get(length..)?;
    Some(())
}

fn integers(rest: &mut &[u8], count: usize) -> Option<()> {
    for _ in 0..count {
        integer(rest)?;
    }
    Some(())
}

/// A variable-length integer (RFC 9000 §16).
fn integer(rest: &mut &[u8]) -> Option<u64> {
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
            for before in [&b""[..], b"\x00\x00", b"\x01\x06\x00\x01\x00"] {
                let frames = [before, frame].concat();
                assert_eq!(padding_start(&frames), None, "{frame:02x?}");
                for padding in [1, 2, 900] {
                    let found = padding_start(&padded(&frames, padding));
                    assert_eq!(found, Some(frames.len()), "{frame:02x?} and {padding}");
                }
            }
        }
        assert_eq!(padding_start(&[0; 20]), Some(0));
        assert_eq!(padding_start(b""), None);
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
