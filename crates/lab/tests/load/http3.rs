//! Load over HTTP/3: our own server, nginx and Caddy answer as many requests as their logs say, and a server that is not
//! there, or is not believed, is told in kinds.

use crate::bench::{Bench, Running};
use crate::started::{self, certify, started};
use crate::{answered, load};
use std::time::Duration;
use testing::peers::{current, free_port};

/// More than nginx takes on one connection (1000), so that connections are replaced, too.
const REQUESTS: u64 = 5_003;

pub(crate) fn site() -> Option<Bench> {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("www")).unwrap();
    bench.write("www/hello", "hello, world\n");
    certify(&bench).then_some(bench)
}

/// Our server, which takes TCP and UDP at one port.
fn own(bench: &Bench) -> (Running, u16) {
    own_with(bench, &[])
}

pub(crate) fn own_with(bench: &Bench, flags: &[&str]) -> (Running, u16) {
    let port = free_port();
    (own_at(bench, port, flags), port)
}

pub(crate) fn own_at(bench: &Bench, port: u16, flags: &[&str]) -> Running {
    let address = format!("127.0.0.1:{port}");
    let both = ["--listen-tls", &address, "--listen-quic", &address];
    let threads: &[&str] = if flags.contains(&"--threads") { &[] } else { &["--threads", "2"] };
    let own = ["serve", "www", "--cert", "cert.pem", "--key", "key.pem"];
    let wirelap = crate::bench::wirelap().display().to_string();
    started(bench, (&wirelap, &[&own[..], threads, &both, flags].concat()), port)
}

pub(crate) fn end(server: Running) {
    server.signal("TERM");
    server.end();
}

#[test]
fn our_origin_echoes_every_message_over_http2_and_http3() {
    let Some(bench) = site() else { return };
    let (server, port) = own(&bench);
    let url = format!("wss://127.0.0.1:{port}/ws/echo");
    for protocol in ["--http2", "--http3"] {
        for flags in [&["-c", "5", "-m", "4"][..], &["-c", "2", "-m", "2", "--rate", "2000"]] {
            let args = [&["-k", protocol, "-n", "2000", &url][..], flags].concat();
            let (code, result) = load(&bench, &args);
            assert_eq!((code, result["protocol"].as_str()), (0, Some("ws")), "{result:#}");
            assert_eq!(answered(&result), 2_000, "{protocol}");
            assert_eq!(result["whole"]["body_bytes"], 2_000 * 32);
        }
    }
    end(server);
    // A server that does not offer it says so by its settings.
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let both = ["--listen-tls", &address, "--listen-quic", &address, "--no-websocket-over-h2"];
    let wirelap = crate::bench::wirelap().display().to_string();
    let server = started(&bench, (&wirelap, &[&["serve", "www"][..], &both].concat()), port);
    let url = format!("wss://127.0.0.1:{port}/ws/echo");
    for protocol in ["--http2", "--http3"] {
        let (code, result) = load(&bench, &["-k", protocol, "-c", "2", "-n", "4", &url]);
        assert_eq!(code, 1, "{protocol}: {result:#}");
        assert!(result["connects"]["errors"]["protocol"].as_u64() >= Some(2), "{result:#}");
    }
    end(server);
}

