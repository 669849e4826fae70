//! The two sides of a trial while they run: far is started and listens, near does its work, the link carries their
//! packets meanwhile, and both are ended.

use crate::inputs::links;
use crate::link::path::NetworkPath;
use crate::trial::capture;
use crate::trial::job::{FarJob, FarReady, IdentityPem, NearJob, NearReport, TrialOrder};
use crate::trial::observed::{Client, Ran, end_use};
use crate::trial::outcome::failed;
use crate::trial::server_process::{FarEnd, FarSide, Order};
use crate::trial::setup::{Server, Work, address};
use crate::trial::subject_client::{Sittings, SubjectTrial};
use crate::trial::task::Task;
use os::net::{Placement, Side, Stop, Topology};
use os::process::Child;
use secure::Authority;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;
use study::experiment::Tls;
use study::plan::TrialPlan;
use study::record::{CpuUse, EndUse, Outcome, Resources};
use unit::Instant;

/// What near may take beyond its trial's time-out, to write down that it came. A subject is told the same time-out for
/// each fetch, and its word for one that took longer is worth more than that it was ended.
pub(crate) const NEAR_GRACE: Duration = Duration::from_secs(2);

/// How long far may take to listen.
const FAR_START: Duration = Duration::from_secs(10);

/// How long near may take to end when it has reported.
const NEAR_END: Duration = Duration::from_millis(500);

/// The two sides of a trial while they run.
pub(crate) struct Sides<'a> {
    pub(crate) order: &'a TrialOrder,
    pub(crate) work: &'a Work,
    pub(crate) topology: &'a Topology,
    pub(crate) authority: &'a Authority,
}

/// A client whose work is done.
enum Worked<'a> {
    Own(Box<NearReport>, EndUse),
    Subject(&'a SubjectTrial<'a>, Sittings),
}

impl Worked<'_> {
    /// What it came to, and what it used.
    fn report(self) -> Result<(Client, EndUse), Outcome> {
        Ok(match self {
            Self::Own(report, usage) => (Client::Own(report), usage),
            Self::Subject(subject, sittings) => {
                let report = subject.report(&sittings)?;
                let usage = report.usage;
                (Client::Subject(Box::new(report)), usage)
            }
        })
    }
}

impl Sides<'_> {
    /// Runs them to their end.
    pub(crate) fn go(
        &self,
        path: &mut NetworkPath<'_>,
        subject: Option<&SubjectTrial<'_>>,
    ) -> Result<Ran, Outcome> {
        let mut far = self.start_far(path)?;
        let worked = match subject {
            None => {
                let mut near = self.start("near", Side::Near)?;
                let deadline = os::clock::now() + self.order.plan.timeout + NEAR_GRACE;
                hand_over(&mut near, &self.near_job())?;
                let report = await_report(&mut near, &mut far, path, deadline);
                capture::share_keys(self.order);
                let report = report?;
                let usage = near.end(NEAR_END).map_err(failed)?.usage;
                Worked::Own(Box::new(report), end_use(usage))
            }
            Some(subject) => {
                let cpus = self.cpus(Side::Near);
                Worked::Subject(subject, subject.run(path, self.topology, far.as_fd(), &cpus)?)
            }
        };
        if let Some(end) = far.died() {
            return Err(failed(end));
        }
        let FarEnd { usage: far_use, settings: mut far_settings, log: server, times: far_times } =
            far.end(path)?;
        far_settings.extend(self.work.server.iter().flat_map(Server::facts));
        let server_use = end_use(far_use);
        let own = end_use(os::process::own_usage());
        let (client, client_use) = worked.report()?;
        let cpu = CpuUse {
            client_ms: client_use.cpu_ms(),
            origin_ms: server_use.cpu_ms(),
            link_ms: own.cpu_ms(),
        };
        let resources = Resources { client: client_use, server: server_use };
        Ok(Ran { client, server, far_times, far_settings, cpu, resources })
    }

    /// Starts whoever serves, and waits until it listens.
    fn start_far(&self, path: &mut NetworkPath<'_>) -> Result<FarSide<'_>, Outcome> {
        let Some(server) = &self.work.server else {
            let mut far = self.start("far", Side::Far)?;
            hand_over(&mut far, &self.far_job()?)?;
            let (ready, words) = await_ready(&mut far, path)?;
            return Ok(FarSide::Origin(far, words, ready.settings));
        };
        // A task without a record asks one host on one port.
        let (Some(host), Some(address)) = (self.work.hosts.first(), self.work.listeners().pop())
        else {
            return Err(failed("the workload asks nobody"));
        };
        let contender = &self.order.plan.cell.contender;
        let identity = match contender.tls {
            Tls::None => None,
            Tls::V1_2 | Tls::V1_3 => Some(self.identity(host)?),
        };
        let order = Order {
            declaration: &server.declaration,
            contender,
            materials: &server.materials,
            address,
            host,
            identity,
            cpus: self.cpus(Side::Far),
            inputs: &self.order.inputs,
        };
        FarSide::serve(order, self.topology)
    }

    fn start(&self, role: &str, side: Side) -> Result<Child, Outcome> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.arg(role).stdin(Stdio::piped()).stdout(Stdio::piped());
        let placement = Placement { cpus: self.cpus(side), ..Placement::at(side) };
        self.topology.spawn(command, placement).map_err(failed)
    }

    /// The cores of a side; none: any.
    fn cpus(&self, side: Side) -> Vec<usize> {
        let places = &self.order.plan.placement;
        let core = match side {
            Side::Near => places.client,
            Side::Far => places.origin,
        };
        if is_pinned(&self.order.plan) { vec![core as usize] } else { Vec::new() }
    }

    fn identity(&self, host: &str) -> Result<IdentityPem, Outcome> {
        let identity = self.authority.issue(&[host]).map_err(failed)?;
        let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
        Ok(IdentityPem { chain: text(identity.chain_pem()), key: text(identity.key_pem()) })
    }

    /// What was set and read back, of the namespaces and of both ends, for the row.
    pub(crate) fn settings(&self, ran: &Ran) -> BTreeMap<String, String> {
        let mut settings = self.topology.settings().clone();
        settings.extend(ran.near().settings.clone());
        settings.extend(ran.far_settings.clone());
        settings.extend(self.placement());
        settings
    }

    /// Which cores each has, for the row.
    fn placement(&self) -> BTreeMap<String, String> {
        let places = &self.order.plan.placement;
        let text = match is_pinned(&self.order.plan) {
            true => {
                format!("link {}, client {}, origin {}", places.link, places.client, places.origin)
            }
            false => "any".to_owned(),
        };
        BTreeMap::from([("cores".to_owned(), text)])
    }

    fn far_job(&self) -> Result<FarJob, Outcome> {
        let contender = &self.order.plan.cell.contender;
        let listeners = self.work.listeners();
        let (listen, listen_tls) = match contender.tls {
            Tls::None => (listeners, Vec::new()),
            Tls::V1_2 | Tls::V1_3 => (Vec::new(), listeners),
        };
        let identity = |host: &String| self.identity(host);
        let identities = match listen_tls.is_empty() {
            true => Vec::new(),
            false => self.work.hosts.iter().map(identity).collect::<Result<_, _>>()?,
        };
        let table = self.work.task.table();
        let root = match self.work.task {
            Task::Download { .. } => Some(self.order.served.clone()),
            Task::Page { .. } | Task::Calls { .. } | Task::Echo(_) => None,
        };
        let key_log = self.order.capture.as_ref().map(|_| capture::far_keys(self.order));
        let contender = contender.clone();
        Ok(FarJob { listen, listen_tls, identities, table, root, key_log, contender })
    }

    fn near_job(&self) -> NearJob {
        let hosts = self.work.hosts.iter().enumerate();
        NearJob {
            contender: self.order.plan.cell.contender.clone(),
            task: self.work.task.clone(),
            hosts: hosts.map(|(index, name)| (name.clone(), address(index))).collect(),
            root: String::from_utf8_lossy(&self.authority.root_pem().text).into_owned(),
            timeout: self.order.plan.timeout,
            key_log: match self.order.capture {
                Some(_) => Some(capture::near_keys(self.order)),
                None => self.order.key_log.clone(),
            },
        }
    }
}

