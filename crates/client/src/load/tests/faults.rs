//! Servers that refuse, reset, fall silent and talk rubbish: each fault has its kind, the run ends, and nobody spins.

use super::*;

/// A server whose every request has the same end.
struct Always(Vec<Deed>);

impl Peer for Always {
    fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
        self.0.iter().map(|deed| (now + ms(1), deed.clone())).collect()
    }
}

fn says(text: &str) -> Deed {
    Deed::Says(text.as_bytes().to_vec())
}

fn forty() -> LoadPlan {
    LoadPlan { connections: 4, requests: Some(40), timeout: ms(300), ..plan() }
}

fn faults(deeds: Vec<Deed>) -> Faults {
    let mut world = World::new(forty(), Always(deeds));
    world.go();
    // A connection that brought nothing is followed by another one after a rest: 10, 20, 40, 80, 100, 100 … ms.
    assert!(world.world.elapsed() > ms(500), "it rests between attempts");
    assert!(world.connects() <= 50, "{} connects", world.connects());
    let tally = world.into_tally();
    assert_eq!((tally.whole().answers, tally.whole().faults.total()), (0, 40));
    tally.whole().faults
}

#[test]
fn every_end_of_a_connection_has_its_kind() {
    for (deeds, kind) in [
        (vec![Deed::Resets], Fault::Reset),
        (vec![Deed::Ends], Fault::Closed),
        (vec![says("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), Deed::Ends], Fault::Closed),
        (vec![says("HTTP/1.1 200 OK\r\ncont"), Deed::Resets], Fault::Reset),
        (vec![says("\x16\x03\x01\x00 rubbish\r\n\r\n")], Fault::Protocol),
        (vec![says("SSH-2.0-OpenSSH\r\n\r\n")], Fault::Protocol),
        (vec![says("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n")], Fault::Protocol),
    ] {
        assert_eq!(faults(deeds.clone()).of(kind), 40, "{deeds:?}");
    }
}

#[test]
fn of_a_server_that_breaks_the_protocol_the_rule_is_kept() {
    let broken = says("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n");
    let (tally, _) = World::run(forty(), Always(vec![broken]));
    let rule = tally.causes.get(&Fault::Protocol).unwrap();
    assert!(rule.contains("RFC"), "{rule}");
}

#[test]
fn silence_is_a_time_out_that_ends_the_connection() {
    let mut world = World::new(forty(), Always(Vec::new()));
    world.go();
    let tally = world.into_tally();
    assert_eq!(tally.whole().faults.of(Fault::TimedOut), 40);
    assert!(tally.connects.opened >= 40);
}

/// Bytes that come one a time and never make a head are bounded too: by the head's limit and by the time-out.
#[test]
fn an_endless_head_is_no_answer() {
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    assert_eq!(faults(vec![says(&endless)]).of(Fault::Protocol), 40);
}

#[test]
fn bytes_that_nobody_asked_for_end_the_connection_and_cost_no_request() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let mut world = World::new(forty(), Always(vec![says(&format!("{answer}{answer}"))]));
    world.go();
    let tally = world.into_tally();
    assert_eq!(tally.whole().answers + tally.whole().faults.total(), 40);
    assert_eq!(tally.whole().answers, 40, "each answer came whole");
}

#[test]
fn where_nobody_listens_the_run_is_over_at_once() {
    struct Closed(SocketError);
    impl Peer for Closed {
        fn connect(&mut self, _nth: usize) -> ConnectOutcome {
            ConnectOutcome::Fail(self.0)
        }
        fn request(&mut self, _now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            Vec::new()
        }
    }
    for (error, kind) in [
        (SocketError::Refused, Fault::ConnectRefused),
        (SocketError::TimedOut, Fault::ConnectTimedOut),
        (SocketError::NoDescriptors, Fault::NoDescriptors),
        (SocketError::NoPorts, Fault::NoPorts),
    ] {
        let (tally, _) = World::run(forty(), Closed(error));
        assert_eq!((tally.connects.opened, tally.connects.faults.of(kind)), (0, 4));
        assert_eq!((tally.began, tally.whole().ended()), (None, 0));
    }
}

/// Descriptors for two of four connections: the two do the work, the attempts of the others take a request each and
/// rest ever longer.
#[test]
fn too_few_descriptors_are_a_fault_of_their_own_and_no_spin() {
    struct Scarce(usize);
    impl Peer for Scarce {
        fn connect(&mut self, _nth: usize) -> ConnectOutcome {
            self.0 += 1;
            match self.0 {
                1..=2 => ConnectOutcome::Accept,
                _ => ConnectOutcome::Fail(SocketError::NoDescriptors),
            }
        }
        fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            vec![(now + ms(1), Deed::Says(OK.to_vec()))]
        }
    }
    let timed = LoadPlan { connections: 4, duration: Some(ms(2_000)), ..plan() };
    let (tally, peer) = World::run(timed, Scarce(0));
    let whole = tally.whole();
    assert!(whole.answers >= 3_900, "{}", whole.answers);
    let scarce = tally.connects.faults.of(Fault::NoDescriptors);
    assert_eq!(scarce as usize, peer.borrow().0 - 2);
    assert!((20..60).contains(&scarce), "{scarce} attempts in two seconds");
    assert_eq!(
        whole.faults.of(Fault::NoDescriptors) + 2,
        scarce,
        "two came before the clock began"
    );
}

#[test]
fn an_answer_that_refuses_is_an_answer_and_is_counted_apart() {
    let (tally, _) = World::run(
        forty(),
        Always(vec![says("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n")]),
    );
    let whole = tally.whole();
    assert_eq!((whole.answers, whole.refused, whole.faults.total()), (40, 40, 0));
    assert_eq!(tally.statuses().collect::<Vec<_>>(), [(503, 40)]);
}

/// The last requests are lost with their connections: there is nothing left to open one for, and the run is over.
#[test]
fn a_run_by_number_ends_where_its_last_connections_are_lost() {
    for deed in [Deed::Ends, Deed::Resets] {
        struct Loses(Deed);
        impl Peer for Loses {
            fn request(&mut self, now: Instant, _nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
                vec![(now + ms(1), Deed::Says(OK.to_vec())), (now + ms(1), self.0.clone())]
            }
        }
        for connections in [1, 4] {
            let plan = LoadPlan { requests: Some(4), connections, ..plan() };
            let mut world = World::new(plan, Loses(deed.clone()));
            world.go();
            assert!(world.connects() <= 4, "{}", world.connects());
            assert_eq!(world.into_tally().whole().ended(), 4);
        }
    }
}

/// HTTP/2 whose settings allow no stream: what comes before them is not answered, and what comes after cannot be asked.
#[test]
fn a_server_that_allows_no_stream_lets_its_requests_run_out_of_time() {
    struct NoStream;
    impl Peer for NoStream {
        fn request(&mut self, now: Instant, nth: usize, _own: usize) -> Vec<(Instant, Deed)> {
            // RFC 9113 §6.5: SETTINGS with MAX_CONCURRENT_STREAMS = 0.
            let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0];
            match nth {
                0 => vec![(now + ms(1), Deed::Says(settings.to_vec()))],
                _ => Vec::new(),
            }
        }
    }
    let tls = secure::ClientTls::new(Default::default()).unwrap();
    let mut plan = LoadPlan::new(vec![target("/")], Access::new(Transport::H2_CLEAR, tls));
    (plan.connections, plan.streams, plan.requests) = (1, 2, Some(12));
    plan.timeout = ms(300);
    let (tally, _) = World::run(plan, NoStream);
    assert_eq!(tally.whole().faults.of(Fault::TimedOut), 12);
    assert!(tally.causes[&Fault::TimedOut].contains("MAX_CONCURRENT_STREAMS"));
}
