//! Folders, files and peers of somebody else's: nothing is written outside a folder, nothing in it runs without end,
//! and nothing that a terminal would obey is printed.

use crate::bench::{Bench, HAR, Ran, Running, all_outcomes, experiment};
use crate::damage::finished;
use crate::terminal::on_a_terminal;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use wire::spdy::{Effort, Encoder, Frame, FrameHeader, HEADER_LENGTH};

const PRECIOUS: &str = "the user's own";

/// A copy of the finished run in a folder of its own, its log folded in.
fn copy(bench: &Bench, name: &str) {
    fs::create_dir(bench.path(name)).unwrap();
    let to = bench.path(name).join("rows.sqlite");
    fs::copy(bench.path("run/rows.sqlite"), to).unwrap();
}

#[test]
fn a_foreign_folder_with_links_under_every_name_costs_no_file_outside_it() {
    let Some(bench) = finished() else { return };
    bench.write("precious", PRECIOUS);
    let precious = bench.path("precious");
    let is_whole = || fs::read_to_string(&precious).unwrap() == PRECIOUS;
    // What is written, today and by earlier versions: the link is replaced, or not touched.
    copy(&bench, "linked");
    for name in ["result.json", "report.html", "compare.html"] {
        symlink(&precious, bench.path("linked").join(name)).unwrap();
    }
    for name in ["result.part", "report.part", "compare.part", "rows.probe"] {
        symlink(&precious, bench.path("linked").join(name)).unwrap();
    }
    bench.run(&["report", "linked"]).said(0, &[]);
    bench.run(&["compare", "run", "linked"]).said(0, &[]);
    for name in ["result.json", "report.html", "compare.html"] {
        assert!(fs::symlink_metadata(bench.path("linked").join(name)).unwrap().is_file());
    }
    assert!(is_whole());
    // What SQLite would write to.
    for mark in ["", "-wal", "-shm", "-journal"] {
        let folder = format!("rows{mark}");
        copy(&bench, &folder);
        let file = bench.path(&folder).join(format!("rows.sqlite{mark}"));
        let _ = fs::remove_file(&file);
        symlink(&precious, &file).unwrap();
        for command in
            [&["report", &folder][..], &["race", "--resume", &folder], &["compare", "run", &folder]]
        {
            bench.run(command).said(2, &[&format!("rows.sqlite{mark} is no regular file")]);
        }
        assert!(is_whole(), "{mark}");
    }
    // Folders that trials write into.
    fs::create_dir(bench.path("elsewhere")).unwrap();
    for name in ["inputs", "scratch", "captures", "qlogs", "films", "profiles"] {
        let folder = format!("with-{name}");
        copy(&bench, &folder);
        symlink(bench.path("elsewhere"), bench.path(&folder).join(name)).unwrap();
        bench.run(&["race", "--resume", &folder]).said(2, &["is a symbolic link"]);
    }
    // And what is in them.
    for (folder, link) in [
        ("captures", "tiny+lan+h2+8.pcapng"),
        ("qlogs", "tiny+lan+h2+8-client.sqlog"),
        ("films/tiny+lan+h2+8", "000100.0.jpg"),
        ("profiles", "tiny+lan+h2+8"),
        ("inputs/subjects", "mine.toml"),
    ] {
        let named = format!("in-{}", folder.replace('/', "-"));
        copy(&bench, &named);
        fs::create_dir_all(bench.path(&named).join(folder)).unwrap();
        symlink(&precious, bench.path(&named).join(folder).join(link)).unwrap();
        bench.run(&["race", "--resume", &named]).said(2, &[link, "is a symbolic link"]);
        bench
            .run(&["race", "--again", &named, "--out", "again"])
            .said(2, &[link, "is a symbolic link"]);
    }
    // A file that is waited for.
    copy(&bench, "fifo");
    fs::remove_file(bench.path("fifo/rows.sqlite")).unwrap();
    bench.shell(&[], "mkfifo fifo/rows.sqlite").said(0, &[]);
    bench.run(&["report", "fifo"]).said(2, &["rows.sqlite is no regular file"]);
    copy(&bench, "films");
    for (key, ..) in all_outcomes(&bench.path("run")) {
        fs::create_dir_all(bench.path("films/films").join(key.replace('/', "+"))).unwrap();
    }
    let films =
        "for film in films/films/*; do mkfifo $film/0.jpg; ln -s /dev/zero $film/1.jpg; done";
    bench.shell(&[], films).said(0, &[]);
    bench.run(&["report", "films"]).said(0, &[]);
}

