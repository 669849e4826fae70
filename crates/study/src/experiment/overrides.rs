//! What a command line changes of an experiment. The changed experiment is what runs and what rows record.

use super::error::help;
use super::own_end::OwnSetting;
use super::{
    CallsWorkload, Contender, DownloadWorkload, EchoPattern, Experiment, Fast, KNOWN_CONTENDERS,
    KnownContender, LinkChoice, MARGINS, MOST_TRIALS, Pattern, Server, Stopping, StreamWorkload,
    Workload, WorkloadKind,
};
use crate::family::{FamilySizes, blocks_for_all};
use crate::gate::Gates;
use std::collections::BTreeSet;
use std::time::Duration;
use unit::ByteSize;
use unit::nearest;

/// What a command line may change; None and empty lists leave things as they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// Another seed.
    pub seed: Option<u64>,
    /// As many trials of each cell, on every link.
    pub trials: Option<u32>,
    /// Another margin.
    pub margin: Option<f64>,
    /// Another baseline.
    pub baseline: Option<String>,
    /// Only these contenders, in this order: the experiment's own, or known ones.
    pub contenders: Vec<String>,
    /// Whose client does the work of the contenders that name none.
    pub client: Option<String>,
    /// These links, the experiment's own or any other.
    pub links: Vec<String>,
    /// How much of it runs.
    pub extent: Extent,
    /// So many calls and messages in each workload of these.
    pub requests: Option<u32>,
    /// Another way to end.
    pub stopping: Option<Stopping>,
    /// The longest that its trials may take, which then are as many as decide.
    pub time_limit: Option<Duration>,
    /// What it is held to.
    pub gates: Gates,
}

/// How much of an experiment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Small workloads and few trials, to see within minutes that everything works.
    Fast,
}

const FAST_IMAGES: u32 = 100;
const FAST_CALLS: u32 = 5;
const FAST_ECHOES: u32 = 20;
const FAST_TOKENS: u32 = 100;
const FAST_FILE: ByteSize = ByteSize(1_000_000);
/// What a title ends with where the work is less than the title says.
const CUT: &str = " (less of it: --fast)";

/// An override that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OverrideError {
    /// No contender has this name.
    #[error("no contender is called `{name}`, expected one of {}{}", known.join(", "), help(.suggestion.as_deref()))]
    UnknownContender {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// The baseline is not among the contenders chosen.
    #[error(
        "the baseline `{baseline}` is not among the contenders chosen: choose it too, or another one, such as --baseline '{first}'"
    )]
    BaselineLeftOut {
        /// The baseline.
        baseline: String,
        /// The first of those chosen.
        first: String,
    },
    /// A workload that no WebSocket can carry.
    #[error(
        "`{contender}` is a WebSocket, which carries the kinds \"echo\" and \"stream\" alone, and the workload `{workload}` is another"
    )]
    NoMessages {
        /// The contender.
        contender: String,
        /// The workload.
        workload: String,
    },
    /// A server that already runs is reached by TCP alone.
    #[error("{words}: leave it away")]
    OverUdp {
        /// Which server, and which contender.
        words: String,
    },
    /// A contender has a setting that has no effect with the client that is asked for.
    #[error("`{contender}` with --client {client}: {words}; choose the others by --contenders")]
    NeedsOwnEnd {
        /// The contender.
        contender: String,
        /// The client.
        client: String,
        /// Which setting, and what it needs.
        words: String,
    },
    /// Nothing is made of calls or messages.
    #[error("`{experiment}` has neither calls nor messages, and their number was asked for")]
    NoRequests {
        /// The experiment.
        experiment: String,
    },
    /// The margin is out of range.
    #[error("a margin is a share from {} to {}, not {margin}", MARGINS.start(), MARGINS.end())]
    Margin {
        /// The margin.
        margin: f64,
    },
    /// No trials are no experiment, and too many are none either.
    #[error("a cell has from 1 to {MOST_TRIALS} trials, not {trials}")]
    Trials {
        /// How many were asked for.
        trials: u32,
    },
}

