//! Other people's WebSocket clients against `/ws/echo` and `/ws/double`, and the Autobahn suite.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{Folder, Serving, has, run, run_text};

/// The cases of a quick run: of long messages, and of compression, one or two of each kind.
const QUICK: &str = r#"["1.*","2.*","3.*","4.*","5.*","6.*","7.*","9.1.1","9.2.1","9.7.1","10.*",
    "12.1.1","12.2.2","12.3.3","12.4.4","12.5.5","13.1.1","13.2.2","13.3.3","13.4.4","13.5.5","13.6.6","13.7.7"]"#;

fn peer(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name).display().to_string()
}

/// Where `./peers` keeps what Debian does not package; None, said aloud, where `part` is not there.
fn kept(part: &str) -> Option<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let bin = run_text(&peers.display().to_string(), &["path"]);
    let path = Path::new(bin.trim()).join("..").join(part);
    if path.exists() {
        return Some(path);
    }
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "unsupported: {part} is not installed (./peers install)");
    None
}

/// The bases of the clear and the TLS origin, as WebSocket URLs.
fn bases(serving: &Serving) -> [String; 2] {
    [format!("ws://{}", serving.clear), format!("wss://{}", serving.tls)]
}

#[test]
fn nodes_ws_gets_its_messages_back_plain_and_compressed() {
    let Some(folder) = kept("node") else { return };
    if !has("node", "--version", "apt-get install nodejs") {
        return;
    }
    let site = Folder::new("ws-node");
    let serving = Serving::start(&site.root());
    for base in bases(&serving) {
        for (coding, extension) in [("plain", "plain"), ("deflate", "permessage-deflate")] {
            let script = peer("ws_client.mjs");
            let said = run_text("node", &[&script, &folder.display().to_string(), &base, coding]);
            let expected = format!(
                "pong still there?\necho 205 1000 {extension}\ndouble -41.0\n\
                 refused 1007 a decimal number is expected\n"
            );
            assert_eq!(said, expected, "{base}");
        }
    }
}

#[test]
fn pythons_websockets_gets_its_messages_back_plain_and_compressed() {
    let Some(folder) = kept("python") else { return };
    let site = Folder::new("ws-python");
    let serving = Serving::start(&site.root());
    for base in bases(&serving) {
        for (coding, expected) in
            [("plain", "echo 204 1000"), ("deflate", "echo 204 1000 permessage-deflate")]
        {
            let script = peer("ws_client.py");
            let said =
                run_text("python3", &[&script, &folder.display().to_string(), &base, coding]);
            assert_eq!(said.trim(), expected, "{base}");
        }
    }
}

#[test]
fn curl_is_told_what_opens_a_websocket_and_gets_one_where_it_asks_for_it() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let site = Folder::new("ws-curl");
    let serving = Serving::start(&site.root());
    let url = serving.url("/ws/echo");
    let refused = run_text("curl", &["-si", &url]).to_lowercase();
    assert!(refused.starts_with("http/1.1 426 "), "{refused}");
    assert!(refused.contains("\r\nupgrade: websocket\r\n"), "{refused}");
    let fields = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
    ];
    let mut asking = Command::new("curl");
    asking.args(["-siN", "--max-time", "1", &url]);
    for field in fields {
        asking.args(["-H", field]);
    }
    // It ends by its time limit: nobody closes.
    let output = asking.stdin(Stdio::null()).output().unwrap();
    let opened = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(opened.starts_with("http/1.1 101 "), "{opened}");
    assert!(opened.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{opened}");
    assert!(opened.contains("sec-websocket-extensions: permessage-deflate\r\n"), "{opened}");
}

#[test]
fn chromium_opens_websockets_by_upgrade_and_over_http_2() {
    if !has("chromium", "--version", "apt-get install chromium") {
        return;
    }
    let site = Folder::new("ws-chromium");
    std::fs::copy(peer("ws_page.html"), site.root().join("ws.html")).unwrap();
    let serving = Serving::start(&site.root());
    let profile = site.0.join("profile");
    for (url, protocol) in
        [(serving.url("/ws.html"), "http/1.1"), (serving.tls_url("/ws.html"), "h2")]
    {
        let said = run(Command::new("chromium").args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--ignore-certificate-errors",
            "--dump-dom",
            &format!("--user-data-dir={}", profile.display()),
            &url,
        ]));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("right 3 of 3, 1000 true, permessage-deflate"), "{url}: {said}");
        let line = serving.log.try_iter().find(|line| line.path == "/ws/echo").unwrap();
        assert_eq!(line.protocol, protocol);
    }
}

#[test]
fn the_autobahn_suite_finds_every_quick_case_ok() {
    autobahn(QUICK);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p origin --test web_socket -- --ignored"]
fn the_autobahn_suite_finds_every_case_ok() {
    autobahn(r#"["*"]"#);
}

fn autobahn(cases: &str) {
    let Some(wstest) = kept("bin/wstest") else { return };
    let site = Folder::new("autobahn");
    let serving = Serving::start(&site.root());
    let spec = site.0.join("spec.json");
    let report = site.0.join("report");
    let url = format!("ws://{}/ws/echo", serving.clear);
    let text = format!(
        r#"{{"outdir": {report:?}, "servers": [{{"agent": "wirelap", "url": "{url}"}}],
            "cases": {cases}, "exclude-cases": [], "exclude-agent-cases": {{}}}}"#
    );
    std::fs::write(&spec, text).unwrap();
    run(Command::new(wstest).args(["-m", "fuzzingclient", "-s"]).arg(&spec));
    let index = std::fs::read_to_string(report.join("index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_str(&index).unwrap();
    let verdicts = index["wirelap"].as_object().unwrap();
    assert!(verdicts.len() > 200, "{} cases", verdicts.len());
    for (case, verdict) in verdicts {
        for part in ["behavior", "behaviorClose"] {
            let said = verdict[part].as_str().unwrap();
            assert!(["OK", "INFORMATIONAL"].contains(&said), "{case}: {part} {said}");
        }
    }
}
