//! `wirelap serve`: what it refuses, before anything listens.

use crate::bench::{Bench, Running};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use testing::is_root;

fn refused(bench: &Bench, args: &[&str], words: &[&str]) {
    let ran = bench.run(&[&["serve"], args].concat());
    ran.said(2, words);
    assert!(ran.err.lines().count() >= 2, "no remedy: {ran:?}");
}

#[test]
fn a_port_in_use_is_told_with_the_way_out() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--listen", "--listen-tls"] {
        refused(
            &bench,
            &[".", flag, &address],
            &[&format!("cannot listen on {address}"), "ss -ltnp", "0 takes a free one"],
        );
    }
}

#[test]
fn no_url_is_printed_before_all_is_there() {
    let bench = Bench::new();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bench.write("file", "");
    let tls = ["serve", ".", "--listen-tls", "127.0.0.1:0", "--listen-quic"];
    let ran = bench.run(&[&tls[..], &[&address]].concat());
    assert_eq!(ran.said(2, &[&address, "ss -lunp", "0 takes a free one"]).out, "");
    let ran = bench.run(&[&tls[..], &["127.0.0.1:0", "--qlog", "file/qlogs"]].concat());
    assert_eq!(ran.said(2, &["making file/qlogs"]).out, "");
}

#[test]
fn addresses_that_are_none_are_told_with_an_example() {
    let bench = Bench::new();
    for address in ["127.0.0.1", "localhost:80", "::1:80", "127.0.0.1:99999"] {
        refused(&bench, &[".", "--listen", address], &["such as 127.0.0.1:8080"]);
    }
    refused(&bench, &[".", "--listen", "192.0.2.1:8080"], &["192.0.2.1:8080", "no interface"]);
    refused(&bench, &["."], &["no address to listen on", "--listen 127", "--listen-tls 127"]);
    let ran = bench.run(&["serve", ".", "--listen-quic", "127.0.0.1:0"]);
    assert!(!ran.said(2, &["--listen-tls <ADDR:PORT>"]).err.contains("--listen <"), "{ran:?}");
}

#[test]
fn folders_that_cannot_be_served_are_told() {
    let bench = Bench::new();
    bench.write("file", "");
    refused(&bench, &["none", "--listen", "127.0.0.1:0"], &["the folder none", "that is there"]);
    refused(&bench, &["file", "--listen", "127.0.0.1:0"], &["the folder file", "that is there"]);
    if !is_root() {
        return testing::skip("becoming nobody needs root");
    }
    fs::create_dir(bench.path("locked")).unwrap();
    let nobody =
        |line: &str| bench.shell_as_nobody(&format!("chmod 700 locked 2>&-; $W serve {line}"));
    std::os::unix::fs::chown(bench.path("locked"), Some(0), Some(0)).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(bench.path("locked"), mode).unwrap();
    nobody("locked --listen 127.0.0.1:0").said(2, &["the folder locked", "that you may read"]);
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    if first.trim().parse::<u32>().unwrap() > 81 {
        nobody(". --listen 127.0.0.1:81")
            .said(2, &["127.0.0.1:81", "ports below 1024", "choose a higher port"]);
    }
}

#[test]
fn certificates_and_keys_that_do_not_fit_are_told_by_file() {
    let bench = Bench::new();
    let key_pair = |name: &str| {
        let made = bench.shell(&[], &format!(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {name}.key \
             -out {name}.pem -subj /CN=localhost -days 2"
        ));
        made.code == 0
    };
    if !key_pair("one") || !key_pair("two") {
        return testing::skip("openssl is not installed: ./peers install");
    }
    bench.write("garbage", "garbage");
    let cases: [(&str, &str, &str); 5] = [
        ("one.pem", "two.key", "two.key does not belong to the certificate in one.pem"),
        ("garbage", "one.key", "garbage: it holds no certificate"),
        ("one.pem", "garbage", "garbage: it holds no private key"),
        ("one.key", "one.pem", "one.key: it holds a private key"),
        ("none", "one.key", "reading none"),
    ];
    for (cert, key, words) in cases {
        bench
            .run(&["serve", ".", "--listen-tls", "127.0.0.1:0", "--cert", cert, "--key", key])
            .said(2, &[words]);
    }
    refused(&bench, &[".", "--listen-tls", "127.0.0.1:0", "--cert", "one.pem"], &["--key"]);
    refused(
        &bench,
        &[".", "--listen", "127.0.0.1:0", "--cert", "one.pem", "--key", "one.key"],
        &["--listen-tls"],
    );
}