impl Experiment {
    /// The experiment with `overrides` applied.
    pub fn with(mut self, overrides: &Overrides) -> Result<Self, OverrideError> {
        let fast = self.fast.take();
        if overrides.extent == Extent::Fast {
            let fast = fast.unwrap_or_default();
            let whole = self.workloads.clone();
            self.links.iter_mut().for_each(|link| link.warmup = 0);
            match fast.workloads.is_empty() {
                true => self.cut(),
                false => self.workloads.retain(|workload| fast.workloads.contains(&workload.name)),
            }
            if self.workloads != whole && !self.title.ends_with(CUT) {
                self.title.push_str(CUT);
            }
            self.leave(fast, overrides);
        }
        if let Some(count) = overrides.requests {
            self.make_requests(count)?;
        }
        self.choose_contenders(&overrides.contenders)?;
        self.carried()?;
        self.bridged()?;
        if let Some(client) = &overrides.client {
            self.give_client(client)?;
        }
        if let Some(baseline) = &overrides.baseline {
            if self.contender(baseline).is_none() && KnownContender::find(baseline).is_none() {
                return Err(self.unknown(baseline));
            }
            self.baseline.clone_from(baseline);
        }
        if self.contender(&self.baseline).is_none() {
            let first = self.contenders.first();
            let first = first.map_or_else(|| "NAME".to_owned(), |one| one.name.clone());
            return Err(OverrideError::BaselineLeftOut { baseline: self.baseline, first });
        }
        self.choose_links(&overrides.links);
        if self.contenders.len() != 2 {
            // A contender alone is not compared with itself.
            self.same = None;
        }
        if overrides.extent == Extent::Fast {
            self.shorten();
        }
        self.stopping = overrides.stopping.unwrap_or(self.stopping);
        self.gates.clone_from(&overrides.gates);
        match overrides.trials {
            Some(trials) if !(1..=MOST_TRIALS).contains(&trials) => {
                return Err(OverrideError::Trials { trials });
            }
            Some(trials) => self.links.iter_mut().for_each(|link| link.trials = trials),
            None => {}
        }
        if overrides.time_limit.is_some() {
            self.run_until_decided(overrides.time_limit);
        }
        match overrides.margin {
            Some(margin) if !MARGINS.contains(&margin) => {
                return Err(OverrideError::Margin { margin });
            }
            margin => self.margin = margin.unwrap_or(self.margin),
        }
        self.seed = overrides.seed.unwrap_or(self.seed);
        Ok(self)
    }

    /// How many trials that is, the blocks that warm up have to show first.
    fn run_until_decided(&mut self, time_limit: Option<Duration>) {
        self.time_limit = time_limit;
        self.stopping = Stopping::Sequential;
        for link in &mut self.links {
            link.trials = 0;
            link.warmup = 1;
        }
    }

    /// No more trials than its comparisons need for an interval each. What is set beside a published measurement is
    /// judged finding by finding, each comparison by itself.
    fn shorten(&mut self) {
        let comparisons = match self.published {
            Some(_) => 1,
            None => FamilySizes::of(self.contenders.len()).largest(),
        };
        let enough = blocks_for_all(comparisons);
        let enough = self.same.unwrap_or(enough);
        self.links.iter_mut().for_each(|link| link.trials = link.trials.min(enough));
    }

    /// What the experiment itself says to be enough, where the command line does not say it.
    fn leave(&mut self, fast: Fast, overrides: &Overrides) {
        // A baseline that is asked for may be one that would be left out.
        let asked = !overrides.contenders.is_empty() || overrides.baseline.is_some();
        if !asked && !fast.contenders.is_empty() {
            self.contenders.retain(|contender| fast.contenders.contains(&contender.name));
        }
        if overrides.links.is_empty() && !fast.links.is_empty() {
            self.links.retain(|link| fast.links.contains(&link.name));
        }
    }

