//! Open loops: what a schedule promises, and what a stall of the server does to the figures.

use super::*;
use endpoint::{Action, EndPoint, SendBuf};
use unit::Seed;

/// The plan's clock begins a millisecond after the engine, when the last connection is open.
const BEGIN: Instant = Instant::from_nanos(1_001_000_000);

const NEVER: (Instant, Instant) = (Instant::ZERO, Instant::ZERO);

fn open(rates: &str, connections: usize) -> LoadPlan {
    let stages = rates.split(',').map(|rate| rate.parse().unwrap()).collect();
    LoadPlan { pace: Pace::Open { stages, spacing: Spacing::Even }, connections, ..plan() }
}

/// The exact times of all requests of an even schedule that reach such a server when they are due.
fn truth(rate: u64, count: u64, mut queue: Queue) -> Vec<f64> {
    let due = |number: u64| BEGIN + Duration::from_nanos(number * 1_000_000_000 / rate);
    let times = (0..count).map(|number| queue.serve(due(number)).since(due(number)));
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64() * 1e3).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}

fn exact(times: &[f64], quantile: f64) -> f64 {
    times[((times.len() as f64 * quantile).ceil() as usize).clamp(1, times.len()) - 1]
}

/// A planted stall of 100 ms, at half of what the server can do: the truth is known to the nanosecond, and the
/// histogram has three digits.
#[test]
fn a_stall_of_the_server_shows_in_every_percentile_that_it_reaches() {
    let stall = (BEGIN + ms(2_000), BEGIN + ms(2_100));
    let queue = || Queue::new(ms(1), stall);
    let times = truth(500, 5_000, queue());
    assert!(exact(&times, 0.99) > 50.0, "the stall reaches the 99th percentile");
    for connections in [1, 8, 64] {
        let (tally, _) = World::run(open("500:10s", connections), queue());
        let whole = tally.whole();
        assert_eq!((whole.answers, whole.faults.total()), (5_000, 0));
        for quantile in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            let (told, is) = (milliseconds(&whole, quantile), exact(&times, quantile));
            assert!((told / is - 1.0).abs() < 0.002, "{connections}: p{quantile} {told} for {is}");
        }
    }
}

/// What the same stall looks like where each connection waits for its answer before it asks again.
#[test]
fn a_closed_loop_hides_what_an_open_loop_shows() {
    let stall = (BEGIN + ms(2_000), BEGIN + ms(2_100));
    let closed = LoadPlan { requests: Some(5_000), ..plan() };
    let (closed, _) = World::run(closed, Queue::new(ms(1), stall));
    assert!(milliseconds(&closed.whole(), 0.99) < 1.1);
    let (open, _) = World::run(open("500:10s", 1), Queue::new(ms(1), stall));
    assert!(milliseconds(&open.whole(), 0.99) > 50.0);
}

#[test]
fn a_schedule_is_kept_whatever_the_number_of_engines() {
    let mut whole: Option<Tally> = None;
    for index in 0..3 {
        let share = Share { index, of: 3 };
        let part = LoadPlan { share, ..open("100:1s,0-200:1s", 2) };
        let (tally, _) = World::run(part, Queue::new(ms(1), NEVER));
        match &mut whole {
            None => whole = Some(tally),
            Some(whole) => whole.add(&tally),
        }
    }
    let whole = whole.unwrap();
    let answers: Vec<u64> = whole.stages.iter().map(|stage| stage.answers).collect();
    assert_eq!(answers, [100, 100]);
}

#[test]
fn requests_go_on_when_they_are_due_after_a_pause_of_the_schedule() {
    let (tally, _) = World::run(open("100:1s,0:1s,100:1s", 2), Queue::new(ms(1), NEVER));
    let answers: Vec<u64> = tally.stages.iter().map(|stage| stage.answers).collect();
    assert_eq!(answers, [100, 0, 100]);
    assert_eq!((tally.lateness.histogram().max(), tally.whole().faults.total()), (0, 0));
    // The pause is in no request's time.
    assert!(milliseconds(&tally.whole(), 1.0) < 1.1);
    let warm = LoadPlan { warm_up: ms(500), ..open("0:1s,100:1s", 2) };
    let (tally, _) = World::run(warm, Queue::new(ms(1), NEVER));
    assert_eq!((tally.warm_up.answers, tally.whole().answers), (0, 100));
}