#[test]
fn an_interrupt_ends_it_in_good_order() {
    let bench = Bench::new();
    for name in ["INT", "TERM"] {
        let mut running = bench.start(bench.wirelap(&["serve", ".", "--listen", "127.0.0.1:0"]));
        let mut line = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("http://127.0.0.1:"), "{line}");
        running.signal(name);
        let ran = running.end();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    }
}

#[test]
fn an_application_behind_it_answers_what_is_no_file() {
    let bench = Bench::new();
    bench.write("file", "what stands in it");
    let application = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}/", application.local_addr().unwrap());
    let flags = ["--listen", "127.0.0.1:0", "--upstream", &upstream];
    let Some((running, address)) = serving(&bench, &flags) else { return };
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = application.accept().unwrap();
        let mut head = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while let Some(Ok(line)) =
            lines.next().filter(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
        {
            head += &(line + "\n");
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown").unwrap();
        head
    });
    for (path, body) in [("/file", "what stands in it"), ("/api/items?page=2", "own")] {
        let mut stream = TcpStream::connect(&address).unwrap();
        let ask = format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{path}: {answer}");
    }
    let heard = answers.join().unwrap();
    assert!(heard.starts_with("GET /api/items?page=2 HTTP/1.1\n"), "{heard}");
    assert!(heard.to_ascii_lowercase().contains("host: shop.test\n"), "{heard}");
    running.signal("INT");
    assert_eq!(running.end().code, 0);
    for upstream in ["https://127.0.0.1:1", "http://127.0.0.1:1/path", "shop.test:80", "http://"] {
        let flags = [".", "--listen", "127.0.0.1:0", "--upstream", upstream];
        refused(&bench, &flags, &["without TLS and without a path", "http://127.0.0.1:3000"]);
    }
}

#[test]
fn a_folder_is_served_whichever_reactor_is_chosen() {
    let bench = Bench::new();
    bench.write("file", "what stands in it");
    for reactor in ["epoll", "io-uring"] {
        let flags = ["--listen", "127.0.0.1:0", "--reactor", reactor];
        let Some((running, address)) = serving(&bench, &flags) else { continue };
        let mut stream = TcpStream::connect(address).unwrap();
        let ask = b"GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(ask).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\nwhat stands in it"), "{reactor}: {answer}");
        running.signal("INT");
        assert_eq!(running.end().code, 0);
    }
    refused(&bench, &[".", "--listen", "127.0.0.1:0", "--reactor", "kqueue"], &["epoll, io-uring"]);
}

#[test]
fn congestion_controls_that_may_not_be_had_are_told_with_those_that_may() {
    let bench = Bench::new();
    let there = list_of_congestion_controls("available");
    let listen = ["--listen", "127.0.0.1:0", "--congestion"];
    for name in ["none-such", "", "a-name-that-is-far-too-long-for-any"] {
        let words = ["cannot take the congestion control", "available", &there];
        refused(&bench, &[&["."], &listen[..], &[name]].concat(), &words);
    }
    // Known to the kernel, and not for everybody (tcp_allowed_congestion_control).
    let allowed = list_of_congestion_controls("allowed");
    let restricted = there.split(", ").find(|name| !allowed.contains(name));
    match (restricted, is_root()) {
        (Some(name), true) => {
            let ran = bench.shell_as_nobody(&format!("$W serve . {} {name}", listen.join(" ")));
            ran.said(2, &[&format!("`{name}`"), "without privilege", &allowed]);
        }
        (None, _) => testing::skip("this kernel lets everybody have each congestion control"),
        (_, false) => testing::skip("becoming nobody needs root"),
    }
}

