//! Responses that wait without their streams, and those that are sent again without asking the application: nothing else may differ from a
//! server whose application answers each request and hears of each stream.

use super::hand::{ByHand, GET, coded, section};
use super::*;
use crate::schedule::{Incremental, Priority};
use proptest::prelude::*;
use std::time::Duration;
use wire::h3::Frame;

const SOON: Duration = Duration::from_secs(1);

/// What the application answers: by its path, a body of so many bytes.
const BODIES: [usize; 7] = [13, 0, 128, 5_000, 13, 13, 13];

/// What it answers late.
const LATE: usize = 4;

/// What it answers with a priority.
const RANKED: usize = 5;

/// What has an early head.
const HINTED: usize = 6;

/// A server, and whether its application lets responses be sent again.
struct Answering {
    server: Server,
    may_repeat: bool,
    heads: Vec<ResponseHead>,
    /// Requests that the application heard of, or the machine answered.
    requests: usize,
    asked: usize,
    /// Responses that waited without their streams, of those that the application was asked for.
    released: Vec<StreamId>,
    /// Requests that it answers late.
    late: Vec<StreamId>,
}

/// Bytes of a stream that a server sends.
type Sent = (u64, Vec<u8>, Fin);

impl Answering {
    fn new(settings: Settings, policy: Policy, may_repeat: bool) -> Self {
        let head = |(number, length): (usize, &usize)| {
            let mut head = ResponseHead::new(Status::OK);
            head.fields = Fields::new().with("content-length", length.to_string());
            head.fields.push(b"server", b"a server of some name");
            if number == RANKED {
                head.fields.push(b"priority", b"u=2, i");
            }
            head.fields.validate();
            head
        };
        let server = Server::new(NOW, settings, policy.scheduler(), Tracer::off());
        let heads = BODIES.iter().enumerate().map(head).collect();
        Self {
            server,
            may_repeat,
            heads,
            requests: 0,
            asked: 0,
            released: Vec::new(),
            late: Vec::new(),
        }
    }

    fn take(&mut self, now: Instant, (stream, bytes, fin): &Sent) {
        let mut input = &bytes[..];
        while let Some(event) = self.server.handle_stream(now, StreamId(*stream), &mut input, *fin)
        {
            match event {
                Event::Request { stream, head, .. } => self.answer(now, stream, &head),
                Event::Reset { stream, .. } => assert!(!self.released.contains(&stream)),
                _ => {}
            }
        }
        let again = self.server.take_repeats();
        assert!(again == 0 || self.may_repeat);
        self.requests += again;
    }

    fn answer(&mut self, now: Instant, stream: StreamId, head: &RequestHead) {
        self.requests += 1;
        self.asked += 1;
        match head.path.trim_matches('/').parse().unwrap() {
            LATE => self.late.push(stream),
            number => self.respond(now, stream, number),
        }
    }

    fn respond(&mut self, now: Instant, stream: StreamId, number: usize) {
        let (head, length) = (&self.heads[number], BODIES[number]);
        if number == HINTED {
            // Refused where the client has given it up, as the response is.
            let _refused = self.server.inform(stream, &ResponseHead::new(Status::EARLY_HINTS));
        }
        let fin = if length == 0 { Fin::Last } else { Fin::More };
        if self.server.respond(stream, head, fin).is_err() {
            // The client has given it up.
            return;
        }
        if length > 0 {
            self.server.send(stream, vec![number as u8; length].into(), Fin::Last).unwrap();
        }
        if self.may_repeat {
            if number != LATE {
                self.server.allow_repeats(stream, now + SOON);
            }
            if self.server.release(stream) {
                self.released.push(stream);
            }
        }
    }

    fn send(&mut self, now: Instant, limit: usize) -> Option<Sent> {
        let mut out = SendBuf::new();
        let sent = self.server.poll_stream_transmit(now, &mut out, limit)?;
        Some((sent.stream.0, out.to_vec(), sent.fin))
    }

