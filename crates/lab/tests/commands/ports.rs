//! `wirelap link --expose`, `--forward` and `--name`: services of this machine across a link.

use crate::bench::{Bench, Ran, Running, trials_run_here};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use testing::is_root;

/// A service of this machine: `serve` has each of `connections` connections on a thread of its own.
struct Service<T> {
    port: u16,
    done: JoinHandle<Vec<T>>,
}

impl<T: Send + 'static> Service<T> {
    fn start(connections: usize, serve: impl Fn(TcpStream) -> T + Send + Clone + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let done = thread::spawn(move || {
            let threads: Vec<_> = (0..connections)
                .map(|_| {
                    let (stream, _) = listener.accept().unwrap();
                    let serve = serve.clone();
                    thread::spawn(move || serve(stream))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        Self { port, done }
    }

    /// What each connection came to.
    fn end(self) -> Vec<T> {
        self.done.join().unwrap()
    }
}

/// Answers one request with `body`, and gives the request's head.
fn answer(mut stream: TcpStream, body: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    head
}

/// A link without a near program that exposes `service`, and the port of this machine that leads there.
fn exposing(bench: &Bench, link: &str, service: u16) -> (Running, u16) {
    let expose = format!("0:127.0.0.1:{service}");
    // Rates of the machine are not what is tested here, and with nobody at the terminal nothing else is said.
    let mut running =
        bench.start(bench.wirelap(&["link", link, "--no-calibration", "--expose", &expose]));
    let mut said = BufReader::new(running.child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let port = line.strip_prefix("127.0.0.1:").and_then(|rest| rest.split(' ').next());
    let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
    assert_eq!(line, format!("127.0.0.1:{port} -> {link} -> 127.0.0.1:{service}\n"));
    (running, port)
}

/// Ctrl-C ends it well, and nothing is left.
fn end(bench: &Bench, running: Running) -> Ran {
    running.signal("INT");
    let ran = running.end();
    ran.said(0, &[]);
    assert_eq!(bench.alive(), []);
    ran
}

/// Bytes that differ by their place, so that what is lost, twice there or out of order shows.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some((*state >> 56) as u8)
    };
    std::iter::repeat_n((), length).scan(seed, |state, ()| next(state)).collect()
}

#[test]
fn an_exposed_service_is_reached_across_the_link_and_never_sooner_than_its_delay() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(1, |stream| answer(stream, "from the service"));
    let (running, port) = exposing(&bench, "rtt=80ms", service.port);
    let begun = Instant::now();
    let ran = bench.shell(&[], &format!("curl -sS -H 'Host: shop.test' http://127.0.0.1:{port}/x"));
    let took = begun.elapsed();
    assert_eq!((ran.code, ran.out.as_str()), (0, "from the service"), "{ran:?}");
    // One round trip for the handshake across the link, one for the request.
    assert!(took >= Duration::from_millis(160), "{took:?}");
    let head = service.end().remove(0);
    assert!(head.starts_with("GET /x HTTP/1.1\r\n") && head.contains("Host: shop.test"), "{head}");
    end(&bench, running);
}

#[test]
fn a_forwarded_port_of_far_answers_by_every_name_of_far() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(2, |stream| answer(stream, "from the service"));
    let line = format!(
        "$W link rtt=80ms --name shop.test --name www.shop.test --forward shop.test:80=127.0.0.1:{} \
         -- sh -c 'curl -sS -w \" %{{time_total}}\\n\" http://far/ && curl -sS http://www.shop.test/'",
        service.port
    );
    let ran = bench.shell(&[], &line);
    ran.said(0, &["far:80 -> 127.0.0.1:"]);
    let (first, second) = ran.out.split_once('\n').unwrap();
    let took: f64 = first.strip_prefix("from the service ").unwrap().parse().unwrap();
    assert!(took >= 0.16, "{took}");
    assert_eq!(second, "from the service");
    let hosts = service.end();
    assert!(hosts[0].contains("Host: far\r\n") && hosts[1].contains("Host: www.shop.test\r\n"));
    assert_eq!(bench.alive(), []);
}

#[test]
fn it_runs_without_any_right() {
    if !is_root() {
        return testing::skip(
            "becoming nobody needs root; the other tests run without rights here",
        );
    }
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(1, |stream| answer(stream, "from the service"));
    let ran = bench.shell_as_nobody(&format!(
        "$W link lan --expose 0:far:80 --forward far:80=localhost:{} -- curl -sS http://far/",
        service.port
    ));
    ran.said(0, &["-> lan -> far:80", "far:80 -> localhost:"]);
    assert_eq!(ran.out, "from the service");
    service.end();
}

