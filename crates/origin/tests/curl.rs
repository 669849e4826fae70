//! What is served, as curl sees it over every protocol.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use std::process::Command;
use support::{BIG, Folder, Serving, run_text};
use testing::peers::{has, run};

/// The ways to ask: protocol arguments and whether they go to the TLS port.
const WAYS: [(&[&str], bool); 4] = [
    (&["--http1.1"], false),
    (&["--http2-prior-knowledge"], false),
    (&["--http1.1", "-k"], true),
    (&["--http2", "-k"], true),
];

fn curl_is_there() -> bool {
    has("curl", "--version", "apt-get install curl")
}

/// Head and body of an answer.
fn ask(serving: &Serving, way: (&[&str], bool), path: &str, more: &[&str]) -> String {
    let url = if way.1 { serving.tls_url(path) } else { serving.url(path) };
    let mut arguments = vec!["-sS", "-i", "--path-as-is", "--max-time", "20"];
    arguments.extend_from_slice(way.0);
    arguments.extend_from_slice(more);
    arguments.push(&url);
    run_text("curl", &arguments)
}

fn status(answer: &str) -> u16 {
    answer.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn a_file_of_the_future_was_last_modified_when_the_answer_was_made() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let file = std::fs::File::options().write(true).open(folder.root().join("a.txt")).unwrap();
    let tomorrow = os::clock::realtime() + std::time::Duration::from_secs(86_400);
    file.set_modified(std::time::UNIX_EPOCH + tomorrow).unwrap();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let answer = ask(&serving, way, "/a.txt", &[]);
        let at = |name| httpdate::parse_http_date(field(&answer, name).unwrap()).unwrap();
        // RFC 9110 §8.8.2.1
        assert!(at("last-modified") <= at("date"), "{answer}");
        assert!(field(&answer, "etag").is_some(), "{answer}");
    }
}

#[test]
fn files_are_served_alike_over_every_protocol() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let answer = ask(&serving, way, "/a.txt", &[]);
        assert_eq!((status(&answer), body(&answer)), (200, "0123456789"), "{way:?}");
        assert_eq!(field(&answer, "content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(field(&answer, "content-length"), Some("10"));
        assert_eq!(field(&answer, "accept-ranges"), Some("bytes"));
        assert_eq!(field(&answer, "server"), Some("wirelap"));
        assert!(field(&answer, "date").is_some_and(|date| date.ends_with("GMT")));
        let head = ask(&serving, way, "/a.txt", &["--head"]);
        assert_eq!((field(&head, "content-length"), body(&head)), (Some("10"), ""), "{way:?}");
        let url = if way.1 { serving.tls_url("/big.bin") } else { serving.url("/big.bin") };
        let big = run(Command::new("curl").args(["-sS", &url]).args(way.0)).stdout;
        assert!(big.len() == BIG && big.iter().all(|&byte| byte == 7), "{way:?}");
        let empty = ask(&serving, way, "/empty.css", &[]);
        assert_eq!((status(&empty), field(&empty, "content-length")), (200, Some("0")));
    }
    drop(serving);
}

#[test]
fn ranges_single_and_many_come_back_as_asked() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let one = ask(&serving, way, "/a.txt", &["-r", "2-4"]);
        assert_eq!((status(&one), body(&one)), (206, "234"));
        assert_eq!(field(&one, "content-range"), Some("bytes 2-4/10"));
        let tail = ask(&serving, way, "/a.txt", &["-r", "-3"]);
        assert_eq!((status(&tail), body(&tail)), (206, "789"));
        let beyond = ask(&serving, way, "/a.txt", &["-r", "10-"]);
        assert_eq!((status(&beyond), field(&beyond, "content-range")), (416, Some("bytes */10")));
        let many = ask(&serving, way, "/a.txt", &["-r", "0-1,8-"]);
        let boundary = field(&many, "content-type")
            .and_then(|value| value.strip_prefix("multipart/byteranges; boundary="))
            .unwrap()
            .to_owned();
        let part = |range: &str, bytes: &str| {
            format!(
                "\r\n--{boundary}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-range: bytes {range}/10\r\n\r\n{bytes}"
            )
        };
        let expected = format!("{}{}\r\n--{boundary}--\r\n", part("0-1", "01"), part("8-9", "89"));
        assert_eq!((status(&many), body(&many)), (206, expected.as_str()));
    }
}

