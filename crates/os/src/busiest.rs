//! Which programs take processor time, read from /proc (proc(5)).

use crate::clock::TICK;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// Processor time of the processes that live, by number.
#[derive(Debug, Clone, Default)]
pub struct ProcessTimes(BTreeMap<u32, Process>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    time: Duration,
}

impl ProcessTimes {
    /// So far, of every process but this one.
    pub fn read() -> Self {
        let all = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = numbers.filter(|number| *number != std::process::id());
        // A process may end at any moment.
        let read = |number| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
            Some((number, Process::parse(&stat)?))
        };
        Self(others.filter_map(read).collect())
    }

    /// The program that took most since `earlier`, with what it took; all processes of one name together. None where none
    /// took any.
    pub fn busiest_since(&self, earlier: &Self) -> Option<(String, Duration)> {
        let mut names: BTreeMap<&str, Duration> = BTreeMap::new();
        for (number, process) in &self.0 {
            let before = earlier.0.get(number).map_or(Duration::ZERO, |before| before.time);
            *names.entry(&process.name).or_default() += process.time.saturating_sub(before);
        }
        let (name, time) = names.into_iter().max_by_key(|(_, time)| *time)?;
        (!time.is_zero()).then(|| (name.to_owned(), time))
    }
}

impl Process {
    fn parse(stat: &str) -> Option<Self> {
        // The name, in brackets, may hold anything, brackets too.
        let (before, fields) = stat.rsplit_once(')')?;
        let name = before.split_once('(')?.1;
        // From the state on, which is the third field, utime is the 12th and stime the 13th.
        let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u32>);
        let mut next = || ticks.next()?.ok();
        Some(Self { name: name.to_owned(), time: TICK * (next()? + next()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, ticks: u32) -> Process {
        let line = format!("7 ({name}) R 1 7 7 0 -1 4194304 1 0 0 0 {ticks} 5 0 0 20 0 1 0 9");
        Process::parse(&line).unwrap()
    }

    #[test]
    fn the_busiest_program_is_told_by_its_name_with_all_its_processes() {
        let before = ProcessTimes([(1, stat("java", 900)), (2, stat("cc", 0))].into());
        let after =
            ProcessTimes([(1, stat("java", 930)), (2, stat("cc", 20)), (3, stat("cc", 20))].into());
        let cc = Duration::from_millis(10) * (20 + 20 + 5);
        assert_eq!(after.busiest_since(&before), Some(("cc".to_owned(), cc)));
        assert_eq!(before.busiest_since(&before), None);
    }

    #[test]
    fn a_name_may_hold_brackets_and_blanks() {
        assert_eq!(stat("tmux: (a) b", 1).name, "tmux: (a) b");
        assert_eq!(Process::parse("no brackets"), None);
        assert!(!ProcessTimes::read().0.is_empty());
    }
}
