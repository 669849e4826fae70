//! Frames: what is written is read, and anything else is an error and no panic.

use proptest::prelude::*;
use wire::h2::{
    Dependency, ErrorCode, Frame, FrameHeader, FrameKind, HEADER_LENGTH, Setting, SettingId,
};

fn parse(bytes: &[u8]) -> Frame<'_> {
    let (header, payload) = bytes.split_first_chunk::<HEADER_LENGTH>().expect("a header");
    Frame::parse(FrameHeader::parse(header), payload).expect("a frame")
}

fn same(frame: Frame<'_>) {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    assert_eq!(parse(&bytes), frame);
}

fn dependency() -> impl Strategy<Value = Dependency> {
    (0_u32..1 << 31, any::<bool>(), any::<u8>())
        .prop_map(|(parent, exclusive, weight)| Dependency { parent, exclusive, weight })
}

fn stream() -> impl Strategy<Value = u32> {
    1_u32..1 << 31
}

proptest! {
    #[test]
    fn every_frame_survives_the_wire(
        stream in stream(),
        other in stream(),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        flags in (any::<bool>(), any::<bool>()),
        padding in proptest::option::of(any::<u8>()),
        place in proptest::option::of(dependency()),
        number in any::<u32>(),
        opaque in any::<[u8; 8]>(),
        settings in proptest::collection::vec((any::<u16>(), any::<u32>()), 0..9),
    ) {
        let bytes = &bytes[..];
        let (end_stream, end_headers) = flags;
        let (code, dependency) = (ErrorCode(number), place);
        same(Frame::Data { stream, data: bytes, end_stream, padding });
        same(Frame::Headers { stream, block: bytes, end_stream, end_headers, dependency, padding });
        same(Frame::PushPromise { stream, promised: other, block: bytes, end_headers, padding });
        same(Frame::Continuation { stream, block: bytes, end_headers });
        if let Some(dependency) = place {
            same(Frame::Priority { stream, dependency });
        }
        same(Frame::ResetStream { stream, code });
        same(Frame::Ping(opaque));
        same(Frame::PingAck(opaque));
        same(Frame::GoAway { last: other, code, debug: bytes });
        same(Frame::WindowUpdate { stream, increment: other });
        same(Frame::WindowUpdate { stream: 0, increment: other });
        same(Frame::PriorityUpdate { prioritised: other, value: bytes });
        same(Frame::SettingsAck);
        let length = bytes.len() as u32;
        let header = FrameHeader { length, kind: FrameKind(0xee), flags: number as u8, stream };
        same(Frame::Unknown { header, payload: bytes });

        let settings: Vec<_> =
            settings.into_iter().map(|(id, value)| Setting { id: SettingId(id), value }).collect();
        let mut written = Vec::new();
        Setting::encode_all(&settings, &mut written);
        let Frame::Settings(list) = parse(&written) else { panic!("not SETTINGS") };
        prop_assert_eq!(list.iter().collect::<Vec<_>>(), settings);
        same(Frame::Settings(list));
    }

    #[test]
    fn random_payloads_never_panic_and_what_parses_is_written_alike(
        kind in 0_u8..20,
        flags in any::<u8>(),
        stream in 0_u32..3,
        payload in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let length = payload.len() as u32;
        let header = FrameHeader { length, kind: FrameKind(kind), flags, stream };
        if let Ok(frame) = Frame::parse(header, &payload) {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            prop_assert_eq!(parse(&bytes), frame);
        }
    }
}

#[test]
fn frames_of_the_wrong_size_or_place_are_refused() {
    for (kind, flags, stream, payload) in [
        (FrameKind::DATA, 0, 0, &b"x"[..]),
        (FrameKind::DATA, 8, 1, &[]),
        (FrameKind::DATA, 8, 1, &[2, 0]),
        (FrameKind::HEADERS, 0x20, 1, &[0, 0, 0]),
        (FrameKind::PRIORITY, 0, 1, &[0; 4]),
        (FrameKind::RST_STREAM, 0, 1, &[0; 5]),
        (FrameKind::SETTINGS, 1, 0, &[0; 6]),
        (FrameKind::SETTINGS, 0, 0, &[0; 5]),
        (FrameKind::SETTINGS, 0, 1, &[]),
        (FrameKind::PING, 0, 0, &[0; 7]),
        (FrameKind::GOAWAY, 0, 0, &[0; 7]),
        (FrameKind::WINDOW_UPDATE, 0, 0, &[0; 4]),
        (FrameKind::PUSH_PROMISE, 0, 1, &[0; 3]),
        (FrameKind::PRIORITY_UPDATE, 0, 0, &[0; 4]),
    ] {
        let header = FrameHeader { length: payload.len() as u32, kind, flags, stream };
        assert!(Frame::parse(header, payload).is_err(), "{header:?}");
    }
}
