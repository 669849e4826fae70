//! Reading a link from the command line: `3g`, `rtt=60ms,down=10mbit,loss=0.5%`, `3g,loss=1%`. The one
//! rule: nothing is guessed or ignored; an error names the item and the values that it can have.

use crate::profile::{find, profiles};
use crate::schedule::{Schedule, ScheduleError};
use crate::spec::{Bottleneck, LinkSpec, Order, PathSpec, Queue};
use std::sync::Arc;
use std::time::Duration;
use unit::{ByteSize, ParseError, Probability, parse_duration};

/// A text that is not a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A profile that does not exist.
    #[error("there is no link `{name}`; did you mean `{}`?", candidates.first().copied().unwrap_or("lan"))]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// Every profile's name, the nearest first.
        candidates: Vec<&'static str>,
    },
    /// A setting that does not exist.
    #[error("a link has no setting `{key}`; did you mean `{}`?", candidates.first().copied().unwrap_or("rtt"))]
    UnknownKey {
        /// What stands before the `=`.
        key: String,
        /// Every setting, the nearest first.
        candidates: Vec<&'static str>,
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
    #[error("`{key}=` stands there twice")]
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
        mut load: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, SpecError> {
        let mut items = text.split(',').map(str::trim).peekable();
        let mut link = match items.next_if(|first| !first.contains('=')) {
            Some(name) => find(name).ok_or_else(|| unknown_profile(name))?.spec(),
            None => Self::default(),
        };
        let mut given: Vec<(Setting, &str)> = Vec::new();
        for item in items {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let setting = Setting::find(key.trim()).ok_or_else(|| unknown_key(key.trim()))?;
            check_against(setting, &given)?;
            given.push((setting, value.trim()));
        }
        // Settings for both directions come first, so that those for one direction replace them.
        given.sort_by_key(|(setting, _)| setting.ways != Ways::Both);
        for (setting, value) in given {
            setting.apply(value, &mut link, &mut load)?;
        }
        Ok(link)
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

const SETTINGS: [Setting; 22] = [
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
        let new = self.read(value, load)?;
        for path in self.paths(link) {
            new(path);
        }
        Ok(())
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
            What::Rtt | What::Delay => {
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

fn parse_queue(value: &str) -> Result<Queue, ParseError> {
    const EXPECTED: &str = "a queue such as 64kB or 1.5bdp";
    let error = || ParseError::new(value, EXPECTED);
    match value.to_ascii_lowercase().strip_suffix("bdp") {
        None => value.parse::<ByteSize>().map(Queue::Bytes).map_err(|_| error()),
        Some(number) => {
            let multiple: f64 = number.trim().parse().map_err(|_| error())?;
            let sane = multiple.is_finite() && multiple.is_sign_positive();
            sane.then_some(Queue::Bdp(multiple)).ok_or_else(error)
        }
    }
}

/// In per cent. A bare `1` is ambiguous: one packet in a hundred, or every packet.
fn parse_loss(value: &str) -> Result<Probability, ParseError> {
    const EXPECTED: &str =
        "a share in per cent: 1% loses one packet in a hundred, 100% every packet";
    let error = || ParseError::new(value, EXPECTED);
    let Some(number) = value.strip_suffix('%') else {
        return if value == "0" { Ok(Probability::ZERO) } else { Err(error()) };
    };
    let number = number.trim_end();
    if number.contains(|c: char| !c.is_ascii_digit() && c != '.') {
        return Err(error());
    }
    // The exponent shifts the decimal point, so that 0.57% is exactly 0.0057.
    let fraction = format!("{number}e-2").parse().map_err(|_| error())?;
    Probability::new(fraction).ok_or_else(error)
}

fn parse_order(value: &str) -> Result<Order, ParseError> {
    match value {
        "yes" => Ok(Order::Free),
        "no" => Ok(Order::Kept),
        _ => Err(ParseError::new(value, "yes or no")),
    }
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
        if rtt_and_delay || (rate_and_trace && old.ways == new.ways) {
            return Err(SpecError::Conflict { first: old.key, second: new.key });
        }
    }
    Ok(())
}

fn unknown_profile(name: &str) -> SpecError {
    let names = profiles().iter().map(|profile| profile.name).collect();
    SpecError::UnknownProfile { name: name.to_owned(), candidates: nearest_first(name, names) }
}

fn unknown_key(key: &str) -> SpecError {
    let keys = SETTINGS.iter().map(|setting| setting.key).collect();
    SpecError::UnknownKey { key: key.to_owned(), candidates: nearest_first(key, keys) }
}

fn nearest_first(word: &str, mut words: Vec<&'static str>) -> Vec<&'static str> {
    words.sort_by_key(|other| edit_distance(word, other));
    words
}

/// Levenshtein's distance, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.chars().count()]
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
        assert_eq!(link.up.loss.fraction(), 0.02);
        assert_eq!(link.down.loss.fraction(), 0.01);
        assert_eq!(link.rtt(), Duration::from_millis(5));
    }

    #[test]
    fn a_loss_without_its_unit_is_refused_with_the_way_out() {
        for text in ["3g,loss=1", "loss=0.005", "loss_up=1", "loss=101%", "loss=%", "loss=1e1%"] {
            assert!(matches!(parse(text), Err(SpecError::BadValue { .. })), "{text}");
        }
        assert_eq!(
            parse("loss=1").unwrap_err().to_string(),
            "in `loss=`: `1` is not a share in per cent: 1% loses one packet in a hundred, 100% every packet"
        );
        assert_eq!(parse("loss=0").unwrap(), LinkSpec::default());
        assert_eq!(parse("loss=0.57 %").unwrap().up.loss.fraction(), 0.0057);
    }

    #[test]
    fn a_profile_takes_overrides() {
        let link = parse("3g,loss=1%,up=1mbit").unwrap();
        assert_eq!(link.to_string(), "1.6/1 Mbit/s, RTT 300 ms, queue 60 kB, loss 1 %");
    }

    #[test]
    fn a_queue_in_bdps_follows_rate_and_round_trip() {
        let link = parse("rtt=100ms,rate=12mbit,queue=1.5bdp").unwrap();
        assert_eq!(link.queue_limit(trace::Direction::Up), Some(ByteSize(225_000)));
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let error = parse("5g").unwrap_err();
        assert!(matches!(&error, SpecError::UnknownProfile { candidates, .. }
            if ["4g", "3g"].contains(&candidates[0])));
        let error = parse("3g,lost=1%").unwrap_err();
        assert_eq!(error.to_string(), "a link has no setting `lost`; did you mean `loss`?");
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
    fn a_bad_value_names_its_setting() {
        let error = parse("queue=many").unwrap_err();
        assert_eq!(error.to_string(), "in `queue=`: `many` is not a queue such as 64kB or 1.5bdp");
    }
}
