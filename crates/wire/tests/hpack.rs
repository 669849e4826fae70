//! HPACK by the RFC's own vectors, and against itself with random fields.

use proptest::prelude::*;
use serde::Deserialize;
use wire::hpack::{Decoder, Encoder, Fault};
use wire::{Field, Fields};

#[derive(Deserialize)]
struct Vectors {
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct Session {
    name: String,
    table_size: usize,
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    bytes: String,
    fields: Vec<(String, String)>,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Fields {
    let mut fields = Fields::new();
    decoder.decode(block, usize::MAX, |field| fields.push_field(field)).expect("a whole block");
    fields
}

#[test]
fn every_session_of_rfc_7541_appendix_c_decodes() {
    let json = include_str!("../../../vectors/hpack/rfc7541.json");
    let vectors: Vectors = serde_json::from_str(json).unwrap();
    assert_eq!(vectors.sessions.iter().map(|session| session.blocks.len()).sum::<usize>(), 16);
    for session in vectors.sessions {
        let mut decoder = Decoder::new(session.table_size);
        for block in session.blocks {
            let fields = decode(&mut decoder, &bytes(&block.bytes));
            let seen: Vec<_> = fields
                .iter()
                .map(|f| (String::from_utf8_lossy(f.name), String::from_utf8_lossy(f.value)))
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            assert_eq!(seen, block.fields, "{}", session.name);
        }
    }
}

#[test]
fn the_encoder_writes_what_appendix_c_4_writes_for_indexed_fields() {
    let mut encoder = Encoder::new(4096);
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in
        [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
    {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        encoder.field(Field { name, value, sensitive: false }, &mut block);
    }
    assert_eq!(block, bytes("828684418cf1e3c2e5f23a6ba0ab90f4ff"));
}

#[test]
fn a_list_above_the_limit_is_counted_and_not_given() {
    let mut encoder = Encoder::new(4096);
    let mut block = Vec::new();
    for _ in 0..100 {
        encoder.field(Field { name: b"x-name", value: b"value", sensitive: false }, &mut block);
    }
    let mut given = 0;
    let size = Decoder::new(4096).decode(&block, 430, |_| given += 1).unwrap();
    assert_eq!((size, given), (100 * 43, 10));
}

#[test]
fn size_updates_come_first_and_within_what_was_agreed() {
    let fault = |block: &[u8]| Decoder::new(4096).decode(block, 1000, |_| {}).map_err(|e| e.fault);
    assert_eq!(fault(&[0x82, 0x20]), Err(Fault::SizeUpdate));
    assert_eq!(fault(&[0x3f, 0xe2, 0x1f]), Err(Fault::TableSize));
    assert_eq!(fault(&[0x20, 0x3f, 0xe1, 0x1f, 0x82]), Ok(42));
    assert_eq!(fault(&[0x80]), Err(Fault::Index));
    assert_eq!(fault(&[0x80 | 62]), Err(Fault::Index));
    assert_eq!(fault(&[0x40, 0x05, b'a']), Err(Fault::Truncated));

    let mut decoder = Decoder::new(4096);
    decoder.set_allowed(100);
    assert!(decoder.decode(&[0x82], 1000, |_| {}).is_err(), "the reduction was not announced");
    let mut encoder = Encoder::new(4096);
    encoder.set_capacity(0);
    encoder.set_capacity(100);
    let mut block = Vec::new();
    encoder.begin(&mut block);
    assert_eq!(block, [0x20, 0x3f, 69]);
    assert_eq!(decoder.decode(&block, 1000, |_| {}), Ok(0));
}

fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, bool)> {
    let name = prop_oneof![
        Just(b":path".to_vec()),
        Just(b"cookie".to_vec()),
        Just(b"x-a".to_vec()),
        proptest::collection::vec(any::<u8>(), 1..20),
    ];
    let value = prop_oneof![
        Just(b"again".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..30),
        proptest::collection::vec(any::<u8>(), 0..600),
    ];
    (name, value, proptest::bool::weighted(0.1))
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        blocks in proptest::collection::vec(
            (proptest::collection::vec(field(), 0..12), proptest::option::of(0_usize..4096)),
            1..12,
        ),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(4096), Decoder::new(4096));
        for (fields, capacity) in blocks {
            if let Some(capacity) = capacity {
                encoder.set_capacity(capacity);
            }
            let mut expected = Fields::new();
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value, sensitive) in &fields {
                let field = Field { name, value, sensitive: *sensitive };
                expected.push_field(field);
                encoder.field(field, &mut block);
            }
            prop_assert_eq!(decode(&mut decoder, &block), expected);
        }
    }

    #[test]
    fn random_bytes_never_panic(blocks in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..200), 1..8,
    )) {
        let mut decoder = Decoder::new(4096);
        for block in blocks {
            let _ = decoder.decode(&block, 2000, |_| {});
        }
    }
}