#[test]
fn a_program_of_far_is_reached_from_this_machine_too() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("index.html", "from far");
    let far =
        format!("{} serve . --threads 1 --listen 0.0.0.0:80", crate::bench::wirelap().display());
    let mut command = bench.wirelap(&["link", "lan", "--ready-port", "80", "--far", &far]);
    command.args(["--expose", "0:far:80"]);
    let mut running = bench.start(command);
    let mut line = String::new();
    BufReader::new(running.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(' ').next().unwrap();
    let ran = bench.shell(&[], &format!("curl -sS http://{address}/index.html"));
    assert_eq!((ran.code, ran.out.as_str()), (0, "from far"), "{line} {ran:?}");
    end(&bench, running);
}

#[test]
fn large_bodies_pass_whole_both_ways_and_ends_are_passed_on_one_by_one() {
    const UP: usize = 9_000_000;
    const DOWN: usize = 12_000_000;
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(1, |mut stream| {
        let mut came = Vec::new();
        stream.read_to_end(&mut came).unwrap();
        stream.write_all(&pattern(2, DOWN)).unwrap();
        came == pattern(1, UP)
    });
    let (running, port) = exposing(&bench, "rtt=10ms,rate=200mbit,loss=0.1%", service.port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(&pattern(1, UP)).unwrap();
    // The service answers only when it has seen this end; the way back stays open.
    stream.shutdown(Shutdown::Write).unwrap();
    let mut came = Vec::new();
    stream.read_to_end(&mut came).unwrap();
    assert!(came == pattern(2, DOWN), "{} bytes came", came.len());
    assert_eq!(service.end(), [true]);
    end(&bench, running);
}

#[test]
fn many_connections_at_once_keep_to_themselves() {
    const MANY: usize = 300;
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(MANY, |mut stream| {
        let mut came = Vec::new();
        stream.read_to_end(&mut came).unwrap();
        stream.write_all(&came).unwrap();
    });
    let (running, port) = exposing(&bench, "rtt=20ms,loss=1%", service.port);
    let mut streams: Vec<_> = (0..MANY)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(&pattern(number as u64, 5000)).unwrap();
            stream
        })
        .collect();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.shutdown(Shutdown::Write).unwrap();
        let mut came = Vec::new();
        stream.read_to_end(&mut came).unwrap();
        assert!(came == pattern(number as u64, 5000), "{number}: {} bytes", came.len());
    }
    service.end();
    end(&bench, running);
}

#[test]
fn a_reset_of_either_side_reaches_the_other() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    // A socket that is closed while bytes wait to be read resets its connection (RFC 9293 §3.10.4).
    let service = Service::start(2, |mut stream| {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        if byte == *b"r" {
            while stream.peek(&mut byte).unwrap() == 0 {}
            return None;
        }
        stream.write_all(b"answer").unwrap();
        Some(stream.read_exact(&mut byte).unwrap_err().kind())
    });
    let (running, port) = exposing(&bench, "rtt=10ms", service.port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"reset").unwrap();
    let seen = stream.read(&mut [0; 9]).unwrap_err().kind();
    assert_eq!(seen, ErrorKind::ConnectionReset);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"x").unwrap();
    while stream.peek(&mut [0]).unwrap() == 0 {}
    drop(stream);
    assert_eq!(service.end(), [None, Some(ErrorKind::ConnectionReset)]);
    end(&bench, running);
}

#[test]
fn a_service_that_does_not_read_holds_its_client_back() {
    /// More than all buffers on the way together.
    const MUCH: usize = 100_000_000;
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let service = Service::start(1, move |_stream| {
        let _released = wait.lock().unwrap().recv();
    });
    let (running, port) = exposing(&bench, "lan", service.port);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let mut sent = 0;
    let error = loop {
        match stream.write(&[0; 65_536]) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
        assert!(sent < MUCH, "nobody holds the client back");
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    drop(release);
    service.end();
    end(&bench, running);
}

#[test]
fn a_service_that_is_not_there_is_told_and_its_clients_are_reset() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let line = format!(
        "$W link lan --forward far:80=127.0.0.1:{free} -- sh -c 'curl -sS http://far/; curl -sS http://far/'"
    );
    let ran = bench.shell(&[], &line);
    let service = format!("127.0.0.1:{free}");
    // The reset comes when curl has connected: before it sends its request (7), or after (56).
    assert!([7, 56].contains(&ran.code), "{ran:?}");
    ran.said(ran.code, &[&format!("nothing listens at {service} yet")]);
    let told = format!("{service} cannot be reached (connection refused)");
    assert_eq!(ran.err.matches(&told).count(), 1, "once, not for each connection: {ran:?}");
}

