//! A decoder under arbitrary blocks: it never gives more than the limit, and what it gives can be coded
//! and read again.

use crate::{decode, reached};
use wire::Fields;
use wire::hpack::{Decoder, Encoder};

const LIMIT: usize = 4096;

pub(crate) fn run(input: &[u8]) {
    let Some(blocks) = decode::<Vec<&[u8]>>(input) else { return };
    let mut decoder = Decoder::new(4096);
    let (mut encoder, mut mirror) = (Encoder::new(4096), Decoder::new(4096));
    for block in blocks {
        let mut fields = Fields::new();
        if decoder.decode(block, LIMIT, |field| fields.push_field(field)).is_err() {
            return;
        }
        reached::note_value();
        assert!(fields.list_size() <= LIMIT);
        let mut coded = Vec::new();
        encoder.begin(&mut coded);
        fields.iter().for_each(|field| encoder.field(field, &mut coded));
        let mut again = Fields::new();
        let read = mirror.decode(&coded, LIMIT, |field| again.push_field(field));
        assert_eq!((read, again), (Ok(fields.list_size()), fields));
    }
}
