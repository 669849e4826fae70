//! An application server behind the origin: Node's, with curl, libcurl and nghttp as the clients.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use origin::{ByLink, DeliveryPolicy, ExchangeEnd, NotPushed, PushSettings, UpstreamSettings};
use secure::Sha256;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Folder, Serving, peer, run_text};
use testing::peers::{has, kept, run};

/// The application, which ends with its input.
struct Application {
    process: Child,
    address: SocketAddr,
}

impl Application {
    /// None, and a skip, where there is no Node.
    fn start() -> Option<Self> {
        if !has("node", "--version", "apt-get install nodejs") {
            return None;
        }
        let mut command = Command::new("node");
        command.arg(peer("application.mjs")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let address = ([127, 0, 0, 1], port.trim().parse().unwrap()).into();
        Some(Self { process, address })
    }

    fn settings(&self) -> UpstreamSettings {
        UpstreamSettings::new(self.address)
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

fn by_link() -> DeliveryPolicy {
    let push = PushSettings { by_link: ByLink::Pushed, ..PushSettings::default() };
    DeliveryPolicy { push, ..DeliveryPolicy::default() }
}

/// curl's word for a request: the status, then the body.
fn curl(flags: &[&str], url: &str) -> String {
    let own = ["-sk", "--max-time", "30", "-w", "\n%{http_code}"];
    let output = Command::new("curl").args(own).args(flags).arg(url).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = said.rsplit_once('\n').unwrap();
    format!("{status} {body}")
}

fn sha256(bytes: &[u8]) -> String {
    let mut digest = Sha256::new();
    digest.update(bytes);
    digest.finish().to_string()
}

#[test]
fn what_the_application_links_is_pushed_from_its_103_and_from_its_answer() {
    let Some(application) = Application::start() else { return };
    if !has("nghttp", "--version", "apt-get install nghttp2-client") {
        return;
    }
    let site = Folder::new();
    std::fs::remove_file(site.root().join("index.html")).unwrap();
    let serving = Serving::start_before(application.settings(), &site.root(), by_link());
    let said = run_text("nghttp", &["-nv", "--no-verify-peer", &serving.tls_url("/")]);
    let promised: Vec<_> = said.lines().filter_map(|line| line.split(" :path: ").nth(1)).collect();
    // The request itself, then what the 103 names, then what the answer names without nopush.
    assert_eq!(promised, ["/", "/early.css", "/app.js"], "{said}");
    assert!(said.contains(":status: 103"), "{said}");
    let pushed: Vec<_> =
        serving.log.iter().take(3).filter(|line| line.pushed_with.is_some()).collect();
    let sizes: Vec<_> =
        pushed.iter().map(|line| (line.path.as_str(), line.sent, line.end)).collect();
    assert_eq!(sizes.len(), 2, "{sizes:?}");
    for size in [("/early.css", 20_000, ExchangeEnd::Done), ("/app.js", 30_000, ExchangeEnd::Done)]
    {
        assert!(sizes.contains(&size), "{sizes:?}");
    }
}

#[test]
fn pushes_with_a_bound_of_bytes_have_no_answers_of_unknown_size() {
    let Some(application) = Application::start() else { return };
    if !has("nghttp", "--version", "apt-get install nghttp2-client") {
        return;
    }
    let site = Folder::new();
    std::fs::remove_file(site.root().join("index.html")).unwrap();
    let push = PushSettings { most_bytes: Some(10), ..by_link().push };
    let policy = DeliveryPolicy { push, ..by_link() };
    let serving = Serving::start_before(application.settings(), &site.root(), policy);
    let said = run_text("nghttp", &["-nv", "--no-verify-peer", &serving.tls_url("/")]);
    assert_eq!(said.matches(" :path: ").count(), 1, "{said}");
    let skipped: Vec<_> = serving.skipped.try_iter().collect();
    let expected = ["/early.css", "/app.js"].map(|path| (path.to_owned(), NotPushed::UnknownSize));
    assert_eq!(skipped, expected);
}

#[test]
fn of_the_applications_answers_too_only_200_is_pushed() {
    let Some(application) = Application::start() else { return };
    if !has("nghttp", "--version", "apt-get install nghttp2-client") {
        return;
    }
    let site = Folder::new();
    let serving = Serving::start_before(application.settings(), &site.root(), by_link());
    let said = run_text("nghttp", &["-nv", "--no-verify-peer", &serving.tls_url("/faults")]);
    let reset = said.lines().filter(|line| line.contains("recv RST_STREAM")).count();
    assert_eq!((said.matches(":status: ").count(), reset), (2, 2), "{said}");
    let ends: Vec<_> =
        serving.log.iter().take(4).map(|line| (line.path, line.status, line.end)).collect();
    for (path, status, end) in [
        ("/faults", Some(200), ExchangeEnd::Done),
        ("/gone.css", None, ExchangeEnd::Broken),
        ("/drop", None, ExchangeEnd::Broken),
        ("/app.js", Some(200), ExchangeEnd::Done),
    ] {
        assert!(ends.contains(&(path.to_owned(), status, end)), "{ends:?}");
    }
    let mut skipped: Vec<_> = serving.skipped.try_iter().collect();
    skipped.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("/drop", NotPushed::Status(502)), ("/gone.css", NotPushed::Status(404))];
    assert_eq!(skipped, expected.map(|(path, why)| (path.to_owned(), why)));
}

#[test]
fn files_go_before_the_application_and_its_paths_before_our_targets() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let serving =
        Serving::start_before(application.settings(), &site.root(), DeliveryPolicy::default());
    assert_eq!(curl(&[], &serving.url("/a.txt")), "200 0123456789");
    assert_eq!(curl(&[], &serving.url("/api")), "200 the application's own /api");
    assert_eq!(curl(&[], &serving.url("/page")), "404 no such thing in the application");
    assert_eq!(curl(&["-d", "x"], &serving.url("/a.txt")), "404 no such thing in the application");
}

#[test]
fn bodies_of_megabytes_are_whole_in_both_directions_over_every_protocol() {
    let Some(application) = Application::start() else { return };
    let Some(libcurl) = kept("curl") else { return };
    let site = Folder::new();
    let serving =
        Serving::start_before(application.settings(), &site.root(), DeliveryPolicy::default());
    let upload: Vec<u8> = (0..5_000_000_u32).map(|n| ((n / 251) ^ n) as u8).collect();
    let file = site.base().join("upload");
    std::fs::write(&file, &upload).unwrap();
    let data = format!("@{}", file.display());
    let out = site.base().join("download").display().to_string();
    for (flags, base) in [
        (&["--http1.1"][..], serving.url("")),
        (&["--http2-prior-knowledge"], serving.url("")),
        (&["--http1.1"], serving.tls_url("")),
        (&["--http2"], serving.tls_url("")),
    ] {
        let sum = curl(&[flags, &["--data-binary", &data]].concat(), &format!("{base}/sum"));
        assert_eq!(sum, format!("200 {}", sha256(&upload)), "{flags:?} {base}");
        let status = curl(&[flags, &["-o", &out]].concat(), &format!("{base}/big?bytes=5000000"));
        assert_eq!(status, "200 ", "{flags:?} {base}");
        assert_eq!(sha256(&std::fs::read(&out).unwrap()), sha256(&vec![7; 5_000_000]), "{base}");
    }
    let folder = libcurl.display().to_string();
    let url = serving.quic_url("/big?bytes=5000000");
    let over_quic = run_text("python3", &[&peer("http3_curl.py"), &folder, &url, "1"]);
    assert_eq!(over_quic.trim(), format!("200 30 {}", sha256(&vec![7; 5_000_000])));
}

#[test]
fn the_application_hears_of_the_host_the_scheme_and_the_gateway_and_not_of_the_connection() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let serving =
        Serving::start_before(application.settings(), &site.root(), DeliveryPolicy::default());
    let flags = ["--http2", "-H", "host: shop.test", "-H", "te: trailers", "-H", "x-own: yes"];
    let said = curl(&flags, &serving.tls_url("/headers?a=b"));
    let (status, text) = said.split_once(' ').unwrap();
    let heard: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(status, "200");
    for (name, value) in [
        ("url", "/headers?a=b"),
        ("host", "shop.test"),
        ("via", "2 wirelap"),
        ("x-forwarded-proto", "https"),
        ("x-own", "yes"),
    ] {
        assert_eq!(heard[name], value, "{heard}");
    }
    assert!(heard.get("te").is_none(), "{heard}");
    // Node does not name itself: the gateway does. It says the date.
    let head = curl(&["-I", "--http1.1"], &serving.url("/api"));
    assert!(head.starts_with("200 ") && head.contains("server: wirelap"), "{head}");
    assert_eq!(head.to_ascii_lowercase().matches("date: ").count(), 1, "{head}");
    // RFC 9110 §7.6.2: this one is answered here.
    let flags = ["--http1.1", "-i", "-X", "OPTIONS", "-H", "max-forwards: 0"];
    let head = curl(&flags, &serving.url("/api"));
    assert!(head.starts_with("204 ") && head.contains("allow: GET, HEAD, POST"), "{head}");
}

