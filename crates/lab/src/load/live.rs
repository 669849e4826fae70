//! What the user sees while a load runs: the last second's answers and errors, and where their times lay.

use super::run::Snapshot;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use unit::format_duration;

/// Lines on standard error, where that is a terminal.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    /// What the run is, where there are several.
    title: String,
}

impl Live {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar: Some(bar), title: String::new() }
    }

    /// For nobody to see.
    pub(crate) fn hidden() -> Self {
        Self { bar: None, title: String::new() }
    }

    /// Says what the next run is.
    pub(crate) fn entitle(&mut self, title: String) {
        self.title = title;
        if let Some(bar) = &self.bar {
            bar.set_message(self.title.clone());
        }
    }

    /// Leaves a line behind, above those that change.
    pub(crate) fn leave(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.println(line);
        }
    }

    /// A second is over.
    pub(crate) fn show(&mut self, snapshot: Option<&Snapshot>) {
        if let (Some(bar), Some(snapshot)) = (&self.bar, snapshot) {
            bar.set_message(format!("{}{}", self.title, lines(snapshot)));
            bar.tick();
        }
    }

    /// Takes the lines away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
            bar.tick();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

const BANDS: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The widest band, in columns.
const WIDTH: f64 = 40.0;

fn lines(snapshot: &Snapshot) -> String {
    let part = &snapshot.part;
    let seconds = snapshot.span.as_secs_f64().max(1e-9);
    let errors = part.faults.total() + part.refused;
    let mut text = format!(
        "{:>5.0} s  {:>9} requests/s  {errors} errors  {} connections",
        snapshot.at.as_secs_f64(),
        report::load_rate(part.answers as f64 / seconds),
        snapshot.connections
    );
    if snapshot.waiting > 0 {
        text.push_str(&format!("  {} waiting", snapshot.waiting));
    }
    let times = part.latency.histogram();
    for (name, share) in BANDS.into_iter().filter(|_| !times.is_empty()) {
        let nanos = times.value_at_quantile(share);
        let time = format_duration(Duration::from_nanos(nanos));
        text.push_str(&format!("\n{name:>7}  {time:>8}  {}", "━".repeat(columns(nanos))));
    }
    text
}

/// Times differ by powers of ten, so the length of a band is the logarithm: from 10 µs to 10 s.
fn columns(nanos: u64) -> usize {
    let decades = (nanos.max(1) as f64 / 1e4).log10() / 6.0;
    (decades.clamp(0.0, 1.0) * WIDTH).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_grows_with_its_time_and_stays_on_the_line() {
        let widths: Vec<usize> =
            [0, 10_000, 1_000_000, 100_000_000, u64::MAX].map(columns).to_vec();
        assert_eq!(widths, [0, 0, 13, 27, 40]);
    }
}
