//! The RFC's examples, encodings of other people's encoders, and pairs whose streams arrive in any order.

use super::*;
use crate::{Field, Fields};
use proptest::prelude::*;
use std::path::Path;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn read(decoder: &mut Decoder, stream: u64, section: &[u8]) -> Result<Option<Fields>, Error> {
    let mut fields = Fields::new();
    match decoder.decode(stream, section, 1 << 20, |field| fields.push_field(field))? {
        Decoded::Whole { size, .. } => {
            assert_eq!(size, fields.list_size());
            Ok(Some(fields))
        }
        Decoded::Blocked { .. } => Ok(None),
    }
}

fn pairs(fields: &Fields) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    fields.iter().map(|field| (text(field.name), text(field.value))).collect()
}

fn decoder(max_capacity: usize) -> Decoder {
    Decoder::new(DecoderLimits { max_capacity, blocked_streams: 100 })
}

#[test]
fn the_examples_of_rfc_9204_appendix_b_hold() {
    let mut decoder = decoder(220);
    let section = |decoder: &mut Decoder, stream, text: &str| {
        let fields = read(decoder, stream, &hex(text)).unwrap().unwrap();
        let told = decoder.take_instructions();
        (pairs(&fields), told)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // B.1
    let (fields, told) = section(&mut decoder, 0, "0000 510b 2f69 6e64 6578 2e68 746d 6c");
    assert_eq!((fields, told), (vec![pair(":path", "/index.html")], vec![]));
    // B.2
    let blocked = read(&mut decoder, 4, &hex("0381 10 11")).unwrap();
    assert_eq!(blocked, None, "the entries have not come");
    let inserts =
        "3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468";
    for byte in hex(inserts) {
        decoder.handle_instructions(&[byte]).unwrap();
    }
    let (fields, told) = section(&mut decoder, 4, "0381 10 11");
    let expected = vec![pair(":authority", "www.example.com"), pair(":path", "/sample/path")];
    assert_eq!((fields, told), (expected, hex("84")));
    // B.3
    let insert = hex("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565");
    decoder.handle_instructions(&insert).unwrap();
    decoder.acknowledge_insertions();
    assert_eq!(decoder.take_instructions(), hex("01"));
    // B.4
    decoder.handle_instructions(&hex("02")).unwrap();
    let (fields, told) = section(&mut decoder, 8, "0500 80 c1 81");
    let expected = vec![
        pair(":authority", "www.example.com"),
        pair(":path", "/"),
        pair("custom-key", "custom-value"),
    ];
    assert_eq!((fields, told), (expected, hex("88")));
    decoder.cancel_stream(8);
    assert_eq!(decoder.take_instructions(), hex("48"));
    // B.5
    decoder.handle_instructions(&hex("810d 6375 7374 6f6d 2d76 616c 7565 32")).unwrap();
    assert_eq!(decoder.inserted(), 5);
}

#[test]
fn sections_that_no_encoder_may_send_are_refused_where_they_are_wrong() {
    let mut decoder = decoder(220);
    decoder.handle_instructions(&hex("3fbd01 c00161")).unwrap();
    for (text, fault) in [
        ("0000 ff25", Fault::Index),
        ("0000 80", Fault::Index),
        ("0000 10", Fault::Index),
        ("0200 11", Fault::Index),
        ("0200 81", Fault::Index),
        ("0d00 80", Fault::RequiredInsertCount),
        ("0281 80", Fault::Base),
        ("0000 51", Fault::Truncated),
        ("0000 5182 00", Fault::Truncated),
        ("00", Fault::Truncated),
        ("0000 5181 00", Fault::Huffman),
    ] {
        let error = read(&mut decoder, 0, &hex(text)).unwrap_err();
        assert_eq!(error.fault, fault, "{text}");
    }
}

#[test]
fn instructions_that_no_peer_may_send_are_refused() {
    for (text, fault) in [
        ("3fbe01", Fault::Capacity),
        ("c00161", Fault::TooLong),
        ("3fbd01 80 0161", Fault::Index),
        ("3fbd01 00", Fault::Index),
        ("3fbd01 ff25 0161", Fault::Index),
        ("3fbd01 c0 7fff01", Fault::TooLong),
    ] {
        let error = decoder(220).handle_instructions(&hex(text)).unwrap_err();
        assert_eq!(error.fault, fault, "{text}");
    }
    for (text, fault) in
        [("00", Fault::Increment), ("01", Fault::Increment), ("84", Fault::Acknowledgement)]
    {
        let error = Encoder::new(220).handle_instructions(&hex(text)).unwrap_err();
        assert_eq!(error.fault, fault, "{text}");
    }
    Encoder::new(220).handle_instructions(&hex("48")).expect("a cancellation of nothing is none");
}

/// Field lists as the qifs project writes them: a field a line, an empty line after each list.
fn lists(text: &str) -> Vec<Vec<(String, String)>> {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let field = |line: &str| {
        let (name, value) = line.split_once('\t').unwrap_or((line, ""));
        (name.to_owned(), value.to_owned())
    };
    blocks
        .map(|block| {
            block
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(field)
                .collect()
        })
        .collect()
}

#[test]
fn what_other_encoders_wrote_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/qpack");
    let plain = std::fs::read_to_string(folder.join("netbsd-hq.qif")).unwrap();
    let expected = lists(&plain);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((_, numbers)) = name.split_once(".out.") else { continue };
        files += 1;
        let capacity = numbers.split('.').next().unwrap().parse().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut decoder = decoder(capacity);
        // RFC 9204 leaves the first capacity to an instruction; these files begin with the whole table.
        let mut start = Vec::new();
        integer::put(capacity as u64, 5, 0x20, &mut start);
        decoder.handle_instructions(&start).unwrap();
        let (mut rest, mut found, mut held) = (&bytes[..], Vec::new(), Vec::new());
        while let Some((head, tail)) = rest.split_first_chunk::<12>() {
            let stream = u64::from_be_bytes(head[..8].try_into().unwrap());
            let length = u32::from_be_bytes(head[8..].try_into().unwrap()) as usize;
            let (part, tail) = tail.split_at(length);
            rest = tail;
            match stream {
                0 => decoder.handle_instructions(part).unwrap_or_else(|e| panic!("{name}: {e}")),
                _ => held.push((stream, part)),
            }
            held.retain(|(stream, part)| {
                let fields =
                    read(&mut decoder, *stream, part).unwrap_or_else(|e| panic!("{name}: {e}"));
                let is_blocked = fields.is_none();
                found.extend(fields.map(|fields| (*stream, pairs(&fields))));
                is_blocked
            });
        }
        assert_eq!(held, [], "{name}: sections that stayed blocked");
        found.sort_by_key(|(stream, _)| *stream);
        let found: Vec<_> = found.into_iter().map(|(_, fields)| fields).collect();
        assert_eq!(found, expected, "{name}");
    }
    assert!(files >= 6, "only {files} encodings");
}

