//! The result, looked up: groups of cells that were compared with each other, and the rows behind them.

use crate::Report;
use crate::hue::{Hue, Palette};
use study::comparison::{Comparison, Verdict};
use study::deciding_metric;
use study::experiment::{Contender, Dependencies, Think, Tls, Workload, WorkloadKind};
use study::metric;
use study::outcome::Outcome;
use study::record::TrialRecord;
use study::result::{CellResult, LinkResult, MedianTrial, Ranked, Verdicts};
use study::stats::Summary;

/// All contenders over one link at one workload.
#[derive(Debug, Clone)]
pub(crate) struct Group<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) link: &'a LinkResult,
    /// In the order of the experiment.
    pub(crate) cells: Vec<&'a CellResult>,
    /// None for a workload that only puts another's verdicts to the proof.
    pub(crate) verdicts: Option<&'a Verdicts>,
    palette: Palette,
}

impl<'a> Report<'a> {
    /// Every group, in the order of the result's cells.
    pub(crate) fn groups(&self) -> Vec<Group<'a>> {
        let result = self.result;
        let palette = self.palette();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for cell in &result.cells {
            let same = groups
                .iter_mut()
                .find(|g| g.workload.name == cell.workload.name && g.link.name == cell.link.name);
            match same {
                Some(group) => group.cells.push(cell),
                None => groups.push(Group {
                    workload: &cell.workload,
                    link: &cell.link,
                    cells: vec![cell],
                    verdicts: result
                        .verdicts
                        .iter()
                        .find(|v| v.workload == cell.workload.name && v.link == cell.link.name),
                    palette: palette.clone(),
                }),
            }
        }
        groups
    }

    /// The colours of the race.
    pub(crate) fn palette(&self) -> Palette {
        Palette::of(self.result.cells.iter().map(|cell| &cell.contender))
    }

    /// The row of the trial that stands for `cell` in pictures.
    pub(crate) fn median_row(&self, cell: &CellResult) -> Option<&'a TrialRecord> {
        let median = cell.median_trial.as_ref()?;
        self.rows.iter().rfind(|row| row.plan.key == median.key)
    }

    /// The rows of `cell` that count, in the order of blocks.
    pub(crate) fn trials(&self, cell: &CellResult) -> Vec<&'a TrialRecord> {
        let id = cell.id();
        let mut rows = study::blocks::counted(self.rows);
        rows.retain(|row| row.plan.cell.id() == id);
        rows.sort_by_key(|row| row.plan.block);
        rows
    }

    /// How long trials ran, those side by side once, in milliseconds; None without rows. Set-up and clean-up are in it; what
    /// passed between two trials is not, for the run may have been interrupted there.
    pub(crate) fn elapsed_ms(&self) -> Option<f64> {
        let span = |row: &TrialRecord| {
            let begin = row.started_unix_ms as f64;
            (begin, begin + row.duration_ms)
        };
        let mut spans: Vec<(f64, f64)> = self.rows.iter().map(span).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut elapsed, mut until) = (0.0, spans.first()?.0);
        for (begin, end) in spans {
            elapsed += (end - begin.max(until)).max(0.0);
            until = until.max(end);
        }
        Some(elapsed)
    }

    /// The figures of `link`, in words.
    pub(crate) fn link_figures(&self, link: &'a LinkResult) -> &'a str {
        let known = self.links.get(&link.name).map(|text| text.figures.as_str());
        known.or(link.figures.as_deref()).unwrap_or_default()
    }
}

