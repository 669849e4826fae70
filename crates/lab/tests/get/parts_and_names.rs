//! Ranges (`-r`) and names that the server gives (`-J`), as curl has them.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, names, put};
use crate::started;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testing::peers::{free_port, program};

#[test]
fn a_range_is_what_curl_makes_of_it() {
    let (Some(nginx), Some(curl)) = (program("nginx"), program("curl")) else { return };
    let bench = Bench::new();
    std::fs::create_dir(bench.path("www")).unwrap();
    bench.write("www/file", content(1_000));
    let (port, folder) = (free_port(), bench.folder.display().to_string());
    let http = format!(
        "access_log off;
          server {{ listen 127.0.0.1:{port}; root {folder}/www;
            location /whole {{ alias {folder}/www/file; max_ranges 0; }} }}"
    );
    let _nginx = started::nginx(&bench, &nginx, &http, port);
    let url = format!("http://127.0.0.1:{port}/file");
    for range in ["0-0", "100-499", "990-2000", "999-", "-1", "-300", "-5000"] {
        get(&bench, &["-r", range, "-o", "ours", &url]).said(0, &[]);
        let mut command = bench.command(&curl);
        command.args(["-s", "-r", range, "-o", "theirs", &url]);
        assert_eq!(bench.start(command).end().code, 0);
        is_whole(&bench, "ours", &std::fs::read(bench.path("theirs")).unwrap());
    }
    assert_eq!(std::fs::read(bench.path("ours")).unwrap(), content(1_000), "a file may be shorter");
    get(&bench, &["-r", "1000-", "-o", "none", &url]).said(1, &["416"]);
    // Where curl takes all of the file for a range, it is an error here.
    let whole = format!("http://127.0.0.1:{port}/whole");
    get(&bench, &["-r", "0-9", "-o", "none", &whole]).said(1, &["it sent all"]);
    get(&bench, &["-r", "0-9", "-C", "-", &url]).said(2, &["--range", "--continue-at"]);
    get(&bench, &["-r", "9-0", &url]).said(2, &["is no range"]);
    assert!(!bench.path("none").exists());
}

#[test]
fn a_range_that_breaks_begins_anew_and_a_rest_of_the_file_is_no_part_of_it() {
    let bench = Bench::new();
    let body = content(3_000);
    let sent = body.clone();
    let server = Server::new(move |request, stream| {
        let (from, to) = (request.from.unwrap_or(0), request.to.unwrap_or(3_000));
        let breaks_off = request.number < 2;
        let head = match request.from {
            None => "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 3000\r\n\r\n".to_owned(),
            Some(_) => format!(
                "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes {from}-{}/3000\r\n\
                 Content-Length: {}\r\n\r\n",
                to - 1,
                to - from
            ),
        };
        let end = if breaks_off { (from + to) / 2 } else { to };
        put(stream, head) && put(stream, &sent[from..end]) && !breaks_off
    });
    let url = server.url("/file");
    // Half of the whole file stays for a later run.
    get(&bench, &["--retry", "0", &url]).said(1, &[]);
    get(&bench, &["-r", "1000-1999", &url]).said(0, &["1 kB", "beginning anew"]);
    is_whole(&bench, "file", &body[1_000..2_000]);
    let asked: Vec<_> = server.seen().iter().map(|request| (request.from, request.to)).collect();
    assert_eq!(asked, [(None, None), (Some(1_000), Some(2_000)), (Some(1_000), Some(2_000))]);
}

