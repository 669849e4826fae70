//! Every trial of a group as a dot, beside the median and its interval.

use super::picture::{AXIS_HEIGHT, Label, Picture, axis, shared_scale};
use super::table::{figure, table, text};
use crate::markup::Markup;
use crate::number;
use crate::overview::{Group, load, measure, measured_load};
use crate::scale::{Position, Scale};
use crate::{Report, command, rows, words};
use study::deciding_metric;
use study::outcome::Outcome;
use study::record::TrialRecord;
use study::result::CellResult;
use study::stats::Summary;

pub(super) fn dots(m: &mut Markup, report: &Report<'_>, group: &Group<'_>, id: &str) {
    let cells = group.fastest_first();
    let trials: Vec<Vec<&TrialRecord>> = cells.iter().map(|cell| report.trials(cell)).collect();
    let loads = trials.iter().flatten().filter_map(|trial| measured_load(trial));
    let is_timed = loads.clone().next().is_some();
    let intervals = cells.iter().filter_map(|cell| Some(load(cell)?.ci95?[1]));
    let scale = shared_scale(loads.chain(intervals));
    let bottom = ROW * cells.len() as f64;
    let picture = Picture {
        id: format!("{id}-trials"),
        title: crate::answer::finding(group, report.result.margin),
        description: format!(
            "{}. A dot is a trial; the bar below is the 95 % interval of the median, the mark on it the \
             median{}. A cross at the right edge is a trial that failed and ranks as the slowest.",
            words::sentence_case(measure(group.workload)),
            words::without_interval([group])
                .map_or_else(String::new, |words| format!(" ({words}: there is no bar)")),
        ),
        key: Vec::new(),
        height: bottom + AXIS_HEIGHT,
        command: command::rows(report.folder, &query(group)),
    };
    let draw = |m: &mut Markup| {
        // Crosses alone have no time to stand at.
        if is_timed {
            axis(m, scale, 0.0, bottom);
        }
        for (i, (cell, trials)) in cells.iter().zip(&trials).enumerate() {
            row(m, group, cell, trials, &Row { scale, top: i as f64 * ROW });
        }
    };
    picture.write(m, draw, |m| figures(m, group, &trials));
}

/// Height of a contender's row: its name, its dots, its interval.
const ROW: f64 = 76.0;

/// Where a row is drawn.
struct Row {
    scale: Scale,
    top: f64,
}

fn row(m: &mut Markup, group: &Group<'_>, cell: &CellResult, trials: &[&TrialRecord], at: &Row) {
    let hue = group.hue(&cell.contender).class();
    m.element("g", &[("class", &hue)], |m| {
        head(m, group, cell, at.top + 16.0);
        let middle = at.top + 38.0;
        let times: Vec<f64> = trials.iter().filter_map(|trial| measured_load(trial)).collect();
        strip(m, &times, at.scale, middle);
        let failed = |trial: &&&TrialRecord| matches!(trial.outcome, Outcome::Failed { .. });
        let crosses = trials.iter().filter(failed).count();
        if crosses > 0 {
            let text = "✕".repeat(crosses.min(12));
            let y = format!("{:.0}", middle + 4.0);
            m.line(
                "text",
                &[("class", &"cross"), ("x", &"100%"), ("y", &y), ("text-anchor", &"end")],
                text,
            );
        }
        interval(m, cell, at);
    });
}

/// A dot a time, around the line at `middle`.
pub(super) fn strip(m: &mut Markup, times: &[f64], scale: Scale, middle: f64) {
    for (place, lane) in lanes(times, scale) {
        let y = format!("{:.1}", middle + lane);
        m.empty("circle", &[("class", &"dot"), ("cx", &place), ("cy", &y), ("r", &"3.5")]);
    }
}

fn head(m: &mut Markup, group: &Group<'_>, cell: &CellResult, y: f64) {
    let figures = load(cell).map(number::summary).unwrap_or_else(|| "not measured".to_owned());
    let verdict = match group.ranked(&cell.contender.name) {
        Some(ranked) => {
            let word = ranked.comparison.verdict.word();
            words::ratio(&ranked.comparison)
                .map_or_else(|| word.to_owned(), |ratio| format!("{}× {word}", ratio.number()))
        }
        None if group.verdicts.is_some() => "baseline".to_owned(),
        None => String::new(),
    };
    let contender = &cell.contender;
    Label { contender, figures: &figures, beside: verdict.chars().count() }.write(m, y);
    let y = format!("{y:.0}");
    m.line(
        "text",
        &[("class", &"label"), ("x", &"100%"), ("y", &y), ("text-anchor", &"end")],
        verdict,
    );
}