    /// Fewer serial calls, and no page of many images and no large file where there is a smaller one.
    fn cut(&mut self) {
        let large = |workload: &Workload| match workload.kind {
            WorkloadKind::Page(page) => page.images > FAST_IMAGES,
            WorkloadKind::Download(download) => download.size > FAST_FILE,
            _ => false,
        };
        if !self.workloads.iter().all(large) {
            self.workloads.retain(|workload| !large(workload));
        }
        for workload in &mut self.workloads {
            // Calls that overlap take no longer for being many.
            if let WorkloadKind::Calls(calls) = &workload.kind
                && calls.pattern == Pattern::Serial
            {
                let count = calls.count.min(FAST_CALLS);
                *workload = Workload::calls(CallsWorkload { count, ..calls.clone() });
            }
            if let WorkloadKind::Download(download) = workload.kind {
                let count = download.count.min(FAST_CALLS);
                *workload = Workload::download(DownloadWorkload { count, ..download });
            }
        }
        for workload in &mut self.workloads {
            if let WorkloadKind::Echo(echo) = workload.kind
                && echo.pattern == EchoPattern::Serial
            {
                let count = echo.count.min(FAST_ECHOES);
                *workload = Workload::echo(echo.with_count(count));
            }
            if let WorkloadKind::Stream(stream) = workload.kind {
                let count = stream.count.min(FAST_TOKENS);
                *workload = Workload::stream(StreamWorkload { count, ..stream });
            }
        }
        self.unite();
    }

    /// So many calls or messages in each workload that is made of them.
    fn make_requests(&mut self, count: u32) -> Result<(), OverrideError> {
        let mut any = false;
        for workload in &mut self.workloads {
            let made = match &workload.kind {
                WorkloadKind::Calls(calls) => {
                    Workload::calls(CallsWorkload { count, ..calls.clone() })
                }
                WorkloadKind::Echo(echo) => Workload::echo(echo.with_count(count)),
                _ => continue,
            };
            (any, *workload) = (true, made);
        }
        self.unite();
        match any {
            true => Ok(()),
            false => Err(OverrideError::NoRequests { experiment: self.name.clone() }),
        }
    }

    /// Workloads that differed in their number only are one now.
    fn unite(&mut self) {
        let mut seen = BTreeSet::new();
        self.workloads.retain(|workload| seen.insert(workload.name.clone()));
    }

