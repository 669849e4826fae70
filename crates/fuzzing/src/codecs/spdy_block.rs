//! SPDY header blocks: any bytes give fields within the limit or an error, and what is written is read.

use crate::{decode, reached};
use wire::spdy::{BlockError, Decoder, Effort, Encoder};

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(&[u8], Vec<Vec<(String, String)>>)>(input) else { return };
    let (bytes, lists) = input;
    let mut decoder = Decoder::new();
    for block in bytes.chunks(64) {
        let mut size = 0;
        let outcome = decoder.decode(block, 4096, |field| size += field.value.len());
        assert!(size <= 4096);
        if outcome.is_ok() {
            reached::note_value();
        }
        if matches!(outcome, Err(BlockError::Compression(_))) {
            break;
        }
    }
    for effort in [Effort::Zlib(6), Effort::Fields] {
        round(&lists, effort);
    }
}

fn round(lists: &[Vec<(String, String)>], effort: Effort) {
    let (mut encoder, mut decoder) = (Encoder::new(effort), Decoder::new());
    for list in lists {
        let wanted = |(name, value): &&(String, String)| !name.is_empty() && !value.contains('\0');
        let mut block = Vec::new();
        encoder.begin();
        for (name, value) in list.iter().filter(wanted) {
            encoder.field(name.as_bytes(), value.as_bytes());
        }
        encoder.finish(&mut block);
        reached::note_value();
        decoder.decode(&block, 1 << 20, |_| {}).expect("our own block");
    }
}
