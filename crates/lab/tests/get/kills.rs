//! A download that is killed in its middle, and the one after it.

use crate::bench::Bench;
use crate::server::{Server, answer, content, get, is_whole, names, sha256};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LENGTH: usize = 24 << 20;

/// Sends some of what is asked for, then waits until the test lets it go on.
fn slow_server(body: Vec<u8>) -> (Server, Arc<AtomicBool>) {
    slow_server_with("\"a\"", body)
}

fn slow_server_with(tag: &'static str, body: Vec<u8>) -> (Server, Arc<AtomicBool>) {
    let free = Arc::new(AtomicBool::new(false));
    let is_free = free.clone();
    let server = Server::new(move |request, stream| {
        if is_free.load(Ordering::SeqCst) {
            return answer(request, stream, (tag, &body, usize::MAX));
        }
        answer(request, stream, (tag, &body, 5 << 20));
        let _ = stream.flush();
        while !is_free.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    });
    (server, free)
}

/// Waits until a note with text stands there: from then on there is something to go on from.
fn await_note(bench: &Bench) {
    for _ in 0..12_000 {
        let is_note = |name: &String| name.ends_with("wirelap-note");
        if let Some(note) = names(bench).into_iter().find(is_note)
            // It is made before it is written.
            && std::fs::metadata(bench.path(&note)).is_ok_and(|note| note.len() > 0)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no note was ever written: {:?}", names(bench));
}

#[test]
fn a_killed_download_is_gone_on_from_and_its_checksum_is_right() {
    for flags in [&[][..], &["--page-cache"], &["--no-page-cache"], &["--connections", "4"]] {
        let bench = Bench::new();
        let body = content(LENGTH);
        bench.write("expected", &body);
        let digest = sha256(&bench, "expected");
        let (server, free) = slow_server(body.clone());
        let url = server.url("/file");
        let args = [&["get", "-o", "file", &url, "--sha256", &digest], flags].concat();
        let running = bench.start(bench.wirelap(&args));
        await_note(&bench);
        running.signal("KILL");
        assert_eq!(running.end().code, 128 + 9);
        assert!(!bench.path("file").exists(), "half a file has the final name");
        free.store(true, Ordering::SeqCst);
        bench.run(&args).said(0, &["from before", &digest]);
        is_whole(&bench, "file", &body);
        let resumed = server.seen().iter().any(|request| request.from.is_some_and(|from| from > 0));
        assert!(resumed, "{flags:?}: {:?}", server.seen());
    }
}

/// What an end in good order says, a kill leaves the next run to say.
#[test]
fn after_a_kill_it_is_told_why_it_begins_anew() {
    let bench = Bench::new();
    let body = content(LENGTH);
    let (server, free) = slow_server_with("W/\"a\"", body.clone());
    let url = server.url("/file");
    let running = bench.start(bench.wirelap(&["get", &url]));
    await_note(&bench);
    running.signal("KILL");
    assert_eq!(running.end().code, 128 + 9);
    assert!(bench.path(".file.wirelap-part").exists());
    free.store(true, Ordering::SeqCst);
    get(&bench, &[&url]).said(0, &["file: the server's ETag is weak", "beginning anew"]);
    is_whole(&bench, "file", &body);
    assert_eq!(server.seen().last().unwrap().from, None);
}

#[test]
fn an_interrupt_ends_it_with_its_own_code_and_the_way_on() {
    let bench = Bench::new();
    let body = content(LENGTH);
    let (server, free) = slow_server(body.clone());
    let url = server.url("/file");
    let running = bench.start(bench.wirelap(&["get", &url]));
    await_note(&bench);
    running.signal("INT");
    let ran = running.end();
    ran.said(130, &["the download is not complete", "repeat the command to resume"]);
    assert_eq!(ran.err.lines().count(), 2, "one sentence for all files, and its way on: {ran:?}");
    assert!(!bench.path("file").exists());
    free.store(true, Ordering::SeqCst);
    get(&bench, &[&url]).said(0, &["from before"]);
    is_whole(&bench, "file", &body);
}

#[test]
fn without_resumption_an_interrupt_leaves_nothing() {
    let bench = Bench::new();
    let (server, _free) = slow_server(content(LENGTH));
    let running = bench.start(bench.wirelap(&["get", "--no-resume", &server.url("/file")]));
    await_note(&bench);
    running.signal("TERM");
    running.end().said(130, &["the download is not complete"]);
    assert_eq!(names(&bench), Vec::<String>::new());
}

#[test]
fn what_goes_into_a_stream_is_not_resumed() {
    for target in ["-", "/dev/null"] {
        let bench = Bench::new();
        let (server, _free) = slow_server(content(LENGTH));
        let running = bench.start(bench.wirelap(&["get", "-o", target, &server.url("/file")]));
        while server.seen().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        running.signal("INT");
        let ran = running.end();
        ran.said(130, &["the download is not complete", "repeat the command to begin anew"]);
    }
}

#[test]
fn a_part_of_another_url_is_not_believed() {
    let bench = Bench::new();
    let body = content(LENGTH);
    let (server, free) = slow_server(body.clone());
    let running = bench.start(bench.wirelap(&["get", "-o", "file", &server.url("/one")]));
    await_note(&bench);
    running.signal("KILL");
    running.end();
    free.store(true, Ordering::SeqCst);
    get(&bench, &["-o", "file", &server.url("/two")]).said(0, &[]);
    is_whole(&bench, "file", &body);
    assert_eq!(server.seen().last().unwrap().from, None);
}

#[test]
fn another_programs_half_file_is_gone_on_from_when_asked() {
    let bench = Bench::new();
    let body = content(300_000);
    let sent = body.clone();
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &sent, usize::MAX)));
    let url = server.url("/file");
    bench.write("file", &body[..120_000]);
    get(&bench, &["-C", "-", &url]).said(0, &["120 kB of them from before"]);
    is_whole(&bench, "file", &body);
    assert_eq!(server.seen()[0].from, Some(120_000));
    // It is whole already.
    get(&bench, &["-C", "-", &url]).said(0, &["300 kB of them from before"]);
    is_whole(&bench, "file", &body);
    // Without the flag a file is replaced.
    bench.write("file", "something else");
    get(&bench, &[&url]).said(0, &[]);
    is_whole(&bench, "file", &body);
}

#[test]
fn two_downloads_of_one_file_do_not_mix() {
    let bench = Bench::new();
    let body = content(LENGTH);
    let (server, free) = slow_server(body.clone());
    let url = server.url("/file");
    let first = bench.start(bench.wirelap(&["get", &url]));
    await_note(&bench);
    get(&bench, &[&url, "--max-time", "20"]).said(1, &["is being downloaded by another process"]);
    free.store(true, Ordering::SeqCst);
    first.end().said(0, &[]);
    is_whole(&bench, "file", &body);
}
