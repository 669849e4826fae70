//! Closed loops: as many as asked for, no more under way than allowed, and what ends counts once.

use super::*;
use crate::KeepAlive;
use endpoint::EndPoint;

const NEVER: (Instant, Instant) = (Instant::ZERO, Instant::ZERO);

#[test]
fn a_number_of_requests_is_made_exactly() {
    for (connections, requests) in [(1, 1), (3, 10), (8, 5), (4, 1_000)] {
        let many = LoadPlan { connections, requests: Some(requests), ..plan() };
        let mut world = World::new(many, Queue::new(ms(1), NEVER));
        world.go();
        assert_eq!(world.requests() as u64, requests, "{connections} connections");
        let tally = world.into_tally();
        assert_eq!(tally.whole().answers, requests);
        assert_eq!(tally.connects.opened, connections as u64);
        assert_eq!(tally.statuses().collect::<Vec<_>>(), [(200, requests)]);
        assert_eq!(tally.whole().body, 2 * requests);
    }
}

#[test]
fn a_duration_ends_the_making_and_not_the_waiting() {
    let timed = LoadPlan { connections: 2, duration: Some(ms(1_000)), ..plan() };
    let (tally, _) = World::run(timed, Queue::new(ms(3), NEVER));
    let whole = tally.whole();
    // One answer each 3 ms; what was begun at the end is waited for, and does not count for the rate.
    assert_eq!((tally.in_time, whole.answers), (333, 335));
    assert_eq!(tally.ended.unwrap().since(tally.began.unwrap()), ms(1_000));
    assert_eq!(milliseconds(&whole, 0.5).round(), 6.0, "the other connection's request goes first");
}

#[test]
fn targets_take_turns_by_their_weights() {
    let mut mixed = plan();
    mixed.targets = vec![Target { weight: 3, ..target("/often") }, target("/seldom")];
    mixed.requests = Some(400);
    let (tally, _) = World::run(mixed, Queue::new(ms(1), NEVER));
    let answers: Vec<u64> = tally.targets.iter().map(|part| part.answers).collect();
    assert_eq!(answers, [300, 100]);
}

/// One request of one connection each: a lone engine would ask the first target, or the first server, alone.
#[test]
fn engines_begin_at_different_targets_and_servers() {
    for url in ["http://10.0.0.2/other", "http://10.0.0.3/"] {
        let other = Target { url: url.parse().unwrap(), ..target("/") };
        let mut answers = [0, 0];
        for index in 0..4 {
            let (share, targets) = (Share { index, of: 4 }, vec![target("/"), other.clone()]);
            let part = LoadPlan { share, targets, requests: Some(4), ..plan() };
            let (tally, _) = World::run(part, Queue::new(ms(1), NEVER));
            (0..2).for_each(|number| answers[number] += tally.targets[number].answers);
        }
        assert_eq!(answers, [2, 2], "{url}");
    }
}

#[test]
fn connections_are_spread_over_servers() {
    let mut two = plan();
    let other = Target { url: "http://10.0.0.3/".parse().unwrap(), ..target("/") };
    two.targets = vec![target("/"), other];
    (two.connections, two.requests) = (4, Some(40));
    let (tally, _) = World::run(two, Queue::new(ms(1), NEVER));
    let answers: Vec<u64> = tally.targets.iter().map(|part| part.answers).collect();
    assert_eq!(answers, [20, 20]);
}

/// The caller refuses too few connections by the number that the engine opens them by.
#[test]
fn requests_to_an_origin_and_messages_to_a_websocket_are_one_server_each() {
    let echo = |path: &str, message: &'static [u8]| {
        let exchange = Exchange::Echo { fields: Fields::new(), message: message.into() };
        Target { exchange, ..target(path) }
    };
    let mut with_fields = echo("/ws/echo", b"one");
    let Exchange::Echo { fields, .. } = &mut with_fields.exchange else { panic!("an echo") };
    fields.push(b"x-user", b"1");
    let targets = vec![
        target("/"),
        echo("/ws/echo", b"one"),
        target("/other"),
        echo("/ws/echo", b"two"),
        echo("/ws/other", b"one"),
        with_fields,
    ];
    let plan = LoadPlan { targets, ..plan() };
    assert_eq!(plan.homes(), [0, 1, 0, 1, 2, 3]);
    assert_eq!(plan.servers(), 4);
}

#[test]
fn without_keep_alive_each_request_has_a_connection_of_its_own() {
    struct Closing;
    impl Peer for Closing {
        fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            let bytes = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            vec![(now + ms(1), Deed::Says(bytes.to_vec())), (now + ms(1), Deed::Ends)]
        }
    }
    let mut closing = LoadPlan { connections: 2, requests: Some(10), ..plan() };
    closing.access.keep_alive = KeepAlive::Off;
    let mut world = World::new(closing, Closing);
    world.go();
    assert_eq!(world.requests(), 10);
    let tally = world.into_tally();
    assert_eq!((tally.whole().answers, tally.whole().faults.total()), (10, 0));
    assert!(tally.connects.opened >= 10);
}

/// A server ends a connection in good order after so many requests, as servers do: nothing is lost by it.
#[test]
fn a_connection_that_nothing_is_left_for_is_not_replaced() {
    struct OneEach;
    impl Peer for OneEach {
        fn request(&mut self, now: Instant, nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            // The last answer is late, so that the other connections end before it.
            let answered = now + ms(if nth == 3 { 500 } else { 1 });
            vec![(answered, Deed::Says(OK.to_vec())), (answered + ms(1), Deed::Ends)]
        }
    }
    let plan = LoadPlan { requests: Some(4), connections: 4, ..plan() };
    let mut world = World::new(plan, OneEach);
    world.go();
    assert_eq!(world.connects(), 4);
    assert_eq!(world.into_tally().whole().answers, 4);
}

