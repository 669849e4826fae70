//! Frames written by hand: what the peer may not do, and the code that answers it. The cases of h3spec (its file
//! `HTTP3Error.hs`, and the rules of QPACK) stand here under its own words.

use super::*;
use wire::h3::{ErrorCode, Frame, FrameHeader, FrameKind, SettingsList, StreamType, put_varint};

/// A server, and a client that writes by hand: its control stream is 2, its encoder stream 6, its decoder stream 10.
pub(super) struct ByHand {
    pub(super) server: Server,
    pub(super) events: Vec<Owned>,
}

impl ByHand {
    pub(super) fn new(settings: Settings) -> Self {
        Self { server: server(settings), events: Vec::new() }
    }

    /// After the client's SETTINGS.
    pub(super) fn greeted(settings: Settings) -> Self {
        let mut hand = Self::new(settings);
        hand.control(&[SETTINGS]);
        hand
    }

    pub(super) fn bytes(&mut self, stream: u64, bytes: &[u8], fin: Fin) -> &mut Self {
        let events = give(&mut self.server, stream, bytes, fin);
        self.events.extend(events);
        self
    }

    pub(super) fn typed(&mut self, stream: u64, kind: StreamType, bytes: &[u8]) -> &mut Self {
        let mut all = Vec::new();
        put_varint(kind.0, &mut all);
        all.extend_from_slice(bytes);
        self.bytes(stream, &all, Fin::More)
    }

    pub(super) fn control(&mut self, frames: &[Frame<'_>]) -> &mut Self {
        self.typed(2, StreamType::CONTROL, &coded(frames))
    }

    pub(super) fn frames(&mut self, stream: u64, frames: &[Frame<'_>], fin: Fin) -> &mut Self {
        self.bytes(stream, &coded(frames), fin)
    }

    /// The actions that the server asks for now.
    pub(super) fn actions(&mut self) -> Vec<StreamAction> {
        while self.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 1 << 16).is_some() {}
        std::iter::from_fn(|| self.server.poll_stream_action()).collect()
    }

    /// The code that the connection is closed with now.
    pub(super) fn closed_with(&mut self) -> Option<ErrorCode> {
        self.actions().into_iter().find_map(|action| match action {
            StreamAction::Close { code, .. } => Some(ErrorCode(code)),
            _ => None,
        })
    }

    /// The code that a stream is reset with now.
    pub(super) fn reset_with(&mut self, id: u64) -> Option<ErrorCode> {
        self.actions().into_iter().find_map(|action| match action {
            StreamAction::Reset { stream, code } if stream.0 == id => Some(ErrorCode(code)),
            StreamAction::Close { code, .. } => panic!("closed with {}", ErrorCode(code)),
            _ => None,
        })
    }
}

pub(super) const SETTINGS: Frame<'_> = Frame::Unknown { kind: FrameKind::SETTINGS, payload: b"" };

pub(super) fn coded(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in frames {
        frame.encode(&mut out);
    }
    out
}

/// A field section of literals alone.
pub(super) fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0, 0];
    for (name, value) in fields {
        // Names and values are short: their lengths fit their prefixes, or the byte after.
        let mut put = |text: &str, flags: u8, full: usize| {
            if text.len() < full {
                out.push(flags | text.len() as u8);
            } else {
                out.push(flags | full as u8);
                out.push((text.len() - full) as u8);
            }
            out.extend_from_slice(text.as_bytes());
        };
        put(name, 0x20, 7);
        put(value, 0, 127);
    }
    out
}

pub(super) const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")];

fn with(extra: &[(&'static str, &'static str)]) -> Vec<u8> {
    section(&[&GET, extra].concat())
}

#[test]
fn must_send_h3_frame_unexpected_if_data_is_received_before_headers() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Data(b""), Frame::Headers(&with(&[]))], Fin::Last);
    assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_UNEXPECTED));
}

#[test]
fn must_send_h3_message_error_if_a_pseudo_header_is_duplicated_absent_prohibited_or_late() {
    for fields in [
        with(&[(":method", "GET")]),
        section(&GET[1..]),
        section(&[(":method", "GET"), (":scheme", "https"), (":path", "/")]),
        with(&[(":foo", "bar")]),
        with(&[(":status", "200")]),
        section(&[("x", "y"), (":method", "GET"), (":scheme", "https"), (":path", "/")]),
        with(&[("Upper", "case")]),
        with(&[("connection", "close")]),
    ] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.frames(0, &[Frame::Headers(&fields)], Fin::Last);
        assert_eq!(hand.reset_with(0), Some(ErrorCode::MESSAGE_ERROR), "{fields:?}");
        assert_eq!(hand.events, [], "the application hears nothing of it");
    }
}

