//! Plans the trials of an experiment. A trial is a value that any worker can run. The plan follows from the experiment
//! and its seed alone.
//!
//! A block is one trial of every contender for one workload on one link, with one seed of loss and jitter. The order
//! in a block is random; every other block runs the order before it backwards. The blocks of all workloads and links
//! are spread evenly over the run, so that a drift of the machine affects all of them alike (randomised complete
//! blocks: Montgomery, "Design and Analysis of Experiments", ch. 4).

use crate::experiment::{
    Contender, Experiment, LinkChoice, Stopping, Workload, WorkloadKind, quantity,
};
use crate::family::blocks_for_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use unit::{BitRate, ByteSize, Seed};

/// One run of a cell: everything that a worker needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialPlan {
    /// The trial's name in the run: the same whenever the run is planned again.
    pub key: String,
    /// The experiment's name.
    pub experiment: String,
    /// Workload, contender and link.
    pub cell: Cell,
    /// The block's number within its workload and link, from 0. Warm-up blocks have numbers of their own.
    pub block: u32,
    /// How many attempts at this block were found invalid before.
    #[serde(default)]
    pub attempt: u32,
    /// The position within the block, from 0.
    pub order: u32,
    /// The seed of everything random in the trial, shared by the block's contenders.
    pub seed: u64,
    /// Whether it is a warm-up, which does not count.
    pub warmup: bool,
    /// The time limit: a trial that takes longer has failed.
    #[serde(with = "quantity::span")]
    pub timeout: Duration,
    /// Which core each part runs on.
    pub placement: Placement,
    /// The share of one core that the link is expected to need; see [`cpu_share`].
    pub cpu_share: f64,
    /// Whether the link's packets are recorded as pcapng.
    pub capture: bool,
    /// Whether it was added after the run had been judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
}

impl TrialPlan {
    /// Whether it needs so little processor time that other trials may run at the same time.
    pub fn is_light(&self) -> bool {
        self.cpu_share <= LIGHT_CPU_SHARE
    }

    /// The trial for the next attempt at its block. The seed stays the same: a new one would let the result choose the
    /// random numbers.
    pub fn again(&self) -> Self {
        let attempt = self.attempt + 1;
        let key = format!("{}{}", self.first_key(), attempt_mark(attempt));
        Self { key, attempt, ..self.clone() }
    }

    /// The key of the first attempt.
    pub fn first_key(&self) -> &str {
        self.key.strip_suffix(&attempt_mark(self.attempt)).unwrap_or(&self.key)
    }

    /// Whether both are attempts at one trial, planned alike. Where the parts ran is each machine's own.
    pub fn is_of_one_plan_with(&self, other: &Self) -> bool {
        let terms =
            |trial: &Self| (trial.block, trial.order, trial.seed, trial.warmup, trial.timeout);
        self.first_key() == other.first_key()
            && self.cell == other.cell
            && terms(self) == terms(other)
    }
}

/// The suffix of a key that names the attempt; empty for the first one.
fn attempt_mark(attempt: u32) -> String {
    if attempt == 0 { String::new() } else { format!("~{attempt}") }
}

/// One contender doing one workload on one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The workload.
    pub workload: Workload,
    /// The contender.
    pub contender: Contender,
    /// The link.
    pub link: LinkChoice,
}

impl Cell {
    /// The names of workload, link and contender, which identify a cell.
    pub fn id(&self) -> CellId {
        CellId {
            workload: self.workload.name.clone(),
            link: self.link.name.clone(),
            contender: self.contender.name.clone(),
        }
    }
}

/// The names that identify a cell.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct CellId {
    /// The workload's name.
    pub workload: String,
    /// The link's name.
    pub link: String,
    /// The contender's name.
    pub contender: String,
}

/// Which core each part runs on, as an index among the CPUs that the run may use. The kernel's numbers are in the row's
/// setting `cores`: CPU 0 may not be among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// The link's forwarding thread.
    pub link: u32,
    /// The client.
    pub client: u32,
    /// The origin.
    pub origin: u32,
}

