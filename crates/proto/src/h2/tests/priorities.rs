//! Every way in which priorities are said reaches the scheduler.

use super::*;
use crate::h2::{Group, PrioritySignal};
use crate::schedule::{Policy, Priority, PriorityField, Scheduler};
use crate::{
    ClientConnection, Fields, Fin, RequestHead, ResponseHead, Scheme, ServerConnection, Status,
    StreamId,
};
use std::cell::RefCell;
use std::rc::Rc;
use wire::h2::{Dependency, SettingId};

/// Writes down its calls, and sends in turns.
#[derive(Debug, Default)]
struct Recorder {
    told: Rc<RefCell<Vec<String>>>,
    turns: RoundRobin,
}

impl Recorder {
    fn note(&self, stream: StreamId, priority: Priority) {
        let what = match priority {
            Priority::Unset => "opens".to_owned(),
            Priority::Urgency { urgency, incremental } => format!("u={urgency} {incremental:?}"),
            Priority::Dependency { parent, weight, exclusive } => {
                format!("under {} by {weight} {exclusive:?}", parent.0)
            }
            Priority::Level(level) => format!("level {level}"),
            Priority::Decided { urgency, .. } => format!("decided {urgency}"),
        };
        self.told.borrow_mut().push(format!("{}: {what}", stream.0));
    }
}

impl Scheduler for Recorder {
    fn insert(&mut self, stream: StreamId, priority: Priority) {
        self.note(stream, priority);
    }
    fn insert_promised(&mut self, stream: StreamId, parent: StreamId) {
        self.told.borrow_mut().push(format!("{}: promised under {}", stream.0, parent.0));
    }
    fn reprioritise(&mut self, stream: StreamId, priority: Priority) {
        self.note(stream, priority);
    }
    fn merge_response(&mut self, stream: StreamId, field: PriorityField) {
        self.told.borrow_mut().push(format!("{}: response {field}", stream.0));
    }
    fn peer_sends_no_dependencies(&mut self) {
        self.told.borrow_mut().push("no dependencies".to_owned());
    }
    fn remove(&mut self, stream: StreamId) {
        self.turns.remove(stream);
    }
    fn ready(&mut self, stream: StreamId) {
        self.turns.ready(stream);
    }
    fn blocked(&mut self, stream: StreamId) {
        self.turns.blocked(stream);
    }
    fn next(&mut self) -> Option<StreamId> {
        self.turns.next()
    }
    fn sent(&mut self, stream: StreamId, bytes: usize) {
        self.turns.sent(stream, bytes);
    }
}

fn recorded() -> (ByHand, Rc<RefCell<Vec<String>>>) {
    let mut hand = ByHand::greeted(Settings::server());
    let recorder = Recorder::default();
    let told = Rc::clone(&recorder.told);
    hand.server.session.replace_scheduler(Box::new(recorder));
    (hand, told)
}

/// As Firefox has it from 37 on: the groups come before the first request, which has a number behind theirs.
#[test]
fn groups_are_announced_before_the_first_request_and_keep_their_numbers() {
    let group = |stream, parent, weight| Group { stream, parent, weight };
    let groups = vec![group(3, 0, 201), group(11, 3, 1), group(4, 0, 1), group(5, 0, 0)];
    let begun = |priority_signal| {
        let settings = Settings { priority_signal, groups: groups.clone(), ..Settings::client() };
        let mut client = client(settings);
        let mut out = SendBuf::new();
        client.poll_transmit(Instant::ZERO, &mut out, 1 << 16);
        let greeting = out.to_vec();
        let mut hand = ByHand::greeted(Settings::server());
        let recorder = Recorder::default();
        let told = Rc::clone(&recorder.told);
        hand.server.session.replace_scheduler(Box::new(recorder));
        // Behind the preface: what `greeted` has said already.
        hand.give(&greeting[24..]);
        let head = RequestHead::get(Scheme::Http, "a", "/");
        let place = Priority::Dependency {
            parent: StreamId(11),
            weight: 32,
            exclusive: crate::schedule::Exclusive::Shared,
        };
        let stream = client.request_at(Instant::ZERO, &head, Fin::Last, place).unwrap();
        (told.take(), stream)
    };
    let (told, first) = begun(PrioritySignal::Dependencies);
    // Neither an even number nor a weight of 0 goes onto the wire.
    assert_eq!(told, ["3: under 0 by 201 Shared", "11: under 3 by 1 Shared"]);
    assert_eq!(first, StreamId(13));
    assert_eq!(begun(PrioritySignal::Urgencies), (Vec::new(), StreamId(1)));
}

#[test]
fn fields_updates_and_priority_frames_are_heard_and_the_early_update_goes_before_the_field() {
    let (mut hand, told) = recorded();
    hand.frame(Frame::PriorityUpdate { prioritised: 3, value: b"u=1, i" });
    hand.request(1, true, &[("priority", "u=5")]);
    hand.request(3, true, &[("priority", "u=7")]);
    let dependency = Dependency { parent: 1, exclusive: true, weight: 255 };
    hand.frame(Frame::Priority { stream: 3, dependency });
    hand.frame(Frame::PriorityUpdate { prioritised: 1, value: b"u=0" });
    let expected = [
        "1: opens",
        "1: u=5 Whole",
        "3: opens",
        "3: u=1 Parts",
        "3: under 1 by 256 Sole",
        "1: u=0 Whole",
    ];
    assert_eq!(*told.borrow(), expected);
}