impl<'a> Group<'a> {
    /// The cells, fastest first; those without a figure stand last.
    pub(crate) fn fastest_first(&self) -> Vec<&'a CellResult> {
        let mut cells = self.cells.clone();
        let key = |cell: &CellResult| load(cell).map_or(f64::INFINITY, |load| load.median);
        cells.sort_by(|a, b| key(a).total_cmp(&key(b)));
        cells
    }

    /// The colour of `contender` in this race.
    pub(crate) fn hue(&self, contender: &Contender) -> Hue {
        self.palette.hue(contender)
    }

    /// Whether it is of a contender that raced alone, with nobody to be compared with.
    pub(crate) fn is_of_one(&self) -> bool {
        self.cells.len() == 1 && self.workload.check_of.is_none()
    }

    /// The comparison of `contender` with the baseline; None for the baseline itself.
    pub(crate) fn ranked(&self, contender: &str) -> Option<&'a Ranked> {
        self.verdicts?.ranking.iter().find(|ranked| ranked.contender == contender)
    }

    /// The cell of `contender`.
    pub(crate) fn cell(&self, contender: &str) -> Option<&'a CellResult> {
        self.cells.iter().copied().find(|cell| cell.contender.name == contender)
    }

    /// The baseline's cell.
    pub(crate) fn baseline(&self) -> Option<&'a CellResult> {
        self.cell(&self.verdicts?.baseline)
    }

    /// The contender to advise: the one that is faster than the baseline by most.
    pub(crate) fn winner(&self) -> Option<&'a Ranked> {
        let mut ranking = self.verdicts?.ranking.iter();
        ranking.find(|r| r.comparison.verdict == Verdict::Faster && self.is_advisable(r))
    }

    /// Those of whom the comparison with the baseline found `verdict`, in the order of the ranking.
    pub(crate) fn with_verdict(&self, verdict: Verdict) -> Vec<&'a Ranked> {
        let ranking = self.verdicts.map_or(&[][..], |verdicts| &verdicts.ranking);
        ranking.iter().filter(|ranked| ranked.comparison.verdict == verdict).collect()
    }

    /// Whether `ranked` may be advised: clear text is no advice where the race is about TLS.
    pub(crate) fn is_advisable(&self, ranked: &Ranked) -> bool {
        let is_clear = |cell: &CellResult| cell.contender.tls == Tls::None;
        !self.is_over_tls() || !self.cell(&ranked.contender).is_some_and(is_clear)
    }

    /// Whether nobody beside the baseline may be advised.
    pub(crate) fn none_advisable(&self) -> bool {
        let all = self.verdicts.map_or(&[][..], |verdicts| &verdicts.ranking);
        !all.iter().any(|ranked| self.is_advisable(ranked))
    }

    /// Whether the race is about TLS: the baseline or most contenders speak it.
    fn is_over_tls(&self) -> bool {
        let is_secured = |cell: &&CellResult| cell.contender.tls != Tls::None;
        let secured = self.cells.iter().copied().filter(|cell| is_secured(cell)).count();
        self.baseline().is_some_and(|cell| is_secured(&cell)) || 2 * secured > self.cells.len()
    }

    /// The winner and those that tie with it, in the order of the ranking: nobody is called the fastest who is
    /// level with another.
    pub(crate) fn leaders(&self) -> Vec<&'a Ranked> {
        let (Some(verdicts), Some(winner)) = (self.verdicts, self.winner()) else {
            return Vec::new();
        };
        let level = |other: &Ranked| {
            let names = [&winner.contender, &other.contender];
            let pair =
                verdicts.pairs.iter().find(|p| names.contains(&&p.a) && names.contains(&&p.b));
            pair.is_some_and(|pair| pair.comparison.verdict == Verdict::Tie)
        };
        let leads = |r: &&Ranked| {
            r.comparison.verdict == Verdict::Faster
                && self.is_advisable(r)
                && (r.contender == winner.contender || level(r))
        };
        verdicts.ranking.iter().filter(leads).collect()
    }

    /// Whether everyone is level with the baseline and with each other, and nothing else is to be said.
    pub(crate) fn all_tie(&self) -> bool {
        let tie =
            |r: &Ranked| r.comparison.verdict == Verdict::Tie && r.comparison.reason.is_none();
        let is_level =
            self.verdicts.is_some_and(|v| !v.ranking.is_empty() && v.ranking.iter().all(tie));
        is_level && self.decided_pairs().is_empty()
    }

    /// The pairs of which one is surely faster, the faster one first.
    pub(crate) fn decided_pairs(&self) -> Vec<(&'a str, &'a str)> {
        let pairs = self.verdicts.map_or(&[][..], |verdicts| &verdicts.pairs);
        let decided = pairs.iter().filter_map(|pair| match pair.comparison.verdict {
            Verdict::Faster => Some((&*pair.a, &*pair.b)),
            Verdict::Slower => Some((&*pair.b, &*pair.a)),
            _ => None,
        });
        decided.collect()
    }

    /// Whether `ranked` ties with the baseline, and yet is surely slower: the interval lies above 1, and the ratio is off by more
    /// than [`SLIGHT`].
    pub(crate) fn slower_within_margin(ranked: &Ranked) -> bool {
        let Comparison { ratio: Some(ratio), ci95: Some([low, _]), .. } = &ranked.comparison else {
            return false;
        };
        ranked.comparison.verdict == Verdict::Tie && low.0 > 1.0 && ratio.0 - 1.0 > SLIGHT
    }

    /// The least difference that would have shown in every one of its ties.
    pub(crate) fn least_shown(&self) -> Option<String> {
        let all = self.verdicts?.ranking.iter().map(|ranked| &ranked.comparison);
        let ratio = |comparison: &&Comparison| comparison.detectable.map_or(0.0, |ratio| ratio.0);
        let widest = all.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        crate::words::would_show(widest)
    }

    /// Whether every trial was measured at once, and there is nothing to be said of any.
    pub(crate) fn is_clean(&self) -> bool {
        let clean = |cell: &CellResult| {
            cell.trials.all() == cell.trials.measured
                && cell.audited.invalid == 0
                && crate::words::modes(cell).is_none()
        };
        self.cells.iter().all(|cell| clean(cell))
    }
}

