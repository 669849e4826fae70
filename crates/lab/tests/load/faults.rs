//! What goes wrong, in kinds; what was asked for wrongly, with the way out.

use crate::bench::{Bench, signal};
use crate::load;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use testing::peers::free_port;

/// A server that does the same with every connection, after the first bytes came.
fn server(deed: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let deed = deed.clone();
            std::thread::spawn(move || {
                if stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                    deed(stream);
                }
            });
        }
    });
    format!("http://{address}/")
}

/// A server that answers every connection with this, and waits before it closes it.
fn server_that_says(answer: &'static str) -> String {
    server(move |mut stream: TcpStream| {
        let _ = stream.write_all(answer.as_bytes());
        std::thread::sleep(Duration::from_millis(50));
    })
}

#[test]
fn servers_that_break_are_counted_by_kind_and_the_run_ends() {
    let bench = Bench::new();
    let rubbish = |mut stream: TcpStream| {
        let _ = stream.write_all(b"\x00\x01\x02 this is no answer at all\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
    };
    let silent = |stream: TcpStream| {
        std::thread::sleep(Duration::from_secs(60));
        drop(stream);
    };
    let short = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    };
    let cases: [(String, &str, &str); 4] = [
        (server(rubbish), "--http1.1", "protocol"),
        (server(silent), "--http1.1", "timed-out"),
        (server(short), "--http1.1", "closed"),
        (server(rubbish), "--http2-prior-knowledge", "protocol"),
    ];
    for (url, flag, kind) in &cases {
        let (code, result) =
            load(&bench, &[flag, "-c", "4", "-n", "20", "--timeout", "300ms", url]);
        let whole = &result["whole"];
        // Nothing at all was answered.
        assert_eq!((code, whole["requests"].as_u64()), (1, Some(20)), "{kind}: {result:#}");
        assert_eq!(whole["errors"][kind], 20, "{whole}");
    }
    // Either word of the kernel's is right for a connection that is dropped.
    let (_, result) = load(&bench, &["-c", "4", "-n", "20", &server(drop)]);
    let errors = &result["whole"]["errors"];
    let told = |kind: &str| errors[kind].as_u64().unwrap_or(0);
    assert_eq!(told("reset") + told("closed"), 20, "{errors}");
}

/// The first bytes prove it, so it is said as a fact; a search does not go through all rates first.
#[test]
fn an_answer_in_http1_to_http2_is_named_as_such() {
    let bench = Bench::new();
    let url = server_that_says("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    let flags = ["load", "--http2-prior-knowledge", "-c", "1"];
    let ran = bench.run(&[&flags[..], &["-n", "3", &url]].concat());
    assert!(ran.code == 1 && ran.out.contains("3 answered in http1"), "{ran:?}");
    assert!(ran.out.contains("answers in HTTP/1.1, which --http1.1 asks for"), "{ran:?}");
    let ran = bench.run(&[&flags[..], &["--slo", "p99<1s", "-d", "200ms", &url]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("no request was answered in HTTP/2, so no rate was tried"), "{ran:?}");
    assert!(ran.err.contains("answers in HTTP/1.1, which --http1.1 asks for"), "{ran:?}");
    let ran = bench.run(&["get", "--http2-prior-knowledge", "-o", "-", &url]);
    assert!(ran.code == 1 && ran.err.contains("the peer answered in HTTP/1.1"), "{ran:?}");
}

/// One answer on each connection, and then rubbish.
#[test]
fn a_server_that_answers_and_breaks_the_protocol_later_speaks_what_was_asked_for() {
    let bench = Bench::new();
    let url = server(|mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
    });
    let (code, result) = load(&bench, &["--http1.1", "-c", "1", "-n", "6", &url]);
    assert_eq!((code, result["whole"]["answers"].as_u64()), (0, Some(3)), "{result:#}");
    let warned = result["warnings"].to_string();
    assert!(warned.contains("answered, and broke the protocol on 3 requests: "), "{warned}");
    assert!(!warned.contains("not the protocol that was asked for"), "{warned}");
}

#[test]
fn a_server_that_is_no_tls_server_is_a_fault_of_tls() {
    let bench = Bench::new();
    let url = server(|mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        std::thread::sleep(Duration::from_millis(50));
    });
    let url = url.replacen("http", "https", 1);
    let (code, result) = load(&bench, &["-k", "-c", "2", "-n", "4", &url]);
    assert_eq!(code, 1, "nobody could be spoken to");
    assert_eq!(result["connects"]["errors"]["tls"], 2, "{result:#}");
    assert_eq!(result["protocol"], serde_json::Value::Null);
}

