//! Runs a server subject from start to end. The one rule: nothing of it is left running, and an error quotes the
//! server's own output.

use super::builtin::companion;
use super::declaration::ServerDeclaration;
use super::log::ServerLog;
use super::template::{Launch, ServerSite};
use crate::declaration::Lacking;
use crate::program::find;
use os::net::{Listening, Placement, Side, Topology};
use os::process::{Child, CpuSet, Usage, User};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use study::experiment::Contender;

/// The pause between checks whether a server listens.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How many bytes of a server's output an error quotes: the last ones.
const LONGEST_QUOTE: u64 = 2_000;

/// A longer log is read only up to here.
const LONGEST_LOG: u64 = 64 << 20;

/// The contract's exit code for "cannot do this here".
const UNSUPPORTED: i32 = 127;

/// The file in its folder that receives its output.
const OUTPUT_FILE: &str = "words";

/// Why a server did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFailure {
    /// It cannot, here or at all.
    Unsupported {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// It could, and did not.
    Failed {
        /// Why, with its own words.
        reason: String,
    },
}

/// What a server runs in.
#[derive(Debug)]
pub struct ServerEnvironment<'a> {
    /// Its side of it is the far one.
    pub topology: &'a Topology,
    /// The CPUs that it may run on.
    pub cpus: CpuSet,
    /// Where programs are looked for.
    pub programs: &'a [PathBuf],
    /// The folder that `./peers install` fills.
    pub peers: &'a Path,
}

/// A server that was started.
#[derive(Debug)]
pub struct RunningServer<'d> {
    declaration: &'d ServerDeclaration,
    child: Child,
    addresses: Vec<SocketAddr>,
    listening: Listening,
    folder: PathBuf,
}

/// A server that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StoppedServer {
    /// Processor time of it and of the children that it waited for.
    pub usage: Usage,
    /// The greatest resident sets of all its processes, added up, in bytes.
    pub peak_resident: u64,
    /// What its own log says, if it has one.
    pub log: Option<ServerLog>,
}

impl<'d> RunningServer<'d> {
    /// Starts a server at `site`, whose folders exist, configured for `contender`.
    pub fn start(
        declaration: &'d ServerDeclaration,
        contender: &Contender,
        site: &ServerSite,
        environment: ServerEnvironment<'_>,
    ) -> Result<Self, ServerFailure> {
        declaration.supports(contender)?;
        let lacking = || ServerFailure::Unsupported {
            reason: format!("{} is not on this machine", declaration.name()),
            remedy: declaration.remedy().to_owned(),
        };
        let launch = declaration.launch(contender, site).map_err(failed)?;
        let program = launch.command.first().map_or("", String::as_str);
        let path = find(program, declaration.home(), environment.programs).ok_or_else(lacking)?;
        declaration
            .has_its_needs(environment.programs, environment.peers)
            .map_err(|Lacking { reason, remedy }| ServerFailure::Unsupported { reason, remedy })?;
        lay_out(&launch).map_err(|error| {
            failed(format!("the files of {} could not be made: {error}", declaration.name()))
        })?;
        let output = File::create(site.folder.join(OUTPUT_FILE)).map_err(failed)?;
        let mut command = Command::new(path);
        command
            .args(&launch.command[1..])
            .envs(launch.environment)
            .current_dir(&site.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output);
        let placement = Placement {
            cpus: environment.cpus,
            user: declaration.user(),
            ..Placement::at(Side::Far)
        };
        let child = environment.topology.spawn(command, placement).map_err(|error| {
            match declaration.user() {
                User::Ours => failed(error),
                User::Ordinary => failed(format!("{error} (as an ordinary user)")),
            }
        })?;
        let listening = match contender.transport.is_over_quic() {
            true => Listening::Udp,
            false => Listening::Tcp,
        };
        let addresses = site.hosts().map(|host| host.address).collect();
        Ok(Self { declaration, child, addresses, listening, folder: site.folder.clone() })
    }

