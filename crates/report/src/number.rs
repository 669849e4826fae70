//! How figures are written, the same in the terminal and in the page. The one rule: a duration has three significant
//! digits, and figures beside it (its interval, a difference) use its unit and decimals.

use std::fmt;
use study::stats::Summary;

/// A unit of time and a number of decimals, chosen once for figures shown together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeFormat {
    unit: TimeUnit,
    decimals: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Seconds,
    Millis,
    Micros,
}

impl TimeUnit {
    fn millis(self) -> f64 {
        match self {
            Self::Seconds => 1e3,
            Self::Millis => 1.0,
            Self::Micros => 1e-3,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "µs",
        }
    }
}

impl TimeFormat {
    /// Three significant digits for values around `millis`.
    pub(crate) fn three_digits(millis: f64) -> Self {
        let size = millis.abs();
        // A value that would round up to 1000 of a unit belongs to the next one.
        let unit = match size {
            s if s >= 999.5 => TimeUnit::Seconds,
            s if s >= 0.9995 => TimeUnit::Millis,
            _ => TimeUnit::Micros,
        };
        let decimals = match size / unit.millis() {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        Self { unit, decimals }
    }

    /// The decimals and unit that distinguish axis ticks `step` milliseconds apart, the last one at `max`.
    pub(crate) fn for_ticks(step: f64, max: f64) -> Self {
        let unit = Self::three_digits(max).unit;
        let decimals = (-(step / unit.millis()).log10().floor()).clamp(0.0, 3.0) as usize;
        Self { unit, decimals }
    }

    /// The number without its unit.
    pub(crate) fn number(self, millis: f64) -> String {
        let value = millis / self.unit.millis();
        let text = format!("{value:.*}", self.decimals);
        // A difference that rounds to zero has no sign.
        if text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    }

    /// The number and its unit.
    pub(crate) fn with_unit(self, millis: f64) -> String {
        format!("{}{NO_BREAK}{}", self.number(millis), self.unit.symbol())
    }

    /// `[low, high]` without the unit, which the duration before it has.
    pub(crate) fn interval(self, ci: [f64; 2]) -> String {
        format!("[{}, {}]", self.number(ci[0]), self.number(ci[1]))
    }

    /// A difference in this format, with one decimal less because it is less precise, but never rounded to zero.
    fn difference(self, millis: f64) -> String {
        let size = millis.abs();
        let coarse = Self { decimals: self.decimals.saturating_sub(1), ..self };
        let shows =
            |format: &Self| format.number(size).bytes().any(|b| b.is_ascii_digit() && b != b'0');
        [coarse, self].into_iter().find(shows).unwrap_or(Self::three_digits(size)).with_unit(size)
    }
}

/// `2.41 s`: a duration by itself.
pub(crate) fn duration(millis: f64) -> String {
    TimeFormat::three_digits(millis).with_unit(millis)
}

/// `2.41 s [2.38, 2.45]`: a duration and its interval.
pub(crate) fn duration_with_interval(millis: f64, ci: [f64; 2]) -> String {
    let format = TimeFormat::three_digits(millis);
    format!("{} {}", format.with_unit(millis), format.interval(ci))
}

/// `2.41 s [2.38, 2.45]`: a median duration and its interval; `2.41 s (2.38 to 2.45)`, the range, of too few trials for
/// an interval.
pub(crate) fn summary(summary: &Summary) -> String {
    let format = TimeFormat::three_digits(summary.median);
    let median = format.with_unit(summary.median);
    match summary.ci95 {
        Some(ci) => format!("{median} {}", format.interval(ci)),
        None if summary.n < 2 => median,
        None => {
            format!("{median} ({} to {})", format.number(summary.min), format.number(summary.max))
        }
    }
}

/// The least and the greatest of all trials: how far repeated runs lie apart.
pub(crate) fn spread(summary: &Summary) -> String {
    let format = TimeFormat::three_digits(summary.median);
    match summary.n {
        0 | 1 => format.with_unit(summary.median),
        _ => format!("{} to {}", format.number(summary.min), format.with_unit(summary.max)),
    }
}

/// `2.0 s`: the size of a difference between a duration and the baseline's. The larger of the two sets the digits.
pub(crate) fn difference(millis: f64, baseline: f64) -> String {
    TimeFormat::three_digits(baseline.max(millis.abs())).difference(millis)
}

/// A ratio with its interval, with enough decimals to distinguish the interval from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// The ratio.
    pub(crate) value: f64,
    /// Its interval.
    pub(crate) ci: [f64; 2],
}