fn interval(m: &mut Markup, cell: &CellResult, at: &Row) {
    if let Some(load) = load(cell) {
        interval_of(m, load, at.scale, at.top);
    }
}

/// A median and its interval below the dots of a row that begins at `top`.
pub(super) fn interval_of(m: &mut Markup, own: &Summary, scale: Scale, top: f64) {
    let y = format!("{:.0}", top + 59.0);
    if let Some([low, high]) = own.ci95.map(|ci95| ci95.map(|end| scale.at(end))) {
        m.empty(
            "line",
            &[("class", &"interval"), ("x1", &low), ("x2", &high), ("y1", &y), ("y2", &y)],
        );
    }
    let median = scale.at(own.median);
    let (y1, y2) = (format!("{:.0}", top + 52.0), format!("{:.0}", top + 66.0));
    m.empty(
        "line",
        &[("class", &"median"), ("x1", &median), ("x2", &median), ("y1", &y1), ("y2", &y2)],
    );
}

/// Places dots side by side instead of on top of each other. Each goes into the lane nearest to the middle whose last
/// dot is at least a dot's width away, on a screen of 800 pixels.
fn lanes(times: &[f64], scale: Scale) -> Vec<(Position, f64)> {
    const LANES: [f64; 5] = [0.0, -6.0, 6.0, -12.0, 12.0];
    const SPACING: f64 = 7.5 / 800.0 * 100.0;
    let mut places: Vec<Position> = times.iter().map(|time| scale.at(*time)).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = [f64::NEG_INFINITY; LANES.len()];
    places
        .into_iter()
        .map(|place| {
            let free = (0..LANES.len()).find(|lane| place.0 - last[*lane] >= SPACING);
            // If all lanes are full: the lane with the oldest last dot.
            let lane = free.unwrap_or_else(|| {
                (0..LANES.len()).min_by(|a, b| last[*a].total_cmp(&last[*b])).unwrap_or(0)
            });
            last[lane] = place.0;
            (place, LANES[lane])
        })
        .collect()
}

fn figures(m: &mut Markup, group: &Group<'_>, trials: &[Vec<&TrialRecord>]) {
    let measured = measure(group.workload);
    let caption =
        format!("{} of every trial on {}", words::sentence_case(measured), group.link.name);
    let heading = format!("{measured}, ms");
    let columns =
        [text("contender"), figure("block"), figure(&heading), text("outcome"), text("reason")];
    let metric = deciding_metric(group.workload);
    let rows = trials.iter().flatten().map(|trial| {
        [
            trial.plan.cell.contender.name.clone(),
            trial.plan.block.to_string(),
            trial.metrics.get(metric).map(|ms| format!("{ms:.3}")).unwrap_or_default(),
            rows::outcome_name(&trial.outcome).to_owned(),
            trial.outcome.reason().unwrap_or_default().to_owned(),
        ]
    });
    table(m, &caption, &columns, rows);
}

fn query(group: &Group<'_>) -> String {
    let metric = deciding_metric(group.workload);
    format!(
        "SELECT contender, block, value AS {metric}, outcome FROM metrics \
         WHERE metric = '{metric}' AND key IN counted AND link = {} AND workload = {} \
         ORDER BY contender, block",
        command::sql(&group.link.name),
        command::sql(&group.workload.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_equal_times_do_not_cover_each_other() {
        let lanes = lanes(&[100.0; 5], Scale::up_to(200.0));
        let mut offsets: Vec<f64> = lanes.iter().map(|(_, lane)| *lane).collect();
        offsets.sort_by(f64::total_cmp);
        assert_eq!(offsets, [-12.0, -6.0, 0.0, 6.0, 12.0]);
    }

    #[test]
    fn dots_far_apart_stay_on_the_middle_line() {
        let lanes = lanes(&[10.0, 100.0, 190.0], Scale::up_to(200.0));
        assert!(lanes.iter().all(|(_, lane)| *lane == 0.0));
    }
}
