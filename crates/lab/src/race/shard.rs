//! A shard of a run: which one this process is, where its folder is, and what of an earlier start of it is there. The one
//! rule: a folder by a shard's name is a run that has begun, whole in all but its trials, so that an engine may start the
//! same command again.

use crate::cli::ShardChoice;
use crate::environment::{self, ArrayTask};
use crate::error::{self, CliError};
use crate::machine;
use crate::race::experiments::Selected;
use crate::race::run_folder::{RunFolder, plain};
use crate::race::store::Store;
use std::path::{Path, PathBuf};
use study::calibration::Calibration;
use study::experiment::{Experiment, Stopping};
use study::merge::experiment_difference;
use study::plan::TrialPlan;
use study::record::{HostFacts, MachineRun, RunHeader};
use study::shard::Shard;

/// The shard that was asked for, or that an engine gave this process.
pub(crate) fn of(choice: ShardChoice) -> Result<Shard, CliError> {
    match choice {
        ShardChoice::Of(shard) => Ok(shard),
        ShardChoice::Auto(of) => Part::SHARD.told(&environment::array_task(), of),
    }
}

/// The agent that was asked for, or that an engine made of this process: a process of a step of Slurm's begins with the
/// others, which a task of an array need not.
pub(crate) fn agent(choice: ShardChoice) -> Result<Shard, CliError> {
    match choice {
        ShardChoice::Of(agent) => Ok(agent),
        ShardChoice::Auto(of) => agent_told(&environment::array_task(), of),
    }
}

fn agent_told(task: &ArrayTask, of: Option<u32>) -> Result<Shard, CliError> {
    match (&task.slurm_process, &task.slurm_processes) {
        (Some(process), Some(processes)) if task.slurm_id.is_none() => {
            let process: u32 = number("SLURM_PROCID", process)?;
            Part::AGENT.nth(process.checked_add(1), number("SLURM_STEP_NUM_TASKS", processes)?)
        }
        _ => Part::AGENT.told(task, of),
    }
}

/// What an engine's variables tell the number of.
#[derive(Debug, Clone, Copy)]
struct Part {
    name: &'static str,
    flag: &'static str,
    /// What `auto` reads, in words.
    reads: &'static str,
    start: &'static str,
}

impl Part {
    const SHARD: Self = Self {
        name: "shard",
        flag: "--shard",
        reads: "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and neither is set",
        start: "run it as a task of an array",
    };
    const AGENT: Self = Self {
        name: "agent",
        flag: "--agent",
        reads: "SLURM_PROCID and SLURM_STEP_NUM_TASKS, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and none of them is set",
        start: "start it by srun, or as a task of an array",
    };

    /// What the variables say; `of` is how many parts the user says there are.
    fn told(self, task: &ArrayTask, of: Option<u32>) -> Result<Shard, CliError> {
        let Self { name, flag, reads, start } = self;
        match (&task.slurm_id, &task.completion_index) {
            (Some(_), Some(_)) => Err(CliError::misuse(format!(
                "SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are both set: which engine gives the {name}?"
            ))
            .remedy(format!("give the {name} itself: {flag} I/N"))),
            (Some(id), None) => self.of_slurm(task, id, of),
            (None, Some(index)) => {
                let of = of.ok_or_else(|| {
                    CliError::misuse("Kubernetes does not tell a pod how many there are")
                        .remedy(format!("say it: {flag} auto/N"))
                })?;
                let index: u32 = number("JOB_COMPLETION_INDEX", index)?;
                self.nth(index.checked_add(1), of)
            }
            (None, None) => Err(CliError::misuse(format!("{flag} auto reads {reads}"))
                .remedy(format!("{start}, or give the {name} itself: {flag} I/N"))),
        }
    }

