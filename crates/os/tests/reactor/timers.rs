//! Time-outs below a millisecond: QUIC's pacer asks for them.

use crate::lonely;
use crate::script::{Desk, Seen, scripted_from};
use endpoint::Action;
use os::reactor::Backend;
use std::time::Duration;

const SPAN: Duration = Duration::from_micros(250);

const COUNT: usize = 100;

with_each_backend! {
    a_time_out_below_a_millisecond_is_neither_early_nor_rounded_up_to_one
}

fn a_time_out_below_a_millisecond_is_neither_early_nor_rounded_up_to_one(backend: Backend) {
    let mut begun = os::clock::now();
    let desk = Desk { timeout: Some(begun + SPAN), ..Desk::default() };
    let mut waits = Vec::new();
    let mut end_point = scripted_from(desk, |desk, seen| {
        assert_eq!(seen, Seen::Timeout);
        let now = os::clock::now();
        waits.push(now.since(begun));
        begun = now;
        match waits.len() {
            COUNT => desk.act(Action::Finish),
            _ => desk.timeout = Some(now + SPAN),
        }
    });
    lonely(backend).unwrap().run(&mut end_point).unwrap();
    drop(end_point);
    let least = waits.iter().min().copied().unwrap_or_default();
    // On a busy machine all but one may be late.
    assert!((SPAN..Duration::from_millis(1)).contains(&least), "{waits:?}");
}
