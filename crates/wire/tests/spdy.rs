//! SPDY's codec against other people's header blocks, round trips, cuts and random bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use proptest::prelude::*;
use serde::Deserialize;
use wire::spdy::{
    BlockError, DICTIONARY, DICTIONARY_CHECK, Decoder, Effort, Encoder, Frame, FrameError,
    FrameHeader, GoAwayCode, HEADER_LENGTH, Persistence, Reach, ResetCode, Setting, SettingId,
    Subject,
};

/// Blocks in the order in which one connection carried them.
#[derive(Deserialize)]
struct Session {
    source: String,
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    hex: String,
    fields: Vec<(String, String)>,
}

type Pairs = Vec<(String, String)>;

fn decode(decoder: &mut Decoder, block: &[u8], limit: usize) -> Result<Pairs, BlockError> {
    let mut fields = Vec::new();
    decoder.decode(block, limit, |field| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        fields.push((text(field.name), text(field.value)));
    })?;
    Ok(fields)
}

fn encode(encoder: &mut Encoder, fields: &[(String, String)]) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin();
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    encoder.finish(&mut block);
    block
}

fn pairs(fields: &[(&str, &str)]) -> Pairs {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// RFC 1950 §9.
fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

#[test]
fn the_dictionary_has_the_check_value_that_peers_name() {
    assert_eq!(adler32(DICTIONARY), DICTIONARY_CHECK);
    let block = encode(&mut Encoder::new(Effort::FAST), &pairs(&[("a", "b")]));
    assert_eq!(block[2..6], DICTIONARY_CHECK.to_be_bytes(), "RFC 1950 §2.2: DICTID");
}

#[test]
fn header_blocks_of_other_programs_are_read() {
    let sessions: Vec<Session> =
        serde_json::from_str(include_str!("../../../vectors/spdy/blocks.json")).unwrap();
    assert!(sessions.len() >= 3);
    for session in sessions {
        let mut decoder = Decoder::new();
        for block in session.blocks {
            let fields = decode(&mut decoder, &bytes(&block.hex), 16_384);
            assert_eq!(fields, Ok(block.fields), "{}", session.source);
        }
    }
}

#[test]
fn fields_of_one_name_become_one_pair_and_part_again() {
    let fields = pairs(&[("Set-Cookie", "a=1"), ("x", ""), ("set-cookie", "b=2"), ("y", "z")]);
    let mut encoder = Encoder::new(Effort::BEST);
    let block = encode(&mut encoder, &fields);
    let expected = pairs(&[("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x", ""), ("y", "z")]);
    assert_eq!(decode(&mut Decoder::new(), &block, 1000), Ok(expected));
}

#[test]
fn a_later_block_costs_little_since_it_repeats() {
    let fields = pairs(&[(":path", "/a"), ("user-agent", "Something/1.0 (and so on)")]);
    for effort in [Effort::Fields, Effort::Zlib(1), Effort::Zlib(6), Effort::BEST] {
        let mut encoder = Encoder::new(effort);
        let first = encode(&mut encoder, &fields).len();
        let second = encode(&mut encoder, &fields).len();
        assert!(second < first / 2, "{effort:?}: {first} then {second}");
    }
}

#[test]
fn a_field_that_was_sent_is_pointed_at_as_long_as_it_is_in_reach() {
    let long = "v".repeat(900);
    let first = pairs(&[("x-first", "something that is said once and then again")]);
    let (mut encoder, mut decoder) = (Encoder::new(Effort::Fields), Decoder::new());
    let mut cost = |fields: &Pairs| {
        let block = encode(&mut encoder, fields);
        assert_eq!(decode(&mut decoder, &block, 65_536).as_ref(), Ok(fields));
        block.len()
    };
    let new = cost(&first);
    assert!(cost(&first) < 14, "a copy");
    // Other values and other names in between, up to the window's end and past it.
    for turn in 0..30 {
        cost(&pairs(&[("x-other", &format!("{turn}{long}"))]));
    }
    assert!(cost(&first) < 14, "still in reach");
    for turn in 0..40 {
        cost(&pairs(&[("x-other", &format!("{turn}{long}"))]));
    }
    assert!(cost(&first) + 6 >= new - 6, "out of reach");
    for turn in 0..1000_u32 {
        cost(&pairs(&[("x-other", &format!("{}{long}", turn.wrapping_mul(0x9e37_79b9)))]));
        cost(&first);
    }
    assert!(cost(&first) < 14);
}

#[test]
fn a_long_value_whose_end_is_that_of_a_short_one_far_back_is_read_again() {
    let (mut encoder, mut decoder) = (Encoder::new(Effort::Fields), Decoder::new());
    let mut back_and_forth = |name: &str, length: usize| {
        let fields = pairs(&[(name, &format!("{}.end", "ab".repeat(length / 2)))]);
        let block = encode(&mut encoder, &fields);
        assert_eq!(decode(&mut decoder, &block, 1 << 20), Ok(fields), "{name} {length}");
    };
    for length in (30_000..34_000).step_by(100) {
        back_and_forth("x-value", 10);
        back_and_forth("x-other", 32_000 - length / 4);
        back_and_forth("x-value", length);
    }
}

#[test]
fn a_value_that_alternates_with_another_is_found_again() {
    let mut encoder = Encoder::new(Effort::Fields);
    let either = [pairs(&[("content-type", "image/png")]), pairs(&[("content-type", "text/css")])];
    let sizes: Vec<_> = (0..8).map(|turn| encode(&mut encoder, &either[turn % 2]).len()).collect();
    assert!(sizes[2..].iter().all(|size| *size <= 15), "{sizes:?}");
}

/// Bytes of the block in which the field follows another of its name.
fn size_after(name: &str, secret: &str, guess: &str) -> usize {
    let mut encoder = Encoder::new(Effort::Fields);
    encode(&mut encoder, &pairs(&[(":path", "/"), (name, secret), ("x", "y")]));
    encode(&mut encoder, &pairs(&[(":path", "/"), (name, guess), ("x", "y")])).len()
}

#[test]
fn a_part_of_a_secret_is_never_told_by_the_size_of_a_block() {
    let secret = "session=0123456789abcdef0123456789abcdef";
    for name in ["cookie", "set-cookie", "authorization", "proxy-authorization"] {
        let none = size_after(name, secret, &"#".repeat(secret.len()));
        for known in 0..secret.len() {
            let guess = [&secret[..known], &"#".repeat(secret.len() - known)].concat();
            assert_eq!(size_after(name, secret, &guess), none, "{name}: {known} from the front");
            let guess = [&"#".repeat(secret.len() - known), &secret[secret.len() - known..]];
            assert_eq!(size_after(name, secret, &guess.concat()), none, "{name}: {known} behind");
        }
        assert!(size_after(name, secret, secret) < none, "the whole is a copy");
    }
    assert!(size_after("x-open", secret, &secret.replace("9", "#")) < secret.len());
    // Nor through another field.
    let through = |cookie: &str| {
        let mut encoder = Encoder::new(Effort::Fields);
        encode(&mut encoder, &pairs(&[("cookie", cookie)]));
        encode(&mut encoder, &pairs(&[(":path", &format!("/?{secret}")), ("x", secret)])).len()
    };
    assert_eq!(through(secret), through(&"#".repeat(secret.len())));
}

#[test]
fn a_field_that_is_marked_as_sensitive_is_not_compressed() {
    let (mut encoder, mut decoder) = (Encoder::new(Effort::Fields), Decoder::new());
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let mut block = Vec::new();
        encoder.begin();
        encoder.add(wire::Field { name: b"x-key", value: b"0123456789", sensitive: true });
        encoder.finish(&mut block);
        let fields = decode(&mut decoder, &block, 1000);
        assert_eq!(fields, Ok(pairs(&[("x-key", "0123456789")])));
        sizes.push(block.len());
    }
    assert!(sizes.iter().all(|size| *size > 4 + 5 + 4 + 10), "{sizes:?}");
}

