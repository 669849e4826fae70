//! What users get wrong: one clear sentence, the way out, exit code 2, and nothing left behind.

use crate::bench::{Bench, experiment};
use crate::load::Load;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

fn refused(bench: &Bench, args: &[&str], words: &[&str]) {
    let before = fs::read_dir(&bench.folder).unwrap().count();
    let ran = bench.run(args);
    ran.said(2, words);
    assert!(ran.out.is_empty(), "{ran:?}");
    assert_eq!(
        fs::read_dir(&bench.folder).unwrap().count(),
        before,
        "{args:?} left something behind"
    );
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let bench = Bench::new();
    let cases: [(&[&str], &[&str]); 7] = [
        (&["race", "qiuck"], &["there is no experiment `qiuck`", "did you mean `quick`?"]),
        (
            &["race", "quick", "--links", "wifii"],
            &["there is no link `wifii`", "did you mean `wifi`?"],
        ),
        (&["race", "quick", "--links", "3g,loss_upp=1%"], &["no setting `loss_upp`", "`loss_up`"]),
        (
            &["race", "quick", "--contenders", "h1tls"],
            &["no contender is called `h1tls`", "`h1-tls`?"],
        ),
        (&["race", "quick", "--baseline", "h1tls"], &["did you mean `h1-tls`?"]),
        (&["link", "4gg", "--", "true"], &["there is no link `4gg`", "did you mean `4g`?"]),
        (&["rcae"], &["a similar subcommand exists: 'race'"]),
    ];
    for (args, words) in cases {
        refused(&bench, args, words);
    }
}

#[test]
fn numbers_out_of_range_are_refused_before_anything_is_made() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 14] = [
        (&["--trials", "0"], "expected a whole number from 1 to 10000"),
        (&["--trials", "-1"], "expected a whole number from 1 to 10000"),
        (&["--trials", "4000000000"], "expected a whole number from 1 to 10000"),
        (&["--seed", "-1"], "not a whole number"),
        (&["--seed", "18446744073709551616"], "not a whole number"),
        (&["--margin", "0"], "a margin lies between"),
        (&["--margin", "-0.05"], "not a probability"),
        (&["--margin", "nan"], "not a probability"),
        (&["--links", ""], "--links names no link"),
        (&["--links", "rtt=-1ms"], "in `rtt=`"),
        (&["--links", "rtt=99999999999999s"], "longer than a minute"),
        (&["--links", "rtt=10ms,down=0"], "in `down=`"),
        (&["--links", "3g,loss=101%"], "in `loss=`"),
        (&["--links", "3g,queue=-1bdp"], "in `queue=`"),
    ];
    for (flags, words) in cases {
        refused(&bench, &[&["race", "quick"], flags].concat(), &[words]);
    }
    for (args, words) in [
        (["get", "http://a.test/", "--retry", "inf"], "expected a whole number from 0 to 1000000"),
        (["load", "http://a.test/", "-n", "1e6"], "expected a whole number of at least 1"),
        (["serve", ".", "--threads", "0"], "expected a whole number from 1 to 1024"),
    ] {
        refused(&bench, &args, &[words]);
    }
}

#[test]
fn what_would_do_nothing_is_refused() {
    let bench = Bench::new();
    let links = |link| ["race", "quick", "--links", link];
    let cases: [(&[&str], &[&str]); 7] = [
        (&["race", "--resume", "run", "--dry-run", "--add", "2"], &["cannot be used with"]),
        (&["get", "https://a.test/", "--qlog", "q"], &["--http3"]),
        (
            &["load", "http://a.test/", "--early-data"],
            &["--early-data needs TLS, and http://a.test/ is in the clear", "write https://"],
        ),
        (&["load", "http://a.test/", "--resume"], &["--resume needs TLS"]),
        (&links("none,udp=blocked"), &["`none` is no link", "takes no settings", "udp=blocked"]),
        (&["link", "none", "--", "true"], &["`none` is no link", "a race alone can have it"]),
        (&["load", "ws://a.test/", "--resume"], &["--resume needs TLS, and ws://a.test/"]),
    ];
    for (args, words) in cases {
        refused(&bench, args, words);
    }
}