/// With as many engines as servers, or a multiple of them, each engine's connections to all of them are used.
#[test]
fn every_engine_asks_every_target() {
    let other = Target { url: "http://10.0.0.3/".parse().unwrap(), ..target("/") };
    for of in [1, 2, 3, 4] {
        let mut whole = [0, 0];
        for index in 0..of {
            let share = Share { index, of };
            let targets = vec![target("/"), other.clone()];
            let part = LoadPlan { share, targets, ..open("240:1s", 2) };
            let (tally, _) = World::run(part, Queue::new(ms(1), NEVER));
            let answers = [0, 1].map(|number| tally.targets[number].answers);
            assert_eq!(answers, [120 / of; 2], "engine {index} of {of}");
            (0..2).for_each(|number| whole[number] += answers[number]);
        }
        assert_eq!(whole, [120, 120]);
    }
}

#[test]
fn the_warm_up_goes_at_the_first_rate_and_is_counted_apart() {
    let warm = LoadPlan { warm_up: ms(500), duration: Some(ms(2_000)), ..open("100", 4) };
    let (tally, _) = World::run(warm, Queue::new(ms(1), NEVER));
    assert_eq!((tally.warm_up.answers, tally.whole().answers), (50, 200));
    assert_eq!(tally.lateness.histogram().max(), 0, "virtual time wakes nobody late");
    assert_eq!((tally.in_time, tally.unfinished), (200, 0));
}

#[test]
fn requests_beyond_what_may_wait_are_counted_and_not_kept() {
    let spacing = [Spacing::Even, Spacing::Poisson(Seed(5))];
    for (spacing, warm_up) in spacing.into_iter().zip([ms(0), ms(5)]) {
        let stages = vec!["1000000".parse().unwrap()];
        let duration = Some(ms(300));
        let plan = LoadPlan { pace: Pace::Open { stages, spacing }, duration, warm_up, ..plan() };
        let (tally, _) =
            World::run(LoadPlan { most_waiting: 50, ..plan }, Queue::new(ms(1), NEVER));
        let whole = tally.whole();
        assert!((250..=400).contains(&whole.ended()), "{}", whole.ended());
        let due = (whole.ended() + whole.not_begun) as f64;
        assert!((due / 3e5 - 1.0).abs() < 0.01, "{due}");
    }
}

#[test]
fn what_was_not_begun_is_shared_out_over_the_targets_by_their_turns() {
    for share in [Share::WHOLE, Share { index: 1, of: 2 }] {
        let targets = vec![Target { weight: 3, ..target("/often") }, target("/seldom")];
        let duration = Some(ms(300));
        let plan = LoadPlan { share, targets, duration, most_waiting: 50, ..open("1000000", 1) };
        let (tally, _) = World::run(plan, Queue::new(ms(1), NEVER));
        let due = |number: usize| tally.targets[number].ended() + tally.targets[number].not_begun;
        assert_eq!([due(0), due(1)], [225_000 / share.of, 75_000 / share.of]);
        let not_begun: u64 = tally.targets.iter().map(|part| part.not_begun).sum();
        assert_eq!(not_begun, tally.whole().not_begun);
    }
}

#[test]
fn a_poisson_schedule_follows_from_its_seed() {
    let spacing = Spacing::Poisson(Seed(5));
    let stages = vec!["200:5s".parse().unwrap()];
    let poisson = LoadPlan { pace: Pace::Open { stages, spacing }, connections: 4, ..plan() };
    let (one, _) = World::run(poisson.clone(), Queue::new(ms(2), NEVER));
    let (two, _) = World::run(poisson, Queue::new(ms(2), NEVER));
    assert_eq!(one.whole().latency.histogram(), two.whole().latency.histogram());
    // Arrivals that bunch wait for each other, which even ones at this rate never do.
    assert!(one.whole().latency.histogram().max() > 4_000_000);
}

#[test]
fn a_number_of_requests_ends_an_open_loop_too() {
    let few = LoadPlan { requests: Some(7), ..open("100", 2) };
    let (tally, _) = World::run(few, Queue::new(ms(1), NEVER));
    assert_eq!(tally.whole().answers, 7);
}

/// A server of 90 requests a second: whatever ends the making of requests, answers after the end are not of the rate.
#[test]
fn the_rate_is_that_of_the_answers_until_the_end_whether_or_not_requests_are_left_to_make() {
    let timed = |rates: &str, requests, duration| {
        let plan = LoadPlan { requests, duration: Some(ms(duration)), ..open(rates, 50) };
        let (tally, _) = World::run(plan, Queue::new(ms(11), NEVER));
        let seconds = tally.ended.unwrap().since(tally.began.unwrap());
        (tally.in_time, tally.whole().answers, seconds)
    };
    assert_eq!(timed("200", None, 2_000), (181, 400, ms(2_000)));
    assert_eq!(timed("200:2s", None, 2_000), (181, 400, ms(2_000)));
    assert_eq!(timed("200", Some(180), 1_000), (90, 180, ms(1_000)));
    assert_eq!(timed("50:1s", None, 1_000), (50, 50, ms(1_000)), "a schedule lasts to its end");
    // All have ended before the time is over.
    assert_eq!(timed("100", Some(20), 1_000), (20, 20, ms(220)));
}