/// A per cent or less is not worth a word.
const SLIGHT: f64 = 0.01;

/// What decides over `workload`, in words.
pub(crate) fn measure(workload: &Workload) -> &'static str {
    match deciding_metric(workload) {
        metric::MEAN_MS => "mean time a call",
        metric::TOTAL_MS => "time to the last answer",
        metric::FIRST_TOKEN_MS => "time to the first token",
        metric::WALL_MS => "time from the start of the client's process to its end",
        name if metric::PAINT_TIMES.contains(&name) => metric::words(name),
        _ => "load time",
    }
}

/// What the tables' times are: medians over trials.
pub(crate) fn median_of(workload: &Workload) -> String {
    match deciding_metric(workload) {
        metric::MEAN_MS => "median over trials of the mean time a call".to_owned(),
        _ => format!("median {}", measure(workload)),
    }
}

/// The times that decide over `cell`, summed up: of a page its load, of calls what their pattern waits for.
pub(crate) fn load(cell: &CellResult) -> Option<&Summary> {
    cell.metrics.get(deciding_metric(&cell.workload))
}

/// Whether the link of that trial has a rate: without one nothing tells the time of its bytes from their wait.
pub(crate) fn has_rate(trial: &MedianTrial) -> bool {
    trial.timeline.as_ref().is_some_and(|timeline| timeline.down.rate_bps.is_some())
}

/// Whether what is told as the client's time of `cell` has the gaps of a recording in it.
pub(crate) fn has_recorded_gaps(cell: &CellResult) -> bool {
    // A browser makes gaps of its own.
    cell.contender.client.is_none()
        && matches!(
            &cell.workload.kind,
            WorkloadKind::Har(har)
                if har.think == Think::Recorded && har.dependencies == Dependencies::Inferred
        )
}

/// The time of `trial` that decides, where it counts.
pub(crate) fn measured_load(trial: &TrialRecord) -> Option<f64> {
    let metric = deciding_metric(&trial.plan.cell.workload);
    match trial.outcome {
        Outcome::Measured => trial.metrics.get(metric).copied(),
        _ => None,
    }
}
