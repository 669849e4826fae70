//! A trial's work, done by somebody else's client: the subject's jobs ([`jobs`]), the processes that do it, and
//! what they say put into the words of rows ([`report`]). Nothing here judges what it says; `study` does.

mod figures;
mod jobs;
mod report;

pub(super) use super::subject_process::ProcessRun;
pub(crate) use report::SubjectReport;

use super::declared_client::Asked;
use super::download_files::{self, Digest as FileDigest};
use super::job::TrialOrder;
use super::outcome::{failed, subject_lacking};
use super::own_calls::OwnCall;
use super::profile::Profile;
use super::run::NEAR_GRACE;
use super::setup::Setup;
use super::site_contents::SiteReplay;
use super::subject_process::{self, SubjectProcess};
use super::task::{Asset, Call, Task};
use crate::inputs::subjects;
use crate::link::path::NetworkPath;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use os::net::{Placement, Side, Topology};
use os::process::CpuSet;
use page::Url;
use secure::Digest;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::experiment::{ClientSubject, Contender, PageMetric, Transport, WorkloadKind};
use study::outcome::Outcome;
use subject::contract::Job;
use subject::{ClientDeclaration, Lacking};

/// The file in a trial's folder that holds the root certificate.
const ROOT: &str = "root.pem";

/// The folder in a trial's folder that files are downloaded to.
const OUTPUT: &str = "out";

/// The folder in a trial's folder that a browser's film goes to.
const FILM: &str = "film";

/// What a subject trusts servers by.
pub(super) struct Trust {
    /// The root certificate in PEM.
    pub(super) root: Vec<u8>,
    /// The digest of a public key in the server's chain, for browsers; None where the chain is not wirelap's.
    pub(super) public_key: Option<Digest>,
}

/// A subject that can be started.
pub(super) struct SubjectClient {
    client: ClientSubject,
    /// Its command line.
    command: Vec<String>,
    /// The command that prints its version, where it has one.
    version: Option<Vec<String>>,
    /// The jobs of its processes, one after another.
    jobs: Vec<Job>,
    /// The bytes of each body, by the fetch's number.
    expected: BTreeMap<u32, u64>,
    /// Requests of a recorded page that it is not told of, because they are more than a URL.
    left_out: usize,
    /// The recorded status of each fetch, by its number, where the page is a recorded site; else none.
    statuses: BTreeMap<u32, u16>,
    /// What each fetch says of its own, by its number; none where fetches are wirelap's.
    own: BTreeMap<u32, (OwnCall, Url)>,
    /// Bodies of requests, and the files that the subject finds them in.
    bodies: BTreeMap<String, PathBuf>,
    /// The files that it is to leave, by the fetch's number; None where its workload is no download.
    files: Option<Vec<ServedFile>>,
    /// The root certificate in PEM.
    root: Vec<u8>,
    /// Where a film is kept.
    film: Option<PathBuf>,
    /// What is kept of its processes.
    profile: Option<Profile>,
    /// The trial's own folder.
    scratch: PathBuf,
    /// Where its TLS secrets go, and the user's own file for them.
    keys: PathBuf,
    user_keys: Option<PathBuf>,
    /// The folder of its qlog files.
    qlogs: Option<PathBuf>,
    timeout: Duration,
}

/// A file that is served, and what a right copy of it is.
struct ServedFile {
    name: String,
    bytes: u64,
    digest: FileDigest,
}

impl SubjectClient {
    /// Whose client does the work of a contender; None: the one in this program.
    pub(super) fn of_contender(contender: &Contender, task: &Task) -> Option<ClientSubject> {
        match (&contender.client, task) {
            (Some(client), _) => Some(client.clone()),
            (None, Task::Download { .. }) => {
                Some(ClientSubject { name: ClientSubject::OWN_DOWNLOADER.to_owned(), warmup: 0 })
            }
            (None, _) => None,
        }
    }

    /// Finds the subject, and makes the files that it is to download; None where the client in this program does the
    /// work. What the subject lacks makes the trial unsupported before anything is started.
    pub(super) fn prepare(
        order: &TrialOrder,
        setup: &Setup,
        trust: Trust,
    ) -> Result<Option<Self>, Outcome> {
        let (task, site) = (&setup.task, setup.site.as_ref());
        let contender = &order.plan.cell.contender;
        let Some(client) = Self::of_contender(contender, task) else { return Ok(None) };
        let catalogue = subjects::of_run(&order.inputs).map_err(failed)?;
        let declared = declaration(&catalogue, &client.name)?;
        let kind = &order.plan.cell.workload.kind;
        let asked = Asked::of(declared, contender, kind).map_err(subject_lacking)?;
        let films = match kind {
            WorkloadKind::Page(page) => {
                order.film.is_some() || page.metric == PageMetric::SpeedIndex
            }
            WorkloadKind::Har(_) if declared.is_browser() && site.is_none() => {
                return Err(no_recordings(declared));
            }
            WorkloadKind::Har(_) if declared.is_browser() => order.film.is_some(),
            _ => false,
        };
        let places = subjects::places().map_err(failed)?;
        let files = match task {
            Task::Download { files, .. } => Some(make_files(files, &order.served).map_err(failed)?),
            Task::Page { .. } | Task::Calls { .. } | Task::Echo(_) | Task::Stream(_) => None,
        };
        let jobs = {
            let public_key = trust.public_key.map(|digest| BASE64_STANDARD.encode(digest.0));
            let public_key = public_key.unwrap_or_default();
            let browser = jobs::BrowserJob { public_key: &public_key, films, site };
            let browser = Some(browser).filter(|_| declared.is_browser());
            let how = jobs::Manner { warmup: client.warmup, browser };
            jobs::jobs(order, task, asked, how)
        };
        let contract = jobs.iter().map(|job| job.contract).max().unwrap_or_default();
        declared.knows(contract).map_err(subject_lacking)?;
        let is_quic = order.plan.cell.contender.transport == Transport::H3;
        Ok(Some(Self {
            command: declared.command_line(&places).map_err(subject_lacking)?,
            version: declared.version_command(&places),
            jobs,
            // A browser tells of decoded bytes, and the page is free to ask for less.
            expected: if site.is_some() { BTreeMap::new() } else { expected(task) },
            left_out: left_out(task, site),
            statuses: statuses(site),
            own: own(task),
            bodies: jobs::bodies(order, task),
            files,
            root: trust.root,
            film: order.film.clone().filter(|_| declared.is_browser()),
            profile: order.profile.clone(),
            scratch: order.scratch.clone(),
            keys: super::capture::near_keys(order),
            user_keys: order.key_log.clone(),
            qlogs: order.qlog_of("client").map(|files| files.stem).filter(|_| is_quic),
            timeout: order.plan.timeout,
            client,
        }))
    }