/// A backlog of the warm-up keeps the server busy for longer than the run.
#[test]
fn answers_to_the_warm_up_s_requests_count_for_the_rate_where_they_come_later() {
    let timed = LoadPlan { warm_up: ms(3_000), duration: Some(ms(2_000)), ..open("200", 50) };
    let (tally, _) = World::run(timed, Queue::new(ms(11), NEVER));
    assert_eq!((tally.warm_up.answers, tally.whole().answers), (600, 400));
    assert_eq!(tally.in_time, 182, "one each 11 ms");
}

/// Each second 90 of 200 requests are answered, so that a second of the schedule adds 200/90 - 1 seconds to their times.
#[test]
fn times_grow_where_the_server_is_too_slow_and_not_where_each_answer_takes_long() {
    struct Slow;
    impl Peer for Slow {
        fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            vec![(now + ms(400), Deed::Says(OK.to_vec()))]
        }
    }
    for (duration, requests) in [(Some(ms(1_000)), None), (None, Some(200))] {
        let plan = || LoadPlan { duration, requests, warm_up: ms(500), ..open("200", 200) };
        let (steady, _) = World::run(plan(), Slow);
        assert_eq!(steady.whole().answers, 200);
        assert!(steady.trend.growth().unwrap().whole.abs() < 1e-6, "{:?}", steady.trend);
        let (behind, _) = World::run(plan(), Queue::new(ms(11), NEVER));
        let growth = behind.trend.growth().unwrap().whole;
        assert!((growth / (200.0 * 0.011 - 1.0) - 1.0).abs() < 0.01, "{growth}");
    }
}

/// A server that answers nothing: what waits is bounded by the time-out, and the run ends.
#[test]
fn what_waits_for_a_dead_server_is_given_up_in_time() {
    struct Dead;
    impl Peer for Dead {
        fn request(&mut self, _now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            Vec::new()
        }
    }
    let dead = LoadPlan { timeout: ms(200), ..open("1000:2s", 4) };
    let (tally, _) = World::run(dead, Dead);
    let whole = tally.whole();
    assert_eq!((whole.answers, whole.faults.total()), (0, 2_000));
    assert_eq!(whole.faults.of(Fault::TimedOut), 2_000);
}

/// The engine sleeps twice: before it begins requests, and before it reads an answer.
#[test]
fn what_the_engine_is_late_itself_is_told_apart_from_what_the_server_takes() {
    let mut load = Load::new(open("1000", 1));
    let start = Instant::from_nanos(1_000_000_000);
    let at = |micros: u64| start + Duration::from_micros(micros);
    load.handle_start(at(0));
    let Some(Action::Connect { socket, .. }) = load.poll_action() else { panic!("no connect") };
    load.handle_connected(at(0), socket, "10.0.0.1:50000".parse().unwrap());
    let send = |load: &mut Load, micros| {
        load.poll_transmit(at(micros), socket, &mut SendBuf::new(), 65_536);
    };
    load.handle_timeout(at(0));
    send(&mut load, 0);
    load.handle_bytes(at(200), socket, OK);
    // Those due from 1 to 10 ms are seen at 10 ms; the first is answered half a millisecond later.
    load.handle_timeout(at(10_000));
    send(&mut load, 10_000);
    load.handle_bytes(at(10_500), socket, OK);
    send(&mut load, 10_500);
    // Nothing is done from 11 ms, when the next is due, to 20 ms, when an answer is read.
    load.handle_bytes(at(20_000), socket, OK);
    load.handle_stop(at(20_000));
    let tally = load.into_tally();
    let whole = tally.whole();
    let longest = |times: &Times| times.histogram().max() as f64 / 1e6;
    let near = |told: f64, is: f64| assert!((told / is - 1.0).abs() < 0.002, "{told} for {is}");
    near(longest(&whole.latency), 18.0);
    near(longest(&tally.lateness), 9.0);
    near(longest(&tally.latency_since_seen), 10.0);
    near(longest(&tally.latency_floor), 1.0);
    assert_eq!((whole.answers, tally.latency_floor.histogram().len()), (3, 3));
}

#[test]
fn an_engine_in_time_has_the_same_times_with_and_without_its_lateness() {
    let stall = (BEGIN + ms(200), BEGIN + ms(300));
    let (tally, _) = World::run(open("500:1s", 8), Queue::new(ms(1), stall));
    let whole = tally.whole();
    for other in [&tally.latency_since_seen, &tally.latency_floor] {
        assert_eq!(whole.latency.histogram(), other.histogram(), "the stall is the server's");
    }
}
