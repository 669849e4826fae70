//! Runs the trials of a plan: a worker process each, the light ones side by side, every row stored
//! as it comes. Nothing of a trial is kept here that a resumed run would miss.

use crate::error::CliError;
use crate::foreign;
use crate::race::progress::Progress;
use crate::race::schedule::{Concurrency, Schedule};
use crate::race::store::Store;
use crate::trial::capture;
use crate::trial::job::TrialOrder;
use crate::trial::profile::Profile;
use os::signal::Interrupts;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use study::outcome::Outcome;
use study::plan::TrialPlan;
use study::record::{RunHeader, TrialRecord, without_figures};
use unit::Instant;

/// Trials at most that run side by side. A page on a slow link takes two or three hundredths of a core in all, client and
/// origin with it: with eight on two cores a trial still finds one free nearly always. Load times and lateness with eight
/// were those with four; what needs more is held back by [`SHARED_CPU`] sooner.
pub(crate) const SIDE_BY_SIDE: usize = 8;

/// Share of one core that all trials side by side may need together.
pub(crate) const SHARED_CPU: f64 = 0.4;

/// What a worker may take beyond its trial's own time-out, to set up and clear away.
const WORKER_GRACE: Duration = Duration::from_secs(20);

/// How long the kernel may take to end what killed workers leave behind.
const ORPHANS_WAIT: Duration = Duration::from_secs(5);

/// How often the runner looks up while trials run.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The trials that write qlog files.
#[derive(Debug, Clone)]
pub(crate) struct Qlogs {
    /// Where the files go.
    pub(crate) folder: PathBuf,
    /// What the keys of those trials begin with.
    pub(crate) keys: String,
}

/// What every trial of the run shares.
#[derive(Debug, Clone)]
pub(crate) struct RunContext {
    /// The program to start workers from.
    pub(crate) program: PathBuf,
    /// Where the files that workloads name are kept.
    pub(crate) inputs: PathBuf,
    /// Where TLS secrets are appended to.
    pub(crate) key_log: Option<PathBuf>,
    /// Where the packets of trials are kept that are to keep them.
    pub(crate) captures: PathBuf,
    /// Which trials write qlog files; None for none.
    pub(crate) qlogs: Option<Qlogs>,
    /// Where browsers keep their films, a folder for each trial; None: they do not film.
    pub(crate) films: Option<PathBuf>,
    /// Where what clients did in warm-ups is kept; None: it is not.
    pub(crate) profiles: Option<PathBuf>,
    /// Where trials have folders of their own while they run; taken away at the end.
    pub(crate) scratch: PathBuf,
    /// How the trials run.
    pub(crate) concurrency: Concurrency,
    /// When no further block may begin.
    pub(crate) deadline: Option<Instant>,
    /// Of a shard: what its rows call this machine.
    pub(crate) machine: Option<String>,
}

/// The trials still to run and those that run.
pub(crate) struct Runner<'a> {
    context: RunContext,
    outputs: RunOutputs<'a>,
    schedule: Schedule,
    running: BTreeMap<u64, RunningTrial>,
    started: u64,
    interrupts: &'a Interrupts,
}

/// Where rows go, and who is notified of them.
pub(crate) struct RunOutputs<'a> {
    /// What the run is.
    pub(crate) header: &'a RunHeader,
    /// Takes its rows.
    pub(crate) store: &'a mut Store,
    /// Shows how far it is.
    pub(crate) progress: &'a mut Progress,
}

struct RunningTrial {
    plan: TrialPlan,
    child: Child,
    started_unix_ms: u64,
    deadline: Instant,
    overdue: bool,
    /// Whether somebody stopped the worker for a while.
    was_stopped: bool,
}

/// What a worker's reader thread hands over: the trial's number and all that the worker printed.
struct WorkerOutput {
    number: u64,
    output: Vec<u8>,
}

/// How running the trials ended.
pub(crate) struct Ended {
    /// False where an interrupt ended it.
    pub(crate) is_whole: bool,
    /// Trials that were started.
    pub(crate) started: u64,
}

