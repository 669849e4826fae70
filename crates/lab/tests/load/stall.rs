//! A server with a planted stall, whose truth is its own: nothing that was due while it stood still can have been
//! answered before it went on.

use crate::bench::Bench;
use crate::{answered, load};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const STALL: Duration = Duration::from_millis(600);

/// A server that answers at once, but for one stall of everybody after so many answers.
fn stalls_after(answers: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(Mutex::new(0));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let count = Arc::clone(&count);
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    if *count == answers {
                        std::thread::sleep(STALL);
                    }
                    drop(count);
                    let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                    if stream.write_all(bytes).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}/")
}

fn at(result: &serde_json::Value, share: f64) -> f64 {
    let percentiles = result["whole"]["latency"]["at"].as_array().unwrap();
    let at = percentiles.iter().find(|at| at["share"] == share).unwrap();
    at["ms"].as_f64().unwrap()
}

/// 400 requests at 200 a second, with a stall of 600 ms that 120 of them meet: of all, a tenth (40) was due within its
/// first 200 ms and waited for 400 ms or more. A machine that is late makes it longer, never shorter.
#[test]
fn a_stall_shows_in_the_percentiles_that_it_reaches_over_one_connection_or_many() {
    let bench = Bench::new();
    for connections in ["1", "8", "64"] {
        let url = stalls_after(100);
        let args = ["--rate", "200", "-d", "2s", "-c", connections, &url];
        let (code, result) = load(&bench, &args);
        assert_eq!((code, answered(&result)), (0, 400), "the schedule is kept: {result:#}");
        assert!(at(&result, 0.9) >= 395.0, "{connections} connections: {}", at(&result, 0.9));
        assert!(result["whole"]["latency"]["max_ms"].as_f64().unwrap() >= 595.0);
    }
}

/// The closed loop meets the stall with one request, and its 90th percentile does not know of it. That is what the open
/// loop is for, and why this one's name stands in the result.
#[test]
fn the_result_says_which_loop_it_was() {
    let bench = Bench::new();
    let (_, closed) = load(&bench, &["-c", "1", "-n", "200", &stalls_after(100)]);
    assert_eq!(closed["setting"]["pace"], "closed");
    assert!(closed["whole"]["latency"]["max_ms"].as_f64().unwrap() >= 595.0);
    let (_, open) =
        load(&bench, &["-c", "1", "--rate", "100:500ms,200:500ms", &stalls_after(1_000)]);
    assert_eq!((open["setting"]["pace"].as_str(), answered(&open)), (Some("open"), 150));
    let stages = open["stages"].as_array().unwrap();
    let requests: Vec<u64> =
        stages.iter().map(|stage| stage["part"]["requests"].as_u64().unwrap()).collect();
    assert_eq!(requests, [50, 100]);
}
