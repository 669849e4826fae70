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
        for item in text.split(',').map(str::trim) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let setting = Setting::find(key.trim()).ok_or_else(|| unknown_key(key.trim()))?;
            check_against(setting, &given)?;
            given.push((setting, value.trim()));
        }
        // Settings for both directions come first, so that those for one direction replace them.
        given.sort_by_key(|(setting, _)| setting.ways != Ways::Both);
        for &(setting, value) in &given {
            setting.apply(value, &mut self, &mut load)?;
        }
        match given.iter().find(|(setting, _)| setting.lacks_rate(&mut self)) {
            Some((setting, _)) => Err(SpecError::NeedsRate { key: setting.key }),
            None => Ok(self),
        }
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

/// The change of a setting to each path that it applies to.
type Change = Box<dyn Fn(&mut PathSpec)>;

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

    fn paths(self, link: &mut LinkSpec) -> Vec<&mut PathSpec> {
        match self.ways {
            Ways::Both => vec![&mut link.up, &mut link.down],
            Ways::Up => vec![&mut link.up],
            Ways::Down => vec![&mut link.down],
        }
    }

    fn apply(
        self,
        value: &str,
        link: &mut LinkSpec,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<(), SpecError> {
        if self.what == What::Rtt {
            let rtt = self.time(value)?;
            link.up.delay = rtt / 2;
            link.down.delay = rtt - link.up.delay;
            return Ok(());
        }
        if self.what == What::Rebind {
            let bad = |source| SpecError::BadValue { key: self.key, source };
            // A time of a run, not a delay of packets: it may be as long as the run.
            link.rebind = Some(parse_duration(value).map_err(bad)?);
            return Ok(());
        }
        if self.what == What::SplitTcp {
            let bad = |source| SpecError::BadValue { key: self.key, source };
            link.split_tcp = parse_split_tcp(value).map_err(bad)?;
            return Ok(());
        }
        let new = self.read(value, load)?;
        for path in self.paths(link) {
            new(path);
        }
        Ok(())
    }

    /// Whether it is for a queue that is not there.
    fn lacks_rate(self, link: &mut LinkSpec) -> bool {
        let lacks = |path: &&mut PathSpec| {
            path.discipline != Discipline::DropTail && path.bottleneck == Bottleneck::Unlimited
        };
        self.what == What::Aqm && self.paths(link).iter().any(lacks)
    }

    fn time(self, value: &str) -> Result<Duration, SpecError> {
        let time = parse_duration(value)
            .map_err(|source| SpecError::BadValue { key: self.key, source })?;
        match time > LONGEST {
            true => Err(SpecError::TooLong { key: self.key, value: value.to_owned() }),
            false => Ok(time),
        }
    }

    fn read(
        self,
        value: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Change, SpecError> {
        let bad = |source| SpecError::BadValue { key: self.key, source };
        Ok(match self.what {
            What::Rtt | What::Rebind | What::SplitTcp | What::Delay => {
                let delay = self.time(value)?;
                Box::new(move |path| path.delay = delay)
            }
            What::Rate => {
                let rate = value.parse().map_err(bad)?;
                Box::new(move |path| path.bottleneck = Bottleneck::Rate(rate))
            }
            What::Trace => {
                let trace = read_trace(value, load)?;
                Box::new(move |path| path.bottleneck = trace.clone())
            }
            What::Queue => {
                let queue = parse_queue(value).map_err(bad)?;
                Box::new(move |path| path.queue = queue)
            }
            What::Loss => {
                let loss = parse_loss(value).map_err(bad)?;
                Box::new(move |path| path.loss = loss)
            }
            What::Jitter => {
                let jitter = self.time(value)?;
                Box::new(move |path| path.jitter = jitter)
            }
            What::Reorder => {
                let order = parse_order(value).map_err(bad)?;
                Box::new(move |path| path.order = order)
            }
            What::Aqm => {
                let discipline = parse_discipline(value).map_err(bad)?;
                Box::new(move |path| path.discipline = discipline)
            }
            What::Policer => {
                let policer = parse_policer(value).map_err(bad)?;
                Box::new(move |path| path.policer = policer)
            }
            What::Udp => {
                let udp = parse_udp(value).map_err(bad)?;
                Box::new(move |path| path.udp = udp)
            }
            What::UdpRate => {
                let udp = parse_udp_rate(value).map_err(bad)?;
                Box::new(move |path| path.udp = udp)
            }
        })
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
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<LinkSpec, SpecError> {
        LinkSpec::parse(text, |file| match file {
            "lte.up" => Ok("1\n2\n".to_owned()),
            "bad" => Ok("1\nx\n".to_owned()),
            _ => Err("no such file".to_owned()),
        })
    }

    #[test]
    fn a_time_beyond_all_networks_is_refused() {
        assert!(parse("rtt=60s,jitter=1min").is_ok());
        for text in ["rtt=61s", "delay_up=99999999999s", "jitter=2min"] {
            assert!(matches!(parse(text), Err(SpecError::TooLong { .. })), "{text}");
        }
    }

    #[test]
    fn the_example_of_the_manual_is_read() {
        let link = parse("rtt=60ms,down=10mbit,up=2mbit,loss=0.5%,queue=64kB").unwrap();
        assert_eq!(link.to_string(), "10/2 Mbit/s, RTT 60 ms, queue 64 kB, loss 0.5 %");
    }

    #[test]
    fn one_way_overrides_both_whatever_comes_first() {
        let link = parse("loss_up=2%,loss=1%,delay_down=5ms").unwrap();
        assert_eq!(link.up.loss.mean(), 0.02);
        assert_eq!(link.down.loss.mean(), 0.01);
        assert_eq!(link.rtt(), Duration::from_millis(5));
    }

    #[test]
    fn a_loss_without_its_unit_is_refused_with_the_way_out() {
        for text in ["3g,loss=1", "loss=0.005", "loss_up=1", "loss=101%", "loss=%", "loss=1e1%"] {
            assert!(matches!(parse(text), Err(SpecError::BadValue { .. })), "{text}");
        }
        assert_eq!(
            parse("loss=1").unwrap_err().to_string(),
            "in `loss=`: `1` is not a share in per cent, such as 1%; with a mean burst of packets, 1%/8; or p/r/bad/good, 0.1%/20%/50%/0%"
        );
        assert_eq!(parse("loss=0").unwrap(), LinkSpec::default());
        assert_eq!(parse("loss=0.57 %").unwrap().up.loss.mean(), 0.0057);
    }

    #[test]
    fn a_profile_takes_overrides() {
        let link = parse("3g,loss=1%,up=1mbit").unwrap();
        assert_eq!(link.to_string(), "1.6/1 Mbit/s, RTT 300 ms, queue 60 kB, loss 1 %");
    }

    #[test]
    fn a_queue_in_bdps_follows_rate_and_round_trip() {
        let link = parse("rtt=100ms,rate=12mbit,queue=1.5bdp").unwrap();
        assert_eq!(link.queue_limit(trace::Direction::Up), Some(unit::ByteSize(225_000)));
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let told = |text| parse(text).unwrap_err().to_string();
        assert_eq!(told("wfi"), "there is no link `wfi`; did you mean `wifi`?");
        // As near to `4g` as to `3g`: which was meant is not known.
        assert_eq!(told("5g"), "there is no link `5g`");
        let error = parse("3g,lost=1%").unwrap_err();
        assert_eq!(error.to_string(), "a link has no setting `lost`; did you mean `loss`?");
        let error = parse("3g,foo=1").unwrap_err().to_string();
        assert!(error.starts_with("a link has no setting `foo`: it is one of rtt, "), "{error}");
    }

    #[test]
    fn contradictions_and_repeats_are_refused() {
        let conflict = |first, second| SpecError::Conflict { first, second };
        assert_eq!(parse("rtt=1ms,delay_up=3ms").unwrap_err(), conflict("rtt", "delay_up"));
        assert_eq!(parse("trace_up=lte.up,up=1mbit").unwrap_err(), conflict("trace_up", "up"));
        assert_eq!(parse("rtt=1ms,rtt=1ms").unwrap_err(), SpecError::Repeated { key: "rtt" });
    }

    #[test]
    fn a_bad_trace_names_file_and_line() {
        let error = parse("trace_up=bad").unwrap_err();
        assert_eq!(
            error.to_string(),
            "in the trace file bad: line 2: `x` is not a whole number of milliseconds"
        );
        let error = parse("trace_up=absent").unwrap_err();
        assert_eq!(error.to_string(), "cannot read the trace file absent: no such file");
    }

    #[test]
    fn bursts_queues_policers_and_events_are_read_and_told() {
        for (text, told) in [
            ("loss=1%/8", "loss 1 % in bursts of 8 packets"),
            ("loss=0.1%/20%/50%/0%", "loss 0 % or 50 % (Gilbert-Elliott, p 0.1 %, r 20 %)"),
            ("reorder=2%/3", "order of 2 % held back by 3 packets"),
            ("reorder_up=2%/5ms", "order of 2 % held back by 5 ms up"),
            ("policer_down=5mbit/64kB", "policer 5 Mbit/s with bursts of 64 kB down"),
            ("udp=blocked", "UDP blocked"),
            ("udp_rate=2mbit", "UDP 2 Mbit/s with bursts of 64 kB"),
            ("rebind=2s", "near's ports change after 2000 ms"),
            ("rebind=2min", "near's ports change after 120000 ms"),
        ] {
            let link = parse(text).unwrap();
            assert_eq!(link.to_string(), format!("no rate limit, RTT 0 ms, {told}"));
            assert_eq!(parse(&link.canonical()).unwrap(), link, "{text}");
        }
        for (text, told) in [
            ("3g,aqm=fq_codel", "FQ-CoDel with ECN"),
            ("3g,aqm=codel/drop", "CoDel without ECN"),
            ("3g,aqm=codel/20ms/200ms", "CoDel 20 ms of 200 ms with ECN"),
        ] {
            let link = parse(text).unwrap();
            assert!(link.to_string().ends_with(&format!("queue 60 kB, {told}")), "{link}");
            assert_eq!(parse(&link.canonical()).unwrap(), link, "{text}");
        }
    }

    #[test]
    fn a_tcp_proxy_divides_the_delay_and_leaves_the_bottleneck_before_it() {
        let whole = parse("4g,loss=1%,queue=1bdp,split_tcp=256kB/80%").unwrap();
        let [near, far] = whole.halves().unwrap();
        assert_eq!(near.rtt() + far.rtt(), whole.rtt());
        assert_eq!(near.rtt(), whole.rtt().mul_f64(0.8));
        let queue = |link: &LinkSpec| link.queue_limit(trace::Direction::Down);
        assert_eq!(queue(&near), queue(&whole));
        assert_eq!((near.down.loss.mean(), near.split_tcp), (0.01, None));
        assert!(far.only_delays() && !whole.only_delays() && near.halves().is_none());
        assert!(
            whole.to_string().ends_with("TCP ended by a proxy of 256 kB behind 80 % of the delay")
        );
        assert_eq!(parse(&whole.canonical()).unwrap(), whole);
        let midway = parse("rtt=100ms,split_tcp=64kB").unwrap().halves().unwrap();
        assert_eq!(midway[0].rtt(), midway[1].rtt());
        assert_eq!(parse("3g,split_tcp=none").unwrap(), parse("3g").unwrap());
    }

    #[test]
    fn a_link_only_delays_where_no_packet_can_fare_otherwise_than_its_neighbour() {
        for text in ["rtt=4ms", "delay_up=4ms", "rtt=4ms,reorder=yes", "rtt=4ms,loss=0%"] {
            assert!(parse(text).unwrap().only_delays(), "{text}");
        }
        for what in [
            "jitter=2ms",
            "jitter_up=2ms",
            "jitter_down=1ns,reorder=yes",
            "rate=1gbit",
            "loss_down=1%",
            "policer=5mbit",
            "udp=blocked",
            "reorder=1%/3",
            "rebind=2s",
            "split_tcp=64kB",
        ] {
            assert!(!parse(&format!("rtt=4ms,{what}")).unwrap().only_delays(), "{what}");
        }
    }

    #[test]
    fn bad_bursts_queues_and_policers_are_refused() {
        for text in [
            "loss=1%/0.5",
            "loss=90%/2",
            "loss=1%/",
            "loss=1%/2/3",
            "reorder=2%",
            "reorder=2%/0",
            "reorder=5ms/2%",
            "reorder=1%/2min",
            "3g,aqm=red",
            "3g,aqm=codel/5ms",
            "3g,aqm=codel/100ms/5ms",
            "3g,aqm=codel/0ms/5ms",
            "policer=64kB/5mbit",
            "policer=5mbit/100B",
            "split_tcp=50%",
            "split_tcp=1kB",
            "split_tcp=64kB/2",
            "split_tcp=64kB/50%/1",
            "udp=maybe",
        ] {
            assert!(matches!(parse(text), Err(SpecError::BadValue { .. })), "{text}");
        }
        let conflict = SpecError::Conflict { first: "udp", second: "udp_rate" };
        assert_eq!(parse("udp=blocked,udp_rate=1mbit").unwrap_err(), conflict);
        assert_eq!(parse("aqm=codel").unwrap_err(), SpecError::NeedsRate { key: "aqm" });
        assert!(parse("down=1mbit,aqm_down=codel").is_ok());
    }

    #[test]
    fn a_bad_value_names_its_setting() {
        let error = parse("queue=many").unwrap_err();
        assert_eq!(error.to_string(), "in `queue=`: `many` is not a queue such as 64kB or 1.5bdp");
        for text in ["reorder=1%/11s", "3g,aqm=codel/5ms/11s"] {
            assert!(parse(text).unwrap_err().to_string().contains("at most 10s"), "{text}");
        }
    }
}