    /// Waits until it listens.
    pub fn await_ready(&mut self, topology: &Topology) -> Result<(), ServerFailure> {
        let limit = self.declaration.ready_within();
        let deadline = os::clock::now() + limit;
        let mut awaited = self.addresses.iter().copied();
        let mut next = awaited.next();
        while let Some(address) = next {
            if topology.listens(Side::Far, self.listening, address).map_err(failed)? {
                next = awaited.next();
                continue;
            }
            if let Some(exit) = self.child.wait(Some(POLL_INTERVAL)).map_err(failed)? {
                if exit.status.code() == Some(UNSUPPORTED) {
                    let (reason, remedy) =
                        (self.last_output(), self.declaration.remedy().to_owned());
                    return Err(ServerFailure::Unsupported { reason, remedy });
                }
                let what = how_it_ended("ended before it listened", exit.status);
                return Err(failed(self.with_output(&what)));
            }
            if os::clock::now() >= deadline {
                let what = format!("did not listen on {address} within {limit:?}");
                return Err(failed(self.with_output(&what)));
            }
        }
        Ok(())
    }

    /// Whether it has ended by itself, with its output.
    pub fn ended_early(&mut self) -> Option<String> {
        let exit = self.child.wait(Some(Duration::ZERO)).ok()??;
        Some(self.with_output(&how_it_ended("died", exit.status)))
    }

    /// Stops it as its declaration says, kills it if that fails, and reads its log.
    pub fn stop(mut self) -> Result<StoppedServer, ServerFailure> {
        let peak_resident = os::process_tree::peak_resident(self.child.id());
        let grace = self.declaration.stop_within();
        let exit = self.child.end_by(self.declaration.end_signal(), grace).map_err(failed)?;
        let log = self.declaration.log.as_ref().and_then(|log| {
            let text = beginning(&self.folder.join(&log.path)).ok()?;
            Some(ServerLog::read(&text, log.format, &log.fields))
        });
        Ok(StoppedServer { usage: exit.usage, peak_resident, log })
    }

    /// What happened to it, with the end of its output.
    fn with_output(&self, what: &str) -> String {
        let name = self.declaration.name();
        match self.last_output() {
            output if output.is_empty() => format!("{name} {what} and printed nothing"),
            output => format!("{name} {what}: {output}"),
        }
    }

    fn last_output(&self) -> String {
        end(&self.folder.join(OUTPUT_FILE)).unwrap_or_default().trim().to_owned()
    }
}

impl AsFd for RunningServer<'_> {
    /// Readable once it has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.child.as_fd()
    }
}

/// That a server ended, with its status. What puts itself into the background ends well: its child goes on, and is not measured.
fn how_it_ended(what: &str, status: ExitStatus) -> String {
    if !status.success() {
        return format!("{what} ({status})");
    }
    "ended with exit code 0 (it may have put itself into the background; its command or configuration has to keep it in the \
     foreground, as `daemon off;` keeps nginx)"
        .to_owned()
}

/// Writes what it needs before it starts.
fn lay_out(launch: &Launch) -> std::io::Result<()> {
    let home_of = |path: &Path| path.parent().map_or(Ok(()), fs::create_dir_all);
    for (path, text) in &launch.files {
        home_of(path)?;
        fs::write(path, text)?;
    }
    for (from, to) in &launch.copies {
        home_of(to)?;
        match companion(from) {
            Some(text) => fs::write(to, text)?,
            None => fs::copy(from, to).map(drop)?,
        }
    }
    Ok(())
}

fn beginning(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_LOG).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a file.
fn end(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(LONGEST_QUOTE);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_QUOTE).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, whole_lines)) if skipped > 0 => whole_lines.to_owned(),
        _ => text,
    })
}

fn failed(reason: impl std::fmt::Display) -> ServerFailure {
    ServerFailure::Failed { reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_whole_lines_are_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("words");
        let line = "x".repeat(99);
        fs::write(&file, format!("{line}\n").repeat(50)).unwrap();
        let quote = end(&file).unwrap();
        assert!(quote.len() as u64 <= LONGEST_QUOTE && quote.starts_with(&line), "{quote}");
        fs::write(&file, "short\n").unwrap();
        assert_eq!(end(&file).unwrap(), "short\n");
    }
}
