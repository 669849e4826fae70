//! Searches for the highest rate, against a server that can do so many requests a second and no more.

use crate::bench::Bench;
use crate::load;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the server can do, in requests a second.
const CAPACITY: f64 = 500.0;

/// A server that takes one request after another, 2 ms each, whichever connections they come on.
fn serves_500_a_second() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let free = Arc::new(Mutex::new(Instant::now()));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let free = Arc::clone(&free);
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
                    let done = {
                        let mut free = free.lock().unwrap();
                        *free =
                            (*free).max(Instant::now()) + Duration::from_secs_f64(1.0 / CAPACITY);
                        *free
                    };
                    std::thread::sleep(done.saturating_duration_since(Instant::now()));
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

fn search(first: &str) -> (i32, Value) {
    let bench = Bench::new();
    let url = serves_500_a_second();
    let args = ["--slo", "p90<50ms", "--rate", first, "-d", "400ms", "-c", "16", &url];
    load(&bench, &args)
}

/// At more than 500 a second the queue grows: after 400 ms the 90th percentile is beyond 50 ms from 570 a second on.
/// The band is wide because a busy machine serves less.
#[test]
fn a_known_limit_is_found_from_far_below_and_from_far_above() {
    let searches = ["10", "4000"].map(|first| std::thread::spawn(move || search(first)));
    for search in searches {
        let (code, result) = search.join().unwrap();
        let slo = &result["slo"];
        assert_eq!((code, slo["answer"].as_str()), (0, Some("found")), "{slo:#}");
        let of = |field: &str| slo[field].as_f64().unwrap();
        assert!((0.5 * CAPACITY..1.5 * CAPACITY).contains(&of("rate")), "{slo:#}");
        assert!(of("holds_at") <= of("rate") && of("rate") <= of("fails_at"), "{slo:#}");
        let probes = slo["probes"].as_array().unwrap();
        for probe in probes {
            assert_eq!(probe["held"] == true, probe["verdict"] == "held", "{probe:#}");
            assert_eq!(probe["held"] == true, probe["reason"].is_null(), "{probe:#}");
        }
        let held = |held| probes.iter().filter(|probe| probe["held"] == held).count();
        assert!(held(true) >= 2 && held(false) >= 2, "no single probe decides: {slo:#}");
    }
}

#[test]
fn the_probes_are_lines_of_a_csv_file_and_of_the_table() {
    let bench = Bench::new();
    let url = serves_500_a_second();
    let args = ["load", "--slo", "p50<1ns", "--rate", "50", "-d", "200ms", &url];
    let csv = bench.run(&[&args[..], &["--csv"]].concat());
    csv.said(1, &["Searching the highest rate that holds p50<1 ns", "at most 48 in"]);
    let head = "rate,achieved,requests,errors,client_busy,p50_ms,p50_without_client_ms,errors_share,\
                errors_without_client_share,verdict,reason";
    assert_eq!(csv.out.lines().next(), Some(head));
    assert!(csv.out.lines().skip(1).all(|line| line.contains(",missed,")), "{}", csv.out);
    let text = bench.run(&args);
    for words in
        ["p50<1 ns,errors<0.1%: holds at no rate, down to 25 requests/s", "w/o client", "missed"]
    {
        assert!(text.out.contains(words), "no {words:?} in {}", text.out);
    }
}
