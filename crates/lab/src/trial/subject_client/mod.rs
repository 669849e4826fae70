//! A trial's work, done by somebody else's client: what the subject is told, the processes that do it, and what it
//! says put into the words of rows. Nothing here judges what it says; `study` does.

mod report;

pub(crate) use report::SubjectReport;

use crate::inputs::subjects;
use crate::link::path::NetworkPath;
use crate::trial::capture;
use crate::trial::download_files::{self, Digest};
use crate::trial::job::TrialOrder;
use crate::trial::outcome::{failed, lacking};
use crate::trial::run::NEAR_GRACE;
use crate::trial::subject_process::{self, Sat, Sitting};
use crate::trial::task::Task;
use os::net::{Placement, Side, Topology};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use study::experiment::{ClientSubject, Contender, Processes, Tls, Transport};
use study::record::Outcome;
use subject::contract::{self, Fetch, Job};
use subject::{ClientDeclaration, Lacking};

/// What does downloads where no other client is named.
const OWN_DOWNLOADER: &str = "wirelap-get";

/// Whose client does the work of a contender; None: the one in this program.
pub(crate) fn client_of(contender: &Contender, task: &Task) -> Option<ClientSubject> {
    match (&contender.client, task) {
        (Some(client), _) => Some(client.clone()),
        (None, Task::Download { .. }) => {
            Some(ClientSubject { name: OWN_DOWNLOADER.to_owned(), warmup: 0 })
        }
        (None, _) => None,
    }
}

/// A subject that can be started.
pub(crate) struct SubjectTrial<'a> {
    order: &'a TrialOrder,
    task: &'a Task,
    workload: contract::Workload,
    transport: contract::Transport,
    client: ClientSubject,
    words: Vec<String>,
    /// The command that prints its version, where it has one.
    version: Option<Vec<String>>,
    /// PEM of the root certificate.
    root: &'a [u8],
    /// The files that are served, by name, where files are.
    digests: &'a BTreeMap<String, Digest>,
}

/// The processes of a subject that have done their work.
pub(crate) struct Sittings {
    jobs: Vec<Job>,
    sat: Vec<Sat>,
}

impl<'a> SubjectTrial<'a> {
    /// Finds the subject; what it lacks makes the trial unsupported before anything is started.
    pub(crate) fn prepare(
        order: &'a TrialOrder,
        task: &'a Task,
        client: ClientSubject,
        (root, digests): (&'a [u8], &'a BTreeMap<String, Digest>),
    ) -> Result<Self, Outcome> {
        let catalogue = subjects::of_run(&order.inputs).map_err(failed)?;
        let name = &client.name;
        let declared: &ClientDeclaration = catalogue.client(name).ok_or_else(|| {
            lacking(Lacking {
                reason: format!("no client `{name}` is declared"),
                remedy: "name a declared one, see wirelap list".to_owned(),
            })
        })?;
        let asked = order.plan.cell.contender.transport;
        let kind = workload(task).zip(transport(asked));
        let (workload, transport) = kind.ok_or_else(|| {
            lacking(Lacking {
                reason: format!("{name} is asked for fetches alone, and not for messages"),
                remedy: "leave the contender's client away for this workload".to_owned(),
            })
        })?;
        declared.supports(transport, workload).map_err(lacking)?;
        let places = subjects::places().map_err(failed)?;
        let words = declared.command_line(&places).map_err(lacking)?;
        let version = declared.version_command(&places);
        Ok(Self { order, task, workload, transport, client, words, version, root, digests })
    }

    /// Does all of the work, one process or several.
    pub(crate) fn run(
        &self,
        path: &mut NetworkPath<'_>,
        topology: &Topology,
        far: BorrowedFd<'_>,
        cpus: &[usize],
    ) -> Result<Sittings, Outcome> {
        let jobs = self.jobs()?;
        let deadline = os::clock::now() + self.order.plan.timeout + NEAR_GRACE;
        let mut sat = Vec::new();
        for job in &jobs {
            let sitting = Sitting { name: &self.client.name, job, deadline, far };
            let command =
                subject_process::command(&self.words, job, &self.order.scratch).map_err(failed)?;
            let placement = Placement { cpus: cpus.to_vec(), ..Placement::at(Side::Near) };
            let spawn = || topology.spawn(command, placement).map_err(failed);
            sat.push(sitting.hear(path, spawn)?);
        }
        Ok(Sittings { jobs, sat })
    }