impl<'a> Runner<'a> {
    /// A runner of `schedule`. Trials that need the CPU run alone and first, in their order; the light ones follow
    /// side by side, in theirs: contenders of a block stay neighbours either way.
    pub(crate) fn new(
        context: RunContext,
        schedule: Schedule,
        outputs: RunOutputs<'a>,
        interrupts: &'a Interrupts,
    ) -> Self {
        Self { context, outputs, schedule, running: BTreeMap::new(), started: 0, interrupts }
    }

    /// Runs all of them. An interrupt ends the running ones and keeps the finished rows. However it ends, no process that it
    /// started is left.
    pub(crate) fn run(mut self) -> Result<Ended, CliError> {
        os::process::adopt_orphans();
        // What is there is not this run's: it was left by one that was killed, or put there with links in it.
        self.clear_scratch();
        let whole = self.run_all();
        self.end_all();
        // What a worker leaves behind when it is killed, the kernel kills; it is waited for here.
        os::process::reap_orphans(ORPHANS_WAIT);
        self.clear_scratch();
        Ok(Ended { is_whole: whole?, started: self.started })
    }

    /// Takes the trials' folders away. No symbolic link in them is followed.
    fn clear_scratch(&self) {
        let _ = std::fs::remove_dir_all(&self.context.scratch);
    }