#[test]
fn where_nobody_listens_the_exit_code_says_so() {
    let bench = Bench::new();
    let url = format!("http://127.0.0.1:{}/", free_port());
    let (code, result) = load(&bench, &["-c", "3", "-n", "9", &url]);
    assert_eq!(code, 1);
    assert_eq!(result["connects"]["errors"]["connect-refused"], 3, "{result:#}");
    let told = bench.run(&["load", "-c", "3", &url]);
    assert_eq!(told.code, 1);
    assert!(told.out.contains("3 connect refused"), "{told:?}");
}

/// Answers whatever comes, and once before anything does.
fn answers(mut stream: TcpStream) {
    loop {
        let answered = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        if answered.is_err() || stream.read(&mut [0; 4096]).map_or(true, |count| count == 0) {
            return;
        }
    }
}

#[test]
fn descriptors_that_run_out_are_counted_and_the_others_go_on() {
    let bench = Bench::new();
    let url = server(answers);
    let line = format!("ulimit -n 24; exec \"$W\" load --json -c 64 -d 700ms {url}");
    let ran = bench.shell(&[], &line);
    assert_eq!(ran.code, 0, "{ran:?}");
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let opened = result["connects"]["opened"].as_u64().unwrap();
    assert!((1..24).contains(&opened), "{opened}");
    assert!(result["whole"]["answers"].as_u64().unwrap() > 0, "{result:#}");
    let warned = result["warnings"].to_string();
    let why = "this process may have 24 descriptors; raise `ulimit -n`";
    assert!(warned.contains("-c 64 was lowered to ") && warned.contains(why), "{warned}");
}

#[test]
fn an_interrupt_prints_what_was_measured_so_far() {
    let bench = Bench::new();
    let url = server(answers);
    let running = bench.start(bench.wirelap(&["load", "--json", "-c", "2", "-d", "10min", &url]));
    std::thread::sleep(Duration::from_millis(1_500));
    signal(running.pid(), "INT");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(result["whole"]["answers"].as_u64().unwrap() > 0, "{result:#}");
    assert!(result["seconds"].as_f64().unwrap() < 600.0);
    assert_eq!(result["interrupted"], true);
}

#[test]
fn an_interrupted_search_says_so_and_fails() {
    let bench = Bench::new();
    let url = server(answers);
    let args = ["load", "--slo", "p99<5s", "-d", "10min", "--rate", "10", &url];
    let running = bench.start(bench.wirelap(&args));
    std::thread::sleep(Duration::from_millis(1_500));
    signal(running.pid(), "TERM");
    let ran = running.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.out.contains("errors<0.1%: interrupted during the first probe"), "{ran:?}");
}

#[test]
fn where_nothing_connects_the_reason_is_said_and_no_search_begins() {
    let bench = Bench::new();
    let nobody = format!("http://127.0.0.1:{}/", free_port());
    let ran = bench.run(&["load", "-c", "2", "-d", "1s", &nobody]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("no connection could be opened, so no request was made"), "{ran:?}");
    assert!(!ran.out.contains("no errors"), "{ran:?}");
    assert!(ran.out.contains("refused connections: nothing listens there"), "{ran:?}");
    let ran = bench.run(&["load", "--slo", "p99<5ms", &nobody]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("no connection could be opened, so no rate was tried"), "{ran:?}");
    assert!(ran.err.contains("nothing listens there"), "{ran:?}");
    let (_, result) = load(&bench, &["-c", "2", "-d", "1s", "http://nowhere.invalid/"]);
    assert_eq!(result["connects"]["errors"]["unknown-host"], 2, "{result:#}");
    assert!(result["warnings"].to_string().contains("no address is known"), "{result:#}");
}