#[test]
fn ports_and_names_that_cannot_be_had_are_told_before_anything_runs() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused = |line: &str, words: &[&str]| {
        let ran = bench.shell(&[], &format!("$W link lan {line} -- touch ran"));
        ran.said(2, words);
        assert!(ran.err.lines().count() >= 2, "no remedy: {ran:?}");
        assert!(!bench.path("ran").exists());
    };
    refused(
        &format!("--expose {port}:127.0.0.1:3000"),
        &[&format!("cannot listen on 127.0.0.1:{port}"), "ss -ltnp", "0 takes a free one"],
    );
    refused("--expose 9000:3000", &["9000:127.0.0.1:3000"]);
    refused("--expose 9000:127.0.0.1:3000/udp", &["only TCP is relayed", "--far"]);
    refused("--expose 0:no-such-host.invalid:80", &["no host `no-such-host.invalid`", "127.0.0.1"]);
    refused(
        "--forward shop.test:80=127.0.0.1:3000",
        &["no name of the far side", "--name shop.test"],
    );
    refused(
        "--name shop.test --forward far:80=127.0.0.1:1 --forward shop.test:80=127.0.0.1:2",
        &["--forward of port 80 of far stands there twice", "another port"],
    );
    refused(
        "--expose 0.0.0.0:9:127.0.0.1:1 --expose 0:127.0.0.1:1 --expose 0:127.0.0.1:1 --expose 9:127.0.0.1:2",
        &["--expose of 127.0.0.1:9 stands there twice"],
    );
    refused("--forward 80=127.0.0.1:3000", &["far:80=127.0.0.1:3000"]);
    refused("--name 'two words'", &["such as shop.test"]);
    refused("--name localhost", &["never leaves the side", "--forward far:80", "--expose"]);
    refused("--name near", &["stands for something else"]);
    bench.run(&["link", "lan"]).said(2, &["<COMMAND>"]);
}

#[test]
fn a_port_of_far_that_its_program_holds_is_told() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let ran = bench.shell(
        &[],
        "$W link lan --far \"$W serve . --listen 0.0.0.0:80\" --ready-port 80 \
         --forward far:80=127.0.0.1:3000 -- touch ran",
    );
    ran.said(3, &["cannot listen on port 80 of far", "the --far program", "another port"]);
    assert!(!bench.path("ran").exists());
    assert_eq!(bench.alive(), []);
}

#[test]
fn a_killed_link_takes_its_relays_along() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let service = Service::start(1, |mut stream| stream.read(&mut [0]).is_ok());
    for name in ["KILL", "TERM"] {
        let (mut running, port) = exposing(&bench, "lan", service.port);
        running.await_role("relay");
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        running.signal(name);
        let ran = running.end();
        assert_eq!(ran.code, if name == "KILL" { 137 } else { 0 }, "{ran:?}");
        for _ in 0..1000 {
            if bench.alive().is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((bench.alive(), bench.namespaces()), (Vec::new(), 0), "{name}");
        drop(client);
    }
}

#[test]
fn a_relay_that_dies_ends_the_link() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    let (mut running, _) = exposing(&bench, "lan", 9);
    let relay = running.await_role("relay");
    crate::bench::signal(relay, "KILL");
    running.end().said(3, &["keep the link's relays running"]);
    assert_eq!(bench.alive(), []);
}

#[test]
fn certificates_of_serve_are_for_both_ends_of_a_link_and_the_names_that_are_asked_for() {
    if !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("index.html", "from far");
    let line = "$W link lan --name shop.test --ready-port 8443 --far \"$W serve . --threads 1 \
        --listen-tls 0.0.0.0:8443 --name shop.test --ca-out ca.pem\" -- sh -c \
        'for name in far shop.test; do curl -sS --cacert ca.pem https://$name:8443/index.html; done'";
    let ran = bench.shell(&[], line);
    assert_eq!((ran.code, ran.out.as_str()), (0, "from farfrom far"), "{ran:?}");
    let other = line.replace("--name shop.test --ca-out", "--ca-out");
    let ran = bench.shell(&[], &other);
    assert_eq!((ran.code, ran.out.as_str()), (60, "from far"), "another name: {ran:?}");
    bench
        .run(&["serve", ".", "--listen", "127.0.0.1:0", "--name", "shop.test"])
        .said(2, &["--listen-tls"]);
}
