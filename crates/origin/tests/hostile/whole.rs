//! What is sent piece by piece comes whole, whatever the credit.

use super::alone;
use super::frames::{Frames, carried, streams, window_update};
use crate::bench::Bench;
use page::Synthetic;
use std::time::Duration;
use wire::h2::{Setting, SettingId};

#[test]
fn a_page_made_as_it_is_sent_is_the_page() {
    let _alone = alone();
    let target = "/page?images=20000&bytes=7&seed=9&image_delay_ms=3";
    let html = target.parse::<Synthetic>().unwrap().html();
    let mut bench = Bench::new();
    let socket = bench.connect(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    let heard = bench.hear(socket);
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.contains(&format!("content-length: {}\r\n", html.len())));
    assert!(heard.ends_with(&format!("\r\n\r\n{html}")));
}

#[test]
fn a_poll_made_as_it_is_sent_has_each_token_whole_and_no_more_than_it_may() {
    let _alone = alone();
    for (query, lines) in [
        ("count=1000&bytes=65536&every_ms=0&after=0&since=0", 4),
        ("count=1000&bytes=100&every_ms=0&after=9&since=0", 990),
        ("count=3&bytes=70&every_ms=0", 3),
    ] {
        let mut bench = Bench::new();
        let socket =
            bench.connect(format!("GET /poll?{query} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let heard = String::from_utf8(bench.hear(socket)).unwrap();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        let stream: page::SyntheticStream = query.parse().unwrap();
        let tokens: Vec<_> =
            body.lines().map(|line| (line, page::Token::parse(line).unwrap())).collect();
        assert_eq!(tokens.len(), lines, "{query}");
        for ((line, token), number) in tokens.iter().zip(tokens[0].1.number..) {
            assert_eq!((token.number, *line), (number, token.text(stream.bytes).as_str()));
        }
    }
}

#[test]
fn what_waited_for_credit_comes_whole_once_there_is_some() {
    let _alone = alone();
    let target = "/page?images=3000&seed=4";
    let html = target.parse::<Synthetic>().unwrap().html();
    let mut frames = Frames::with_window(0);
    frames.get(1, target, &[]);
    frames.get(3, "/stream?count=5&bytes=60000&every_ms=0", &[]);
    let head = [(":method", "POST"), (":scheme", "http"), (":path", "/echo"), (":authority", "a")];
    frames.head(5, false, &head);
    (0..10_000_u32).for_each(|index| frames.data(5, &[index as u8]));
    let mut bench = Bench::new();
    let socket = bench.connect(&frames.bytes);
    assert_eq!(carried(&bench.hear(socket), 1), b"");
    bench.say(socket, window_update(0, 1_000_000));
    let mut heard = Vec::new();
    for increment in [1, 1, 100, 5_000, 400_000] {
        for stream in [1, 3, 5] {
            bench.say(socket, window_update(stream, increment));
        }
        heard.extend(bench.hear(socket));
    }
    assert_eq!(carried(&heard, 1), html.as_bytes());
    assert!(carried(&heard, 3).len() > 5 * 60_000);
    let echoed: Vec<u8> = (0..10_000_u32).map(|index| index as u8).collect();
    assert_eq!(carried(&heard, 5), echoed);
}

#[test]
fn tokens_of_a_web_socket_come_whole_however_credit_comes() {
    let _alone = alone();
    // In pieces, by one byte first, before the tokens are due and after, and by SETTINGS.
    for increments in [&[1_u32, 400_000][..], &[700, 1, 1, 5_000, 100_000, 300_000], &[0, 500_000]]
    {
        let mut frames = Frames::with_window(0);
        frames.token_socket(1, "count=100&bytes=3000&every_ms=2");
        let mut bench = Bench::new();
        let socket = bench.connect(&frames.bytes);
        bench.say(socket, window_update(0, 1_000_000));
        let mut heard = bench.hear(socket);
        for &increment in increments {
            bench.wait(Duration::from_millis(3));
            match increment {
                0 => {
                    let mut bytes = Vec::new();
                    let (id, value) = (SettingId::INITIAL_WINDOW_SIZE, 5);
                    Setting::encode_all(&[Setting { id, value }], &mut bytes);
                    bench.say(socket, &bytes);
                }
                _ => bench.say(socket, window_update(1, increment)),
            }
            heard.extend(bench.hear(socket));
        }
        bench.wait(Duration::from_secs(1));
        heard.extend(bench.hear(socket));
        let body = carried(&heard, 1);
        // RFC 6455 §5.2: a text, and two bytes for its length.
        let frames: Vec<_> = body.chunks(4 + 3_000).collect();
        assert_eq!((body.len(), frames.len()), (100 * 3_004, 100), "{increments:?}");
        for (number, frame) in frames.into_iter().enumerate() {
            assert!(frame.starts_with(b"\x81\x7e\x0b\xb8"));
            let token = page::Token::parse(std::str::from_utf8(&frame[4..]).unwrap()).unwrap();
            assert_eq!(token.number as usize, number);
        }
    }
}

#[test]
fn a_target_longer_than_8_kib_is_refused() {
    let _alone = alone();
    let mut bench = Bench::new();
    let path = "x".repeat(7_900);
    let said = |path: &str| format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    let socket = bench.connect(said(&path));
    assert!(bench.hear(socket).starts_with(b"HTTP/1.1 404 "));
    let mut frames = Frames::with_window(65_535);
    frames.get(1, &format!("/{}", "x".repeat(8_200)), &[]);
    let socket = bench.connect(&frames.bytes);
    let heard = bench.hear(socket);
    assert_eq!(carried(&heard, 1), b"This target is too long.\n");
}

#[test]
fn pipelined_streams_are_sent_whole_each_in_its_turn() {
    let _alone = alone();
    let mut bench = Bench::new();
    let stream = "/stream?count=20&bytes=60000&every_ms=0&format=text";
    let said: String =
        (0..30).map(|_| format!("GET {stream} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let socket = bench.connect(said.as_bytes());
    let mut heard = &bench.hear(socket)[..];
    // Between heads, chunks (RFC 9112 §7.1).
    let mut text = Vec::new();
    while let Some(end) = heard.windows(2).position(|pair| pair == b"\r\n") {
        let line = std::str::from_utf8(&heard[..end]).unwrap();
        heard = &heard[end + 2..];
        if let Ok(length @ 1..) = usize::from_str_radix(line, 16) {
            text.extend_from_slice(&heard[..length]);
            heard = &heard[length + 2..];
        }
    }
    let text = String::from_utf8(text).unwrap();
    let whole = text.lines().filter(|line| line.starts_with("0 ") && line.len() == 60_000);
    assert_eq!(whole.count(), 30 * 20, "sent in pieces, and after those before them");
}

#[test]
fn many_bodies_of_one_connection_come_whole_where_the_peer_reads() {
    let _alone = alone();
    let page = "/page?images=3000&seed=4";
    let html = page.parse::<Synthetic>().unwrap().html();
    let mut frames = Frames::with_window(0x7fff_ffff);
    frames.bytes.extend(window_update(0, 0x7fff_0000));
    for id in streams(30) {
        let stream = "/stream?count=20&bytes=60000&every_ms=0&format=text";
        frames.get(id, if id % 4 == 1 { page } else { stream }, &[]);
    }
    let mut bench = Bench::new();
    let socket = bench.connect(&frames.bytes);
    let heard = bench.hear(socket);
    for id in streams(30) {
        let body = carried(&heard, id);
        if id % 4 == 1 {
            assert!(body == html.as_bytes(), "{} bytes of {id}", body.len());
        } else {
            let text = String::from_utf8(body).unwrap();
            let whole = text.lines().filter(|line| line.len() == 60_000).count();
            assert_eq!((whole, text.lines().count()), (20, 20), "tokens of {id}");
        }
    }
}

#[test]
fn answers_due_at_once_are_reset_where_the_peer_takes_no_head() {
    let _alone = alone();
    let mut bench = Bench::new();
    let mut frames = Frames::with_setting(SettingId::MAX_HEADER_LIST_SIZE, 10);
    streams(3).for_each(|id| frames.get(id, "/image/1?bytes=1&delay_ms=300", &[]));
    let socket = bench.connect(&frames.bytes);
    bench.hear(socket);
    bench.wait(Duration::from_millis(300));
    let heard = bench.hear(socket);
    // RST_STREAM (RFC 9113 §6.4).
    let resets = heard.windows(9).filter(|head| head[..5] == [0, 0, 4, 3, 0]).count();
    assert_eq!((resets, bench.connections()), (3, 1));
}
