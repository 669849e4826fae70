//! Frames in and out of turn, and what they do to the connection.

use super::*;
use crate::ws::{DeflateParameters, MessageKind, Writes};
use crate::{Error, Misuse};
use bytes::Bytes;

fn text(data: &str) -> Event {
    Event::Message { kind: MessageKind::Text, data: Bytes::copy_from_slice(data.as_bytes()) }
}

fn deflate() -> Agreed {
    Agreed { deflate: Some(DeflateParameters::default()), ..Agreed::default() }
}

/// The code that a server fails with on these bytes, and that it says so on the wire.
fn failure(mut server: Connection, bytes: &[u8]) -> Option<u16> {
    let code = hear(&mut server, bytes).into_iter().find_map(|event| match event {
        Event::Closed { error: Some(Error::PeerViolation { code, .. }) } => {
            u16::try_from(code).ok()
        }
        _ => None,
    });
    assert_eq!(close_code(&say(&mut server)), code);
    assert_eq!(server.wants_end(), code.is_some());
    code
}

#[test]
fn the_examples_of_the_rfc_are_understood() {
    // RFC 6455 §5.7
    let mut client = client();
    let hello = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(hear(&mut client, &hello), [text("Hello")]);
    let fragments = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
    assert_eq!(hear(&mut client, &fragments), [text("Hello")]);
    let masked_hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    let mut server = server();
    assert_eq!(hear(&mut server, &masked_hello), [text("Hello")]);
    let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(hear(&mut client, &ping), [Event::Ping { payload: "Hello".into() }]);
    let mut peer = super::server();
    assert_eq!(hear(&mut peer, &say(&mut client)), [Event::Pong { payload: "Hello".into() }]);
}

#[test]
fn control_frames_stand_between_fragments_and_are_answered_at_once() {
    let mut server = server();
    let bytes = [masked(0x01, b"Hel"), masked(0x89, b"?"), masked(0x8a, b"!"), masked(0x80, b"lo")]
        .concat();
    let events = hear(&mut server, &bytes);
    let (ping, pong) = (Event::Ping { payload: "?".into() }, Event::Pong { payload: "!".into() });
    assert_eq!(events, [ping, pong, text("Hello")]);
    assert_eq!(say(&mut server), frame(0x8a, b"?"));
}

#[test]
fn frames_out_of_turn_and_by_the_wrong_side_are_a_protocol_error() {
    for (bytes, what) in [
        (frame(0x81, b"x"), "an unmasked frame"),
        (masked(0x80, b"x"), "a continuation of nothing"),
        ([masked(0x01, b"x"), masked(0x81, b"y")].concat(), "a message within a message"),
        (masked(0xc1, b"x"), "RSV1 without an extension"),
        (masked(0xa1, b"x"), "RSV2"),
        (masked(0x83, b"x"), "an unknown opcode"),
        (masked(0x09, b"x"), "a fragmented Ping"),
        (masked(0x89, &[0; 126]), "a long Ping"),
        (masked(0x88, &[3]), "half a close code"),
        (masked(0x88, &[3, 0xed]), "1005 on the wire"),
    ] {
        assert_eq!(failure(server(), &bytes), Some(1002), "{what}");
    }
    let mut client = client();
    let events = hear(&mut client, &masked(0x81, b"x"));
    assert!(matches!(
        events[..],
        [Event::Closed { error: Some(Error::PeerViolation { code: 1002, .. }) }]
    ));
}

#[test]
fn rsv1_stands_on_the_first_frame_of_a_message_alone() {
    let agreed = deflate();
    let with = || server_with(Settings::default(), &agreed);
    assert_eq!(failure(with(), &[masked(0x41, b"\xf2"), masked(0xc0, b"H")].concat()), Some(1002));
    assert_eq!(failure(with(), &masked(0xc9, b"")), Some(1002));
    let mut server = with();
    // RFC 7692 §7.2.3.1: the compressed message in two fragments.
    let bytes =
        [masked(0x41, &[0xf2, 0x48, 0xcd]), masked(0x80, &[0xc9, 0xc9, 0x07, 0x00])].concat();
    assert_eq!(hear(&mut server, &bytes), [text("Hello")]);
    assert_eq!(hear(&mut server, &masked(0x81, b"plain")), [text("plain")]);
}

#[test]
fn a_text_that_is_no_utf_8_fails_before_its_message_is_whole() {
    for bytes in [
        [masked(0x01, b"\xce\xba\xe1\xbd"), masked(0x00, b"\xb9\xf4\x90")].concat(),
        masked(0x81, &[b"abc\xff".to_vec(), vec![b'x'; 1000]].concat())[..20].to_vec(),
        masked(0x81, b"\xe2\x82"),
    ] {
        assert_eq!(failure(server(), &bytes), Some(1007), "{bytes:x?}");
    }
    assert_eq!(failure(server(), &masked(0x82, b"\xff")), None);
}