impl Placement {
    /// The default on a machine with `cores`. The link spins before each deadline and gets a core of its own where
    /// there are two. Client and origin take turns waiting for each other and can share one.
    pub fn on(cores: u32) -> Self {
        match cores {
            0 | 1 => Self { link: 0, client: 0, origin: 0 },
            2 => Self { link: 0, client: 1, origin: 1 },
            _ => Self { link: 0, client: 1, origin: 2 },
        }
    }
}

/// What the planner needs to know of the machine, the links and the workloads.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Cores that the trials may use.
    pub cores: u32,
    /// The rate of each link's faster direction, by name. A link without an entry is taken to need a whole core.
    pub rates: BTreeMap<String, BitRate>,
    /// The round trip of each link, by name.
    pub round_trips: BTreeMap<String, Duration>,
    /// The share of packets that each link loses, in the worse direction, by name; a link without an entry loses none.
    pub losses: BTreeMap<String, f64>,
    /// Bytes and waiting time of each workload, by name. A workload without an entry is taken to keep its link busy
    /// all the time.
    pub works: BTreeMap<String, WorkFacts>,
}

/// What is known of a workload beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkFacts {
    /// Bytes that it moves.
    pub bytes: ByteSize,
    /// The least time spent waiting for the server and the client.
    pub waiting: Duration,
}

impl Surroundings {
    /// The share of one core that forwarding needs for this workload on this link: what the link's rate needs, for the
    /// share of time in which the link is busy.
    fn cpu_share(&self, workload: &str, link: &str) -> f64 {
        let Some(rate) = self.rates.get(link) else { return 1.0 };
        let busy = self.works.get(workload).map_or(1.0, |work| {
            let moving = rate.time_for(work.bytes).as_secs_f64();
            moving / (moving + work.waiting.as_secs_f64()).max(f64::MIN_POSITIVE)
        });
        cpu_share(*rate) * busy
    }
}

/// Every trial of `experiment`, in the order of running: warm-up blocks first.
pub fn trials(experiment: &Experiment, surroundings: &Surroundings) -> Vec<TrialPlan> {
    let mut slots = slots(experiment);
    slots.sort_by(|a, b| a.at.total_cmp(&b.at));
    slots.iter().flat_map(|slot| slot.trials(experiment, surroundings)).collect()
}

/// The share of one core that forwarding at `rate` needs, both ways: 80 µs of spinning before each packet's deadline,
/// and the work itself. One core forwards 2.4 Gbit/s in packets of 1500 bytes.
pub fn cpu_share(rate: BitRate) -> f64 {
    const SPIN_SECONDS: f64 = 80e-6;
    const PACKET_BITS: f64 = 1500.0 * 8.0;
    const CORE_BITS: f64 = 2.4e9;
    // An acknowledgement goes back for every other segment (RFC 5681 §4.2).
    const PACKETS_BOTH_WAYS: f64 = 1.5;
    let bits = rate.bits_per_second() as f64;
    let spinning = bits / PACKET_BITS * PACKETS_BOTH_WAYS * SPIN_SECONDS;
    (spinning + bits / CORE_BITS).min(1.0)
}

/// Whether the trials of this workload must run alone: foreign programs run, whose needs are not known beforehand, or
/// files go to disk. A service that already runs is one for all trials, and two at a time would load it for each other.
/// One heavy contender makes the whole block heavy, so that the contenders of a block stay neighbours.
fn is_heavy(experiment: &Experiment, workload: &Workload) -> bool {
    let files = matches!(workload.kind, WorkloadKind::Download(_));
    files
        || experiment
            .contenders
            .iter()
            .any(|contender| contender.client.is_some() || contender.service().is_some())
}

/// Ten such trials fill a core. With two or three at once, waiting for the core takes less than a hundredth of the
/// time.
const LIGHT_CPU_SHARE: f64 = 0.1;