    /// What each process is told.
    fn jobs(&self) -> Result<Vec<Job>, Outcome> {
        let scratch = &self.order.scratch;
        let output = scratch.join("out");
        fs::create_dir_all(&output).map_err(failed)?;
        let contender = &self.order.plan.cell.contender;
        let trust = scratch.join("root.pem");
        fs::write(&trust, self.root).map_err(failed)?;
        let is_clear = contender.tls == Tls::None;
        let (pattern, connections) = (self.pattern(), self.connections());
        let whole = Job {
            contract: contract::CONTRACT,
            workload: self.workload,
            transport: self.transport,
            tls: contender.tls,
            negotiation: contender.settings.negotiation,
            pattern,
            connections,
            keep_alive: contender.settings.keep_alive,
            resumption: contender.settings.resumption && !is_clear,
            fetches: self.fetches(),
            trust: (!is_clear).then_some(trust),
            output: matches!(self.task, Task::Download { .. }).then_some(output),
            key_log: (!is_clear).then(|| self.keys()),
            warmup: self.client.warmup,
            timeout_ms: self.order.plan.timeout.as_millis() as u64,
        };
        Ok(match self.task {
            Task::Download { processes: Processes::Each, .. } => {
                let one = |fetch: &Fetch| Job { fetches: vec![fetch.clone()], ..whole.clone() };
                whole.fetches.iter().map(one).collect()
            }
            _ => vec![whole],
        })
    }

    fn keys(&self) -> PathBuf {
        capture::near_keys(self.order)
    }

    fn pattern(&self) -> contract::Pattern {
        match self.task {
            Task::Calls { pattern, .. } => pattern.told(),
            Task::Download { .. } | Task::Page { .. } | Task::Echo(_) => {
                contract::Pattern::Parallel
            }
        }
    }

    fn connections(&self) -> u32 {
        let own = self.order.plan.cell.contender.settings.connections;
        match self.task {
            Task::Download { connections, .. } => connections.unwrap_or(own),
            Task::Calls { .. } | Task::Page { .. } | Task::Echo(_) => own,
        }
    }

    fn fetches(&self) -> Vec<Fetch> {
        let is_clear = self.order.plan.cell.contender.tls == Tls::None;
        let scheme = if is_clear { page::Scheme::Http } else { page::Scheme::Https };
        let files = matches!(self.task, Task::Download { .. });
        let fetch = |(id, (mut url, _)): (u32, (page::Url, u64))| {
            url.scheme = scheme;
            Fetch { id, url: url.to_string(), file: files.then(|| id.to_string()) }
        };
        (0..).zip(self.task.bodies()).map(fetch).collect()
    }
}

/// A task in the contract's words; None where it has none.
fn workload(task: &Task) -> Option<contract::Workload> {
    match task {
        Task::Download { .. } => Some(contract::Workload::Download),
        Task::Calls { .. } => Some(contract::Workload::Calls),
        Task::Page { .. } => Some(contract::Workload::Page),
        Task::Echo(_) => None,
    }
}

/// A transport in the contract's words; None where it has none.
fn transport(transport: Transport) -> Option<contract::Transport> {
    match transport {
        Transport::Http1 => Some(contract::Transport::Http1),
        Transport::H2 => Some(contract::Transport::H2),
        Transport::H3 => Some(contract::Transport::H3),
        Transport::Spdy => Some(contract::Transport::Spdy31),
        Transport::Spdy3 => Some(contract::Transport::Spdy3),
        Transport::WebSocket => None,
    }
}

/// Lays out the files of a download below `folder`; their digests, by name.
pub(crate) fn lay_out(task: &Task, folder: &Path) -> std::io::Result<BTreeMap<String, Digest>> {
    let Task::Download { files, .. } = task else { return Ok(BTreeMap::new()) };
    files
        .iter()
        .map(|file| {
            Ok((file.name.clone(), download_files::lay_out(folder, &file.name, file.bytes)?))
        })
        .collect()
}