#[test]
fn what_goes_wrong_with_the_application_is_told_by_502_504_or_a_broken_answer() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let settings =
        UpstreamSettings { silence: Duration::from_millis(300), ..application.settings() };
    let serving = Serving::start_before(settings, &site.root(), DeliveryPolicy::default());
    let silent = "504 The application took too long to answer.\n";
    assert_eq!(curl(&["--http2"], &serving.tls_url("/never")), silent);
    // A field that HTTP/2 takes and HTTP/1.1 does not.
    let control = "400 A field of the request has a character that no field may have.\n";
    let flags = ["--http2", "-H", "x-control: a\u{1}b"];
    assert_eq!(curl(&flags, &serving.tls_url("/x")), control);
    let dropped = "502 The application broke off before it had answered.\n";
    assert_eq!(curl(&["--http2"], &serving.tls_url("/drop")), dropped);
    for (flag, url) in
        [("--http1.1", serving.url("/break")), ("--http2", serving.tls_url("/break"))]
    {
        let broken = Command::new("curl").args(["-sk", flag, "-o", "/dev/null", &url]).status();
        // 18: the transfer ended early. 92: the stream was reset.
        assert!(matches!(broken.unwrap().code(), Some(18 | 92)), "{flag}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let serving = Serving::start_before(
        UpstreamSettings::new(nobody),
        &site.root(),
        DeliveryPolicy::default(),
    );
    let refused = "502 The application cannot be reached: connection refused.\n";
    assert_eq!(curl(&[], &serving.url("/x")), refused);
}

