use super::*;
use proptest::prelude::*;

fn bytes(block: Block<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    block.encode(&mut out);
    out
}

fn text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(".{0,40}")
}

proptest! {
    #[test]
    fn a_packet_is_read_as_it_was_written(
        numbers in (any::<u32>(), any::<u64>()),
        frame in proptest::collection::vec(any::<u8>(), 0..200),
        way in prop_oneof![Just(Way::Unknown), Just(Way::Inbound), Just(Way::Outbound)],
        comment in text(),
    ) {
        let (interface, at) = numbers;
        let packet = Captured { interface, at, way, frame: &frame, comment: comment.as_deref() };
        let written = bytes(Block::Packet(packet));
        prop_assert_eq!(written.len() % 4, 0);
        prop_assert_eq!(Block::decode(&written), Ok((Block::Packet(packet), written.len())));
    }

    #[test]
    fn what_stands_before_packets_is_read_as_it_was_written(
        first in text(), second in text(), keys in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let (first, second) = (first.as_deref(), second.as_deref());
        for block in [
            Block::Section(Section { application: first, comment: second }),
            Block::Interface(Interface { name: first, description: second }),
            Block::TlsKeys(&keys),
        ] {
            let written = bytes(block);
            prop_assert_eq!(Block::decode(&written), Ok((block, written.len())));
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
        kind in prop_oneof![Just(SECTION), Just(INTERFACE), Just(PACKET), Just(SECRETS), any::<u32>()],
        frame in any::<bool>(),
    ) {
        // Framed well, most get as far as the body.
        if frame && bytes.len() >= 12 {
            let length = bytes.len() & !3;
            bytes.truncate(length);
            bytes[..4].copy_from_slice(&kind.to_le_bytes());
            for at in [4, length - 4] {
                bytes[at..at + 4].copy_from_slice(&(length as u32).to_le_bytes());
            }
        }
        if let Ok((_, length)) = Block::decode(&bytes) {
            prop_assert!(length <= bytes.len());
        }
    }
}

#[test]
fn a_packet_block_has_the_bytes_of_the_draft() {
    let packet = Captured {
        interface: 1,
        at: 0x0102_0304_0506_0708,
        way: Way::Outbound,
        frame: &[0xaa; 5],
        comment: Some("lost"),
    };
    let expected = [
        &[6, 0, 0, 0, 60, 0, 0, 0, 1, 0, 0, 0][..],
        &[4, 3, 2, 1, 8, 7, 6, 5, 5, 0, 0, 0, 5, 0, 0, 0],
        &[0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0, 0, 0],
        &[2, 0, 4, 0, 2, 0, 0, 0, 1, 0, 4, 0, b'l', b'o', b's', b't', 0, 0, 0, 0],
        &[60, 0, 0, 0],
    ]
    .concat();
    assert_eq!(bytes(Block::Packet(packet)), expected);
}

#[test]
fn blocks_of_other_kinds_are_skipped() {
    let statistics = [5, 0, 0, 0, 16, 0, 0, 0, 1, 2, 3, 4, 16, 0, 0, 0];
    assert_eq!(Block::decode(&statistics), Ok((Block::Other(5), 16)));
    // Secrets of WireGuard.
    let other = [10, 0, 0, 0, 20, 0, 0, 0, 0x4b, 0x47, 0x57, 0x57, 0, 0, 0, 0, 20, 0, 0, 0];
    assert_eq!(Block::decode(&other), Ok((Block::Other(10), 20)));
}

#[test]
fn damage_is_told_with_its_place() {
    let whole = bytes(Block::Packet(Captured {
        interface: 0,
        at: 0,
        way: Way::Inbound,
        frame: &[1; 4],
        comment: Some("\u{fc}"),
    }));
    let decoded = |change: fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        Block::decode(&bytes).map(|_| ()).unwrap_err()
    };
    assert_eq!(decoded(|o| o.truncate(30)), PcapngError::Truncated { at: 30 });
    assert_eq!(decoded(|o| o[4] = 9), PcapngError::Length { at: 4 });
    assert_eq!(
        decoded(|o| *o.last_mut().unwrap() = 1),
        PcapngError::Length { at: whole.len() - 4 }
    );
    assert_eq!(decoded(|o| o[20..28].fill(0xff)), PcapngError::Length { at: 20 });
    assert_eq!(decoded(|o| o[20] = 3), PcapngError::Foreign { at: 20 });
    assert_eq!(decoded(|o| o[44] = 0xff), PcapngError::Text { at: 44 });
    let mut section = bytes(Block::Section(Section::default()));
    section[8..12].reverse();
    assert_eq!(Block::decode(&section), Err(PcapngError::Foreign { at: 8 }));
}

#[test]
fn a_text_too_long_for_its_field_is_cut_between_characters() {
    let long = "\u{fc}".repeat(40_000);
    let written = bytes(Block::Section(Section { comment: Some(&long), ..Section::default() }));
    let Ok((Block::Section(Section { comment: Some(comment), .. }), _)) = Block::decode(&written)
    else {
        panic!("no section");
    };
    assert_eq!(comment.len(), 65_534);
}