#[test]
fn must_send_h3_missing_settings_if_the_first_control_frame_is_not_settings() {
    for first in [
        Frame::Data(b""),
        Frame::GoAway { id: 0 },
        Frame::Unknown { kind: FrameKind(0x21), payload: b"" },
    ] {
        let mut hand = ByHand::new(Settings::server());
        hand.control(&[first, SETTINGS]);
        assert_eq!(hand.closed_with(), Some(ErrorCode::MISSING_SETTINGS), "{first:?}");
    }
}

#[test]
fn must_send_h3_frame_unexpected_for_frames_that_a_control_stream_cannot_have() {
    for frame in [
        Frame::Data(b""),
        Frame::Headers(b""),
        // A second SETTINGS.
        SETTINGS,
        Frame::PushPromise { push: 0, section: b"" },
        Frame::Unknown { kind: FrameKind(0x2), payload: b"" },
        Frame::Unknown { kind: FrameKind(0x6), payload: b"" },
        Frame::Unknown { kind: FrameKind(0x8), payload: b"" },
        Frame::Unknown { kind: FrameKind(0x9), payload: b"" },
    ] {
        let mut hand = ByHand::new(Settings::server());
        hand.control(&[SETTINGS, frame]);
        assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_UNEXPECTED), "{frame:?}");
    }
}

#[test]
fn must_send_h3_frame_unexpected_for_frames_that_a_request_stream_cannot_have() {
    for frame in [
        Frame::CancelPush { push: 0 },
        SETTINGS,
        Frame::GoAway { id: 0 },
        Frame::MaxPushId { push: 0 },
        Frame::PushPromise { push: 0, section: b"" },
        Frame::PriorityUpdate { stream: 0, value: b"u=1" },
        Frame::Unknown { kind: FrameKind(0x6), payload: b"" },
    ] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.frames(0, &[frame], Fin::More);
        assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_UNEXPECTED), "{frame:?}");
    }
}

#[test]
fn must_send_h3_settings_error_if_http_2_settings_are_included() {
    for payload in
        [&[0x2, 1][..], &[0x3, 1], &[0x4, 1], &[0x5, 1], &[0x6, 1, 0x6, 1], &[0x8, 2], &[0x33, 2]]
    {
        let mut hand = ByHand::new(Settings::server());
        hand.control(&[Frame::Unknown { kind: FrameKind::SETTINGS, payload }]);
        assert_eq!(hand.closed_with(), Some(ErrorCode::SETTINGS_ERROR), "{payload:?}");
    }
}

#[test]
fn must_send_qpack_decompression_failed_if_an_invalid_static_table_index_exists() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&[0, 0, 0xff, 0x25])], Fin::Last);
    assert_eq!(hand.closed_with(), Some(ErrorCode::QPACK_DECOMPRESSION_FAILED));
}

#[test]
fn must_send_qpack_encoder_stream_error_if_a_capacity_exceeds_the_limit() {
    let mut hand = ByHand::greeted(Settings::server());
    // 4097 of 4096.
    hand.typed(6, StreamType::QPACK_ENCODER, &[0x3f, 0xe2, 0x1f]);
    assert_eq!(hand.closed_with(), Some(ErrorCode::QPACK_ENCODER_STREAM_ERROR));
}

#[test]
fn must_send_qpack_decoder_stream_error_if_an_insert_count_increment_is_0() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.typed(10, StreamType::QPACK_DECODER, &[0]);
    assert_eq!(hand.closed_with(), Some(ErrorCode::QPACK_DECODER_STREAM_ERROR));
}

#[test]
fn must_send_h3_closed_critical_stream_if_a_critical_stream_is_closed() {
    for kind in [StreamType::CONTROL, StreamType::QPACK_ENCODER, StreamType::QPACK_DECODER] {
        let mut hand = ByHand::new(Settings::server());
        hand.typed(2, kind, b"").bytes(2, b"", Fin::Last);
        assert_eq!(hand.closed_with(), Some(ErrorCode::CLOSED_CRITICAL_STREAM), "{kind:?}");
        let mut hand = ByHand::new(Settings::server());
        hand.typed(2, kind, b"");
        hand.server.handle_stream_reset(NOW, StreamId(2), 0);
        assert_eq!(hand.closed_with(), Some(ErrorCode::CLOSED_CRITICAL_STREAM), "{kind:?}");
    }
    let mut hand = ByHand::new(Settings::server());
    hand.server.handle_stop_sending(NOW, StreamId(3), 0);
    assert_eq!(hand.closed_with(), Some(ErrorCode::CLOSED_CRITICAL_STREAM));
}