#[test]
fn conditional_requests_are_weighed() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    let way = WAYS[3];
    let first = ask(&serving, way, "/a.txt", &[]);
    let (etag, date) = (field(&first, "etag").unwrap(), field(&first, "last-modified").unwrap());
    let with = |header: &str| ask(&serving, way, "/a.txt", &["-H", header, "-r", "0-0"]);
    for (header, expected) in [
        (format!("if-none-match: {etag}"), 304),
        ("if-none-match: \"x\"".to_owned(), 206),
        (format!("if-modified-since: {date}"), 304),
        (format!("if-match: {etag}"), 206),
        ("if-match: \"x\"".to_owned(), 412),
        (format!("if-unmodified-since: {date}"), 206),
        ("if-unmodified-since: Thu, 01 Jan 1970 00:00:01 GMT".to_owned(), 412),
        (format!("if-range: {etag}"), 206),
        ("if-range: \"x\"".to_owned(), 200),
    ] {
        let answer = with(&header);
        assert_eq!(status(&answer), expected, "{header}");
        assert!(
            expected != 304 || (body(&answer).is_empty() && field(&answer, "etag") == Some(etag))
        );
    }
}

#[test]
fn nothing_outside_the_folder_is_served() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        for path in [
            "/../secret",
            "/%2e%2e/secret",
            "/..%2fsecret",
            "/sub%20dir/../../secret",
            "/out",
            "/up/secret",
            "/fifo",
            "/a.txt%00",
            "/a.txt/",
            "//etc/passwd",
            "/%2fetc/passwd",
            "/..%5csecret",
            "/nothing",
        ] {
            let answer = ask(&serving, way, path, &[]);
            assert!(matches!(status(&answer), 400 | 404), "{path}: {answer}");
            assert!(!body(&answer).contains("secret"), "{path}: {answer}");
        }
    }
}

#[test]
fn folders_methods_and_delays() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let code = |path: &str, more: &[&str]| status(&ask(&serving, way, path, more));
        let moved = ask(&serving, way, "/sub%20dir?x=1", &[]);
        assert_eq!((status(&moved), field(&moved, "location")), (301, Some("/sub%20dir/?x=1")));
        assert_eq!(body(&ask(&serving, way, "/sub%20dir/", &[])), "<p>sub</p>");
        assert_eq!(body(&ask(&serving, way, "/", &[])), "<p>root</p>");
        assert_eq!(code("/bare/", &[]), 404);
        let refused = ask(&serving, way, "/a.txt", &["-X", "DELETE"]);
        assert_eq!((status(&refused), field(&refused, "allow")), (405, Some("GET, HEAD, OPTIONS")));
        assert_eq!(code("/a.txt", &["-X", "BREW"]), 501);
        // Over HTTP/2 curl gives it a path, too, and is refused for that (RFC 9113 §8.5).
        if way.0.contains(&"--http1.1") {
            let connect = ["-X", "CONNECT", "--request-target", "a.test:443"];
            let tunnel = ask(&serving, way, "/", &connect);
            let told = (status(&tunnel), body(&tunnel).contains("no proxy"));
            assert_eq!(told, (501, true), "{tunnel:?}");
        }
        let options = ask(&serving, way, "/a.txt", &["-X", "OPTIONS"]);
        assert_eq!((status(&options), field(&options, "allow")), (204, Some("GET, HEAD, OPTIONS")));
        assert_eq!(code("/", &["-X", "OPTIONS", "--request-target", "*"]), 204);
        assert_eq!(code("/a.txt?delay_ms=30", &[]), 200);
        assert_eq!(code("/a.txt?delay_ms=9999999", &[]), 400);
        assert_eq!(code("/page?pictures=5", &[]), 400);
        // RFC 9110 §9.3.2: HEAD wherever GET is, and no body after it.
        for path in ["/stream?count=3&bytes=60&every_ms=0", "/poll?count=3&bytes=60&every_ms=0"] {
            let heads = ask(&serving, way, path, &["-I"]);
            assert_eq!((status(&heads), body(&heads)), (200, ""), "{way:?}: {heads}");
        }
    }
}

