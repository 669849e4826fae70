//! Our two ends against each other, cut anywhere, and one end against anything.

use super::*;
use crate::ws::{CloseCode, DeflateParameters, MessageKind, WindowBits};
use bytes::Bytes;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Send(MessageKind, Vec<u8>),
    Plain(MessageKind, Vec<u8>),
    Ping(Vec<u8>),
}

fn kind_and_data() -> impl Strategy<Value = (MessageKind, Vec<u8>)> {
    prop_oneof![
        "\\PC{0,300}".prop_map(|text| (MessageKind::Text, text.into_bytes())),
        proptest::collection::vec(any::<u8>(), 0..2000)
            .prop_map(|data| (MessageKind::Binary, data)),
        (0..200_000_usize).prop_map(|length| (MessageKind::Binary, vec![b'x'; length])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => kind_and_data().prop_map(|(kind, data)| Step::Send(kind, data)),
        1 => kind_and_data().prop_map(|(kind, data)| Step::Plain(kind, data)),
        1 => proptest::collection::vec(any::<u8>(), 0..126).prop_map(Step::Ping),
    ]
}

prop_compose! {
    fn agreed()(
        deflate in any::<bool>(),
        (server_no_context_takeover, client_no_context_takeover) in any::<(bool, bool)>(),
        bits in proptest::option::of((8..16_u8, 8..16_u8)),
    ) -> Agreed {
        let parameters = DeflateParameters {
            server_no_context_takeover,
            client_no_context_takeover,
            server_max_window_bits: bits.and_then(|(server, _)| WindowBits::new(server)),
            client_max_window_bits: bits.and_then(|(_, client)| WindowBits::new(client)),
        };
        Agreed { deflate: deflate.then_some(parameters), ..Agreed::default() }
    }
}

/// Carries bytes in pieces; gives the events.
fn carry(from: &mut Connection, to: &mut Connection, piece: usize) -> Vec<Event> {
    let bytes = say(from);
    bytes.chunks(piece).flat_map(|piece| hear(to, piece)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_message_arrives_as_it_was_sent_in_both_directions(
        agreed in agreed(),
        steps in proptest::collection::vec(step(), 0..12),
        (fragment, piece) in (1..100_000_usize, 1..5000_usize),
    ) {
        let settings = || Settings { fragment: fragment.max(500), ..Settings::default() };
        let mut client = client_with(settings(), &agreed);
        let mut server = server_with(settings(), &agreed);
        for _ in 0..2 {
            let (mut messages, mut pings) = (Vec::new(), Vec::new());
            for step in steps.clone() {
                match step {
                    Step::Send(kind, data) => {
                        client.send(kind, data.clone().into()).unwrap();
                        messages.push((kind, Bytes::from(data)));
                    }
                    Step::Plain(kind, data) => {
                        client.send_plain(kind, data.clone().into()).unwrap();
                        messages.push((kind, Bytes::from(data)));
                    }
                    Step::Ping(payload) => {
                        client.ping(payload.clone().into()).unwrap();
                        pings.push(Bytes::from(payload));
                    }
                }
            }
            let (mut heard, mut asked) = (Vec::new(), Vec::new());
            for event in carry(&mut client, &mut server, piece) {
                match event {
                    Event::Message { kind, data } => heard.push((kind, data)),
                    Event::Ping { payload } => asked.push(payload),
                    other => panic!("{other:?}"),
                }
            }
            prop_assert_eq!(heard, messages);
            prop_assert_eq!(&asked, &pings);
            let pongs: Vec<Event> = carry(&mut server, &mut client, piece);
            prop_assert_eq!(pongs, pings.into_iter().map(|payload| Event::Pong { payload }).collect::<Vec<_>>());
            std::mem::swap(&mut client, &mut server);
        }
    }

    #[test]
    fn any_bytes_in_any_pieces_are_taken_and_end_alike(
        agreed in agreed(),
        bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(),
            prop::sample::select(vec![0x00, 0x01, 0x02, 0x41, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8a, 0xc1, 0x83, 0xfe]),
        ], 0..200),
        piece in 1..50_usize,
        is_server in any::<bool>(),
    ) {
        let make = || match is_server {
            true => server_with(Settings::default(), &agreed),
            false => client_with(Settings::default(), &agreed),
        };
        let (mut whole, mut cut) = (make(), make());
        let mut expected = hear(&mut whole, &bytes);
        let mut events: Vec<Event> = bytes.chunks(piece).flat_map(|piece| hear(&mut cut, piece)).collect();
        for (connection, events) in [(&mut whole, &mut expected), (&mut cut, &mut events)] {
            connection.handle_eof(NOW);
            events.extend(hear(connection, b""));
            say(connection);
            prop_assert!(connection.wants_end());
            // Which of two broken rules is told may depend on the cut; that one is told may not.
            let is_over = matches!(events.pop(), Some(Event::Closed { .. }));
            prop_assert!(is_over, "{:?}", events);
        }
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn every_message_is_delivered_before_an_orderly_end(messages in proptest::collection::vec(kind_and_data(), 0..5)) {
        let (mut client, mut server) = (client(), server());
        for (kind, data) in &messages {
            client.send(*kind, data.clone().into()).unwrap();
        }
        client.close(CloseCode::NORMAL, "").unwrap();
        let events = carry(&mut client, &mut server, 1000);
        prop_assert_eq!(events.len(), messages.len() + 2);
        prop_assert_eq!(events.last(), Some(&Event::Closed { error: None }));
    }
}
