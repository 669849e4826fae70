//! Disks that are full, and file systems that take no writes past the cache.

use crate::bench::{Bench, Ran};
use crate::server::{Server, answer, content, put};

/// Runs `line` with a file system of `size` mounted at `disk`, in namespaces of its own; None where that cannot
/// be had here.
fn on_disk(bench: &Bench, size: &str, line: &str) -> Option<Ran> {
    std::fs::create_dir_all(bench.path("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o size={size} none disk");
    let can = bench.shell(&["unshare", "--map-root-user", "--user", "--mount"], &mount);
    if can.code != 0 {
        testing::skip(format!("a file system of its own: {}", can.err.trim()));
        return None;
    }
    let line = format!("{mount} && {line}");
    Some(bench.shell(&["unshare", "--map-root-user", "--user", "--mount"], &line))
}

#[test]
fn a_disk_without_room_is_told_before_the_transfer() {
    let bench = Bench::new();
    let body = content(8 << 20);
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &body, usize::MAX)));
    let url = server.url("/file");
    let line = format!("$W get --output-dir disk {url}; code=$?; ls -A disk; exit $code");
    let Some(ran) = on_disk(&bench, "4m", &line) else { return };
    ran.said(1, &["cannot reserve space for disk/file", "No space left", "df -h"]);
    assert_eq!(ran.out, "", "{ran:?}");
}

#[test]
fn a_disk_that_fills_up_on_the_way_is_told_and_more_room_goes_on() {
    let bench = Bench::new();
    let body = content(8 << 20);
    let sent = body.clone();
    let server = Server::new(move |request, stream| {
        let Some(_) = request.from else {
            // No length: that it will not fit comes out when it does not.
            put(stream, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n");
            let all = sent.chunks(65_536).all(|part| {
                put(stream, format!("{:x}\r\n", part.len()))
                    && put(stream, part)
                    && put(stream, "\r\n")
            });
            return all && put(stream, "0\r\n\r\n");
        };
        answer(request, stream, ("\"a\"", &sent, usize::MAX))
    });
    let url = server.url("/file");
    bench.write("expected", &body);
    let line = format!(
        "$W get --output-dir disk {url}; echo first $?; ls disk; \
         mount -o remount,size=32m disk; $W get --output-dir disk {url}; echo second $?; \
         cmp disk/file expected && ls -A disk"
    );
    let Some(ran) = on_disk(&bench, "4m", &line) else { return };
    ran.said(0, &["cannot write disk/file", "No space left", "df -h", "from before"]);
    assert_eq!(ran.out, "first 1\nsecond 0\nfile\n", "{ran:?}");
}

/// The last line of a body without a line's end waited in a buffer, and was lost at the exit without a word.
#[test]
fn standard_output_that_is_full_is_told() {
    let bench = Bench::new();
    let server =
        Server::new(|request, stream| answer(request, stream, ("\"a\"", b"hi", usize::MAX)));
    let line = format!("$W get -sS -o - {} > /dev/full", server.url("/file"));
    bench.shell(&[], &line).said(1, &["cannot write to -", "No space left"]);
}

#[test]
fn a_file_system_without_direct_writes_gets_ordinary_ones() {
    let bench = Bench::new();
    let body = content(20 << 20);
    bench.write("expected", &body);
    let server =
        Server::new(move |request, stream| answer(request, stream, ("\"a\"", &body, usize::MAX)));
    let line = format!(
        "$W get -s --no-page-cache --output-dir disk {} && cmp disk/file expected && ls -A disk",
        server.url("/file")
    );
    let Some(ran) = on_disk(&bench, "64m", &line) else { return };
    ran.said(0, &[]);
    assert_eq!(ran.out, "file\n", "{ran:?}");
}

#[test]
fn a_folder_that_may_not_be_written_is_told() {
    if !testing::is_root() {
        return testing::skip("becoming nobody needs root");
    }
    let bench = Bench::new();
    let server =
        Server::new(|request, stream| answer(request, stream, ("\"a\"", b"x", usize::MAX)));
    std::fs::create_dir(bench.path("mine")).unwrap();
    let line = format!("$W get --output-dir mine {}", server.url("/file"));
    bench.shell_as_nobody(&line).said(1, &["cannot create mine/file", "Permission denied"]);
}
