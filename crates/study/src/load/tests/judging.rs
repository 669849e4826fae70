//! How a probe is judged: what the server is blamed for, what the client, and what chance.

use super::super::{ProbeFacts, Rates, Slo, Verdict};
use super::times;
use hdrhistogram::Histogram;

/// The verdict on times from when requests were due, from when they were seen, and without any lateness.
fn judge(objective: &str, [due, seen, floor]: [&Histogram<u64>; 3]) -> (Verdict, Option<String>) {
    let slo: Slo = objective.parse().unwrap();
    let latency = ProbeFacts { latency_since_seen: seen, latency_floor: floor, ..facts(due, due) };
    let judged = slo.judge(&latency);
    (judged.verdict, judged.reason)
}

fn facts<'a>(latency: &'a Histogram<u64>, lateness: &'a Histogram<u64>) -> ProbeFacts<'a> {
    ProbeFacts {
        latency,
        latency_since_seen: latency,
        latency_floor: latency,
        lateness,
        requests: latency.len(),
        errors: 0,
        client_errors: 0,
        not_begun: 0,
        busiest_share: 0.2,
        behind: None,
    }
}

#[test]
fn an_objective_holds_where_every_condition_does() {
    let slo: Slo = "p90<95ms,mean<60ms,errors<1%".parse().unwrap();
    let holds = |times: &Histogram<u64>, errors| {
        let judged = slo.judge(&ProbeFacts { errors, ..facts(times, times) });
        judged.conditions.iter().map(|checked| checked.holds).collect::<Vec<_>>()
    };
    assert_eq!(holds(&times(1..=100), 0), [true, true, true]);
    assert_eq!(holds(&times(1..=100), 1), [true, true, false]);
    assert_eq!(holds(&times(20..=119), 0), [false, false, true]);
}

#[test]
fn a_client_that_could_not_begin_what_was_due_is_the_limit() {
    let slo: Slo = "p90<95ms".parse().unwrap();
    let times = times(1..=100);
    let judged = slo.judge(&ProbeFacts { not_begun: 7, ..facts(&times, &times) });
    assert_eq!(judged.verdict, Verdict::ClientBound);
    assert_eq!(judged.reason.unwrap(), "the client could not begin 7 requests");
}

#[test]
fn a_server_that_does_not_keep_up_misses_whatever_its_times_are_yet() {
    let slo: Slo = "p90<10s".parse().unwrap();
    let (times, none) = (times(1..=1_000), times([1]));
    let behind = Some(Rates { due: 165.0, answered: 75.9 });
    let of = |floor, not_begun| {
        slo.judge(&ProbeFacts { latency_floor: floor, behind, not_begun, ..facts(&times, &times) })
    };
    let missed = of(&times, 0);
    assert_eq!(missed.verdict, Verdict::Missed);
    assert_eq!(missed.reason.as_deref(), Some("does not keep up: 165 due, 75.9 answered"));
    assert!(missed.conditions[0].holds);
    for client_bound in [of(&none, 0), of(&times, 1)] {
        assert_eq!(client_bound.verdict, Verdict::ClientBound);
        assert!(client_bound.reason.unwrap().ends_with("and this client was late itself"));
    }
    let busy = ProbeFacts { behind, busiest_share: 0.97, ..facts(&times, &times) };
    assert_eq!(slo.judge(&busy).verdict, Verdict::ClientBound);
}

#[test]
fn what_goes_away_without_the_clients_lateness_is_not_the_servers() {
    let late = times((0..1000).map(|n| 2 + n % 20));
    let own = times((0..1000).map(|_| 2));
    let punctual = times((0..1000).map(|n| u64::from(n % 20 == 0) * 20));
    let slo: Slo = "p99<5ms".parse().unwrap();
    let of = |seen, lateness| {
        slo.judge(&ProbeFacts {
            latency_since_seen: seen,
            latency_floor: &own,
            ..facts(&late, lateness)
        })
    };
    // The client was late now and then, and the server held: both figures are given.
    let held = of(&own, &punctual);
    assert_eq!((held.verdict, held.reason), (Verdict::Held, None));
    let figures = &held.conditions[0];
    assert!(figures.measured > 20.0 && figures.without_client < 2.1, "{figures:?}");
    // It was late most of the time, or what it read late cannot be told apart from what came late.
    for unclear in [of(&own, &late), of(&late, &punctual)] {
        assert_eq!(unclear.verdict, Verdict::ClientBound);
        let reason = "p99 21.0 ms, 2.00 ms without the client's own lateness";
        assert_eq!(unclear.reason.as_deref(), Some(reason));
    }
    let too_few = slo.judge(&ProbeFacts {
        latency_since_seen: &own,
        latency_floor: &own,
        not_begun: 1,
        ..facts(&late, &punctual)
    });
    assert_eq!(too_few.verdict, Verdict::ClientBound);
    assert_eq!(judge("p99<5ms", [&late, &late, &late]).0, Verdict::Missed);
    assert_eq!(judge("p99<5ms", [&own, &own, &own]), (Verdict::Held, None));
}

