//! What the contender over TCP waited for that the one over QUIC did not, or the other way round: the parts of their median
//! loads, set against each other. The one rule: where no verdict stands between the two, nothing is said.

use crate::Report;
use crate::number;
use crate::overview::{Group, has_rate, has_recorded_gaps};
use crate::words::{handshakes, listed};
use study::comparison::Verdict;
use study::deciding_metric;
use study::experiment::{Transport, WorkloadKind};
use study::metric;
use study::reconcile::{Parts, Wait, WaySummary};
use study::result::{CellResult, MedianTrial};
use unit::{ByteSize, counted};

/// `h2's median trial takes 385 ms longer than h3's: 305 ms in handshakes (2 round trips against 1) and 120 ms in loss recovery (…); h3 waits longer
/// by 40.0 ms in window growth and 20.0 ms in all else`. Where they tie, what one saves and the other one saves. None where no HTTP/3 is beside TCP.
pub(crate) fn waits(report: &Report<'_>, group: &Group<'_>) -> Option<String> {
    // A stream's verdict is on its first token, and its load has all of them.
    if matches!(group.workload.kind, WorkloadKind::Stream(_)) || group.workload.is_paced() {
        return None;
    }
    let quic = Load::fastest(report, group, Transport::is_over_quic)?;
    let counterpart = match quic.cell.contender.transport {
        Transport::WebSocketH3 => Transport::WebSocketH2,
        _ => Transport::H2,
    };
    let tcp = Load::fastest(report, group, |transport| transport == counterpart)
        .or_else(|| Load::fastest(report, group, |transport| !transport.is_over_quic()))?;
    let (slow, fast) =
        if tcp.median.load_ms >= quic.median.load_ms { (tcp, quic) } else { (quic, tcp) };
    let is_level = match verdict(group, slow.name(), fast.name())? {
        Verdict::Slower => false,
        Verdict::Tie => true,
        _ => return None,
    };
    // The parts are those of the whole load, where the verdict may be on a part of it.
    let is_of_load = matches!(deciding_metric(group.workload), metric::LOAD_MS | metric::TOTAL_MS);
    Compared { slow, fast, is_of_load }.sentence(is_level)
}

/// The verdict on `of` against `other`.
fn verdict(group: &Group<'_>, of: &str, other: &str) -> Option<Verdict> {
    let pairs = &group.verdicts?.pairs;
    let pair = pairs
        .iter()
        .find(|pair| [(&*pair.a, &*pair.b), (&*pair.b, &*pair.a)].contains(&(of, other)))?;
    Some(match pair.comparison.verdict {
        Verdict::Faster if pair.a != of => Verdict::Slower,
        Verdict::Slower if pair.a != of => Verdict::Faster,
        verdict => verdict,
    })
}

/// A cell's median load with its parts.
#[derive(Clone, Copy)]
struct Load<'a> {
    cell: &'a CellResult,
    median: &'a MedianTrial,
    parts: Parts,
    /// What the link let through to the client and what not.
    down: WaySummary,
}

impl<'a> Load<'a> {
    /// That of the fastest contender whose transport is meant.
    fn fastest(
        report: &Report<'a>,
        group: &Group<'a>,
        is_meant: impl Fn(Transport) -> bool,
    ) -> Option<Self> {
        group.fastest_first().into_iter().find_map(|cell| {
            let median = cell.median_trial.as_ref()?;
            let parts = median.parts.filter(|_| is_meant(cell.contender.transport))?;
            let down = report.median_row(cell).map(|row| row.packets.down).unwrap_or_default();
            Some(Self { cell, median, parts, down })
        })
    }

    fn name(&self) -> &'a str {
        &self.cell.contender.name
    }

    fn dropped(&self) -> u64 {
        let WaySummary { lost, queue_full, aqm_dropped, refused, .. } = self.down;
        lost + queue_full + aqm_dropped + refused
    }
}

struct Compared<'a> {
    slow: Load<'a>,
    fast: Load<'a>,
    /// Whether the verdict is on the time of the load.
    is_of_load: bool,
}

