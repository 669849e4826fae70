//! What the system says of a process: its memory, its descriptors, its share of a processor.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Of a processor, over an interval in which there is next to nothing to do. Whoever spins takes as much as others on
/// the machine leave it, which is more on a machine that two cores have; whoever does not takes a hundredth.
const SPIN: f64 = 0.25;

/// A process of somebody else's.
#[derive(Debug, Clone)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    /// Bytes of its own that lie in memory.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(self.file("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        kilobytes * 1024
    }

    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(self.file("fd")).unwrap().count()
    }

    /// Those that are sockets.
    pub(crate) fn sockets(&self) -> usize {
        let links = fs::read_dir(self.file("fd")).unwrap();
        let names = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        names.filter(|name| name.to_string_lossy().starts_with("socket:")).count()
    }

    /// For an interval in which there is next to nothing to do: it takes next to no processor time. On a machine whose
    /// clock ticks are hundredths of a second, both clocks are read from /proc.
    pub(crate) fn rests(&self, during: impl FnOnce()) {
        let before = (self.ticks(), uptime());
        during();
        let (taken, passed) = (self.ticks() - before.0, uptime() - before.1);
        let share = taken as f64 / 100.0 / passed;
        assert!(share < SPIN, "it takes {share:.2} of a processor and has nothing to do");
    }

    /// Processor time so far, in hundredths of a second: proc_pid_stat(5), fields 14 and 15.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(self.file("stat")).unwrap();
        let after_name = stat.rsplit(')').next().unwrap();
        let fields: Vec<u64> =
            after_name.split_whitespace().skip(11).take(2).map(|f| f.parse().unwrap()).collect();
        fields.iter().sum()
    }

    fn file(&self, name: &str) -> PathBuf {
        ["/proc", &self.0.to_string(), name].iter().collect()
    }
}

fn uptime() -> f64 {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Asks again and again until it is so; half a minute is for ever.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}