#[test]
fn the_server_that_refuses_is_named_and_not_those_that_answer() {
    let bench = Bench::new();
    let (one, two) = (server(answers), server(answers));
    let nobody = format!("127.0.0.1:{}", free_port());
    let refuses = format!("http://{nobody}/");
    for pace in [&["-n", "30"][..], &["--rate", "100", "-d", "300ms"]] {
        let args = [&["-c", "3", "--timeout", "100ms", &one, &refuses, &two][..], pace].concat();
        let (_, result) = load(&bench, &args);
        let warnings = result["warnings"].to_string();
        assert!(warnings.contains(&format!("\"{nobody} refused connections")), "{warnings}");
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_and_not_as_one_that_never_spoke() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..20 {
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    let (_, result) = load(&bench, &["-c", "1", "-d", "4s", &url]);
    server.join().unwrap();
    assert_eq!(result["whole"]["answers"], 20, "{result:#}");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("nothing was answered from"), "{result:#}");
    assert!(warnings.contains("answered, and later refused connections"), "{warnings}");
}

#[test]
fn a_port_without_tls_that_hangs_up_is_told() {
    let bench = Bench::new();
    let url = server(drop).replace("http:", "https:");
    let (_, result) = load(&bench, &["-c", "2", "-d", "1s", "--insecure", &url]);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("ended connections within TLS's handshake"), "{warnings}");
    assert!(warnings.contains("is it a TLS port?"), "{warnings}");
}

#[test]
fn a_port_without_tls_is_told_by_what_it_sends() {
    let bench = Bench::new();
    let url = server(answers).replace("http:", "https:");
    let (_, result) = load(&bench, &["-c", "2", "-d", "1s", &url]);
    assert_eq!(result["connects"]["errors"]["tls"], 2, "{result:#}");
    assert!(result["warnings"].to_string().contains("is it a TLS port?"), "{result:#}");
}

#[test]
fn a_websocket_that_is_refused_is_told_with_its_path_and_status() {
    let bench = Bench::new();
    let url = server_that_says("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let url = format!("{}echo", url.replacen("http", "ws", 1));
    let (code, result) = load(&bench, &["-c", "1", "-n", "1", &url]);
    assert_eq!(code, 1, "{result:#}");
    assert_eq!(result["connects"]["errors"]["protocol"], 1, "{result:#}");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("/echo was answered with status 404"), "{warnings}");
}

#[test]
fn a_run_of_few_requests_says_no_share_of_a_time_that_was_not_measured() {
    let bench = Bench::new();
    let (_, result) = load(&bench, &["-c", "1", "-n", "1", &server(answers)]);
    let share = result["client"]["busiest_share"].as_f64().unwrap();
    // The thread's clock and the wall's tick apart.
    assert!(share < 1.5, "{share}");
}

#[test]
fn what_cannot_be_meant_is_misuse_with_a_way_out() {
    let bench = Bench::new();
    let url = "http://127.0.0.1:1/";
    for (file, field) in [("broken.toml", "\"A b\" = \"c\""), ("host.toml", "Host = \"a\"")] {
        bench.write(file, format!("[[request]]\nurl = \"{url}\"\nheaders = {{ {field} }}\n"));
    }
    for (args, words) in [
        (&["-c", "2", "-t", "3", url][..], "raise -c, or lower -t"),
        (&["--http1.1", "-m", "4", url], "raise -c instead of -m"),
        (&["--poisson", url], "--rate RATE"),
        (&["--rate", "10,20:1s", url], "RATE:TIME"),
        (&["--rate", "0:1s,0:2s", url], "the schedule has no request"),
        (&["--rate", "soon", url], "2000:30s"),
        (&["--slo", "p99>1", url], "p99<50ms"),
        (&["--slo", "p99<1ms", "--rate", "10-100:5s", url], "write --rate RATE"),
        (&["--slo", "p99<1ms", "--rate", "10:5s,20", url], "write --rate RATE"),
        (&[url, "ws://127.0.0.1:1/"], "run wirelap load for each"),
        (&["-c", "1", url, "http://127.0.0.2:1/"], "raise -c to 2"),
        (&["-X", "CONNECT", url], "no method"),
        (&["--data", "@missing", url], "missing"),
        (&["--html", "missing/load.html", url], "missing/load.html"),
        (&["--requests-from", "missing.toml"], "missing.toml"),
        (
            &["--requests-from", "broken.toml"],
            "broken.toml: http://127.0.0.1:1/: `A b: c` is no header field",
        ),
        (&["--requests-from", "host.toml"], "the client writes the field `Host` itself"),
        (&["ftp://h/"], "ftp"),
        (&[], "required"),
    ] {
        bench.run(&[&["load"], args].concat()).said(2, &[words]);
    }
}
