//! N against ratio: published ratios as hollow marks, ours as filled ones with their intervals, a panel for each condition
//! and divisor.

use super::picture::Picture;
use crate::markup::Markup;
use crate::number;
use crate::scale::Position;
use crate::{Report, command};
use study::deciding_metric;
use study::published::{Published, PublishedRatio};

/// Height of a panel: its name, its plot, its labels.
const PANEL: f64 = 250.0;
const PLOT_TOP: f64 = 34.0;
const PLOT_BOTTOM: f64 = 196.0;
/// The plot's edges and its marks' outermost places, in percent of the width.
const LEFT: f64 = 9.0;
const INNER: [f64; 2] = [18.0, 88.0];

pub(super) fn ratio_chart(m: &mut Markup, report: &Report<'_>, published: &Published) {
    let panels = panels(&published.ratios);
    let picture = Picture {
        id: format!("{}-ratios", report.result.experiment),
        title: title(&published.ratios),
        description: description(&published.ratios),
        key: Vec::new(),
        height: PANEL * panels.len() as f64,
        command: rows_command(report, published),
    };
    let draw = |m: &mut Markup| {
        for (index, panel) in panels.iter().enumerate() {
            panel.draw(m, report, PANEL * index as f64);
        }
    };
    picture.write_without_figures(m, draw);
}

/// What the chart shows, in a sentence.
fn title(ratios: &[PublishedRatio]) -> String {
    let ours: Vec<&PublishedRatio> =
        ratios.iter().filter(|ratio| ratio.ours.is_some() && !ratio.reconstructs).collect();
    let near = ours.iter().filter(|ratio| ratio.error.is_some_and(|error| error.abs() <= 0.25));
    let absent = ratios.iter().filter(|ratio| ratio.ours.is_none()).count();
    if ours.is_empty() {
        let drawn = match absent == ratios.len() {
            true => "the published ones alone are drawn",
            false => "to those drawn the link was fitted",
        };
        return format!("No ratio that judges has a figure: {drawn}");
    }
    let left = match absent {
        0 => String::new(),
        1 => "; 1 was not run".to_owned(),
        more => format!("; {more} were not run"),
    };
    format!(
        "{} of {} ratios that judge lie within 25 % of the published ones{left}",
        near.count(),
        ours.len()
    )
}

fn description(ratios: &[PublishedRatio]) -> String {
    let axis = match ratios {
        [first, ..] if has_axis(ratios) => {
            format!("N is the number of {}, on a logarithmic axis", first.unit)
        }
        [first, ..] => format!("N is {} {}", number::count(first.n as f64), first.unit),
        [] => String::new(),
    };
    let beyond = match panels(ratios).iter().any(Panel::is_cut) {
        true => " An arrow: the interval goes on beyond the axis; the table has its end.",
        false => "",
    };
    format!(
        "Hollow: published. Filled, with the 95 % interval: measured here. The ratio axis begins at zero; below the line at \
         1 the contender named first takes less time. {axis}.{beyond}"
    )
}

/// Whether the ratios differ in N. Else they stand beside each other by their conditions.
fn has_axis(ratios: &[PublishedRatio]) -> bool {
    ratios.iter().any(|ratio| ratio.n != ratios[0].n)
}

/// What stands in one plot: the ratios to one divisor, under one condition where N differs.
struct Panel<'a> {
    ratios: Vec<&'a PublishedRatio>,
    /// Whether N is drawn along the axis.
    along_n: bool,
    /// The greatest ratio of the axis.
    top: f64,
}

fn panels(ratios: &[PublishedRatio]) -> Vec<Panel<'_>> {
    let along_n = has_axis(ratios);
    let ends = ratios.iter().flat_map(|ratio| [Some(ratio.published), ratio.ours.map(|own| own.0)]);
    // An interval that reaches beyond is cut off there, with an arrow.
    let top = ends.flatten().filter(|end| end.is_finite()).fold(1.1, f64::max) * 1.12;
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for ratio in ratios {
        let belongs = |panel: &&mut Panel<'_>| {
            let first = panel.ratios[0];
            first.b.contender == ratio.b.contender
                && (!along_n || first.condition == ratio.condition)
        };
        match panels.iter_mut().find(belongs) {
            Some(panel) => panel.ratios.push(ratio),
            None => panels.push(Panel { ratios: vec![ratio], along_n, top }),
        }
    }
    panels
}