#[test]
fn a_connection_that_is_used_up_is_replaced_without_a_fault() {
    struct Tired;
    impl Peer for Tired {
        fn request(&mut self, now: Instant, _nth: usize, own: usize) -> Vec<(Instant, Deed)> {
            let (at, says) = (now + ms(1), |text: &[u8]| Deed::Says(text.to_vec()));
            if own < 9 {
                return vec![(at, says(OK))];
            }
            let last = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            vec![(at, says(last)), (at, Deed::Ends)]
        }
    }
    let many = LoadPlan { connections: 3, requests: Some(90), ..plan() };
    let (tally, _) = World::run(many, Tired);
    assert_eq!((tally.whole().answers, tally.whole().faults.total()), (90, 0));
    assert!((9..=12).contains(&tally.connects.opened), "{}", tally.connects.opened);
    assert_eq!(tally.connects.most_open, 3);
}

#[test]
fn an_engine_that_is_stopped_tells_what_it_has_and_what_is_open() {
    let endless = LoadPlan { connections: 3, ..plan() };
    let mut world = World::new(endless, Queue::new(ms(1), NEVER));
    world.world.run_for(ms(500));
    world.world.stop(world.load);
    assert!(world.world.is_finished(world.load));
    assert!(world.world.end_point(world.load).is_finished());
    let tally = world.into_tally();
    assert_eq!(tally.unfinished, 3);
    assert_eq!(tally.in_time, tally.whole().answers);
    assert!(tally.in_time > 100);
}

/// Keeps each interval's beginning, end and answers.
#[derive(Clone, Default)]
struct Intervals(Rc<RefCell<Vec<(Instant, Instant, u64)>>>);

impl Watch for Intervals {
    fn handle_began(&mut self, _now: Instant) {}

    fn handle_interval(&mut self, interval: &Interval) {
        self.0.borrow_mut().push((interval.from, interval.to, interval.part.answers));
    }

    fn handle_ended(&mut self, _now: Instant) {}
}

#[test]
fn a_run_that_is_stopped_tells_of_its_last_interval_where_nothing_ended_in_it() {
    for (answers_in, intervals) in [(ms(5_000), 1), (ms(1), 1)] {
        let mut world = World::new(plan(), Queue::new(answers_in, NEVER));
        let told = Intervals::default();
        world.world.with(world.load, |load| load.observe(Box::new(told.clone())));
        world.world.run_for(ms(500));
        world.world.stop(world.load);
        assert_eq!(told.0.borrow().len(), intervals);
    }
}

#[test]
fn intervals_begin_with_the_plan_however_long_the_machine_has_been_up() {
    let timed = LoadPlan { duration: Some(ms(3_500)), warm_up: ms(250), ..plan() };
    let mut world = World::new(timed, Queue::new(ms(1), NEVER));
    let (began, told) = (world.world.now() + ms(1), Intervals::default());
    assert!(began > Instant::ZERO + ms(1), "the machine has been up for a while");
    world.world.with(world.load, |load| load.observe(Box::new(told.clone())));
    world.go();
    let told = told.0.borrow();
    let expected: Vec<_> =
        (0..3).map(|n| (began + ms(1_000 * n), began + ms(1_000 * (n + 1)))).collect();
    let spans: Vec<_> = told.iter().map(|(from, to, _)| (*from, *to)).collect();
    assert_eq!(spans[..3], expected);
    // The last 750 ms are told too, with what was under way at their end.
    let [(from, to)] = spans[3..] else { panic!("one more interval: {spans:?}") };
    assert_eq!(from, began + ms(3_000));
    assert!(to >= began + ms(3_750) && to < began + ms(4_000), "{spans:?}");
}

#[test]
fn intervals_hold_every_answer_of_a_run() {
    let (plan, told) = (LoadPlan { requests: Some(1_700), ..plan() }, Intervals::default());
    let mut world = World::new(plan, Queue::new(ms(1), NEVER));
    world.world.with(world.load, |load| load.observe(Box::new(told.clone())));
    world.go();
    let in_intervals: u64 = told.0.borrow().iter().map(|(.., answers)| answers).sum();
    assert_eq!(told.0.borrow().len(), 2);
    assert_eq!((in_intervals, world.into_tally().whole().answers), (1_700, 1_700));
}

/// All of a short run may happen before any time-out comes: what is measured then would have lasted no time.
#[test]
fn the_watcher_hears_of_the_beginning_before_the_first_request_goes() {
    struct Hears(Rc<RefCell<Vec<Instant>>>);
    impl Watch for Hears {
        fn handle_began(&mut self, now: Instant) {
            self.0.borrow_mut().push(now);
        }
        fn handle_interval(&mut self, _: &Interval) {}
        fn handle_ended(&mut self, _: Instant) {}
    }
    let began = Rc::new(RefCell::new(Vec::new()));
    let mut load = Load::new(LoadPlan { connections: 1, requests: Some(1), ..plan() });
    load.observe(Box::new(Hears(Rc::clone(&began))));
    load.handle_start(Instant::ZERO);
    let connected = Instant::ZERO + ms(1);
    load.handle_connected(connected, SocketId(0), "10.0.0.1:1".parse().unwrap());
    assert_eq!(*began.borrow(), [connected]);
}
