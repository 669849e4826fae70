//! Other people's WebSocket clients against `/ws/echo` and `/ws/double`, and the Autobahn suite.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use std::process::{Command, Stdio};
use support::{Folder, Serving, peer, run_text};
use testing::peers::{has, kept, run};

/// The cases of a quick run: of long messages, and of compression, one or two of each kind.
const QUICK: &str = r#"["1.*","2.*","3.*","4.*","5.*","6.*","7.*","9.1.1","9.2.1","9.7.1","10.*",
    "12.1.1","12.2.2","12.3.3","12.4.4","12.5.5","13.1.1","13.2.2","13.3.3","13.4.4","13.5.5","13.6.6","13.7.7"]"#;

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
    let site = Folder::new();
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
    let site = Folder::new();
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

/// Debian's curl is built without WebSocket; this is libcurl's own, as its Python binding brings it.
#[test]
fn libcurls_websocket_gets_its_messages_back_whole_and_in_fragments() {
    let Some(folder) = kept("curl") else { return };
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    for base in bases(&serving) {
        let script = peer("ws_curl.py");
        let said = run_text("python3", &[&script, &folder.display().to_string(), &base]);
        assert_eq!(said.trim(), "echo 204 1000", "{base}");
    }
}

#[test]
fn curl_is_told_what_opens_a_websocket_and_gets_one_where_it_asks_for_it() {
    if !has("curl", "--version", "apt-get install curl") {
        return;
    }
    let site = Folder::new();
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
fn the_autobahn_suite_finds_every_quick_case_ok() {
    autobahn(QUICK);
}

#[test]
#[ignore = "takes minutes: ./test --autobahn"]
fn the_autobahn_suite_finds_every_case_ok() {
    autobahn(r#"["*"]"#);
}

fn autobahn(cases: &str) {
    let Some(wstest) = kept("bin/wstest") else { return };
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    let spec = site.base().join("spec.json");
    let report = site.base().join("report");
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
