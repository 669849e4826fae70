//! `--capture`: what Wireshark's tshark makes of the pcapng of trials and links.

use crate::bench::{Bench, SLOW, all_outcomes, experiment, trials_run_here};
use crate::faults::can;
use std::path::Path;
use std::process::Command;

/// A page by three contenders over a link that loses one packet in ten.
const EXPERIMENT: &str = "name = \"tiny\"\ntitle = \"a page\"\nquestion = \"can it be read?\"\nbaseline = \"h1-tls\"\n\
    trials = 1\nwarmup = 0\n\
    [[workloads]]\nkind = \"page\"\nimages = 12\nbytes = \"9kB\"\n\
    [[contenders]]\nname = \"h1-tls\"\ntransport = \"http/1.1\"\ntls = \"1.3\"\n\
    [[contenders]]\nname = \"h2\"\ntransport = \"h2\"\n\
    [[contenders]]\nname = \"h2-1.2\"\ntransport = \"h2\"\ntls = \"1.2\"\n\
    [[links]]\nname = \"rtt=20ms,down=20mbit,up=20mbit,loss=10%\"\n";

/// Malformed packets. A capture has what the link lost, and what was sent again in its place: to tshark old bytes, and
/// malformed.
const MALFORMED: &str = "_ws.malformed && !(_ws.expert.message contains \"overlaps old data\")";

/// Whether tshark runs here. Where it does not, the test is skipped.
pub(crate) fn tshark_runs_here() -> bool {
    let runs = Command::new("tshark").arg("--version").output().is_ok();
    if !runs {
        testing::skip("tshark is not installed: ./peers install");
    }
    runs
}

/// The values of `field` in the packets that `filter` selects.
pub(crate) fn fields(bench: &Bench, file: &Path, filter: &str, field: &str) -> Vec<String> {
    let mut command = bench.command("tshark");
    command.arg("-r").arg(file).args([
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ]);
    command.args(["-Y", filter, "-T", "fields", "-E", "aggregator=|", "-e", field]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("damaged"), "{}: {said}", file.display());
    let out = String::from_utf8_lossy(&output.stdout);
    let values = out.lines().flat_map(|line| line.split('|')).filter(|value| !value.is_empty());
    values.map(str::to_owned).collect()
}

pub(crate) fn captures(bench: &Bench, run: &str) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(bench.path(run).join("captures")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What the link counted in the trial of `contender`.
fn counted(bench: &Bench, run: &str, contender: &str, what: &str) -> usize {
    let rows = rusqlite::Connection::open(bench.path(run).join("rows.sqlite")).unwrap();
    let query = "SELECT json_extract(record, ?1) FROM trials WHERE contender = ?2 ORDER BY key";
    rows.query_row(query, [format!("$.link.{what}"), contender.to_owned()], |row| {
        row.get::<_, u32>(0)
    })
    .unwrap() as usize
}

#[test]
fn tshark_decrypts_the_requests_of_every_trial_and_sees_what_was_lost() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", EXPERIMENT);
    bench.run(&["race", "tiny.toml", "--capture", "--out", "run"]).raced();
    let mut marked = 0;
    for (contender, uris, whole) in [
        ("h1-tls", ("http.request", "http.request.uri"), ("http.response", "http.response.code")),
        (
            "h2",
            ("http2.headers.path", "http2.headers.path"),
            ("http2.headers.status", "http2.headers.status"),
        ),
        (
            "h2-1.2",
            ("http2.headers.path", "http2.headers.path"),
            ("http2.headers.status", "http2.headers.status"),
        ),
    ] {
        let end = format!("+{contender}+0.pcapng");
        let files = captures(&bench, "run");
        let file = files.iter().find(|file| file.to_str().unwrap().ends_with(&end)).unwrap();
        let read = |filter: &str, field: &str| fields(&bench, file, filter, field);
        let asked = read(uris.0, uris.1);
        assert_eq!(asked.len(), 13, "{contender}: {asked:?}");
        assert!(asked.iter().any(|path| path.starts_with("/page")), "{contender}: {asked:?}");
        assert_eq!(read(whole.0, whole.1), vec!["200"; 13], "{contender}");

        let count = |what| counted(&bench, "run", contender, what);
        let sent = "frame.packet_flags_direction == 2 && frame.interface_name == \"near\"";
        assert_eq!(read(sent, "frame.number").len(), count("up.packets"), "{contender}");
        let lost = read("frame.comment contains \"lost\"", "frame.interface_name");
        let of = |name: &str| lost.iter().filter(|interface| *interface == name).count();
        assert_eq!((of("near"), of("far")), (count("up.lost"), count("down.lost")), "{contender}");
        marked += lost.len();
        let sums = read("tcp", "tcp.checksum.status");
        assert!(
            !sums.is_empty() && sums.iter().all(|status| status == "1"),
            "{contender}: {sums:?}"
        );
        assert_eq!(read("ip.checksum.status != 1", "frame.number"), Vec::<String>::new());
        assert_eq!(read(MALFORMED, "frame.number"), Vec::<String>::new(), "{contender}");
    }
    assert!(marked > 0, "nothing was lost");
    assert!(!bench.path("run/scratch").exists());
}