/// A server that names its file as the path says.
fn naming() -> Server {
    Server::new(|request, stream| {
        let name = match request.path.as_str() {
            "/report" => "attachment; filename=\"a report.txt\"",
            "/euro" => "attachment; filename=x; filename*=UTF-8''%e2%82%ac.txt",
            "/out" => "attachment; filename=\"../../out.txt\"",
            "/hidden" => "attachment; filename=.bashrc",
            "/escape" => "attachment; filename*=UTF-8''a%1b%5b2J",
            _ => "inline",
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Disposition: ";
        put(stream, format!("{head}{name}\r\n\r\nhi"))
    })
}

#[test]
fn a_server_names_a_file_in_the_folder_and_replaces_none() {
    let bench = Bench::new();
    let server = naming();
    for (path, name) in [
        ("/report", "a report.txt"),
        ("/euro", "€.txt"),
        ("/out", "out.txt"),
        ("/hidden", "hidden"),
        ("/escape", "escape"),
        ("/plain", "plain"),
    ] {
        get(&bench, &["-J", &server.url(path)]).said(0, &[name]);
        is_whole(&bench, name, b"hi");
    }
    let expected = ["a report.txt", "escape", "hidden", "out.txt", "plain", "€.txt"];
    assert_eq!(names(&bench), expected);
    bench.write("out.txt", "mine");
    get(&bench, &["-J", &server.url("/out")]).said(1, &["out.txt is there already", "--clobber"]);
    is_whole(&bench, "out.txt", b"mine");
    get(&bench, &["-J", "--clobber", &server.url("/out")]).said(0, &[]);
    is_whole(&bench, "out.txt", b"hi");
    let twice = get(&bench, &["-J", "--clobber", &server.url("/out"), &server.url("/out?2")]);
    twice.said(2, &["would both be"]);
    get(&bench, &["--clobber", &server.url("/out")]).said(2, &["--remote-header-name"]);
}

/// The part of another run stays where a run fails before it has opened a part of its own.
#[test]
fn a_part_that_is_kept_survives_runs_that_are_refused() {
    let bench = Bench::new();
    let body = content(3_000);
    let sent = body.clone();
    let server = Server::new(move |request, stream| match request.path.as_str() {
        "/named" => put(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Disposition: inline; filename=slow\r\n\r\nhi",
        ),
        // No ranges, and no end at first.
        "/slow" if request.to.is_some() => {
            put(stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        }
        "/slow" if request.number == 0 => answer(request, stream, ("\"a\"", &sent, 1_000)),
        "/slow" => answer(request, stream, ("\"a\"", &sent, usize::MAX)),
        _ => put(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    });
    get(&bench, &["--retry", "0", &server.url("/slow")]).said(1, &["1 kB are kept"]);
    let parts = [".slow.wirelap-note", ".slow.wirelap-part"];
    assert_eq!(names(&bench), parts);
    get(&bench, &["-r", "0-9", &server.url("/slow")]).said(1, &["it sent all"]);
    get(&bench, &["--no-resume", "-o", "slow", &server.url("/gone")]).said(1, &["404"]);
    bench.write("slow", "mine");
    get(&bench, &["-J", &server.url("/named")]).said(1, &["slow is there already"]);
    get(&bench, &[&server.url("/slow")]).said(0, &["1 kB of them from before"]);
    is_whole(&bench, "slow", &body);
}

/// Two files with one name of the server's: the second is refused and the first whole.
#[test]
fn a_name_that_is_taken_in_the_same_run_leaves_the_first_file_alone() {
    let bench = Bench::new();
    let refused = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&refused);
    let part = bench.path(".X.wirelap-part");
    let server = Server::new(move |request, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Disposition: inline; filename=X\r\n\r\n";
        let wait = |is: &dyn Fn() -> bool| {
            while !is() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        };
        if request.path == "/1" {
            // The first half is there before the other file's head comes, the second after its end.
            put(stream, head);
            put(stream, "ou");
            wait(&|| seen.load(Ordering::SeqCst));
            return put(stream, "rs");
        }
        wait(&|| part.exists());
        put(stream, head);
        put(stream, "them");
        // The client refuses the file meanwhile, and closes the connection or keeps it.
        stream.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
        let _end = std::io::Read::read(stream, &mut [0; 1]);
        seen.store(true, Ordering::SeqCst);
        false
    });
    let (one, two) = (server.url("/1"), format!("http://localhost:{}/2", server.port));
    get(&bench, &["-J", &one, &two]).said(1, &["another URL is X already"]);
    assert!(refused.load(Ordering::SeqCst));
    is_whole(&bench, "X", b"ours");
    assert_eq!(names(&bench), ["X"]);
}

#[test]
fn a_file_that_comes_during_the_transfer_stays() {
    let bench = Bench::new();
    let theirs = bench.path("out.txt");
    let server = Server::new(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Disposition: attachment; ";
        // The first bytes are there: the name was looked at and is free.
        let has_begun = put(stream, format!("{head}filename=out.txt\r\n\r\nou"));
        let part = theirs.with_file_name(".out.txt.wirelap-part");
        while !part.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::fs::write(&theirs, "theirs").unwrap();
        has_begun && put(stream, "rs")
    });
    let refused = get(&bench, &["-J", &server.url("/file")]);
    refused.said(1, &["out.txt came while this one was written", "--clobber"]);
    is_whole(&bench, "out.txt", b"theirs");
    assert_eq!(names(&bench), ["out.txt"]);
    get(&bench, &["-J", "--clobber", &server.url("/file")]).said(0, &[]);
    is_whole(&bench, "out.txt", b"ours");
}

#[test]
fn curl_gives_the_same_name_and_refuses_the_same_file() {
    let Some(curl) = program("curl") else { return };
    let bench = Bench::new();
    let server = naming();
    let run = |path: &str| {
        let mut command = bench.command(&curl);
        command.args(["-s", "-O", "-J", &server.url(path)]);
        bench.start(command).end().code
    };
    for (path, name) in [("/report", "a report.txt"), ("/out", "out.txt"), ("/plain", "plain")] {
        assert_eq!(run(path), 0, "{path}");
        is_whole(&bench, name, b"hi");
        // What the server has named is kept by both.
        let is_named = name != "plain";
        assert_eq!(run(path) != 0, is_named, "{path}");
        assert_eq!(get(&bench, &["-J", &server.url(path)]).code != 0, is_named, "{path}");
    }
}