    fn actions(&mut self, now: Instant) -> Vec<StreamAction> {
        while let Some(event) = self.server.poll_event(now) {
            if let Event::Reset { stream, .. } = event {
                assert!(!self.released.contains(&stream), "the application is done with it");
            }
        }
        std::iter::from_fn(|| self.server.poll_stream_action()).collect()
    }
}

/// One client of two servers that get the same, of which one may answer by itself.
struct Both {
    now: Instant,
    client: Client,
    servers: [Answering; 2],
    streams: Vec<StreamId>,
}

impl Both {
    fn new(capacity: usize, policy: Policy) -> Self {
        let bounds = |settings| Settings { qpack_table_capacity: capacity, ..settings };
        let servers =
            [false, true].map(|may| Answering::new(bounds(Settings::server()), policy, may));
        let client = client(bounds(Settings::client()));
        Self { now: NOW, client, servers, streams: Vec::new() }
    }

    /// Three responses that are sent again wait, and the application does not know of them.
    fn with_three_waiting() -> Self {
        let mut both = Self::new(0, Policy::Auto);
        for _ in 0..6 {
            both.ask(0, None);
            both.settle();
        }
        let asked = both.servers[1].asked;
        (0..3).for_each(|_| both.ask(0, None));
        both.up(usize::MAX);
        assert_eq!(both.servers[1].asked, asked);
        both
    }

    fn ask(&mut self, number: usize, priority: Option<&str>) {
        let mut head = get(&format!("/{}", number % BODIES.len()));
        head.fields.push(b"user-agent", b"a client of some name");
        if let Some(priority) = priority {
            head.fields.push(b"priority", priority.as_bytes());
        }
        head.fields.validate();
        self.streams.extend(self.client.request(self.now, &head, Fin::Last));
    }

    /// What the client sends goes to both.
    fn up(&mut self, limit: usize) {
        let sent = self.sent(limit);
        self.arrive(sent);
    }

    /// The same, but the streams overtake each other.
    fn up_in_disorder(&mut self) {
        let mut sent = self.sent(usize::MAX);
        sent.reverse();
        self.arrive(sent);
    }

    fn sent(&mut self, limit: usize) -> Vec<Sent> {
        let (mut out, mut all) = (SendBuf::new(), Vec::new());
        while let Some(sent) = self.client.poll_stream_transmit(self.now, &mut out, limit) {
            all.push((sent.stream.0, out.to_vec(), sent.fin));
            out.clear();
        }
        all
    }

    fn arrive(&mut self, sent: Vec<Sent>) {
        for one in sent {
            self.servers.iter_mut().for_each(|server| server.take(self.now, &one));
        }
        while let Some(action) = self.client.poll_stream_action() {
            for Answering { server, .. } in &mut self.servers {
                match action {
                    StreamAction::Reset { stream, code } => {
                        server.handle_stream_reset(self.now, stream, code);
                    }
                    StreamAction::StopSending { stream, code } => {
                        server.handle_stop_sending(self.now, stream, code);
                    }
                    _ => {}
                }
            }
        }
    }

    /// What both send is the same, and goes to the client. False where they send nothing.
    fn down(&mut self, limit: usize) -> bool {
        let [one, other] = self.servers.each_mut().map(|server| server.send(self.now, limit));
        assert_eq!(one, other);
        let actions = self.servers.each_mut().map(|it| it.actions(self.now));
        assert_eq!(actions[0], actions[1]);
        let [actions, _] = actions;
        for action in actions {
            if let StreamAction::Reset { stream, code } = action {
                self.client.handle_stream_reset(self.now, stream, code);
            }
        }
        let Some((stream, bytes, fin)) = one else { return false };
        let mut input = &bytes[..];
        while self.client.handle_stream(self.now, StreamId(stream), &mut input, fin).is_some() {}
        while self.client.poll_event(self.now).is_some() {}
        true
    }

