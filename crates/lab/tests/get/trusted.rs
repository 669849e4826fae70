//! Whom `get` believes: certificates, and redirects to where nobody is certified.

use crate::bench::{Bench, Running};
use crate::server::{Server, get, is_whole, names, put};
use crate::started::self_signed;
use std::io::{BufRead, BufReader};

/// Makes `cert.pem` for `name`: signed by itself and, as openssl does it, an authority's.
fn certify_as_authority(bench: &Bench, name: &str) -> bool {
    self_signed(bench, name, "")
}

/// Our origin with `cert.pem`, and its https URL.
fn serving(bench: &Bench) -> (Running, String) {
    std::fs::create_dir_all(bench.path("www")).unwrap();
    bench.write("www/file", "there");
    let listen = ["--listen-tls", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem"];
    let args = [&["serve", "www", "--threads", "1"][..], &listen].concat();
    let mut serving = bench.start(bench.wirelap(&args));
    let mut lines = BufReader::new(serving.child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    (serving, format!("https://localhost:{port}/file"))
}

#[test]
fn a_self_signed_authority_that_is_given_is_believed_for_its_own_name() {
    let bench = Bench::new();
    if !certify_as_authority(&bench, "localhost") {
        return;
    }
    let (serving, url) = serving(&bench);
    get(&bench, &["--cacert", "cert.pem", &url]).said(0, &[]);
    is_whole(&bench, "file", b"there");
    // Without it the remedy is to give it.
    get(&bench, &[&url]).said(1, &["is not trusted", "--cacert FILE"]);
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_self_signed_authority_is_not_believed_for_another_name() {
    let bench = Bench::new();
    if !certify_as_authority(&bench, "other.test") {
        return;
    }
    let (serving, url) = serving(&bench);
    get(&bench, &["--cacert", "cert.pem", &url]).said(1, &["it is for other.test"]);
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_self_signed_authority_does_not_vouch_for_another_one_of_its_name() {
    let bench = Bench::new();
    if !certify_as_authority(&bench, "localhost") {
        return;
    }
    std::fs::rename(bench.path("cert.pem"), bench.path("old.pem")).unwrap();
    certify_as_authority(&bench, "localhost");
    let (serving, url) = serving(&bench);
    get(&bench, &["--cacert", "old.pem", &url]).said(1, &["is not trusted"]);
    serving.signal("INT");
    serving.end();
}

#[test]
fn a_redirect_from_https_to_http_is_followed_only_when_asked() {
    let bench = Bench::new();
    if !certify_as_authority(&bench, "localhost") {
        return;
    }
    let clear = Server::new(|request, stream| {
        crate::server::answer(request, stream, ("\"a\"", b"there", usize::MAX))
    });
    // openssl's own server answers with a file that holds a whole response.
    let to = clear.url("/file");
    bench.write(
        "moved",
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    );
    let port = testing::peers::free_port();
    let accept = format!("127.0.0.1:{port}");
    let args =
        ["s_server", "-quiet", "-accept", &accept, "-cert", "cert.pem", "-key", "key.pem", "-HTTP"];
    let Some(openssl) = testing::peers::program("openssl") else { return };
    let server = crate::started::started(&bench, (&openssl, &args), port);
    let url = format!("https://localhost:{port}/moved");
    let trust = ["--http1.1", "--cacert", "cert.pem"];
    get(&bench, &[&trust[..], &[&url]].concat())
        .said(1, &["from https to", &to, "--redirect-to-http"]);
    assert!(clear.seen().is_empty());
    assert!(!names(&bench).iter().any(|name| name.contains("wirelap")));
    get(&bench, &[&trust[..], &["--redirect-to-http", &url]].concat()).said(0, &[]);
    is_whole(&bench, "moved", b"there");
    server.signal("KILL");
    server.end();
}

#[test]
fn a_pause_of_a_day_is_not_waited_for() {
    let bench = Bench::new();
    let server = Server::new(|_, stream| {
        put(stream, "HTTP/1.1 503 Busy\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n")
    });
    get(&bench, &[&server.url("/file")]).said(1, &["asks for a pause of", "at most"]);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_name_that_no_file_system_takes_fails_before_the_transfer() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| {
        crate::server::answer(request, stream, ("\"a\"", b"there", usize::MAX))
    });
    get(&bench, &[&server.url(&format!("/{}", "x".repeat(256)))])
        .said(2, &["255 bytes", "-o FILE"]);
    assert!(server.seen().is_empty());
    get(&bench, &[&server.url(&format!("/{}", "x".repeat(255)))]).said(0, &[]);
}
