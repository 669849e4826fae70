//! HTTP/3 with other people's programs: our client at nginx and Caddy, our server under curl.

use crate::bench::{Bench, Running};
use crate::server::{content, get, is_whole};
use crate::started::{self, self_signed, started};
use testing::peers::{current, free_port};

const LENGTH: usize = 7_000_000;

/// A site with a large file and a hundred small ones, and a certificate for localhost.
fn site(bench: &Bench) -> bool {
    std::fs::create_dir(bench.path("www")).unwrap();
    bench.write("www/large", content(LENGTH));
    for number in 1..=100 {
        bench.write(&format!("www/{number}"), format!("file {number}"));
    }
    self_signed(bench, "localhost", "")
}

/// Gets the large file, then all small ones.
fn get_all(bench: &Bench, port: u16) {
    let url = |path: &str| format!("https://localhost:{port}/{path}");
    let ran = get(bench, &["--http3", "--cacert", "cert.pem", &url("large")]);
    ran.said(0, &["over h3"]);
    is_whole(bench, "large", &content(LENGTH));
    let small: Vec<String> = (1..=100).map(|number| url(&number.to_string())).collect();
    let small: Vec<&str> = small.iter().map(String::as_str).collect();
    get(bench, &[&["--http3", "--cacert", "cert.pem"][..], &small].concat()).said(0, &[]);
    for number in 1..=100 {
        is_whole(bench, &number.to_string(), format!("file {number}").as_bytes());
    }
}

fn end(server: Running) {
    server.signal("TERM");
    server.end();
}

#[test]
fn a_udp_port_where_nothing_listens_is_told_at_once() {
    let bench = Bench::new();
    let url = format!("https://127.0.0.1:{}/x", free_port());
    get(&bench, &["--http3", "-k", "--retry", "0", &url])
        .said(1, &["connection refused", "nothing listens on its UDP port, does it speak HTTP/3?"]);
}

#[test]
fn without_a_scheme_it_is_https() {
    let bench = Bench::new();
    if !site(&bench) {
        return;
    }
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let serve = ["serve", "www", "--listen-tls", &address, "--listen-quic", &address];
    let certificate = ["--cert", "cert.pem", "--key", "key.pem"];
    let program = crate::bench::wirelap().display().to_string();
    let server = started(&bench, (&program, &[&serve[..], &certificate].concat()), port);
    let url = format!("localhost:{port}/1");
    get(&bench, &["--http3", "--cacert", "cert.pem", &url]).said(0, &["over h3"]);
    is_whole(&bench, "1", b"file 1");
    let load = ["load", "--http3", "-k", "-n", "3", "-c", "1", "--json"];
    let ran = bench.run(&[&load[..], &[&url]].concat());
    ran.said(0, &[]);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["whole"]["answers"], 3, "{ran:?}");
    // What was written stays: HTTP/3 has no clear form.
    let clear = format!("http://{url}");
    get(&bench, &["--http3", &clear]).said(2, &["HTTP/3 needs https://"]);
    bench.run(&[&load[..], &[&clear]].concat()).said(2, &["HTTP/3 needs https://"]);
    end(server);
}

#[test]
fn nginx_asks_for_a_retry_and_sends_whole_files_over_http3() {
    let Some(nginx) = current("nginx") else { return };
    let bench = Bench::new();
    if !site(&bench) {
        return;
    }
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    let http = format!(
        "access_log off;
          ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              server {{ listen 127.0.0.1:{port} quic; listen 127.0.0.1:{port} ssl; quic_retry on;
                root {folder}/www; }}"
    );
    let server = started::nginx(&bench, &nginx, &http, port);
    get_all(&bench, port);
    end(server);
}

#[test]
fn caddy_sends_whole_files_over_http3() {
    let Some(caddy) = current("caddy") else { return };
    let bench = Bench::new();
    if !site(&bench) {
        return;
    }
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    bench.write(
        "Caddyfile",
        format!(
            "{{\n auto_https off\n admin off\n}}\nhttps://localhost:{port} {{\n bind 127.0.0.1\n \
             tls {folder}/cert.pem {folder}/key.pem\n root * {folder}/www\n file_server\n}}\n"
        ),
    );
    let arguments = ["run", "--config", "Caddyfile", "--adapter", "caddyfile"];
    let server = started(&bench, (&caddy, &arguments), port);
    get_all(&bench, port);
    end(server);
}

#[test]
fn curl_gets_a_large_file_and_a_hundred_at_once_over_http3_and_learns_of_it_by_alt_svc() {
    let Some(curl) = current("curl") else { return };
    let bench = Bench::new();
    if !site(&bench) {
        return;
    }
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let arguments = [
        "serve",
        "www",
        "--cert",
        "cert.pem",
        "--key",
        "key.pem",
        "--listen-tls",
        &address,
        "--listen-quic",
        &address,
    ];
    let server =
        started(&bench, (&crate::bench::wirelap().display().to_string(), &arguments), port);
    let run = |arguments: &[&str]| {
        let resolve = format!("localhost:{port}:127.0.0.1");
        let mut command = bench.command(&curl);
        command.args(["-sS", "--cacert", "cert.pem", "--resolve", &resolve]).args(arguments);
        let ran = bench.start(command).end();
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    let url = format!("https://localhost:{port}/large");
    let said = run(&["--http3-only", &url, "-o", "large", "-w", "%{http_version}"]);
    assert_eq!(said, "3");
    is_whole(&bench, "large", &content(LENGTH));
    let url = format!("https://localhost:{port}/[1-100]");
    let said = run(&[
        "-Z",
        "--parallel-max",
        "100",
        "--http3-only",
        &url,
        "-o",
        "#1",
        "-w",
        "%{http_code} ",
    ]);
    assert_eq!(said, "200 ".repeat(100));
    for number in 1..=100 {
        is_whole(&bench, &number.to_string(), format!("file {number}").as_bytes());
    }
    let url = format!("https://localhost:{port}/1");
    let known = ["--alt-svc", "known", "-o", "1", "-w", "%{http_version} ", &url];
    assert_eq!(run(&known), "2 ");
    assert_eq!(run(&known), "3 ");
    end(server);
}
