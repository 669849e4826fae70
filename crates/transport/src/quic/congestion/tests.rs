use super::*;
use quinn_proto::congestion::Controller;

const MTU: u64 = 1_200;
const RTT: Duration = Duration::from_millis(100);

/// A controller after a loss at a window of so many datagrams, and the time.
fn after_loss<G: Growth>(
    controller: CongestionController,
    datagrams: u32,
) -> (Box<LossBased<G>>, Instant) {
    let now = super::super::clock::to_std(unit::Instant::ZERO);
    let factory = Arc::new(Factory { controller, initial_packets: datagrams });
    let made = factory.build(now, MTU as u16).into_any().downcast::<LossBased<G>>();
    let Ok(mut made) = made else { panic!("it makes its own") };
    made.on_sent(now, u64::from(datagrams) * MTU, 0);
    made.on_congestion_event(now + RTT, now, false, MTU);
    (made, now + RTT)
}

fn datagrams(controller: &LossBased<impl Growth>) -> f64 {
    controller.window / MTU as f64
}

/// What the window is after so many round trips in which all of it was used.
fn grow(controller: &mut LossBased<impl Growth>, mut now: Instant, rounds: u32) -> f64 {
    for _ in 0..rounds {
        let window = controller.window as u64;
        controller.on_end_acks(now, 0, false, None);
        controller.on_sent(now, window, 0);
        let sent = now;
        now += RTT;
        for _ in 0..window / MTU {
            let acked = Acked { now, bytes: MTU as f64, mtu: MTU as f64, rtt: RTT };
            assert!(controller.is_used(), "all of the window was sent at {sent:?}");
            controller.window = controller.growth.grow(&acked, controller.window);
        }
    }
    datagrams(controller)
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

/// Acknowledges one packet each millisecond, in a round that begins now: with these round trips, in milliseconds.
fn round(hystart: &mut HyStart, now: &mut Instant, round_trips: impl IntoIterator<Item = u64>) {
    let began = *now;
    for (number, round_trip) in (0_u64..).zip(round_trips) {
        *now = began + Duration::from_millis(number + round_trip);
        hystart.handle_ack(*now, began + Duration::from_millis(number));
    }
}

/// Packets sent faster than the path delivers wait for each other at its end, though it would hold the window.
#[test]
fn a_queue_that_is_gone_by_the_next_round_does_not_end_slow_start_and_one_that_stays_does() {
    let mut now = super::super::clock::to_std(unit::Instant::ZERO);
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
