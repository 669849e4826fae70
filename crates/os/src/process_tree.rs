//! What a process and all that it started take, read from /proc while they live.

use std::collections::BTreeMap;
use std::fs;

/// Greatest resident sets of `root` and of all its descendants that live now, added up, in octets. Each had its
/// own at a time of its own, and pages that they share count for each: an upper bound of what they held together.
pub fn peak_resident(root: u32) -> u64 {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = field(pid, "PPid:") {
            children.entry(parent as u32).or_default().push(pid);
        }
    }
    let (mut sum, mut left) = (0, vec![root]);
    while let Some(pid) = left.pop() {
        sum += field(pid, "VmHWM:").unwrap_or(0) * 1024;
        // Taken out, so that numbers used again meanwhile cannot make a circle.
        left.extend(children.remove(&pid).unwrap_or_default());
    }
    sum
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
}
