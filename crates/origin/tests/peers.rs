//! Other people's clients and conformance suites against the origin.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use origin::Limits;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::{Folder, Serving, run_text};
use testing::peers::{h2spec, has, run};

const NGHTTP2: &str = "apt-get install nghttp2-client";

fn peer(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name);
    path.display().to_string()
}

#[test]
fn nghttp_fetches_a_synthetic_page_with_all_its_images() {
    if !has("nghttp", "--version", NGHTTP2) {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    let path = "/page?images=100&bytes=5000&seed=3";
    for url in [serving.url(path), serving.tls_url(path)] {
        let table = run_text("nghttp", &["-nas", &url]);
        let images =
            table.lines().filter(|line| line.contains(" 200 ") && line.contains("/image/"));
        assert_eq!(images.count(), 100, "{table}");
    }
}

#[test]
fn h2load_has_no_failures() {
    if !has("h2load", "--version", NGHTTP2) {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for (url, more) in [
        (serving.url("/a.txt"), &[][..]),
        (serving.tls_url("/a.txt"), &[]),
        (serving.tls_url("/image/1?bytes=200000"), &[]),
        (serving.url("/a.txt"), &["--h1"]),
    ] {
        let counts = run(Command::new("h2load")
            .args(["-n", "3000", "-c", "10", "-m", "32"])
            .args(more)
            .arg(&url));
        let counts = String::from_utf8_lossy(&counts.stdout);
        assert!(
            counts.contains("3000 succeeded, 0 failed, 0 errored, 0 timeout"),
            "{url}: {counts}"
        );
        assert!(counts.contains("status codes: 3000 2xx"), "{url}: {counts}");
    }
}

#[test]
fn wrk_has_no_errors() {
    if !has("wrk", "--version", "apt-get install wrk") {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for url in [serving.url("/a.txt"), serving.tls_url("/image/1?bytes=50000")] {
        let said = run_text("wrk", &["-c", "64", "-t", "1", "-d", "1s", &url]);
        assert!(said.contains("requests in"), "{said}");
        assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
    }
}

/// hey names `localhost:PORT` in the handshake, which is no host name (RFC 6066 §3).
#[test]
fn hey_has_no_errors() {
    if !has("hey", "-h", "./peers install") {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    let by_name = format!("https://localhost:{}/a.txt", serving.tls.port());
    for (url, more) in
        [(by_name.clone(), &["-h2"][..]), (by_name, &[]), (serving.url("/a.txt"), &[])]
    {
        let said =
            run(Command::new("hey").args(["-n", "300", "-c", "10"]).args(more).arg(&url)).stdout;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("[200]\t300 responses"), "{url} {more:?}: {said}");
        assert!(!said.contains("Error distribution"), "{url} {more:?}: {said}");
    }
}

#[test]
fn h2spec_passes_strictly_clear_and_over_tls() {
    let Some(program) = h2spec() else { return };
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for (address, more) in [(serving.clear, &[][..]), (serving.tls, &["-t", "-k"])] {
        let port = address.port().to_string();
        let output = Command::new(&program)
            .args(["--strict", "-h", "127.0.0.1", "-p", &port, "-P", "/page?images=100"])
            .args(more)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("146 tests, 146 passed, 0 skipped, 0 failed"), "{said}");
    }
}

#[test]
fn go_fetches_over_one_connection() {
    if !has("go", "version", "apt-get install golang-go") {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    let said = run_text("go", &["run", &peer("fetch.go"), &serving.tls_url("")]);
    assert_eq!(said.trim(), "HTTP/2.0 4000000");
}

#[test]
fn node_fetches_over_one_connection() {
    if !has("node", "--version", "apt-get install nodejs") {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for (url, protocol) in [(serving.tls_url(""), "h2"), (serving.url(""), "h2c")] {
        let said = run_text("node", &[&peer("fetch.mjs"), &url]);
        assert_eq!(said.trim(), format!("{protocol} 4000000"));
    }
}

/// What the client of `echo.py` gets, which reads nothing before its whole request has gone.
fn python_echo(serving: &Serving, folder: &Folder, url: &str, bytes: usize) -> String {
    let root = folder.base().join("root.pem");
    std::fs::write(&root, &serving.root).unwrap();
    let (script, root) = (peer("echo.py"), root.display().to_string());
    run_text("python3", &[&script, url, &bytes.to_string(), &root]).trim().to_owned()
}

#[test]
fn a_client_that_writes_all_before_it_reads_gets_its_echo() {
    if !has("python3", "--version", "apt-get install python3") {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start(&folder.root());
    for url in [serving.url("/echo"), serving.tls_url("/echo")] {
        assert_eq!(python_echo(&serving, &folder, &url, 7_000_000), "200 same bytes", "{url}");
    }
}

#[test]
fn an_echo_above_its_limit_of_which_nothing_is_read_is_reset() {
    if !has("python3", "--version", "apt-get install python3") {
        return;
    }
    let folder = Folder::new();
    let limits =
        Limits { echo: 1_000_000, echo_stall: Duration::from_millis(300), ..Limits::default() };
    let serving = Serving::start_with(&folder.root(), limits);
    for url in [serving.url("/echo"), serving.tls_url("/echo")] {
        // What the kernels hold comes to it.
        let said = python_echo(&serving, &folder, &url, 60_000_000);
        assert!(
            ["ConnectionResetError", "BrokenPipeError", "IncompleteRead"].contains(&said.as_str()),
            "{said}"
        );
    }
    // One who reads as fast as it writes has no limit.
    let upload = folder.base().join("upload");
    std::fs::write(&upload, vec![b'x'; 60_000_000]).unwrap();
    let upload = format!("@{}", upload.display());
    for way in ["--http1.1", "--http2-prior-knowledge"] {
        let url = serving.url("/echo");
        let echo = run(Command::new("curl").args(["-sS", way, "--data-binary", &upload, &url]));
        assert_eq!(echo.stdout.len(), 60_000_000, "{way}");
    }
}

#[test]
fn an_echo_is_refused_where_all_together_are_at_their_limit() {
    let folder = Folder::new();
    let limits = Limits { echoes: 0, ..Limits::default() };
    let serving = Serving::start_with(&folder.root(), limits);
    for way in ["--http1.1", "--http2-prior-knowledge"] {
        let url = serving.url("/echo");
        let answer = run(Command::new("curl")
            .args(["-sS", way, "-d", "hello", "-w", "%{http_code}"])
            .arg(&url));
        let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(answer.contains("echoes wait") && answer.ends_with("413"), "{way}: {answer}");
    }
}
