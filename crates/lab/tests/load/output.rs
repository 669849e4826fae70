//! What is printed and written: for people, for programs, and for tools that merge histograms.

use crate::bench::Bench;
use crate::{answered, load};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::io::{BufRead, BufReader};

/// Our own server without a log, and its URL.
pub(crate) fn serve(bench: &Bench) -> (crate::bench::Running, String) {
    std::fs::create_dir(bench.path("www")).unwrap();
    bench.write("www/hello", "hello, world\n");
    let args = ["serve", "www", "--listen", "127.0.0.1:0", "--threads", "1"];
    let mut serving = bench.start(bench.wirelap(&args));
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    // The rest is read and thrown away, or the server would wait for its reader.
    std::thread::spawn(move || lines.count());
    (serving, url)
}

#[test]
fn either_reactor_asks_for_what_it_is_to_ask_for() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let url = format!("{url}hello");
    for reactor in ["epoll", "io-uring"] {
        let args = ["load", "--json", "-n", "500", "-c", "8", "--reactor", reactor, &url];
        let ran = bench.run(&args);
        if ran.code == 3 {
            ran.said(3, &["cannot set up io_uring", "--reactor epoll"]);
            testing::skip("this kernel has no io_uring for us");
            continue;
        }
        let result = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        assert_eq!((ran.code, answered(&result)), (0, 500), "{reactor}");
    }
}

pub(crate) fn histograms(text: &[u8]) -> Vec<Histogram<u64>> {
    let mut deserializer = Deserializer::new();
    let entries = IntervalLogIterator::new(text).map(Result::unwrap);
    let encoded = entries.filter_map(|entry| match entry {
        LogEntry::Interval(histogram) => Some(histogram.encoded_histogram().to_owned()),
        _ => None,
    });
    let decoded = encoded.map(|text| {
        let bytes = decode_base64(&text);
        deserializer.deserialize(&mut &bytes[..]).unwrap()
    });
    decoded.collect()
}

/// RFC 4648 §4, for the texts of a log.
fn decode_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> =
        text.bytes().filter(|byte| *byte != b'=').map(|byte| u32::from(value(byte))).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[test]
fn histogram_logs_are_read_and_merged_by_others() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let (_, one) = load(&bench, &["-n", "500", "--hdr", "one.hlog", &url]);
    let (_, two) = load(&bench, &["--rate", "500:1s,1000:500ms", "--hdr", "two.hlog", &url]);
    let [first] = &histograms(&std::fs::read(bench.path("one.hlog")).unwrap())[..] else {
        panic!("one run has one histogram");
    };
    assert_eq!(first.len(), answered(&one));
    let longest = one["whole"]["latency"]["max_ms"].as_f64().unwrap();
    assert!((first.max() as f64 / 1e6 / longest - 1.0).abs() < 0.002, "{} {longest}", first.max());
    let stages = histograms(&std::fs::read(bench.path("two.hlog")).unwrap());
    assert_eq!(stages.iter().map(Histogram::len).collect::<Vec<_>>(), [500, 500]);
    let mut merged = first.clone();
    stages.iter().for_each(|stage| merged.add(stage).unwrap());
    assert_eq!(merged.len(), answered(&one) + answered(&two));
    serving.signal("INT");
    serving.end();
}

#[test]
fn prometheus_gets_the_counts_and_times_of_the_run() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let (_, result) = load(&bench, &["-n", "200", "--prometheus", "load.prom", &url]);
    let page = std::fs::read_to_string(bench.path("load.prom")).unwrap();
    let value = |name: &str| {
        let line = page.lines().find(|line| line.split(' ').next() == Some(name));
        line.unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(value("wirelap_load_requests_total"), 200.0);
    assert_eq!(value("wirelap_load_responses_total{status=\"200\"}"), 200.0);
    let answers = value("wirelap_load_latency_seconds_count");
    assert_eq!(answers, answered(&result) as f64);
    assert_eq!(value("wirelap_load_latency_seconds_bucket{le=\"+Inf\"}"), answers);
    let mean = result["whole"]["latency"]["mean_ms"].as_f64().unwrap() / 1e3;
    assert!((value("wirelap_load_latency_seconds_sum") / answers / mean - 1.0).abs() < 1e-6);
    serving.signal("INT");
    serving.end();
}

#[test]
fn the_parts_of_a_result_sum_to_the_whole() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    bench.write(
        "kinds.toml",
        format!(
            "[[request]]\nurl = '{url}hello'\nweight = 3\nheaders = {{ X-A = 'b' }}\n\
             [[request]]\nurl = '{url}echo'\nbody = 'twelve chars'\n\
             [[request]]\nurl = '{url}missing'\nmethod = 'HEAD'\n"
        ),
    );
    let args = ["--requests-from", "kinds.toml", "-n", "500", "-c", "3", "-t", "3"];
    let (code, result) = load(&bench, &args);
    assert_eq!(code, 0);
    let sum = |field: &str| -> u64 {
        let targets = result["targets"].as_array().unwrap();
        targets.iter().map(|target| target["part"][field].as_u64().unwrap()).sum()
    };
    for field in ["requests", "answers", "refused", "body_bytes"] {
        assert_eq!(result["whole"][field], sum(field), "{field}");
    }
    assert_eq!(result["whole"]["requests"], 500);
    let statuses = result["statuses"].as_object().unwrap();
    let all: u64 = statuses.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((all, &statuses["404"]), (500, &result["whole"]["refused"]));
    let methods: Vec<_> =
        result["targets"].as_array().unwrap().iter().map(|target| &target["method"]).collect();
    assert_eq!(methods, ["GET", "POST", "HEAD"]);
    // Three threads of 167, 167 and 166 requests, each in turns of three, one and one.
    let first = result["targets"][0]["part"]["answers"].as_u64().unwrap();
    assert!((298..=303).contains(&first), "{first}");
    serving.signal("INT");
    serving.end();
}

