//! What is served over HTTP/3, as libcurl (ngtcp2) sees it.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod support;

use secure::Sha256;
use support::{Folder, Serving, kept, peer, run_text};

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
