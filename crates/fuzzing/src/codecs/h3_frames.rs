//! Frames out of arbitrary bytes in arbitrary pieces: a header is the same however it is cut, an error stands within
//! its frame, and what is read can be written and read again.

use crate::{decode, reached};
use wire::h3::{Frame, FrameReader, Read};

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let mut whole = bytes;
    let read = FrameReader::default().read(&mut whole);
    let (mut reader, mut cut) = (FrameReader::default(), Read::Incomplete);
    let mut taken = 0;
    for mut piece in bytes.chunks(usize::from(size).max(1)) {
        let length = piece.len();
        cut = reader.read(&mut piece);
        taken += length - piece.len();
        if cut != Read::Incomplete {
            break;
        }
    }
    assert_eq!((cut, taken), (read, bytes.len() - whole.len()));
    let Read::Header(header) = read else { return };
    match Frame::parse(header.kind, whole) {
        Ok(frame) => {
            reached::note_value();
            let mut coded = Vec::new();
            frame.encode(&mut coded);
            let mut rest = &coded[..];
            let Read::Header(again) = FrameReader::default().read(&mut rest) else {
                panic!("a header that was written is whole")
            };
            assert_eq!((again.kind, again.length), (header.kind, rest.len() as u64));
            Frame::parse(again.kind, rest).expect("a frame that was written can be read");
        }
        Err(error) => assert!(error.at <= whole.len()),
    }
}
