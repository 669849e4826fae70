//! `serve --policy` with a policy's name, and `--delivery-log`: nghttp and curl are the clients.

use crate::bench::Bench;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};

#[test]
fn a_named_policy_pushes_and_each_stream_has_a_line_in_the_delivery_log() {
    let bench = Bench::new();
    if bench.shell(&[], "nghttp --version").code != 0 {
        return testing::skip("nghttp is not installed: apt-get install nghttp2-client");
    }
    let page = "<!doctype html><link rel=stylesheet href=style.css><script src=app.js></script>";
    bench.write("index.html", page);
    bench.write("style.css", " ".repeat(20_000));
    bench.write("app.js", " ".repeat(10_000));
    bench.write("log.jsonl", "of another run\n");
    let listen = ["serve", ".", "--listen", "127.0.0.1:0", "--threads", "1", "-v"];
    let policy = ["--policy", "push-casper", "--delivery-log", "log.jsonl"];
    let mut running = bench.start(bench.wirelap(&[&listen[..], &policy].concat()));
    let mut out = BufReader::new(running.child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let fetch = format!("nghttp -n -H 'cookie: h2o_casper=!' {}", url.trim());
    bench.shell(&[], &fetch).said(0, &[]);
    running.signal("INT");
    assert_eq!(running.end().code, 0);

    let mut told = String::new();
    out.read_to_string(&mut told).unwrap();
    for words in [
        "h2o_casper is ignored: not base64url",
        "/style.css 200 20000 bytes",
        "/app.js 200 10000 bytes",
        "pushed with stream",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let log = std::fs::read_to_string(bench.path("log.jsonl")).unwrap();
    let own = log.strip_prefix("of another run\n").expect("what was there stays");
    let rows: Vec<Value> = own.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3, "{log}");
    let row = |path: &str| rows.iter().find(|row| row["path"] == path).unwrap();
    let page = row("/");
    assert_eq!((&page["asked"][0]["by"], &page["pushed_with"]), (&"HEADERS".into(), &Value::Null));
    for (path, media_type) in [("/style.css", "text/css"), ("/app.js", "text/javascript")] {
        let push = row(path);
        assert_eq!((&push["pushed_with"], &push["push"]), (&page["stream"], &"use-unknown".into()));
        assert_eq!((&push["decided"]["urgency"], &push["end"]), (&1.into(), &"done".into()));
        assert!(push["media_type"].as_str().unwrap().starts_with(media_type), "{push}");
        assert!(push["first_byte"].as_u64() <= page["first_byte"].as_u64(), "{log}");
    }
}

#[test]
fn curl_is_told_what_the_page_loads_while_the_server_thinks_and_with_the_answer() {
    let bench = Bench::new();
    bench.write("index.html", "<!doctype html><link rel=stylesheet href=style.css>");
    bench.write("style.css", "p { color: red }");
    let link = "link: </style.css>; rel=preload; as=style";
    for (policy, hints, links) in [("none", 0, 0), ("early-hints", 1, 0), ("preload", 0, 1)] {
        let listen = ["serve", ".", "--listen", "127.0.0.1:0", "--policy", policy];
        let mut running = bench.start(bench.wirelap(&listen));
        let mut url = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            let ask = format!("curl -sD - -o page {version} '{}?delay_ms=20'", url.trim());
            let heads = bench.shell(&[], &ask).said(0, &[]).out.to_lowercase();
            let (before, after) = heads.split_at(heads.find(" 200").unwrap());
            let count = |head: &str| head.matches(link).count();
            assert_eq!(
                (count(before), count(after)),
                (hints, links),
                "{policy} {version}: {heads}"
            );
            assert_eq!(before.contains(" 103"), hints > 0, "{policy} {version}: {heads}");
        }
        running.signal("INT");
        assert_eq!(running.end().code, 0);
    }
}

#[test]
fn a_policy_and_a_log_that_cannot_be_had_are_told_before_anything_is_served() {
    let bench = Bench::new();
    let serve = |more: &[&str]| {
        let listen = ["serve", ".", "--listen", "127.0.0.1:0"];
        bench.run(&[&listen[..], more].concat())
    };
    serve(&["--policy", "pusj"]).said(2, &["no policy is called `pusj`", "did you mean `push`?"]);
    bench.write("mine.toml", "[[rules]]\npush = [\"/none.css\"]\n");
    serve(&["--policy", "mine.toml"]).said(2, &["mine.toml:2:9", "/none.css", "404"]);
    bench.write("mine.toml", "[[rules]]\npush = [\"//b.test/a.css\"]\n");
    serve(&["--policy", "mine.toml"]).said(2, &["mine.toml:2:9", "same host"]);
    serve(&["--delivery-log", "none/log.jsonl"]).said(2, &["none/log.jsonl", "check the path"]);
}

#[test]
fn a_policy_that_reads_files_alone_is_noted_before_an_application() {
    let bench = Bench::new();
    for (policy, upstream, is_told) in [
        ("push", true, true),
        ("rules-of-thumb", true, true),
        ("push-preload", true, false),
        ("server-driven", true, false),
        ("push", false, false),
    ] {
        let listen = ["serve", ".", "--listen", "127.0.0.1:0", "--policy", policy];
        let before: &[&str] = if upstream { &["--upstream", "http://127.0.0.1:9"] } else { &[] };
        let mut running = bench.start(bench.wirelap(&[&listen[..], before].concat()));
        let mut url = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        running.signal("INT");
        let ran = running.end();
        let has_told = ran.err.contains("`--policy push-preload`");
        assert_eq!((ran.code, has_told), (0, is_told), "{policy} {upstream}: {ran:?}");
    }
}