/// Writes a request in parts, each after a pause, and reads what comes until the connection's end.
fn in_parts(to: SocketAddr, parts: &[String]) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for (place, part) in parts.iter().enumerate() {
        std::thread::sleep(Duration::from_millis(if place == 0 { 0 } else { 80 }));
        stream.write_all(part.as_bytes()).unwrap();
    }
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn an_upload_may_take_longer_than_the_application_may_be_silent() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let settings =
        UpstreamSettings { silence: Duration::from_millis(300), ..application.settings() };
    let serving = Serving::start_before(settings, &site.root(), DeliveryPolicy::default());
    let head = "POST /sum HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\n";
    let bytes = (0..10).map(|_| "x".to_owned());
    let parts: Vec<String> = [head.to_owned()].into_iter().chain(bytes).collect();
    let said = in_parts(serving.clear, &parts);
    assert!(said.starts_with("HTTP/1.1 200") && said.contains(&sha256(&[b'x'; 10])), "{said}");
    // Then the application is silent for too long after all.
    let never = [parts[0].replace("/sum", "/never"), "x".repeat(10)];
    let said = in_parts(serving.clear, &never);
    assert!(said.starts_with("HTTP/1.1 504"), "{said}");
}

#[test]
fn the_scheme_that_the_application_hears_is_that_of_the_connection() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let serving =
        Serving::start_before(application.settings(), &site.root(), DeliveryPolicy::default());
    let lie = "GET https://a/headers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let said = in_parts(serving.clear, &[lie.to_owned()]);
    assert!(said.contains(r#""x-forwarded-proto":"http""#), "{said}");
}

#[test]
fn requests_wait_for_a_connection_and_stale_ones_are_replaced() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let settings = UpstreamSettings { connections: 2, ..application.settings() };
    let serving = Serving::start_before(settings, &site.root(), DeliveryPolicy::default());
    let url = serving.tls_url("/big?bytes=[1000-1039]");
    let same =
        ["-sk", "--http2", "-Z", "--parallel-max", "40", "-w", "%{http_code}\n", "-o", "/dev/null"];
    for _ in 0..3 {
        let statuses = run(Command::new("curl").args(same).arg(&url));
        let statuses = String::from_utf8_lossy(&statuses.stdout).into_owned();
        assert_eq!(statuses.lines().filter(|status| *status == "200").count(), 40, "{statuses}");
        assert_eq!(curl(&[], &serving.url("/close")), "200 closed");
        // Node closes kept connections meanwhile.
        std::thread::sleep(Duration::from_millis(250));
    }
    // None may wait: of many at once some are refused, and the others answered.
    let settings = UpstreamSettings { connections: 1, waiting: 1, ..application.settings() };
    let serving = Serving::start_before(settings, &site.root(), DeliveryPolicy::default());
    let url = serving.tls_url("/never?[1-3]");
    let flags =
        ["-sk", "--http2", "-Z", "--max-time", "1", "-w", "%{http_code} ", "-o", "/dev/null"];
    // Two of the three end by their time-out, which makes curl fail.
    let ended = Command::new("curl").args(flags).arg(&url).output().unwrap();
    let refused = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(refused.contains("503"), "{refused}");
}

