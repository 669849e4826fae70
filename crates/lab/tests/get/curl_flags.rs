//! Flags that users of curl know: credentials, names, conditions, heads and rates.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, put, sha256};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A server that gives the head of each request, and answers with `response`.
fn recorder(response: &'static str) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let reader = BufReader::new(stream.try_clone().unwrap());
            let lines = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let head: Vec<String> = lines.collect();
            // The test has ended where nobody listens.
            if sender.send(head.join("\n").to_lowercase()).is_err() || !put(&mut stream, response) {
                return;
            }
        }
    });
    (port, heads)
}

const FILE: &str =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-Kind: note\r\n\r\nhi";

#[test]
fn credentials_go_to_the_server_and_are_printed_nowhere() {
    let bench = Bench::new();
    let (port, heads) = recorder(FILE);
    let within = format!("http://aladdin:open%20sesame@127.0.0.1:{port}/file");
    let ran = get(&bench, &["-v", "--json", "-A", "probe/1", &within]);
    assert!(!format!("{}{}", ran.out, ran.err).contains("sesame"), "{}{}", ran.out, ran.err);
    ran.said(0, &[]);
    let head = heads.recv().unwrap();
    let (basic, agent) =
        ("authorization: basic ywxhzgrpbjpvcgvuihnlc2ftzq==", "user-agent: probe/1");
    assert!(head.contains(basic) && head.contains(agent), "{head}");
    let beside = format!("http://127.0.0.1:{port}/file");
    get(&bench, &["-u", "Aladdin:open sesame", &beside]).said(0, &["2 B in ", "B/s over http/1.1"]);
    let head = heads.recv().unwrap();
    // In lower case the two names make two strings.
    assert!(head.contains("authorization: basic qwxhzgrpbjpvcgvuihnlc2ftzq=="), "{head}");
    let twice = ["-A", "probe/1", "-H", "User-Agent: probe/2", &beside];
    get(&bench, &twice).said(0, &[]);
    let head = heads.recv().unwrap();
    assert!(head.contains("user-agent: probe/2") && !head.contains("probe/1"), "{head}");
}

#[test]
fn a_file_with_the_digest_asked_for_is_not_fetched_again() {
    let bench = Bench::new();
    let body = content(300_000);
    let sent = body.clone();
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &sent, usize::MAX)));
    let url = server.url("/file");
    get(&bench, &[&url]).said(0, &["300 kB in "]);
    let digest = sha256(&bench, "file");
    get(&bench, &["--sha256", &digest, &url]).said(0, &["300 kB are there already"]);
    let ran = get(&bench, &["--json", "--sha256", &digest, &url]);
    let line: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&line["file"], &line["protocol"]), (&"file".into(), &serde_json::Value::Null));
    assert_eq!(server.seen().len(), 1);
    // Another file of that name is not taken for it.
    bench.write("file", "short");
    get(&bench, &["--sha256", &digest, &url]).said(0, &["300 kB in "]);
    is_whole(&bench, "file", &body);
}

#[test]
fn what_was_not_modified_is_left_as_it_is() {
    let bench = Bench::new();
    let (port, heads) = recorder("HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n");
    let url = format!("http://127.0.0.1:{port}/file");
    bench.write("file", "as it was");
    let day = "Sun, 06 Nov 1994 08:49:37 GMT";
    get(&bench, &["-z", day, &url]).said(0, &["not modified since then, so nothing was fetched"]);
    assert!(heads.recv().unwrap().contains("if-modified-since: sun, 06 nov 1994 08:49:37 gmt"));
    is_whole(&bench, "file", b"as it was");
    let line = |args: &[&str]| -> serde_json::Value {
        let ran = get(&bench, &[&["-s", "--json", "-z", day], args].concat());
        serde_json::from_str(&ran.out).unwrap()
    };
    let (there, absent) = (line(&[&url]), line(&["-o", "absent", &url]));
    assert_eq!((&there["file"], &there["status"]), (&"file".into(), &304.into()), "{there}");
    assert_eq!((&absent["file"], &absent["ok"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!(absent["protocol"], "http/1.1");
    assert_eq!(heads.try_iter().count(), 2);
    get(&bench, &["-z", "file", &url]).said(0, &["not modified"]);
    // The digest decides, whatever its date.
    get(&bench, &["-z", "file", "--sha256", &"0".repeat(64), &url]).said(1, &["answered 304"]);
    let asked: Vec<String> = heads.try_iter().collect();
    assert!(asked.len() == 2 && !asked[1].contains("if-modified-since"), "{asked:?}");
    get(&bench, &["-z", &format!("-{day}"), &url]).said(2, &["older than that date"]);
}

#[test]
fn a_file_that_is_yet_to_come_is_no_condition() {
    let bench = Bench::new();
    let (port, heads) = recorder(FILE);
    let mirror = ["-z", "file", "-o", "file", &format!("http://127.0.0.1:{port}/file")];
    get(&bench, &mirror).said(0, &["-z file: neither a file nor a date"]);
    is_whole(&bench, "file", b"hi");
    get(&bench, &mirror).said(0, &[]);
    let asked: Vec<bool> =
        heads.try_iter().map(|head| head.contains("if-modified-since")).collect();
    assert_eq!(asked, [false, true]);
}

#[test]
fn a_head_goes_before_the_body_into_a_stream_alone() {
    let bench = Bench::new();
    let (port, _heads) = recorder(FILE);
    let url = format!("http://127.0.0.1:{port}/file");
    let ran = get(&bench, &["-s", "-i", "-o", "-", &url]);
    assert!(ran.out.starts_with("HTTP/1.1 200\r\n"), "{}", ran.out);
    assert!(ran.out.to_lowercase().contains("x-kind: note\r\n"), "{}", ran.out);
    assert!(ran.out.ends_with("\r\n\r\nhi"), "{}", ran.out);
    get(&bench, &["-i", "-o", "file", &url]).said(2, &["-o -"]);
}

/// A file that standard output goes to is not replaced: what else is printed there stays.
#[test]
fn standard_output_by_another_name_is_written_to() {
    let bench = Bench::new();
    let (port, _heads) = recorder(FILE);
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "all"] {
        let get = format!("\"$W\" get -s -o {name} http://127.0.0.1:{port}/file");
        bench.shell(&[], &format!("(printf before; {get}; printf after) > all")).said(0, &[]);
        is_whole(&bench, "all", b"beforehiafter");
    }
    let get = format!("\"$W\" get --json -o all http://127.0.0.1:{port}/file");
    bench.shell(&[], &format!("{get} > all")).said(2, &["--json prints to standard output"]);
}

#[test]
fn no_more_bytes_come_in_a_second_than_were_asked_for() {
    let bench = Bench::new();
    let body = content(300_000);
    let sent = body.clone();
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &sent, usize::MAX)));
    let ran = get(&bench, &["--json", "--limit-rate", "300k", &server.url("/file")]);
    let line: serde_json::Value = serde_json::from_str(ran.out.trim()).unwrap();
    // A limit from below: a busy machine only takes longer.
    let least = 300_000.0 / (300.0 * 1024.0) * 1e3;
    assert!(line["total_ms"].as_f64().unwrap() >= least * 0.99, "{line}");
    is_whole(&bench, "file", &body);
}
