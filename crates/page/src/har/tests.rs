//! Hand-written recordings (vectors/har) in the manner of each exporter, and files that are none.

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
    assert!(words.contains("1 request: began after that: left out"), "{words}");
    assert!(words.contains("until onLoad."), "{words}");
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
    assert_eq!(kinds, [Kind::Document, Kind::Image, Kind::Script]);
    let told = &recording.assumptions;
    assert_eq!((told.starts_missing, told.durations_missing, told.size_unknown), (3, 2, 3));
    assert_eq!(told.waits_missing, 2);
    assert_eq!(recording.page.hosts().len(), 1);
}

#[test]
fn a_bad_file_says_where() {
    let error = |file: &[u8]| parse(file, HarOptions::default()).unwrap_err();
    assert!(matches!(error(b"{\n \"log\": {,"), HarError::Json { line: 2, column: 10, .. }));
    assert!(error(b"{}").to_string().contains("missing field `log` at line 1 column 2"));
    assert!(error(b"").to_string().starts_with("not a HAR file: EOF"));
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
fn a_head_stays_a_head_and_its_length_is_no_body() {
    // Playwright writes -1 for each.
    let head = asked(
        "HEAD",
        "http://a/big.zip",
        200,
        r#""status":200,"bodySize":-1,"_transferSize":230,"headers":[{"name":"Content-Length","value":"30000000"}],"content":{"size":0}"#,
    );
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), head]));
    let head = at(&recording, "/big.zip");
    assert_eq!((head.method, head.body), (Method::Head, ByteSize(30_000_000)));
    assert_eq!(head.received_body(), ByteSize::ZERO);
    assert_eq!(recording.page.total_bytes(), ByteSize(1_000));
    let told = recording.assumptions.to_string();
    assert!(told.contains("1 request: HEAD: replayed as HEAD"), "{told}");
    assert_eq!(recording.assumptions.not_get, 0);
}

#[test]
fn what_was_not_modified_stays_so_with_the_validators_that_asked() {
    let entry = r#""startedDateTime":"2026-01-01T12:00:00.200Z","time":100,"request":{"method":"GET","url":"http://a/old","headers":[{"name":"If-None-Match","value":"\"x\""},{"name":"Range","value":"bytes=0-"}]},"response":{"status":304,"bodySize":0,"_transferSize":171,"content":{"size":52000}}"#;
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), entry.to_owned()]));
    let old = at(&recording, "/old");
    assert_eq!((old.status, old.body.0), (304, 0));
    let fields: Vec<_> = old.asked.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["if-none-match"]);
    let told = recording.assumptions.to_string();
    assert!(told.contains("1 request: answered 304: replayed as such"), "{told}");
    // All else is found in the document's bytes.
    let document = asked(
        "GET",
        "http://a/",
        0,
        r#""status":304,"_transferSize":171,"content":{"size":52000}"#,
    );
    let recording = read(&file_of(LOADED, &[document]));
    assert_eq!((at(&recording, "/").status, at(&recording, "/").body.0), (200, 52_000));
    assert!(recording.assumptions.document_whole && recording.assumptions.not_modified == 0);
}

