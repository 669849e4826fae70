//! What the codec of WebSocket reads is what it writes, and the other readers take anything.

use crate::{decode, reached};
use wire::ws::{
    CloseFrame, DeflateOffer, FrameHeader, Inflater, Utf8, WindowBits, parse_extensions,
};

const LIMIT: usize = 1 << 20;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    if let Ok(Some((header, length))) = FrameHeader::parse(bytes) {
        let mut out = Vec::new();
        header.put(&mut out);
        reached::note_value();
        assert_eq!(out, bytes[..length]);
    }
    if let Ok(Some(close)) = CloseFrame::parse(bytes) {
        assert!(bytes.len() > 125 || close.payload() == bytes);
    }
    for extension in parse_extensions(bytes).unwrap_or_default() {
        if let Some(offer) = DeflateOffer::of(&extension) {
            reached::note_value();
            let again = parse_extensions(offer.to_field().as_bytes()).expect("our own field");
            assert_eq!(DeflateOffer::of(&again[0]), Some(offer));
        }
    }
    let mut text = Utf8::new();
    let pieces = || bytes.chunks(usize::from(size).max(1));
    let taken = pieces().try_for_each(|piece| text.take(piece)).and_then(|()| text.end());
    assert_eq!(taken.is_ok(), std::str::from_utf8(bytes).is_ok());
    let (mut inflater, mut out) = (Inflater::new(WindowBits::MAX, false), Vec::new());
    let _ = pieces().try_for_each(|piece| inflater.take(piece, &mut out, LIMIT));
    assert!(out.capacity() <= 2 * LIMIT);
}