    /// Those of the experiment by name, and those that every experiment can be asked for.
    fn choose_contenders(&mut self, names: &[String]) -> Result<(), OverrideError> {
        let mut chosen: Vec<Contender> = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let known = || KnownContender::find(name).map(|known| self.served(known.contender()));
            let contender = self.contender(name).cloned().or_else(known);
            let contender = contender.ok_or_else(|| self.unknown(name))?;
            if !chosen.contains(&contender) {
                chosen.push(contender);
            }
        }
        if !chosen.is_empty() {
            self.contenders = chosen;
        }
        Ok(())
    }

    /// Has another's client do the work of the contenders that name none. What they say of wirelap's own client means
    /// nothing then. A contender that says nothing else is left out, for it would race against its like; so is one whose
    /// view or visit only wirelap's own client has. Any other setting that would have no effect is refused, as in a file.
    fn give_client(&mut self, name: &str) -> Result<(), OverrideError> {
        let mut given: Vec<Contender> = Vec::new();
        for mut contender in std::mem::take(&mut self.contenders) {
            if contender.client.is_none() && !contender.settings.can_be_anothers() {
                continue;
            }
            if contender.client.is_none() {
                OwnSetting::give(&mut contender, name).map_err(|words| {
                    let (contender, client) = (contender.name.clone(), name.to_owned());
                    OverrideError::NeedsOwnEnd { contender, client, words }
                })?;
            }
            let is_like = |other: &Contender| {
                Contender { name: contender.name.clone(), ..other.clone() } == contender
            };
            // Two of a kind are what an experiment with `same` is about.
            if self.same.is_some() || !given.iter().any(is_like) {
                given.push(contender);
            }
        }
        self.contenders = given;
        self.title.push_str(&format!(", in {name}"));
        Ok(())
    }

    /// What over QUIC was chosen by name meets the server of the file here for the first time.
    fn bridged(&self) -> Result<(), OverrideError> {
        let words = self.contenders.iter().find_map(|one| match &one.server {
            Server::Running(service) if one.transport.is_over_quic() => {
                Some(service.no_udp(&one.name))
            }
            _ => None,
        });
        words.map_or(Ok(()), |words| Err(OverrideError::OverUdp { words }))
    }

    /// A WebSocket from the command line meets the workloads of the file here for the first time.
    fn carried(&self) -> Result<(), OverrideError> {
        let is_socket = |one: &&Contender| one.transport.is_web_socket();
        let socket = self.contenders.iter().find(is_socket);
        let other = self.workloads.iter().find(|workload| !workload.is_of_messages());
        match (socket, other) {
            (Some(contender), Some(workload)) => Err(OverrideError::NoMessages {
                contender: contender.name.clone(),
                workload: workload.name.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// A contender that the file does not have, with the file's own server.
    fn served(&self, contender: Contender) -> Contender {
        match &self.server {
            Some(Server::Running(service)) => contender.at(service),
            Some(server) => Contender { server: server.clone(), ..contender },
            None => contender,
        }
    }

    /// A link that the experiment does not name runs as often as its most frequent one.
    fn choose_links(&mut self, names: &[String]) {
        let trials = self.links.iter().map(|link| link.trials).max().unwrap_or(1);
        let warmup = self.links.iter().map(|link| link.warmup).max().unwrap_or(0);
        let mut chosen: Vec<LinkChoice> = Vec::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            if chosen.iter().all(|link| link.name != name) {
                let own = self.links.iter().find(|link| link.name == name).cloned();
                let name = name.to_owned();
                let other = || LinkChoice { name, figures: None, trials, added: 0, warmup };
                chosen.push(own.unwrap_or_else(other));
            }
        }
        if !chosen.is_empty() {
            self.links = chosen;
        }
    }

    fn unknown(&self, name: &str) -> OverrideError {
        let own = self.contenders.iter().map(|contender| contender.name.as_str());
        let others = KNOWN_CONTENDERS.iter().map(|known| known.name);
        let mut known: Vec<&str> = own.collect();
        known.extend(others.filter(|name| self.contender(name).is_none()));
        OverrideError::UnknownContender {
            name: name.to_owned(),
            suggestion: nearest(name, known.iter().copied()).map(str::to_owned),
            known: known.iter().map(|name| format!("`{name}`")).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Tls, builtin};

    fn quick() -> Experiment {
        builtin()[0].toml.parse().unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn nothing_overridden_is_the_experiment_itself() {
        assert_eq!(quick().with(&Overrides::default()), Ok(quick()));
    }

    #[test]
    fn another_client_does_the_work_and_what_is_of_wirelaps_own_falls_away() {
        let with = |name: &str, client: Option<&str>| {
            let toml = builtin().iter().find(|builtin| builtin.name == name).unwrap().toml;
            let experiment: Experiment = toml.parse().unwrap();
            let client = client.map(str::to_owned);
            experiment.with(&Overrides { client, ..Overrides::default() }).unwrap()
        };
        let own = with("priorities", None);
        let given = with("priorities", Some("chromium"));
        let names = |of: &Experiment| {
            of.contenders.iter().map(|one| one.name.clone()).collect::<Vec<String>>()
        };
        // It differs by how wirelap's own client raises images.
        let gone: Vec<String> =
            names(&own).into_iter().filter(|name| !names(&given).contains(name)).collect();
        assert_eq!(gone, ["h2 rfc9218 control"]);
        for contender in &given.contenders {
            assert_eq!(contender.client.as_ref().unwrap().name, "chromium");
        }
        // Two that are the same stay two.
        let same = with("aa", Some("chromium"));
        assert_eq!((same.contenders.len(), same.same.is_some()), (2, true));
        // A client that the file names stays.
        let downloads = with("jvm-downloads", Some("chromium"));
        assert!(
            downloads
                .contenders
                .iter()
                .any(|one| { one.client.as_ref().is_some_and(|client| client.name != "chromium") })
        );
    }

    #[test]
    fn contenders_and_links_are_chosen_by_name() {
        let overrides = Overrides {
            contenders: names(&["h2", "h1", "h2"]),
            links: names(&["4g", "3g"]),
            baseline: Some("h1".to_owned()),
            ..Overrides::default()
        };
        let chosen = quick().with(&overrides).unwrap();
        let contenders: Vec<_> = chosen.contenders.iter().map(|c| c.name.as_str()).collect();
        assert_eq!((contenders, chosen.baseline.as_str()), (vec!["h2", "h1"], "h1"));
        let links: Vec<_> = chosen.links.iter().map(|l| (l.name.as_str(), l.trials)).collect();
        let own = quick().links[2].trials;
        assert_eq!(links, [("4g", quick().links[0].trials), ("3g", own)]);
    }

    #[test]
    fn known_contenders_race_where_the_experiment_has_none_of_that_name() {
        let chosen = |experiment: Experiment, asked: &[&str]| {
            let (contenders, baseline) = (names(asked), Some(asked[0].to_owned()));
            experiment.with(&Overrides { contenders, baseline, ..Overrides::default() })
        };
        let quick = chosen(quick(), &["spdy", "h2", "spdy-3"]).unwrap();
        let spoken: Vec<_> = quick.contenders.iter().map(|c| (c.transport.name(), c.tls)).collect();
        assert_eq!(spoken, [("spdy/3.1", Tls::V1_3), ("h2", Tls::V1_3), ("spdy/3", Tls::V1_3)]);
        // The period's own has TLS 1.2.
        let images = builtin().iter().find(|builtin| builtin.name == "spdy-images").unwrap();
        let images = chosen(images.toml.parse().unwrap(), &["spdy", "spdy-clear"]).unwrap();
        let tls: Vec<_> = images.contenders.iter().map(|contender| contender.tls).collect();
        assert_eq!(tls, [Tls::V1_2, Tls::None]);
    }

    #[test]
    fn fast_leaves_the_small_workloads_and_enough_trials_for_an_interval() {
        let overrides = Overrides { extent: Extent::Fast, ..Overrides::default() };
        let fast = |name: &str| {
            let whole = builtin().iter().find(|builtin| builtin.name == name).unwrap();
            whole.toml.parse::<Experiment>().unwrap().with(&overrides).unwrap()
        };
        let names: Vec<String> =
            fast("spdy-images").workloads.into_iter().map(|workload| workload.name).collect();
        assert_eq!(names, ["page-10x4kB", "page-50x4kB", "page-100x4kB"]);
        let calls = fast("twitter-api");
        assert_eq!(calls.workloads.len(), 2);
        // Fewer would be another measurement than the published one.
        let counts = ["staggered-100ms-11x", "serial-11x"];
        assert!(calls.workloads.iter().zip(counts).all(|(w, start)| w.name.starts_with(start)));
        // Published findings are judged one by one, and six blocks carry one comparison.
        assert!(calls.links.iter().all(|link| (link.trials, link.warmup) == (6, 0)));
        let echoes = fast("websocket-echo").workloads.into_iter().map(|workload| workload.name);
        let names: Vec<String> = echoes.collect();
        assert_eq!(names, ["echo-serial-250xnumbers", "echo-parallel-1000xnumbers"]);
        // A title tells of the whole work.
        assert!(fast("stream").title.ends_with(" (less of it: --fast)"));
        assert!(!fast("quick").title.contains("--fast"));
    }

    #[test]
    fn fast_leaves_the_contenders_and_links_that_the_experiment_says_unless_others_are_asked_for() {
        let toml = builtin().iter().find(|builtin| builtin.name == "jvm-downloads").unwrap().toml;
        let fast = |overrides: Overrides| {
            let overrides = Overrides { extent: Extent::Fast, ..overrides };
            let left = toml.parse::<Experiment>().unwrap().with(&overrides).unwrap();
            let size = (left.workloads.len(), left.contenders.len(), left.links.len());
            (size, left.links[0].trials, left.fast)
        };
        assert_eq!(fast(Overrides::default()), ((1, 7, 1), 6, None));
        let contenders = names(&["curl", "jetty-12"]);
        let asked =
            Overrides { contenders, links: names(&["none", "lan"]), ..Overrides::default() };
        assert_eq!(fast(asked).0, (1, 2, 2));
        let baseline = Some("jetty-12".to_owned());
        assert_eq!(fast(Overrides { baseline, ..Overrides::default() }).0, (1, 12, 1));
        let whole = toml.parse::<Experiment>().unwrap().with(&Overrides::default()).unwrap();
        assert_eq!((whole.workloads.len(), whole.contenders.len(), whole.links.len()), (3, 12, 1));
    }

    #[test]
    fn calls_and_messages_are_as_many_as_asked_for() {
        let named = |name: &str| builtin().iter().find(|builtin| builtin.name == name).unwrap();
        let asked = |name: &str, extent| {
            let overrides = Overrides { requests: Some(1000), extent, ..Overrides::default() };
            named(name).toml.parse::<Experiment>().unwrap().with(&overrides)
        };
        for extent in [Extent::Whole, Extent::Fast] {
            let echoes = asked("websocket-echo", extent).unwrap();
            let names: Vec<&str> = echoes.workloads.iter().map(|one| one.name.as_str()).collect();
            let published = ["echo-serial-1000xnumbers", "echo-parallel-1000xnumbers"];
            assert_eq!(names[..2], published);
        }
        let error = asked("quick", Extent::Whole).unwrap_err().to_string();
        assert_eq!(error, "`quick` has neither calls nor messages, and their number was asked for");
    }

    #[test]
    fn trials_apply_to_every_link() {
        let overrides = Overrides { trials: Some(20), seed: Some(9), ..Overrides::default() };
        let longer = quick().with(&overrides).unwrap();
        assert!(longer.links.iter().all(|link| link.trials == 20));
        assert_eq!(longer.seed, 9);
    }

    #[test]
    fn what_cannot_be_is_said_with_the_nearest_name() {
        let said = |overrides| quick().with(&overrides).unwrap_err().to_string();
        let contenders = Overrides { contenders: names(&["h1tls"]), ..Overrides::default() };
        assert_eq!(
            said(contenders),
            "no contender is called `h1tls`, expected one of `h1`, `h1-tls`, `h2`, `h3`, `h2-clear`, `spdy`, `spdy-clear`, \
             `spdy-3`, `ws`, `wss`, `ws-h2`, `ws-h3`; did you mean `h1-tls`?"
        );
        let left_out = Overrides { contenders: names(&["h1", "h2"]), ..Overrides::default() };
        let left_out = said(left_out);
        assert!(left_out.starts_with("the baseline `h1-tls` is not among"), "{left_out}");
        assert!(left_out.ends_with("such as --baseline 'h1'"), "{left_out}");
        let socket = Overrides { contenders: names(&["h1-tls", "ws"]), ..Overrides::default() };
        assert!(said(socket).starts_with("`ws` is a WebSocket, which carries the kinds"));
        let margin = Overrides { margin: Some(5.0), ..Overrides::default() };
        assert_eq!(said(margin), "a margin is a share from 0.001 to 1, not 5");
        for trials in [0, MOST_TRIALS + 1] {
            let none = Overrides { trials: Some(trials), ..Overrides::default() };
            assert_eq!(quick().with(&none), Err(OverrideError::Trials { trials }));
        }
    }
}