#[test]
fn what_stands_in_the_folders_of_trials_before_they_run_is_taken_away() {
    let Some(bench) = finished() else { return };
    bench.write("precious", PRECIOUS);
    copy(&bench, "foreign");
    // Names that trials write to: their key logs, and the files that servers serve.
    fs::create_dir(bench.path("elsewhere")).unwrap();
    fs::create_dir(bench.path("foreign/scratch")).unwrap();
    symlink(bench.path("elsewhere"), bench.path("foreign/scratch/served")).unwrap();
    for number in 0..2 {
        let trial = bench.path(&format!("foreign/scratch/{number}"));
        fs::create_dir(&trial).unwrap();
        for name in ["keys", "far-keys"] {
            symlink(bench.path("precious"), trial.join(name)).unwrap();
        }
    }
    bench.run(&["race", "--resume", "foreign", "--add", "1", "--capture"]).raced();
    // Both contenders ran, and so did their block again where others disturbed it.
    assert!(fs::read_dir(bench.path("foreign/captures")).unwrap().count() >= 2);
    assert_eq!(fs::read_to_string(bench.path("precious")).unwrap(), PRECIOUS);
    assert_eq!(fs::read_dir(bench.path("elsewhere")).unwrap().count(), 0);
    assert!(!bench.path("foreign/scratch").exists());
}

