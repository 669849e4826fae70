//! A SPDY frame that is read can be written and read again.

use crate::reached;
use wire::spdy::{Frame, FrameHeader, HEADER_LENGTH};

pub(crate) fn run(bytes: &[u8]) {
    let Some((header, payload)) = bytes.split_first_chunk::<HEADER_LENGTH>() else { return };
    let mut header = FrameHeader::parse(header);
    assert_eq!(FrameHeader::parse(&header.bytes()), header);
    header.length = payload.len() as u32;
    if let Ok(frame) = Frame::parse(header, payload) {
        reached::note_value();
        let mut again = Vec::new();
        frame.encode(&mut again);
        let (header, payload) = again.split_first_chunk::<HEADER_LENGTH>().expect("a header");
        assert_eq!(Frame::parse(FrameHeader::parse(header), payload), Ok(frame));
    }
}
