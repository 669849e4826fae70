//! The book of `docs/` with its sample report, as `./book` makes it.

use crate::bench::{Bench, wirelap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// In place of mdBook, which tests do not install: the pages as they are.
const MDBOOK: &str =
    "#!/bin/sh\n[ \"$1 $2\" = 'build --dest-dir' ] && rm -rf \"$3\" && cp -r docs \"$3\"\n";

#[test]
fn every_file_that_the_sample_page_shows_is_in_the_book() {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).unwrap();
    bench.write("bin/mdbook", MDBOOK);
    fs::set_permissions(bench.path("bin/mdbook"), fs::Permissions::from_mode(0o755)).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = bench.command(root.join("book"));
    command.args(["--links", "lan", "--contenders", "h1-tls,h2", "--trials", "1"]);
    command.args(["--no-calibration", "--no-wait"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bench.path("bin").display()));
    command.env("WIRELAP", wirelap()).env("BOOK", bench.path("made"));
    let made = bench.start(command).end();
    assert_eq!(made.code, 0, "{made:?}");
    let page = fs::read_to_string(bench.path("made/sample.md")).unwrap();
    let shown: Vec<&str> = page.split("sample/").skip(1).map(end_of_name).collect();
    assert!(shown.contains(&"quick.html"), "{page}");
    for name in shown {
        let file = fs::read_to_string(bench.path("made/sample").join(name)).unwrap();
        assert!(file.contains("h1-tls"), "{name}");
    }
}

fn end_of_name(rest: &str) -> &str {
    rest.split([')', '"']).next().unwrap_or_default()
}