/// Trials that run side by side share all cores; the kernel spreads them better than a plan made
/// beforehand. Without a link there is nobody who needs a core of his own.
pub(crate) fn is_pinned(plan: &TrialPlan) -> bool {
    !plan.is_light() && !links::is_loopback(&plan.cell.link)
}

/// Gives a child its job and closes its standard input.
fn hand_over<J: serde::Serialize>(child: &mut Child, job: &J) -> Result<(), Outcome> {
    let text = serde_json::to_vec(job).map_err(failed)?;
    let Some(mut stdin) = child.stdin.take() else {
        return Err(failed("a child has no standard input"));
    };
    stdin
        .write_all(&text)
        .map_err(|error| failed(format!("a child does not take its job: {error}")))
}

/// Waits for far's first line; gives it, and what its last one will come from.
fn await_ready(
    far: &mut Child,
    path: &mut NetworkPath<'_>,
) -> Result<(FarReady, ChildStdout), Outcome> {
    let Some(stdout) = far.stdout.take() else { return Err(failed("far has no standard output")) };
    let stop = Stop {
        readable: &[stdout.as_fd(), far.as_fd()],
        deadline: Some(os::clock::now() + FAR_START),
    };
    path.run_until(stop).map_err(failed)?;
    if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
        return Err(failed(format!(
            "the far side did not listen within {} s",
            FAR_START.as_secs()
        )));
    }
    let mut line = String::new();
    let mut reader = BufReader::new(stdout);
    reader.read_line(&mut line).map_err(failed)?;
    match serde_json::from_str::<FarReady>(&line) {
        // Its next line comes when it is asked to end: nothing of it can be in the buffer.
        Ok(ready) => Ok((ready, reader.into_inner())),
        Err(_) => Err(failed(died("far", far))),
    }
}

/// Forwards until near reports, or a side dies, or the time is up.
fn await_report(
    near: &mut Child,
    far: &mut FarSide<'_>,
    path: &mut NetworkPath<'_>,
    deadline: Instant,
) -> Result<NearReport, Outcome> {
    let Some(mut stdout) = near.stdout.take() else {
        return Err(failed("near has no standard output"));
    };
    let readable = [stdout.as_fd(), near.as_fd(), far.as_fd()];
    path.run_until(Stop { readable: &readable, deadline: Some(deadline) }).map_err(failed)?;
    if !os::process::is_readable(stdout.as_fd()).map_err(failed)? {
        if let Some(end) = far.died() {
            return Err(failed(end));
        }
        return Err(failed("the near side did not end in time"));
    }
    let mut text = Vec::new();
    stdout.read_to_end(&mut text).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|_| failed(died("near", near)))
}

fn died(side: &str, child: &mut Child) -> String {
    match child.wait(Some(NEAR_END)) {
        Ok(Some(exit)) => format!("the {side} side died ({})", exit.status),
        _ => format!("the {side} side talks nonsense"),
    }
}
