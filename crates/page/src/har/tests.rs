//! Hand-written recordings (vectors/har) in the manner of each exporter, and files that are none.

mod devtools;
mod entries;

use super::*;
use crate::priority::{Hint, Rank};
use crate::resource::{Blocks, Kind, Method, Release, Resource, ResourceId};
use proptest::prelude::*;
use std::time::Duration;
use unit::ByteSize;

fn read(file: &[u8]) -> Recording {
    parse(file, HarOptions::default()).unwrap()
}

fn chrome() -> Recording {
    read(include_bytes!("../../../../vectors/har/chrome.har"))
}

/// The same with an onLoad so late that everything belongs to the load.
fn chrome_loaded_late() -> Recording {
    let file = include_str!("../../../../vectors/har/chrome.har");
    let late = file.replace(r#""onLoad": 600.5"#, r#""onLoad": 9999"#);
    assert_ne!(late, file);
    read(late.as_bytes())
}

fn at<'a>(recording: &'a Recording, path: &str) -> &'a Resource {
    let mut all = recording.page.resources().iter();
    all.find(|resource| resource.url.path == path).unwrap_or_else(|| panic!("no {path}"))
}

fn id(recording: &Recording, path: &str) -> ResourceId {
    let mut all = recording.page.resources().iter();
    ResourceId(all.position(|resource| resource.url.path == path).unwrap() as u32)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn chrome_names_initiators_by_url_and_by_stack() {
    let recording = chrome_loaded_late();
    // The document arrives from 141 to 161 ms; the script was asked for at 151 ms.
    assert_eq!(
        at(&recording, "/app.js").release,
        Release::Parsed { by: id(&recording, "/"), offset: ByteSize(5_000) }
    );
    let cart = at(&recording, "/v1/cart?x=1");
    assert_eq!(cart.release, Release::Completed { by: id(&recording, "/app.js") });
    assert_eq!(cart.think, ms(300 - 201));
    assert_eq!(cart.hint, Hint::Recorded(Rank::High));
    // Its recorded initiator is not in the file: the script that ended last stands in.
    assert_eq!(
        at(&recording, "/logo.png").release,
        Release::Completed { by: id(&recording, "/app.js") }
    );
    let told = &recording.assumptions;
    assert_eq!(
        (told.initiators_recorded, told.initiators_unusable, told.initiators_inferred),
        (3, 1, 2),
        "the WebSocket names none"
    );
}

#[test]
fn chrome_shows_what_never_reached_the_network() {
    let told = chrome_loaded_late().assumptions;
    assert_eq!((told.entries, told.replayed, told.hosts), (11, 6, 5));
    assert_eq!((told.not_http, told.unanswered, told.answered_inside), (3, 1, 1));
    assert_eq!((told.not_get, told.upload_bytes), (2, 100));
}

#[test]
fn sizes_and_server_times_follow_the_stated_ladder() {
    let recording = chrome_loaded_late();
    assert_eq!(at(&recording, "/").body, ByteSize(10_000), "_transferSize");
    assert_eq!(at(&recording, "/logo.png").body, ByteSize(2_048), "cached: content.size");
    // shop.example: 79 - 40 ms of TCP connect; 60 ms of wait.
    assert_eq!(at(&recording, "/").server_time, ms(21));
    assert_eq!(
        at(&recording, "/v1/cart?x=1").server_time,
        ms(0),
        "30 ms of wait, 30 ms of round trip"
    );
    assert_eq!(at(&recording, "/logo.png").server_time, ms(0), "never below 0");
    let told = &recording.assumptions;
    assert_eq!((told.rtt_measured, told.rtt_assumed, told.waits_clamped), (2, 2, 3));
    assert_eq!(told.rtt_median, Some(Duration::from_micros(34_500)));
}

#[test]
fn what_began_after_on_load_is_left_out_and_told() {
    let recording = chrome();
    assert!(recording.page.resources().iter().all(|resource| resource.url.path != "/b"));
    let told = &recording.assumptions;
    assert_eq!((told.after_load, told.no_on_load), (1, false));
    let words = told.to_string();
    assert!(words.contains("1 request began after onLoad, and is left out."), "{words}");
    assert!(words.contains("up to onLoad."), "{words}");
}

#[test]
fn flat_dependencies_find_everything_at_the_documents_end_without_gaps() {
    let options = HarOptions { dependencies: Dependencies::Flat, ..HarOptions::default() };
    let file = include_bytes!("../../../../vectors/har/chrome.har");
    let recording = parse(file, options).unwrap();
    let document = recording.page.document();
    for resource in &recording.page.resources()[1..] {
        assert_eq!(resource.release, Release::Completed { by: document });
        assert_eq!(resource.think, ms(0));
    }
    let unhurried = HarOptions { think: Think::None, ..HarOptions::default() };
    let recording = parse(file, unhurried).unwrap();
    assert!(recording.page.resources().iter().all(|resource| resource.think.is_zero()));
}

#[test]
fn firefox_has_no_initiators_and_they_are_inferred() {
    let recording = read(include_bytes!("../../../../vectors/har/firefox.har"));
    assert_eq!(recording.page.document(), id(&recording, "/en/"));
    assert_eq!(at(&recording, "/").release, Release::Navigation);
    let document = at(&recording, "/en/");
    assert_eq!(document.release, Release::Completed { by: id(&recording, "/") });
    assert_eq!(document.body, ByteSize(8_000), "bodySize goes before Content-Length");
    assert_eq!(document.content_type, "text/html");
    let style = id(&recording, "/main.css");
    let by_style = Release::Completed { by: style };
    assert!(matches!(at(&recording, "/main.css").release, Release::Parsed { .. }));
    assert_eq!(
        (at(&recording, "/f.woff2").release, at(&recording, "/f.woff2").think),
        (by_style, ms(30))
    );
    assert_eq!(at(&recording, "/bg.png").release, by_style, "the document was long parsed");
    assert_eq!(at(&recording, "/bg.png").body, ByteSize(4_096), "Content-Length");
    let told = &recording.assumptions;
    assert_eq!(
        (told.initiators_redirect, told.initiators_by_referer, told.initiators_inferred),
        (1, 1, 2)
    );
    let rtt = recording.page.hosts().iter().find(|host| host.name == "static.example").unwrap();
    assert_eq!((rtt.recorded_rtt, told.connect_without_tls), (Some(ms(30)), 1));
}

#[test]
fn safari_gives_address_literals_illegal_paths_and_ranges() {
    let recording = read(include_bytes!("../../../../vectors/har/safari.har"));
    let hosts: Vec<_> = recording.page.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(hosts, ["ip-192-0-2-7.invalid"]);
    assert_eq!(at(&recording, "/a%20b%7Cc?q=%22x%22").body, ByteSize(500));
    assert_eq!(at(&recording, "/part?wirelap-repeat=2").body, ByteSize(200));
    let table = recording.page.table();
    assert_eq!(table.answer("ip-192-0-2-7.invalid", "/part").unwrap().requests, 2);
    let told = &recording.assumptions;
    assert!(told.no_on_load);
    assert_eq!((told.paths_mended, told.hosts_renamed, told.repeats_renamed), (1, 1, 1));
    assert_eq!(told.rtt_median, None);
    assert_eq!(at(&recording, "/").server_time, ms(90), "without a round trip the whole wait");
}

#[test]
fn webpagetest_writes_numbers_as_text_and_two_page_loads() {
    let file = include_bytes!("../../../../vectors/har/webpagetest.har");
    let recording = read(file);
    assert_eq!(
        (at(&recording, "/").body, at(&recording, "/").server_time),
        (ByteSize(5_000), ms(30))
    );
    let by_script = Release::Completed { by: id(&recording, "/loop.js") };
    assert_eq!(at(&recording, "/i.gif").release, by_script);
    let told = &recording.assumptions;
    assert_eq!((told.pages, told.of_other_pages, told.replayed), (2, 1, 4));
    assert_eq!(
        (told.initiators_recorded, told.initiators_unusable),
        (1, 2),
        "itself, and a later one"
    );
    let second = parse(file, HarOptions { page: 1, ..HarOptions::default() }).unwrap();
    assert_eq!((second.title.as_str(), second.assumptions.replayed), ("Run 1, Repeat", 1));
    let none = parse(file, HarOptions { page: 2, ..HarOptions::default() });
    assert_eq!(none, Err(HarError::NoSuchPage { asked: 2, pages: 2 }));
}

#[test]
fn what_is_missing_everywhere_still_makes_a_page() {
    let recording = read(include_bytes!("../../../../vectors/har/missing-everything.har"));
    let kinds: Vec<_> = recording.page.resources().iter().map(|resource| resource.kind).collect();
    assert_eq!(kinds, [Kind::Document, Kind::Script], "the image has no response");
    let told = &recording.assumptions;
    assert_eq!((told.starts_missing, told.durations_missing, told.size_unknown), (2, 1, 2));
    assert_eq!((told.waits_missing, told.unanswered), (1, 1));
    assert_eq!(recording.page.hosts().len(), 1);
}

#[test]
fn a_bad_file_says_where() {
    let error = |file: &[u8]| parse(file, HarOptions::default()).unwrap_err();
    assert!(matches!(error(b"{\n \"log\": {,"), HarError::Json { line: 2, column: 10, .. }));
    assert!(error(b"{}").to_string().contains("missing field `log` at line 1 column 2"));
    assert!(error(b"").to_string().starts_with("not a HAR file: EOF"));
    assert!(error(b"{\"log\": {\"ent").to_string().contains("it ends in the middle"));
    assert_eq!(error(b"{\n\"\xff\""), HarError::Encoding { line: 2, column: 2 });
    assert_eq!(error(br#"{"log":{"entries":[]}}"#), HarError::Nothing(0));
    let data = br#"{"log":{"entries":[{"request":{"url":"data:,"}}]}}"#;
    assert!(error(data).to_string().starts_with("none of the 1 entries can be replayed"));
}

#[test]
fn a_bad_entry_is_named_with_its_url_and_field() {
    let error = |entry: &str| {
        let good = r#"{"request":{"url":"http://a/"}}"#;
        let file = format!(r#"{{"log":{{"entries":[{good},{entry}]}}}}"#);
        parse(file.as_bytes(), HarOptions::default()).unwrap_err().to_string()
    };
    for (entry, expected) in [
        (r#"7"#, "entry 1 (log.entries[1]): entry: an object is expected"),
        (r#"{"response":{}}"#, "entry 1 (log.entries[1]): request.url: it is missing"),
        (
            r#"{"request":{"url":["x"]}}"#,
            "entry 1 (log.entries[1]): request.url: a text is expected",
        ),
        (
            r#"{"request":{"url":"http://b/"},"startedDateTime":"noon"}"#,
            "entry 1 (log.entries[1]) for http://b/: startedDateTime: `noon` is not an ISO 8601 time stamp",
        ),
        (
            r#"{"request":{"url":"http://b/"},"timings":{"wait":"long"}}"#,
            "entry 1 (log.entries[1]) for http://b/: timings.wait: `long` is not a number",
        ),
        (
            r#"{"request":{"url":"http://b/"},"response":{"content":[]}}"#,
            "entry 1 (log.entries[1]) for http://b/: response.content: an object is expected",
        ),
        (
            r#"{"request":{"url":"http://b/"},"response":{"bodySize":1e300}}"#,
            "entry 1 (log.entries[1]) for http://b/: response.bodySize: it is larger than 1 TiB",
        ),
    ] {
        assert_eq!(error(entry), expected);
    }
}

/// A file of these entries, each its fields without the braces.
fn file_of(pages: &str, entries: &[String]) -> Vec<u8> {
    let entries: Vec<String> = entries.iter().map(|entry| format!("{{{entry}}}")).collect();
    format!(r#"{{"log":{{"pages":[{pages}],"entries":[{}]}}}}"#, entries.join(",")).into_bytes()
}

/// A GET that began so many ms after noon and took 100 ms.
fn get(url: &str, start: u64) -> String {
    asked("GET", url, start, r#""status":200,"bodySize":1000"#)
}

fn asked(method: &str, url: &str, start: u64, response: &str) -> String {
    let (minute, second, milli) = (start / 60_000, start / 1000 % 60, start % 1000);
    format!(
        r#""startedDateTime":"2026-01-01T12:{minute:02}:{second:02}.{milli:03}Z","time":100,"timings":{{"wait":50,"receive":50}},"request":{{"method":"{method}","url":"{url}"}},"response":{{{response}}}"#
    )
}

/// A page that began at noon and was loaded after 1.4 s.
const LOADED: &str =
    r#"{"id":"p","startedDateTime":"2026-01-01T12:00:00Z","pageTimings":{"onLoad":1400}}"#;

#[test]
fn one_is_one_and_two_are_several() {
    let one = read(&file_of(LOADED, &[get("http://a/", 0)])).assumptions.to_string();
    assert!(one.starts_with("1 of the file's 1 entry is replayed; it names 1 host."), "{one}");
    let connect = |entry: String| entry.replace("\"wait\"", "\"connect\":20,\"wait\"");
    let two = [connect(get("http://a/", 0)), get("http://b/", 100)];
    let two = read(&file_of(LOADED, &two)).assumptions.to_string();
    assert!(two.starts_with("2 of the file's 2 entries are replayed; it names 2 hosts."), "{two}");
    assert!(two.contains("1 host has no TCP connect, and that round trip: 20 ms."), "{two}");
    let ports = [get("http://a/", 0), get("http://a:81/", 100), get("http://a:82/", 100)];
    let ports = read(&file_of(LOADED, &ports)).assumptions.to_string();
    assert!(ports.contains("it names 1 host and 3 origins."), "{ports}");
    let all = read(&file_of(LOADED, &[connect(get("http://a/", 0))])).assumptions.to_string();
    assert!(
        all.contains("The recorded round trip of 1 host is its shortest TCP connect (20 ms)."),
        "{all}"
    );
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long the machine takes is what is asked")]
fn the_time_to_read_a_recording_grows_with_its_length_alone() {
    // Of each shape that was once compared with everything before it.
    let mixed = |n: u64| match n % 4 {
        0 => get(&format!("http://a/{n}.js"), n),
        1 => asked("POST", "http://a/poll", n, &format!(r#""status":200,"bodySize":{n}"#)),
        2 => get(&format!("http://a/{n}.json"), n),
        _ => asked(
            "GET",
            &format!("http://a/{n}"),
            n,
            &format!(r#""status":302,"redirectURL":"/{}""#, n + 4),
        ),
    };
    let own_host = |n: u64| get(&format!("http://h{n}/"), n);
    let one_connection = |n: u64| {
        let answer = r#""status":200,"bodySize":9,"httpVersion":"h2""#;
        let entry = asked("GET", &format!("http://h{n}/"), n, answer);
        format!(r#"{entry},"_connectionId":"7""#)
    };
    let shapes: [&dyn Fn(u64) -> String; 3] = [&mixed, &own_host, &one_connection];
    let page = LOADED.replace("1400", "3000000");
    for (number, shape) in shapes.iter().enumerate() {
        let time = |count: u64| {
            let entries: Vec<String> = (0..count).map(shape).collect();
            let file = file_of(&page, &entries);
            let begun = std::time::Instant::now();
            let recording = read(&file);
            assert_eq!(u64::from(recording.assumptions.replayed), count);
            recording.page.least_time();
            recording.page.shared_hosts();
            begun.elapsed()
        };
        let best = |count| (0..3).map(|_| time(count)).min().unwrap();
        let (short, long) = (best(1_000), best(16_000));
        // 16 times the entries; a quadratic reader would take 256 times as long.
        assert!(long < short * 80, "shape {number}: {short:?}, then {long:?}");
    }
}

#[test]
fn a_stack_nested_beyond_all_bounds_costs_only_the_initiator() {
    let deep = format!("{}{}", r#"{"stack":{"parent":"#.repeat(5_000), "}}".repeat(5_000));
    let deep = deep.replace(r#""parent":}"#, r#""parent":{}}"#);
    let entry = |initiator: &str| {
        format!(
            r#"{{"request":{{"url":"http://a/"}},"response":{{"status":200}},"_initiator":{initiator}}}"#
        )
    };
    let file = format!(r#"{{"log":{{"entries":[{},{}]}}}}"#, entry("null"), entry(&deep));
    let recording = read(file.as_bytes());
    assert_eq!(recording.assumptions.initiators_inferred, 1);
}

#[test]
fn a_recording_survives_its_file() {
    let recording = chrome();
    let text = serde_json::to_string(&recording).unwrap();
    assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), recording);
}

fn any_options() -> impl Strategy<Value = HarOptions> {
    (any::<bool>(), any::<bool>(), 0_u32..2).prop_map(|(flat, quick, page)| HarOptions {
        dependencies: if flat { Dependencies::Flat } else { Dependencies::Inferred },
        think: if quick { Think::None } else { Think::Recorded },
        page,
    })
}

/// Fields of an entry, well and ill formed.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"http://a/\"".to_owned()),
        Just("\"2024-05-01T10:00:00Z\"".to_owned()),
        Just("302".to_owned()),
        any::<f64>()
            .prop_filter("JSON has no such numbers", |n| n.is_finite())
            .prop_map(|n| n.to_string()),
        (0_u32..5000).prop_map(|n| n.to_string()),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(file in proptest::collection::vec(any::<u8>(), 0..200), options in any_options()) {
        let _ = parse(&file, options);
    }

    #[test]
    fn a_damaged_recording_is_read_or_refused(at in any::<prop::sample::Index>(), with in any::<u8>(), options in any_options()) {
        let mut file = include_bytes!("../../../../vectors/har/chrome.har").to_vec();
        let place = at.index(file.len());
        file[place] = with;
        let _ = parse(&file, options);
    }

    #[test]
    fn whatever_is_read_from_odd_fields_makes_a_page_that_loads(
        entries in proptest::collection::vec((any_value(), any_value(), any_value(), any_value(), 0_u8..4, any_value()), 1..12),
        options in any_options(),
    ) {
        let entries: Vec<String> = entries.iter().map(|(start, time, wait, size, url, initiator)| format!(
            r#"{{"startedDateTime":{start},"time":{time},"request":{{"url":"http://a/{}"}},"response":{{"status":302,"redirectURL":{initiator},"bodySize":{size}}},"timings":{{"wait":{wait},"receive":{time},"connect":{wait}}},"_initiator":{initiator}}}"#,
            ["", "1", "1?x", "2"][usize::from(*url)],
        )).collect();
        let file = format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","));
        if let Ok(recording) = parse(file.as_bytes(), options) {
            let now = unit::Instant::ZERO;
            let mut load = crate::Load::replay(&recording.page, crate::Browser::Chrome156, now);
            let mut now = now;
            while !load.is_finished() {
                match load.poll_fetch(now) {
                    Some(fetch) => load.handle_done(fetch.id, now),
                    None if load.is_finished() => {}
                    None => now = load.poll_timeout().expect("a load waits for something"),
                }
            }
            prop_assert!(load.milestones().load.is_some());
        }
    }
}