    fn of_slurm(self, task: &ArrayTask, id: &str, of: Option<u32>) -> Result<Shard, CliError> {
        let least = |name: &str, text: &Option<String>, default: u32| {
            text.as_ref().map_or(Ok(default), |text| number(name, text))
        };
        let Self { name, flag, .. } = self;
        let id: u32 = number("SLURM_ARRAY_TASK_ID", id)?;
        let min = least("SLURM_ARRAY_TASK_MIN", &task.slurm_min, 0)?;
        let step = least("SLURM_ARRAY_TASK_STEP", &task.slurm_step, 1)?.max(1);
        let count = least("SLURM_ARRAY_TASK_COUNT", &task.slurm_count, 0)?;
        if let Some(of) = of.filter(|of| *of != count) {
            return Err(CliError::misuse(format!(
                "the array has {count} tasks, and {of} {name}s are asked for"
            ))
            .remedy(format!(
                "a part of an array that is submitted again counts its own tasks: give the {name} itself, {flag} I/N"
            )));
        }
        let place = id.checked_sub(min).filter(|above| above % step == 0).map(|above| above / step);
        self.nth(place.and_then(|place| place.checked_add(1)), count)
    }

    fn nth(self, number: Option<u32>, of: u32) -> Result<Shard, CliError> {
        let there_is = number.and_then(|number| Shard::new(number, of));
        there_is.ok_or_else(|| {
            let Self { name, flag, .. } = self;
            let number = number.map_or_else(|| "none".to_owned(), |number| number.to_string());
            CliError::misuse(format!(
                "the task's number is {number} of {of}: there is no such {name}"
            ))
            .remedy(format!(
                "number the array's tasks one after another, or give the {name} itself: {flag} I/N"
            ))
        })
    }
}

fn number(name: &str, text: &str) -> Result<u32, CliError> {
    text.parse().map_err(|_| CliError::misuse(format!("{name} is `{text}`, and no number")))
}

/// Refuses runs that cannot be dealt: those that look at all rows before the end, and those with fewer blocks than shards.
pub(crate) fn check(experiment: &Experiment, plan: &[TrialPlan], of: u32) -> Result<(), CliError> {
    if experiment.stopping == Stopping::Sequential || experiment.time_limit.is_some() {
        return Err(CliError::misuse(format!(
            "{} may stop early, which needs the rows of all shards at each look",
            experiment.name
        ))
        .remedy("say how many trials there are, by --trials and without --sequential and --until-decided"));
    }
    let blocks = study::shard::deal(plan, of).len();
    if (blocks as u64) < u64::from(of) {
        return Err(CliError::misuse(format!(
            "{} has {blocks} blocks, and none for some of {of} shards",
            experiment.name
        ))
        .remedy(format!("take {blocks} shards at most, or more --trials")));
    }
    Ok(())
}

/// The folder of a shard, in the folder that all of them share.
pub(crate) fn folder(out: Option<&Path>, experiment: &str, shard: Shard) -> PathBuf {
    let all = out.map_or_else(|| shared_folder(experiment), Path::to_owned);
    all.join(format!("shard-{}-of-{}", shard.number(), shard.of()))
}

/// The folder that all shards of a run share where none is named.
pub(crate) fn shared_folder(experiment: &str) -> PathBuf {
    PathBuf::from(format!("wirelap-{}-shards", plain(experiment)))
}

/// The header of the shard in `folder`, where it was begun before; an error where another run is there.
pub(crate) fn begun(
    folder: &RunFolder,
    chosen: &Selected,
    shard: Shard,
) -> Result<Option<RunHeader>, CliError> {
    if !folder.path().exists() {
        return Ok(None);
    }
    folder.check_contents()?;
    let header = Store::open_whole(&folder.rows())?.header()?;
    let version = env!("CARGO_PKG_VERSION");
    let differs = match header.shard {
        None => Some("it is no shard".to_owned()),
        Some(other) if other != shard => Some(format!("it is shard {other}")),
        Some(_) if header.version != version => {
            Some(format!("wirelap {} began it, and this is {version}", header.version))
        }
        Some(_) => experiment_difference(&header.experiment, &chosen.experiment),
    };
    match differs {
        None => Ok(Some(header)),
        Some(differs) => Err(CliError::misuse(format!(
            "{} holds another run: {differs}",
            folder.path().display()
        ))
        .remedy("choose another --out")),
    }
}