/// As a remedy prints it.
fn list_of_congestion_controls(kind: &str) -> String {
    let file = format!("/proc/sys/net/ipv4/tcp_{kind}_congestion_control");
    fs::read_to_string(file).unwrap().trim().replace(' ', ", ")
}

#[test]
fn listeners_on_loopback_have_reno_unless_another_congestion_control_was_asked_for() {
    let bench = Bench::new();
    if bench.shell(&[], "ss -V").code != 0 {
        return testing::skip("ss is not installed: apt-get install iproute2");
    }
    bench.write("file", "what stands in it");
    let hosts = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    let hosts = hosts.trim();
    let flags = ["--congestion", hosts];
    for reactor in ["epoll", "io-uring"] {
        for (listen, flags, name) in [
            ("127.0.0.1:0", &[][..], "reno"),
            ("0.0.0.0:0", &[], hosts),
            ("127.0.0.1:0", &flags, hosts),
        ] {
            let flags = [&["--listen", listen, "--reactor", reactor][..], flags].concat();
            let Some((running, address)) = serving(&bench, &flags) else { continue };
            let port = address.rsplit_once(':').unwrap().1;
            let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
            stream.write_all(b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 1]).unwrap();
            let seen = bench.shell(&[], &format!("ss -Htin state established 'sport = :{port}'"));
            let told = seen.out.split_whitespace().any(|word| word == name);
            assert!(told, "{reactor}, {flags:?}: {name} in {seen:?}");
            drop(stream);
            running.signal("INT");
            assert_eq!(running.end().code, 0);
        }
    }
}

/// A server of the bench's folder, and the URL of its `file`.
pub(crate) fn started(bench: &Bench) -> (Running, String) {
    let (running, address) = serving(bench, &["--listen", "127.0.0.1:0"]).unwrap();
    (running, format!("http://{address}/file"))
}

/// A server of the folder and the first address that it tells, or None where the kernel lacks its reactor.
fn serving(bench: &Bench, flags: &[&str]) -> Option<(Running, String)> {
    let mut running = bench.start(bench.wirelap(&[&["serve", "."], flags].concat()));
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        running.end().said(3, &["cannot set up io_uring", "--reactor epoll"]);
        testing::skip("this kernel has no io_uring for us");
        return None;
    }
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    Some((running, address))
}

#[test]
fn spdy_is_offered_only_where_it_was_asked_for() {
    let bench = Bench::new();
    if bench.shell(&[], "openssl version").code != 0 {
        return testing::skip("openssl is not installed: ./peers install");
    }
    for (flags, name, agreed) in [
        (&[][..], "spdy/3.1", "No ALPN negotiated"),
        (&["--spdy"][..], "spdy/3.1", "ALPN protocol: spdy/3.1"),
        (&["--spdy"][..], "spdy/3", "ALPN protocol: spdy/3\n"),
    ] {
        let serve = [&["serve", ".", "--listen-tls", "127.0.0.1:0"], flags].concat();
        let mut running = bench.start(bench.wirelap(&serve));
        let mut line = String::new();
        BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("https://").trim_end_matches('/');
        let talk = format!(
            "openssl s_client -connect {address} -alpn {name} </dev/null 2>&1 | grep -a ALPN"
        );
        let said = bench.shell(&[], &talk).out;
        assert!(said.contains(agreed), "{flags:?}: {said}");
        running.signal("INT");
        assert_eq!(running.end().code, 0);
    }
}

#[test]
fn a_test_that_fails_leaves_no_server_behind() {
    let bench = Bench::new();
    let mut running = bench.start(bench.wirelap(&["serve", ".", "--listen", "127.0.0.1:0"]));
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(bench);
    let ended = running.end();
    assert_ne!(ended.code, 0, "killed, not asked to stop: {ended:?}");
}
