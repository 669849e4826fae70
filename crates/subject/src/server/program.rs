//! Finding a server's program, and asking its version.

use super::declaration::ServerDeclaration;
use os::process::{Group, Setup, User, spawn};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A runtime may take its time to say its version; one that hangs says none.
const VERSION_TIME: Duration = Duration::from_secs(5);

impl ServerDeclaration {
    /// Where its program is, looking through `folders` in order; one that is named with a slash stands in
    /// the declaration's folder.
    pub fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        find(self.command().first()?, self.home(), folders)
    }

    /// The first line that it prints of its version; None where it does not run or prints none.
    pub fn version(&self, folders: &[PathBuf]) -> Option<String> {
        let (program, arguments) = self.version.split_first()?;
        let mut command = Command::new(find(program, self.home(), folders)?);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let setup = Setup {
            group: Group::Own,
            cpus: Vec::new(),
            network: None,
            own_proc: false,
            user: User::Ours,
        };
        let mut child = spawn(command, setup).ok()?;
        let status = child.wait(Some(VERSION_TIME)).ok().flatten()?.status;
        let mut text = Vec::new();
        child.stdout.take()?.read_to_end(&mut text).ok()?;
        child.stderr.take()?.read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        line.filter(|_| status.success()).map(str::to_owned)
    }
}

pub(super) fn find(program: &str, home: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(home.join(program)).filter(|path| is_program(path));
    }
    folders.iter().map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
