//! Waits until the machine is quiet enough to race. Otherwise a race could take minutes before the audit rejects its
//! trials.

use crate::console;
use crate::error::CliError;
use os::busiest::ProcessTimes;
use os::machine::CpuTimes;
use os::process::CpuSet;
use os::signal::Interrupts;
use std::fmt;
use std::time::Duration;

/// Whether a race waits for a busy machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Up to [`LONGEST_WAIT`].
    Wait,
    /// It says so and goes on.
    GoOn,
}

/// As long as a build takes, or a browser to start.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The first look: a quiet machine is not kept waiting for longer.
const GLANCE: Duration = Duration::from_millis(300);
/// The looks of who waits.
const LOOK: Duration = Duration::from_secs(1);
/// So many in a row must find it quiet.
const QUIET_LOOKS: u32 = 2;
/// What others may take beyond the cores that a trial does not need, in cores.
const SPARE: f64 = 0.5;

/// Looks whether other programs take processors that trials need; prints which, and waits where `patience` says so. Goes on in
/// any case: each trial is audited by itself, links that are slow bear a busy machine, and counts are not changed by it.
pub(crate) fn wait(patience: Patience, interrupts: &Interrupts) -> Result<(), CliError> {
    wait_with(patience, look, console::note, || interrupts.count() > 0)
}

fn wait_with(
    patience: Patience,
    mut look: impl FnMut(Duration) -> Option<Busy>,
    mut tell: impl FnMut(&str),
    is_interrupted: impl Fn() -> bool,
) -> Result<(), CliError> {
    let Some(mut busy) = look(GLANCE) else { return Ok(()) };
    let stopped = || CliError::interrupted("nothing has run yet");
    if is_interrupted() {
        return Err(stopped());
    }
    if patience == Patience::GoOn {
        tell(&format!("busy: {busy}; {GOING_ON}"));
        return Ok(());
    }
    let most = LONGEST_WAIT.as_secs() / 60;
    tell(&format!("busy: {busy}; waiting up to {most} min, --no-wait to go on"));
    let mut quiet = 0;
    for _ in 0..LONGEST_WAIT.as_secs() {
        let found = look(LOOK);
        if is_interrupted() {
            return Err(stopped());
        }
        match found {
            None => quiet += 1,
            Some(other) => (busy, quiet) = (other, 0),
        }
        if quiet == QUIET_LOOKS {
            tell("quiet now");
            return Ok(());
        }
    }
    tell(&format!("still busy after {most} min: {busy}; {GOING_ON}"));
    Ok(())
}

/// What is said where nobody waits any longer.
const GOING_ON: &str = "going on: counts (round trips, connections, bytes) are judged, times only where the audit lets trials \
                        pass; a workload on a link whose first four blocks are all refused ends there";

/// Who keeps trials from their cores.
#[derive(Debug, Clone, PartialEq)]
struct Busy {
    /// Cores that all others take.
    cores: f64,
    /// The program that takes most, and how much of a core.
    busiest: Option<(String, f64)>,
    /// Cores among them that a virtual machine's host gave to others.
    stolen: f64,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |cores: f64| format!("{:.0} % of a core", cores * 100.0);
        match &self.busiest {
            _ if self.stolen * 2.0 > self.cores => {
                write!(f, "this virtual machine's host takes {}", percent(self.stolen))
            }
            Some((name, own)) if *own * 2.0 > self.cores => {
                write!(f, "{} takes {}", unit::escape(name), percent(*own))
            }
            _ => write!(f, "other programs together take {}", percent(self.cores)),
        }
    }
}

/// Looks for so long, while this process does nothing.
fn look(span: Duration) -> Option<Busy> {
    let cpus = CpuSet::of_process(std::process::id());
    let (times, processes) = (CpuTimes::read(&cpus)?, ProcessTimes::read());
    let began = os::clock::now();
    rest(span);
    let seconds = os::clock::now().since(began).as_secs_f64();
    let spent = CpuTimes::read(&cpus)?.since(times);
    let stolen = spent.stolen.as_secs_f64() / seconds;
    let busiest = ProcessTimes::read().busiest_since(&processes);
    let busy = Busy {
        cores: (spent.busy + spent.interrupts).as_secs_f64() / seconds + stolen,
        busiest: busiest.map(|(name, time)| (name, time.as_secs_f64() / seconds)),
        stolen,
    };
    is_too_much(&busy, crate::machine::cores()).then_some(busy)
}

