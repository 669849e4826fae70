//! Connections that a client keeps open while it waits.

use crate::toy::Toy;
use crate::{pair, settings};
use proto::{Error, StreamId};
use std::time::Duration;
use transport::QuicSettings;

/// RFC 9114 §5.1: a client keeps its connection open while a response is outstanding, and not for longer.
#[test]
fn a_server_with_a_short_idle_time_out_may_take_its_time_over_an_answer() {
    let (idle_timeout, keep_alive) = (Duration::from_secs(3), Some(Duration::from_secs(15)));
    let settings = QuicSettings { idle_timeout, keep_alive, ..settings() };
    let mut pair = pair("rtt=20ms", &settings, &[1_000]);
    let (near, far) = (pair.near, pair.far);
    pair.world.run_while(|world| world.end_point(far).connections.is_empty());
    let now = pair.world.now();
    pair.world.with(far, |far| far.command(now, |toy| toy.is_waiting = true));
    pair.world.run_for(Duration::from_secs(1));
    let before = pair.world.packets().len();
    pair.world.run_for(Duration::from_secs(12));
    assert!(pair.world.end_point(near).seen.ends.is_empty(), "it is kept open");
    let packets = pair.world.packets().len() - before;
    // A PING each 1.5 s and its acknowledgement.
    assert!((14..=20).contains(&packets), "{packets}");
    let now = pair.world.now();
    let answer = |toy: &mut Toy| toy.read_again(StreamId(0));
    pair.world.with(far, |far| far.command(now, answer));
    pair.run(1);
    pair.world.run_for(Duration::from_secs(4));
    let ends = &pair.world.end_point(near).seen.ends;
    assert!(matches!(ends[..], [Some(Error::TimedOut { .. })]), "{ends:?}");
}
