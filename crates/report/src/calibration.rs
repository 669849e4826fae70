//! A calibration in words, with the limits of its figures.

use crate::number::Percent;
use crate::words::listed;
use study::calibration::{
    Calibration, DatagramGauge, GAP_LIMIT, GAP_RATE, LinkLoad, RATE_LIMIT, ROUND_TRIP_LIMIT,
    RateGauge, RoundTripGauge, Spread, micros,
};

/// A figure of the calibration with its limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CalibrationFigure {
    /// What was measured.
    pub(crate) what: String,
    /// The median and the 99th percentile, in microseconds.
    pub(crate) spread: Spread,
    /// The limit of each figure on a quiet machine; None where there is none.
    pub(crate) limit: Option<Spread>,
}

impl CalibrationFigure {
    /// Whether it is within its limits.
    pub(crate) fn is_good(&self) -> bool {
        self.limit.is_none_or(|limit| limit.holds(self.spread))
    }
}

/// Pass-through over what a bare pair carries.
const SHARE_LIMIT: f64 = 0.8;

/// Everything that is a time.
pub(crate) fn times(calibration: &Calibration) -> Vec<CalibrationFigure> {
    let trip = |gauge: &RoundTripGauge| CalibrationFigure {
        what: format!("error of a round trip of {} ms", gauge.rtt_ms),
        spread: gauge.error,
        limit: Some(ROUND_TRIP_LIMIT),
    };
    let gap = |gauge: &RateGauge| CalibrationFigure {
        what: format!("error of gaps between packets at {}", gauge.rate_in_words()),
        spread: gauge.gap_error,
        limit: (gauge.bits_per_second == GAP_RATE).then_some(GAP_LIMIT),
    };
    let plain =
        |what: &str, spread| CalibrationFigure { what: what.to_owned(), spread, limit: None };
    calibration
        .round_trips
        .iter()
        .map(trip)
        .chain(calibration.rates.iter().map(gap))
        .chain([
            plain("round trip without emulation (veth pair)", calibration.floor),
            plain("lateness of a timer of 1 ms", calibration.timer),
            plain("pauses of a core that never sleeps", calibration.polling),
        ])
        .collect()
}

/// Everything else, one sentence each, and whether it is within its limit.
pub(crate) fn facts(calibration: &Calibration) -> Vec<(bool, String)> {
    let mut facts = Vec::new();
    let unanswered: u32 = calibration.round_trips.iter().map(|gauge| gauge.unanswered).sum();
    if unanswered > 0 {
        facts.push((false, format!("{unanswered} pings over links without loss got no answer")));
    }
    for gauge in &calibration.rates {
        let good = gauge.error.abs() <= RATE_LIMIT;
        facts.push((
            good,
            format!(
                "rate of {}: off by {:+.4} %{}",
                gauge.rate_in_words(),
                gauge.error * 100.0,
                if good { String::new() } else { format!("   (limit {} %)", RATE_LIMIT * 100.0) }
            ),
        ));
    }
    if let Some(loss) = calibration.loss {
        let (good, planned) = (loss.against_plan == 0, loss.planned);
        let what = match good {
            true => format!("loss: exactly the {planned} of {} packets planned", loss.packets),
            false => {
                format!("loss: {} of {} packets against the plan", loss.against_plan, loss.packets)
            }
        };
        facts.push((good, what));
    }
    let t = calibration.throughput;
    let mut pass = |name: &str, link: f64, bare: f64| {
        if link > 0.0 && bare > 0.0 {
            let share = link / bare;
            let what = format!(
                "pass-through {name}: {:.2} Gbit/s, {share:.2} of a bare pair's {:.2}",
                link / 1e9,
                bare / 1e9
            );
            let (good, limit) = against_share_limit(share);
            facts.push((good, what + &limit));
        } else if link > 0.0 {
            facts.push((true, format!("pass-through {name}: {:.2} Gbit/s", link / 1e9)));
        }
    };
    pass("of super-packets", t.link, t.bare);
    pass("in packets of a wire's size", t.link_segments, t.bare_segments);
    if let Some(gauge) = calibration.datagrams {
        facts.extend(datagrams(&gauge));
    }
    let spare = calibration.spare_cpu;
    facts.push((spare >= 0.9, format!("{} of the CPU was free", Percent(spare))));
    facts
}

