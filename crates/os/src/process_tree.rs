//! Processor time and memory of a process and of everything that it started, and whether a process group still lives, read
//! from /proc while they run.

use crate::clock::TICK;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// The greatest resident sets of `root` and of all its living descendants, added up, in bytes. This is an upper bound:
/// each had its greatest at a time of its own, and shared pages count for each process.
pub fn peak_resident(root: u32) -> u64 {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in processes() {
        if let Some(parent) = field(pid, "PPid:") {
            children.entry(parent as u32).or_default().push(pid);
        }
    }
    let (mut sum, mut left) = (0, vec![root]);
    while let Some(pid) = left.pop() {
        sum += field(pid, "VmHWM:").unwrap_or(0) * 1024;
        // Taken out, so that a reused process number cannot make a circle.
        left.extend(children.remove(&pid).unwrap_or_default());
    }
    sum
}

/// Whether a process of this group runs. Those that have ended and that nobody has waited for do not count.
pub fn lives_in_group(group: u32) -> bool {
    processes().filter_map(Stat::of).any(|stat| stat.group == group && stat.is_alive)
}

/// The numbers of all processes that /proc shows.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Processor time of `root` and of everything that it started: the living processes and those that were waited for.
/// None where the kernel does not list children (CONFIG_PROC_CHILDREN).
pub fn cpu_time(root: u32) -> Option<Duration> {
    const LOOKS: u32 = 10;
    let mut ticks = 0;
    for _ in 0..LOOKS {
        let before = Stat::of(root)?.waited_for;
        ticks = tree_ticks(root)?;
        // A child that was reaped meanwhile is in neither sum, or in both.
        if Stat::of(root)?.waited_for == before {
            break;
        }
    }
    Some(TICK * ticks)
}

fn tree_ticks(root: u32) -> Option<u32> {
    let (mut sum, mut left) = (0, children(root)?);
    left.push(root);
    while let Some(pid) = left.pop() {
        // A process may end at any moment.
        let Some(stat) = Stat::of(pid) else { continue };
        sum += stat.ticks + stat.waited_for;
        if pid != root {
            left.extend(children(pid).unwrap_or_default());
        }
    }
    Some(sum)
}

/// The children of `pid`, started by any of its threads.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.filter_map(Result::ok) {
        let text = match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => text,
            // Gone, or never there.
            Err(_) if thread.path().exists() => return None,
            Err(_) => continue,
        };
        children.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(children)
}

/// What /proc/PID/stat says of a process (proc_pid_stat(5)).
struct Stat {
    /// Whether it has not ended.
    is_alive: bool,
    group: u32,
    /// Its processor time, in ticks.
    ticks: u32,
    /// That of the children that it has waited for, with theirs.
    waited_for: u32,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in brackets, may contain anything. The state follows it, as the third field.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u32>().ok();
        Some(Self {
            is_alive: !matches!(*fields.first()?, "Z" | "X"),
            group: number(2)?,
            ticks: number(11)? + number(12)?,
            waited_for: number(13)? + number(14)?,
        })
    }
}

fn field(pid: u32, name: &str) -> Option<u64> {
    // A process may end at any moment.
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn what_a_child_started_counts_too() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & echo there; wait"]).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut there = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut there).unwrap();
        let whole = peak_resident(child.id());
        let alone = field(child.id(), "VmHWM:").unwrap() * 1024;
        assert!(whole > alone && alone > 0, "{whole} {alone}");
        let sleeper =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        Command::new("kill").arg(sleeper.trim()).status().unwrap();
        child.wait().unwrap();
        assert_eq!(peak_resident(child.id()), 0);
    }
    #[test]
    fn processor_time_counts_while_children_live_and_when_they_were_waited_for() {
        // Counts far enough to take some ticks, then says so and waits.
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; read line";
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("({work})")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let Some(of_child) = cpu_time(child.id()) else {
            child.wait().unwrap();
            return testing::skip("this kernel does not tell who started whom");
        };
        assert!(of_child > Duration::ZERO);
        let before = cpu_time(std::process::id()).unwrap();
        assert!(before >= of_child, "{before:?} {of_child:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        let after = cpu_time(std::process::id()).unwrap();
        assert!(after >= before, "{after:?} {before:?}: what was waited for is not lost");
        assert_eq!(cpu_time(child.id()), None);
    }
}
