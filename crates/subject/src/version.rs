//! The version that a program prints, asked the same way of clients, servers and peers. The one rule: nothing waits for
//! a program that hangs, or for a child of it that keeps its output open.

use os::process::{CpuSet, Group, Setup, User, spawn};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// A runtime may take its time to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first line that `program` prints with these arguments; None where it fails or prints none in time.
pub fn version<S: AsRef<str>>(program: &Path, arguments: &[S]) -> Option<String> {
    let (status, line) = first_line(program, arguments)?;
    status.success().then_some(line)
}

/// The same for any exit code: some programs print their version and exit with a failure.
pub(crate) fn first_line<S: AsRef<str>>(
    program: &Path,
    arguments: &[S],
) -> Option<(ExitStatus, String)> {
    let (status, text) = printed(program, arguments)?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some((status, line.to_owned()))
}

/// All that it prints, up to 4 KiB of each of its outputs.
pub(crate) fn printed<S: AsRef<str>>(
    program: &Path,
    arguments: &[S],
) -> Option<(ExitStatus, String)> {
    let mut command = Command::new(program);
    command.args(arguments.iter().map(AsRef::as_ref));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let setup = Setup {
        group: Group::Own,
        cpus: CpuSet::any(),
        network: None,
        own_proc: false,
        user: User::Ours,
        account: None,
    };
    let mut child = spawn(command, setup).ok()?;
    let status = child.wait(Some(PATIENCE)).ok()??.status;
    let mut text = Vec::new();
    let (mut out, mut err) = (child.stdout.take()?, child.stderr.take()?);
    take(&mut out, &mut text)?;
    take(&mut err, &mut text)?;
    Some((status, String::from_utf8_lossy(&text).into_owned()))
}

/// What is in the pipe of a program that has ended.
fn take<P: Read + AsFd>(pipe: &mut P, text: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 4096];
    let readable = |fd: BorrowedFd<'_>| os::process::is_readable(fd).ok();
    if readable(pipe.as_fd())? {
        let count = pipe.read(&mut piece).ok()?;
        text.extend_from_slice(&piece[..count]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Option<(bool, String)> {
        let (status, line) = first_line(Path::new("/bin/sh"), &["-c", line])?;
        Some((status.success(), line))
    }

    #[test]
    fn the_first_line_that_says_something_is_the_version() {
        assert_eq!(shell("echo; echo ' 1.2 '; echo more"), Some((true, "1.2".to_owned())));
        assert_eq!(shell("echo 1.3 >&2; exit 1"), Some((false, "1.3".to_owned())));
        assert_eq!(shell("exit 0"), None);
        assert_eq!(version(Path::new("/bin/sh"), &["-c", "echo no such option; exit 2"]), None);
    }

    #[test]
    fn whoever_is_left_with_the_output_open_is_not_waited_for() {
        assert_eq!(shell("sleep 600 & echo 1.4"), Some((true, "1.4".to_owned())));
    }
}