    /// Does all of the work, one process or several. `server` becomes readable when the server has ended.
    pub(super) fn run(
        &self,
        path: &mut NetworkPath<'_>,
        topology: &Topology,
        server: BorrowedFd<'_>,
        cpus: CpuSet,
    ) -> Result<Vec<ProcessRun>, Outcome> {
        fs::create_dir_all(self.scratch.join(OUTPUT)).map_err(failed)?;
        fs::create_dir_all(self.scratch.join(FILM)).map_err(failed)?;
        fs::write(self.scratch.join(ROOT), &self.root).map_err(failed)?;
        for (text, file) in &self.bodies {
            fs::write(file, text).map_err(failed)?;
        }
        let deadline = os::clock::now() + self.timeout + NEAR_GRACE;
        let mut processes = Vec::new();
        for job in &self.jobs {
            let process = SubjectProcess { name: &self.client.name, job, deadline, server };
            let words = self.profile.as_ref().map(|profile| profile.command(&self.command));
            let words = words.as_ref().unwrap_or(&self.command);
            let mut command =
                subject_process::command(words, job, &self.scratch).map_err(failed)?;
            if let Some((name, value)) = self.profile.as_ref().and_then(Profile::variable) {
                command.env(name, value);
            }
            if let Some(folder) = &self.qlogs {
                fs::create_dir_all(folder).map_err(failed)?;
                // curl and quic-go know it by this name, and so does `wirelap get`.
                command.env("QLOGDIR", folder);
            }
            let placement = Placement { cpus: cpus.clone(), ..Placement::at(Side::Near) };
            let spawn = || topology.spawn(command, placement).map_err(failed);
            processes.push(process.run(path, spawn)?);
        }
        if let Some(profile) = &self.profile {
            profile.keep(&self.scratch).map_err(failed)?;
        }
        Ok(processes)
    }
}

/// A recording's page has the recorded responses, but no document that a browser could read the same fetches from.
fn no_recordings(browser: &ClientDeclaration) -> Outcome {
    subject_lacking(Lacking {
        reason: format!(
            "{} loads documents, and a HAR file has fetches without a document that it could load",
            browser.name
        ),
        remedy: "record the page with `wirelap record`, or leave the contender's client away for this workload"
            .to_owned(),
    })
}

/// The bytes of each body that are known, by the fetch's number.
fn expected(task: &Task) -> BTreeMap<u32, u64> {
    (0..).zip(task.bodies()).filter_map(|(id, (_, bytes))| Some((id, bytes?))).collect()
}

fn left_out(task: &Task, site: Option<&SiteReplay>) -> usize {
    let page = task.recorded_page().filter(|_| site.is_none());
    page.map_or(0, |page| page.resources().iter().filter(|one| !one.is_plain_get()).count())
}

fn statuses(site: Option<&SiteReplay>) -> BTreeMap<u32, u16> {
    let fetches = site.map(SiteReplay::fetches).unwrap_or_default();
    (0..).zip(fetches).map(|(id, (_, status))| (id, status)).collect()
}

fn own(task: &Task) -> BTreeMap<u32, (OwnCall, Url)> {
    let Task::Calls { calls, .. } = task else { return BTreeMap::new() };
    let own = |(id, call): (u32, &Call)| Some((id, (call.own.clone()?, call.url.clone())));
    (0..).zip(calls).filter_map(own).collect()
}

fn declaration<'c>(
    catalogue: &'c subject::Catalogue,
    name: &str,
) -> Result<&'c ClientDeclaration, Outcome> {
    catalogue.client(name).ok_or_else(|| {
        subject_lacking(Lacking {
            reason: format!("no client `{name}` is declared"),
            remedy: "name a declared one, see wirelap list".to_owned(),
        })
    })
}

/// Makes sure that the files of a download are in `folder`, from which they are served.
fn make_files(files: &[Asset], folder: &Path) -> std::io::Result<Vec<ServedFile>> {
    let file = |file: &Asset| {
        let digest = download_files::lay_out(folder, &file.name, file.bytes)?;
        Ok(ServedFile { name: file.name.clone(), bytes: file.bytes, digest })
    };
    files.iter().map(file).collect()
}