#[test]
fn tshark_reads_plain_images_as_pngs_and_does_not_try_to_read_those_that_are_noise() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    for (bytes, pngs) in [("199", 0), ("200", 4), ("70kB", 4)] {
        let bench = Bench::new();
        let text = EXPERIMENT.replace("images = 12", "images = 4").replace("9kB", bytes);
        bench.write("tiny.toml", text.replace(",loss=10%", ""));
        bench.run(&["race", "tiny.toml", "--capture", "--out", "run"]).raced();
        for contender in ["h1-tls", "h2"] {
            let end = format!("+{contender}+0.pcapng");
            let files = captures(&bench, "run");
            let file = files.iter().find(|file| file.to_str().unwrap().ends_with(&end)).unwrap();
            let read = |filter: &str, field: &str| fields(&bench, file, filter, field);
            let name = format!("{bytes} bytes over {contender}");
            assert_eq!(read(MALFORMED, "frame.number"), Vec::<String>::new(), "{name}");
            assert_eq!(read("png", "png.ihdr.width").len(), pngs, "{name}");
        }
    }
}

#[test]
fn one_trial_is_kept_by_its_key_and_the_users_key_log_has_its_secrets_too() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment("none", 1).replace("trials = 1", "trials = 2"));
    let key = bench.run(&["race", "tiny.toml", "--dry-run", "-v"]).out;
    let key = key.split_whitespace().find(|word| word.ends_with("/h2/1")).unwrap().to_owned();
    let ran = bench.shell(
        &[],
        &format!(
            "SSLKEYLOGFILE=keys $W race tiny.toml --no-calibration --capture='{key}' --out run"
        ),
    );
    ran.said(0, &[]);
    let files = captures(&bench, "run");
    // A block that others on the machine spoilt runs again, as a whole.
    let attempts = all_outcomes(&bench.path("run"));
    let captured = attempts.iter().filter(|(name, ..)| name.starts_with(&key)).count();
    assert_eq!(files.len(), captured, "{files:?}");
    let asked = fields(&bench, &files[0], "http2.headers.path", "http2.headers.path");
    assert_eq!(asked.len(), 4, "{asked:?}");
    let keys = std::fs::read_to_string(bench.path("keys")).unwrap();
    // One handshake a trial: the captured one as well.
    let trials = attempts.iter().filter(|(name, ..)| name.contains("/h2/")).count();
    assert!(trials >= 2, "{attempts:?}");
    assert_eq!(keys.matches("CLIENT_TRAFFIC_SECRET_0").count(), trials, "{keys}");

    let slip = bench.run(&["race", "tiny.toml", "--capture=nobody", "--out", "other"]);
    slip.said(2, &["no trial of tiny", "nobody", "--dry-run"]);
    assert!(!bench.path("other").exists());
    let slip = bench.run(&["race", "--resume", "run", "--capture=nobody"]);
    slip.said(2, &["no trial of tiny", "nobody"]);
    let late = bench.run(&["race", "--resume", "run", "--profile"]);
    late.said(2, &["--profile is for trials that run, and all of run have run", "--again run"]);
    assert!(!bench.path("run/profiles").exists());
    let film = bench.run(&["race", "--resume", "run", "--film"]);
    film.said(2, &["no contender is a browser, and --film films browsers alone"]);
}

#[test]
fn a_link_keeps_what_programs_say_over_it() {
    if !trials_run_here() || !tshark_runs_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("index.html", "from far");
    let line = format!(
        "SSLKEYLOGFILE=keys $W link {SLOW} --capture all.pcapng --ready-port 443 \
         --far '$W serve . --threads 1 --listen-tls 0.0.0.0:443 > served' -- curl -sk --http2 https://far/index.html"
    );
    let ran = bench.shell(&[], &line);
    assert_eq!((ran.code, ran.out.as_str()), (0, "from far"), "{ran:?}");
    let file = bench.path("all.pcapng");
    let asked = fields(&bench, &file, "http2.headers.path", "http2.headers.path");
    assert_eq!(asked, ["/index.html"]);
    let left = std::fs::read_dir(&bench.folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("all.pcapng.")));
    bench.shell(&[], "$W link lan --capture no/such/folder -- true").said(2, &["no/such/folder"]);
}

#[test]
fn a_capture_that_finds_the_disk_full_leaves_no_half_file_and_says_so() {
    const OWN_MOUNTS: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];
    if !can(&OWN_MOUNTS, "mount -t tmpfs none /mnt") || !trials_run_here() {
        return;
    }
    let bench = Bench::new();
    bench.write("big", vec![7; 400_000]);
    std::fs::create_dir(bench.path("disk")).unwrap();
    let line = "mount -t tmpfs -o size=200k none disk && $W link lan --capture disk/all.pcapng --ready-port 80 \
        --far '$W serve . --threads 1 --listen 0.0.0.0:80 > served' -- curl -so /dev/null http://far/big; \
        code=$?; ls disk; exit $code";
    let ran = bench.shell(&OWN_MOUNTS, line);
    ran.said(3, &["writing disk/all.pcapng", "free some space on that disk"]);
    assert_eq!(ran.out, "", "half a capture is left");
}
