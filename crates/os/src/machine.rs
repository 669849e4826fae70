//! Processor time of the whole machine, for all programs, from /proc (proc(5), Documentation/accounting/psi).

use crate::process::CpuSet;
use std::fs;
use std::time::Duration;

/// Processor time of some or all cores together since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// In programs and for them in the kernel.
    pub busy: Duration,
    /// With nothing to do.
    pub idle: Duration,
    /// Time in interrupts. It is charged to no process: packets of every program are handled there.
    pub interrupts: Duration,
    /// Time that the host of a virtual machine gave to other guests (steal).
    pub stolen: Duration,
}

/// How long at least one task waited for a processor. A moment counts once, however many tasks waited. None where the
/// kernel does not tell.
pub fn cpu_pressure() -> Option<Duration> {
    pressure(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

impl CpuTimes {
    /// The unit of /proc/stat and of /proc/PID/stat: USER_HZ is 100 wherever wirelap runs.
    pub const TICK: Duration = Duration::from_millis(10);

    /// The values so far of these CPUs; None where the kernel does not tell.
    pub fn read(cpus: &CpuSet) -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?, cpus)
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            interrupts: self.interrupts.saturating_sub(earlier.interrupts),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// All of it.
    pub fn all(self) -> Duration {
        self.busy + self.idle + self.interrupts + self.stolen
    }

    /// The sum of the lines of these CPUs; the line of all of them where any is meant.
    fn parse(text: &str, cpus: &CpuSet) -> Option<Self> {
        let line = |name: &str| {
            text.lines()
                .find_map(|line| Self::parse_line(line.strip_prefix(name)?.strip_prefix(' ')?))
        };
        if cpus.as_slice().is_empty() {
            return line("cpu");
        }
        cpus.as_slice().iter().try_fold(Self::default(), |sum, cpu| {
            let one = line(&format!("cpu{cpu}"))?;
            Some(Self {
                busy: sum.busy + one.busy,
                idle: sum.idle + one.idle,
                interrupts: sum.interrupts + one.interrupts,
                stolen: sum.stolen + one.stolen,
            })
        })
    }

    fn parse_line(line: &str) -> Option<Self> {
        let fields = line.split_whitespace();
        let ticks: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
        // Guests' time, from the ninth field on, is included in user time already.
        let [user, nice, system, idle, waiting, hard, soft, stolen] = *ticks.first_chunk()?;
        let time = |ticks: &[u32]| ticks.iter().map(|ticks| Self::TICK * *ticks).sum();
        Some(Self {
            busy: time(&[user, nice, system]),
            idle: time(&[idle, waiting]),
            interrupts: time(&[hard, soft]),
            stolen: time(&[stolen]),
        })
    }
}

fn pressure(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Cpu;

    #[test]
    fn each_kind_of_time_stands_in_its_place() {
        let text = "cpu  100 20 30 4000 50 6 7 8 90 10\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu10 9 9 9 9 9 9 9 9 9 9\n";
        let times = CpuTimes::parse(text, &CpuSet::any()).unwrap();
        let millis = |time: Duration| time.as_millis();
        assert_eq!((millis(times.busy), millis(times.idle)), (1500, 40_500));
        assert_eq!((millis(times.interrupts), millis(times.stolen)), (130, 80));
        assert_eq!(times.since(times), CpuTimes::default());
        let cpus =
            |numbers: &[usize]| numbers.iter().copied().map(Cpu::of_test).collect::<CpuSet>();
        assert_eq!(
            CpuTimes::parse(text, &cpus(&[0, 10])).map(|times| millis(times.busy)),
            Some(330)
        );
        assert_eq!(CpuTimes::parse(text, &cpus(&[1])), None);
        for other in ["", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 1 2 3 4 5 6 7 8"] {
            assert_eq!(CpuTimes::parse(other, &CpuSet::any()), None, "{other:?}");
        }
    }

    #[test]
    fn this_machine_tells_what_its_processors_did() {
        assert!(CpuTimes::read(&CpuSet::allowed()).unwrap().all() > Duration::ZERO);
        let text = "some avg10=3.71 avg60=31.34 avg300=60.51 total=12512551865\nfull avg10=0.00\n";
        assert_eq!(pressure(text), Some(Duration::from_micros(12_512_551_865)));
        assert_eq!(pressure("full total=1"), None);
    }
}