#[test]
fn rows_that_would_compute_when_one_is_added_take_none() {
    let Some(bench) = finished() else { return };
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    for (name, change) in [
        (
            "fires",
            format!(
                "CREATE VIEW endless AS {endless}; CREATE TRIGGER fires BEFORE INSERT ON trials BEGIN SELECT * FROM endless; END"
            ),
        ),
        ("heavy", "CREATE INDEX heavy ON trials (length(hex(zeroblob(100000000))))".to_owned()),
        ("more", "CREATE TABLE more (text)".to_owned()),
    ] {
        copy(&bench, name);
        {
            let rows = rusqlite::Connection::open(bench.path(name).join("rows.sqlite")).unwrap();
            rows.execute_batch(&change).unwrap();
            rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
        bench
            .run(&["race", "--resume", name, "--add", "1"])
            .said(2, &[&format!("`{name}` is not as a race lays it out, and no row is added")]);
        bench.run(&["report", name]).said(0, &[]);
    }
}

#[test]
fn rows_that_compute_without_end_are_not_read() {
    let Some(bench) = finished() else { return };
    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let views = [
        format!(
            "ALTER TABLE trials RENAME TO kept; CREATE VIEW trials AS {ENDLESS} SELECT i AS key, i AS record FROM n"
        ),
        format!(
            "ALTER TABLE run RENAME TO kept; CREATE VIEW run AS {ENDLESS} SELECT max(i) AS header FROM n"
        ),
        "CREATE TABLE kept AS SELECT header AS plain FROM run; DROP TABLE run; \
         CREATE TABLE run (plain TEXT, header TEXT AS (hex(zeroblob(100000000)) || plain)); \
         INSERT INTO run SELECT plain FROM kept"
            .to_owned(),
        "DROP TABLE run; CREATE VIRTUAL TABLE run USING fts5(header)".to_owned(),
    ];
    for (number, view) in views.iter().enumerate() {
        let folder = format!("view-{number}");
        copy(&bench, &folder);
        {
            let rows = rusqlite::Connection::open(bench.path(&folder).join("rows.sqlite")).unwrap();
            // The views over trials stand in the way of renaming it.
            rows.execute_batch("DROP VIEW metrics; DROP VIEW fetches; DROP VIEW connections")
                .unwrap();
            rows.execute_batch(view).unwrap();
            rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
        for command in [
            &["report", &folder][..],
            &["race", "--resume", &folder],
            &["race", "--again", &folder, "--out", "again"],
            &["compare", &folder, "run"],
        ] {
            bench.run(command).said(2, &["is no ordinary table, and is not read"]);
        }
    }
}

#[test]
fn rows_without_measure_are_not_read() {
    let Some(bench) = finished() else { return };
    copy(&bench, "many");
    {
        let rows = rusqlite::Connection::open(bench.path("many").join("rows.sqlite")).unwrap();
        rows.execute_batch(
            "DROP VIEW metrics; DROP VIEW fetches; DROP VIEW connections; DROP TABLE trials;
             CREATE TABLE trials AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 1000000)
             SELECT i AS key, '' AS record FROM n; PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .unwrap();
    }
    bench
        .run(&["report", "many"])
        .said(2, &["`trials` has more than 1000000 rows, and is not read"]);
}

/// A window's title, the C1 form of "clear the screen", a text that reads backwards, DEL and a bell.
pub(crate) const EVIL: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{7f}";

/// In JSON and in TOML.
pub(crate) const EVIL_ESCAPED: &str = r"\u001b]0;owned\u0007\u009b2J\u202e\u007f";

/// Nothing that it printed is obeyed by a terminal, and the word came through where it has to.
pub(crate) fn is_harmless(ran: &Ran, needs_word: bool) {
    // Lines of CSV end in CRLF (RFC 4180 §2).
    for text in [&ran.out.replace("\r\n", "\n"), &ran.err] {
        let obeyed = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{ran:?}");
    }
    assert!(!needs_word || ran.out.contains("owned") || ran.err.contains("owned"), "{ran:?}");
}

#[test]
fn no_escape_of_an_experiment_or_a_recording_reaches_the_terminal() {
    let bench = Bench::new();
    let tiny = experiment("lan", 1);
    let words = [
        ("a tiny page", "title", true),
        ("does it run?", "question", true),
        ("name = \"tiny\"", "name = \"EVIL\"", true),
        ("name = \"lan\"", "name = \"EVIL\"", true),
        ("name = \"h2\"", "name = \"EVIL\"", true),
        ("transport = \"h2\"", "transport = \"EVIL\"", true),
        ("kind = \"page\"", "kind = \"EVIL\"", true),
        ("trials = 1", "trials = 1\n\"EVIL\" = 1", true),
        ("trials = 1", "trials = 1\ngates = [\"EVIL\"]", false),
        ("bytes = \"1kB\"", "bytes = \"EVIL\"", true),
    ];
    for (from, to, needs_word) in words {
        let to = if to.contains("EVIL") {
            to.replace("EVIL", EVIL_ESCAPED)
        } else {
            EVIL_ESCAPED.to_owned()
        };
        assert!(tiny.contains(from));
        bench.write("evil.toml", tiny.replace(from, &to));
        is_harmless(&bench.run(&["race", "evil.toml", "--dry-run", "-v"]), needs_word);
        // As it stands, which TOML forbids: the error shows the line.
        bench.write("raw.toml", tiny.replace(from, &to.replace(EVIL_ESCAPED, EVIL)));
        is_harmless(&bench.run(&["race", "raw.toml", "--dry-run"]), false);
    }
    for from in
        ["text/html", "https://cdn.test/a.png", "image/png", "parser", "\"t\"", "\"1.2\"", "GET"]
    {
        let to = if from == "\"t\"" {
            format!("\"{EVIL_ESCAPED}\"")
        } else {
            format!("{from}{EVIL_ESCAPED}")
        };
        bench.write("evil.har", HAR.replace(from, &to));
        is_harmless(&bench.run(&["race", "evil.har", "--dry-run"]), false);
    }
    bench.write(&format!("{EVIL}.har"), "no JSON");
    is_harmless(&bench.run(&["race", &format!("{EVIL}.har"), "--dry-run"]), true);
}

#[test]
fn no_escape_of_a_foreign_folders_rows_reaches_the_terminal() {
    let Some(bench) = finished() else { return };
    let changes = [
        "UPDATE run SET header = json_set(header, '$.experiment.title', EVIL, '$.experiment.question', EVIL, '$.host.cpu', EVIL)",
        "UPDATE run SET header = json_set(header, '$.schema', EVIL, '$.version', EVIL)",
        "UPDATE run SET header = EVIL",
        "UPDATE trials SET record = EVIL, key = key || EVIL",
        "UPDATE trials SET record = json_set(record, '$.outcome', json_object('kind', 'failed', 'reason', EVIL))",
        "UPDATE trials SET record = json_set(record, '$.plan.key', EVIL, '$.settings.cores', EVIL)",
        "UPDATE trials SET record = json_set(record, '$.plan.cell.contender.name', EVIL || '-' || contender)",
    ];
    for (number, change) in changes.iter().enumerate() {
        let folder = format!("evil-{number}");
        copy(&bench, &folder);
        {
            let rows = rusqlite::Connection::open(bench.path(&folder).join("rows.sqlite")).unwrap();
            rows.execute_batch(&change.replace("EVIL", &format!("'{EVIL}'"))).unwrap();
            rows.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
        for command in [
            &["report", &folder][..],
            &["report", &folder, "--json"],
            &["report", &folder, "--csv"],
            &["compare", &folder, "run"],
            &["race", "--again", &folder, "--dry-run", "-v"],
        ] {
            let ran = bench.run(command);
            is_harmless(&ran, false);
            if command.contains(&"--json") && ran.code == 0 {
                let _: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
            }
        }
        let ran = on_a_terminal(&bench, &format!("report {folder}")).end();
        is_only_coloured(&ran);
    }
}

/// What a terminal shows has no control sequences but those that choose colours (ECMA-48 §8.3.117).
fn is_only_coloured(ran: &Ran) {
    let mut plain = String::new();
    let mut parts = ran.out.split("\u{1b}[");
    plain.push_str(parts.next().unwrap());
    for part in parts {
        let (codes, rest) = part.split_once('m').unwrap_or_else(|| panic!("{ran:?}"));
        assert!(codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{ran:?}");
        plain.push_str(rest);
    }
    // The terminal's driver ends lines so.
    is_harmless(
        &Ran { code: ran.code, out: plain.replace("\r\n", "\n"), err: String::new() },
        false,
    );
}

/// A server that prints a line for each exchange, with its first addresses.
fn talkative(bench: &Bench, flags: &[&str]) -> (Running, String) {
    let mut running = bench.start(bench.wirelap(&[&["serve", ".", "-v"], flags].concat()));
    let mut line = String::new();
    // Byte by byte: what follows is for whoever waits for the end.
    let out = running.child.stdout.as_mut().unwrap();
    while !line.ends_with('\n') {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        line.push(char::from(byte[0]));
    }
    let address = line.trim().split_once("://").unwrap().1.trim_end_matches('/').to_owned();
    (running, address)
}

fn exchange(address: &str, request: &[u8]) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = [0; 4096];
    let _ended = stream.read(&mut answer);
    std::thread::sleep(std::time::Duration::from_millis(200));
}

/// The server ends well, and its log is clean and says all of `words`.
fn ends(running: Running, words: &[&str]) {
    running.signal("INT");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    is_harmless(&ran, false);
    for words in words {
        assert!(ran.out.contains(words), "no {words:?} in {ran:?}");
    }
}

/// What a field's value may have in every protocol, and a terminal obeys. Method, authority and path are ASCII.
const VALID: &str = "\u{9b}2J\u{202e}";

/// A connection of HTTP/2 with one GET: `:path`, `:authority` and `via` as literals (RFC 7541 §6.2.2) without Huffman coding.
fn over_h2(path: &str, authority: &str, via: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x86];
    // An index of four bits beyond 14 has a second byte (§5.1): `via` is entry 60.
    for (index, value) in [(&[0x04][..], path), (&[0x01], authority), (&[0x0f, 60 - 15], via)] {
        block.extend(index);
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend([0, 0, block.len() as u8, 1, 5, 0, 0, 0, 1]);
    bytes.extend(block);
    bytes
}

#[test]
fn no_escape_of_a_client_reaches_the_terminal_of_a_server() {
    let bench = Bench::new();
    let (running, address) = talkative(&bench, &["--listen", "127.0.0.1:0"]);
    let request = format!("GET /{EVIL} HTTP/1.1\r\nHost: a{EVIL}\r\nX: {EVIL}\r\n\r\n");
    exchange(&address, request.as_bytes());
    exchange(&address, format!("{EVIL} / HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    exchange(&address, format!("GET /owned HTTP/1.1\r\nHost: a\r\nX: {VALID}\r\n\r\n").as_bytes());
    exchange(&address, &over_h2(&format!("/{EVIL}"), &format!("a{EVIL}"), EVIL));
    exchange(&address, &over_h2("/owned", "a", EVIL));
    exchange(&address, &over_h2("/owned", "a", VALID));
    ends(running, &["http/1.1 GET a/owned 404 ", "h2 GET a/owned 404 "]);
}

#[test]
fn no_escape_of_a_spdy_client_reaches_the_terminal_of_a_server() {
    let bench = Bench::new();
    if bench.shell(&[], "openssl version").code != 0 {
        return testing::skip("openssl is not installed: ./peers install");
    }
    let (running, address) = talkative(&bench, &["--listen-tls", "127.0.0.1:0", "--spdy"]);
    let evil = (format!("/{EVIL}"), format!("a{EVIL}"), EVIL);
    for (path, host, via) in [evil, ("/owned".to_owned(), "a".to_owned(), VALID)] {
        let mut bytes = Vec::new();
        let fields = [
            (":method", "GET"),
            (":path", &path),
            (":version", "HTTP/1.1"),
            (":host", &host),
            (":scheme", "https"),
            ("via", via),
        ];
        let block = &spdy_block(&mut Encoder::new(Effort::Fields), &fields);
        let (stream, associated, priority, fin, unidirectional) = (1, 0, 0, true, false);
        Frame::SynStream { stream, associated, priority, fin, unidirectional, block }
            .encode(&mut bytes);
        let mut client = bench.command("openssl");
        client.args(["s_client", "-quiet", "-alpn", "spdy/3.1", "-connect", &address]);
        let mut client = client.stdin(Stdio::piped()).spawn().unwrap();
        client.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        // The answer: something came through.
        client.stdout.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        client.kill().unwrap();
        client.wait().unwrap();
    }
    ends(running, &["spdy/3.1 GET a/owned 404 "]);
}

fn spdy_block(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
    encoder.begin();
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes());
    }
    let mut block = Vec::new();
    encoder.finish(&mut block);
    block
}

/// Answers each stream with `evil` in its status and its fields.
fn answer_spdy(mut stream: TcpStream, evil: &str) -> std::io::Result<()> {
    let mut encoder = Encoder::new(Effort::Fields);
    loop {
        let mut header = [0; HEADER_LENGTH];
        stream.read_exact(&mut header)?;
        let header = FrameHeader::parse(&header);
        let mut payload = vec![0; header.length as usize];
        stream.read_exact(&mut payload)?;
        let Ok(Frame::SynStream { stream: number, .. }) = Frame::parse(header, &payload) else {
            continue;
        };
        let (status, path) = (format!("404 {evil}"), format!("/{evil}"));
        let fields = [
            (":status", status.as_str()),
            (":version", "HTTP/1.1"),
            ("content-encoding", evil),
            ("location", &path),
            ("server", evil),
        ];
        let (mut bytes, block) = (Vec::new(), spdy_block(&mut encoder, &fields));
        Frame::SynReply { stream: number, fin: true, block: &block }.encode(&mut bytes);
        stream.write_all(&bytes)?;
    }
}

#[test]
fn no_escape_of_a_spdy_server_reaches_the_terminal_of_a_load() {
    // One that breaks the rules, and one whose answers are heard.
    for (evil, told) in [(EVIL, "3 protocol"), (VALID, "3 answered")] {
        let bench = Bench::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || answer_spdy(stream, evil));
            }
        });
        let load = |flags: &[&str]| {
            bench.run(&[&["load", "--spdy", "-n", "3", "-c", "1", &url], flags].concat())
        };
        let ran = load(&[]);
        is_harmless(&ran, false);
        assert!(ran.out.contains(told), "{ran:?}");
        for flags in ["--json", "--csv"] {
            is_harmless(&load(&[flags]), false);
        }
    }
}

#[test]
fn no_escape_of_a_server_reaches_the_terminal_of_a_load() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
                    if line.ends_with("\r\n\r\n") {
                        let answer = format!(
                            "HTTP/1.1 404 {EVIL}\r\nServer: {EVIL}\r\nLocation: /{EVIL}\r\nContent-Length: 0\r\n\r\n"
                        );
                        let _ = (&stream).write_all(answer.as_bytes());
                        line.clear();
                    }
                }
            });
        }
    });
    for flags in [&[][..], &["--json"], &["--csv"], &["--http2"]] {
        let load = [&["load", "-n", "3", "-c", "1", &url], flags].concat();
        is_harmless(&bench.run(&load), false);
    }
}
