//! The client's side.

use super::*;
use crate::{ClientConnection, ConnectionState, CountOnly, Method, Refused, Repeated, Scheme};
use bytes::Bytes;

fn get() -> RequestHead {
    RequestHead::get(Scheme::Http, "h:8080", "/a")
}

/// A client that has asked for `head`.
fn asking(head: &RequestHead) -> Client {
    let mut client = client(ClientSettings::default());
    client.request(NOW, head, Fin::Last).unwrap();
    say(&mut client);
    client
}

fn post(fields: Fields) -> RequestHead {
    RequestHead { method: Method::Post, fields, ..get() }
}

#[test]
fn host_is_written_first() {
    let mut client = client(ClientSettings::default());
    let head = RequestHead { fields: Fields::new().with("accept", "*/*"), ..get() };
    assert_eq!(client.available_streams(), 1);
    assert_eq!(client.request(NOW, &head, Fin::Last), Ok(StreamId(0)));
    assert_eq!(
        (client.available_streams(), client.request(NOW, &head, Fin::Last)),
        (0, Err(Refused::Full))
    );
    assert_eq!(say(&mut client), "GET /a HTTP/1.1\r\nHost: h:8080\r\naccept: */*\r\n\r\n");
}

#[test]
fn a_response_is_heard_and_the_next_request_may_follow() {
    let mut client = asking(&get());
    let told = hear(&mut client, &[b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", b"llo"]);
    let head = ResponseHead { fields: Fields::new().with("Content-Length", "5"), ..ok() };
    assert_eq!(
        told,
        [Told::Response(0, head, Fin::More), Told::Data(0, b"hello".to_vec(), Fin::Last)]
    );
    assert_eq!(client.request(NOW, &get(), Fin::Last), Ok(StreamId(1)));
}

#[test]
fn chunks_end_with_trailers() {
    let mut client = asking(&get());
    let told = hear(
        &mut client,
        &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n"],
    );
    assert_eq!(told[1], Told::Data(0, b"abc".to_vec(), Fin::More));
    assert_eq!(told[2], Told::Trailers(0, Fields::new().with("x", "y")));
    assert_eq!(client.available_streams(), 1);
}

#[test]
fn a_body_without_a_length_ends_with_the_connection() {
    let mut client = asking(&get());
    assert_eq!(hear(&mut client, &[b"HTTP/1.0 200 OK\r\n\r\nabc"]).len(), 2);
    assert_eq!(client.state(), ConnectionState::Draining);
    client.handle_eof(NOW);
    assert_eq!(hear(&mut client, &[b""]), [Told::Data(0, vec![], Fin::Last), Told::Closed(None)]);
}

#[test]
fn a_response_that_has_no_body_is_whole_with_its_head() {
    for (head, response) in [
        (RequestHead { method: Method::Head, ..get() }, "200 OK\r\nContent-Length: 5"),
        (get(), "304 Not Modified\r\nTransfer-Encoding: chunked"),
        (get(), "204 No Content\r\nContent-Length: 5"),
    ] {
        let mut client = asking(&head);
        let told = hear(&mut client, &[format!("HTTP/1.1 {response}\r\n\r\n").as_bytes()]);
        assert!(matches!(told[..], [Told::Response(0, _, Fin::Last)]), "{told:?}");
        assert_eq!(client.available_streams(), 1);
    }
}

#[test]
fn a_truncated_response_is_an_error() {
    for (bytes, within) in [
        ("", "the wait for a response"),
        ("HTTP/1.1 2", "a response head"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "a response body"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "a response body"),
    ] {
        let mut client = asking(&get());
        hear(&mut client, &[bytes.as_bytes()]);
        client.handle_eof(NOW);
        let closed = Told::Closed(Some(Error::Truncated { within }));
        assert_eq!(hear(&mut client, &[b""]), [closed], "{bytes}");
    }
}

#[test]
fn a_request_that_never_left_may_be_retried() {
    let mut client = client(ClientSettings::default());
    client.request(NOW, &get(), Fin::Last).unwrap();
    client.handle_eof(NOW);
    assert_eq!(hear(&mut client, &[b""]), [Told::Closed(Some(Error::Unprocessed))]);
}

#[test]
fn an_idle_connection_that_ends_is_no_error() {
    let mut client = client(ClientSettings::default());
    client.handle_eof(NOW);
    assert_eq!(client.request(NOW, &get(), Fin::Last), Err(Refused::Draining));
    assert_eq!(hear(&mut client, &[b""]), [Told::Closed(None)]);
}

#[test]
fn bytes_that_nobody_asked_for_end_the_connection() {
    let mut idle = client(ClientSettings::default());
    let told = hear(&mut idle, &[b"HTTP/1.1 200 OK\r\n\r\n"]);
    assert!(matches!(&told[..], [Told::Closed(Some(error))] if code(error) == 502), "{told:?}");
    let mut client = asking(&get());
    let told = hear(&mut client, &[b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"]);
    assert!(matches!(&told[..], [_, Told::Data(..), Told::Closed(Some(_))]), "{told:?}");
}

#[test]
fn responses_that_could_be_read_in_two_ways_are_refused() {
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: five",
        "Transfer-Encoding: gzip",
        "A : b",
        "A: b\u{0}",
    ] {
        let mut client = asking(&get());
        let told = hear(&mut client, &[format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes()]);
        assert!(matches!(&told[..], [Told::Closed(Some(Error::PeerViolation { .. }))]), "{fields}");
    }
}

#[test]
fn informational_responses_come_before_the_final_one() {
    let mut client = asking(&get());
    let told = hear(
        &mut client,
        &[b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
    );
    assert!(matches!(&told[0], Told::Informational(0, head) if head.status.code() == 103));
    assert!(matches!(told[1], Told::Response(0, _, Fin::Last)));
}

#[test]
fn informational_responses_are_bounded() {
    let mut client = asking(&get());
    let told = hear(&mut client, &[&b"HTTP/1.1 102 x\r\n\r\n".repeat(33)]);
    assert_eq!(told.len(), 33);
    assert!(matches!(told[32], Told::Closed(Some(_))));
}

#[test]
fn switching_protocols_is_for_who_asked() {
    let bytes =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\x01";
    let told = hear(&mut asking(&get()), &[bytes]);
    assert!(matches!(told[..], [Told::Closed(Some(_))]), "{told:?}");
    let mut client = client(ClientSettings::default());
    let head = RequestHead { fields: Fields::new().with("upgrade", "x"), ..get() };
    client.request(NOW, &head, Fin::Last).unwrap();
    assert!(say(&mut client).contains("upgrade: x\r\nconnection: upgrade\r\n"));
    let told = hear(&mut client, &[bytes]);
    assert_eq!(told[1], Told::Data(0, vec![1], Fin::More));
    client.send(StreamId(0), Bytes::from_static(b"raw"), Fin::More).unwrap();
    assert_eq!(say(&mut client), "raw");
}

#[test]
fn a_body_is_chunked_or_as_long_as_promised() {
    let mut client = client(ClientSettings::default());
    client.request(NOW, &post(Fields::new()), Fin::More).unwrap();
    client.send(StreamId(0), Bytes::from_static(b"abc"), Fin::Last).unwrap();
    assert!(say(&mut client).ends_with("transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
    hear(&mut client, &[b"HTTP/1.1 204 x\r\n\r\n"]);
    client.request(NOW, &post(Fields::new().with("content-length", "3")), Fin::More).unwrap();
    client.send(StreamId(1), Bytes::from_static(b"abc"), Fin::Last).unwrap();
    assert!(say(&mut client).ends_with("content-length: 3\r\n\r\nabc"));
    hear(&mut client, &[b"HTTP/1.1 204 x\r\n\r\n"]);
    client.request(NOW, &post(Fields::new()), Fin::Last).unwrap();
    assert!(say(&mut client).ends_with("content-length: 0\r\n\r\n"));
}

fn expecting() -> Client {
    let mut client = client(ClientSettings::default());
    let fields = Fields::new().with("expect", "100-continue").with("content-length", "3");
    client.request(NOW, &post(fields), Fin::More).unwrap();
    client.send(StreamId(0), Bytes::from_static(b"abc"), Fin::Last).unwrap();
    assert!(say(&mut client).ends_with("\r\n\r\n"), "the body is held back");
    client
}

#[test]
fn a_body_waits_for_a_hundred() {
    let mut client = expecting();
    hear(&mut client, &[b"HTTP/1.1 100 Continue\r\n\r\n"]);
    assert_eq!(say(&mut client), "abc");
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn a_body_waits_no_longer_than_a_second() {
    let mut client = expecting();
    let deadline = NOW + Duration::from_secs(1);
    assert_eq!(client.poll_timeout(), Some(deadline));
    client.handle_timeout(deadline);
    assert_eq!(say(&mut client), "abc");
}

#[test]
fn a_body_that_was_refused_is_not_sent() {
    let mut client = expecting();
    let told = hear(&mut client, &[b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"]);
    assert!(matches!(told[..], [Told::Response(0, _, Fin::Last), Told::Closed(None)]), "{told:?}");
    assert_eq!(say(&mut client), "");
}

#[test]
fn what_is_sent_after_a_refusal_goes_nowhere() {
    let mut client = client(ClientSettings::default());
    client.request(NOW, &post(Fields::new()), Fin::More).unwrap();
    client.send(StreamId(0), Bytes::from_static(b"abc"), Fin::More).unwrap();
    say(&mut client);
    hear(&mut client, &[b"HTTP/1.1 413 No\r\nContent-Length: 1\r\n\r\n"]);
    assert_eq!(client.send(StreamId(0), Bytes::from_static(b"def"), Fin::Last), Ok(()));
    assert_eq!(say(&mut client), "");
    let told = hear(&mut client, &[b"x"]);
    assert!(matches!(told[..], [Told::Data(..), Told::Closed(None)]), "{told:?}");
}

#[test]
fn keep_alive_off_asks_for_a_close_and_does_it() {
    let settings = ClientSettings { keep_alive: KeepAlive::Off, ..Default::default() };
    let mut client = client(settings);
    client.request(NOW, &get(), Fin::Last).unwrap();
    assert!(say(&mut client).ends_with("connection: close\r\n\r\n"));
    let told = hear(&mut client, &[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(told[1], Told::Closed(None));
}

#[test]
fn a_target_cannot_smuggle_a_line() {
    let mut client = client(ClientSettings::default());
    for path in ["", "a", "/a b", "/a\r\nx: y", "/a#b", "*"] {
        let head = RequestHead::get(Scheme::Http, "h", path);
        let refused = client.request(NOW, &head, Fin::Last);
        assert!(matches!(refused, Err(Refused::Unsendable(_))), "{path:?}");
    }
    let head = RequestHead { authority: "h\r\nx: y".to_owned(), ..get() };
    assert!(client.request(NOW, &head, Fin::Last).is_err());
}

/// A head that comes again byte for byte is not read again, one that differs is, wherever it is cut.
#[test]
fn a_head_that_is_known_is_heard_as_one_that_is_read() {
    let mut client = client(ClientSettings::default());
    let mut head = get();
    head.fields.validate();
    for round in 0..60_usize {
        let stream = client.request(NOW, &head, Fin::Last).unwrap();
        assert_eq!(say(&mut client), "GET /a HTTP/1.1\r\nHost: h:8080\r\n\r\n");
        let (date, length) = (round / 7 % 10, if round % 5 == 4 { 3 } else { 2 });
        let text = format!("HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: {length}\r\n\r\n");
        let body = &b"abc"[..length];
        let bytes = [text.as_bytes(), body].concat();
        let (first, second) = bytes.split_at(round * 2 % bytes.len());
        let told = hear(&mut client, &[first, second]);
        let fields =
            Fields::new().with("Date", date.to_string()).with("Content-Length", length.to_string());
        assert_eq!(told[0], Told::Response(stream.0, ResponseHead { fields, ..ok() }, Fin::More));
        let data: Vec<u8> = told[1..]
            .iter()
            .flat_map(|told| match told {
                Told::Data(_, data, _) => data.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(data, body);
        client.recycle(ok());
    }
}

/// Whoever only counts takes a whole answer with a known head at once: as its events would tell it, or not at all.
#[test]
fn an_answer_with_a_known_head_is_taken_whole_or_left_to_its_events() {
    const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut client = asking(&get());
    let mut first = WHOLE.as_bytes();
    assert_eq!(client.take_repeated(NOW, &mut first), None, "nothing came before it");
    hear(&mut client, &[first]);
    for (came, left) in [
        (WHOLE.to_owned(), Some(0)),
        (WHOLE.replace("hello", "other") + "HTTP", Some(4)),
        (WHOLE[..WHOLE.len() - 1].to_owned(), None),
        (WHOLE[..20].to_owned(), None),
        (WHOLE.replace("200", "404"), None),
        (String::new(), None),
    ] {
        let stream = client.request(NOW, &get(), Fin::Last).unwrap();
        let mut input = came.as_bytes();
        assert_eq!(client.take_repeated(NOW, &mut input), None, "the request is not sent yet");
        say(&mut client);
        let repeated = client.take_repeated(NOW, &mut input);
        let whole = Repeated { stream, status: Status::OK, body: 5 };
        assert_eq!(repeated, left.map(|_| whole), "{came:?}");
        assert_eq!(input.len(), left.unwrap_or(came.len()), "{came:?}");
        if left.is_none() {
            client = asking(&get());
            hear(&mut client, &[WHOLE.as_bytes()]);
        }
        assert_eq!(
            (client.available_streams(), client.state()),
            (1, ConnectionState::Open),
            "{came:?}"
        );
    }
}

#[test]
fn an_answer_that_is_more_than_bytes_is_never_taken_whole() {
    for (asked, answer) in [
        (get(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (get(), "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        (get(), "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"),
        (
            RequestHead { method: Method::Head, ..get() },
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ),
    ] {
        let mut client = asking(&asked);
        hear(&mut client, &[answer.as_bytes()]);
        // Refused where an answer is still awaited.
        let _under_way = client.request(NOW, &asked, Fin::Last);
        say(&mut client);
        assert_eq!(client.take_repeated(NOW, &mut answer.as_bytes()), None, "{answer:?}");
    }
}

#[test]
fn an_answer_of_a_later_minor_version_is_read_as_one_of_1_1() {
    let mut client = asking(&get());
    let answer = b"HTTP/1.2 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let told = hear(&mut client, &[answer]);
    assert_eq!(told[1], Told::Data(0, b"ab".to_vec(), Fin::Last));
    assert_eq!((client.available_streams(), client.state()), (1, ConnectionState::Open));
    let mut client = asking(&get());
    let told = hear(&mut client, &[b"HTTP/2.0 200 OK\r\n\r\n"]);
    assert!(matches!(told.last(), Some(Told::Closed(Some(_)))), "{told:?}");
}