#[test]
fn a_dependency_in_headers_is_heard_beside_the_field_and_several_fields_are_one_list() {
    let (mut hand, told) = recorded();
    let request = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")];
    let fields = [&request[..], &[("priority", "u=2"), ("priority", "i")]].concat();
    let block = &hand.block(&fields);
    let dependency = Some(Dependency { parent: 0, exclusive: false, weight: 15 });
    let (end_stream, end_headers, padding) = (true, true, None);
    let stream = 1;
    hand.frame(Frame::Headers { stream, block, end_stream, end_headers, dependency, padding });
    assert_eq!(*told.borrow(), ["1: under 0 by 16 Shared", "1: u=2 Parts"]);
}

#[test]
fn the_responses_own_field_is_heard_and_a_promise_depends_on_its_stream() {
    let (mut hand, told) = recorded();
    hand.request(1, true, &[]);
    let head = RequestHead::get(Scheme::Http, "a", "/pushed");
    let promised = hand.server.promise(StreamId(1), &head).unwrap();
    let fields = Fields::new().with("priority", "u=0");
    let response = ResponseHead { status: Status::OK, fields };
    hand.server.respond(StreamId(1), &response, Fin::Last).unwrap();
    hand.server.respond(promised, &ResponseHead::new(Status::OK), Fin::Last).unwrap();
    assert_eq!(*told.borrow(), ["1: opens", "2: promised under 1", "1: response u=0"]);
}

#[test]
fn only_the_first_settings_rule_dependencies_out() {
    let none = [Setting { id: SettingId::NO_RFC7540_PRIORITIES, value: 1 }];
    for (first, later, expected) in [(&none[..], &[][..], 1), (&[][..], &none[..], 0)] {
        let recorder = Recorder::default();
        let told = Rc::clone(&recorder.told);
        let mut server =
            Server::new(Instant::ZERO, Settings::server(), Box::new(recorder), Tracer::off());
        let mut hello = PREFACE.to_vec();
        Setting::encode_all(first, &mut hello);
        Setting::encode_all(later, &mut hello);
        assert_eq!(events(&mut server, Instant::ZERO, &hello), []);
        assert_eq!(told.borrow().len(), expected, "{first:?} {later:?}");
    }
}

#[test]
fn a_late_image_overtakes_by_a_priority_frame_alone_as_chromium_raises_it() {
    let mut hand = ByHand::greeted(Settings::server());
    hand.server.session.replace_scheduler(Policy::Auto.scheduler());
    for stream in [1, 3] {
        hand.request(stream, true, &[("priority", "u=3, i")]);
        hand.server
            .respond(StreamId(u64::from(stream)), &ResponseHead::new(Status::OK), Fin::More)
            .unwrap();
        hand.server.send(StreamId(u64::from(stream)), vec![0; 30_000].into(), Fin::Last).unwrap();
    }
    let under = |parent| Dependency { parent, exclusive: true, weight: 146 };
    hand.frame(Frame::Priority { stream: 1, dependency: under(0) });
    hand.frame(Frame::Priority { stream: 3, dependency: under(1) });
    let mut out = SendBuf::new();
    hand.server.poll_transmit(hand.now, &mut out, 1_500);
    hand.frame(Frame::Priority { stream: 3, dependency: under(0) });
    hand.server.poll_transmit(hand.now, &mut out, 1_500);
    let frames = split(&out.to_vec());
    let data: Vec<u32> = frames.iter().filter(|f| f.0 == "DATA").map(|f| f.1).collect();
    assert_eq!(data, [1, 3], "{frames:?}");
}

/// The streams of the DATA frames in one call, before and after the application has had its events.
fn data_of_two_bodies(keeps_turn: bool) -> [Vec<u32>; 2] {
    let mut hand = ByHand::greeted(Settings::server());
    hand.server.session.replace_scheduler(Policy::Fifo.scheduler());
    for (stream, fin) in [(1, Fin::More), (3, Fin::Last)] {
        hand.request(stream, true, &[]);
        let stream = StreamId(u64::from(stream));
        hand.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
        hand.server.send(stream, vec![0; 1_000].into(), fin).unwrap();
        if keeps_turn {
            hand.server.keep_turn(stream);
        }
    }
    let data = |hand: &mut ByHand| {
        let frames = hand.take().into_iter().filter(|(kind, ..)| *kind == "DATA");
        frames.map(|(_, stream, _)| stream).collect()
    };
    let first = data(&mut hand);
    assert_eq!(hand.give(&[]), [Owned::Other("Writable { stream: StreamId(1) }".to_owned())]);
    hand.server.send(StreamId(1), vec![0; 1_000].into(), Fin::Last).unwrap();
    [first, data(&mut hand)]
}

#[test]
fn a_body_that_is_queued_by_pieces_is_overtaken_unless_it_keeps_its_turn() {
    assert_eq!(data_of_two_bodies(false), [vec![1, 3], vec![1]]);
    assert_eq!(data_of_two_bodies(true), [vec![1], vec![1, 3]]);
}

#[test]
fn a_body_that_keeps_its_turn_and_has_nothing_more_lets_the_others_go() {
    let mut hand = ByHand::greeted(Settings::server());
    for stream in [1, 3] {
        hand.request(stream, true, &[]);
        let stream = StreamId(u64::from(stream));
        hand.server.respond(stream, &ResponseHead::new(Status::OK), Fin::More).unwrap();
        hand.server.send(stream, vec![0; 1_000].into(), Fin::More).unwrap();
        hand.server.keep_turn(stream);
    }
    for stream in [1, 3] {
        let frames = hand.take();
        assert!(frames.iter().any(|(kind, of, _)| (*kind, *of) == ("DATA", stream)), "{frames:?}");
        assert!(!hand.server.wants_transmit());
        assert_eq!(hand.give(&[]).len(), 1);
    }
}