    fn check(&self) {
        let [one, other] = &self.servers;
        assert_eq!(one.requests, other.requests);
        let seen = |server: &Server| {
            let times = (server.wants_transmit(), server.poll_timeout(), server.state());
            (times, server.header_bytes())
        };
        assert_eq!(seen(&one.server), seen(&other.server));
    }

    fn settle(&mut self) {
        self.up(usize::MAX);
        while self.down(usize::MAX) {
            self.up(usize::MAX);
        }
        assert!(self.servers.iter().all(|it| !it.server.has_released()));
        self.check();
    }
}

/// One thing that happens; the numbers choose which and how.
fn step(both: &mut Both, (kind, a, b): (u8, usize, usize)) {
    let recent = |both: &Both| both.streams.iter().rev().nth(a % 6).copied();
    match kind {
        0..=7 => both.ask(a, ["u=1", "i"].get(b % 16).copied()),
        8 => both.up_in_disorder(),
        9..=11 => both.up(if b % 4 == 0 { 1 + b } else { usize::MAX }),
        12..=19 => {
            let limit = if b % 3 == 0 { 1 + b } else { 10_000 };
            (0..=a % 8).for_each(|_| _ = both.down(limit));
        }
        20 => {
            if let Some(stream) = recent(both) {
                let incremental = Incremental::Whole;
                both.client.prioritise(stream, Priority::Urgency { urgency: 1, incremental });
            }
        }
        21 => {
            if let Some(stream) = recent(both) {
                both.client.reset(both.now, stream);
            }
        }
        22 => both.now += SOON.mul_f64(b as f64 / 1_000.0),
        23 => {
            let now = both.now;
            for server in &mut both.servers {
                let late = std::mem::take(&mut server.late);
                late.into_iter().for_each(|stream| server.respond(now, stream, LATE));
            }
        }
        24 => {
            let due = both.servers[0].server.poll_timeout();
            both.now = due.filter(|_| b % 8 == 0).map_or(both.now, |due| due.max(both.now));
            let now = both.now;
            both.servers.iter_mut().for_each(|it| it.server.handle_timeout(now));
        }
        25 => {
            if let Some(stream) = recent(both) {
                let priority =
                    Priority::Decided { urgency: (b % 8) as u8, incremental: Incremental::Whole };
                both.servers.iter_mut().for_each(|it| it.server.prioritise(stream, priority));
            }
        }
        26 if b % 16 == 0 => {
            let now = both.now;
            both.servers.iter_mut().for_each(|it| it.server.shutdown(now));
        }
        _ => both.settle(),
    }
    both.check();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The bytes of each stream, their order, what the connection asks of its transport and what it waits for are the same,
    /// whatever else happens.
    #[test]
    fn a_response_that_is_sent_again_is_the_one_that_the_application_would_have_sent(
        capacity in prop_oneof![Just(0_usize), Just(4096)],
        policy in (0..2 * Policy::ALL.len()).prop_map(|at| Policy::ALL.get(at).copied().unwrap_or_default()),
        steps in proptest::collection::vec((0..30_u8, 0..64_usize, 0..1_000_usize), 1..120),
        ends in any::<bool>(),
    ) {
        let mut both = Both::new(capacity, policy);
        steps.into_iter().for_each(|one| step(&mut both, one));
        if ends {
            let now = both.now;
            both.servers.iter_mut().for_each(|it| it.server.shutdown(now));
        }
        both.settle();
        prop_assert!(both.servers[1].asked <= both.servers[0].asked);
    }
}

