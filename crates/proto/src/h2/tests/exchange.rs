//! Whole exchanges between our own two sides: tunnels, promises, heads of all sizes.

use super::*;
use crate::{
    ClientConnection, Event, Fields, Fin, Method, Refused, RequestHead, ResponseHead, Scheme,
    ServerConnection, Status, StreamId,
};

struct Both {
    near: Client,
    far: Server,
}

impl Both {
    /// After the greetings.
    fn new(near: Settings, far: Settings) -> Self {
        let turns = Box::new(RoundRobin::default());
        let far = Server::new(Instant::ZERO, far, turns, Tracer::off());
        let mut both = Self { near: client(near), far };
        both.up();
        both.down();
        both.up();
        both
    }

    fn up(&mut self) -> Vec<Owned> {
        let mut out = SendBuf::new();
        self.near.poll_transmit(Instant::ZERO, &mut out, 1 << 24);
        events(&mut self.far, Instant::ZERO, &out.to_vec())
    }

    fn down(&mut self) -> Vec<Owned> {
        let mut out = SendBuf::new();
        self.far.poll_transmit(Instant::ZERO, &mut out, 1 << 24);
        events(&mut self.near, Instant::ZERO, &out.to_vec())
    }
}

fn get() -> RequestHead {
    RequestHead::get(Scheme::Http, "a.test", "/")
}

#[test]
fn an_extended_connect_carries_bytes_both_ways() {
    let far = Settings { enable_connect_protocol: true, ..Settings::server() };
    let mut both = Both::new(Settings::client(), far);
    let head = RequestHead { method: Method::Connect, protocol: Some("websocket".into()), ..get() };
    let stream = both.near.request(Instant::ZERO, &head, Fin::More).unwrap();
    let seen = format!("{:?}", both.up());
    assert!(seen.contains("websocket"), "{seen}");
    both.far.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    both.near.send(stream, "ping".into(), Fin::More).unwrap();
    both.far.send(stream, "pong".into(), Fin::More).unwrap();
    assert!(both.up().contains(&Owned::Data(stream.0, b"ping".to_vec(), false)));
    assert!(both.down().contains(&Owned::Data(stream.0, b"pong".to_vec(), false)));

    let mut plain = Both::new(Settings::client(), Settings::server());
    assert_eq!(plain.near.request(Instant::ZERO, &head, Fin::More), Err(Refused::NotAllowed));
}

#[test]
fn a_client_takes_any_number_of_early_answers_with_the_uploads_reset() {
    let mut both = Both::new(Settings::client(), Settings::server());
    for _ in 0..2_000 {
        let head = RequestHead { method: Method::Post, ..get() };
        let stream = both.near.request(Instant::ZERO, &head, Fin::More).unwrap();
        both.up();
        both.near.send(stream, vec![0; 200_000].into(), Fin::More).unwrap();
        both.far.respond(stream, &ResponseHead::new(Status::OK), Fin::Last).unwrap();
        both.down();
        both.far.reset(Instant::ZERO, stream);
        both.down();
        assert_eq!(both.near.state(), crate::ConnectionState::Open);
    }
}

#[test]
fn the_length_of_an_answer_to_connect_is_no_length_of_the_tunnel() {
    let far = Settings { enable_connect_protocol: true, ..Settings::server() };
    for (protocol, path) in [(None, ""), (Some("websocket".into()), "/")] {
        for (status, is_tunnel) in [(200, true), (404, false)] {
            let mut both = Both::new(Settings::client(), far.clone());
            let head = RequestHead {
                method: Method::Connect,
                authority: "a.test:443".into(),
                path: path.into(),
                protocol: protocol.clone(),
                ..get()
            };
            let stream = both.near.request(Instant::ZERO, &head, Fin::More).unwrap();
            both.up();
            let fields = Fields::new().with("content-length", "2");
            let head = ResponseHead { status: Status::new(status).unwrap(), fields };
            both.far.respond(stream, &head, Fin::More).unwrap();
            both.far.send(stream, "four".into(), Fin::More).unwrap();
            let seen = both.down();
            let whole = Owned::Data(stream.0, b"four".to_vec(), false);
            assert_eq!(seen.contains(&whole), is_tunnel, "{status} {seen:?}");
        }
    }
}