#[test]
fn messages_to_one_websocket_share_its_connections() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    let url = format!("{}ws/echo", url.replacen("http", "ws", 1));
    let messages = ["one", "two", "three"];
    let requests = messages.map(|text| format!("[[request]]\nurl = '{url}'\nbody = '{text}'\n"));
    bench.write("messages.toml", requests.concat());
    let args = ["--requests-from", "messages.toml", "-n", "300", "-c", "2", "-t", "2"];
    let (code, result) = load(&bench, &args);
    assert_eq!((code, &result["connects"]["opened"]), (0, &2.into()), "{result:#}");
    for target in result["targets"].as_array().unwrap() {
        assert_eq!(target["part"]["answers"], 100, "{result:#}");
    }
    serving.signal("INT");
    serving.end();
}

#[test]
fn the_course_is_a_line_a_second_and_the_text_tells_the_percentiles() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let csv = bench.run(&["load", "--csv", "--rate", "100", "-d", "3s", &url]);
    csv.said(0, &[]);
    let lines: Vec<&str> = csv.out.lines().collect();
    assert_eq!(lines[0], "at_s,seconds,answers,errors,waiting,p50_ms,p99_ms,max_ms");
    assert!((2..=6).contains(&lines.len()), "{lines:?}");
    let answers = lines[1..].iter().map(|line| line.split(',').nth(2).unwrap());
    let answers: u64 = answers.map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(answers, 300, "the course holds every answer: {lines:?}");
    let first: f64 = lines[1].split(',').next().unwrap().parse().unwrap();
    assert!(first < 3.5, "the course begins with the run: {first}");
    let text = bench.run(&["load", "-n", "20000", "-c", "8", &url]);
    text.said(0, &[]);
    for words in
        ["http/1.1, 8 connections x 1 stream", "p99.99", "20000 answered, no errors", "of CPU"]
    {
        assert!(text.out.contains(words), "no {words:?} in {}", text.out);
    }
    assert!(!text.out.contains('\u{1b}'), "a pipe has no colours");
    serving.signal("INT");
    serving.end();
}

#[test]
fn an_objective_that_holds_at_no_rate_is_exit_code_1_with_every_rate_that_was_tried() {
    let bench = Bench::new();
    let (serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let args = ["--slo", "p50<1ns", "--rate", "4", "-d", "600ms", &url];
    let (code, result) = load(&bench, &args);
    assert_eq!((code, &result["slo"]["rate"]), (1, &serde_json::Value::Null));
    assert_eq!(result["slo"]["answer"], "nowhere");
    let probes = result["slo"]["probes"].as_array().unwrap();
    assert!(probes.len() >= 3, "no single probe decides: {probes:#?}");
    for probe in probes {
        assert_eq!(probe["held"], false);
        assert!(probe["reason"].as_str().unwrap().starts_with("p50 "), "{probe:#}");
        assert!(
            probe["requests"].as_u64().unwrap() >= 5,
            "so many that it is not chance: {probe:#}"
        );
    }
    assert_eq!(result["slo"]["conditions"][0]["holds"], false);
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_page_shows_rates_percentiles_and_the_course() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let url = format!("{url}hello");
    let rates = ["--rate", "100:1100ms", "--rate", "200:1100ms"];
    let ran = bench.run(&[&["load", "-c", "4", "--html", "load.html", &url][..], &rates].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = std::fs::read_to_string(bench.path("load.html")).unwrap();
    assert!(page.contains("requests/s answered over"), "{page}");
    for id in ["rates", "percentiles", "course"] {
        assert!(page.contains(&format!("<figure id=\"{id}\"")), "{id} is missing");
    }
    // A schedule of rates does not know this client's lateness by rate; the whole run does.
    assert_eq!(page.matches("class=\"late\"").count(), 1);
    assert!(
        page.contains("<caption>Stages</caption>") && !page.contains("<caption>Targets</caption>")
    );
}

#[test]
fn a_page_shows_each_target_and_the_stage_that_climbs() {
    let bench = Bench::new();
    let (_serving, url) = serve(&bench);
    let (there, missing) = (format!("{url}hello"), format!("{url}nothing"));
    let rates = ["--rate", "100:300ms", "--rate", "200:300ms", "--rate", "200-300:300ms"];
    let args = [&["load", "-c", "2", "--html", "load.html", &there, &missing][..], &rates].concat();
    let ran = bench.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = std::fs::read_to_string(bench.path("load.html")).unwrap();
    for text in ["<caption>Targets</caption>", &missing, "200-300:300ms", "Stages that climb"] {
        assert!(page.contains(text), "{text} is missing: {page}");
    }
}