/// How many blocks a workload that only checks another gets at most.
pub fn check_blocks() -> u32 {
    blocks_for_all(1) + 1
}

/// How many warm-up and measured blocks a workload gets on a link. A workload that only checks another gets just
/// enough for its own interval at 95 %, and one spare block.
pub(crate) fn blocks(workload: &Workload, link: &LinkChoice) -> (u32, u32) {
    match workload.check_of {
        Some(_) => (0, link.trials.min(check_blocks())),
        None => (link.warmup, link.trials),
    }
}

/// One block's position in the run.
struct Slot<'e> {
    workload: &'e Workload,
    link: &'e LinkChoice,
    block: u32,
    warmup: bool,
    /// From 0 to 1 over the run; below 0 for warm-up blocks.
    at: f64,
}

fn slots(experiment: &Experiment) -> Vec<Slot<'_>> {
    let seed = Seed(experiment.seed).child("order of blocks");
    let mut slots = Vec::new();
    for workload in &experiment.workloads {
        for link in &experiment.links {
            let mut random = group_seed(seed, workload, link).random();
            let (warmups, measured) = blocks(workload, link);
            // A check runs beside the first blocks where the run may end after those.
            let is_early =
                workload.check_of.is_some() && experiment.stopping == Stopping::Sequential;
            let intervals = if is_early { link.trials } else { measured };
            for (count, intervals, warmup) in
                [(warmups, warmups, true), (measured, intervals, false)]
            {
                // One block at a random time in each of so many equal intervals: random and even.
                slots.extend((0..count).map(|block| {
                    let at = (f64::from(block) + random.next_fraction()) / f64::from(intervals);
                    let at = if warmup { at - 1.0 } else { at };
                    Slot { workload, link, block, warmup, at }
                }));
            }
        }
    }
    slots
}

impl Slot<'_> {
    fn trials(&self, experiment: &Experiment, surroundings: &Surroundings) -> Vec<TrialPlan> {
        let purpose = if self.warmup { "warm-up" } else { "trials" };
        let seed = group_seed(Seed(experiment.seed).child(purpose), self.workload, self.link)
            .nth(u64::from(self.block));
        let contenders = self.order(experiment);
        let share = match is_heavy(experiment, self.workload) {
            true => 1.0,
            false => surroundings.cpu_share(&self.workload.name, &self.link.name),
        };
        (0..)
            .zip(contenders)
            .map(|(order, contender)| TrialPlan {
                key: self.key(contender),
                experiment: experiment.name.clone(),
                cell: Cell {
                    workload: self.workload.clone(),
                    contender: contender.among(&experiment.contenders),
                    link: self.link.clone(),
                },
                block: self.block,
                attempt: 0,
                order,
                seed: seed.child("link").0,
                warmup: self.warmup,
                timeout: experiment.timeout,
                placement: Placement::on(surroundings.cores),
                cpu_share: share,
                capture: false,
                added: !self.warmup && self.block >= self.link.planned(),
            })
            .collect()
    }

    /// A random order in every other block, followed by the same order backwards, so that of two contenders each goes
    /// first in half of the blocks. The position can matter: on `lan`, where a page takes 5 ms, the first of two
    /// identical contenders was 1 to 2 % quicker (medians of 260 blocks at two pages). Ten independent random orders
    /// are uneven by four or more every third time, and another run with the same seed is uneven in the same way.
    fn order<'e>(&self, experiment: &'e Experiment) -> Vec<&'e Contender> {
        let purpose = if self.warmup { "order of warm-up" } else { "order of contenders" };
        let seed = group_seed(Seed(experiment.seed).child(purpose), self.workload, self.link);
        let mut contenders: Vec<&Contender> = experiment.contenders.iter().collect();
        seed.nth(u64::from(self.block / 2)).random().shuffle(&mut contenders);
        if self.block % 2 == 1 {
            contenders.reverse();
        }
        contenders
    }

    fn key(&self, contender: &Contender) -> String {
        let names = [&self.workload.name, &self.link.name, &contender.name].map(|name| part(name));
        let mark = if self.warmup { "w" } else { "" };
        format!("{}/{mark}{}", names.join("/"), self.block)
    }
}

