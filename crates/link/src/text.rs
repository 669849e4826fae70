//! Reading a link from the command line: `3g`, `rtt=60ms,down=10mbit,loss=0.5%`, `3g,loss=1%`. The one
//! rule: nothing is guessed or ignored; an error names the item and the values that it can have.

use crate::active::Discipline;
use crate::profile::{find, profiles};
use crate::schedule::{Schedule, ScheduleError};
use crate::spec::{Bottleneck, LinkSpec, PathSpec};
use crate::values::{
    parse_discipline, parse_loss, parse_order, parse_policer, parse_queue, parse_split_tcp,
    parse_udp, parse_udp_rate,
};
use std::sync::Arc;
use std::time::Duration;
use unit::{ParseError, nearest, parse_duration};

/// A text that is not a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A profile that does not exist.
    #[error("there is no link `{name}`{}", meant(name, known).unwrap_or_default())]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// Every profile's name.
        known: Vec<&'static str>,
    },
    /// A setting that does not exist.
    #[error("a link has no setting `{key}`{}", meant(key, known).unwrap_or_else(|| all(known)))]
    UnknownKey {
        /// What stands before the `=`.
        key: String,
        /// Every setting.
        known: Vec<&'static str>,
    },
    /// A value that does not suit its setting.
    #[error("in `{key}=`: {source}")]
    BadValue {
        /// The setting.
        key: &'static str,
        /// What is wrong with its value.
        source: ParseError,
    },
    /// A time beyond all networks.
    #[error("in `{key}=`: `{value}` is longer than a minute, the most that a link takes")]
    TooLong {
        /// The setting.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A setting that stands there twice.
    #[error("`{key}=` stands there twice (two links of KEY=VALUE need a --links each)")]
    Repeated {
        /// The setting.
        key: &'static str,
    },
    /// Two settings that say the same thing in two ways.
    #[error("`{first}=` and `{second}=` exclude each other")]
    Conflict {
        /// One of them.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// An active queue where nothing queues.
    #[error("`{key}=` needs a queue, and there is none without a rate; add rate=, or a trace=")]
    NeedsRate {
        /// The setting.
        key: &'static str,
    },
    /// A queue where nothing queues.
    #[error("`{key}=` does nothing without a rate: nothing queues")]
    NothingQueues {
        /// The setting.
        key: &'static str,
    },
    /// Packets that may be overtaken where none is delayed.
    #[error("`{key}=yes` does nothing without jitter: no packet is late")]
    NothingDelayed {
        /// The setting.
        key: &'static str,
    },
    /// A trace file that could not be read.
    #[error("cannot read the trace file {file}: {reason}")]
    Unreadable {
        /// Its path.
        file: String,
        /// Why, in the loader's words.
        reason: String,
    },
    /// A trace file that is not in mahimahi's format.
    #[error("in the trace file {file}: {source}")]
    BadTrace {
        /// Its path.
        file: String,
        /// Where and why.
        source: ScheduleError,
    },
}

/// A loader for callers that have no files: every trace is refused.
pub fn no_traces(_file: &str) -> Result<String, String> {
    Err("trace files are not available here".to_owned())
}

impl LinkSpec {
    /// Reads a profile's name, settings, or both with the name first. `load` gives a trace file's text,
    /// or says why it cannot.
    pub fn parse(
        text: &str,
        load: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, SpecError> {
        let (first, rest) = text.split_once(',').unwrap_or((text, ""));
        match first.contains('=') {
            true => Self::default().with_settings(text, load),
            false => {
                let profile = find(first.trim()).ok_or_else(|| unknown_profile(first.trim()))?;
                match text.strip_suffix(',') {
                    // Something is missing behind the comma.
                    Some(_) if rest.is_empty() => Err(unknown_key("")),
                    _ => profile.spec().with_settings(rest, load),
                }
            }
        }
    }

    /// This link with some settings changed, separated by commas; the same one where `text` is empty.
    pub(crate) fn with_settings(
        mut self,
        text: &str,
        mut load: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, SpecError> {
        if text.is_empty() {
            return Ok(self);
        }
        let mut given: Vec<(Setting, &str)> = Vec::new();
        for (key, value) in text.split(',').map(key_and_value) {
            let setting = Setting::find(key).ok_or_else(|| unknown_key(key))?;
            check_against(setting, &given)?;
            given.push((setting, value.unwrap_or_default()));
        }
        // Settings for both directions come first, so that those for one direction replace them.
        given.sort_by_key(|(setting, _)| setting.ways != Ways::Both);
        for &(setting, value) in &given {
            setting.apply(value, &mut self, &mut load)?;
        }
        match given.iter().find(|(setting, _)| setting.lacks_rate(&self)) {
            Some((setting, _)) => Err(SpecError::NeedsRate { key: setting.key }),
            None => Ok(self),
        }
    }

    /// Refuses a setting of `text`, which this link was read from, that does nothing on it: a queue where nothing
    /// queues, and packets that may be overtaken where none is delayed. What one direction has no use for may be meant
    /// for the other one.
    pub fn check_settings(&self, text: &str) -> Result<(), SpecError> {
        let idle = |item| match key_and_value(item) {
            (key, Some(value)) => Setting::find(key)?.idle(value, self),
            (_, None) => None,
        };
        text.split(',').find_map(idle).map_or(Ok(()), Err)
    }
}

/// The trace files that a link's text names.
pub fn trace_files(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter_map(|item| trace_file(item).map(|(_, file)| file))
}

/// A link's text with other names of its trace files.
pub fn with_trace_files(text: &str, name: impl Fn(&str) -> String) -> String {
    let renamed = |item: &str| match trace_file(item) {
        Some((key, file)) => format!("{key}={}", name(file)),
        None => item.to_owned(),
    };
    text.split(',').map(renamed).collect::<Vec<_>>().join(",")
}

/// The key and the file of a setting that names a trace file.
fn trace_file(item: &str) -> Option<(&str, &str)> {
    let (key, file) = key_and_value(item);
    (Setting::find(key)?.what == What::Trace).then_some((key, file?))
}

/// What an item of a link's text is called, and its value. A profile's name has none.
fn key_and_value(item: &str) -> (&str, Option<&str>) {
    match item.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (item.trim(), None),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    key: &'static str,
    what: What,
    ways: Ways,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Rtt,
    Delay,
    Rate,
    Trace,
    Queue,
    Loss,
    Jitter,
    Reorder,
    Aqm,
    Policer,
    Udp,
    UdpRate,
    Rebind,
    SplitTcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ways {
    Both,
    Up,
    Down,
}

const fn setting(key: &'static str, what: What, ways: Ways) -> Setting {
    Setting { key, what, ways }
}

const SETTINGS: [Setting; 36] = [
    setting("rtt", What::Rtt, Ways::Both),
    setting("delay", What::Delay, Ways::Both),
    setting("delay_up", What::Delay, Ways::Up),
    setting("delay_down", What::Delay, Ways::Down),
    setting("rate", What::Rate, Ways::Both),
    setting("up", What::Rate, Ways::Up),
    setting("down", What::Rate, Ways::Down),
    setting("trace", What::Trace, Ways::Both),
    setting("trace_up", What::Trace, Ways::Up),
    setting("trace_down", What::Trace, Ways::Down),
    setting("queue", What::Queue, Ways::Both),
    setting("queue_up", What::Queue, Ways::Up),
    setting("queue_down", What::Queue, Ways::Down),
    setting("loss", What::Loss, Ways::Both),
    setting("loss_up", What::Loss, Ways::Up),
    setting("loss_down", What::Loss, Ways::Down),
    setting("jitter", What::Jitter, Ways::Both),
    setting("jitter_up", What::Jitter, Ways::Up),
    setting("jitter_down", What::Jitter, Ways::Down),
    setting("reorder", What::Reorder, Ways::Both),
    setting("reorder_up", What::Reorder, Ways::Up),
    setting("reorder_down", What::Reorder, Ways::Down),
    setting("aqm", What::Aqm, Ways::Both),
    setting("aqm_up", What::Aqm, Ways::Up),
    setting("aqm_down", What::Aqm, Ways::Down),
    setting("policer", What::Policer, Ways::Both),
    setting("policer_up", What::Policer, Ways::Up),
    setting("policer_down", What::Policer, Ways::Down),
    setting("udp", What::Udp, Ways::Both),
    setting("udp_up", What::Udp, Ways::Up),
    setting("udp_down", What::Udp, Ways::Down),
    setting("udp_rate", What::UdpRate, Ways::Both),
    setting("udp_rate_up", What::UdpRate, Ways::Up),
    setting("udp_rate_down", What::UdpRate, Ways::Down),
    setting("rebind", What::Rebind, Ways::Both),
    setting("split_tcp", What::SplitTcp, Ways::Both),
];

/// The longest delay. A longer one exceeds every time-out of TCP's.
const LONGEST: Duration = Duration::from_secs(60);

impl Setting {
    fn find(key: &str) -> Option<Self> {
        SETTINGS.into_iter().find(|setting| setting.key == key)
    }

    /// The paths of a link that it applies to.
    fn paths(self, link: &LinkSpec) -> impl Iterator<Item = &PathSpec> {
        let up = (self.ways != Ways::Down).then_some(&link.up);
        let down = (self.ways != Ways::Up).then_some(&link.down);
        up.into_iter().chain(down)
    }

    /// Makes a change to each of these paths.
    fn change(self, link: &mut LinkSpec, change: impl Fn(&mut PathSpec)) {
        if self.ways != Ways::Down {
            change(&mut link.up);
        }
        if self.ways != Ways::Up {
            change(&mut link.down);
        }
    }

    fn apply(
        self,
        value: &str,
        link: &mut LinkSpec,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<(), SpecError> {
        let bad = |source| SpecError::BadValue { key: self.key, source };
        match self.what {
            What::Rtt => {
                let rtt = self.time(value)?;
                link.up.delay = rtt / 2;
                link.down.delay = rtt - link.up.delay;
            }
            // A time of a run, not a delay of packets: it may be as long as the run.
            What::Rebind => link.rebind = Some(parse_duration(value).map_err(bad)?),
            What::SplitTcp => link.split_tcp = parse_split_tcp(value).map_err(bad)?,
            What::Delay => {
                let delay = self.time(value)?;
                self.change(link, |path| path.delay = delay);
            }
            What::Rate => {
                let rate = value.parse().map_err(bad)?;
                self.change(link, |path| path.bottleneck = Bottleneck::Rate(rate));
            }
            What::Trace => {
                let trace = read_trace(value, load)?;
                self.change(link, |path| path.bottleneck = trace.clone());
            }
            What::Queue => {
                let queue = parse_queue(value).map_err(bad)?;
                self.change(link, |path| path.queue = queue);
            }
            What::Loss => {
                let loss = parse_loss(value).map_err(bad)?;
                self.change(link, |path| path.loss = loss);
            }
            What::Jitter => {
                let jitter = self.time(value)?;
                self.change(link, |path| path.jitter = jitter);
            }
            What::Reorder => {
                let order = parse_order(value).map_err(bad)?;
                self.change(link, |path| path.order = order);
            }
            What::Aqm => {
                let discipline = parse_discipline(value).map_err(bad)?;
                self.change(link, |path| path.discipline = discipline);
            }
            What::Policer => {
                let policer = parse_policer(value).map_err(bad)?;
                self.change(link, |path| path.policer = policer);
            }
            What::Udp => {
                let udp = parse_udp(value).map_err(bad)?;
                self.change(link, |path| path.udp = udp);
            }
            What::UdpRate => {
                let udp = parse_udp_rate(value).map_err(bad)?;
                self.change(link, |path| path.udp = udp);
            }
        }
        Ok(())
    }

    /// Whether it is for a queue that is not there.
    fn lacks_rate(self, link: &LinkSpec) -> bool {
        let lacks = |path: &PathSpec| {
            path.discipline != Discipline::DropTail && path.bottleneck == Bottleneck::Unlimited
        };
        self.what == What::Aqm && self.paths(link).any(lacks)
    }

    /// Why a value does nothing on any path of a link that it is for.
    fn idle(self, value: &str, link: &LinkSpec) -> Option<SpecError> {
        let mut paths = self.paths(link);
        match self.what {
            What::Queue if paths.all(|path| path.bottleneck == Bottleneck::Unlimited) => {
                Some(SpecError::NothingQueues { key: self.key })
            }
            What::Reorder if value == "yes" && paths.all(|path| path.jitter.is_zero()) => {
                Some(SpecError::NothingDelayed { key: self.key })
            }
            _ => None,
        }
    }

    fn time(self, value: &str) -> Result<Duration, SpecError> {
        let time = parse_duration(value)
            .map_err(|source| SpecError::BadValue { key: self.key, source })?;
        match time > LONGEST {
            true => Err(SpecError::TooLong { key: self.key, value: value.to_owned() }),
            false => Ok(time),
        }
    }
}

fn read_trace(
    file: &str,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Bottleneck, SpecError> {
    let unreadable = |reason| SpecError::Unreadable { file: file.to_owned(), reason };
    let text = load(file).map_err(unreadable)?;
    let schedule = Schedule::parse(&text)
        .map_err(|source| SpecError::BadTrace { file: file.to_owned(), source })?;
    Ok(Bottleneck::Trace { file: file.to_owned(), schedule: Arc::new(schedule) })
}

/// Rejects a setting that is given twice, and two settings for the same thing in the same direction.
fn check_against(new: Setting, given: &[(Setting, &str)]) -> Result<(), SpecError> {
    for &(old, _) in given {
        if old == new {
            return Err(SpecError::Repeated { key: new.key });
        }
        let rtt_and_delay =
            matches!((old.what, new.what), (What::Rtt, What::Delay) | (What::Delay, What::Rtt));
        let rate_and_trace =
            matches!((old.what, new.what), (What::Rate, What::Trace) | (What::Trace, What::Rate));
        let udp_twice =
            matches!((old.what, new.what), (What::Udp, What::UdpRate) | (What::UdpRate, What::Udp));
        if rtt_and_delay || ((rate_and_trace || udp_twice) && old.ways == new.ways) {
            return Err(SpecError::Conflict { first: old.key, second: new.key });
        }
    }
    Ok(())
}

fn unknown_profile(name: &str) -> SpecError {
    let known = profiles().iter().map(|profile| profile.name).collect();
    SpecError::UnknownProfile { name: name.to_owned(), known }
}

fn unknown_key(key: &str) -> SpecError {
    let known = SETTINGS.iter().map(|setting| setting.key).collect();
    SpecError::UnknownKey { key: key.to_owned(), known }
}

/// What is likely to have been meant.
fn meant(name: &str, known: &[&'static str]) -> Option<String> {
    let near = nearest(name, known.iter().copied())?;
    Some(format!("; did you mean `{near}`?"))
}

fn all(known: &[&'static str]) -> String {
    format!(": it is one of {}", known.join(", "))
}

#[cfg(test)]
mod tests;