/// UDP through the link, and TCP beside it.
fn datagrams(gauge: &DatagramGauge) -> [(bool, String); 3] {
    let line = |what: String, load: LinkLoad| {
        format!(
            "{what}: {:.2} Gbit/s, {:.2} s of the link's CPU a GB, p99 {} late",
            load.bits_per_second / 1e9,
            load.cpu_s_per_gb,
            micros(load.late_p99_us)
        )
    };
    let share = gauge.trains.bits_per_second / gauge.tcp.bits_per_second;
    let trains = line(format!("UDP in trains of {}", gauge.train), gauge.trains);
    let (good, limit) = against_share_limit(share);
    [
        (good, format!("{trains}; {share:.2} of TCP's rate{limit}")),
        (true, line("UDP one by one".to_owned(), gauge.single)),
        (true, line("TCP beside it".to_owned(), gauge.tcp)),
    ]
}

/// Whether a share is large enough, and the limit in words where it is not.
fn against_share_limit(share: f64) -> (bool, String) {
    match share >= SHARE_LIMIT {
        true => (true, String::new()),
        false => (false, format!("   (limit {SHARE_LIMIT})")),
    }
}

/// The calibration in one line.
pub(crate) fn line(calibration: &Calibration) -> String {
    let worst = calibration.round_trips.iter().map(|gauge| gauge.error);
    let worst = worst.max_by(|a, b| a.p50_us.total_cmp(&b.p50_us)).unwrap_or_default();
    format!(
        "emulated round trips {} (median), {} (p99); {} of the CPU was free; {}",
        signed(worst.p50_us),
        signed(worst.p99_us),
        Percent((calibration.spare_cpu * 100.0).round() / 100.0),
        match calibration.beyond_limits().is_empty() {
            true => "within limits",
            // A warning above the result names them.
            false => "outside limits, see the warning",
        },
    )
}

/// The calibration for a terminal. It ends with a newline.
pub fn calibration(calibration: &Calibration) -> String {
    let word = |good: bool| if good { "good" } else { "FAIR" };
    let mut text = String::from("\nCalibration (median and 99th percentile in µs)\n");
    for entry in times(calibration) {
        let limit = entry.limit.map_or_else(String::new, |limit| {
            format!("   (limits {:.0} and {:.0})", limit.p50_us, limit.p99_us)
        });
        let Spread { p50_us, p99_us } = entry.spread;
        let mark = if entry.limit.is_some() { word(entry.is_good()) } else { "" };
        text.push_str(&format!(
            "{mark:<5} {:<48} {p50_us:>8.1} {p99_us:>8.1}{limit}\n",
            entry.what
        ));
    }
    for (good, fact) in facts(calibration) {
        text.push_str(&format!("{:<5} {fact}\n", word(good)));
    }
    text.push_str(&format!("\n{}\n", conclusion(calibration)));
    text.replace('\u{a0}', " ")
}

/// What follows from a calibration: which rates and differences can be judged here now, which cannot, and what to do.
pub fn conclusion(calibration: &Calibration) -> String {
    let rates = rates_in_words(&calibration.rates);
    let finest = calibration.finest_us();
    let differences = match finest > 0.0 {
        true => format!(
            "Of 100 round trips one is off by {} more than over the bare pair: a difference well above that a round trip can be judged now, a \
             smaller one cannot. ",
            micros(finest)
        ),
        false => String::new(),
    };
    let is_good =
        calibration.beyond_limits().is_empty() && facts(calibration).iter().all(|one| one.0);
    let what_to_do = match (is_good, calibration.knows_bounds()) {
        (true, _) => "All is within limits: race.".to_owned(),
        (false, true) => format!(
            "Not all is within limits ({}): trials whose packets are late are refused, counts are judged in any case.",
            calibration.cause_in_words()
        ),
        (false, false) => "Other programs were using the processors: end them and calibrate again before you judge times. \
                           Counts (round trips, connections, bytes) can be judged now."
            .to_owned(),
    };
    format!("{rates}{differences}{what_to_do}")
}

