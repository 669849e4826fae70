//! `wirelap timer`, `/timer`, and `wirelap report` of a download.

use crate::bench::Bench;
use crate::browser::{Browser, time};
use crate::chromium::Chromium;
use crate::site::Site;
use serde_json::{Value, json};
use std::io::{Read, Write};

/// A download of ten blocks: B takes `over` times as long as A.
fn download(over: f64) -> Value {
    let row = |block: u32, page: &str| {
        let ms = 100.0 + f64::from(block) * 0.1;
        let ms = if page == "b" { ms * over } else { ms };
        json!({
            "block": block, "attempt": 0, "order": u32::from(page == "b"), "page": page,
            "url": format!("/{page}.html?wirelap-run=1"), "outcome": { "kind": "measured" },
            "metrics": { "load_ms": ms, "fcp_ms": ms / 2.0 }, "protocol": "h2", "resources": 3, "cached": 0,
        })
    };
    let rows: Vec<Value> =
        (0..10).flat_map(|block| ["a", "b"].map(|page| row(block, page))).collect();
    json!({
        "schema": "wirelap.timer/1", "version": "0.1.0", "started": "2026-01-01T00:00:00.000Z",
        "timer": "http://127.0.0.1:8080/timer", "user_agent": "Test/1", "stopped": false,
        "pages": { "a": { "name": "before", "url": "/a.html" }, "b": { "name": "<b>after\u{202e}", "url": "/b.html" } },
        "settings": {
            "runs": 10, "metric": "load_ms", "margin": 0.05, "seed": 1, "cache": "cold", "timeout_ms": 60000,
            "settle_ms": 300, "width": 1000, "height": 700,
        },
        "rows": rows,
    })
}

#[test]
fn a_download_is_judged_and_a_report_is_written_beside_it() {
    let bench = Bench::new();
    bench.write("timer.json", download(1.1).to_string());
    let ran = bench.run(&["report", "timer.json"]);
    ran.said(0, &[]);
    for words in
        ["100 ms", "110 ms", "1.10x [1.10, 1.10]", "SLOWER", "10 of 10 blocks count", "over h2"]
    {
        assert!(ran.out.contains(words), "no {words:?} in {}", ran.out);
    }
    assert!(
        ran.out.contains("is slower than before") && !ran.out.contains('\u{202e}'),
        "{}",
        ran.out
    );
    let page = std::fs::read_to_string(bench.path("timer-report.html")).unwrap();
    assert!(page.contains("is slower than before") && page.contains("&lt;b&gt;after"), "{page}");
    assert!(!page.contains("<b>after") && !page.contains("<script src"), "{page}");
    assert_eq!(page.matches("class=\"dot\"").count(), 2 + 20, "a dot for each ratio and each load");
    let csv = bench.run(&["report", "timer.json", "--csv"]).out;
    assert_eq!(csv.lines().count(), 21);
    assert!(csv.starts_with(
        "block,attempt,order,page,url,outcome,reason,protocol,resources,cached,first_byte_ms"
    ));
}

#[test]
fn what_is_no_download_is_refused_with_what_to_do() {
    let bench = Bench::new();
    bench.write("a.json", "{\"schema\": \"wirelap.timer/9\"}");
    bench
        .run(&["report", "a.json"])
        .said(2, &["a.json: its schema is `wirelap.timer/9`", "version"]);
    bench.write("b.json", "no JSON");
    bench
        .run(&["report", "b.json"])
        .said(2, &["b.json: this is no download of the page timer", "Download"]);
    let mut twice = download(1.0);
    twice["rows"][1] = twice["rows"][0].clone();
    bench.write("c.json", twice.to_string());
    bench.run(&["report", "c.json"]).said(2, &["row 2: this load is there twice"]);
    bench.write("d.json", download(1.0).to_string());
    bench.run(&["report", "d.json", "--parquet", "x"]).said(2, &["--csv"]);
    for name in ["a", "b", "c"] {
        assert!(!bench.path(&format!("{name}-report.html")).exists(), "{name}");
    }
}

#[test]
fn the_command_prints_what_serve_has() {
    let bench = Bench::new();
    let printed = bench.run(&["timer"]);
    printed.said(0, &[]);
    let site = Site::start(&bench, &[]);
    let address = site.origin.strip_prefix("http://").unwrap();
    let mut asked = std::net::TcpStream::connect(address).unwrap();
    write!(asked, "GET /timer HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    asked.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200") && head.contains("text/html; charset=utf-8"),
        "{head}"
    );
    assert!(body == printed.out && body.starts_with("<!DOCTYPE html>"));
}

#[test]
fn the_button_downloads_what_the_report_reads() {
    let bench = Bench::new();
    let Some(mut browser) = Chromium::start(&bench, &[]) else { return };
    let site =
        Site::start(&bench, &[("p.html", "<!doctype html><title>p</title><body>text</body>")]);
    let settings = [
        ("a", "/p.html"),
        ("b", "/p.html"),
        ("runs", "2"),
        ("aname", "before"),
        ("bname", "after"),
    ];
    let timed = time(&mut browser, &site.timer(), &settings);
    assert_eq!(timed.state, "done", "{timed:?}");
    browser.download_into(&bench.folder);
    browser.click("#download");
    let file = bench.path("timer.json");
    let read = || -> Option<Value> { serde_json::from_slice(&std::fs::read(&file).ok()?).ok() };
    let waited = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        read()
    });
    assert_eq!(waited.expect("a download"), timed.download);
    let ran = bench.run(&["report", "timer.json"]);
    ran.said(0, &[]);
    assert!(
        ran.out.contains("2 of 2 blocks count") && ran.out.contains("is undecided"),
        "{}",
        ran.out
    );
}
