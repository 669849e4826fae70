use super::*;
use quinn_proto::congestion::Controller;
use std::collections::VecDeque;

const MTU: u64 = 1_200;
const RTT: Duration = Duration::from_millis(100);

fn begin() -> Instant {
    super::super::clock::to_std(unit::Instant::ZERO)
}

/// A controller of a new connection, with a first round of so many datagrams.
fn fresh<G: Growth>(controller: CongestionController, datagrams: u32) -> Box<LossBased<G>> {
    let factory = Arc::new(Factory { controller, initial_packets: datagrams });
    let made = factory.build(begin(), MTU as u16).into_any().downcast::<LossBased<G>>();
    let Ok(made) = made else { panic!("it makes its own") };
    made
}

/// A controller after a loss at a window of so many datagrams, and the time. All datagrams but the lost one are in flight.
fn after_loss<G: Growth>(
    controller: CongestionController,
    datagrams: u32,
) -> (Box<LossBased<G>>, Instant) {
    let (mut made, now) = (fresh(controller, datagrams), begin());
    made.on_sent(now, u64::from(datagrams) * MTU, 0);
    made.on_congestion_event(now + RTT, now, false, MTU);
    (made, now + RTT)
}

fn datagrams(controller: &LossBased<impl Growth>) -> f64 {
    controller.window / MTU as f64
}

/// Acknowledges so many packets at once, as quinn-proto does: each of them in turn, then their end. The first was sent at `sent`,
/// each other one `apart` after the one before. So many bytes are in flight after it.
fn acknowledge(
    controller: &mut LossBased<impl Growth>,
    now: Instant,
    sent: impl Iterator<Item = Instant>,
    in_flight: u64,
) {
    for sent in sent {
        controller.handle_packet(now, sent, MTU, RTT);
    }
    controller.on_end_acks(now, in_flight, false, None);
}

/// A round trip in which so many datagrams are sent at once. Each is acknowledged on its own.
fn round_of(controller: &mut LossBased<impl Growth>, sent: Instant, packets: u64) -> Instant {
    controller.on_sent(sent, packets * MTU, 0);
    for left in (0..packets).rev() {
        acknowledge(controller, sent + RTT, std::iter::once(sent), left * MTU);
    }
    sent + RTT
}

/// What the window is after so many round trips in which all of it was used: each acknowledgement lets out what it allows.
fn grow(controller: &mut LossBased<impl Growth>, now: Instant, rounds: u32) -> f64 {
    // What was sent before has arrived, and what was sent when recovery began is no reason to grow.
    controller.on_end_acks(now, 0, false, None);
    let (mut now, end) = (now + Duration::from_nanos(1), now + rounds * RTT);
    let mut in_flight = VecDeque::new();
    loop {
        while (in_flight.len() + 1) as u64 * MTU <= controller.window as u64 {
            controller.on_sent(now, MTU, 0);
            in_flight.push_back(now);
        }
        let Some(&sent) = in_flight.front().filter(|sent| **sent < end) else {
            return datagrams(controller);
        };
        now = sent + RTT;
        in_flight.pop_front();
        acknowledge(controller, now, std::iter::once(sent), in_flight.len() as u64 * MTU);
    }
}

#[test]
fn new_reno_halves_and_grows_by_a_datagram_a_round() {
    let (mut reno, now) = after_loss::<NewReno>(CongestionController::NewReno, 100);
    let before = datagrams(&reno);
    assert!((50.0..50.5).contains(&before), "{before}");
    let after = grow(&mut reno, now, 10);
    assert!((9.5..10.5).contains(&(after - before)), "{before} to {after}");
}

/// RFC 9438 §4.2: K is the cube root of (W_max - cwnd) / C, here of 300 / 0.4: 9.1 s.
#[test]
fn cubic_is_back_where_it_was_after_k_and_flat_around_it() {
    let (mut cubic, now) = after_loss::<Cubic>(CongestionController::Cubic, 1_000);
    let before = datagrams(&cubic);
    assert!((700.0..701.0).contains(&before), "{before}");
    let (halfway, at_k) = (grow(&mut cubic.clone(), now, 45), grow(&mut cubic, now, 91));
    assert!((930.0..975.0).contains(&halfway), "{halfway}");
    assert!((985.0..1_005.0).contains(&at_k), "{at_k}");
}

#[test]
fn cubic_is_no_slower_than_reno_on_short_paths() {
    let (mut cubic, now) = after_loss::<Cubic>(CongestionController::Cubic, 20);
    // §4.3: 0.53 datagrams a round until it has what it lost.
    let after = grow(&mut cubic, now, 11);
    assert!((19.0..21.5).contains(&after), "{after}");
}

