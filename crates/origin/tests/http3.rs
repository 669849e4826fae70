//! What is served over HTTP/3, as libcurl and h2load (both by ngtcp2) and oha (the crate h3 over quinn) see it.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use secure::Sha256;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, Serving, peer, run_text};
use testing::peers::{has, kept, run};

fn fetch(folder: &str, serving: &Serving, path: &str, times: &str) -> String {
    let said =
        run_text("python3", &[&peer("http3_curl.py"), folder, &serving.quic_url(path), times]);
    said.trim().to_owned()
}

#[test]
fn libcurl_gets_seven_megabytes_and_a_hundred_answers_over_http3() {
    let Some(folder) = kept("curl") else { return };
    let folder = folder.display().to_string();
    let site = Folder::new();
    let bytes: Vec<u8> = (0..7_000_000_u32).map(|n| ((n / 251) ^ n) as u8).collect();
    std::fs::write(site.root().join("seven.bin"), &bytes).unwrap();
    let mut digest = Sha256::new();
    digest.update(&bytes);
    let serving = Serving::start(&site.root());
    // 30 is CURL_HTTP_VERSION_3.
    let expected = format!("200 30 {}", digest.finish());
    assert_eq!(fetch(&folder, &serving, "/seven.bin", "1"), expected);
    let hundred = fetch(&folder, &serving, "/image/1?bytes=5000", "100");
    assert!(hundred.starts_with("200 30 ") && hundred.split(' ').count() == 3, "{hundred}");
}

/// The Debian root in which `bench/run` builds h2load with HTTP/3; None, and a skip, where it has not.
fn h2load_root() -> Option<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let home = run_text(&peers.display().to_string(), &["home"]);
    let root = Path::new(home.trim()).with_file_name("sid");
    if root.join("usr/local/bin/h2load-h3").exists() {
        return Some(root);
    }
    testing::skip("h2load with HTTP/3 is not built: bench/run builds it");
    None
}

#[test]
fn h2load_has_no_failures_over_http3() {
    let Some(root) = h2load_root() else { return };
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    let is_root = run_text("id", &["-u"]).trim() == "0";
    let chroot: &[&str] = if is_root { &["chroot"] } else { &["unshare", "-r", "chroot"] };
    for (path, requests) in [("/a.txt", "3000"), ("/image/1?bytes=200000", "300")] {
        let counts = run(Command::new(chroot[0])
            .args(&chroot[1..])
            .arg(&root)
            .args(["/usr/local/bin/h2load-h3", "--alpn-list=h3", "-c", "10", "-m", "32", "-n"])
            .args([requests, &serving.quic_url(path)]));
        let counts = String::from_utf8_lossy(&counts.stdout);
        let all_well = format!("{requests} succeeded, 0 failed, 0 errored, 0 timeout");
        assert!(counts.contains(&all_well), "{path}: {counts}");
        assert!(counts.contains(&format!("status codes: {requests} 2xx")), "{path}: {counts}");
    }
    let protocols: Vec<String> = serving.log.try_iter().map(|line| line.protocol).collect();
    assert_eq!(protocols, vec!["h3"; 3300]);
}

#[test]
fn oha_has_no_failures_over_http3() {
    if !has("oha", "--version", "./peers install-oha") {
        return;
    }
    let site = Folder::new();
    let serving = Serving::start(&site.root());
    for (path, requests) in [("/a.txt", 3000), ("/image/1?bytes=200000", 300)] {
        let told = run(Command::new("oha")
            .args(["--http-version", "3", "--insecure", "--no-tui", "--output-format", "json"])
            .args(["-c", "10", "-p", "32", "-n", &requests.to_string()])
            .arg(serving.quic_url(path)));
        let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(
            told["statusCodeDistribution"],
            serde_json::json!({ "200": requests }),
            "{told}"
        );
        assert_eq!(told["errorDistribution"], serde_json::json!({}), "{told}");
    }
    let protocols: Vec<String> = serving.log.try_iter().map(|line| line.protocol).collect();
    assert_eq!(protocols, vec!["h3"; 3300]);
}
