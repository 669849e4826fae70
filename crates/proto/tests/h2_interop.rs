//! HTTP/2 against other people's programs, in clear on loopback. What is not installed is skipped
//! (`testing::skip`).

mod support;

use proto::h2::{Server, Settings};
use proto::schedule::RoundRobin;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use support::fetch::Fetches;
use support::peers::{Folder, Peer, run};
use support::site::pattern_bytes;
use testing::peers::{free_address, h2spec};
use trace::Tracer;

const APT: &str = "apt-get install nginx h2o nghttp2 curl";

/// Our server on a port of its own, a thread a connection, as long as the test runs.
fn serve(settings: Settings) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for tcp in listener.incoming().flatten() {
            let settings = settings.clone();
            std::thread::spawn(move || {
                let turns = Box::new(RoundRobin::default());
                let now = support::drive::now();
                let server = Server::new(now, settings, turns, Tracer::off());
                // A peer that goes away is nothing to a server.
                let _ = support::site::serve(&tcp, server);
            });
        }
    });
    address
}

fn stdout(command: &mut Command) -> Option<Vec<u8>> {
    let output = run(command, APT)?;
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

#[test]
fn h2spec_finds_all_146_cases_kept() {
    let address = serve(Settings::server());
    let port = address.port().to_string();
    let Some(program) = h2spec() else { return };
    let mut command = Command::new(program);
    command.args(["--strict", "-h", "127.0.0.1", "-p", &port, "-o", "5"]);
    let output = command.output().expect("what h2spec says");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("146 tests, 146 passed, 0 skipped, 0 failed"), "{report}");
}

#[test]
fn curl_downloads_uploads_and_hears_hints() {
    let folder = Folder::new();
    let body = pattern_bytes(7, 3_000_000);
    let file = folder.write("body", &body);
    let base = format!("http://{}", serve(Settings::server()));
    let curl = || {
        let mut command = Command::new("curl");
        command.args(["-sS", "--http2-prior-knowledge", "--max-time", "30"]);
        command
    };
    let Some(got) = stdout(curl().arg(format!("{base}/bytes/5000000"))) else { return };
    assert!(got == pattern_bytes(0, 5_000_000), "{} bytes", got.len());
    let mut at = std::ffi::OsString::from("@");
    at.push(&file);
    let got = stdout(curl().arg("--data-binary").arg(at).arg(format!("{base}/echo")));
    assert!(got.is_some_and(|got| got == body));
    let got = stdout(curl().arg("-i").arg(format!("{base}/hints"))).expect("curl is there");
    let text = String::from_utf8_lossy(&got);
    assert!(text.starts_with("HTTP/2 103") && text.contains("HTTP/2 200"), "{text}");
    let got = stdout(curl().arg("-I").arg(format!("{base}/"))).expect("curl is there");
    assert!(got.starts_with(b"HTTP/2 200"));
}

#[test]
fn nghttp_takes_padding_pushes_trailers_and_small_windows() {
    let folder = Folder::new();
    let body = pattern_bytes(3, 400_000);
    let file = folder.write("body", &body);
    let base = format!("http://{}", serve(Settings::server()));
    let nghttp = || {
        let mut command = Command::new("nghttp");
        command.args(["-t", "30"]);
        command
    };
    let small = ["-w", "10", "-W", "12"];
    let Some(got) = stdout(nghttp().args(small).arg(format!("{base}/bytes/300000"))) else {
        return;
    };
    assert!(got == pattern_bytes(0, 300_000), "{} bytes", got.len());
    let padded = stdout(nghttp().args(["-b", "200", "-d"]).arg(&file).arg(format!("{base}/echo")));
    assert!(padded.is_some_and(|got| got == body));
    let mut trailing = nghttp();
    trailing.args(["-v", "--trailer", "x-sum: 42", "-d"]).arg(&file).arg(format!("{base}/echo"));
    let log = stdout(&mut trailing).expect("nghttp is there");
    // Once as sent, once as it came back.
    assert_eq!(String::from_utf8_lossy(&log).matches("x-sum: 42").count(), 2);
    let log = stdout(nghttp().args(["-nv"]).arg(format!("{base}/push"))).expect("nghttp is there");
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("PUSH_PROMISE") && log.contains(":path: /bytes/1000"), "{log}");
    assert!(log.contains("recv DATA frame <length=1000, flags=0x01, stream_id=2>"), "{log}");
}

#[test]
fn h2load_succeeds_with_every_request() {
    let base = format!("http://{}", serve(Settings::server()));
    for (requests, arguments, path) in [
        ("3000", &["-c", "4", "-m", "50"][..], "/"),
        ("200", &["-c", "2", "-m", "20", "-w", "12", "-W", "14"], "/bytes/50000"),
        ("40", &["-c", "2", "-m", "10"], "/bytes/1000000"),
    ] {
        let mut command = Command::new("h2load");
        command.args(["-n", requests]).args(arguments).arg(format!("{base}{path}"));
        let Some(report) = stdout(&mut command) else { return };
        let report = String::from_utf8_lossy(&report);
        assert!(report.contains(&format!("{requests} succeeded, 0 failed")), "{report}");
    }
}

