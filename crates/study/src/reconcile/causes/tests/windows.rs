//! What waits for a window, what for a pacer, and what is the server's.

use super::*;

#[test]
fn a_train_within_a_round_trip_of_a_full_packet_waits_for_the_pacer() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        log.flight(10);
        // Nothing was heard of them yet.
        let came = log.down(235.0, MSS);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, loss, server, _] = log.parts("h3", 201.0, came, None);
        assert_eq!((loss, server), (0.0, 0.0), "{is_quic}");
        assert!(window > 70.0, "{is_quic}: {window}");
    }
}

#[test]
fn what_a_server_thinks_after_a_request_is_its_own_time_although_its_last_packet_was_full() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        log.flight(3);
        log.up(170.0, 300, FIRST);
        let came = log.down(230.0, MSS);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, _, server, _] = log.parts("h3", 201.0, came, None);
        // From 203 ms, when the flight has come, to 280.
        assert!(window < 20.0 && server > 55.0, "{is_quic}: {window} {server}");
    }
}

#[test]
fn a_server_that_had_nothing_to_say_waited_for_no_window_however_soon_after_an_acknowledgement() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        let first = log.down(150.0, 200);
        let mut came = first;
        for token in 1..=4 {
            let ms = 150.0 + 104.0 * f64::from(token);
            log.up(ms - 3.0, 0, log.sequence);
            came = log.down(ms, 200);
        }
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, loss, server, _] = log.parts("h3", first, came, None);
        assert_eq!((window, loss), (0.0, 0.0), "{is_quic}");
        assert!(server > 400.0, "{is_quic}: {server}");
    }
}

#[test]
fn small_packets_fill_a_first_window_of_tcp_as_packets_and_one_of_quic_as_bytes() {
    for (is_quic, payload, is_window) in
        [(false, 200, true), (true, 200, false), (true, 1_150, true)]
    {
        let mut log = Log::begun(150.0);
        for _ in 0..10 {
            log.down(150.0, payload);
        }
        log.up(251.0, 0, log.sequence);
        let came = log.down(251.2, 200);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, _, server, _] = log.parts("h3", 208.0, came, None);
        let (wait, none) = if is_window { (window, server) } else { (server, window) };
        assert_eq!(none, 0.0, "{is_quic}, {payload}");
        assert!(wait > 90.0, "{is_quic}, {payload}: {wait}");
    }
}

/// Flights of 20 datagrams, each 110 ms after the one before on a round trip of 100, and each with a last one that is not full.
#[test]
fn a_window_of_quic_is_as_large_as_one_flight_and_not_as_two_of_more_than_a_round_trip() {
    // The last flight fills the window, or leaves most of it.
    for (last, is_servers) in [(19, false), (4, true)] {
        let mut log = Log::begun(150.0);
        let (mut first, mut sent) = (0.0, 150.0);
        for full in [19, 19, 19, last] {
            for _ in 0..full {
                log.down(sent, MSS);
            }
            first = log.down(sent, 1_300);
            sent += 110.0;
            log.up(sent - 0.2, 0, log.sequence);
        }
        let came = log.down(sent, MSS);
        let [_, window, _, loss, server, _] = log.over_quic().parts("h3", first, came, None);
        assert!(window > 250.0, "{last}: {window}");
        assert_eq!((server > 100.0, loss), (is_servers, 0.0), "{last}: {server}");
        assert!(is_servers || server == 0.0, "{server}");
    }
}

#[test]
fn what_comes_late_after_small_packets_filled_the_window_is_the_servers_from_the_acknowledgement_on()
 {
    for (is_quic, payload) in [(false, 200), (true, 1_150)] {
        let mut log = Log::begun(150.0);
        for _ in 0..10 {
            log.down(150.0, payload);
        }
        log.up(251.0, 0, log.sequence);
        let came = log.down(281.0, 200);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, _, server, _] = log.parts("h3", 208.0, came, None);
        assert_eq!(server, 30.0, "{is_quic}");
        assert!(window > 90.0, "{is_quic}: {window}");
    }
}

/// Tokens every 10.5 ms on a round trip of 100: ten are under way, and each leaves 2 ms after the acknowledgement of another.
#[test]
fn a_stream_of_tokens_waits_for_no_window_that_has_grown_beyond_what_it_uses() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        let (mut first, mut came) = (0.0, 0.0);
        for token in 0..60_u32 {
            let ms = 150.0 + 10.5 * f64::from(token);
            if token >= 10 {
                // A segment of FIRST and 200 bytes each.
                log.up(ms - 2.0, 0, FIRST.wrapping_add(200 * (token - 9)));
            }
            came = log.down(ms, 200);
            if token == 20 {
                first = came;
            }
        }
        let log = if is_quic { log.over_quic() } else { log };
        let [_, window, _, loss, server, _] = log.parts("h3", first, came, None);
        assert_eq!(loss, 0.0, "{is_quic}");
        // The eleventh token finds as many under way over TCP as a first window takes: nobody can tell what it waited for.
        assert!(window <= if is_quic { 0.0 } else { 10.5 }, "{is_quic}: {window}");
        assert!(server > 350.0, "{is_quic}: {server}");
    }
}

#[test]
fn what_the_server_sends_at_a_request_waited_for_it_although_an_acknowledgement_came_after() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        let first = log.down(150.0, 200);
        log.up(300.0, 75, log.sequence.wrapping_sub(100));
        log.up(300.5, 0, log.sequence);
        let came = log.down(301.0, 200);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, _, _, _, server, _] = log.parts("h3", first, came, None);
        assert_eq!(server, 1.0, "{is_quic}");
    }
}

#[test]
fn what_follows_a_request_at_once_is_the_servers_from_then_on() {
    for is_quic in [false, true] {
        let mut log = Log::begun(150.0);
        let first = log.down(150.0, 700);
        log.up(300.0, 75, log.sequence);
        let came = log.down(303.0, 700);
        let log = if is_quic { log.over_quic() } else { log };
        let [_, _, _, _, server, _] = log.parts("h3", first, came, None);
        assert_eq!(server, 3.0, "{is_quic}");
    }
}

#[test]
fn after_a_drop_a_window_is_not_known_to_be_larger_than_what_was_under_way() {
    let mut window = KnownWindow::new(&Full::Segments(MSS));
    window.takes(16);
    window.grows(12);
    assert_eq!(window.least, 28, "slow start");
    window.halves();
    assert_eq!(window.least, 14);
    window.takes(15);
    window.grows(15);
    assert_eq!(window.least, 15);
}
