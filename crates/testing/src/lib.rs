//! How a test says that it cannot run on this machine, where other people's programs are ([`peers`]), and with the feature
//! `qlog` whether text is qlog. For dev-dependencies only.
//!
//! A test that lacks a program, a right or a kernel feature calls [`skip`] and returns. Without further settings the
//! skip is said on standard error and noted in a file, which `./test --skipped` prints. Two environment variables,
//! which `./test` sets, make it stricter:
//!
//! - `WIRELAP_REQUIRE_ALL=1`: a skip fails the test.
//! - `WIRELAP_MAY_SKIP`: tests that may skip all the same, as `binary::path::to::test`, separated by white space.
//!
//! ```
//! fn nginx_serves_a_page() {
//!     if !std::path::Path::new("/usr/sbin/nginx").exists() {
//!         return testing::skip("nginx is not installed: ./peers install");
//!     }
//!     // …
//! }
//! ```
#![allow(clippy::disallowed_methods, reason = "tests read the environment where they are")]

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub mod peers;
#[cfg(feature = "qlog")]
pub mod qlog;

/// Notes that the test which runs on this thread cannot run here, or only in part, and why. The caller returns
/// afterwards, or goes on with what can run.
///
/// # Panics
/// If `WIRELAP_REQUIRE_ALL` is `1`, unless `WIRELAP_MAY_SKIP` names the test.
pub fn skip(why: impl Display) {
    let test = test_name();
    let why = why.to_string().replace('\n', " ");
    let is_set = |name| env::var(name).is_ok_and(|value| value == "1");
    let exceptions = env::var("WIRELAP_MAY_SKIP").unwrap_or_default();
    assert!(
        !is_set("WIRELAP_REQUIRE_ALL") || may_skip(&exceptions, &test),
        "{test} cannot run here: {why}. WIRELAP_REQUIRE_ALL=1 makes this a failure"
    );
    note(&format!("{test}: {}\n", why.trim_end()));
}

/// Whether this process runs as root.
///
/// # Panics
/// Where there is no `/proc`.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").expect("proc").uid() == 0
}

/// Bytes of this process that lie in memory.
///
/// # Panics
/// Where there is no `/proc`.
pub fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("proc");
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number of pages") * 4096
}

/// Whether `exceptions`, separated by white space, name `test`.
fn may_skip(exceptions: &str, test: &str) -> bool {
    exceptions.split_whitespace().any(|name| name == test)
}

/// Appends `line` to the notes, and says it on standard error past the test harness, which keeps to itself what passing
/// tests print. What cannot be written is no reason to fail.
fn note(line: &str) {
    let _said = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    let Some(path) = env::current_exe().ok().and_then(|exe| notes(&exe)) else { return };
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
        let _noted = file.write_all(line.as_bytes());
    }
}

/// `target/skipped-tests` for a test binary `target/debug/deps/name-hash`.
fn notes(exe: &Path) -> Option<PathBuf> {
    Some(exe.ancestors().nth(3)?.join("skipped-tests"))
}

/// The test binary and the path of the test in it. The harness names a test's thread after the test.
fn test_name() -> String {
    let exe = env::current_exe().unwrap_or_default();
    let thread = std::thread::current();
    format!("{}::{}", binary(&exe), thread.name().unwrap_or("?"))
}

/// The name of a test binary without the hash that cargo appends.
fn binary(exe: &Path) -> &str {
    let name = exe.file_name().and_then(|name| name.to_str()).unwrap_or("?");
    name.rsplit_once('-').map_or(name, |(name, _hash)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_test_is_named_by_its_binary_and_its_path() {
        assert_eq!(test_name(), "testing::tests::a_test_is_named_by_its_binary_and_its_path");
        assert_eq!(binary(Path::new("/t/debug/deps/h2_interop-0123abcd")), "h2_interop");
    }

    #[test]
    fn only_the_whole_name_of_a_test_is_an_exception() {
        assert!(may_skip("a::b\n  c::d", "c::d"));
        assert!(!may_skip("c::d::e c", "c::d"));
        assert!(!may_skip("", "c::d"));
    }

    #[test]
    fn notes_stand_in_the_target_folder() {
        let exe = Path::new("/code/target/debug/deps/lab-0123abcd");
        assert_eq!(notes(exe).unwrap(), Path::new("/code/target/skipped-tests"));
    }

    #[test]
    fn a_skip_fails_where_all_tests_are_required_unless_it_is_an_exception() {
        if env::var("WIRELAP_TEST_SKIP").is_ok() {
            // The process that is started below.
            return skip("told to");
        }
        let exe = env::current_exe().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("debug/deps");
        std::fs::create_dir_all(&deps).unwrap();
        let copy = deps.join("testing-0123abcd");
        std::fs::copy(exe, &copy).unwrap();
        let name = "tests::a_skip_fails_where_all_tests_are_required_unless_it_is_an_exception";
        let passes = |require: &str, exceptions: &str| {
            let mut command = Command::new(&copy);
            command.args(["--exact", name]).env("WIRELAP_TEST_SKIP", "1");
            command.env("WIRELAP_REQUIRE_ALL", require).env("WIRELAP_MAY_SKIP", exceptions);
            command.output().unwrap().status.success()
        };
        let notes = notes(&copy).unwrap();
        let noted = || std::fs::read_to_string(&notes).unwrap_or_default();
        assert!(!passes("1", ""));
        assert_eq!(noted(), "");
        assert!(passes("", ""));
        assert!(passes("1", &format!("testing::{name}")));
        assert_eq!(noted(), format!("testing::{name}: told to\n").repeat(2));
    }

    /// A line of its own that says `unsupported` or `skipped` would be green under `WIRELAP_REQUIRE_ALL` too.
    #[test]
    fn no_other_test_says_by_itself_that_it_does_not_run() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = vec![crates.to_owned()];
        let mut found = Vec::new();
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let is_rust = path.extension().is_some_and(|end| end == "rs");
            if !is_rust || path.starts_with(env!("CARGO_MANIFEST_DIR")) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let says = ["\"unsupported: ", "\"skipped: {"].iter().any(|word| text.contains(word));
            found.extend(says.then_some(path));
        }
        assert!(found.is_empty(), "testing::skip is the way to say it: {found:?}");
    }
}