/// Makes the requests, and compares their number with the lines of the server's log.
fn counts(bench: &Bench, port: u16, log: &str) {
    let url = format!("https://localhost:{port}/hello");
    let n = REQUESTS.to_string();
    let args = ["--http3", "--cacert", "cert.pem", "-c", "3", "-m", "8", "-n", &n, &url];
    let (code, result) = load(bench, &args);
    assert_eq!((code, result["protocol"].as_str()), (0, Some("h3")), "{result:#}");
    assert_eq!(answered(&result), REQUESTS);
    assert_eq!(result["whole"]["body_bytes"], REQUESTS * 13);
    let lines = || {
        let text = std::fs::read_to_string(bench.path(log)).unwrap_or_default();
        text.lines().count() as u64
    };
    // The last lines may still be on their way to the file.
    for _ in 0..500 {
        if lines() == REQUESTS {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} requests in the server's log, {REQUESTS} told", lines());
}

#[test]
fn our_origin_answers_both_loops_over_http3() {
    let Some(bench) = site() else { return };
    let (server, port) = own(&bench);
    let url = format!("https://127.0.0.1:{port}/hello");
    for flags in [&["-c", "7"][..], &["-c", "4", "-t", "2", "-m", "16"]] {
        let args = [&["-k", "--http3", "-n", "3000", &url][..], flags].concat();
        let (code, result) = load(&bench, &args);
        assert_eq!((code, answered(&result)), (0, 3_000), "{result:#}");
        assert_eq!(result["protocol"], "h3");
        let connects = &result["connects"];
        assert!(connects["quic"]["max_ms"].as_f64().unwrap() > 0.0, "{connects}");
        assert!(connects["tcp"].is_null() && connects["tls"].is_null(), "{connects}");
    }
    // A connection for each request.
    let (code, result) = load(&bench, &["-k", "--h3", "--close", "-c", "3", "-n", "100", &url]);
    assert_eq!((code, answered(&result)), (0, 100), "{result:#}");
    assert!(result["connects"]["opened"].as_u64().unwrap() >= 100);
    // A schedule, and a request with a body from a file.
    bench.write(
        "requests.toml",
        format!(
            "[[request]]\nurl = \"{url}\"\nweight = 3\n\n[[request]]\nurl = \"https://127.0.0.1:{port}/echo\"\n\
             method = \"POST\"\nbody = \"{}\"\n",
            "x".repeat(100_000)
        ),
    );
    let args = ["-k", "--http3", "-c", "4", "-m", "4", "-n", "200", "--rate", "400"];
    let (code, result) = load(&bench, &[&args[..], &["--requests-from", "requests.toml"]].concat());
    assert_eq!((code, result["setting"]["pace"].as_str()), (0, Some("open")));
    assert_eq!(result["whole"]["answers"], 200, "{result:#}");
    assert_eq!(result["targets"].as_array().unwrap().len(), 2);
    end(server);
}

#[test]
fn a_certificate_and_a_limit_of_streams_are_told_as_what_they_are() {
    let Some(bench) = site() else { return };
    let (server, port) = own(&bench);
    let url = format!("https://127.0.0.1:{port}/hello");
    let (code, result) = load(&bench, &["--http3", "-c", "1", "-n", "1", &url]);
    let warnings = result["warnings"].to_string();
    assert!(code == 1 && warnings.contains("is not trusted"), "{result:#}");
    assert!(warnings.contains("skip the check with -k") && !warnings.contains("http://"));
    let (code, result) = load(&bench, &["-k", "-c", "1", "-m", "2000", "-n", "5000", &url]);
    let warnings = result["warnings"].to_string();
    assert!(code == 0 && warnings.contains("the server's limit, where -m 2000"), "{result:#}");
    end(server);
}

#[test]
fn each_server_hears_that_a_connection_is_over() {
    let Some(bench) = site() else { return };
    let (server, port) = own_with(&bench, &["--qlog", "qlogs"]);
    let (page, echo) =
        (format!("https://127.0.0.1:{port}/hello"), format!("wss://127.0.0.1:{port}/ws/echo"));
    let flags = ["-k", "--http3"];
    for args in
        [&["-c", "3", "-n", "30", &page][..], &["--close", "-n", "10", &page], &["-n", "4", &echo]]
    {
        let (code, result) = load(&bench, &[&flags, args].concat());
        assert_eq!(code, 0, "{result:#}");
    }
    end(server);
    let logs = std::fs::read_dir(bench.path("qlogs")).unwrap();
    let logs: Vec<String> =
        logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    assert!(logs.len() > 3 + 10, "{} connections", logs.len());
    for log in logs {
        let closed = log.lines().find(|line| line.contains("quic:connection_closed"));
        assert!(closed.is_some_and(|line| line.contains(r#""initiator":"remote""#)), "{closed:?}");
    }
}

#[test]
fn nginx_logs_as_many_requests_as_are_told_over_http3() {
    let Some(nginx) = current("nginx") else { return };
    let Some(bench) = site() else { return };
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    let http = format!(
        "access_log {folder}/access;
          ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
              server {{ listen 127.0.0.1:{port} quic; listen 127.0.0.1:{port} ssl; root {folder}/www; }}"
    );
    let server = started::nginx(&bench, &nginx, &http, port);
    counts(&bench, port, "access");
    end(server);
}

#[test]
fn caddy_logs_as_many_requests_as_are_told_over_http3() {
    let Some(caddy) = current("caddy") else { return };
    let Some(bench) = site() else { return };
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    bench.write(
        "Caddyfile",
        format!(
            "{{\n auto_https off\n admin off\n}}\nhttps://localhost:{port} {{\n bind 127.0.0.1\n \
             tls {folder}/cert.pem {folder}/key.pem\n root * {folder}/www\n file_server\n \
             log {{\n output file {folder}/access\n }}\n}}\n"
        ),
    );
    let arguments = ["run", "--config", "Caddyfile", "--adapter", "caddyfile"];
    let server = started(&bench, (&caddy, &arguments), port);
    counts(&bench, port, "access");
    end(server);
}

#[test]
fn a_closed_udp_port_a_silent_one_and_a_certificate_that_is_not_believed_are_told_apart() {
    let Some(bench) = site() else { return };
    let told = |args: &[&str], kind: &str, hint: &str| {
        let (code, result) = load(&bench, &[&["--http3", "-c", "2", "-n", "4"], args].concat());
        assert_eq!(code, 1, "nobody could be spoken to: {result:#}");
        assert!(result["connects"]["errors"][kind].as_u64() >= Some(2), "{kind}: {result:#}");
        assert!(result["warnings"].to_string().contains(hint), "{result:#}");
    };
    let closed = format!("https://127.0.0.1:{}/", free_port());
    told(&["-k", &closed], "connect-refused", "nothing listens on its UDP port");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let args = ["-k", "--connect-timeout", "300ms", &url];
    told(&args, "connect-timed-out", "may drop UDP");
    let (server, port) = own(&bench);
    told(&[&format!("https://127.0.0.1:{port}/")], "tls", "--cacert FILE");
    end(server);
}