#[test]
fn a_request_that_comes_again_is_answered_without_the_application_until_its_time_is_over() {
    for capacity in [0, 4096] {
        let mut both = Both::new(capacity, Policy::Auto);
        let asked = |both: &mut Both, number| {
            let before = both.servers[1].asked;
            both.ask(number, None);
            both.settle();
            both.servers[1].asked - before
        };
        // Its section is kept when it comes the second time, and its response's when the client has acknowledged all entries.
        let first: Vec<usize> = (0..6).map(|_| asked(&mut both, 0)).collect();
        assert_eq!(first[0], 1);
        assert_eq!(first[5], 0, "{first:?}");
        assert_eq!(asked(&mut both, 1), 1, "another request");
        assert_eq!(asked(&mut both, 0), 0);
        both.now += SOON;
        assert_eq!(asked(&mut both, 0), 1);
        assert_eq!(asked(&mut both, 0), 0);
    }
}

#[test]
fn a_small_response_waits_without_its_stream_where_nothing_else_is_under_way() {
    let mut both = Both::new(0, Policy::Auto);
    let mut released = |numbers: &[usize], priority| {
        let before = both.servers[1].released.len();
        numbers.iter().for_each(|&number| both.ask(number, priority));
        both.up(usize::MAX);
        let now = both.servers[1].released.len() - before;
        both.settle();
        now
    };
    assert_eq!(released(&[0, 1, 2], None), 3);
    assert_eq!(released(&[3, 0], None), 0, "a large one is under way");
    assert_eq!(released(&[0, 3, 0], None), 1);
    assert_eq!(released(&[0, 0], Some("u=1")), 0, "the client ranks them");
    assert_eq!(released(&[RANKED], None), 0, "the application ranks it");
    assert_eq!(released(&[LATE], None), 0);
}

#[test]
fn what_waits_to_be_sent_again_goes_in_the_order_that_priorities_ask_for() {
    let mut both = Both::with_three_waiting();
    both.ask(2, Some("u=0"));
    both.up(usize::MAX);
    let waiting = both.streams.split_off(both.streams.len() - 4);
    let order = |server: &mut Answering| {
        std::iter::from_fn(|| server.send(NOW, 10_000)).map(|(stream, ..)| stream).collect()
    };
    let orders: [Vec<u64>; 2] = both.servers.each_mut().map(order);
    let urgent_first = [3, 0, 1, 2].map(|at: usize| waiting[at].0);
    assert_eq!(orders, [urgent_first; 2]);
}

#[test]
fn a_request_that_comes_again_goes_by_what_the_client_has_said_of_it_before() {
    let mut both = Both::with_three_waiting();
    both.settle();
    (0..2).for_each(|_| both.ask(0, None));
    let [.., late, soon] = both.streams[..] else { panic!("{:?}", both.streams) };
    let last = Priority::Urgency { urgency: 7, incremental: Incremental::Whole };
    both.client.prioritise(late, last);
    // The control stream's bytes come first, then the requests by their numbers.
    let mut sent = both.sent(usize::MAX);
    sent.sort_by_key(|&(stream, ..)| (stream & 2 == 0, stream));
    both.arrive(sent);
    let order = |server: &mut Answering| {
        std::iter::from_fn(|| server.send(NOW, 10_000))
            .map(|(stream, ..)| StreamId(stream))
            .filter(|stream| [late, soon].contains(stream))
            .collect()
    };
    let orders: [Vec<StreamId>; 2] = both.servers.each_mut().map(order);
    assert_eq!(orders, [[soon, late], [soon, late]]);
}

#[test]
fn a_response_that_waits_to_be_sent_again_can_be_refused() {
    let mut both = Both::with_three_waiting();
    let refused = both.streams[both.streams.len() - 2];
    both.client.reset(both.now, refused);
    both.up(usize::MAX);
    let resets = both.servers.each_mut().map(|it| it.actions(NOW));
    let is_reset = |action: &StreamAction| matches!(action, StreamAction::Reset { stream, .. } if *stream == refused);
    assert!(resets.iter().all(|actions| actions.iter().any(is_reset)), "{resets:?}");
    both.settle();
}