#[test]
fn a_stream_of_a_reserved_type_may_be_refused_and_is_owed_no_more() {
    let mut hand = ByHand::greeted(Settings::server());
    let grease = StreamId(15);
    let mut part = || hand.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 3);
    while part().is_some_and(|sent| sent.stream != grease) {}
    assert_eq!(part().map(|sent| (sent.stream, sent.fin)), Some((grease, Fin::More)));
    hand.server.handle_stop_sending(NOW, grease, 0x103);
    assert_eq!(hand.server.poll_stream_transmit(NOW, &mut SendBuf::new(), 3), None);
    assert_eq!(hand.reset_with(grease.0), Some(ErrorCode::NO_ERROR));
}

#[test]
fn a_second_critical_stream_and_a_push_stream_of_a_client_are_refused() {
    for kind in [StreamType::CONTROL, StreamType::QPACK_ENCODER, StreamType::QPACK_DECODER] {
        let mut hand = ByHand::new(Settings::server());
        hand.typed(2, kind, b"").typed(6, kind, b"");
        assert_eq!(hand.closed_with(), Some(ErrorCode::STREAM_CREATION_ERROR), "{kind:?}");
    }
    let mut hand = ByHand::greeted(Settings::server());
    hand.typed(6, StreamType::PUSH, &[0]);
    assert_eq!(hand.closed_with(), Some(ErrorCode::STREAM_CREATION_ERROR));
}

#[test]
fn unknown_frames_settings_and_streams_are_ignored() {
    let mut hand = ByHand::new(Settings::server());
    let grease = Frame::Unknown { kind: FrameKind(0x21), payload: b"anything" };
    let settings = Frame::Unknown { kind: FrameKind::SETTINGS, payload: &[0x21, 5] };
    hand.control(&[settings, grease]).typed(14, StreamType(0x21), b"anything");
    hand.frames(
        0,
        &[grease, Frame::Headers(&with(&[])), grease, Frame::Data(b"x"), grease],
        Fin::Last,
    );
    assert_eq!(hand.closed_with(), None);
    let [Owned::Request(0, head, Fin::More), data @ ..] = &hand.events[..] else {
        panic!("{:?}", hand.events)
    };
    assert_eq!(head.path, "/");
    assert_eq!(data, [Owned::Data(0, b"x".to_vec(), Fin::More), Owned::Data(0, vec![], Fin::Last)]);
}

#[test]
fn a_stream_that_ends_within_a_frame_or_before_its_request_has_its_own_code() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(0, &[1, 5, 0], Fin::Last);
    assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_ERROR));
    let mut hand = ByHand::greeted(Settings::server());
    hand.bytes(0, b"", Fin::Last);
    assert_eq!(hand.reset_with(0), Some(ErrorCode::REQUEST_INCOMPLETE));
}

#[test]
fn a_body_is_as_long_as_content_length_says() {
    let fields = with(&[("content-length", "3")]);
    for body in [&b"ab"[..], b"abcd"] {
        let mut hand = ByHand::greeted(Settings::server());
        hand.frames(0, &[Frame::Headers(&fields), Frame::Data(body)], Fin::Last);
        assert_eq!(hand.reset_with(0), Some(ErrorCode::MESSAGE_ERROR), "{body:?}");
        assert!(matches!(hand.events.last(), Some(Owned::Reset(0, _))), "{:?}", hand.events);
    }
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&fields), Frame::Data(b"abc")], Fin::Last);
    assert_eq!(hand.reset_with(0), None);
    assert_eq!(hand.events.last(), Some(&Owned::Data(0, b"abc".to_vec(), Fin::Last)));
}

#[test]
fn nothing_follows_the_trailers() {
    for late in [Frame::Data(b"x"), Frame::Headers(&[0, 0])] {
        let mut hand = ByHand::greeted(Settings::server());
        let trailers = section(&[("x", "y")]);
        hand.frames(0, &[Frame::Headers(&with(&[])), Frame::Headers(&trailers), late], Fin::More);
        assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_UNEXPECTED));
    }
}