/// Makes the folder of a shard that has not begun: `lay_out` fills it elsewhere first, because an engine may kill it at
/// any time.
pub(crate) fn make(
    path: &Path,
    lay_out: impl FnOnce(&RunFolder) -> Result<(), CliError>,
) -> Result<RunFolder, CliError> {
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above)
            .map_err(|error| error::file(format!("making {}", above.display()), &error))?;
    }
    let mut beginning = path.as_os_str().to_owned();
    beginning.push(format!(".new-{}", std::process::id()));
    let beginning = PathBuf::from(beginning);
    RunFolder::open(&beginning).remove();
    let folder = RunFolder::create(Some(&beginning), "shard")?;
    lay_out(&folder).inspect_err(|_| RunFolder::open(&beginning).remove())?;
    folder.move_to(path)
}

/// Whether this machine is among those of the shard.
pub(crate) fn is_known_here(header: &RunHeader) -> bool {
    let boot = machine::boot();
    header.machines.iter().any(|run| run.boot == boot && run.name == machine::host_name())
}

/// This machine, as the header of a shard names it.
pub(crate) fn here(shard: Shard, calibration: Option<Calibration>) -> MachineRun {
    MachineRun {
        name: machine::host_name(),
        boot: machine::boot(),
        shard,
        host: HostFacts { calibration, ..machine::facts() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slurm(id: &str, min: &str, count: &str, step: &str) -> ArrayTask {
        let set = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ArrayTask {
            slurm_id: set(id),
            slurm_min: set(min),
            slurm_count: set(count),
            slurm_step: set(step),
            ..ArrayTask::default()
        }
    }

    fn name(task: &ArrayTask, of: Option<u32>) -> String {
        Part::SHARD.told(task, of).map_or_else(|error| error.to_string(), |shard| shard.to_string())
    }

    #[test]
    fn an_array_of_slurms_counts_from_its_own_base() {
        assert_eq!(name(&slurm("0", "0", "8", "1"), None), "1/8");
        assert_eq!(name(&slurm("7", "0", "8", "1"), Some(8)), "8/8");
        assert_eq!(name(&slurm("1", "1", "8", "1"), None), "1/8");
        assert_eq!(name(&slurm("30", "10", "3", "10"), None), "3/3");
        // --array=1,3,9
        assert!(name(&slurm("9", "1", "3", "1"), None).contains("9 of 3: there is no such shard"));
        // sbatch --array=3 once more: without the number of shards it would be a run of one.
        let part = name(&slurm("3", "3", "1", "1"), Some(8));
        assert!(part.contains("the array has 1 tasks, and 8 shards are asked for"), "{part}");
        assert!(name(&slurm("x", "0", "8", "1"), None).contains("SLURM_ARRAY_TASK_ID is `x`"));
        assert!(name(&slurm("3", "0", "", "1"), None).contains("4 of 0"));
    }

    #[test]
    fn kubernetes_counts_from_0_and_does_not_tell_how_many_there_are() {
        let pod = |index: &str| ArrayTask {
            completion_index: Some(index.to_owned()),
            ..ArrayTask::default()
        };
        assert_eq!(name(&pod("0"), Some(8)), "1/8");
        assert_eq!(name(&pod("7"), Some(8)), "8/8");
        assert!(name(&pod("8"), Some(8)).contains("9 of 8: there is no such shard"));
        assert!(name(&pod("0"), None).contains("--shard auto/N"));
        assert!(name(&ArrayTask::default(), Some(8)).contains("neither is set"));
        let both =
            ArrayTask { completion_index: Some("1".to_owned()), ..slurm("1", "0", "8", "1") };
        assert!(name(&both, None).contains("both set"));
    }

    #[test]
    fn an_agent_is_told_what_an_agent_reads() {
        let told = |task: &ArrayTask| {
            agent_told(task, None).map_or_else(|error| error.to_string(), |one| one.to_string())
        };
        let step = |process: &str| ArrayTask {
            slurm_process: Some(process.to_owned()),
            slurm_processes: Some("4".to_owned()),
            ..ArrayTask::default()
        };
        assert_eq!(told(&step("0")), "1/4");
        let beyond = told(&step("4"));
        assert!(beyond.contains("no such agent") && beyond.contains("--agent I/N"), "{beyond}");
        let nowhere = told(&ArrayTask::default());
        for word in ["--agent auto reads SLURM_PROCID and SLURM_STEP_NUM_TASKS", "--agent I/N"] {
            assert!(nowhere.contains(word), "{nowhere}");
        }
        assert!(!nowhere.contains("shard"), "{nowhere}");
    }
}
