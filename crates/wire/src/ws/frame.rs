//! Frame headers (RFC 6455 §5.2). The one rule: what a header says wrong by itself is refused here,
//! as soon as its byte is there; what is wrong by its role or its turn is the connection's affair.

use super::error::Error;

/// Bytes of the longest header.
pub const MAX_HEADER: usize = 14;

/// Bytes of the longest payload of a control frame (RFC 6455 §5.5).
pub const MAX_CONTROL: usize = 125;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV2_AND_3: u8 = 0x30;
const MASKED: u8 = 0x80;
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;

/// What a frame is (RFC 6455 §11.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpCode {
    /// More of a message.
    Continuation,
    /// The beginning of a text message.
    Text,
    /// The beginning of a binary message.
    Binary,
    /// The end.
    Close,
    /// A question.
    Ping,
    /// Its answer.
    Pong,
}

impl OpCode {
    /// Whether it may stand between the fragments of a message (RFC 6455 §5.5).
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }

    /// The RFC's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continuation => "CONTINUATION",
            Self::Text => "TEXT",
            Self::Binary => "BINARY",
            Self::Close => "CLOSE",
            Self::Ping => "PING",
            Self::Pong => "PONG",
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }
}

/// Everything of a frame but its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Whether the message ends with this frame.
    pub fin: bool,
    /// Whether the message is compressed (RFC 7692 §6); without that extension, a fault.
    pub rsv1: bool,
    /// What it is.
    pub op_code: OpCode,
    /// The key that the payload is masked with, where it is.
    pub mask: Option<[u8; 4]>,
    /// Bytes of payload, below 2^63.
    pub length: u64,
}

impl FrameHeader {
    /// Reads a header off the front of `bytes`; gives it and its own length, or None where more are
    /// needed. A fault that the first two bytes show is reported without waiting for more.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        if first & RSV2_AND_3 != 0 {
            return Err(Error::protocol(0, "RSV2 and RSV3 are 0 (RFC 6455 §5.2)"));
        }
        let (fin, rsv1) = (first & FIN != 0, first & RSV1 != 0);
        let op_code = OpCode::from_number(first & 0x0f)
            .ok_or(Error::protocol(0, "the opcode is a known one (RFC 6455 §5.2)"))?;
        if op_code.is_control() && !fin {
            return Err(Error::protocol(0, "control frames are not fragmented (RFC 6455 §5.5)"));
        }
        let Some(&second) = bytes.get(1) else { return Ok(None) };
        let (masked, short) = (second & MASKED != 0, second & !MASKED);
        if op_code.is_control() && usize::from(short) > MAX_CONTROL {
            return Err(Error::protocol(
                1,
                "control frames have 125 bytes at most (RFC 6455 §5.5)",
            ));
        }
        let Some((length, key_at)) = parse_length(bytes, short)? else { return Ok(None) };
        let end = if masked { key_at + 4 } else { key_at };
        let Some(key) = bytes.get(key_at..end) else { return Ok(None) };
        Ok(Some((Self { fin, rsv1, op_code, mask: key.try_into().ok(), length }, end)))
    }

    /// Appends the header, with the shortest form of the length (RFC 6455 §5.2).
    pub fn put(&self, out: &mut Vec<u8>) {
        let flags = if self.fin { FIN } else { 0 } | if self.rsv1 { RSV1 } else { 0 };
        let masked = if self.mask.is_some() { MASKED } else { 0 };
        let mut bytes = [0; MAX_HEADER];
        bytes[0] = flags | self.op_code.number();
        let mut end = match self.length {
            0..=125 => {
                bytes[1] = masked | self.length as u8;
                2
            }
            126..=0xffff => {
                bytes[1] = masked | LENGTH_16;
                bytes[2..4].copy_from_slice(&(self.length as u16).to_be_bytes());
                4
            }
            _ => {
                bytes[1] = masked | LENGTH_64;
                bytes[2..10].copy_from_slice(&self.length.to_be_bytes());
                10
            }
        };
        if let Some(key) = self.mask {
            bytes[end..end + 4].copy_from_slice(&key);
            end += 4;
        }
        out.extend_from_slice(&bytes[..end]);
    }
}