impl Panel<'_> {
    /// Whether an interval ends beyond the axis.
    fn is_cut(&self) -> bool {
        let ends = self.ratios.iter().filter_map(|ratio| Some(ratio.ci95?[1].0));
        ends.into_iter().any(|end| end.is_finite() && end > self.top)
    }

    fn draw(&self, m: &mut Markup, report: &Report<'_>, top: f64) {
        let transform = format!("translate(0 {top:.0})");
        m.element("g", &[("transform", &transform)], |m| {
            m.line("text", &[("class", &"label"), ("x", &"0"), ("y", &"16")], self.name());
            self.axes(m);
            let series = self.series();
            for (index, name) in series.iter().enumerate() {
                let middle = (series.len() as f64 - 1.0) / 2.0;
                let shift = (index as f64 - middle) * 18.0;
                self.one_series(m, report, name, shift);
            }
        });
    }

    fn name(&self) -> String {
        let divisor = &self.ratios[0].b.contender;
        let over = self.series().join(", ");
        match self.along_n {
            true => format!("{over} / {divisor}, {}", self.ratios[0].condition),
            false => format!("{over} / {divisor}"),
        }
    }

    /// The contenders that are divided, in their order.
    fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for ratio in &self.ratios {
            if !names.contains(&ratio.a.contender.as_str()) {
                names.push(&ratio.a.contender);
            }
        }
        names
    }

    fn x(&self, ratio: &PublishedRatio) -> Position {
        let share = match self.along_n {
            true => {
                let logs = || self.ratios.iter().map(|one| (one.n.max(1) as f64).ln());
                let (low, high) =
                    (logs().fold(f64::INFINITY, f64::min), logs().fold(0.0, f64::max));
                ((ratio.n.max(1) as f64).ln() - low) / (high - low).max(f64::MIN_POSITIVE)
            }
            false => {
                let place = self.ratios.iter().position(|one| one.condition == ratio.condition);
                let last = self.ratios.len() as f64 - 1.0;
                if last < 1.0 { 0.5 } else { place.unwrap_or(0) as f64 / last }
            }
        };
        Position(INNER[0] + share * (INNER[1] - INNER[0]))
    }

    fn y(&self, ratio: f64) -> String {
        let share = (ratio / self.top).clamp(0.0, 1.0);
        format!("{:.1}", PLOT_BOTTOM - share * (PLOT_BOTTOM - PLOT_TOP))
    }

    fn axes(&self, m: &mut Markup) {
        let left = Position(LEFT);
        let step = if self.top > 3.0 { 1.0 } else { 0.5 };
        m.element("g", &[("class", &"axis")], |m| {
            for tick in (0..).map(|tick| f64::from(tick) * step).take_while(|at| *at <= self.top) {
                let y = self.y(tick);
                let class = if tick == 1.0 { "one" } else { "" };
                m.empty(
                    "line",
                    &[("class", &class), ("x1", &left), ("x2", &"100%"), ("y1", &y), ("y2", &y)],
                );
                m.line("text", &[("x", &"0"), ("y", &y), ("dy", &"4")], format!("{tick:.1}"));
            }
            let mut last = None;
            for ratio in &self.ratios {
                let x = self.x(ratio);
                if last.is_some_and(|last: Position| x <= last) {
                    continue;
                }
                last = Some(x);
                for (line, text) in self.tick(ratio).iter().enumerate() {
                    let y = format!("{:.0}", PLOT_BOTTOM + 18.0 + 15.0 * line as f64);
                    m.line("text", &[("x", &x), ("y", &y), ("text-anchor", &"middle")], text);
                }
            }
        });
    }

    /// The lines of a label under the plot.
    fn tick(&self, ratio: &PublishedRatio) -> Vec<String> {
        match self.along_n {
            true => vec![format!("N = {}", ratio.n)],
            // On a phone `parallel on 3G` needs two lines.
            false => ratio.condition.split(" on ").map(str::to_owned).collect(),
        }
    }

    fn one_series(&self, m: &mut Markup, report: &Report<'_>, name: &str, shift: f64) {
        let cell = report.result.cells.iter().find(|cell| cell.contender.name == name);
        let hue = cell.map_or("", |cell| report.palette().hue(&cell.contender).class());
        let of_series: Vec<&PublishedRatio> =
            self.ratios.iter().filter(|ratio| ratio.a.contender == name).copied().collect();
        m.element("g", &[("class", &hue)], |m| {
            for ratio in &of_series {
                self.marks(m, ratio, shift);
            }
            // One series is named above the plot.
            if let Some(last) = of_series.last().filter(|_| self.series().len() > 1) {
                let ends = last.ours.map_or(last.published, |own| own.0.max(last.published));
                let transform = format!("translate({shift:.1} -10)");
                m.line(
                    "text",
                    &[
                        ("class", &"label name"),
                        ("x", &self.x(last)),
                        ("y", &self.y(ends)),
                        ("text-anchor", &"middle"),
                        ("transform", &transform),
                    ],
                    name,
                );
            }
        });
    }

    fn marks(&self, m: &mut Markup, ratio: &PublishedRatio, shift: f64) {
        let x = self.x(ratio);
        let left = format!("translate({:.1} 0)", shift - 4.0);
        m.element("g", &[("transform", &left)], |m| {
            m.line("title", &[], format!("published, {}: {:.2}", ratio.what, ratio.published));
            let y = self.y(ratio.published);
            m.empty("circle", &[("class", &"hollow"), ("cx", &x), ("cy", &y), ("r", &"4.5")]);
        });
        let Some(ours) = ratio.ours else { return };
        let right = format!("translate({:.1} 0)", shift + 4.0);
        m.element("g", &[("transform", &right)], |m| {
            m.line("title", &[], format!("measured, {}: {:.2}", ratio.what, ours.0));
            // Too few blocks give an interval that contains every ratio, which says nothing.
            if let Some([low, high]) = ratio.ci95.filter(|ci| ci[1].0.is_finite()) {
                let (y1, y2) = (self.y(low.0), self.y(high.0));
                if high.0 > self.top {
                    m.line(
                        "title",
                        &[],
                        format!("its interval ends at {:.2}, beyond the axis", high.0),
                    );
                    // A second coordinate system, because lengths in percent and in pixels do not mix in a path.
                    m.element(
                        "svg",
                        &[("class", &"beyond"), ("overflow", &"visible"), ("x", &x), ("y", &y2)],
                        |m| {
                            m.empty("path", &[("class", &"dot"), ("d", &"M-5 8 L0 0 L5 8 Z")]);
                        },
                    );
                }
                m.empty(
                    "line",
                    &[("class", &"reach"), ("x1", &x), ("x2", &x), ("y1", &y1), ("y2", &y2)],
                );
            }
            let y = self.y(ours.0);
            m.empty("circle", &[("class", &"dot"), ("cx", &x), ("cy", &y), ("r", &"4.5")]);
        });
    }
}