#[test]
fn an_orderly_end_waits_for_responses_that_are_sent_again() {
    let mut hand = ByHand::greeted(Settings::server());
    let request = coded(&[Frame::Headers(&section(&GET))]);
    let mut head = ResponseHead::new(Status::OK);
    head.fields = Fields::new().with("server", "x");
    head.fields.validate();
    let mut id = 0;
    while hand.server.take_repeats() == 0 {
        hand.actions();
        hand.events.clear();
        hand.bytes(id, &request, Fin::Last);
        if let [Owned::Request(stream, ..)] = hand.events[..] {
            hand.server.respond(StreamId(stream), &head, Fin::Last).unwrap();
            hand.server.allow_repeats(StreamId(stream), NOW + 3_600 * SOON);
        }
        id += 4;
        assert!(id < 40, "it is never answered by itself");
    }
    hand.server.shutdown(NOW);
    let due = hand.server.poll_timeout().unwrap();
    hand.server.handle_timeout(due);
    assert_ne!(hand.server.state(), ConnectionState::Closed);
    let mut input = &request[..];
    assert!(hand.server.handle_stream(due, StreamId(id), &mut input, Fin::Last).is_none());
    assert_eq!(hand.server.take_repeats(), 0, "one that comes again, too, comes too late");
    assert!(hand.closed_with().is_some(), "with the last response the connection ends");
    assert_eq!(hand.server.state(), ConnectionState::Closed);
}

/// Looks at no event.
#[derive(Debug)]
struct Nobody;

impl trace::Sink for Nobody {
    fn record(&self, _now: Instant, _connection: u64, _event: &trace::Event<'_>) {}
}

#[test]
fn a_traced_connection_has_the_application_answer_each_request() {
    let asked = |tracer| {
        let mut server = Server::new(NOW, Settings::server(), Policy::Auto.scheduler(), tracer);
        let request = coded(&[Frame::Headers(&section(&GET))]);
        let mut head = ResponseHead::new(Status::OK);
        head.fields.validate();
        let asked = (0..40).step_by(4).filter(|&id| {
            let events = give(&mut server, id, &request, Fin::Last);
            if !events.is_empty() {
                server.respond(StreamId(id), &head, Fin::Last).unwrap();
                server.allow_repeats(StreamId(id), NOW + SOON);
            }
            while server.poll_stream_transmit(NOW, &mut SendBuf::new(), 10_000).is_some() {}
            !events.is_empty()
        });
        asked.count()
    };
    assert_eq!(asked(Tracer::to(std::rc::Rc::new(Nobody))), 10);
    assert!(asked(Tracer::off()) < 5);
}

#[test]
fn a_response_to_a_request_with_a_body_or_with_a_head_before_it_is_not_sent_again() {
    for (has_body, has_early_head) in [(false, false), (true, false), (false, true)] {
        let mut hand = ByHand::greeted(Settings::server());
        let fields = Fields::new().with("server", "x");
        let mut head = ResponseHead { status: Status::OK, fields };
        head.fields.validate();
        let request = coded(&[Frame::Headers(&section(&GET))]);
        for id in (0..40).step_by(4) {
            hand.events.clear();
            hand.bytes(id, &request, if has_body { Fin::More } else { Fin::Last });
            if has_body {
                hand.bytes(id, &coded(&[Frame::Data(b"body")]), Fin::Last);
            }
            if hand.events.is_empty() {
                break;
            }
            let stream = StreamId(id);
            if has_early_head {
                hand.server.inform(stream, &ResponseHead::new(Status::EARLY_HINTS)).unwrap();
            }
            hand.server.respond(stream, &head, Fin::Last).unwrap();
            hand.server.allow_repeats(stream, NOW + SOON);
            hand.actions();
        }
        // The same head without a body after it: the application is to say what that gets.
        hand.events.clear();
        hand.bytes(40, &request, Fin::Last);
        let is_asked = matches!(hand.events[..], [Owned::Request(40, ..)]);
        assert_eq!(is_asked, has_body || has_early_head, "{has_body} {has_early_head}");
    }
}