/// The payload's length and the offset where its encoding ends.
fn parse_length(bytes: &[u8], short: u8) -> Result<Option<(u64, usize)>, Error> {
    let (length, end, least) = match short {
        LENGTH_16 => match bytes.get(2..4).and_then(|part| part.try_into().ok()) {
            Some(part) => (u64::from(u16::from_be_bytes(part)), 4, 126),
            None => return Ok(None),
        },
        LENGTH_64 => match bytes.get(2..10).and_then(|part| part.try_into().ok()) {
            Some(part) => (u64::from_be_bytes(part), 10, 0x1_0000),
            None => return Ok(None),
        },
        _ => (u64::from(short), 2, 0),
    };
    if length < least {
        return Err(Error::protocol(2, "a length has its shortest form (RFC 6455 §5.2)"));
    }
    if length > i64::MAX as u64 {
        return Err(Error::protocol(2, "the top bit of a length is 0 (RFC 6455 §5.2)"));
    }
    Ok(Some((length, end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(bytes: &[u8]) -> Option<usize> {
        FrameHeader::parse(bytes).err().map(|error| error.position)
    }

    #[test]
    fn the_examples_of_the_rfc_are_read_and_written() {
        let data =
            |fin, op_code, length| FrameHeader { fin, rsv1: false, op_code, mask: None, length };
        // RFC 6455 §5.7
        for (bytes, expected) in [
            (&[0x81, 0x05][..], data(true, OpCode::Text, 5)),
            (&[0x01, 0x03], data(false, OpCode::Text, 3)),
            (&[0x80, 0x02], data(true, OpCode::Continuation, 2)),
            (&[0x89, 0x05], data(true, OpCode::Ping, 5)),
            (&[0x82, 0x7e, 0x01, 0x00], data(true, OpCode::Binary, 256)),
            (&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0], data(true, OpCode::Binary, 65_536)),
        ] {
            assert_eq!(FrameHeader::parse(bytes), Ok(Some((expected, bytes.len()))));
            let mut out = Vec::new();
            expected.put(&mut out);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn a_header_that_breaks_a_rule_is_refused_as_soon_as_it_shows() {
        assert_eq!(rule(&[0xa1]), Some(0), "RSV2");
        assert_eq!(rule(&[0x91]), Some(0), "RSV3");
        assert_eq!(rule(&[0x83]), Some(0), "opcode 3");
        assert_eq!(rule(&[0x8b]), Some(0), "opcode 11");
        assert_eq!(rule(&[0x09]), Some(0), "a fragmented ping");
        assert_eq!(rule(&[0x89, 126]), Some(1), "a long ping");
        assert_eq!(rule(&[0x82, 126, 0, 125]), Some(2), "125 in 16 bits");
        assert_eq!(rule(&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), Some(2), "16 bits in 64");
        assert_eq!(rule(&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]), Some(2), "the top bit");
    }

    fn op_code() -> impl Strategy<Value = OpCode> {
        prop_oneof![
            Just(OpCode::Continuation),
            Just(OpCode::Text),
            Just(OpCode::Binary),
            Just(OpCode::Close),
            Just(OpCode::Ping),
            Just(OpCode::Pong),
        ]
    }

    proptest! {
        #[test]
        fn every_header_comes_back_and_no_prefix_of_it_is_taken(
            op_code in op_code(),
            (fin, rsv1) in any::<(bool, bool)>(),
            mask in any::<Option<[u8; 4]>>(),
            length in prop_oneof![0..130_u64, 65_500..65_600_u64, 0..=i64::MAX as u64],
        ) {
            let control = op_code.is_control();
            let length = if control { length % 126 } else { length };
            let header = FrameHeader { fin: fin || control, rsv1, op_code, mask, length };
            let mut bytes = Vec::new();
            header.put(&mut bytes);
            prop_assert_eq!(FrameHeader::parse(&bytes), Ok(Some((header, bytes.len()))));
            for cut in 0..bytes.len() {
                prop_assert_eq!(FrameHeader::parse(&bytes[..cut]), Ok(None));
            }
        }

        #[test]
        fn what_is_read_is_what_would_be_written(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(Some((header, length))) = FrameHeader::parse(&bytes) {
                let mut out = Vec::new();
                header.put(&mut out);
                prop_assert_eq!(&out[..], &bytes[..length]);
            }
        }
    }
}