#[test]
fn losses_of_one_round_count_once_and_persistent_congestion_begins_anew() {
    let (mut cubic, now) = after_loss::<Cubic>(CongestionController::Cubic, 100);
    let once = cubic.window;
    cubic.on_congestion_event(now + RTT, now - RTT / 2, false, MTU);
    assert_eq!(cubic.window, once);
    cubic.on_congestion_event(now + RTT, now + RTT / 2, true, MTU);
    assert_eq!(datagrams(&cubic), 2.0);
}

/// RFC 9002 §7.3.2: recovery ends with an acknowledgement of a packet that was sent after it began.
#[test]
fn what_was_sent_before_a_loss_was_found_does_not_grow_the_window() {
    let (mut reno, recovery) = after_loss::<NewReno>(CongestionController::NewReno, 100);
    let before = reno.window;
    let now = recovery + RTT / 2;
    acknowledge(&mut reno, now, (0..40).map(|_| begin()), 59 * MTU);
    acknowledge(&mut reno, now, std::iter::once(recovery), 58 * MTU);
    assert_eq!(reno.window, before);
    reno.on_sent(now, 10 * MTU, 0);
    acknowledge(&mut reno, now + RTT, std::iter::once(now), 60 * MTU);
    assert!(reno.window > before);
}

/// RFC 9002 §7.8.
#[test]
fn a_sender_that_does_not_use_its_window_does_not_grow_it() {
    let slow_start = (fresh::<Cubic>(CongestionController::Cubic, 100), begin());
    let avoidance = after_loss::<Cubic>(CongestionController::Cubic, 200);
    for (mut cubic, mut now) in [slow_start, avoidance] {
        cubic.on_end_acks(now, 0, false, None);
        // What was used in the round before counts, too.
        for _ in 0..2 {
            now = round_of(&mut cubic, now + Duration::from_nanos(1), 10);
        }
        let before = cubic.window;
        for _ in 0..50 {
            now = round_of(&mut cubic, now, 10);
        }
        assert_eq!(cubic.window, before);
        let packets = cubic.window as u64 / MTU;
        round_of(&mut cubic, now, packets);
        assert!(cubic.window > before);
    }
}

/// RFC 9438 §5.8: what CUBIC takes for elapsed is without the time in which the application sent too little, or nothing.
#[test]
fn ten_seconds_with_little_or_nothing_to_send_change_nothing_of_what_cubic_has_after_them() {
    let (mut cubic, now) = after_loss::<Cubic>(CongestionController::Cubic, 1_000);
    grow(&mut cubic, now, 20);
    let now = now + 20 * RTT;
    let after = |mut cubic: Box<LossBased<Cubic>>, now| {
        (grow(&mut cubic, now, 10), grow(&mut cubic, now + 10 * RTT, 20))
    };
    cubic.on_end_acks(now, 0, false, None);
    let without = after(cubic.clone(), now);
    let mut little = (cubic.clone(), now);
    for _ in 0..100 {
        little.1 = round_of(&mut little.0, little.1 + Duration::from_nanos(1), 10);
    }
    let with_little = after(little.0, little.1);
    // An acknowledgement of this side's ends no pause.
    let mut nothing = cubic;
    nothing.on_sent(now + 50 * RTT, 40, 0);
    nothing.in_flight().take_out(40);
    let with_nothing = after(nothing, now + 100 * RTT);
    let is_near = |with: f64, without: f64| (with - without).abs() < 0.01 * without;
    for with in [with_little, with_nothing] {
        let is_alike = is_near(with.0, without.0) && is_near(with.1, without.1);
        assert!(is_alike, "{with:?}, without a pause {without:?}");
    }
}

/// RFC 9002 §7.6.2: slow start up to the threshold that the loss has set.
#[test]
fn after_persistent_congestion_the_window_doubles_to_the_threshold_and_goes_on_by_a_datagram_a_round()
 {
    let (mut reno, now) = after_loss::<NewReno>(CongestionController::NewReno, 64);
    reno.on_congestion_event(now, now - RTT / 2, true, MTU);
    reno.on_end_acks(now, 0, false, None);
    let mut now = now;
    let windows = [(); 7].map(|()| {
        let packets = reno.window as u64 / MTU;
        now = round_of(&mut reno, now + Duration::from_nanos(1), packets);
        datagrams(&reno)
    });
    assert_eq!(windows[..4], [4.0, 8.0, 16.0, 32.0]);
    let steps = windows.windows(2).skip(3).map(|pair| pair[1] - pair[0]);
    assert!(steps.into_iter().all(|step| (0.9..1.1).contains(&step)), "{windows:?}");
}

/// Times of so many packets that are sent evenly over a while.
fn evenly(from: Instant, over: Duration, packets: u64) -> impl Iterator<Item = Instant> {
    (0..packets).map(move |number| from + over.mul_f64(number as f64 / packets as f64))
}

