//! Streams that are not as they were asked for fail, and say how.

use crate::world::{Listener, Speaks, World, config, ok};
use client::{Client, Delivery, StreamRequests, Transport};
use page::{SyntheticStream, Token};
use trace::FetchOutcome;
use unit::Instant;

fn reason(delivery: Delivery, body: fn() -> String) -> String {
    let mut world = World::new(Listener::Clear(Speaks::Http1), move |_| ok(body().as_bytes()));
    let stream: SyntheticStream = "count=2&bytes=60&every_ms=5".parse().unwrap();
    let root = "http://a.test/".parse().unwrap();
    let work = StreamRequests::new(root, [stream], delivery);
    let done = world.run(Client::new(config(Transport::H1), work)).into_work();
    match &done.records.fetches[0].outcome {
        FetchOutcome::Failed(reason) => reason.clone(),
        FetchOutcome::Done => String::new(),
    }
}

fn token(number: u32, due_ms: u64) -> String {
    Token { stream: 0, number, due: Instant::from_nanos(due_ms * 1_000_000) }.text(60)
}

fn event(number: u32, due_ms: u64) -> String {
    format!("id: {number}\ndata: {}\n\n", token(number, due_ms))
}

#[test]
fn a_right_stream_is_taken_and_a_wrong_one_fails_by_its_rule() {
    let sse = Delivery::EventStream;
    assert_eq!(reason(sse, || event(0, 7) + &event(1, 12)), "");
    assert_eq!(reason(sse, || event(0, 7)), "1 of 2 tokens came");
    let of = |body| reason(sse, body);
    assert_eq!(
        of(|| event(0, 7) + &event(1, 13)),
        "token 1 of stream 0: the server says another time than the stream's seed"
    );
    assert_eq!(of(|| event(1, 7)), "the event 0 has the id `1`");
    assert_eq!(
        of(|| event(0, 7) + &event(1, 12) + &event(2, 17)),
        "token 2 of stream 0: there is one more than was asked for"
    );
    assert_eq!(
        of(|| event(0, 7).replace("ABC", "ABD")),
        "token 0 of stream 0: its bytes are others"
    );
    assert_eq!(
        of(|| "id: 0\ndata: hello\n\n".to_owned()),
        "token 0 of stream 0: its text has another form"
    );
}

#[test]
fn lines_and_polls_are_held_to_the_same() {
    let lines = |delivery| reason(delivery, || format!("{}\n{}\n", token(0, 7), token(1, 12)));
    assert_eq!(lines(Delivery::Lines), "");
    assert_eq!(lines(Delivery::LongPolling), "");
    assert_eq!(
        reason(Delivery::Lines, || format!("{}\n", token(1, 7))),
        "token 0 of stream 0: token 1 of stream 0 came in its place"
    );
    assert_eq!(reason(Delivery::Lines, || "a".repeat(100)), "a line is longer than a token");
    // A poll without a token would be asked again for ever.
    assert_eq!(reason(Delivery::LongPolling, String::new), "0 of 2 tokens came");
}