impl Ratio {
    /// `0.55`.
    pub(crate) fn number(self) -> String {
        self.format(self.value)
    }

    /// `[0.54, 0.56]`; in words if it says nothing.
    pub(crate) fn interval(self) -> String {
        if self.is_anything() {
            return NO_INTERVAL.to_owned();
        }
        format!("[{}, {}]", self.format(self.ci[0]), self.format(self.ci[1]))
    }

    /// `[.54, .56]`: without the zero before the point, for narrow columns in a terminal.
    pub(crate) fn short_interval(self) -> String {
        if self.is_anything() {
            return NO_INTERVAL.to_owned();
        }
        let short = |value| {
            let text = self.format(value);
            text.strip_prefix('0').filter(|rest| rest.len() > 1).map(str::to_owned).unwrap_or(text)
        };
        format!("[{}, {}]", short(self.ci[0]), short(self.ci[1]))
    }

    /// Whether the interval contains every ratio, as it does with too few blocks.
    pub(crate) fn is_anything(self) -> bool {
        self.ci == [0.0, f64::INFINITY]
    }

    /// `1.0497× [1.0491, 1.0503]`: with enough decimals to distinguish the ends of the interval from `limit`.
    pub(crate) fn beside(self, limit: f64) -> String {
        if self.is_anything() {
            return format!("{}× {NO_INTERVAL}", self.number());
        }
        let decimals = decimals_beside(&self.ci, limit, self.decimals());
        let [value, low, high] =
            [self.value, self.ci[0], self.ci[1]].map(|one| fixed(one, decimals));
        format!("{value}× [{low}, {high}]")
    }

    fn format(self, value: f64) -> String {
        fixed(value, self.decimals())
    }

    fn decimals(self) -> usize {
        // With a large factor, hundredths carry no information.
        let of_size = |value: f64| match value {
            v if v >= 99.5 => 0,
            v if v >= 9.95 => 1,
            v if v < 0.095 => 3,
            _ => 2,
        };
        // A large ratio may have a bound on the other side of 1.
        let low = self.ci[0];
        let of_low = if (0.095..9.95).contains(&low) { of_size(low) } else { 0 };
        let least = of_size(self.value).max(of_low);
        // A bound that differs from 1 must not print as 1.00; where 1 is not in the interval, in no case.
        let touches_one = |bound: f64| bound != 1.0 && (bound - 1.0).abs() < 0.005;
        let touching = if self.ci.iter().any(|bound| touches_one(*bound)) { 3 } else { 0 };
        match self.ci[0] > 1.0 || self.ci[1] < 1.0 {
            true => decimals_beside(&self.ci, 1.0, least.max(touching)),
            false => least.max(touching),
        }
    }
}

/// How many decimals, `least` at least, distinguish each of `ratios` from `limit`, where they are not the same.
pub(crate) fn decimals_beside(ratios: &[f64], limit: f64, least: usize) -> usize {
    let differ = |decimals: &usize| {
        let told =
            |ratio: &f64| *ratio == limit || fixed(*ratio, *decimals) != fixed(limit, *decimals);
        ratios.iter().all(told)
    };
    (least..MOST_DECIMALS).find(differ).unwrap_or(MOST_DECIMALS)
}

/// A ratio beyond these is no longer measured.
const MOST_DECIMALS: usize = 5;

/// The number with so many decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_infinite() { "∞".to_owned() } else { format!("{value:.decimals$}") }
}

/// Shown instead of an unlimited interval, whose ends would look like figures.
const NO_INTERVAL: &str = "no interval";

/// A no-break space between a figure and its unit.
const NO_BREAK: char = '\u{a0}';