#[test]
fn a_client_that_reads_nothing_stops_the_application_and_one_that_leaves_ends_its_request() {
    let Some(application) = Application::start() else { return };
    let site = Folder::new();
    let serving =
        Serving::start_before(application.settings(), &site.root(), DeliveryPolicy::default());
    let counts = || {
        let said = curl(&[], &serving.url("/counts"));
        let (written, gone) = said.strip_prefix("200 ").unwrap().split_once(' ').unwrap();
        (written.parse::<u64>().unwrap(), gone.parse::<u64>().unwrap())
    };
    let mut reads_nothing = TcpStream::connect(serving.clear).unwrap();
    reads_nothing.write_all(b"GET /big?bytes=300000000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut before = 0;
    let stopped = loop {
        std::thread::sleep(Duration::from_millis(200));
        let (written, _) = counts();
        if written > 0 && written == before {
            break written;
        }
        before = written;
    };
    // What the sockets on the way hold, and 256 KiB.
    assert!(stopped < 50_000_000, "{stopped} bytes were taken of the application");
    let mut piece = vec![0; 1 << 20];
    for _ in 0..80 {
        reads_nothing.read_exact(&mut piece).unwrap();
    }
    assert!(counts().0 > stopped, "it goes on as the client reads");
    drop(reads_nothing);

    let leaves = ["-sk", "--http2", "--max-time", "0.3", &serving.tls_url("/never")];
    // 28: its time is over.
    assert_eq!(Command::new("curl").args(leaves).status().unwrap().code(), Some(28));
    while counts().1 == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
}
