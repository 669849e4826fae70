//! What becomes of an entry: its method, status, body, messages, time and host.

use super::*;

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
    assert!(told.contains("1 request is a HEAD, and is answered"), "{told}");
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
    assert!(told.contains("1 request is answered 304, as on a visit"), "{told}");
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
    assert!(told.contains("1 WebSocket has no recorded messages"), "{told}");
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
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), stream.clone()]));
    let events = at(&recording, "/events");
    // It began at 450 ms, and the load ended at 1400 ms.
    assert_eq!((events.answered.streamed, events.body), (Some(ms(950)), ByteSize(950)));
    assert_eq!(recording.assumptions.streams, 1);
    // Of a recorded site its first bytes are replayed.
    let digest = "0123456789abcdef".repeat(4);
    let site = String::from_utf8(file_of(LOADED, &[get("http://a/", 0), stream])).unwrap();
    let site = site.replacen('{', r#"{"wirelap_site":1,"#, 1);
    let site = site.replace(r#""size":3000"#, &format!(r#""size":3000,"_file":"{digest}""#));
    let recording = read(site.as_bytes());
    let events = at(&recording, "/events");
    assert_eq!((events.body, events.answered.file.as_ref()), (ByteSize(950), Some(&digest)));
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
    let mut cut = String::from_utf8(site(1, &digest)).unwrap();
    for (from, to) in [
        (r#""bodySize":700"#, r#""bodySize":0"#),
        (r#"{"name":"date","value":"x"}"#, r#"{"name":"Content-Length","value":"5000"}"#),
    ] {
        cut = cut.replace(from, to);
    }
    assert_eq!(at(&read(cut.as_bytes()), "/").body, ByteSize::ZERO, "an exact size of 0 is one");
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
    assert!(told.to_string().contains("The recorded load took 1.40 s, up to onLoad."), "{told}");

    // Without an onLoad, the load is over when nothing was under way for 5 s.
    let entries = [get("http://a/", 0), get("http://a/late", 4_900), get("http://a/poll", 43_400)];
    let recording = read(&file_of("", &entries));
    assert_eq!(recording.page.resources().len(), 2);
    let told = &recording.assumptions;
    assert_eq!((told.after_load, told.load_span), (1, Some(ms(5_000))));
    assert!(told.to_string().contains("up to when nothing was under way for 5 s"), "{told}");
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
            assert!(told.to_string().contains("1 request has a start that cannot be"), "{told}");
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
fn what_nobody_answered_is_left_out_and_a_missing_status_is_told() {
    let without = |response: &str| {
        let entry = get("http://a/slow.js", 100);
        let (before, _) = entry.split_once(r#""response""#).unwrap();
        format!(r#"{before}"response":{response}"#)
    };
    for response in ["null", "{}", r#"{"status":0}"#, r#"{"status":-1,"bodySize":-1}"#] {
        let recording = read(&file_of(LOADED, &[get("http://a/", 0), without(response)]));
        let told = &recording.assumptions;
        assert_eq!((told.replayed, told.unanswered), (1, 1), "{response}");
    }
    let sized = without(r#"{"bodySize":700}"#);
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), sized]));
    let slow = at(&recording, "/slow.js");
    assert_eq!((slow.status, slow.body), (200, ByteSize(700)));
    let told = recording.assumptions.to_string();
    assert!(told.contains("1 request has a size and no status"), "{told}");
}

#[test]
fn a_web_socket_that_failed_is_not_replayed_as_an_open_one() {
    let with = |response: &str| {
        let entry = asked("GET", "wss://b/chat", 200, response);
        let entry = format!(r#"{entry},"_resourceType":"websocket","_webSocketMessages":[]"#);
        read(&file_of(LOADED, &[get("http://a/", 0), entry]))
    };
    for response in [r#""status":0"#, r#""status":0,"bodySize":50"#, ""] {
        let told = with(response).assumptions;
        assert_eq!((told.replayed, told.unanswered, told.web_sockets), (1, 1, 0), "{response}");
    }
    for (status, response) in [
        (403, r#""status":403,"bodySize":50,"content":{"mimeType":"text/html"}"#),
        (200, r#""status":200,"bodySize":50,"httpVersion":"http/1.1""#),
    ] {
        let recording = with(response);
        let chat = at(&recording, "/chat");
        assert_eq!((chat.status, chat.body, chat.kind), (status, ByteSize(50), Kind::Xhr));
        assert!(!chat.is_web_socket() && chat.method == Method::Get);
        let told = &recording.assumptions;
        assert_eq!((told.web_sockets, told.web_sockets_refused), (0, 1));
        assert!(told.to_string().contains("1 WebSocket was not opened"));
    }
    // RFC 8441: over HTTP/2 that is how one opens.
    for response in [r#""status":101"#, r#""status":200,"httpVersion":"h2""#] {
        let recording = with(response);
        assert_eq!(at(&recording, "/chat").answered.messages, Some(Vec::new()), "{response}");
        assert_eq!(recording.assumptions.web_sockets, 1);
    }
}

/// The same entry, answered by a cache.
fn from_memory(entry: &str) -> String {
    format!(r#"{entry},"_fromCache":"memory""#)
        .replace(r#""bodySize":1000"#, r#""bodySize":0,"_transferSize":0,"content":{"size":4000}"#)
}

#[test]
fn what_the_cache_answers_from_an_earlier_request_is_left_out_and_its_finds_are_the_earlier_ones() {
    let found = |entry: String, by: &str| {
        format!(r#"{entry},"_initiator":{{"type":"parser","url":"{by}"}}"#)
    };
    let entries = [
        get("http://a/", 0),
        get("http://a/all.css", 110),
        get("http://a/i.png", 120),
        from_memory(&get("http://a/i.png", 130)),
        from_memory(&get("http://a/all.css", 300)),
        found(get("http://a/bg.png", 400), "http://a/all.css"),
        // An earlier visit has left this.
        from_memory(&get("http://a/old.png", 410)),
        from_memory(&get("http://a/old.png", 420)),
    ];
    let recording = read(&file_of(LOADED, &entries));
    let paths: Vec<_> =
        recording.page.resources().iter().map(|resource| &*resource.url.path).collect();
    assert_eq!(paths, ["/", "/all.css", "/i.png", "/bg.png", "/old.png"]);
    assert_eq!(at(&recording, "/i.png").body, ByteSize(1000));
    let by = Release::Completed { by: id(&recording, "/all.css") };
    assert_eq!(at(&recording, "/bg.png").release, by);
    let told = &recording.assumptions;
    assert_eq!((told.cache_repeats, told.from_cache, told.repeats_renamed), (3, 1, 0));
    let words = told.to_string();
    assert!(words.contains("3 requests were answered by the cache from earlier ones"));

    // Another part, and the answer behind a redirect, are no repeats; a part of what came whole is one.
    let ranged = |entry: String, range: &str| {
        let fields = format!(r#""headers":[{{"name":"Range","value":"{range}"}}]"#);
        entry.replace(r#""method":"GET""#, &format!(r#""method":"GET",{fields}"#))
    };
    let redirect = asked("GET", "http://a/", 0, r#""status":302,"redirectURL":"/in""#);
    let entries = [
        redirect,
        asked("GET", "http://a/in", 100, r#""status":302,"redirectURL":"/""#),
        from_memory(&get("http://a/", 200)),
        ranged(get("http://a/film", 310), "bytes=0-9"),
        from_memory(&ranged(get("http://a/film", 320), "bytes=10-19")),
        from_memory(&ranged(get("http://a/film", 330), "bytes=0-9")),
        get("http://a/song", 340),
        from_memory(&ranged(get("http://a/song", 350), "bytes=5-9")),
    ];
    let recording = read(&file_of(LOADED, &entries));
    assert_eq!(recording.page.document(), ResourceId(2));
    let told = &recording.assumptions;
    assert_eq!((told.cache_repeats, told.replayed), (2, 6), "{told}");
}

#[test]
fn of_a_page_with_a_service_worker_each_response_of_the_network_is_replayed_once() {
    let typed = |entry: String, kind: &str| {
        format!(
            r#"{entry},"_resourceType":"{kind}","_initiator":{{"type":"script","url":"http://a/sw.js"}}"#
        )
    };
    let of_page = |url: &str, start: u64, kind: &str| {
        let answer = r#""status":200,"_transferSize":0,"bodySize":0,"_fetchedViaServiceWorker":true,"content":{"size":9000}"#;
        let entry = asked("GET", url, start, answer);
        format!(
            r#"{entry},"_resourceType":"{kind}","_priority":"VeryHigh","_initiator":{{"type":"parser","url":"http://a/"}}"#
        )
    };
    let entries = [
        of_page("http://a/", 0, "document"),
        get("http://a/sw.js", 1),
        typed(get("http://a/", 10), "fetch"),
        of_page("http://a/all.css", 110, "stylesheet"),
        typed(get("http://a/all.css", 115), "fetch"),
        // From the worker's own store.
        of_page("http://a/all.css", 130, "stylesheet"),
        of_page("http://a/kept.css", 140, "stylesheet"),
    ];
    let recording = read(&file_of(LOADED, &entries));
    let all = recording.page.resources().iter();
    let told: Vec<_> = all.map(|one| (&*one.url.path, one.kind, one.body.0)).collect();
    assert_eq!(
        told,
        [
            ("/sw.js", Kind::Script, 1000),
            ("/", Kind::Document, 1000),
            ("/all.css", Kind::Stylesheet, 1000),
            ("/kept.css", Kind::Stylesheet, 9000),
        ]
    );
    assert_eq!(recording.page.document(), ResourceId(1));
    let sheet = at(&recording, "/all.css");
    assert_eq!(sheet.hint, Hint::Recorded(Rank::VeryHigh));
    assert_eq!(sheet.release.initiator(), Some(ResourceId(1)));
    let told = &recording.assumptions;
    assert_eq!((told.worker_repeats, told.from_cache, told.cache_repeats), (3, 1, 0));
    assert!(told.to_string().contains("3 requests were answered by a service worker"), "{told}");
}

#[test]
fn bodies_that_were_under_way_at_the_loads_end_are_told_with_their_bytes() {
    let long = |url: &str, bytes: u32| {
        asked("GET", url, 1_300, &format!(r#""status":200,"bodySize":{bytes}"#))
            .replace(r#""time":100"#, r#""time":20050"#)
            .replace(r#""receive":50"#, r#""receive":20000"#)
    };
    let film = long("http://a/film.mp4", 20_000_000);
    // This one ends with the load, but for the rounding.
    let last = get("http://a/last.png", 1_301);
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), film.clone(), last]));
    let told = &recording.assumptions;
    assert_eq!((told.under_way, told.under_way_bytes), (1, 20_000_000));
    let words = told.to_string();
    let line = "1 request (20 MB) was under way at onLoad: it is replayed whole, and the load waits for it.";
    assert!(words.contains(line), "{words}");
    assert_eq!(at(&recording, "/film.mp4").body, ByteSize(20_000_000));
    let two = [get("http://a/", 0), film, long("http://a/more.mp4", 1)];
    let words = read(&file_of(LOADED, &two)).assumptions.to_string();
    assert!(words.contains("2 requests (20.0 MB) were under way at onLoad"), "{words}");
    let whole = read(&file_of(LOADED, &[get("http://a/", 0)])).assumptions;
    assert!(whole.under_way == 0 && !whole.to_string().contains("under way at onLoad"));
}

#[test]
fn lengths_that_nobody_can_hold_are_refused_with_their_entry() {
    let error = |entry: String| {
        let file = file_of(LOADED, &[get("http://a/", 0), entry]);
        parse(&file, HarOptions::default()).unwrap_err().to_string()
    };
    let place = "entry 1 (log.entries[1]) for http://a/x: ";
    let headers =
        |length: &str| format!(r#""headers":[{{"name":"Content-Length","value":"{length}"}}]"#);
    for length in ["1099511627777", "18446744073709551615", "99999999999999999999999"] {
        let answer = format!(r#""status":200,{}"#, headers(length));
        let told = error(asked("GET", "http://a/x", 100, &answer));
        let expected = "response.headers Content-Length: it is larger than 1 TiB";
        assert_eq!(told, format!("{place}{expected}"));
        let post = asked("POST", "http://a/x", 100, r#""status":200"#).replace(
            r#""url":"http://a/x""#,
            &format!(r#""url":"http://a/x",{}"#, headers(length)),
        );
        let expected = "request.headers Content-Length: it is larger than 1 TiB";
        assert_eq!(error(post), format!("{place}{expected}"));
    }
    let post = |method: &str, url: &str, start: u64, size: u64| {
        asked(method, url, start, r#""status":200"#)
            .replace(r#""url":""#, &format!(r#""bodySize":{size},"url":""#))
    };
    let expected =
        "request.bodySize: the bodies that the page sends are larger than 256 MiB by then";
    assert_eq!(
        error(post("POST", "http://a/x", 100, 549_755_813_888)),
        format!("{place}{expected}")
    );
    let half = 128 << 20;
    let fitting = [
        get("http://a/", 0),
        post("POST", "http://a/1", 100, half),
        post("PUT", "http://a/2", 110, half),
        // Its body is not sent, and this one began after the load.
        post("GET", "http://a/3", 120, half),
        post("POST", "http://a/4", 1_500, half),
    ];
    let recording = read(&file_of(LOADED, &fitting));
    assert_eq!(recording.assumptions.upload_bytes, 2 * half);
    // No number is no length.
    let vague = asked("GET", "http://a/x", 100, &format!(r#""status":200,{}"#, headers("1e99")));
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), vague]));
    assert_eq!(at(&recording, "/x").body, ByteSize::ZERO);
}

#[test]
fn the_head_of_a_page_reaches_behind_its_last_script_where_priorities_are_recorded() {
    let named = |path: &str, start: u64, rank: &str| {
        let answer = r#""status":200,"bodySize":9,"content":{"mimeType":"text/javascript"}"#;
        let entry = asked("GET", &format!("http://a/{path}"), start, answer);
        format!(r#"{entry},"_priority":"{rank}""#)
    };
    // The document arrives from 50 to 100 ms.
    let head = |rank: &str, late: &str| {
        let entries = [get("http://a/", 0), named("head.js", 75, rank), named("late.js", 90, late)];
        read(&file_of(LOADED, &entries)).page.body_at()
    };
    assert_eq!(head("High", "Medium"), ByteSize(501));
    assert_eq!(head("High", "Low"), ByteSize(501));
    assert_eq!(head("High", "High"), ByteSize(801));
    assert_eq!(head("", "Low"), ByteSize(500));
}

#[test]
fn a_preflight_is_found_by_what_found_its_request_and_releases_that() {
    // As Chrome writes it: the request begins first, and is the preflight's initiator.
    let asks = |method: &str, start: u64, time: u64, initiator: &str| {
        let entry = asked(method, "http://b/api", start, r#""status":200,"bodySize":9"#);
        let entry = entry.replace(r#""time":100"#, &format!(r#""time":{time}"#));
        format!(r#"{entry},"_initiator":{initiator}"#)
    };
    let by_script = r#"{"type":"script","url":"http://a/app.js"}"#;
    let by_preflight = r#"{"type":"preflight","url":"http://b/api"}"#;
    let entries = [
        get("http://a/", 0),
        get("http://a/app.js", 100),
        asks("POST", 230, 300, by_script),
        asks("OPTIONS", 231, 100, by_preflight),
    ];
    let recording = read(&file_of(LOADED, &entries));
    let of = |method: Method| {
        let mut all = (0..).map(ResourceId).zip(recording.page.resources());
        all.find(|(_, resource)| resource.method == method && resource.url.host == "b").unwrap()
    };
    let (preflight, asking) = of(Method::Options);
    assert_eq!(asking.release, Release::Completed { by: id(&recording, "/app.js") });
    assert_eq!(asking.think, ms(31));
    let (_, post) = of(Method::Post);
    assert_eq!((post.release, post.think), (Release::Completed { by: preflight }, ms(0)));
    let told = &recording.assumptions;
    assert_eq!((told.preflights, told.initiators_unusable, told.begun_early), (1, 0, 0));
}

#[test]
fn a_request_of_the_load_stays_in_it_though_its_preflight_ends_later() {
    let asks = |method: &str, start: u64, time: u64, more: &str| {
        let entry = asked(method, "http://b/api", start, r#""status":200,"bodySize":9"#);
        entry.replace(r#""time":100"#, &format!(r#""time":{time}"#)) + more
    };
    // The load ends at 1,400 ms.
    let entries = [
        get("http://a/", 0),
        asks("POST", 1_390, 300, ""),
        asks("OPTIONS", 1_391, 100, r#","_initiator":{"type":"preflight","url":"http://b/api"}"#),
    ];
    let recording = read(&file_of(LOADED, &entries));
    let methods: Vec<Method> =
        recording.page.resources().iter().map(|resource| resource.method).collect();
    assert_eq!(methods, [Method::Get, Method::Options, Method::Post]);
    assert_eq!((recording.assumptions.preflights, recording.assumptions.after_load), (1, 0));
}