fn field() -> impl Strategy<Value = (String, String)> {
    let name = prop_oneof![
        Just("x-a".to_owned()),
        Just("x-b".to_owned()),
        Just("server".to_owned()),
        Just(":path".to_owned()),
        Just("cookie".to_owned()),
        "[a-z-]{1,20}",
    ];
    (name, "[ -~]{0,12}|[a-c]{1,2}")
}

proptest! {
    /// Whatever the order in which streams arrive, each section reads as it was written; the encoder never lets more
    /// streams block than it may.
    #[test]
    fn any_order_of_arrival_gives_the_same_fields(
        lists in proptest::collection::vec(proptest::collection::vec(field(), 0..8), 1..40),
        capacity in prop_oneof![Just(0_usize), 64..400_usize],
        blocked_streams in 0..4_usize,
        turns in proptest::collection::vec(0..5_u8, 200),
    ) {
        let limits = EncoderLimits { max_capacity: capacity, blocked_streams };
        let mut encoder = Encoder::new(4096);
        encoder.set_limits(limits);
        let mut decoder = Decoder::new(DecoderLimits { max_capacity: capacity, blocked_streams });
        let (mut to_decoder, mut to_encoder, mut sections) = (Vec::new(), Vec::new(), Vec::new());
        let (mut next, mut streams, mut read_back) = (0, 0, 0);
        let mut repeatable: Vec<(usize, References, Vec<u8>)> = Vec::new();
        let mut to_read = lists.len();
        let mut turns = turns.into_iter().chain(std::iter::repeat_n(0, 4000)).enumerate();
        while read_back < to_read {
            let Some((turn, what)) = turns.next() else { panic!("it goes on for ever") };
            let what = if turn >= 200 { turn as u8 % 5 } else { what };
            match what {
                // A section that was written before goes out once more.
                1 if repeatable.iter().any(|(_, references, _)| encoder.can_repeat(references)) => {
                    let known = |(_, references, _): &_| encoder.can_repeat(references);
                    let at = repeatable.iter().position(known).unwrap();
                    let (list, references, section) = repeatable.remove(at);
                    let stream = streams * 4;
                    encoder.repeat(stream, references);
                    sections.push((stream, list, section));
                    streams += 1;
                    to_read += 1;
                    prop_assert!(encoder.blocked_streams() <= blocked_streams);
                }
                0 | 1 if next < lists.len() => {
                    let stream = streams * 4;
                    encoder.begin(stream);
                    for (name, value) in &lists[next] {
                        let (name, value) = (name.as_bytes(), value.as_bytes());
                        encoder.field(Field { name, value, sensitive: name == b"cookie" });
                    }
                    let mut section = Vec::new();
                    if let Some(references) = encoder.end(&mut section) {
                        repeatable.push((next, references, section.clone()));
                    }
                    to_decoder.extend(encoder.take_instructions());
                    sections.push((stream, next, section));
                    (next, streams) = (next + 1, streams + 1);
                    prop_assert!(encoder.blocked_streams() <= blocked_streams);
                }
                2 => {
                    let most = to_decoder.len().min(7);
                    let part: Vec<u8> = to_decoder.drain(..most).collect();
                    decoder.handle_instructions(&part).unwrap();
                }
                3 => {
                    decoder.acknowledge_insertions();
                    to_encoder.extend(decoder.take_instructions());
                    let most = to_encoder.len().min(3);
                    let part: Vec<u8> = to_encoder.drain(..most).collect();
                    encoder.handle_instructions(&part).unwrap();
                }
                _ => {
                    let mut done = None;
                    for (at, (stream, list, section)) in sections.iter().enumerate() {
                        let fields = read(&mut decoder, *stream, section).unwrap();
                        if let Some(fields) = fields {
                            prop_assert_eq!(&pairs(&fields), &lists[*list]);
                            done = Some(at);
                            break;
                        }
                    }
                    if let Some(at) = done {
                        sections.remove(at);
                        read_back += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_fields_or_an_error_within_them(
        section in proptest::collection::vec(any::<u8>(), 0..60),
        instructions in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut decoder = decoder(220);
        if let Err(error) = decoder.handle_instructions(&instructions) {
            prop_assert!(error.at <= instructions.len());
        }
        if let Err(error) = read(&mut decoder, 0, &section) {
            prop_assert!(error.at <= section.len());
        }
        let _ = Encoder::new(220).handle_instructions(&instructions);
    }
}

#[test]
fn a_repeated_field_costs_one_byte_once_it_is_acknowledged() {
    let limits = EncoderLimits { max_capacity: 4096, blocked_streams: 0 };
    let mut encoder = Encoder::new(4096);
    encoder.set_limits(limits);
    let mut decoder = decoder(4096);
    let mut lengths = Vec::new();
    for stream in 0..3 {
        encoder.begin(stream * 4);
        encoder.field(Field { name: b"user-agent", value: b"wirelap wirelap", sensitive: false });
        let mut section = Vec::new();
        encoder.end(&mut section);
        decoder.handle_instructions(&encoder.take_instructions()).unwrap();
        read(&mut decoder, stream * 4, &section).unwrap().unwrap();
        decoder.acknowledge_insertions();
        encoder.handle_instructions(&decoder.take_instructions()).unwrap();
        lengths.push(section.len());
    }
    assert_eq!(lengths[1..], [3, 3], "{lengths:?}");
    assert_eq!(encoder.unacknowledged(), 0);
}

#[test]
fn what_waits_for_a_peer_that_acknowledges_nothing_is_bounded() {
    let mut encoder = Encoder::new(4096);
    let mut decoder = decoder(100);
    encoder.set_limits(EncoderLimits { max_capacity: 100, blocked_streams: 10 });
    let write = |encoder: &mut Encoder, decoder: &mut Decoder, stream| {
        encoder.begin(stream);
        encoder.field(Field { name: b"user-agent", value: b"wirelap wirelap", sensitive: false });
        let mut section = Vec::new();
        let references = encoder.end(&mut section);
        decoder.handle_instructions(&encoder.take_instructions()).unwrap();
        let fields = read(decoder, stream, &section).unwrap().unwrap();
        assert_eq!(pairs(&fields), [("user-agent".to_owned(), "wirelap wirelap".to_owned())]);
        (references, section.len())
    };
    write(&mut encoder, &mut decoder, 0);
    // From here on the decoder has the entry, and says nothing more.
    encoder.handle_instructions(&decoder.take_instructions()).unwrap();
    let mut sections = (1..5000).map(|request| write(&mut encoder, &mut decoder, 4 * request));
    let (indexed, length) = sections.next().unwrap();
    let (literal, longer) = sections.last().unwrap();
    assert_eq!(encoder.unacknowledged(), 4096);
    assert!(literal.is_none() && longer > length, "{longer} {length}");
    assert!(!encoder.can_repeat(&indexed.expect("it is an index")));
    encoder.handle_instructions(&decoder.take_instructions()).unwrap();
    assert_eq!(encoder.unacknowledged(), 0);
    assert_eq!(write(&mut encoder, &mut decoder, 20_000), (indexed, length));
}

#[test]
fn a_section_is_repeated_only_while_its_entries_are_there_and_nothing_shorter_may_come() {
    let mut encoder = Encoder::new(4096);
    let mut decoder = decoder(100);
    let field = Field { name: b"user-agent", value: b"wirelap", sensitive: false };
    let write = |encoder: &mut Encoder, stream, field| {
        encoder.begin(stream);
        encoder.field(field);
        let mut section = Vec::new();
        (encoder.end(&mut section), section)
    };
    let (before, _) = write(&mut encoder, 0, field);
    let before = before.expect("without a table nothing shorter can come");
    assert!(encoder.can_repeat(&before));
    encoder.set_limits(EncoderLimits { max_capacity: 100, blocked_streams: 0 });
    assert!(!encoder.can_repeat(&before), "now there is a table");

    let (literal, _) = write(&mut encoder, 4, field);
    assert_eq!(literal, None, "an entry stands for it once it is acknowledged");
    decoder.handle_instructions(&encoder.take_instructions()).unwrap();
    decoder.acknowledge_insertions();
    encoder.handle_instructions(&decoder.take_instructions()).unwrap();
    let (indexed, section) = write(&mut encoder, 8, field);
    let indexed = indexed.expect("it is one index");
    encoder.repeat(12, indexed);
    for stream in [8, 12] {
        assert_eq!(pairs(&read(&mut decoder, stream, &section).unwrap().unwrap()).len(), 1);
    }
    assert_eq!(encoder.unacknowledged(), 2);
    encoder.handle_instructions(&decoder.take_instructions()).unwrap();
    assert_eq!(encoder.unacknowledged(), 0);

    write(
        &mut encoder,
        16,
        Field { name: b"x-other", value: b"that takes its place in the table", ..field },
    );
    assert!(!encoder.can_repeat(&indexed), "its entry was evicted");
}
