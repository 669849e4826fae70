//! The measured errors of the link emulation before the run: each as a dot with its tail and its limit.

use super::picture::{AXIS_HEIGHT, Picture, axis, shared_scale};
use super::table::{figure, table, text};
use crate::calibration::{CalibrationFigure, facts, times};
use crate::markup::Markup;
use crate::{Report, command, number};
use study::calibration::Spread;

pub(super) fn instrument(m: &mut Markup, report: &Report<'_>) {
    let Some(calibration) = &report.result.host.calibration else { return };
    let entries = times(calibration);
    let bad = calibration.beyond_limits().len();
    let millis = |micros: f64| micros.max(0.0) / 1e3;
    let ends = entries.iter().flat_map(|entry| {
        let limit = entry.limit.map(|limit| limit.p99_us);
        [Some(entry.spread.p99_us), limit].into_iter().flatten().map(millis)
    });
    let scale = shared_scale(ends);
    let bottom = ROW * entries.len() as f64;
    let title = match bad {
        0 => "The instrument kept its limits before the run".to_owned(),
        1 => "The instrument missed one of its limits before the run".to_owned(),
        bad => format!("The instrument missed {bad} of its limits before the run"),
    };
    let picture = Picture {
        id: "instrument".to_owned(),
        title,
        description: "A dot is the median, the line reaches to the 99th percentile, a short upright is the limit \
                      of the 99th percentile on a quiet machine."
            .to_owned(),
        key: Vec::new(),
        height: bottom + AXIS_HEIGHT,
        command: command::shell_line(&["wirelap", "doctor", "--calibrate"]),
    };
    let draw = |m: &mut Markup| {
        axis(m, scale, 0.0, bottom);
        for (i, entry) in entries.iter().enumerate() {
            row(m, entry, i as f64 * ROW, |micros| scale.at(millis(micros)));
        }
    };
    picture.write(m, draw, |m| {
        let us = |micros: f64| format!("{micros:.1}");
        let line = |entry: &CalibrationFigure| {
            let limit = |of: fn(&Spread) -> f64| {
                entry.limit.as_ref().map_or_else(String::new, |all| us(of(all)))
            };
            [
                entry.what.clone(),
                us(entry.spread.p50_us),
                limit(|all| all.p50_us),
                us(entry.spread.p99_us),
                limit(|all| all.p99_us),
            ]
        };
        let columns = [
            text("what"),
            figure("median, µs"),
            figure("limit, µs"),
            figure("99th percentile, µs"),
            figure("limit, µs"),
        ];
        table(m, "Errors of the emulation", &columns, entries.iter().map(line));
        let fact = |(good, what): &(bool, String)| {
            [what.clone(), if *good { "good" } else { "fair" }.to_owned()]
        };
        let facts = facts(calibration);
        table(m, "Other figures", &[text("what"), text("state")], facts.iter().map(fact));
    });
}

const ROW: f64 = 40.0;

fn row(
    m: &mut Markup,
    entry: &CalibrationFigure,
    top: f64,
    at: impl Fn(f64) -> crate::scale::Position,
) {
    let (label, middle) = (format!("{:.0}", top + 14.0), top + 27.0);
    let y = format!("{middle:.0}");
    m.element("g", &[("class", &"gauge")], |m| {
        let p99 = number::duration(entry.spread.p99_us / 1e3);
        let words = format!("{}: {p99}", entry.what);
        m.line("text", &[("class", &"label"), ("x", &"0"), ("y", &label)], words);
        let (low, high) = (at(entry.spread.p50_us), at(entry.spread.p99_us));
        m.empty(
            "line",
            &[("class", &"interval"), ("x1", &low), ("x2", &high), ("y1", &y), ("y2", &y)],
        );
        m.empty("circle", &[("class", &"dot"), ("cx", &low), ("cy", &y), ("r", &"4")]);
        if let Some(limit) = entry.limit {
            let x = at(limit.p99_us);
            let (y1, y2) = (format!("{:.0}", middle - 6.0), format!("{:.0}", middle + 6.0));
            m.empty(
                "line",
                &[("class", &"median"), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)],
            );
        }
    });
}