/// A peer that acknowledges each 64th packet: 100 Mbit/s bring 64 of them in 6.1 ms, by which the first one's round trip is longer.
/// On an empty path the newest one's never is (RFC 9406 §4.2, RFC 9002 §5.1).
#[test]
fn slow_start_goes_on_though_the_first_of_many_packets_waits_long_for_the_acknowledgement_of_all() {
    const PACKETS: u64 = 64;
    let over = Duration::from_micros(6_144);
    let (mut cubic, mut sent) = (fresh::<Cubic>(CongestionController::Cubic, 64), begin());
    // The last of the packets leaves when the while is nearly over, and its acknowledgement comes a round trip later.
    let rtt = Duration::from_millis(40);
    while cubic.window < (2_048 * MTU) as f64 {
        let acks = cubic.window as u64 / MTU / PACKETS;
        cubic.on_sent(sent, acks * PACKETS * MTU, 0);
        for ack in 0..acks {
            let first = sent + over * ack as u32;
            let left = (acks - ack - 1) * PACKETS * MTU;
            let last = evenly(first, over, PACKETS).last().unwrap_or(first);
            acknowledge(&mut cubic, last + rtt, evenly(first, over, PACKETS), left);
        }
        assert_eq!(cubic.hystart.growth(1.0), 1.0, "at {} datagrams", datagrams(&cubic));
        sent += rtt + over * acks as u32;
    }
}

/// RFC 9002 §7 and §7.7.
#[test]
fn in_slow_start_the_pacer_counts_by_more_than_the_window_until_that_is_full() {
    let mut cubic = fresh::<Cubic>(CongestionController::Cubic, 10);
    assert_eq!(cubic.window(), 16 * MTU + CONTROL_BYTES + 1);
    cubic.on_sent(begin(), 9 * MTU, 0);
    assert_eq!(cubic.window(), 16 * MTU + CONTROL_BYTES + 1);
    cubic.on_sent(begin(), MTU, 0);
    assert_eq!(cubic.window(), 10 * MTU + CONTROL_BYTES + 1);
}

/// RFC 9406 §4.2: the threshold is the window at the end of slow start.
#[test]
fn round_trips_that_stay_longer_end_slow_start_and_the_window_goes_on_by_a_datagram_a_round() {
    let (mut reno, mut sent) = (fresh::<NewReno>(CongestionController::NewReno, 32), begin());
    for longer in [0, 20, 60] {
        assert!(reno.is_in_slow_start(), "{} ms longer", longer);
        let packets = reno.window as u64 / MTU;
        reno.on_sent(sent, packets * MTU, 0);
        let now = sent + RTT + Duration::from_millis(longer);
        for left in (0..packets).rev() {
            acknowledge(&mut reno, now, std::iter::once(sent), left * MTU);
        }
        sent = now;
    }
    // The round's last packets were acknowledged after it.
    assert!((reno.window - MTU as f64..=reno.window).contains(&reno.threshold));
    let before = datagrams(&reno);
    let after = grow(&mut reno, sent, 1);
    assert!((0.9..1.1).contains(&(after - before)), "{before} to {after}");
}

#[test]
fn an_acknowledgement_of_nothing_but_older_packets_gives_no_round_trip() {
    let mut hystart = HyStart::new(begin());
    let mut now = begin();
    round(&mut hystart, &mut now, [100; 20]);
    let before = hystart;
    hystart.handle_packet(begin());
    hystart.end_ack(now + RTT);
    assert_eq!(format!("{hystart:?}"), format!("{before:?}"));
}

/// Acknowledges one packet each millisecond, in a round that begins now: with these round trips, in milliseconds.
fn round(hystart: &mut HyStart, now: &mut Instant, round_trips: impl IntoIterator<Item = u64>) {
    let began = *now;
    for (number, round_trip) in (0_u64..).zip(round_trips) {
        *now = began + Duration::from_millis(number + round_trip);
        hystart.handle_packet(began + Duration::from_millis(number));
        hystart.end_ack(*now);
    }
}

/// Packets sent faster than the path delivers wait for each other at its end, though it would hold the window.
#[test]
fn a_queue_that_is_gone_by_the_next_round_does_not_end_slow_start_and_one_that_stays_does() {
    let mut now = begin();
    let mut hystart = HyStart::new(now);
    round(&mut hystart, &mut now, [100; 20]);
    round(&mut hystart, &mut now, 100..200);
    assert_eq!((hystart.growth(1.0), hystart.is_over()), (0.25, false));
    let mut stays = hystart;
    round(&mut hystart, &mut now.clone(), [100; 20]);
    assert_eq!((hystart.growth(1.0), hystart.is_over()), (1.0, false));
    round(&mut stays, &mut now, [160; 20]);
    assert!(stays.is_over());
}