impl Compared<'_> {
    fn sentence(&self, is_level: bool) -> Option<String> {
        let waits = self.slow.parts.longer_than(&self.fast.parts);
        let most = waits.first()?.1.unsigned_abs();
        let is_told = |longer: i64| longer.unsigned_abs() * LEAST_SHARE >= most;
        let told_waits = |sign: i64| {
            let told =
                waits.iter().filter(move |(_, longer)| longer.signum() == sign && is_told(*longer));
            told.take(MOST_TOLD)
        };
        let told = |sign: i64| -> Vec<String> {
            told_waits(sign).map(|(wait, longer)| self.wait(*wait, *longer)).collect()
        };
        let (mut longer, mut shorter) = (told(1), told(-1));
        let (slow, fast) = (self.slow.name(), self.fast.name());
        if is_level {
            let both = !longer.is_empty() && !shorter.is_empty();
            return both.then(|| {
                format!(
                    "{slow} waits longer than {fast} by {}; shorter by {}",
                    listed(&longer),
                    listed(&shorter)
                )
            });
        }
        let total = self.slow.median.load_ms - self.fast.median.load_ms;
        if longer.is_empty() || total <= 0.0 {
            return None;
        }
        // What is told sums to the total, to the digits that are printed.
        let sum: i64 = waits.iter().map(|(_, longer)| longer).sum();
        let rest =
            sum - [1, -1].into_iter().flat_map(told_waits).map(|(_, longer)| longer).sum::<i64>();
        if rest.unsigned_abs() * LEAST_REST >= sum.unsigned_abs() {
            let time = number::duration(rest.unsigned_abs() as f64 / 1e6);
            let side = if rest > 0 { &mut longer } else { &mut shorter };
            side.push(format!("{time} in all else"));
        }
        let more = number::duration(total);
        let less = match &shorter[..] {
            [] => String::new(),
            some => format!("; {fast} waits longer by {}", listed(some)),
        };
        let end = if self.is_of_load { "" } else { " to its end" };
        Some(format!(
            "{slow}'s median trial takes {more} longer than {fast}'s{end}: {}{less}",
            listed(&longer)
        ))
    }

    /// `305 ms in handshakes (2 round trips against 1)`.
    fn wait(&self, wait: Wait, longer: i64) -> String {
        let time = number::duration(longer.unsigned_abs() as f64 / 1e6);
        let has_rate = has_rate(self.slow.median);
        let what = match wait {
            Wait::Handshakes => "in handshakes",
            Wait::Requests if has_rate => "in request round trips",
            Wait::Requests => "from requests to first bytes",
            Wait::WindowGrowth => "in window growth",
            Wait::Serialisation if has_rate => "in sending bytes at the link's rate",
            Wait::Serialisation => "from first bytes to last bytes",
            Wait::LossRecovery => "in loss recovery",
            Wait::Server => "for the server",
            Wait::Client if has_recorded_gaps(self.slow.cell) => {
                "in the recorded gaps and the client"
            }
            Wait::Client => "in the client",
            Wait::HeldBack => "for bytes held back by Nagle's rule",
        };
        match self.reason(wait, longer > 0) {
            Some(reason) => format!("{time} {what} ({reason})"),
            None => format!("{time} {what}"),
        }
    }

    /// Why that wait is longer, for the slower one or for the faster one, as far as counts tell it.
    fn reason(&self, wait: Wait, is_of_slow: bool) -> Option<String> {
        let (longer, other) =
            if is_of_slow { (&self.slow, &self.fast) } else { (&self.fast, &self.slow) };
        match wait {
            Wait::Handshakes => {
                let counts = handshakes(longer.cell).zip(handshakes(other.cell));
                against(counts?, "round trip")
            }
            Wait::Requests => against(longer.median.rounds.zip(other.median.rounds)?, "round"),
            Wait::LossRecovery => lost(longer, other),
            _ => None,
        }
    }
}

/// `2 round trips against 1`; None where there are not more.
fn against((count, other): (u32, u32), what: &str) -> Option<String> {
    (count > other).then(|| format!("{} against {other}", counted(count, what)))
}

/// `towards the client the link dropped 12 of its packets, and 3 of h3's; 14.5 kB went again`.
fn lost(longer: &Load<'_>, other: &Load<'_>) -> Option<String> {
    let (own, others) = (longer.dropped(), other.dropped());
    // Fewer are no reason for a longer wait.
    let dropped = (own > others).then(|| {
        format!(
            "towards the client the link dropped {own} of its packets, and {others} of {}'s",
            other.name()
        )
    });
    // Over QUIC the link cannot tell what is repeated.
    let again = longer.down.retransmitted;
    let again = (again > 0).then(|| format!("{} went again", ByteSize(again)));
    let told: Vec<String> = dropped.into_iter().chain(again).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// A wait is told that is at least so great a part of the one that differs most.
const LEAST_SHARE: u64 = 10;
/// Of each contender.
const MOST_TOLD: usize = 3;
/// All other waits together are told where they are at least so great a part of the difference: less is lost in rounding.
const LEAST_REST: u64 = 100;