#[test]
fn a_busy_client_blames_no_server() {
    let slow = times((0..1000).map(|_| 50));
    let slo: Slo = "p99<5ms".parse().unwrap();
    let judged = slo.judge(&ProbeFacts { busiest_share: 0.97, ..facts(&slow, &slow) });
    assert_eq!(judged.verdict, Verdict::ClientBound);
    assert!(judged.reason.unwrap().contains("busy for 97 %"));
}

#[test]
fn one_slow_request_of_fifty_does_not_tell_of_the_99th_percentile() {
    let same = |objective, times: Histogram<u64>| judge(objective, [&times, &times, &times]);
    let fifty = |slow: u64| times((0..50).map(|n| if n < slow { 9 } else { 1 }));
    assert_eq!(same("p99<5ms", fifty(0)).0, Verdict::Held);
    let (verdict, reason) = same("p99<5ms", fifty(1));
    assert_eq!(verdict, Verdict::Undecided);
    assert_eq!(reason.as_deref(), Some("p99 9.00 ms of 50 requests: too close to tell"));
    assert_eq!(same("p99<5ms", fifty(5)).0, Verdict::Missed);
    // 0.36 of 3,600 are expected, and two or more come by chance in 5.1 % of such probes.
    let rare = |slow: u64| times((0..3_600).map(|n| if n < slow { 9 } else { 1 }));
    assert_eq!(same("p99.99<5ms", rare(2)).0, Verdict::Undecided);
    assert_eq!(same("p99.99<5ms", rare(3)).0, Verdict::Missed);
    // Of 100,000 the share of 1.02 % could be chance, and that of 1.2 % could not.
    let many = |slow: u64| times((0..100_000).map(|n| if n < slow { 9 } else { 1 }));
    assert_eq!(same("p99<5ms", many(1_020)).0, Verdict::Undecided);
    assert_eq!(same("p99<5ms", many(1_200)).0, Verdict::Missed);
}

#[test]
fn errors_are_the_servers_but_for_those_of_the_clients_machine() {
    let quick = times((0..900).map(|_| 1));
    let slo: Slo = "p99<5ms,errors<1%".parse().unwrap();
    let of = |errors, client_errors| {
        let facts = ProbeFacts { requests: 1_000, errors, client_errors, ..facts(&quick, &quick) };
        slo.judge(&facts)
    };
    assert_eq!(of(0, 0).verdict, Verdict::Held);
    assert_eq!(of(12, 0).verdict, Verdict::Undecided);
    assert_eq!(
        (of(100, 0).verdict, of(100, 0).reason.as_deref()),
        (Verdict::Missed, Some("errors 10 %"))
    );
    assert_eq!(of(100, 95).verdict, Verdict::ClientBound);
}

#[test]
fn a_server_that_answers_nothing_holds_nothing() {
    let none = times([]);
    let slo: Slo = "p99<5ms".parse().unwrap();
    let facts = ProbeFacts { requests: 30, errors: 30, ..facts(&none, &none) };
    let judged = slo.judge(&facts);
    assert_eq!(
        (judged.verdict, judged.reason.as_deref()),
        (Verdict::Missed, Some("nothing was answered"))
    );
    assert!(judged.conditions.iter().all(|condition| !condition.holds));
}

#[test]
fn the_least_number_of_requests_tells_a_dead_service_from_chance() {
    let least = |text: &str| text.parse::<Slo>().unwrap().least_requests();
    assert_eq!((least("p50<1ms"), least("p99<1ms"), least("max<1s")), (5.0, 1.0, 1.0));
}