/// The command that shows every trial behind our ratios; empty without one.
fn rows_command(report: &Report<'_>, published: &Published) -> String {
    let ran = || published.ratios.iter().filter(|ratio| ratio.ours.is_some());
    if ran().next().is_none() {
        return String::new();
    }
    let names = |name: &dyn Fn(&PublishedRatio) -> Vec<String>| {
        let mut names: Vec<String> = ran().flat_map(name).collect();
        names.sort();
        names.dedup();
        command::sql_list(names.iter().map(String::as_str))
    };
    let workloads = names(&|ratio| ratio.workload.clone().into_iter().collect());
    let contenders = names(&|ratio| vec![ratio.a.contender.clone(), ratio.b.contender.clone()]);
    let metrics = names(&|ratio| {
        let cells = report.result.cells.iter();
        let mut own = cells.filter(|cell| Some(&cell.workload.name) == ratio.workload.as_ref());
        own.next().map(|cell| deciding_metric(&cell.workload).to_owned()).into_iter().collect()
    });
    let query = format!(
        "SELECT workload, link, contender, block, metric, value, outcome FROM metrics \
         WHERE metric IN {metrics} AND key IN counted AND workload IN {workloads} AND contender IN {contenders} \
         ORDER BY workload, link, block, contender"
    );
    command::rows(report.folder, &query)
}