#[test]
fn what_is_too_big_ends_with_1009_before_room_is_taken() {
    let settings =
        || Settings { max_message: 1000, max_frame: 600, max_fragments: 3, ..Settings::default() };
    let server = || server_with(settings(), &deflate());
    let huge = [0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    assert_eq!(failure(server(), &huge), Some(1009), "a huge frame, by its header");
    let two = [masked(0x02, &[0; 600]), masked(0x80, &[0; 401])].concat();
    assert_eq!(failure(server(), &two[..two.len() - 401]), Some(1009), "a message, by a header");
    let many: Vec<u8> =
        [0x02, 0x00, 0x00, 0x00].iter().flat_map(|first| masked(*first, b"")).collect();
    assert_eq!(failure(server(), &many), Some(1009), "endless fragments");
    let hard = Settings { compression_level: 6, ..Settings::default() };
    let mut peer = client_with(hard, &deflate());
    peer.send(MessageKind::Binary, vec![0; 100_000].into()).unwrap();
    let bomb = say(&mut peer);
    assert!(bomb.len() < 600);
    assert_eq!(failure(server(), &bomb), Some(1009), "a bomb");
}

/// Gives bytes one by one; gives the events, and the greatest capacity held on the way.
fn trickle(connection: &mut Connection, bytes: &[u8]) -> (Vec<Event>, usize) {
    let (mut events, mut most) = (Vec::new(), 0);
    for byte in bytes.chunks(1) {
        events.extend(hear(connection, byte));
        most = most.max(connection.held());
    }
    (events, most)
}

fn is_too_big(events: &[Event]) -> bool {
    matches!(events, [Event::Closed { error: Some(Error::PeerViolation { code: 1009, .. }) }])
}

#[test]
fn what_a_header_promises_takes_no_room_before_it_is_there() {
    let mut server = server();
    let header = [0x82, 0xff, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 1, 2, 3, 4];
    let (events, most) = trickle(&mut server, &[&header[..], &[0; 100]].concat());
    assert_eq!(events, []);
    assert!(most <= 16 * 1024, "{most}");
}

#[test]
fn fragments_without_end_are_ended_in_time_whatever_is_in_them() {
    // None of them is ever the last.
    let first = |op_code| masked(op_code, b"");
    for (begin, again) in [
        (first(0x02), masked(0x00, b"")),
        (first(0x02), masked(0x00, b"x")),
        (first(0x01), [masked(0x00, b"x"), masked(0x89, b"?")].concat()),
        // Compressed, each a stored block of one byte (RFC 1951 §3.2.4).
        (first(0x42), masked(0x00, &[0, 1, 0, 0xfe, 0xff, b'x'])),
    ] {
        let mut server = server_with(Settings::default(), &deflate());
        assert_eq!(hear(&mut server, &begin), []);
        let (mut count, mut most) = (1_u32, 0);
        let end = loop {
            count += 1;
            let events = hear(&mut server, &again);
            most = most.max(server.held());
            if let Some(end) = events.into_iter().find(|e| matches!(e, Event::Closed { .. })) {
                break end;
            }
            say(&mut server);
        };
        assert_eq!(count, Settings::default().max_fragments + 1);
        assert!(is_too_big(&[end]) && most <= 256 * 1024, "{most}");
    }
}

#[test]
fn a_bomb_takes_no_more_room_than_the_limit_however_it_is_cut() {
    const LIMIT: usize = 100_000;
    let mut peer = client_with(Settings { fragment: 50, ..Settings::default() }, &deflate());
    peer.send(MessageKind::Binary, vec![0; 10 << 20].into()).unwrap();
    let bomb = say(&mut peer);
    assert!(bomb.len() < 200_000);
    for cut in [1, 60, bomb.len()] {
        let settings = Settings { max_message: LIMIT, ..Settings::default() };
        let mut server = server_with(settings, &deflate());
        let (mut events, mut most) = (Vec::new(), 0);
        for piece in bomb.chunks(cut) {
            events.extend(hear(&mut server, piece));
            most = most.max(server.held());
        }
        assert!(is_too_big(&events), "{events:?}");
        assert!(most <= 2 * LIMIT, "{most}");
        assert_eq!(close_code(&say(&mut server)), Some(1009));
    }
}

#[test]
fn what_breaks_a_rule_does_so_a_byte_at_a_time_too() {
    for (bytes, code) in [
        (frame(0x81, b"x"), 1002),
        (masked(0x80, b"x"), 1002),
        (masked(0xc1, b"x"), 1002),
        (masked(0x83, b"x"), 1002),
        (masked(0x89, &[0; 126]), 1002),
        (masked(0x88, &[3, 0xed]), 1002),
        (masked(0x81, b"\xff"), 1007),
        (vec![0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], 1009),
    ] {
        let mut server = server();
        trickle(&mut server, &bytes);
        assert_eq!(close_code(&say(&mut server)), Some(code), "{bytes:x?}");
        assert!(server.wants_end());
    }
}

#[test]
fn what_does_not_inflate_ends_with_1007() {
    let server = server_with(Settings::default(), &deflate());
    assert_eq!(failure(server, &masked(0xc2, b"\xff\xff\xff")), Some(1007));
}

#[test]
fn a_flood_of_pings_is_answered_for_the_newest() {
    let mut server =
        server_with(Settings { max_pongs: 2, ..Settings::default() }, &Agreed::default());
    let flood: Vec<u8> = (0..1000_u16).flat_map(|n| masked(0x89, &n.to_be_bytes())).collect();
    assert_eq!(hear(&mut server, &flood).len(), 1000);
    assert_eq!(say(&mut server), [frame(0x8a, &[3, 230]), frame(0x8a, &[3, 231])].concat());
}

#[test]
fn a_long_message_goes_in_fragments_and_a_ping_between_them() {
    let mut server =
        server_with(Settings { fragment: 700, ..Settings::default() }, &Agreed::default());
    server.send(MessageKind::Binary, vec![7; 2000].into()).unwrap();
    let mut out = SendBuf::new();
    server.poll_transmit(NOW, &mut out, 1);
    server.ping(Bytes::from_static(b"?")).unwrap();
    assert_eq!(server.unsent(), 1300);
    let mut bytes = out.to_vec();
    bytes.extend(say(&mut server));
    let expected =
        [frame(0x02, &[7; 700]), frame(0x89, b"?"), frame(0x00, &[7; 700]), frame(0x80, &[7; 600])];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn what_a_frame_cannot_hold_is_not_sent() {
    let mut server = server();
    assert!(matches!(server.ping(vec![0; 126].into()), Err(Misuse::Unsendable(_))));
    for _ in 0..64 {
        assert_eq!(server.ping(Bytes::new()), Ok(()));
    }
    assert!(matches!(server.ping(Bytes::new()), Err(Misuse::OutOfOrder(_))));
}

#[test]
fn messages_that_are_not_worth_it_or_shall_not_are_not_compressed() {
    let mut server = server_with(Settings { compress_from: 6, ..Settings::default() }, &deflate());
    server.send(MessageKind::Text, "Hello".into()).unwrap();
    server.send_plain(MessageKind::Text, "Hello again".into()).unwrap();
    server.send(MessageKind::Text, "HelloHello".into()).unwrap();
    let bytes = say(&mut server);
    let plain = [frame(0x81, b"Hello"), frame(0x81, b"Hello again")].concat();
    assert_eq!(bytes[..plain.len()], plain);
    assert_eq!(bytes[plain.len()], 0xc1);
}

#[test]
fn in_two_writes_each_part_of_a_frame_leaves_when_asked_for_and_no_byte_differs() {
    let settings = Settings { writes: Writes::Two, fragment: 4, ..Settings::default() };
    for role in [Role::Server, Role::Client { masks: Seed(5) }] {
        let agreed = Agreed::default();
        let open = |settings| Connection::new(NOW, role, settings, &agreed, Tracer::off());
        let mut two = open(settings.clone());
        let mut one = open(Settings { writes: Writes::One, ..settings.clone() });
        for connection in [&mut one, &mut two] {
            connection.send(MessageKind::Text, "hello".into()).unwrap();
            connection.ping("?".into()).unwrap();
            connection.send(MessageKind::Text, "".into()).unwrap();
        }
        let mut parts = Vec::new();
        while two.wants_transmit() {
            let mut out = SendBuf::new();
            two.poll_transmit(NOW, &mut out, 64 * 1024);
            parts.push(out.to_vec());
        }
        let header = if role == Role::Server { 2 } else { 6 };
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        // The Ping, "hell", "o", and the empty message, whose header is all that there is of it.
        assert_eq!(lengths, [header, 1, header, 4, header, 1, header]);
        assert_eq!(two.unsent(), 0);
        let mut whole = SendBuf::new();
        one.poll_transmit(NOW, &mut whole, 64 * 1024);
        assert_eq!(parts.concat(), whole.to_vec());
    }
}