/// A block of pairs written by hand, so that it can be wrong.
fn raw(plain: &[u8]) -> Vec<u8> {
    use flate2::{Compress, Compression, FlushCompress};
    let mut deflate = Compress::new(Compression::best(), true);
    deflate.set_dictionary(DICTIONARY).unwrap();
    let mut block = Vec::with_capacity(plain.len() + 1000);
    deflate.compress_vec(plain, &mut block, FlushCompress::Sync).unwrap();
    block
}

fn plain(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut plain = (pairs.len() as u32).to_be_bytes().to_vec();
    for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
        plain.extend((text.len() as u32).to_be_bytes());
        plain.extend(*text);
    }
    plain
}

#[test]
fn pairs_that_break_the_rules_are_malformed() {
    let long = plain(&[(b"a", b"b")]);
    let mut behind = long.clone();
    behind.push(0);
    for bad in [
        plain(&[(b"", b"x")]),
        plain(&[(b"a", b"x"), (b"a", b"y")]),
        plain(&[(b"a", b"\0x")]),
        plain(&[(b"a", b"x\0")]),
        plain(&[(b"a", b"x\0\0y")]),
        behind,
        long[..long.len() - 1].to_vec(),
        vec![0, 0, 0],
        vec![0xff; 4],
        [&[0, 0, 0, 1][..], &[0xff; 4], b"name"].concat(),
    ] {
        let outcome = decode(&mut Decoder::new(), &raw(&bad), 1000);
        assert!(matches!(outcome, Err(BlockError::Malformed(_))), "{bad:?}: {outcome:?}");
    }
    let many: Vec<Vec<u8>> = (0..100_u8).map(|at| vec![b'a', at % 99 + 33]).collect();
    let many: Vec<(&[u8], &[u8])> = many.iter().map(|name| (&name[..], &b"v"[..])).collect();
    let outcome = decode(&mut Decoder::new(), &raw(&plain(&many)), 10_000);
    assert!(matches!(outcome, Err(BlockError::Malformed(_))), "{outcome:?}");
    assert!(decode(&mut Decoder::new(), &raw(&plain(&many[..99])), 10_000).is_ok());
}

