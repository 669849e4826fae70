//! Arbitrary bytes as frames: what can be read is written alike.

use crate::reached;
use wire::h2::{Frame, FrameHeader, HEADER_LENGTH};

fn cut(bytes: &[u8]) -> Option<(FrameHeader, &[u8], &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<HEADER_LENGTH>()?;
    let header = FrameHeader::parse(header);
    let (payload, rest) = rest.split_at_checked(header.length as usize)?;
    Some((header, payload, rest))
}

pub(crate) fn run(bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((header, payload, tail)) = cut(rest) {
        rest = tail;
        let Ok(frame) = Frame::parse(header, payload) else { continue };
        reached::note_value();
        let mut written = Vec::new();
        frame.encode(&mut written);
        let (header, payload, end) = cut(&written).expect("a whole frame");
        assert!(end.is_empty());
        assert_eq!(Frame::parse(header, payload), Ok(frame));
    }
}