    /// False where an interrupt ended it.
    fn run_all(&mut self) -> Result<bool, CliError> {
        let (sender, printed) = mpsc::channel();
        loop {
            if self.interrupts.count() > 0 {
                return Ok(false);
            }
            self.take_looks()?;
            self.heed_deadline();
            while let Some(plan) = self.next_plan() {
                self.start(plan, &sender)?;
            }
            if self.running.is_empty() {
                return Ok(true);
            }
            self.notice_stopped();
            match printed.recv_timeout(POLL_INTERVAL) {
                Ok(done) => self.finish(done)?,
                Err(RecvTimeoutError::Timeout) => self.end_overdue(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CliError::failed("the readers of the workers are gone"));
                }
            }
            self.outputs.progress.tick();
        }
    }

    /// Judges what a look is due for, and takes what is decided out of the queue.
    fn take_looks(&mut self) -> Result<(), CliError> {
        while let Some(group) = self.schedule.look_due() {
            let rows = self.outputs.store.records()?;
            if study::is_settled(self.outputs.header, &rows.records, &group.0, &group.1) {
                let stopped = self.schedule.stop(&group);
                self.outputs.progress.decided(&group, &stopped);
            } else {
                self.schedule.go_on(&group);
            }
        }
        Ok(())
    }

    fn heed_deadline(&mut self) {
        if self.context.deadline.is_some_and(|deadline| os::clock::now() >= deadline) {
            let stopped = self.schedule.stop_new_blocks();
            self.outputs.progress.time_is_up(&stopped);
        }
    }

    fn next_plan(&mut self) -> Option<TrialPlan> {
        if self.running.is_empty() {
            return self.schedule.next_alone().or_else(|| self.schedule.next_light(|_| true));
        }
        let serial = self.context.concurrency == Concurrency::Serial;
        if serial || self.running.values().any(|running| !running.plan.is_light()) {
            return None;
        }
        if self.running.len() >= SIDE_BY_SIDE || self.schedule.has_alone() {
            return None;
        }
        let share: f64 = self.running.values().map(|running| running.plan.cpu_share).sum();
        self.schedule.next_light(|next| share + next.cpu_share <= SHARED_CPU)
    }

    fn start(
        &mut self,
        plan: TrialPlan,
        printed: &mpsc::Sender<WorkerOutput>,
    ) -> Result<(), CliError> {
        let failed =
            |error: &dyn std::fmt::Display| CliError::failed(format!("starting a worker: {error}"));
        let file = || self.context.captures.join(capture::file_name(&plan.key));
        let qlogs = self.context.qlogs.as_ref().filter(|one| plan.key.starts_with(&one.keys));
        let film = |films: &PathBuf| films.join(capture::file_stem(&plan.key));
        let profile =
            |profiles: &PathBuf| Profile::of(&plan, &profiles.join(capture::file_stem(&plan.key)));
        let order = TrialOrder {
            profile: self.context.profiles.as_ref().and_then(profile),
            film: self.context.films.as_ref().map(film),
            capture: plan.capture.then(file),
            qlog: qlogs.map(|one| one.folder.join(capture::file_stem(&plan.key))),
            plan,
            inputs: self.context.inputs.clone(),
            key_log: self.context.key_log.clone(),
            scratch: self.scratch(self.started),
            served: self.context.scratch.join("served"),
            large_files: self.context.scratch.join("large-files"),
            run_by: std::process::id(),
        };
        let text = serde_json::to_string(&order).map_err(|error| failed(&error))?;
        let mut command = Command::new(&self.context.program);
        command.arg("trial").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        // A process group of its own: Ctrl-C at the terminal reaches the runner alone, who ends the workers.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let number = self.started;
        self.started += 1;
        if let Some(mut stdin) = child.stdin.take() {
            // A worker that died at once is recognised by its empty output.
            let _ = stdin.write_all(text.as_bytes());
        }
        if let Some(stdout) = child.stdout.take() {
            let printed = printed.clone();
            std::thread::spawn(move || read_all(stdout, number, &printed));
        }
        self.outputs.progress.begin(&order.plan);
        let deadline = os::clock::now() + order.plan.timeout + WORKER_GRACE;
        let running = RunningTrial {
            plan: order.plan,
            child,
            started_unix_ms: os::clock::realtime().as_millis() as u64,
            deadline,
            overdue: false,
            was_stopped: false,
        };
        self.running.insert(number, running);
        Ok(())
    }

    fn finish(&mut self, printed: WorkerOutput) -> Result<(), CliError> {
        let Some(mut running) = self.running.remove(&printed.number) else { return Ok(()) };
        let status = running.child.wait();
        // Most trials have put nothing there.
        let _ = std::fs::remove_dir_all(self.scratch(printed.number));
        let output = String::from_utf8_lossy(&printed.output);
        let mut record = foreign::from_json::<TrialRecord>(&output).unwrap_or_else(|_| {
            let reason = match (running.overdue, status) {
                (true, _) => "the worker hung and was ended".to_owned(),
                (false, Ok(status)) => format!("the worker ended without a row ({status})"),
                (false, Err(error)) => format!("the worker was lost: {error}"),
            };
            // The worker is the instrument, and no contender's.
            without_figures(running.plan, Outcome::Invalid { reason }, running.started_unix_ms)
        });
        if running.was_stopped
            && matches!(record.outcome, Outcome::Measured | Outcome::Failed { .. })
        {
            let reason = "the trial's own process was stopped for a while, and its link with it";
            record.outcome = Outcome::Invalid { reason: reason.to_owned() };
        }
        record.machine.clone_from(&self.context.machine);
        self.outputs.progress.done(&record);
        self.outputs.store.put(&record)?;
        self.outputs.store.check_place()?;
        let again = self.schedule.finished(&record, self.context.concurrency);
        self.outputs.progress.again(&again);
        while let Some((group, fault)) = self.schedule.spoilt_throughout() {
            let stopped = self.schedule.stop(&group);
            if !stopped.is_empty() {
                self.outputs.progress.spoilt(&group, fault, &stopped);
            }
        }
        Ok(())
    }

    fn scratch(&self, number: u64) -> PathBuf {
        self.context.scratch.join(number.to_string())
    }

    /// The kernel reports it only while the worker lives.
    fn notice_stopped(&mut self) {
        for running in self.running.values_mut() {
            running.was_stopped |= os::process::was_stopped(running.child.id());
        }
    }

    fn end_overdue(&mut self) {
        let now = os::clock::now();
        for running in self.running.values_mut().filter(|running| now >= running.deadline) {
            running.overdue = true;
            // Its children die with it; what it printed ends, and `finish` follows.
            let _ = running.child.kill();
        }
    }

    fn end_all(&mut self) {
        for running in self.running.values_mut() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        self.running.clear();
    }
}

fn read_all(mut stdout: impl Read, number: u64, printed: &mpsc::Sender<WorkerOutput>) {
    let mut output = Vec::new();
    let _ = stdout.read_to_end(&mut output);
    // The runner may be gone already, after an interrupt.
    let _ = printed.send(WorkerOutput { number, output });
}