/// A count with narrow spaces between groups of three digits.
pub(crate) fn count(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut text = String::from(if value < -0.5 { "-" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A share such as 0.05 as `5 %`.
pub(crate) struct Percent(pub(crate) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let decimals = usize::from((percent - percent.round()).abs() > 0.05);
        write!(f, "{percent:.decimals$}{NO_BREAK}%")
    }
}

/// A date and time of day in UTC, from milliseconds since 1970: `2026-11-21T19:58:06.123Z` (RFC 3339).
pub fn timestamp(unix_ms: u64) -> String {
    let (days, of_day) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (seconds, millis) = (of_day / 1000, of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date `days` after 1970-01-01 (Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_show_three_digits_and_intervals_follow_them() {
        assert_eq!(duration_with_interval(2412.0, [2380.4, 2450.0]), "2.41\u{a0}s [2.38, 2.45]");
        assert_eq!(duration_with_interval(99.96, [98.0, 101.2]), "100\u{a0}ms [98, 101]");
        assert_eq!(duration(999.7), "1.00\u{a0}s");
        assert_eq!(duration(12.34), "12.3\u{a0}ms");
        assert_eq!(duration(0.0271), "27.1\u{a0}µs");
        assert_eq!(duration(0.0), "0.00\u{a0}µs");
    }

    #[test]
    fn a_difference_has_the_baselines_unit_and_never_vanishes() {
        assert_eq!(difference(-2010.0, 4420.0), "2.0\u{a0}s");
        assert_eq!(difference(-40.0, 4420.0), "0.04\u{a0}s");
        assert_eq!(difference(3.2, 45.1), "3\u{a0}ms");
        assert_eq!(difference(-4.5, 4420.0), "4.50\u{a0}ms", "less than a hundredth of a second");
        assert_eq!(difference(2959.0, 54.9), "3.0\u{a0}s", "many times the baseline");
    }

    #[test]
    fn a_ratio_clear_of_one_is_not_printed_as_one() {
        let clear = Ratio { value: 0.97, ci: [0.95, 0.998] };
        assert_eq!((clear.number(), clear.interval()), ("0.970".into(), "[0.950, 0.998]".into()));
        let plain = Ratio { value: 0.55, ci: [0.54, 0.56] };
        assert_eq!((plain.number(), plain.short_interval()), ("0.55".into(), "[.54, .56]".into()));
        let wide = Ratio { value: 1.2, ci: [0.9, f64::INFINITY] };
        assert_eq!(wide.short_interval(), "[.90, ∞]");
        let large = Ratio { value: 12.0, ci: [0.97, 20.0] };
        assert_eq!((large.number(), large.interval()), ("12.00".into(), "[0.97, 20.00]".into()));
        let close = Ratio { value: 0.95, ci: [0.9, 0.9998] };
        assert_eq!(close.short_interval(), "[.9000, .9998]");
        let level = Ratio { value: 1.0, ci: [0.9998, 1.0002] };
        assert_eq!(level.short_interval(), "[1.000, 1.000]");
        let anything = Ratio { value: 3.65, ci: [0.0, f64::INFINITY] };
        assert_eq!(
            (anything.interval(), anything.short_interval()),
            ("no interval".into(), "no interval".into())
        );
    }

    #[test]
    fn ticks_have_as_many_decimals_as_their_step_needs() {
        assert_eq!(TimeFormat::for_ticks(500.0, 4000.0).number(1500.0), "1.5");
        assert_eq!(TimeFormat::for_ticks(1000.0, 4000.0).number(3000.0), "3");
        assert_eq!(TimeFormat::for_ticks(20.0, 100.0).with_unit(40.0), "40\u{a0}ms");
    }

    #[test]
    fn time_stamps_are_those_of_the_calendar() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(1_709_164_800_000), "2024-02-29T00:00:00.000Z");
        assert_eq!(timestamp(1_795_291_086_123), "2026-11-21T19:58:06.123Z");
    }

    #[test]
    fn counts_are_grouped_and_shares_are_percent() {
        assert_eq!(count(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!(count(999.0), "999");
        assert_eq!(Percent(0.05).to_string(), "5\u{a0}%");
        assert_eq!(Percent(0.025).to_string(), "2.5\u{a0}%");
    }
}