#[test]
fn a_promise_is_kept_or_refused() {
    let near = Settings { enable_push: true, ..Settings::client() };
    let mut both = Both::new(near, Settings::server());
    let parent = both.near.request(Instant::ZERO, &get(), Fin::Last).unwrap();
    both.up();
    let kept = both.far.promise(parent, &get()).unwrap();
    let refused = both.far.promise(parent, &get()).unwrap();
    assert_eq!((kept, refused), (StreamId(2), StreamId(4)));
    both.far.respond(kept, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    both.far.send(kept, "pushed".into(), Fin::Last).unwrap();
    let seen = both.down();
    assert!(format!("{seen:?}").contains("Promise { parent: StreamId(1), stream: StreamId(4)"));
    assert!(seen.contains(&Owned::Data(2, b"pushed".to_vec(), true)), "{seen:?}");
    both.near.reset(Instant::ZERO, refused);
    let seen = format!("{:?}", both.up());
    assert!(seen.contains("Reset { stream: StreamId(4)") && seen.contains("CANCEL"), "{seen}");

    let mut deaf = Both::new(Settings::client(), Settings::server());
    let parent = deaf.near.request(Instant::ZERO, &get(), Fin::Last).unwrap();
    deaf.up();
    assert_eq!(deaf.far.promise(parent, &get()), Err(Refused::NotAllowed));
}

#[test]
fn heads_larger_than_a_frame_go_on_in_continuation() {
    let mut both = Both::new(Settings::client(), Settings::server());
    let mut head = get();
    // 40,000 bytes that Huffman makes no shorter: three frames each way.
    let long = "{}^".repeat(13_000);
    head.fields.push(b"X-Long", long.as_bytes());
    let stream = both.near.request(Instant::ZERO, &head, Fin::Last).unwrap();
    let seen = format!("{:?}", both.up());
    assert!(seen.contains(&long) && seen.contains("x-long"));
    let mut answer = ResponseHead::new(Status::OK);
    answer.fields.push(b"x-long", long.as_bytes());
    both.far.respond(stream, &answer, Fin::More).unwrap();
    both.far.send_trailers(stream, &Fields::new().with("x-end", &long)).unwrap();
    let seen = format!("{:?}", both.down());
    assert_eq!(seen.matches(&long).count(), 2);
    assert!(both.near.session.stream(1).is_none(), "both sides have ended it");
}

#[test]
fn an_answer_to_head_has_a_length_and_no_body() {
    let mut both = Both::new(Settings::client(), Settings::server());
    let head = RequestHead { method: Method::Head, ..get() };
    let stream = both.near.request(Instant::ZERO, &head, Fin::Last).unwrap();
    both.up();
    let mut answer = ResponseHead::new(Status::OK);
    answer.fields.push(b"content-length", b"1000");
    both.far.respond(stream, &answer, Fin::Last).unwrap();
    let seen = format!("{:?}", both.down());
    assert!(seen.contains("Response") && seen.contains("fin: Last"), "{seen}");
}

#[test]
fn a_stream_that_ended_keeps_its_credit_until_the_application_has_dealt_with_it() {
    let mut both = Both::new(Settings::client(), Settings::server());
    let stream = both.near.request(Instant::ZERO, &get(), Fin::Last).unwrap();
    both.up();
    both.far.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
    both.far.send(stream, vec![1; 5000].into(), Fin::Last).unwrap();
    both.down();
    assert_eq!(both.near.session.windows().outstanding(), 5000);
    both.near.consume(stream, 4000);
    both.near.consume(stream, 1000);
    both.near.consume(stream, 1000);
    assert_eq!(both.near.session.windows().outstanding(), 0);
    assert_eq!(both.near.session.streams_kept(), 0);
}

/// Requests that were prepared and answers that repeat are known again by their blocks. The events must not differ
/// from those of a connection without caches, whatever happens to the tables in between.
#[test]
fn what_is_known_again_is_what_was_said() {
    let mut both = Both::new(Settings::client(), Settings::server());
    let repeated: Vec<RequestHead> = ["/", "/other"]
        .iter()
        .map(|path| {
            let mut fields = Fields::new().with("x-kept", "v");
            fields.validate();
            RequestHead { path: (*path).to_owned(), fields, ..get() }
        })
        .collect();
    for round in 0..200 {
        // Now and then another request, and other answers, move the tables of both sides on.
        let (path, stream) = match round % 7 {
            6 => {
                let mut head = RequestHead { path: format!("/{round}"), ..get() };
                head.fields.push(b"x-new", round.to_string().as_bytes());
                let path = head.path.clone();
                (path, both.near.request(Instant::ZERO, &head, Fin::Last).unwrap())
            }
            _ => {
                let one = &repeated[round % 2];
                (one.path.clone(), both.near.request(Instant::ZERO, one, Fin::Last).unwrap())
            }
        };
        let seen = format!("{:?}", both.up());
        assert!(seen.contains(&format!("path: \\\"{path}\\\"")), "{round}: {seen}");
        assert_eq!(seen.contains("x-kept"), round % 7 != 6, "{round}: {seen}");
        let date = format!("{}", round / 50);
        let fields = Fields::new().with("date", &date).with("etag", format!("\"{}\"", round % 3));
        let answer = ResponseHead { status: Status::OK, fields };
        both.far.respond(stream, &answer, Fin::Last).unwrap();
        let mut out = SendBuf::new();
        both.far.poll_transmit(Instant::ZERO, &mut out, 1 << 20);
        let (bytes, mut heads) = (out.to_vec(), 0);
        let mut input = &bytes[..];
        while let Some(event) = both.near.handle_bytes(Instant::ZERO, &mut input) {
            if let Event::Response { head, .. } = event {
                assert_eq!(head, answer, "{round}");
                heads += 1;
                both.near.recycle(head);
            }
        }
        assert_eq!(heads, 1);
    }
    let (near, far) = (both.near.header_bytes(), both.far.header_bytes());
    assert_eq!((near.sent, near.received), (far.received, far.sent), "both sides count alike");
    assert!(near.received.coded < near.received.plain / 2, "{near:?}");
}

#[test]
fn a_request_that_comes_again_and_again_is_told_like_the_first() {
    let mut both = Both::new(Settings::client(), Settings::server());
    let head = RequestHead { fields: Fields::new().with("accept", "*/*"), ..get() };
    let other = RequestHead { path: "/other".into(), ..head.clone() };
    let mut told = Vec::new();
    for round in 0..8 {
        // Another one in between, whose block changes the table once.
        let head = if round == 4 { &other } else { &head };
        let stream = both.near.request(Instant::ZERO, head, Fin::Last).unwrap();
        let events = format!("{:?}", both.up());
        told.push(
            events
                .replace(&format!("{stream:?}"), "S")
                .replace(&format!("({}, ", stream.0), "(S, "),
        );
        both.far.respond(stream, &ResponseHead::new(Status::OK), Fin::Last).unwrap();
        both.down();
    }
    let first = told[0].clone();
    assert!(told[4].contains("/other"), "{}", told[4]);
    told[4] = told[4].replace("/other", "/");
    assert!(told.iter().all(|events| *events == first), "{told:#?}");
    let bytes = both.far.header_bytes().received;
    assert_eq!(bytes, both.near.header_bytes().sent, "{bytes:?}");
}