#[test]
fn node_and_go_clients_get_what_they_ask_for() {
    let base = format!("http://{}", serve(Settings::server()));
    let script = |name: &str| PathBuf::from("tests/peers").join(name);
    for (program, arguments) in [("node", &[][..]), ("go", &["run"])] {
        let name = if program == "go" { "h2_client.go" } else { "h2_client.js" };
        let mut command = Command::new(program);
        command.args(arguments).arg(script(name)).arg(&base);
        let install = "apt-get install nodejs golang";
        let Some(output) = run(&mut command, install) else { continue };
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {words}");
    }
}

/// Sixty files of odd sizes, one of them large.
fn files(folder: &Folder) -> Vec<(String, Option<Vec<u8>>)> {
    let sizes = (0..60_usize).map(|n| if n == 7 { 20_000_000 } else { n * n * 37 });
    let named = sizes.enumerate().map(|(n, size)| (format!("file{n}"), size));
    named
        .map(|(name, size)| {
            folder.write(&name, pattern_bytes(size as u64, size));
            (format!("/{name}"), None)
        })
        .collect()
}

fn check_files(folder: &Folder, fetches: &Fetches) {
    assert!(fetches.failures.is_empty(), "{:?}", fetches.failures);
    let asked: Vec<_> = fetches.answers.iter().filter(|answer| !answer.pushed).collect();
    assert_eq!(asked.len(), 60);
    for answer in &fetches.answers {
        let expected = std::fs::read(folder.path().join(&answer.path[1..])).expect("the file");
        assert_eq!(answer.status, 200, "{}", answer.path);
        assert!(answer.body == expected, "{}: {} bytes", answer.path, answer.body.len());
    }
}

fn small_windows() -> Settings {
    Settings { stream_window: 20_000, connection_window: 65_535, ..Settings::client() }
}

#[test]
fn our_client_fetches_from_nghttpd_with_trailers_and_uploads() {
    let folder = Folder::new();
    let asks = files(&folder);
    let address = free_address();
    let port = address.port().to_string();
    let mut command = Command::new("nghttpd");
    command.args(["--no-tls", "--trailer", "x-sum: 42", "-b", "100", "-d"]).arg(folder.path());
    command.arg("--echo-upload").arg(port);
    let Some(_peer) = Peer::start(&mut command, address, APT) else { return };
    for settings in [Settings::client(), small_windows()] {
        let fetches = Fetches::run(address, asks.clone(), &settings);
        check_files(&folder, &fetches);
        let trailers = fetches.answers.iter().filter(|answer| !answer.trailers.is_empty());
        assert_eq!(trailers.count(), 60);
        let body = pattern_bytes(11, 700_000);
        let uploads = (0..5).map(|n| (format!("/file{n}"), Some(body.clone()))).collect();
        let fetches = Fetches::run(address, uploads, &settings);
        assert!(fetches.failures.is_empty(), "{:?}", fetches.failures);
        assert_eq!(fetches.answers.iter().filter(|answer| answer.body == body).count(), 5);
    }
}

#[test]
fn our_client_takes_pushes_and_goaway_from_nginx() {
    let folder = Folder::new();
    let asks = files(&folder);
    let address = free_address();
    let root = folder.path().display();
    let config = format!(
        "daemon off; worker_processes 1; pid {root}/pid; error_log stderr crit;
         events {{ worker_connections 64; }}
         http {{ access_log off; client_body_temp_path {root}/t1; proxy_temp_path {root}/t2;
           fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
           keepalive_requests 20;
           server {{ listen {address} http2; root {root};
             location = /file3 {{ http2_push /file40; }} }} }}"
    );
    let path = folder.write("nginx.conf", config);
    // Debian's nginx is in /usr/sbin, which not everybody's path has.
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-c").arg(&path).arg("-e").arg("stderr").arg("-p").arg(folder.path());
    let Some(_peer) = Peer::start(&mut command, address, APT) else { return };
    let settings = Settings { enable_push: true, ..Settings::client() };
    let fetches = Fetches::run(address, asks.clone(), &settings);
    check_files(&folder, &fetches);
    assert!(fetches.drained >= 2, "nginx says GOAWAY every 20 requests: {}", fetches.drained);
    let pushed: Vec<_> = fetches.answers.iter().filter(|answer| answer.pushed).collect();
    assert_eq!(pushed.iter().map(|answer| answer.path.as_str()).collect::<Vec<_>>(), ["/file40"]);
    let fetches = Fetches::run(address, asks, &small_windows());
    check_files(&folder, &fetches);
    assert!(fetches.answers.iter().all(|answer| !answer.pushed), "push was switched off");
}

#[test]
fn our_client_fetches_from_h2o() {
    let folder = Folder::new();
    let asks = files(&folder);
    let address = free_address();
    let (root, port) = (folder.path().display(), address.port());
    let config = format!(
        "listen:\n  host: 127.0.0.1\n  port: {port}\nuser: root\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: {root}\n"
    );
    // As an ordinary user there is no one to become.
    let root_user = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    let config = if root_user { config } else { config.replace("user: root\n", "") };
    let path = folder.write("h2o.conf", config);
    let mut command = Command::new("h2o");
    command.args(["-m", "worker", "-c"]).arg(&path);
    let Some(_peer) = Peer::start(&mut command, address, APT) else { return };
    for settings in [Settings::client(), small_windows()] {
        check_files(&folder, &Fetches::run(address, asks.clone(), &settings));
    }
}