#[test]
fn a_head_above_the_limit_is_answered_431_or_reset_and_the_connection_lives() {
    let mut hand = ByHand::greeted(Settings { max_field_section_size: 200, ..Settings::server() });
    hand.frames(0, &[Frame::Headers(&with(&[("x", "a value of some length")]))], Fin::Last);
    let mut out = SendBuf::new();
    while let Some(sent) = hand.server.poll_stream_transmit(NOW, &mut out, 1 << 16) {
        if sent.stream == StreamId(0) {
            assert_eq!(sent.fin, Fin::Last);
        }
    }
    assert_eq!(hand.events, []);
    let length = FrameHeader { kind: FrameKind::HEADERS, length: 1 << 40 };
    let mut bytes = Vec::new();
    length.encode(&mut bytes);
    hand.bytes(4, &bytes, Fin::More);
    assert_eq!(hand.reset_with(4), Some(ErrorCode::EXCESSIVE_LOAD));
    hand.frames(8, &[Frame::Headers(&with(&[]))], Fin::Last);
    assert!(matches!(hand.events[..], [Owned::Request(8, ..)]));
}

#[test]
fn a_control_frame_without_end_is_refused_at_its_header() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut bytes = Vec::new();
    FrameHeader { kind: FrameKind::PRIORITY_UPDATE, length: 1 << 40 }.encode(&mut bytes);
    hand.bytes(2, &bytes, Fin::More);
    assert_eq!(hand.closed_with(), Some(ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn more_blocked_streams_than_were_allowed_end_the_connection() {
    let mut hand = ByHand::greeted(Settings { qpack_blocked_streams: 2, ..Settings::server() });
    // Entry 0, which has not come.
    let blocked = [2, 0, 0x80];
    hand.frames(0, &[Frame::Headers(&blocked)], Fin::Last);
    hand.frames(4, &[Frame::Headers(&blocked)], Fin::Last);
    assert_eq!(hand.closed_with(), None);
    assert!(!hand.server.wants_read(StreamId(4)));
    hand.frames(8, &[Frame::Headers(&blocked)], Fin::Last);
    assert_eq!(hand.closed_with(), Some(ErrorCode::QPACK_DECOMPRESSION_FAILED));
}

#[test]
fn blocked_sections_of_too_many_bytes_reset_their_streams() {
    let mut hand = ByHand::greeted(Settings::server());
    let section = [&[2, 0][..], &[0x80; 19_998]].concat();
    for number in 0..13 {
        hand.frames(4 * number, &[Frame::Headers(&section)], Fin::Last);
        assert_eq!(hand.reset_with(4 * number), None, "{number}");
    }
    hand.frames(52, &[Frame::Headers(&section)], Fin::Last);
    assert_eq!(hand.reset_with(52), Some(ErrorCode::EXCESSIVE_LOAD));
    assert_eq!(hand.closed_with(), None);
}

#[test]
fn what_came_behind_a_blocked_section_is_read_after_it() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut fields = with(&[]);
    (fields[0], fields[1]) = (2, 0);
    fields.push(0x80);
    hand.frames(0, &[Frame::Headers(&fields), Frame::Data(b"body")], Fin::Last);
    assert_eq!(hand.events, []);
    // The capacity, and `x: y`.
    hand.typed(6, StreamType::QPACK_ENCODER, &[0x3f, 0xbd, 0x01, 0x41, b'x', 0x01, b'y']);
    let [Owned::Request(0, head, Fin::More), Owned::Data(0, data, Fin::Last)] = &hand.events[..]
    else {
        panic!("{:?}", hand.events)
    };
    assert_eq!((head.fields.find_str("x"), &data[..]), (Some("y"), &b"body"[..]));
    assert!(hand.actions().contains(&StreamAction::Read { stream: StreamId(0) }));
}

#[test]
fn floods_of_resets_and_of_empty_frames_end_the_connection() {
    let mut hand = ByHand::greeted(Settings::server());
    let mut reset = 0;
    while hand.server.state() != ConnectionState::Closed && reset < 20_000 {
        hand.frames(reset * 4, &[Frame::Headers(&with(&[]))], Fin::Last);
        hand.server.handle_stream_reset(NOW, StreamId(reset * 4), 0x10c);
        // The request was whole, so that its reset says nothing: the answer is unwanted.
        hand.server.handle_stop_sending(NOW, StreamId(reset * 4), 0x10c);
        reset += 1;
    }
    assert!((900..1100).contains(&reset), "{reset}");
    assert_eq!(hand.closed_with(), Some(ErrorCode::EXCESSIVE_LOAD));

    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&with(&[]))], Fin::More);
    for _ in 0..20_000 {
        hand.frames(0, &[Frame::Data(b"")], Fin::More);
    }
    assert_eq!(hand.closed_with(), Some(ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn a_client_refuses_pushes_and_streams_that_a_server_may_not_open() {
    let refused = |stream, bytes: &[u8]| {
        let mut client = client(Settings::client());
        client.request(NOW, &get("/"), Fin::Last).unwrap();
        give(&mut client, 3, &[&[0][..], &coded(&[SETTINGS])].concat(), Fin::More);
        give(&mut client, stream, bytes, Fin::More);
        std::iter::from_fn(|| client.poll_stream_action()).find_map(|action| match action {
            StreamAction::Close { code, .. } => Some(ErrorCode(code)),
            _ => None,
        })
    };
    let promise = coded(&[Frame::PushPromise { push: 0, section: &[0, 0] }]);
    assert_eq!(refused(0, &promise), Some(ErrorCode::ID_ERROR));
    assert_eq!(refused(7, &[1, 0]), Some(ErrorCode::ID_ERROR));
    assert_eq!(refused(1, b"x"), Some(ErrorCode::STREAM_CREATION_ERROR));
    assert_eq!(
        refused(3, &coded(&[Frame::MaxPushId { push: 0 }])),
        Some(ErrorCode::FRAME_UNEXPECTED)
    );
    assert_eq!(refused(3, &coded(&[Frame::GoAway { id: 1 }])), Some(ErrorCode::ID_ERROR));
    let grown = coded(&[Frame::GoAway { id: 4 }, Frame::GoAway { id: 8 }]);
    assert_eq!(refused(3, &grown), Some(ErrorCode::ID_ERROR));
    let status = section(&[(":status", "200"), ("content-length", "x")]);
    assert_eq!(refused(0, &coded(&[Frame::Headers(&status)])), None, "an error of the stream");
}

#[test]
fn settings_may_take_nothing_back_that_early_data_relied_on() {
    let remembered = super::super::PeerSettings {
        qpack_table_capacity: 4096,
        qpack_blocked_streams: 16,
        max_field_section_size: 1000,
        ..Default::default()
    };
    for (list, fits) in [
        (vec![(1, 4096), (6, 1000), (7, 16)], true),
        (vec![(1, 4096), (6, 2000), (7, 100)], true),
        (vec![(1, 4096), (6, 999), (7, 16)], false),
        (vec![(1, 4096), (6, 1000)], false),
        (vec![(1, 8192), (6, 1000), (7, 16)], false),
    ] {
        let mut client = client(Settings { remembered: Some(remembered), ..Settings::client() });
        let settings: Vec<_> = list
            .iter()
            .map(|&(id, value)| wire::h3::Setting { id: wire::h3::SettingId(id), value })
            .collect();
        let mut payload = Vec::new();
        SettingsList::encode(&settings, &mut payload);
        let frame = Frame::Unknown { kind: FrameKind::SETTINGS, payload: &payload };
        give(&mut client, 3, &[&[0][..], &coded(&[frame])].concat(), Fin::More);
        assert_eq!(client.state() == ConnectionState::Open, fits, "{list:?}");
    }
}

#[test]
fn a_connection_that_was_closed_for_a_fault_sends_nothing_and_waits_for_nothing() {
    // A control stream without SETTINGS, before and after our own first bytes are out.
    for is_greeted in [false, true] {
        let mut client = client(Settings::client());
        let stream = client.request(NOW, &get("/"), Fin::Last).unwrap();
        let mut out = SendBuf::new();
        while is_greeted && client.poll_stream_transmit(NOW, &mut out, 1 << 16).is_some() {}
        give(&mut client, 3, &[0, 7, 1, 0], Fin::More);
        let close = client.poll_stream_action();
        assert!(matches!(close, Some(StreamAction::Close { .. })), "{close:?}");
        // The transport tells what it knew before it heard of that.
        client.handle_stream_blocked(stream);
        assert_eq!(client.poll_stream_transmit(NOW, &mut out, 1 << 16), None);
        assert_eq!((client.wants_transmit(), client.poll_timeout()), (false, None));
    }
}

#[test]
fn a_connection_whose_transport_is_over_sends_nothing() {
    let mut client = client(Settings::client());
    client.handle_transport_closed(NOW, None);
    assert_eq!(client.poll_stream_transmit(NOW, &mut SendBuf::new(), 1 << 16), None);
    assert!(!client.wants_transmit());
}

/// Trailers say that the message is whole, and its FIN is still to come. A client that has all of a response hears of no end more.
#[test]
fn a_client_that_has_a_whole_response_hears_of_no_reset() {
    let ends: [fn(&mut Client, StreamId) -> Vec<Owned>; 3] = [
        |client, stream| {
            client.handle_stream_reset(NOW, stream, 9);
            Vec::new()
        },
        |client, stream| {
            client.handle_stop_sending(NOW, stream, 9);
            Vec::new()
        },
        |client, _| give(client, 3, &coded(&[Frame::GoAway { id: 0 }]), Fin::More),
    ];
    for (number, end) in ends.iter().enumerate() {
        for fin in [Fin::More, Fin::Last] {
            let mut client = client(Settings::client());
            give(&mut client, 3, &[&[0][..], &coded(&[SETTINGS])].concat(), Fin::More);
            // Its own side is still open.
            let stream = client.request(NOW, &get("/"), Fin::More).unwrap();
            let (head, trailers) = (section(&[(":status", "200")]), section(&[("x", "y")]));
            let frames = [Frame::Headers(&head), Frame::Headers(&trailers)];
            let told = give(&mut client, stream.0, &coded(&frames), fin);
            assert!(matches!(told[..], [Owned::Response(..), Owned::Trailers(..)]), "{told:?}");
            let mut events = end(&mut client, stream);
            events.extend(std::iter::from_fn(|| client.poll_event(NOW).map(owned)));
            let is_reset = events.iter().any(|event| matches!(event, Owned::Reset(..)));
            assert!(!is_reset, "{number}, {fin:?}: {events:?}");
        }
    }
}

#[test]
fn a_request_that_is_given_up_before_it_came_is_cancelled_for_qpack_too() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.actions();
    hand.server.handle_stream_reset(NOW, StreamId(4), 0x10c);
    let mut sent = SendBuf::new();
    while hand.server.poll_stream_transmit(NOW, &mut sent, 1 << 16).is_some() {}
    // A Stream Cancellation (RFC 9204 §4.4.2) of stream 4; stream 0, which was opened with it, may still come.
    let bytes: Vec<u8> = std::iter::from_fn(|| sent.take_piece()).flatten().collect();
    assert_eq!(bytes.last(), Some(&0x44), "{bytes:02x?}");
    assert_eq!(hand.reset_with(4), Some(ErrorCode::REQUEST_CANCELLED));
}

/// RFC 9114 §4.1: a client does not discard a whole response because its request was ended.
#[test]
fn a_client_whose_upload_is_stopped_gets_the_response_whatever_the_code() {
    for code in [ErrorCode::NO_ERROR, ErrorCode::REQUEST_CANCELLED, ErrorCode(0)] {
        let mut client = client(Settings::client());
        give(&mut client, 3, &[&[0][..], &coded(&[SETTINGS])].concat(), Fin::More);
        let stream = client.request(NOW, &get("/"), Fin::More).unwrap();
        while client.poll_stream_transmit(NOW, &mut SendBuf::new(), 1 << 16).is_some() {}
        // Bytes of it wait for credit, and do so no more.
        client.send(stream, vec![0; 1_000].into(), Fin::More).unwrap();
        client.handle_stream_blocked(stream);
        client.handle_stop_sending(NOW, stream, code.0);
        client.handle_timeout(NOW + Settings::client().stall_timeout * 2);
        let head = section(&[(":status", "200")]);
        let frames = [Frame::Headers(&head), Frame::Data(b"whole")];
        let mut told = give(&mut client, stream.0, &coded(&frames), Fin::Last);
        told.extend(std::iter::from_fn(|| client.poll_event(NOW).map(owned)));
        let is_whole = matches!(told[..], [Owned::Response(..), Owned::Data(_, _, Fin::Last)]);
        assert!(is_whole, "{code:?}: {told:?}");
        let mut actions = std::iter::from_fn(|| client.poll_stream_action());
        assert!(actions.any(|action| matches!(action, StreamAction::Reset { .. })));
    }
}