#[test]
fn a_bad_experiment_is_pointed_at_by_line_and_column() {
    let bench = Bench::new();
    let right = experiment("lan", 2);
    let cases: [(&str, &str, &[&str]); 13] = [
        (
            "\"h2\"\n[[links",
            "\"h22\"\n[[links",
            &["line 16, column 13", "unknown variant `h22`", "did you mean `h2`?"],
        ),
        ("= \"h1\"\ntrials", "= \"h11\"\ntrials", &["line 4, column 12", "did you mean `h1`?"]),
        (
            "\"lan\"",
            "\"lann\"",
            &["line 18, column 8", "there is no link `lann`", "did you mean `lan`?"],
        ),
        ("trials = 2", "trials = \"x\"", &["line 5, column 10", "expected a whole number"]),
        ("\"h2\"\n[[links", "\"h1\"\n[[links", &["did you mean `http/1.1`?"]),
        ("trials = 2", "trials = = 2", &["line 5, column 10", "trials = = 2\n"]),
        ("trials = 2", "trails = 2", &["line 5, column 1", "did you mean `trials`?"]),
        ("trials = 2", "trials = 4000000000", &["line 5, column 10", "at most 10000"]),
        ("images = 3", "images = 4000000000", &["line 9, column 10", "at most 10000 images"]),
        ("\"1kB\"", "\"999TB\"", &["line 10, column 9"]),
        ("warmup = 0", "timeout = \"9999999999s\"", &["line 6, column 11", "at most a day"]),
        ("\"tiny\"", "\"\"", &["line 1, column 8", "cannot be the name"]),
        ("\"page\"", "\"pgae\"", &["line 8, column 8", "did you mean `page`?"]),
    ];
    for (from, to, words) in cases {
        assert!(right.contains(from), "{from}");
        bench.write("bad.toml", right.replacen(from, to, 1));
        refused(&bench, &["race", "bad.toml"], &[&["bad.toml, "], words].concat());
    }
    bench.write("bad.toml", b"name = \"x\"\ntitle = \"\xff\"\n");
    refused(&bench, &["race", "bad.toml"], &["bad.toml, line 2, column 10: not UTF-8"]);
    bench.write("bad.toml", "");
    refused(&bench, &["race", "bad.toml"], &["missing field `name`"]);
}

#[test]
fn a_bad_har_is_pointed_at_by_entry() {
    let bench = Bench::new();
    let cases: [(&[u8], &[&str]); 7] = [
        (b"", &["not a HAR file"]),
        (b"{\"log\":{\"entries\":[]}}", &["0 entries"]),
        (b"{\"log\":{\"entries\":[{\"request\":1}]}}", &["entry 0 (log.entries[0])", "request"]),
        (b"{\"log\":{\"entries\":3}}", &["line 1 column"]),
        (b"{\"log\":\n\xff}", &["line 2, column 1", "not UTF-8"]),
        (b"[[[[", &["not a HAR file"]),
        (b"{\"log\":{\"ent", &["not a whole HAR file", "ends in the middle"]),
    ];
    for (content, words) in cases {
        bench.write("bad.har", content);
        refused(&bench, &["race", "bad.har"], words);
    }
}

#[test]
fn what_has_no_end_is_not_read() {
    let bench = Bench::new();
    for name in ["fifo.har", "fifo.toml"] {
        assert!(Command::new("mkfifo").arg(bench.path(name)).status().unwrap().success());
    }
    for name in ["zero.har", "zero.toml"] {
        std::os::unix::fs::symlink("/dev/zero", bench.path(name)).unwrap();
    }
    for name in ["fifo.har", "fifo.toml", "zero.har", "zero.toml"] {
        refused(&bench, &["race", name], &[name, "no regular file"]);
    }
    // Sparse: it takes no room on the disk.
    fs::File::create(bench.path("huge.har")).unwrap().set_len((512 << 20) + 1).unwrap();
    refused(&bench, &["race", "huge.har"], &["huge.har", "more than 512 MiB"]);
}