#[test]
fn request_bodies_are_echoed_counted_and_logged() {
    if !curl_is_there() {
        return;
    }
    const UPLOAD: usize = 5_000_000;
    let folder = Folder::new();
    std::fs::write(folder.root().join("upload.bin"), vec![7; UPLOAD]).unwrap();
    let serving = Serving::start(&folder.root());
    let upload = format!("@{}", folder.root().join("upload.bin").display());
    for way in WAYS {
        let target = |path| if way.1 { serving.tls_url(path) } else { serving.url(path) };
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--data-binary", &upload, &target("/echo")]).args(way.0);
        let back = run(&mut curl).stdout;
        assert!(back.len() == UPLOAD && back.iter().all(|&byte| byte == 7), "{way:?}");
        let count = ask(&serving, way, "/discard", &["-H", "expect: 100-continue", "-d", &upload]);
        assert!(count.ends_with(&format!("{UPLOAD}\n")), "{way:?}: {count}");
    }
    let lines: Vec<_> = serving.log.iter().take(8).collect();
    for line in &lines {
        assert_eq!(
            (line.status, line.received, line.method.as_str()),
            (Some(200), UPLOAD as u64, "POST")
        );
        assert_eq!(line.sent, if line.path == "/echo" { UPLOAD as u64 } else { 8 });
    }
    let protocols: Vec<_> = lines.iter().map(|line| line.protocol.as_str()).collect();
    assert_eq!(protocols, ["http/1.1", "http/1.1", "h2", "h2", "http/1.1", "http/1.1", "h2", "h2"]);
}

#[test]
fn a_client_that_waits_for_100_gets_it_where_its_body_is_wanted() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let more = ["-H", "expect: 100-continue", "--expect100-timeout", "15", "-d", "hello"];
        let answer = ask(&serving, way, "/echo", &more);
        assert_eq!(status(&answer), 100, "{way:?}: {answer}");
        assert!(answer.ends_with("\r\n\r\nhello"), "{way:?}: {answer}");
        let refused = ask(&serving, way, "/a.txt", &more);
        assert_eq!(status(&refused), 405, "{way:?}: {refused}");
    }
}

#[test]
fn bytes_of_a_file_arrive_in_their_places_whoever_sends_them() {
    if !curl_is_there() {
        return;
    }
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..75_000_u32).flat_map(u32::to_be_bytes).collect();
    std::fs::write(folder.root().join("places.bin"), &bytes).unwrap();
    let serving = Serving::start(&folder.root());
    for way in WAYS {
        let url = if way.1 { serving.tls_url("/places.bin") } else { serving.url("/places.bin") };
        let fetch = |range: &[&str]| {
            run(Command::new("curl").args(["-sS", &url]).args(way.0).args(range)).stdout
        };
        assert!(fetch(&[]) == bytes, "{way:?}");
        assert!(fetch(&["-r", "100001-299998"]) == bytes[100_001..299_999], "{way:?}");
        assert!(fetch(&["-r", "-40000"]) == bytes[260_000..], "{way:?}");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_sent_ends_its_connection() {
    use std::io::{Read, Write};
    let folder = Folder::with_big_file();
    let serving = Serving::start(&folder.root());
    let address = serving.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    socket.write_all(b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut piece = vec![0; 64 * 1024];
    let mut got = socket.read(&mut piece).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(folder.root().join("big.bin")).unwrap();
    file.set_len(1000).unwrap();
    // An end or a reset, and either before the whole of what was promised.
    while let Ok(more) = socket.read(&mut piece)
        && more > 0
    {
        got += more;
    }
    assert!(got < BIG, "{got}");
}
