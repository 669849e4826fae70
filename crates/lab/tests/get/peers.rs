//! Downloads from servers that other people wrote, and from our own, over every protocol that both speak.

use crate::bench::Bench;
use crate::server::{content, get, is_whole, names};
use crate::started::{self, certify, started};
use std::io::{BufRead, BufReader};
use testing::peers::{free_port, program};

/// A folder `www` with a small and a large file, and a certificate.
fn site() -> Option<Bench> {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("www")).unwrap();
    std::fs::create_dir(bench.path("got")).unwrap();
    bench.write("www/small", content(80_000));
    bench.write("www/large", content(20_000_001));
    for index in 0..30 {
        bench.write(&format!("www/f{index}"), content(1_000 + index));
    }
    if !certify(&bench) {
        return None;
    }
    Some(bench)
}

/// Both files, one by one and in pieces, and thirty small ones together, by `protocol`.
fn downloads(bench: &Bench, base: &str, (flags, protocol): (&[&str], &str)) {
    let trust = ["--cacert", "cert.pem", "--output-dir", "got", "--json"];
    let run = |args: &[&str]| {
        let ran = get(bench, &[&trust[..], flags, args].concat());
        ran.said(0, &[]);
        let lines: Vec<serde_json::Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().all(|line| line["protocol"] == protocol), "{lines:?}");
        lines
    };
    let (small, large) = (format!("{base}/small"), format!("{base}/large"));
    run(&[&small, &large]);
    is_whole(bench, "got/small", &content(80_000));
    is_whole(bench, "got/large", &content(20_000_001));
    let lines = run(&[&large, "--connections", "3"]);
    is_whole(bench, "got/large", &content(20_000_001));
    // The connection of the first piece is free again when the others are asked for.
    let expected = if protocol == "h2" { 1..=1 } else { 2..=3 };
    assert!(expected.contains(&lines[0]["connections"].as_u64().unwrap()), "{lines:?}");
    let many: Vec<String> = (0..30).map(|index| format!("{base}/f{index}")).collect();
    run(&many.iter().map(String::as_str).collect::<Vec<_>>());
    for index in 0..30 {
        assert_eq!(
            std::fs::read(bench.path(&format!("got/f{index}"))).unwrap(),
            content(1_000 + index)
        );
    }
    let left: Vec<_> = names(bench).into_iter().filter(|name| name.contains("wirelap")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn nginx_serves_downloads_over_h1_and_h2() {
    let Some(nginx) = program("nginx") else { return };
    let Some(bench) = site() else { return };
    let (clear, tls) = (free_port(), free_port());
    let folder = bench.folder.display();
    let http = format!(
        "access_log off;
          server {{ listen 127.0.0.1:{clear}; listen 127.0.0.1:{tls} ssl http2; root {folder}/www;
            ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; }}"
    );
    let _nginx = started::nginx(&bench, &nginx, &http, tls);
    downloads(&bench, &format!("http://127.0.0.1:{clear}"), (&[], "http/1.1"));
    downloads(&bench, &format!("https://localhost:{tls}"), (&["--http2"], "h2"));
    downloads(&bench, &format!("https://localhost:{tls}"), (&["--http1.1"], "http/1.1"));
}

#[test]
fn h2o_serves_downloads_over_h1_and_h2() {
    let Some(h2o) = program("h2o") else { return };
    let Some(bench) = site() else { return };
    let port = free_port();
    bench.write("h2o.conf", format!(
        "listen:\n  host: 127.0.0.1\n  port: {port}\n  ssl:\n    certificate-file: cert.pem\n    \
         key-file: key.pem\nnum-threads: 1\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: www\n"
    ));
    let _h2o = started(&bench, (&h2o, &["-c", "h2o.conf"]), port);
    downloads(&bench, &format!("https://localhost:{port}"), (&["--http2"], "h2"));
    downloads(&bench, &format!("https://localhost:{port}"), (&["--http1.1"], "http/1.1"));
}

#[test]
fn our_origin_serves_downloads_over_h1_and_h2() {
    let Some(bench) = site() else { return };
    let args = [
        "serve",
        "www",
        "--listen",
        "127.0.0.1:0",
        "--listen-tls",
        "127.0.0.1:0",
        "--cert",
        "cert.pem",
        "--key",
        "key.pem",
        "--threads",
        "1",
    ];
    let mut serving = bench.start(bench.wirelap(&args));
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap().trim_end_matches('/').to_owned();
    let (clear, tls) = (next(), next());
    downloads(&bench, &clear, (&[], "http/1.1"));
    downloads(&bench, &clear, (&["--http2-prior-knowledge"], "h2"));
    downloads(&bench, &tls, (&["--http2"], "h2"));
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let Some(bench) = site() else { return };
    let args = ["serve", "www", "--listen-tls", "127.0.0.1:0", "--threads", "1"];
    let mut serving = bench.start(bench.wirelap(&args));
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let url = format!("{}small", lines.next().unwrap().unwrap());
    get(&bench, &[&url]).said(1, &["is not trusted", "--cacert FILE", "-k"]);
    assert!(!bench.path("small").exists());
    get(&bench, &[&url, "-k"]).said(0, &[]);
    is_whole(&bench, "small", &content(80_000));
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_name_with_two_addresses_is_reached_at_the_one_that_answers() {
    let Some(bench) = site() else { return };
    // `localhost` is ::1 and 127.0.0.1; the server is at the second alone.
    let args = ["serve", "www", "--listen", "127.0.0.1:0", "--threads", "1"];
    let mut serving = bench.start(bench.wirelap(&args));
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap().replace("127.0.0.1", "localhost");
    get(&bench, &[&format!("{url}small"), "--retry", "0"]).said(0, &[]);
    is_whole(&bench, "small", &content(80_000));
    serving.signal("INT");
    serving.end();
}
