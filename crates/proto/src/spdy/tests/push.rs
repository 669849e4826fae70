//! Server push: what a server says, and what a client takes.

use super::*;
use crate::{
    ClientConnection, ConnectionState, Fin, Refused, RequestHead, ResponseHead, Scheme,
    ServerConnection, Status, StreamId,
};
use bytes::Bytes;

fn taking() -> Settings {
    Settings { enable_push: true, ..Settings::client(Version::V3_1) }
}

/// A client with a request under way.
fn asked(settings: Settings) -> ByHand<Client> {
    let mut hand = client(settings);
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    hand.subject.request(hand.now, &head, Fin::Last).unwrap();
    hand.take();
    hand
}

impl ByHand<Client> {
    fn push(&mut self, stream: u32, associated: u32, fields: &[(&str, &str)]) -> Vec<Owned> {
        let block = &self.block(fields);
        let (priority, fin, unidirectional) = (2, false, true);
        self.frame(Frame::SynStream { stream, associated, priority, fin, unidirectional, block })
    }
}

#[test]
fn a_push_goes_from_a_server_to_a_client_that_takes_it() {
    let turns = || Box::new(RoundRobin::default());
    let now = Instant::ZERO;
    let mut far = Server::new(now, Settings::server(Version::V3_1), turns(), Tracer::off());
    let mut near = Client::new(now, taking(), turns(), Tracer::off());
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    let parent = near.request(now, &head, Fin::Last).unwrap();
    let carry = |from: &mut dyn ByteStreamConnection, to: &mut dyn FnMut(&[u8]) -> Vec<Owned>| {
        let mut out = SendBuf::new();
        from.poll_transmit(now, &mut out, 1 << 20);
        to(&out.to_vec())
    };
    carry(&mut near, &mut |bytes| events(&mut far, now, bytes));
    let pushed = RequestHead::get(Scheme::Http, "a.test", "/style.css");
    let stream = far.promise(parent, &pushed).unwrap();
    assert_eq!(stream, StreamId(2));
    let mut answer = ResponseHead::new(Status::OK);
    answer.fields.push(b"content-length", b"4");
    far.respond(stream, &answer, Fin::More).unwrap();
    far.send(stream, Bytes::from_static(b"a {}"), Fin::Last).unwrap();
    far.respond(parent, &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    let seen = carry(&mut far, &mut |bytes| events(&mut near, now, bytes));
    let text = format!("{seen:?}");
    assert!(text.contains("Promise { parent: StreamId(1), stream: StreamId(2)"), "{text}");
    assert!(text.contains("/style.css") && text.contains("Response { stream: StreamId(2)"));
    assert!(seen.contains(&Owned::Data(2, b"a {}".to_vec(), true)), "{text}");
    near.consume(stream, 4);
    assert_eq!(near.session.streams_kept(), 0);
    assert_eq!(far.session.streams_kept(), 0);
}

#[test]
fn pushes_are_said_in_order_with_or_without_their_answers() {
    let now = Instant::from_nanos(1_000_000_000);
    let mut hand = asked(taking());
    let mut far = server(Settings::server(Version::V3_1));
    far.request(1, true, &[]);
    let head = RequestHead::get(Scheme::Http, "a.test", "/pushed");
    let pushed: Vec<_> = (0..3).map(|_| far.subject.promise(StreamId(1), &head).unwrap()).collect();
    far.subject.respond(pushed[1], &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    let mut out = SendBuf::new();
    far.subject.poll_transmit(now, &mut out, 1 << 20);
    far.subject.respond(pushed[0], &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    far.subject.poll_transmit(now, &mut out, 1 << 20);
    far.subject.reset(now, pushed[2]);
    far.subject.poll_transmit(now, &mut out, 1 << 20);
    let names: Vec<_> = split(&out.to_vec()).into_iter().map(|(name, _)| name).collect();
    let syn = "SYN_STREAM";
    assert_eq!(names, [syn, syn, syn, "HEADERS", "RST_STREAM"]);
    let seen = hand.give(&out.to_vec());
    let answered = seen.iter().filter(|event| format!("{event:?}").contains("Response"));
    assert_eq!((seen.len(), answered.count()), (6, 2), "{seen:?}");
}

#[test]
fn a_push_may_bring_its_answer_along() {
    let mut hand = asked(taking());
    let fields = [&REQUEST[1..], &[(":status", "200"), ("content-length", "2")]].concat();
    let seen = hand.push(2, 1, &fields);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(hand.data(2, b"ab", true), [Owned::Data(2, b"ab".to_vec(), true)]);
}

#[test]
fn a_client_that_takes_no_pushes_says_so_and_refuses() {
    let mut hand = asked(Settings::client(Version::V3_1));
    assert_eq!(hand.push(2, 1, &REQUEST), []);
    assert_eq!(hand.resets(), [(2, ResetCode::REFUSED_STREAM)]);
    // And DATA of it that is under way does no harm.
    assert_eq!(hand.data(2, b"late", true), []);
    assert_eq!(hand.subject.state(), ConnectionState::Open);

    let turns = || Box::new(RoundRobin::default());
    let now = Instant::ZERO;
    let mut near = Client::new(now, Settings::client(Version::V3_1), turns(), Tracer::off());
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    let parent = near.request(now, &head, Fin::Last).unwrap();
    let mut out = SendBuf::new();
    near.poll_transmit(now, &mut out, 1 << 20);
    let mut far = server(Settings::server(Version::V3_1));
    far.give(&out.to_vec());
    assert_eq!(far.subject.promise(parent, &head), Err(Refused::NotAllowed));
}

#[test]
fn a_push_that_belongs_nowhere_or_names_nothing_is_reset() {
    for (parent, fields, code) in [
        (0, &REQUEST[..], ResetCode::INVALID_STREAM),
        (3, &REQUEST[..], ResetCode::INVALID_STREAM),
        (1, &REQUEST[2..], ResetCode::PROTOCOL_ERROR),
    ] {
        let mut hand = asked(taking());
        assert_eq!(hand.push(2, parent, fields), []);
        assert_eq!(hand.resets(), [(2, code)], "{parent}");
    }
    let mut hand = asked(taking());
    hand.push(3, 1, &REQUEST);
    assert_eq!(hand.goaway(), Some((0, 1)), "a stream of ours");
}

#[test]
fn a_push_can_be_refused_by_the_application() {
    let mut hand = asked(taking());
    hand.push(2, 1, &REQUEST);
    hand.subject.reset(hand.now, StreamId(2));
    assert_eq!(hand.resets(), [(2, ResetCode::CANCEL)]);
}

#[test]
fn pushes_beyond_the_limit_are_refused() {
    let mut hand = asked(Settings { max_concurrent_streams: 1, ..taking() });
    hand.push(2, 1, &REQUEST);
    assert_eq!(hand.push(4, 1, &REQUEST), []);
    assert_eq!(hand.resets(), [(4, ResetCode::REFUSED_STREAM)]);
}
