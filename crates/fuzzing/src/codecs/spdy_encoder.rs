//! Header blocks that are compressed by fields: what is written is read again by zlib, over and over, past
//! the end of the window.

use crate::{decode, reached};
use wire::Field;
use wire::spdy::{Decoder, Effort, Encoder};

const LIMIT: usize = 1 << 22;

/// Bytes that one run sends at most, so that it is short.
const MOST: usize = 1 << 17;

/// Fields as (name, value, how often it stands in itself, sensitive), and how often the block is sent.
type Block<'i> = (Vec<(&'i str, &'i [u8], u8, bool)>, u8);

pub(crate) fn run(input: &[u8]) {
    let Some(blocks) = decode::<Vec<Block<'_>>>(input) else { return };
    let (mut encoder, mut decoder) = (Encoder::new(Effort::Fields), Decoder::new());
    let mut sent = 0;
    for (fields, times) in blocks {
        let mut list: Vec<(String, Vec<u8>, bool)> = Vec::new();
        for (name, value, often, sensitive) in fields {
            let name = name.to_ascii_lowercase();
            let fits = !name.is_empty() && !value.contains(&0);
            if fits && list.iter().all(|(other, ..)| *other != name) {
                list.push((name, value.repeat(usize::from(often)), sensitive));
            }
        }
        for _ in 0..=times {
            encoder.begin();
            if sent > MOST {
                return;
            }
            for (name, value, sensitive) in &list {
                encoder.add(Field { name: name.as_bytes(), value, sensitive: *sensitive });
            }
            let mut block = Vec::new();
            encoder.finish(&mut block);
            let mut read = list.iter();
            if !list.is_empty() {
                reached::note_value();
            }
            let size = decoder.decode(&block, LIMIT, |field| {
                let (name, value, _) = read.next().expect("no more than was written");
                assert_eq!((field.name, field.value), (name.as_bytes(), &value[..]));
            });
            assert!(read.next().is_none());
            sent += size.expect("our own block");
        }
    }
}
