//! A decoder and an encoder under arbitrary sections and instructions: a decoder never gives more than the limit, what
//! it gives can be coded and read again, and an encoder that believes a lying decoder stays whole.

use crate::{decode, reached};
use wire::Fields;
use wire::qpack::{Decoded, Decoder, DecoderLimits, Encoder, EncoderLimits};

const LIMIT: usize = 4096;
const CAPACITY: usize = 512;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, Vec<(u8, &[u8])>)>(input) else { return };
    let (blocked, parts) = input;
    let blocked_streams = usize::from(blocked % 4);
    let limits = DecoderLimits { max_capacity: CAPACITY, blocked_streams };
    let (mut decoder, mut mirror) = (Decoder::new(limits), Decoder::new(limits));
    let mut encoder = Encoder::new(CAPACITY);
    encoder.set_limits(EncoderLimits { max_capacity: CAPACITY, blocked_streams });
    let mut lied_to = Encoder::new(CAPACITY);
    lied_to.set_limits(EncoderLimits { max_capacity: CAPACITY, blocked_streams });
    for (kind, bytes) in parts {
        let stream = u64::from(kind / 4) * 4;
        if kind % 4 == 0 && decoder.handle_instructions(bytes).is_err() {
            return;
        }
        if kind % 4 == 1 && lied_to.handle_instructions(bytes).is_err() {
            return;
        }
        let mut fields = Fields::new();
        match decoder.decode(stream, bytes, LIMIT, |field| fields.push_field(field)) {
            Ok(Decoded::Whole { .. }) => {}
            Ok(Decoded::Blocked { .. }) => continue,
            Err(error) => {
                assert!(error.at <= bytes.len());
                return;
            }
        }
        reached::note_value();
        assert!(fields.list_size() <= LIMIT);
        for encoder in [&mut encoder, &mut lied_to] {
            encoder.begin(stream);
            fields.iter().for_each(|field| encoder.field(field));
        }
        lied_to.end(&mut Vec::new());
        let mut section = Vec::new();
        encoder.end(&mut section);
        mirror.handle_instructions(&encoder.take_instructions()).expect("our own instructions");
        let mut again = Fields::new();
        let read = mirror.decode(stream, &section, LIMIT, |field| again.push_field(field));
        let read = read
            .map(|read| matches!(read, Decoded::Whole { size, .. } if size == fields.list_size()));
        assert_eq!((read, &again), (Ok(true), &fields));
        mirror.acknowledge_insertions();
        encoder.handle_instructions(&mirror.take_instructions()).expect("our own acknowledgements");
        assert!(encoder.blocked_streams() <= blocked_streams);
    }
}
