//! Messages as requests: timed as calls are, and looked at.

use crate::world::{Listener, Speaks, World, config, fetches, ok};
use client::{Client, EchoRequests, Message, Pattern, Transport};
use trace::FetchOutcome;

fn run(script: fn(&crate::world::Seen) -> crate::world::Reply) -> Vec<String> {
    let mut world = World::new(Listener::Clear(Speaks::Http1), script);
    let message = |n: usize| Message {
        text: n.to_string().into_bytes().into(),
        answer: (2 * n).to_string().into_bytes().into(),
    };
    let messages = fetches(3).into_iter().enumerate().map(|(n, spec)| (spec, message(n)));
    let work = EchoRequests::new(messages, Pattern::Serial);
    let client = world.run(Client::new(config(Transport::H1), work));
    let reason = |outcome: &FetchOutcome| match outcome {
        FetchOutcome::Done => String::new(),
        FetchOutcome::Failed(reason) => reason.clone(),
    };
    client.into_work().records().fetches.iter().map(|fetch| reason(&fetch.outcome)).collect()
}

/// The number that a request's path names.
fn number(seen: &crate::world::Seen) -> u64 {
    seen.head.path.trim_start_matches('/').parse().unwrap()
}

#[test]
fn right_answers_are_taken() {
    assert_eq!(run(|seen| ok((2 * number(seen)).to_string().as_bytes())), ["", "", ""]);
}

#[test]
fn an_answer_that_is_another_or_longer_or_none_fails_its_request_by_rule() {
    let reasons = run(|seen| match number(seen) {
        0 => ok(b"1"),
        1 => ok(b"2 and a half"),
        _ => ok(b""),
    });
    let rule = |got: &str, wanted: &str| {
        format!("an answer is its message's echo: `{got}` came back where `{wanted}` belongs")
    };
    assert_eq!(reasons, [rule("1", "0"), rule("2 ", "2"), rule("", "4")]);
}