#[test]
fn files_that_are_no_files_are_told_as_such() {
    let bench = Bench::new();
    fs::create_dir(bench.path("folder.har")).unwrap();
    fs::create_dir(bench.path("folder.toml")).unwrap();
    bench.write("good.toml", experiment("lan", 1));
    bench.write("file", "");
    fs::create_dir(bench.path("there")).unwrap();
    let cases: [(&[&str], &[&str]); 11] = [
        (&["race", "none.har"], &["none.har", "check the path"]),
        (&["race", "none.toml"], &["none.toml", "check the path"]),
        (&["race", "folder.har"], &["folder.har", "is a directory", "name a file"]),
        (&["race", "folder.toml"], &["folder.toml", "name a file"]),
        (&["race", "good.toml", "none.har"], &["none.har"]),
        (
            &["race", "good.toml", "--out", "there"],
            &["there is there already", "choose another --out"],
        ),
        (&["race", "good.toml", "--out", "no/such/place"], &["no/such/place", "check the path"]),
        (&["race", "good.toml", "--out", "file/in"], &["file/in", "check the path"]),
        (&["race", "quick", "good.toml", "--out", "new"], &["--out names one folder"]),
        (
            &["race", "good.toml", "--links", "trace=none.trace"],
            &["trace file none.trace", "check the path"],
        ),
        (&["race", "--resume", "there"], &["there/rows.sqlite is not there"]),
    ];
    for (args, words) in cases {
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let ran = bench.run(args);
        ran.said(2, &[]);
        for word in lower {
            assert!(ran.err.to_lowercase().contains(&word), "no {word:?} in {ran:?}");
        }
    }
    assert!(!bench.path("new").exists() && !bench.path("wirelap-tiny-1").exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anybody_waits_for_a_quiet_machine() {
    let bench = Bench::new();
    bench.write("good.toml", experiment("lan", 1));
    let load = Load::begin(&bench);
    let ran = bench.run(&["race", "good.toml", "--out", "no/such/place"]);
    drop(load);
    ran.said(2, &["no/such/place", "check the path"]);
    assert!(!ran.err.contains("busy: ") && !ran.err.contains("calibration: "), "{ran:?}");
}

#[test]
fn a_url_is_told_how_to_become_a_recording() {
    let bench = Bench::new();
    for url in ["https://example.org/", "HTTP://example.org"] {
        refused(
            &bench,
            &["race", url],
            &["sends nothing into the internet", "Save all as HAR", "wirelap race FILE.har"],
        );
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_no_reason_to_panic() {
    let bench = Bench::new();
    bench.write("good.toml", experiment("lan", 1));
    let name = OsStr::from_bytes(b"out-\xff");
    let mut command = bench.wirelap(&["race", "good.toml", "--dry-run", "--out"]);
    command.arg(name);
    bench.start(command).end().said(0, &[]);
    let mut command = bench.wirelap(&["race"]);
    command.arg(OsStr::from_bytes(b"\xff.har"));
    bench.start(command).end().said(2, &["invalid UTF-8"]);
    let mut command = bench.wirelap(&["race", "good.toml", "--out"]);
    command.arg(name);
    bench.start(command).end().said(2, &["not UTF-8", "--out"]);
    assert!(!bench.folder.join(name).exists(), "nothing is made");
    // A folder that was renamed is read.
    fs::create_dir(bench.folder.join(name)).unwrap();
    fs::write(bench.folder.join(name).join("rows.sqlite"), "this is no run").unwrap();
    let mut command = bench.wirelap(&["report"]);
    command.arg(name);
    bench.start(command).end().said(2, &["damaged or is not a run's rows"]);
}

#[test]
fn texts_that_are_not_utf_8_are_misuse() {
    let bench = Bench::new();
    bench.write("good.toml", experiment("lan", 1));
    bench.write("bad", b"\xff");
    fs::create_dir(bench.path("subjects")).unwrap();
    bench.write("subjects/bad.toml", b"name = \"\xff\"\n");
    let cases: [(&[&str], &str); 3] = [
        (&["load", "--requests-from", "bad", "http://127.0.0.1:9/"], "bad"),
        (&["get", "--checksums", "bad", "http://127.0.0.1:9/f"], "bad"),
        (&["race", "good.toml", "--dry-run"], "subjects/bad.toml"),
    ];
    for (args, file) in cases {
        bench.run(args).said(2, &[file, "UTF-8"]);
    }
}

#[test]
fn a_reader_that_goes_away_ends_nothing_badly() {
    let bench = Bench::new();
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["race", "quick", "--dry-run", "-v"],
        &["completions", "bash"],
    ] {
        let mut command = bench.wirelap(args);
        command.stdout(Stdio::piped());
        let mut running = bench.start(command);
        drop(running.child.stdout.take());
        let ran = running.end();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_film_without_a_browser_is_refused() {
    let bench = Bench::new();
    let ran = bench.run(&["race", "quick", "--film"]);
    ran.said(2, &["--film films browsers alone", "--client chromium"]);
    assert!(!bench.path("wirelap-quick-1").exists());
}

#[test]
fn a_full_standard_output_is_the_machines_lack() {
    let bench = Bench::new();
    let ran = bench.shell(&[], "$W list > /dev/full");
    ran.said(3, &["writing to standard output", "free some space"]);
}

/// A race takes long, and what it ends with is written to these files at its end.
#[test]
fn files_that_cannot_be_written_are_told_before_the_first_trial() {
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("none", 1));
    fs::create_dir(bench.path("folder")).unwrap();
    for flag in ["--junit", "--markdown", "--bmf"] {
        refused(&bench, &["race", "tiny.toml", flag, "nowhere/x"], &["writing nowhere/x: "]);
        refused(&bench, &["race", "tiny.toml", flag, "folder"], &["writing folder: "]);
    }
    let recording = ["record", "http://127.0.0.1:9/", "-o", "site", "--har", "nowhere/x"];
    refused(&bench, &recording, &["writing nowhere/x: "]);
}
