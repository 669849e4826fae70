//! The server's side.

use super::*;
use crate::{ConnectionState, Misuse, ServerConnection};
use bytes::Bytes;

const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

fn default() -> Server {
    server(ServerSettings::default())
}

/// A server that has received `bytes`.
fn after(bytes: &[u8]) -> Server {
    let mut server = default();
    hear(&mut server, &[bytes]);
    server
}

#[test]
fn a_request_is_heard_and_its_answer_framed_by_chunks() {
    let mut server = default();
    let told = hear(&mut server, &[GET]);
    let head = RequestHead::get(crate::Scheme::Http, "h", "/a");
    assert_eq!(told, [Told::Request(0, head, Fin::Last)]);
    server.respond(StreamId(0), &ok(), Fin::More).unwrap();
    server.send(StreamId(0), Bytes::from_static(b"hello"), Fin::More).unwrap();
    server.send_trailers(StreamId(0), &Fields::new().with("digest", "x")).unwrap();
    assert_eq!(
        say(&mut server),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ndigest: x\r\n\r\n"
    );
    assert_eq!(server.state(), ConnectionState::Open);
}

#[test]
fn answers_go_out_in_the_order_of_the_requests() {
    let mut server = after(&GET.repeat(3));
    for stream in [2, 0, 1] {
        server.respond(StreamId(stream), &status(200 + stream as u16), Fin::Last).unwrap();
    }
    let said = say(&mut server);
    let codes: Vec<_> = said.matches("HTTP/1.1 20").zip(said.split("HTTP/1.1 ").skip(1)).collect();
    let codes: Vec<_> = codes.iter().map(|(_, rest)| &rest[..3]).collect();
    assert_eq!(codes, ["200", "201", "202"]);
}

#[test]
fn reading_ahead_is_bounded_and_goes_on_from_the_backlog() {
    let mut server = server(ServerSettings { max_pipelined: 2, ..ServerSettings::default() });
    let post = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    let told = hear(&mut server, &[&[GET, GET, post, GET].concat()]);
    assert_eq!(told.len(), 2);
    assert!(!server.wants_read());
    assert!(server.take_backlog().is_empty(), "the window is still full");
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    say(&mut server);
    let backlog = server.take_backlog();
    let told = hear(&mut server, &[&backlog]);
    assert!(matches!(told[0], Told::Request(2, _, Fin::More)));
    assert_eq!(told[1], Told::Data(2, b"abc".to_vec(), Fin::Last));
    server.respond(StreamId(1), &ok(), Fin::Last).unwrap();
    server.respond(StreamId(2), &ok(), Fin::Last).unwrap();
    say(&mut server);
    let backlog = server.take_backlog();
    assert!(matches!(hear(&mut server, &[&backlog])[..], [Told::Request(3, _, Fin::Last)]));
    assert!(server.wants_read());
}

#[test]
fn requests_behind_a_long_answer_wait_unread() {
    let long = ResponseHead { fields: Fields::new().with("content-length", "50000"), ..ok() };
    for (given, fin) in [(0, Fin::More), (10, Fin::More), (50_000, Fin::Last)] {
        let mut server = default();
        assert_eq!(hear(&mut server, &[GET]).len(), 1);
        server.respond(StreamId(0), &long, Fin::More).unwrap();
        server.send(StreamId(0), vec![b'x'; given].into(), fin).unwrap();
        assert!(server.wants_read(), "nothing waits yet");
        assert_eq!(hear(&mut server, &[&GET.repeat(3)]), []);
        assert!(!server.wants_read() && server.take_backlog().is_empty(), "{given} bytes");
        if fin == Fin::More {
            server.send(StreamId(0), vec![b'x'; 50_000 - given].into(), Fin::Last).unwrap();
        }
        say(&mut server);
        let backlog = server.take_backlog();
        assert_eq!(hear(&mut server, &[&backlog]).len(), 3, "{given} bytes");
        assert!(server.wants_read());
    }
}