/// Escapes a name for a key, so that two keys are equal only where all their parts are. A `%` that begins no escape stays
/// as it is: keys show `loss=1%` as links are written.
fn part(name: &str) -> String {
    name.replace("%25", "%2525").replace("%2F", "%252F").replace('/', "%2F")
}

fn group_seed(seed: Seed, workload: &Workload, link: &LinkChoice) -> Seed {
    seed.child(&workload.name).child(&link.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::builtin;
    use std::collections::BTreeSet;

    fn quick() -> Experiment {
        builtin()[0].toml.parse().unwrap()
    }

    fn planned() -> Vec<TrialPlan> {
        let rates = [("lan", "1gbit"), ("wifi", "30mbit"), ("3g", "1.6mbit")];
        let rates = rates.map(|(link, rate)| (link.to_owned(), rate.parse().unwrap())).into();
        trials(&quick(), &Surroundings { cores: 2, rates, ..Surroundings::default() })
    }

    #[test]
    fn every_trial_has_a_key_of_its_own() {
        let plan = planned();
        let keys: BTreeSet<_> = plan.iter().map(|trial| &trial.key).collect();
        assert_eq!(keys.len(), plan.len());
        let counted = |link: &LinkChoice| (link.trials + link.warmup) as usize * 4;
        assert_eq!(plan.len(), quick().links.iter().map(counted).sum::<usize>());
    }

    #[test]
    fn keys_stay_apart_whatever_the_names_are() {
        let names =
            ["a/b", "a%2Fb", "a%252Fb", "a%25/b", "a%/b", "a%b", "a%25b", "a%2525b", "a%2/b"];
        let keys: BTreeSet<String> = names.iter().map(|name| part(name)).collect();
        assert_eq!(keys.len(), names.len(), "{keys:?}");
        assert!(keys.iter().all(|key| !key.contains('/')), "{keys:?}");
        assert_eq!(part("3g,loss=1%"), "3g,loss=1%");
    }

    #[test]
    fn a_block_shares_its_seed_and_no_other_block_has_it() {
        let mut seeds: BTreeMap<u64, Vec<&TrialPlan>> = BTreeMap::new();
        let plan = planned();
        plan.iter().for_each(|trial| seeds.entry(trial.seed).or_default().push(trial));
        for block in seeds.values() {
            let contenders: BTreeSet<_> = block.iter().map(|t| &t.cell.contender.name).collect();
            assert_eq!((block.len(), contenders.len()), (4, 4));
            assert!(block.iter().all(|trial| trial.block == block[0].block));
        }
    }

    #[test]
    fn blocks_are_kept_together_and_links_are_interleaved() {
        let plan = planned();
        let blocks: Vec<_> = plan.chunks(4).map(|block| block[0].cell.link.name.as_str()).collect();
        assert!(plan.chunks(4).all(|b| b.iter().all(|t| t.seed == b[0].seed)));
        let longest = blocks.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        assert!(longest <= Some(4), "{blocks:?}");
    }

    #[test]
    fn the_order_within_blocks_differs_between_blocks() {
        let plan = planned();
        let first: BTreeSet<_> = plan.chunks(4).map(|b| &b[0].cell.contender.name).collect();
        assert_eq!(first.len(), 4);
    }

    #[test]
    fn of_two_contenders_each_goes_first_in_half_of_the_blocks() {
        let plan = planned();
        let measured = |trial: &&TrialPlan| !trial.warmup && trial.cell.link.name == "wifi";
        let wifi: Vec<&TrialPlan> = plan.iter().filter(measured).collect();
        let place = |block: u32, name: &str| {
            let of =
                |trial: &&&TrialPlan| trial.block == block && trial.cell.contender.name == name;
            wifi.iter().find(of).unwrap().order
        };
        for (a, b) in [("h1", "h1-tls"), ("h1", "h2"), ("h1-tls", "h2"), ("h2", "h3")] {
            let first = (0..14).filter(|&block| place(block, a) < place(block, b)).count();
            assert_eq!(first, 7, "{a} before {b}");
        }
    }

    #[test]
    fn a_check_is_over_before_a_run_that_may_end_early_is_judged() {
        let page = "kind = \"page\"\nimages = 50\nbytes = \"5kB\"";
        let toml = builtin()[0].toml.replace(page, "kind = \"har\"\nfile = \"my.har\"");
        let mut har: Experiment = toml.parse().unwrap();
        har.links.truncate(1);
        har.links[0].trials = 100;
        har.stopping = Stopping::Sequential;
        let first_look = crate::planned_looks(&har, &har.links[0])[0].blocks;
        let plan = trials(&har, &Surroundings::default());
        let is_check = |trial: &&TrialPlan| trial.cell.workload.check_of.is_some();
        let last = plan.iter().rposition(|trial| is_check(&trial)).unwrap();
        let beside = plan[..last].iter().filter(|trial| !is_check(trial)).map(|trial| trial.block);
        assert!(beside.max() < Some(first_look), "{first_look}");
        assert_eq!(plan.iter().filter(is_check).count() as u32, 4 * check_blocks());
    }

    #[test]
    fn warm_up_comes_first_and_is_marked() {
        let plan = planned();
        assert!(plan.is_sorted_by_key(|trial| !trial.warmup));
        assert_eq!(plan.iter().filter(|trial| trial.warmup).count(), 8);
    }

    #[test]
    fn more_trials_leave_the_first_ones_as_they_were() {
        let mut longer = quick();
        longer.links.iter_mut().for_each(|link| link.trials += 5);
        let surroundings = Surroundings::default();
        let seed_of = |plan: Vec<TrialPlan>| -> BTreeMap<String, u64> {
            plan.into_iter().map(|trial| (trial.key, trial.seed)).collect()
        };
        let (short, long) =
            (seed_of(trials(&quick(), &surroundings)), seed_of(trials(&longer, &surroundings)));
        assert!(short.iter().all(|(key, seed)| long[key] == *seed));
    }

    #[test]
    fn a_slow_link_is_light_and_a_fast_one_is_not() {
        let light =
            |link: &str| planned().iter().find(|t| t.cell.link.name == link).unwrap().is_light();
        assert!(light("3g") && !light("lan"));
    }

    #[test]
    fn a_workload_that_mostly_waits_is_light_on_any_link() {
        let mut surroundings = Surroundings { cores: 2, ..Surroundings::default() };
        surroundings.rates.insert("lan".to_owned(), "1gbit".parse().unwrap());
        assert!(surroundings.cpu_share("page", "lan") > LIGHT_CPU_SHARE);
        let facts = WorkFacts { bytes: ByteSize(1_200_000), waiting: Duration::from_secs(4) };
        surroundings.works.insert("page".to_owned(), facts);
        assert!(surroundings.cpu_share("page", "lan") < LIGHT_CPU_SHARE);
        assert_eq!(surroundings.cpu_share("page", "unknown"), 1.0);
    }

    #[test]
    fn another_seed_plans_another_order() {
        let other = Experiment { seed: 2, ..quick() };
        let keys = |experiment: &Experiment| -> Vec<String> {
            trials(experiment, &Surroundings::default()).into_iter().map(|t| t.key).collect()
        };
        assert_ne!(keys(&other), keys(&quick()));
    }

    #[test]
    fn a_trial_survives_json() {
        for trial in planned() {
            let json = serde_json::to_string(&trial).unwrap();
            assert_eq!(serde_json::from_str::<TrialPlan>(&json).unwrap(), trial);
        }
    }
}