/// Which rates are held, and by how much the others are off; empty without a rate.
fn rates_in_words(rates: &[RateGauge]) -> String {
    let is_held = |gauge: &&RateGauge| gauge.error.abs() <= RATE_LIMIT;
    let held: Vec<String> = rates.iter().filter(is_held).map(RateGauge::rate_in_words).collect();
    let missed = rates.iter().filter(|gauge| !is_held(gauge));
    let missed = missed
        .map(|gauge| format!("{} is off by {:+.3} %", gauge.rate_in_words(), gauge.error * 100.0));
    let missed: Vec<String> = missed.collect();
    let limit = format!("(limit {} %)", RATE_LIMIT * 100.0);
    match (held.as_slice(), missed.as_slice()) {
        ([], []) => String::new(),
        (held, []) => format!("Rates of {} are held. ", listed(held)),
        ([], missed) => format!("No rate is held: {} {limit}. ", listed(missed)),
        (held, missed) => {
            format!("Rates of {} are held; {} {limit}. ", listed(held), listed(missed))
        }
    }
}

/// With its sign: `+3 µs`.
fn signed(us: f64) -> String {
    let sign = if us.is_sign_negative() { "" } else { "+" };
    format!("{sign}{}", micros(us))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(round_trip: Spread, polling: f64) -> Calibration {
        let gauge = RoundTripGauge { rtt_ms: 10.0, pings: 300, unanswered: 0, error: round_trip };
        let polling = Spread { p50_us: 0.1, p99_us: polling };
        let spare_cpu = 0.992;
        Calibration { spare_cpu, polling, round_trips: vec![gauge], ..Calibration::default() }
    }

    #[test]
    fn the_line_leaves_what_is_beyond_its_limit_to_the_warning_that_names_it() {
        let good = line(&measured(Spread { p50_us: 3.2, p99_us: 44.7 }, 44.0));
        assert!(good.ends_with("99\u{a0}% of the CPU was free; within limits"), "{good}");
        let late = Spread { p50_us: 3.2, p99_us: 61.4 };
        for (polling, cause) in [
            (44.0, "the machine itself pauses a busy core for 44 µs"),
            (3.0, "is the machine busy?"),
        ] {
            let beyond = measured(late, polling);
            assert!(line(&beyond).ends_with("; outside limits, see the warning"));
            let named = ["error of a round trip of 10 ms: p99 61 µs, limit 50 µs"];
            assert_eq!(beyond.beyond_limits(), named);
            assert_eq!(beyond.cause_in_words(), cause);
        }
        let slow = line(&measured(Spread { p50_us: -3.0, p99_us: 6_003.0 }, 3.0));
        assert!(slow.contains("-3 µs (median), +6.0 ms (p99)"), "{slow}");
    }

    #[test]
    fn the_last_sentence_says_what_can_be_judged_and_what_to_do() {
        let rate = |bits_per_second, error| RateGauge {
            bits_per_second,
            packets: 100,
            error,
            gap_error: Spread::default(),
        };
        let rates = vec![rate(9_000_000, 1e-6), rate(1_000_000_000, 0.01)];
        let late = Spread { p50_us: 3.2, p99_us: 6_003.0 };
        let busy = Calibration { spare_cpu: 0.4, rates, ..measured(late, 3.0) };
        let told = conclusion(&busy);
        let rates = "Rates of 9 Mbit/s are held; 1 Gbit/s is off by +1.000 % (limit 0.02 %). ";
        assert!(told.starts_with(rates), "{told}");
        assert!(told.contains("one is off by 6.0 ms more than over the bare pair"), "{told}");
        assert!(told.contains("end them and calibrate again"), "{told}");
        let text = calibration(&busy);
        assert!(
            text.contains("FAIR  rate of 1 Gbit/s: off by +1.0000 %   (limit 0.02 %)"),
            "{text}"
        );
        assert!(!text.contains("9 Mbit/s: off by +0.0001 %   (limit"), "{text}");
        assert_eq!(text.trim_end().lines().last(), Some(told.as_str()));
        let good = conclusion(&measured(Spread { p50_us: 3.2, p99_us: 44.7 }, 3.0));
        assert!(good.ends_with("All is within limits: race."), "{good}");
    }
}