#[test]
fn requests_behind_short_answers_are_read_ahead() {
    let mut server = default();
    assert_eq!(hear(&mut server, &[GET]).len(), 1);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert_eq!(hear(&mut server, &[&GET.repeat(3)]).len(), 3);
}

#[test]
fn a_backlog_beyond_its_bound_ends_the_connection() {
    let settings = ServerSettings { max_pipelined: 1, max_backlog: 100, ..Default::default() };
    let mut server = server(settings);
    hear(&mut server, &[&GET.repeat(10)]);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    let said = say(&mut server);
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("HTTP/1.1 503"), "{said}");
}

#[test]
fn a_close_asked_for_is_confirmed_and_done() {
    let mut server = after(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_eq!(server.state(), ConnectionState::Draining);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    let said = say(&mut server);
    assert_eq!(said, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
    assert_eq!(server.state(), ConnectionState::Closed);
}

#[test]
fn keep_alive_off_closes_after_one_answer() {
    let mut server = server(ServerSettings { keep_alive: KeepAlive::Off, ..Default::default() });
    hear(&mut server, &[GET]);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert!(say(&mut server).contains("connection: close"));
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
}

#[test]
fn an_old_client_gets_a_body_that_ends_with_the_connection() {
    let mut server = after(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    server.respond(StreamId(0), &ok(), Fin::More).unwrap();
    server.send(StreamId(0), Bytes::from_static(b"hello"), Fin::Last).unwrap();
    assert_eq!(say(&mut server), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello");
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
}

#[test]
fn an_old_client_that_asks_keeps_its_connection() {
    let mut server = after(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert!(say(&mut server).contains("connection: keep-alive"));
    assert_eq!(server.state(), ConnectionState::Open);
}

#[test]
fn head_gets_the_head_of_the_answer_alone() {
    let request = b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut server = after(&request.repeat(2));
    let head = ResponseHead { fields: Fields::new().with("content-length", "5"), ..ok() };
    server.respond(StreamId(0), &head, Fin::Last).unwrap();
    server.respond(StreamId(1), &ok(), Fin::More).unwrap();
    server.send(StreamId(1), Bytes::from_static(b"hello"), Fin::Last).unwrap();
    assert_eq!(
        say(&mut server),
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\
         HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    );
}

#[test]
fn a_status_without_a_body_has_none() {
    let mut server = after(&GET.repeat(2));
    assert!(matches!(
        server.respond(StreamId(0), &status(304), Fin::More),
        Err(Misuse::Unsendable(_))
    ));
    let length = Fields::new().with("Content-Length", "9");
    for (stream, code) in [(0, 304), (1, 204)] {
        let head = ResponseHead { fields: length.clone(), ..status(code) };
        server.respond(StreamId(stream), &head, Fin::Last).unwrap();
    }
    assert_eq!(
        say(&mut server),
        "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
    );
}

#[test]
fn a_promised_length_is_kept() {
    let mut server = after(GET);
    let stream = StreamId(0);
    let head = ResponseHead { fields: Fields::new().with("content-length", "5"), ..ok() };
    assert!(server.respond(stream, &head, Fin::Last).is_err());
    server.respond(stream, &head, Fin::More).unwrap();
    assert!(server.send(stream, Bytes::from_static(b"hello!"), Fin::More).is_err());
    assert!(server.send(stream, Bytes::from_static(b"hell"), Fin::Last).is_err());
    server.send(stream, Bytes::from_static(b"hello"), Fin::Last).unwrap();
    assert_eq!(say(&mut server), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    assert_eq!(server.send(stream, Bytes::new(), Fin::Last), Err(Misuse::UnknownStream));
}

#[test]
fn a_head_cannot_be_split_by_its_values() {
    let mut server = after(GET);
    let head = ResponseHead { fields: Fields::new().with("a", "b\r\nc: d"), ..ok() };
    assert!(matches!(server.respond(StreamId(0), &head, Fin::Last), Err(Misuse::Unsendable(_))));
    assert_eq!(say(&mut server), "");
}

const EXPECTS: &[u8] =
    b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";

#[test]
fn a_hundred_is_said_when_nothing_else_was() {
    let mut server = after(EXPECTS);
    assert_eq!(say(&mut server), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(hear(&mut server, &[b"ab"]), [Told::Data(0, b"ab".to_vec(), Fin::Last)]);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert!(say(&mut server).ends_with("content-length: 0\r\n\r\n"));
    assert_eq!(server.state(), ConnectionState::Open);
}

#[test]
fn an_answer_instead_of_a_hundred_closes() {
    let mut server = after(EXPECTS);
    server.respond(StreamId(0), &status(413), Fin::Last).unwrap();
    assert!(say(&mut server).contains("connection: close"));
    assert!(server.wants_shutdown());
    assert_eq!(hear(&mut server, &[b"ab"]), []);
    server.handle_eof(NOW);
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
}

#[test]
fn the_application_may_say_a_hundred_itself() {
    let mut server = server(ServerSettings { expect: Expect::Application, ..Default::default() });
    hear(&mut server, &[EXPECTS]);
    assert_eq!(say(&mut server), "");
    server.inform(StreamId(0), &status(100)).unwrap();
    assert_eq!(say(&mut server), "HTTP/1.1 100 Continue\r\n\r\n");
    server.inform(StreamId(0), &status(103)).unwrap();
    assert_eq!(say(&mut server), "HTTP/1.1 103 Early Hints\r\n\r\n");
}

#[test]
fn a_body_that_nobody_wants_is_passed_over() {
    let mut server = default();
    let post = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345";
    hear(&mut server, &[post]);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    say(&mut server);
    let told = hear(&mut server, &[&[b"67890", GET].concat()]);
    assert!(matches!(told[..], [Told::Request(1, _, Fin::Last)]), "{told:?}");
}

#[test]
fn too_long_a_body_that_nobody_wants_closes() {
    let mut server = server(ServerSettings { max_discard: 100, ..Default::default() });
    hear(&mut server, &[b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n"]);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    say(&mut server);
    hear(&mut server, &[&[0; 100]]);
    assert!(server.wants_shutdown());
    assert_eq!(hear(&mut server, &[&[0; 101]]), [Told::Closed(None)]);
}

#[test]
fn a_bad_request_is_answered_after_the_good_ones_before_it() {
    let mut server = default();
    let told = hear(&mut server, &[GET, b"GET / HTTP/1.1\r\n\r\n", GET]);
    assert_eq!(told.len(), 1, "nothing is taken after a bad request");
    assert_eq!(say(&mut server), "");
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    let said = say(&mut server);
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    assert!(
        said.ends_with(
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    );
    server.handle_eof(NOW);
    let told = hear(&mut server, &[b""]);
    assert!(matches!(&told[..], [Told::Closed(Some(error))] if code(error) == 400), "{told:?}");
}

#[test]
fn a_bad_chunk_resets_the_request_and_is_answered() {
    let mut server = default();
    let told = hear(
        &mut server,
        &[b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n"],
    );
    assert!(matches!(&told[1], Told::Reset(0, error) if code(error) == 400), "{told:?}");
    assert!(say(&mut server).starts_with("HTTP/1.1 400 "));
    assert_eq!(server.respond(StreamId(0), &ok(), Fin::Last), Err(Misuse::UnknownStream));
}

#[test]
fn limits_have_statuses_of_their_own() {
    for (bytes, status) in [
        (format!("GET /{} HTTP/1.1\r\n", "a".repeat(9000)), "414"),
        (format!("GET / HTTP/1.1\r\nHost: h\r\na: {}\r\n", "b".repeat(9000)), "431"),
        (format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "a: b\r\n".repeat(101)), "431"),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n".to_owned(), "505"),
        ("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".to_owned(), "501"),
    ] {
        let mut server = after(bytes.as_bytes());
        let said = say(&mut server);
        assert_eq!(&said[9..12], status, "{bytes:.40}");
    }
}

#[test]
fn an_upgrade_waits_for_the_answer_and_then_is_a_tunnel() {
    let upgrade = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n\x01\x02";
    let mut server = default();
    let told = hear(&mut server, &[upgrade]);
    assert!(matches!(&told[..], [Told::Request(0, head, Fin::Last)]
        if head.fields.find(b"upgrade") == Some(b"x")));
    assert!(!server.wants_read());
    let head = ResponseHead { fields: Fields::new().with("upgrade", "x"), ..status(101) };
    server.respond(StreamId(0), &head, Fin::More).unwrap();
    let backlog = server.take_backlog();
    assert_eq!(hear(&mut server, &[&backlog]), [Told::Data(0, vec![1, 2], Fin::More)]);
    server.send(StreamId(0), Bytes::from_static(b"\x03"), Fin::More).unwrap();
    assert!(say(&mut server).ends_with("upgrade: x\r\nconnection: upgrade\r\n\r\n\x03"));
    server.handle_eof(NOW);
    let told = hear(&mut server, &[b""]);
    assert!(told.contains(&Told::Data(0, vec![], Fin::Last)), "{told:?}");
}

#[test]
fn an_upgrade_declined_goes_on_as_http() {
    let upgrade = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
    let mut server = default();
    assert_eq!(hear(&mut server, &[&[&upgrade[..], GET].concat()]).len(), 1);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    let backlog = server.take_backlog();
    assert!(matches!(hear(&mut server, &[&backlog])[..], [Told::Request(1, _, Fin::Last)]));
    assert!(matches!(
        server.respond(StreamId(1), &status(101), Fin::More),
        Err(Misuse::Unsendable(_))
    ));
}

#[test]
fn an_upgrade_is_ignored_in_an_old_request_and_with_a_body() {
    let fields = "Connection: upgrade\r\nUpgrade: x\r\nAccept: b\r\n";
    for (request, body) in [
        (format!("GET / HTTP/1.0\r\n{fields}\r\n"), false),
        (format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: 2\r\n\r\nab"), true),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: h\r\n{fields}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
            ),
            true,
        ),
    ] {
        let mut server = default();
        let told = hear(&mut server, &[request.as_bytes()]);
        assert!(
            matches!(&told[0], Told::Request(0, head, _)
            if head.fields.find(b"upgrade").is_none() && head.fields.find(b"accept").is_some()),
            "{told:?}"
        );
        assert_eq!(told.len() > 1, body, "{told:?}");
        assert!(matches!(
            server.respond(StreamId(0), &status(101), Fin::More),
            Err(Misuse::Unsendable(_))
        ));
        server.respond(StreamId(0), &status(426), Fin::Last).unwrap();
        assert!(say(&mut server).starts_with("HTTP/1.1 426 "));
    }
}

fn seconds(seconds: u64) -> Instant {
    NOW + Duration::from_secs(seconds)
}

#[test]
fn an_idle_connection_ends_without_a_word() {
    let mut server = default();
    assert_eq!(server.poll_timeout(), Some(seconds(75)));
    server.handle_timeout(seconds(75));
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
    assert_eq!(server.poll_timeout(), None);
}

#[test]
fn a_slow_head_is_a_408_however_busily_it_drips() {
    let mut server = default();
    hear_at(&mut server, seconds(5), &[&GET[..1]]);
    hear_at(&mut server, seconds(30), &[&GET[1..2]]);
    assert_eq!(server.poll_timeout(), Some(seconds(35)));
    server.handle_timeout(seconds(35));
    assert!(say(&mut server).starts_with("HTTP/1.1 408 "));
    assert_eq!(server.poll_timeout(), Some(NOW + Duration::from_secs(2)), "say spoke at {NOW:?}");
    server.handle_timeout(seconds(37));
    let told = hear(&mut server, &[b""]);
    assert!(matches!(&told[..], [Told::Closed(Some(Error::TimedOut { .. }))]), "{told:?}");
}

#[test]
fn a_head_that_the_server_itself_does_not_read_is_not_late() {
    let mut server = after(GET);
    hear_at(&mut server, seconds(5), &[&GET[..9]]);
    assert_eq!(server.poll_timeout(), Some(seconds(35)));
    let long = ResponseHead { fields: Fields::new().with("content-length", "50000"), ..ok() };
    server.respond(StreamId(0), &long, Fin::More).unwrap();
    // Nothing has asked for bytes since.
    server.handle_timeout(seconds(35));
    assert_eq!(hear_at(&mut server, seconds(36), &[&GET[9..]]), []);
    assert_eq!(server.poll_timeout(), None);
    server.send(StreamId(0), vec![b'x'; 50_000].into(), Fin::Last).unwrap();
    assert!(say(&mut server).starts_with("HTTP/1.1 200 "));
    assert_eq!(server.poll_timeout(), Some(seconds(30)), "anew: say spoke at {NOW:?}");
    let backlog = server.take_backlog();
    assert!(matches!(hear(&mut server, &[&backlog])[..], [Told::Request(1, _, Fin::Last)]));
}

#[test]
fn a_body_may_take_its_time_but_must_not_stall() {
    let mut server = default();
    hear(&mut server, &[b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n"]);
    assert_eq!(server.poll_timeout(), Some(seconds(60)));
    hear_at(&mut server, seconds(50), &[b"1"]);
    assert_eq!(server.poll_timeout(), Some(seconds(110)));
    server.handle_timeout(seconds(110));
    let told = hear(&mut server, &[b""]);
    assert!(matches!(&told[..], [Told::Reset(0, Error::TimedOut { .. })]), "{told:?}");
    assert!(say(&mut server).starts_with("HTTP/1.1 408 "));
}

#[test]
fn no_time_runs_while_the_application_thinks() {
    assert_eq!(after(GET).poll_timeout(), None);
}

#[test]
fn an_unconsumed_body_stops_the_reading_and_the_clock() {
    let mut server = server(ServerSettings { body_window: 4, ..Default::default() });
    let mut input = &b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345"[..];
    while server.handle_bytes(NOW, &mut input).is_some() {}
    assert!(!server.wants_read());
    assert_eq!(server.poll_timeout(), None);
    server.consume(StreamId(0), 5);
    assert!(server.wants_read());
}

#[test]
fn shutdown_finishes_what_is_open() {
    let mut server = after(GET);
    server.shutdown(NOW);
    assert_eq!(server.state(), ConnectionState::Draining);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert!(say(&mut server).contains("connection: close"));
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
    let mut idle = default();
    idle.shutdown(NOW);
    assert_eq!(hear(&mut idle, &[b""]), [Told::Closed(None)]);
}

#[test]
fn a_client_that_ended_its_side_still_gets_its_answer() {
    let mut server = after(GET);
    server.handle_eof(NOW);
    assert_eq!(hear(&mut server, &[b""]), []);
    server.respond(StreamId(0), &ok(), Fin::Last).unwrap();
    assert!(say(&mut server).starts_with("HTTP/1.1 200"));
    assert_eq!(hear(&mut server, &[b""]), [Told::Closed(None)]);
}

#[test]
fn a_request_cut_off_is_an_error() {
    for (bytes, within) in [
        (&GET[..9], "a request head"),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n1", "a request body"),
    ] {
        let mut server = after(bytes);
        server.handle_eof(NOW);
        let closed = Told::Closed(Some(Error::Truncated { within }));
        assert_eq!(hear(&mut server, &[b""]), [closed]);
    }
}

#[test]
fn more_is_asked_for_when_the_queue_runs_low() {
    let mut server = after(GET);
    server.respond(StreamId(0), &ok(), Fin::More).unwrap();
    server.send(StreamId(0), Bytes::from(vec![0; 200_000]), Fin::More).unwrap();
    let mut out = SendBuf::new();
    server.poll_transmit(NOW, &mut out, 100_000);
    assert_eq!(hear(&mut server, &[b""]), []);
    server.poll_transmit(NOW, &mut out, 90_000);
    assert_eq!(hear(&mut server, &[b""]), [Told::Writable(0)]);
    assert_eq!(out.len(), 190_000);
    assert!(server.unsent(StreamId(0)) > 10_000);
}

#[test]
fn an_application_that_sends_a_body_to_head_is_asked_on() {
    let mut server = after(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    server.respond(StreamId(0), &ok(), Fin::More).unwrap();
    say(&mut server);
    server.send(StreamId(0), Bytes::from_static(b"abc"), Fin::More).unwrap();
    assert!(server.wants_transmit());
    assert_eq!(say(&mut server), "");
    assert_eq!(hear(&mut server, &[b""]), [Told::Writable(0)]);
}

#[test]
fn an_answer_given_ahead_of_its_turn_waits_and_is_asked_on_in_its_turn() {
    let mut server = after(&GET.repeat(2));
    let later = StreamId(1);
    server.respond(later, &ok(), Fin::More).unwrap();
    server.send(later, Bytes::from(vec![b'x'; 100_000]), Fin::More).unwrap();
    assert!(!server.wants_transmit());
    server.respond(StreamId(0), &status(204), Fin::Last).unwrap();
    let said = say(&mut server);
    assert!(said.starts_with("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n"), "{said:.80}");
    assert_eq!(hear(&mut server, &[b""]), [Told::Writable(1)]);
    server.send(later, Bytes::new(), Fin::Last).unwrap();
    assert!(say(&mut server).ends_with("0\r\n\r\n"));
}

#[test]
fn a_client_that_waits_for_its_hundred_is_not_late() {
    let mut server = server(ServerSettings { expect: Expect::Application, ..Default::default() });
    hear(&mut server, &[EXPECTS]);
    assert_eq!(server.poll_timeout(), None);
    server.inform(StreamId(0), &status(100)).unwrap();
    say(&mut server);
    assert_eq!(server.poll_timeout(), Some(seconds(60)));
}

#[test]
fn what_happens_is_traced_as_heads_and_data() {
    #[derive(Default)]
    struct Kept(std::cell::RefCell<Vec<String>>);
    impl trace::Sink for Kept {
        fn record(&self, _at: Instant, connection: u64, event: &trace::Event<'_>) {
            self.0.borrow_mut().push(format!("{connection} {event:?}"));
        }
    }
    let kept = std::rc::Rc::new(Kept::default());
    let tracer = Tracer::to(kept.clone()).for_connection(7);
    let mut server = Server::new(NOW, ServerSettings::default(), tracer);
    hear(&mut server, &[b"PUT / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab"]);
    server.respond(StreamId(0), &ok(), Fin::More).unwrap();
    server.send(StreamId(0), Bytes::from_static(b"abc"), Fin::Last).unwrap();
    say(&mut server);
    hear(&mut server, &[b""]);
    assert_eq!(
        *kept.0.borrow(),
        [
            "7 ConnectionReady { protocol: \"http/1.1\" }",
            "7 FrameParsed { stream: 0, frame: \"HEADERS\", length: 37 }",
            "7 FrameParsed { stream: 0, frame: \"DATA\", length: 2 }",
            "7 FrameCreated { stream: 0, frame: \"HEADERS\", length: 38 }",
            "7 FrameCreated { stream: 0, frame: \"DATA\", length: 3 }",
            "7 ConnectionClosed { reason: \"\" }",
        ]
    );
}