#[test]
fn a_list_over_the_limit_leaves_the_state_whole() {
    let mut encoder = Encoder::new(Effort::Zlib(6));
    let large = encode(&mut encoder, &[("large".to_owned(), "x".repeat(20_000))]);
    let small = encode(&mut encoder, &pairs(&[("small", "xxxx")]));
    let mut decoder = Decoder::new();
    assert_eq!(decode(&mut decoder, &large, 5000), Err(BlockError::TooLarge));
    assert_eq!(decode(&mut decoder, &small, 5000), Ok(pairs(&[("small", "xxxx")])));
}

#[test]
fn a_bomb_ends_the_connection_before_it_has_inflated() {
    let bomb = raw(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let outcome = decode(&mut Decoder::new(), &bomb, 16_384);
    assert!(matches!(outcome, Err(BlockError::Compression(_))), "{outcome:?}");
}

#[test]
fn what_is_no_stream_of_ours_is_a_compression_error() {
    // Without a dictionary; with another one; ended; noise.
    for bad in [
        &[0x78, 0x9c, 0x63, 0x60, 0x60, 0x60, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01][..],
        &[0x78, 0xbb, 0x12, 0x34, 0x56, 0x78, 0x00],
        b"noise that is no zlib",
    ] {
        let outcome = decode(&mut Decoder::new(), bad, 1000);
        assert!(matches!(outcome, Err(BlockError::Compression(_))), "{bad:?}: {outcome:?}");
    }
}

fn effort() -> impl Strategy<Value = Effort> {
    prop_oneof![Just(Effort::Fields), (0..10_u8).prop_map(Effort::Zlib)]
}

fn stream() -> impl Strategy<Value = u32> {
    1..=0x7fff_ffff_u32
}

fn check(frame: Frame<'_>) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    let (header, payload) = bytes.split_first_chunk::<HEADER_LENGTH>().unwrap();
    prop_assert_eq!(Frame::parse(FrameHeader::parse(header), payload), Ok(frame));
    prop_assert_eq!(FrameHeader::parse(header).bytes(), *header);
    Ok(())
}

proptest! {
    #[test]
    fn every_frame_comes_back_as_it_went(
        id in stream(),
        other in 0..=0x7fff_ffff_u32,
        word in 1..=0x7fff_ffff_u32,
        priority in 0..8_u8,
        flags in 0..4_u8,
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let (fin, unidirectional) = (flags & 1 != 0, flags & 2 != 0);
        let (stream, associated, block) = (id, other, &bytes[..]);
        check(Frame::Data { stream, data: block, fin })?;
        check(Frame::SynStream { stream, associated, priority, fin, unidirectional, block })?;
        check(Frame::SynReply { stream, fin, block })?;
        check(Frame::Headers { stream, fin, block })?;
        check(Frame::ResetStream { stream, code: ResetCode(word) })?;
        check(Frame::Ping(word))?;
        check(Frame::GoAway { last: other, code: GoAwayCode(word) })?;
        check(Frame::WindowUpdate { stream: other, increment: word })?;
    }

    #[test]
    fn settings_come_back_in_order(
        list in proptest::collection::vec((0..1_u32 << 24, any::<u32>(), 0..3_u8), 0..20),
    ) {
        let list: Vec<Setting> = list
            .into_iter()
            .map(|(id, value, persistence)| Setting {
                id: SettingId(id),
                value,
                persistence: match persistence {
                    0 => Persistence::Session,
                    1 => Persistence::Persist,
                    _ => Persistence::Persisted,
                },
            })
            .collect();
        let mut bytes = Vec::new();
        Setting::encode_all(&list, &mut bytes);
        let (header, payload) = bytes.split_first_chunk::<HEADER_LENGTH>().unwrap();
        let Ok(Frame::Settings { clear: false, list: read }) =
            Frame::parse(FrameHeader::parse(header), payload)
        else {
            return Err(TestCaseError::fail("no SETTINGS"));
        };
        prop_assert_eq!(read.iter().collect::<Vec<_>>(), list);
    }

    #[test]
    fn random_bytes_are_a_frame_or_an_error_and_nothing_else(
        bytes in proptest::collection::vec(any::<u8>(), HEADER_LENGTH..200),
        control in any::<bool>(),
        kind in 0..12_u8,
    ) {
        let mut bytes = bytes;
        if control {
            bytes[..4].copy_from_slice(&[0x80, 3, 0, kind]);
        }
        let (header, payload) = bytes.split_first_chunk::<HEADER_LENGTH>().unwrap();
        let mut header = FrameHeader::parse(header);
        header.length = payload.len() as u32;
        match Frame::parse(header, payload) {
            Ok(Frame::Unknown { .. }) => {
                let control = matches!(header.subject, Subject::Control { .. });
                prop_assert!(control);
            }
            Ok(frame) => prop_assert_eq!(frame.name(), header.name()),
            Err(FrameError { reach: Reach::Session, rule }) => prop_assert!(!rule.is_empty()),
            Err(FrameError { reach: Reach::Stream { code, .. }, .. }) => {
                prop_assert_ne!(code.name(), "unknown");
            }
        }
        let _ = decode(&mut Decoder::new(), &bytes, 1000);
    }

    #[test]
    fn a_damaged_block_never_panics_or_grows(
        value in "[ -~]{0,200}",
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let fields = vec![("name".to_owned(), value)];
        let mut encoder = Encoder::new(Effort::Zlib(6));
        let mut block = encode(&mut encoder, &fields);
        let at = at.index(block.len());
        block[at] ^= flip;
        if let Ok(fields) = decode(&mut Decoder::new(), &block, 1000) {
            let size: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
            prop_assert!(size <= 1000);
        }
    }

    #[test]
    fn lists_that_repeat_themselves_come_back_over_many_windows(
        names in proptest::collection::vec("[a-z:-]{1,12}|cookie|\\PC{1,6}", 1..30),
        values in proptest::collection::vec("[ -~]{0,40}|[01]{0,300}|\\PC{0,9}", 1..30),
        picks in proptest::collection::vec(
            proptest::collection::vec((0..30_usize, 0..30_usize, 0..8_usize), 0..12),
            1..300,
        ),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(Effort::Fields), Decoder::new());
        for picks in picks {
            let mut block = Vec::new();
            let mut list = Pairs::new();
            encoder.begin();
            for (name, value, cut) in picks {
                let (name, value) = (&names[name % names.len()], &values[value % values.len()]);
                if list.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                    continue;
                }
                let value: String = value.chars().skip(cut / 2).collect();
                let field = wire::Field {
                    name: name.as_bytes(),
                    value: value.as_bytes(),
                    sensitive: cut == 7,
                };
                encoder.add(field);
                list.push((name.to_ascii_lowercase(), value));
            }
            encoder.finish(&mut block);
            prop_assert_eq!(decode(&mut decoder, &block, 1 << 20), Ok(list));
        }
    }

    #[test]
    fn lists_come_back_through_one_state_after_another(
        lists in proptest::collection::vec(
            proptest::collection::btree_map("[a-z:-]{1,20}", "[ -~]{0,60}", 0..20),
            1..8,
        ),
        effort in effort(),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(effort), Decoder::new());
        for list in lists {
            let list: Pairs = list.into_iter().collect();
            let block = encode(&mut encoder, &list);
            prop_assert_eq!(decode(&mut decoder, &block, 65_536), Ok(list));
        }
    }
}