/// Who takes processors that trials need, in words; None on a quiet machine.
pub(crate) fn who_is_busy() -> Option<String> {
    look(GLANCE).map(|busy| busy.to_string())
}

/// Sleeps for so long, or until an interrupt comes.
fn rest(span: Duration) {
    let end = os::clock::now() + span;
    loop {
        let left = end.since(os::clock::now());
        if left.is_zero() || os::signal::is_interrupted() {
            return;
        }
        std::thread::sleep(left.min(LONGEST_NAP));
    }
}

/// An interrupt is heeded after so long.
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// A trial needs three cores where there are as many: for the link, the client and the server.
fn is_too_much(busy: &Busy, cores: u32) -> bool {
    let unused = f64::from(cores.saturating_sub(3));
    busy.cores > unused + SPARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn java() -> Busy {
        Busy { cores: 0.75, busiest: Some(("java".to_owned(), 0.7)), stolen: 0.0 }
    }

    /// What is printed where the first `busy` looks find java.
    fn told(patience: Patience, busy: u32) -> (Vec<String>, Duration) {
        let (texts, waited, looks) =
            (RefCell::new(Vec::new()), RefCell::new(Duration::ZERO), RefCell::new(0));
        let look = |span| {
            *waited.borrow_mut() += span;
            *looks.borrow_mut() += 1;
            (*looks.borrow() <= busy).then(java)
        };
        let tell = |text: &str| texts.borrow_mut().push(text.to_owned());
        wait_with(patience, look, tell, || false).unwrap();
        (texts.into_inner(), waited.into_inner())
    }

    #[test]
    fn who_is_busy_is_told_at_once_and_waited_for() {
        assert_eq!(told(Patience::Wait, 0), (Vec::new(), GLANCE));
        let (texts, waited) = told(Patience::Wait, 5);
        let first = "busy: java takes 70 % of a core; waiting up to 2 min, --no-wait to go on";
        assert_eq!(texts, [first, "quiet now"]);
        assert_eq!(waited, GLANCE + LOOK * 6);
    }

    #[test]
    fn the_wait_ends_and_says_what_will_be_judged() {
        let (texts, waited) = told(Patience::Wait, u32::MAX);
        assert_eq!(waited, GLANCE + LONGEST_WAIT);
        assert!(
            texts[1]
                .starts_with("still busy after 2 min: java takes 70 % of a core; going on: counts")
        );
        let (texts, waited) = told(Patience::GoOn, u32::MAX);
        assert_eq!((texts.len(), waited), (1, GLANCE));
        assert!(texts[0].starts_with("busy: java takes 70 % of a core; going on"), "{texts:?}");
    }

    #[test]
    fn a_wait_can_be_interrupted() {
        let stopped = wait_with(Patience::Wait, |_| Some(java()), |_| (), || true).unwrap_err();
        assert!(stopped.to_string().starts_with("stopped: nothing has run yet"));
    }

    #[test]
    fn what_trials_do_not_need_others_may_take() {
        assert!(is_too_much(&java(), 2) && is_too_much(&java(), 3));
        assert!(!is_too_much(&java(), 4));
        assert!(!is_too_much(&Busy { cores: 0.4, ..java() }, 2));
    }

    #[test]
    fn many_small_ones_are_told_together() {
        let many = Busy { cores: 1.3, busiest: Some(("cc".to_owned(), 0.3)), stolen: 0.1 };
        assert_eq!(many.to_string(), "other programs together take 130 % of a core");
        let stolen = Busy { stolen: 0.8, ..many };
        assert_eq!(stolen.to_string(), "this virtual machine's host takes 80 % of a core");
    }
}