#[test]
fn a_post_a_redirect_a_part_and_an_error_stay_what_they_are() {
    let post = asked("POST", "http://a/api", 100, r#""status":201,"bodySize":20"#).replace(
        r#""url":"http://a/api""#,
        r#""url":"http://a/api","bodySize":300,"headers":[{"name":"Content-Type","value":"application/json"}]"#,
    );
    let redirect = asked(
        "GET",
        "http://a/old",
        110,
        r#""status":302,"redirectURL":"http://b/new","_transferSize":310,"bodySize":-1,"content":{"size":0}"#,
    );
    let part = asked(
        "GET",
        "http://a/film",
        120,
        r#""status":206,"bodySize":50,"headers":[{"name":"content-range","value":"bytes 0-49/900"}]"#,
    )
    .replace(
        r#""url":"http://a/film""#,
        r#""url":"http://a/film","headers":[{"name":"Range","value":"bytes=0-49"}]"#,
    );
    let vague = asked("GET", "http://a/vague", 130, r#""status":206,"bodySize":50"#);
    let missing = asked("GET", "http://a/missing", 140, r#""status":404,"bodySize":9"#);
    let odd = asked("PROPFIND", "http://a/dav", 150, r#""status":207,"bodySize":9"#);
    let entries = [get("http://a/", 0), post, redirect, get("http://b/new", 215), part, vague];
    let recording = read(&file_of(LOADED, &[&entries[..], &[missing, odd]].concat()));
    let api = at(&recording, "/api");
    assert_eq!((api.method, api.status, api.asked.body.0), (Method::Post, 201, 300));
    assert_eq!(api.asked.fields[0].value, "application/json");
    let old = at(&recording, "/old");
    assert_eq!((old.status, old.body.0), (302, 0));
    assert_eq!(old.answered.field("location"), Some("http://b/new"));
    let by = Release::Completed { by: id(&recording, "/old") };
    assert_eq!(at(&recording, "/new").release, by);
    let film = at(&recording, "/film");
    assert_eq!((film.status, film.body.0), (206, 50));
    assert_eq!(film.answered.field("content-range"), Some("bytes 0-49/900"));
    assert_eq!(film.asked.fields[0].value, "bytes=0-49");
    assert_eq!(at(&recording, "/vague").status, 200);
    assert_eq!((at(&recording, "/missing").status, at(&recording, "/missing").body.0), (404, 9));
    assert_eq!((at(&recording, "/dav").method, at(&recording, "/dav").status), (Method::Get, 207));
    let told = &recording.assumptions;
    assert_eq!((told.not_get, told.upload_bytes, told.methods_unknown), (1, 300, 1));
    assert_eq!((told.redirects, told.parts, told.errors, told.statuses_changed), (1, 1, 1, 1));
}

#[test]
fn a_web_socket_has_the_messages_until_the_loads_end() {
    // Noon of the first of January 2026.
    let noon = 1_767_268_800.0;
    let messages = serde_json::json!([
        {"type": "send", "time": noon + 0.4, "opcode": 1, "data": "hello"},
        {"type": "receive", "time": noon + 0.5, "opcode": 1, "data": "good day"},
        {"type": "receive", "time": noon + 9.0, "opcode": 1, "data": "still there?"},
    ]);
    let socket = |more: &str| {
        let entry = asked("GET", "wss://b/chat?x=1", 200, r#""status":101"#);
        format!(r#"{entry},"_resourceType":"websocket"{more}"#)
    };
    let with = socket(&format!(r#","_webSocketMessages":{messages}"#));
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), with]));
    let chat = at(&recording, "/chat?x=1");
    assert_eq!((chat.status, chat.url.to_string().as_str()), (101, "https://b/chat?x=1"));
    let told: Vec<_> = chat.answered.messages.as_ref().unwrap().iter().collect();
    assert_eq!(
        (told.len(), told[1].data.as_slice(), told[1].after),
        (2, &b"good day"[..], ms(100))
    );
    assert_eq!((chat.body, chat.is_web_socket()), (ByteSize(8), true));
    let told = &recording.assumptions;
    assert_eq!((told.web_sockets, told.web_sockets_bare, told.messages_left_out), (1, 0, 1));

    let recording = read(&file_of(LOADED, &[get("http://a/", 0), socket("")]));
    assert_eq!(at(&recording, "/chat?x=1").answered.messages, Some(Vec::new()));
    let told = recording.assumptions.to_string();
    assert!(told.contains("1 request: for a WebSocket without recorded messages"), "{told}");
}

#[test]
fn a_stream_of_events_takes_its_time_until_the_loads_end() {
    let stream = asked(
        "GET",
        "http://a/events",
        400,
        r#""status":200,"bodySize":3000,"content":{"size":3000,"mimeType":"text/event-stream"}"#,
    )
    .replace(r#""time":100"#, r#""time":3050"#)
    .replace(r#""receive":50"#, r#""receive":3000"#);
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), stream]));
    let events = at(&recording, "/events");
    // It began at 450 ms, and the load ended at 1400 ms.
    assert_eq!((events.answered.streamed, events.body), (Some(ms(950)), ByteSize(950)));
    assert_eq!(recording.assumptions.streams, 1);
}

#[test]
fn hosts_that_shared_a_connection_of_http2_are_told() {
    let over = |host: &str, start: u64, connection: &str, version: &str| {
        let answer = format!(r#""status":200,"bodySize":9,"httpVersion":"{version}""#);
        let entry = asked("GET", &format!("http://{host}/{start}"), start, &answer);
        format!(r#"{entry},"connection":"{connection}""#)
    };
    let entries = [
        over("a", 0, "7", "h2"),
        over("b", 10, "7", "HTTP/2.0"),
        over("c", 20, "8", "h3"),
        over("d", 30, "9", "http/1.1"),
        over("e", 40, "9", "http/1.1"),
        over("b", 50, "11", "h2"),
    ];
    let recording = read(&file_of(LOADED, &entries));
    assert_eq!(recording.page.shared_hosts(), [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]]);
    let text = serde_json::to_string(&recording.page).unwrap();
    assert_eq!(serde_json::from_str::<crate::Page>(&text).unwrap(), recording.page);
}

#[test]
fn what_a_page_says_of_blocking_goes_before_what_is_inferred() {
    let named = |path: &str, mime: &str, said: &str| {
        let answer = format!(r#""status":200,"bodySize":9,"content":{{"mimeType":"{mime}"}}"#);
        let entry = asked("GET", &format!("http://a/{path}"), 60, &answer);
        format!(r#"{entry},"_renderBlocking":"{said}""#)
    };
    let recording = read(&file_of(
        LOADED,
        &[
            get("http://a/", 0),
            named("print.css", "text/css", "non-blocking"),
            named("all.css", "text/css", "blocking"),
            named("late.js", "text/javascript", "non-blocking"),
            named("head.js", "text/javascript", "blocking"),
        ],
    ));
    let blocks = |path: &str| at(&recording, path).blocks;
    assert_eq!((blocks("/print.css"), blocks("/all.css")), (Blocks::Nothing, Blocks::Painting));
    assert_eq!((blocks("/late.js"), blocks("/head.js")), (Blocks::Parsing, Blocks::Parsing));
}

#[test]
fn a_recorded_site_has_exact_sizes_all_fields_and_the_files_of_its_bodies() {
    let digest = "0123456789abcdef".repeat(4);
    let entry = |file: &str| {
        asked(
            "GET",
            "http://a/",
            0,
            &format!(
                r#""status":200,"bodySize":700,"_transferSize":900,"content":{{"size":9,"mimeType":"text/html","_file":"{file}"}},"headers":[{{"name":"Link","value":"</a>"}},{{"name":"date","value":"x"}},{{"name":"Set-Cookie","value":"a=1\nb=2"}}]"#
            ),
        )
    };
    let site = |version: u32, file: &str| {
        let har = String::from_utf8(file_of(LOADED, &[entry(file)])).unwrap();
        har.replacen('{', &format!(r#"{{"wirelap_site":{version},"#), 1).into_bytes()
    };
    let recording = read(&site(SITE_VERSION, &digest));
    let document = at(&recording, "/");
    assert_eq!((document.body, recording.is_site), (ByteSize(700), true));
    assert_eq!(document.answered.file.as_deref(), Some(digest.as_str()));
    let fields: Vec<_> = document.answered.fields.iter().map(|field| &*field.value).collect();
    assert_eq!(fields, ["</a>", "a=1", "b=2"]);
    for hostile in ["../../etc/passwd", "", "0123"] {
        assert_eq!(at(&read(&site(1, hostile)), "/").answered.file, None, "{hostile}");
    }
    let later = parse(&site(2, &digest), HarOptions::default()).unwrap_err().to_string();
    assert_eq!(later, "it is a recorded site of version 2, and this is read: 1");
    let har = read(&file_of(LOADED, &[entry(&digest)]));
    assert!(at(&har, "/").answered.is_plain() && !har.is_site);
}

#[test]
fn a_poll_long_after_the_load_and_a_stream_over_its_end_do_not_hold_it() {
    let mut stream = get("http://a/events", 300);
    stream =
        stream.replace(r#""time":100"#, r#""time":42000"#).replace("\"wait\":50", "\"wait\":41000");
    let entries =
        [get("http://a/", 0), get("http://a/app.js", 100), stream, get("http://a/poll", 43_400)];
    let recording = read(&file_of(LOADED, &entries));
    assert_eq!(recording.page.resources().len(), 3);
    assert!(recording.page.least_time() <= ms(1_400), "{:?}", recording.page.least_time());
    let told = &recording.assumptions;
    assert_eq!((told.after_load, told.waits_cut, told.load_span), (1, 1, Some(ms(1_400))));
    assert!(told.to_string().contains("The recorded load took 1.40 s, until onLoad."), "{told}");

    // Without an onLoad, the load is over when nothing was under way for 5 s.
    let entries = [get("http://a/", 0), get("http://a/late", 4_900), get("http://a/poll", 43_400)];
    let recording = read(&file_of("", &entries));
    assert_eq!(recording.page.resources().len(), 2);
    let told = &recording.assumptions;
    assert_eq!((told.after_load, told.load_span), (1, Some(ms(5_000))));
    assert!(told.to_string().contains("until nothing was under way for 5 s"), "{told}");
}

#[test]
fn starts_that_cannot_be_are_told_and_hold_nothing() {
    for year in ["2099", "1999"] {
        for page in [LOADED, "", &LOADED.replace("2026", year)] {
            let absurd = get("http://a/absurd", 200).replace("2026", year);
            let entries = [get("http://a/", 0), get("http://a/app.js", 100), absurd];
            let recording = read(&file_of(page, &entries));
            let told = &recording.assumptions;
            assert_eq!((told.replayed, told.starts_absurd), (3, 1), "{page}: {told}");
            assert!(recording.page.least_time() < Duration::from_secs(2), "{page}");
            assert!(told.to_string().contains("1 request: with a start that cannot be"), "{told}");
        }
    }
}

#[test]
fn a_host_in_unicode_is_replayed_by_its_a_label() {
    let recording =
        read(&file_of(LOADED, &[get("http://a/", 0), get("http://b\u{fc}cher.example/x", 100)]));
    assert_eq!(at(&recording, "/x").url.host, "xn--bcher-kva.example");
}

#[test]
fn an_entry_whose_url_cannot_be_asked_for_is_left_out_and_told_unless_it_is_the_document() {
    let long = format!("http://{}.example/", "a".repeat(64));
    for (url, problem) in [
        ("http://b:0/", "`0` is not a port"),
        ("http://../", "`.` is not a host name"),
        (&long, "is not a host name"),
        ("nowhere", "no scheme"),
    ] {
        let entries = [get("http://a/", 0), get(url, 100)];
        let recording = read(&file_of(LOADED, &entries));
        let told = &recording.assumptions;
        assert_eq!((told.replayed, told.urls_unusable), (1, 1), "{url}");
        let place = "Left out: entry 1 (log.entries[1]) for ";
        let words = told.to_string();
        assert!(words.contains(place) && words.contains(problem), "{words}");
        let document =
            asked("GET", url, 0, r#""status":200,"content":{"size":9,"mimeType":"text/html"}"#);
        let error =
            parse(&file_of(LOADED, &[document, get("http://a/x", 100)]), HarOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("log.entries[0]") && error.contains(problem), "{error}");
    }
}

#[test]
fn one_is_one_and_two_are_several() {
    let one = read(&file_of(LOADED, &[get("http://a/", 0)])).assumptions.to_string();
    assert!(one.starts_with("Replayed: 1 of 1 entry (1 host in the file)."), "{one}");
    let connect = |entry: String| entry.replace("\"wait\"", "\"connect\":20,\"wait\"");
    let two = [connect(get("http://a/", 0)), get("http://b/", 100)];
    let two = read(&file_of(LOADED, &two)).assumptions.to_string();
    assert!(two.starts_with("Replayed: 2 of 2 entries (2 hosts in the file)."), "{two}");
    assert!(two.contains("1 host by the least TCP connect, 1 host by the median"), "{two}");
    let all = read(&file_of(LOADED, &[connect(get("http://a/", 0))])).assumptions.to_string();
    assert!(all.contains("1 host by the least TCP connect, 20 ms."), "{all}");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long the machine takes is what is asked")]
fn the_time_to_read_a_recording_grows_with_its_length_alone() {
    // Of each shape that was once compared with everything before it.
    let entries = |count: u64| -> Vec<String> {
        let one = |n: u64| match n % 4 {
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
        (0..count).map(one).collect()
    };
    let page = LOADED.replace("1400", "3000000");
    let time = |count: u64| {
        let file = file_of(&page, &entries(count));
        let begun = std::time::Instant::now();
        let recording = read(&file);
        assert_eq!(u64::from(recording.assumptions.replayed), count);
        recording.page.least_time();
        begun.elapsed()
    };
    let best = |count| (0..3).map(|_| time(count)).min().unwrap();
    let (short, long) = (best(1_000), best(16_000));
    // 16 times the entries; a quadratic reader would take 256 times as long.
    assert!(long < short * 80, "{short:?}, then {long:?}");
}

#[test]
fn a_stack_nested_beyond_all_bounds_costs_only_the_initiator() {
    let deep = format!("{}{}", r#"{"stack":{"parent":"#.repeat(5_000), "}}".repeat(5_000));
    let deep = deep.replace(r#""parent":}"#, r#""parent":{}}"#);
    let entry = |initiator: &str| {
        format!(r#"{{"request":{{"url":"http://a/"}},"_initiator":{initiator}}}"#)
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
