//! What users get wrong: one clear sentence, the way out, exit code 2, and no connection made.

use crate::bench::Bench;
use crate::server::{Server, get, names};

#[test]
fn wrong_words_are_told_before_anything_is_asked_for() {
    let bench = Bench::new();
    let server = Server::new(|_, _| false);
    std::fs::create_dir(bench.path("folder")).unwrap();
    bench.write("bad-sums", "abc  file\n");
    bench.write("other-sums", format!("{}  other\n", "0".repeat(64)));
    let (one, two) = (server.url("/file"), server.url("/x/file"));
    let other = server.url("/other");
    let cases: [(&[&str], &[&str]); 28] = [
        (&[], &["<URL>"]),
        (&["ftp://a/b"], &["ftp"]),
        (&[&one, "--sha256", "abc"], &["64 hexadecimal digits"]),
        (&[&one, &other, "--sha256", &"0".repeat(64)], &["--sha256 is one file's", "--checksums"]),
        (&[&one, &two, "-o", "x"], &["-o names one file", "--output-dir"]),
        (&[&one, &two], &["would both be file", "folders of their own"]),
        (&[&server.url("/")], &["names no file", "-o FILE"]),
        (&[&one, "-o", "folder"], &["folder is a folder"]),
        (&[&one, "-o", "none/x"], &["none is no folder", "mkdir -p none"]),
        (&[&one, "--output-dir", "none"], &["none is no folder", "mkdir -p none"]),
        (
            &[&one, "-o", "-", "--json"],
            &["--json prints to standard output", "give the file a name"],
        ),
        (&[&one, "-o", "/dev/stdout", "--json"], &["--json prints to standard output"]),
        (&[&one, "-o", "/dev/fd/1", "--json"], &["--json prints to standard output"]),
        (&[&one, "-o", "/proc/self/fd/1", "--json"], &["--json prints to standard output"]),
        (&[&one, "-o", ".."], &["is no file name"]),
        (&[&one, "-C", "100"], &["100"]),
        (&[&one, "--connections", "0"], &["expected a whole number from 1 to 16"]),
        (&[&one, "--max-time", "soon"], &["is no time"]),
        (&[&one, "-H", "Range: bytes=0-1"], &["wirelap's own to send"]),
        (&[&one, "--http1.1", "--http2"], &["cannot be used with"]),
        (&[&one, "--stream-window", "1kB"], &["from 65535 to 2147483647 bytes"]),
        (&[&one, "--connection-window", "2GiB"], &["from 65535 to 2147483647 bytes"]),
        (&[&one, "--http1.1", "--stream-window", "1MB"], &["cannot be used with"]),
        (
            &[&one, "--connections", "2", "--stream-window", "1MB"],
            &["HTTP/1.1 has no receive windows", "add --http2"],
        ),
        (&[&one, "--http3"], &["HTTP/3 needs https://", "leave out --http3"]),
        (&[&one, "--cacert", "none.pem"], &["reading none.pem", "check the path"]),
        (&[&one, "--checksums", "bad-sums"], &["bad-sums, line 1", "sha256sum"]),
        (&[&one, "--checksums", "other-sums"], &["no checksum for file"]),
    ];
    let before = names(&bench);
    for (args, words) in cases {
        get(&bench, args).said(2, words);
        assert_eq!(names(&bench), before, "{args:?}");
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_name_from_a_url_never_leaves_the_folder() {
    let bench = Bench::new();
    let server = Server::new(|request, stream| {
        crate::server::answer(request, stream, ("\"a\"", b"x", usize::MAX))
    });
    std::fs::create_dir(bench.path("in")).unwrap();
    for path in ["/a/..%2f..%2fescaped", "/%2e%2e%2fescaped", "/a/x%00y", "/.."] {
        let _ = get(&bench, &["-s", "--output-dir", "in", &server.url(path)]);
    }
    assert_eq!(names(&bench), ["in"]);
}
