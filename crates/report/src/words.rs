//! Findings in words: the titles of pictures, and the lines above and below a table. The one rule: a sentence says no
//! more than a verdict does.

use crate::Report;
use crate::number::{self, Percent, Ratio};
use crate::overview::Group;
use crate::verdict_words::smallest;
use study::blocks::Audited;
use study::experiment::{Contender, Tls};
use study::metric;
use study::published::{Agreement, Published, PublishedFinding, PublishedRatio};
use study::reconcile::Grade;
use study::result::{CellResult, Exploratory, MachineResult, RunResult, TrialCounts};
use study::stats::{Modes, Percentile};
use unit::counted;

pub(crate) use crate::verdict_words::{
    confidence, failures, handshakes, ratio, remarks, round_trips, saved, without_interval,
    would_have_shown, would_show,
};

/// The TLS version as experiments name it.
pub(crate) fn tls_name(tls: Tls) -> &'static str {
    match tls {
        Tls::None => "none",
        Tls::V1_2 => "1.2",
        Tls::V1_3 => "1.3",
    }
}

/// What ran and under which conditions, if they were the same for every cell.
pub(crate) fn conditions(report: &Report<'_>) -> String {
    let result = report.result;
    let mut parts = vec![result.title.clone()];
    let contenders = || result.cells.iter().map(|cell| &cell.contender);
    let sends_by =
        |c: &Contender| (c.settings.congestion_control.name(), c.settings.initial_window);
    let over_tcp =
        |c: &&Contender| !c.transport.is_over_quic() || c.settings.first_visit.uses_tcp();
    let tcp = || contenders().filter(over_tcp);
    // Another server's QUIC decides by itself.
    let quic = contenders().filter(|c| c.transport.is_over_quic() && c.server.is_origin());
    let quic = only(quic.map(sends_by));
    let of_tcp = only(tcp().map(|c| (sends_by(c), c.settings.pacing)));
    parts.extend(of_tcp.map(|((control, window), is_paced)| {
        let paced = if is_paced { ", paced" } else { "" };
        format!("TCP {control}, initial window {window}{paced}")
    }));
    // QUIC's are said where they are not TCP's.
    let other = quic.filter(|quic| only(tcp().map(sends_by)).is_none_or(|tcp| tcp != *quic));
    parts.extend(other.map(|(control, window)| format!("QUIC {control}, initial window {window}")));
    let versions = contenders().filter(|c| c.tls != Tls::None).map(|c| tls_name(c.tls));
    parts.extend(only(versions).map(|version| format!("TLS {version}")));
    parts.push(format!("seed {}", result.seed));
    parts.join(", ")
}

/// How many trials there were, how they ended and how long all of them took.
pub(crate) fn trials_line(report: &Report<'_>) -> String {
    let TrialCounts { measured, invalid, failed, unsupported } = report.result.trials;
    let not_run: u32 = report.result.cells.iter().map(|cell| cell.not_run).sum();
    let all = report.result.trials.all() + not_run;
    let mut line = format!("{measured} of {} measured, {invalid} invalid", counted(all, "trial"));
    line.push_str(&format!(", {failed} failed"));
    if unsupported > 0 {
        line.push_str(&format!(", {unsupported} unsupported"));
    }
    if not_run > 0 {
        line.push_str(&format!(", {not_run} not run"));
    }
    if let Some(elapsed) = report.elapsed_ms() {
        line.push_str(&format!(", {:.0} s", elapsed / 1e3));
    }
    // In the words of each cell, whose counts sum to this one.
    let Audited { trials: attempts, invalid: refused } = audited(&report.result.cells);
    if refused > invalid {
        line.push_str(&format!("; the audit refused {refused} of {attempts} attempts"));
    }
    line
}

/// How many attempts at the trials of `cells` the audit judged and refused.
pub(crate) fn audited<'c>(cells: impl IntoIterator<Item = &'c CellResult>) -> Audited {
    cells.into_iter().fold(Audited::default(), |sum, cell| Audited {
        trials: sum.trials + cell.audited.trials,
        invalid: sum.invalid + cell.audited.invalid,
    })
}

/// What trials that were added later mean for the verdicts; None where there are none.
pub(crate) fn exploratory(result: &RunResult) -> Option<String> {
    let Exploratory { added, planned } = result.exploratory?;
    let trials = if added == 1 { "trial of all cells was" } else { "trials of all cells were" };
    let gates = if result.gates.is_empty() { "" } else { "; the gates are judged without them" };
    Some(format!(
        "{added} {trials} added after the {planned} planned for each cell had been judged: the confidence of the \
         intervals no longer holds{gates}. A new run confirms what this one shows"
    ))
}

/// A share with its sign, in whole per cent.
pub(crate) fn signed_percent(share: f64) -> String {
    format!("{:+.0} %", share * 100.0)
}

/// Milliseconds with their sign, to hundredths: the time added to a single message.
pub(crate) fn signed_millis(millis: f64) -> String {
    format!("{millis:+.2} ms")
}

/// The interval of such.
pub(crate) fn millis_interval([low, high]: [f64; 2]) -> String {
    format!(" [{low:+.2}, {high:+.2}]")
}

/// With a capital letter.
pub(crate) fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What happened to the trials of `cell` that were not measured, and why, the most frequent reason first.
pub(crate) fn not_measured(report: &Report<'_>, cell: &CellResult) -> Vec<String> {
    let mut counts: Vec<(&str, String, u32)> = Vec::new();
    for trial in report.trials(cell) {
        let Some(reason) = trial.outcome.reason() else { continue };
        let kind = crate::rows::outcome_name(&trial.outcome);
        let reason = match &trial.outcome {
            study::outcome::Outcome::Unsupported { remedy, .. } if !remedy.is_empty() => {
                format!("{reason} ({remedy})")
            }
            _ => reason.to_owned(),
        };
        match counts.iter_mut().find(|(k, r, _)| *k == kind && *r == reason) {
            Some((_, _, count)) => *count += 1,
            None => counts.push((kind, reason, 1)),
        }
    }
    counts.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let all = cell.trials.all();
    let (invalid, others): (Vec<_>, Vec<_>) =
        counts.into_iter().partition(|(kind, ..)| *kind == INVALID);
    let why: Vec<String> = invalid.into_iter().map(|(_, reason, _)| reason).collect();
    let told = others
        .into_iter()
        .map(|(kind, reason, count)| format!("{count} of {all} {kind}: {reason}"));
    refusals(cell, &why).into_iter().chain(told).chain(modes(cell)).collect()
}

/// The outcome of a trial that the audit refused, as rows name it.
const INVALID: &str = "invalid";

/// How often the audit refused trials of `cell`, over all attempts: the one count of it that a report shows. With the reasons
/// of those that stay without a figure.
fn refusals(cell: &CellResult, why: &[String]) -> Option<String> {
    let Audited { trials: attempts, invalid: refused } = cell.audited;
    let (without, all) = (cell.trials.invalid, cell.trials.all());
    if refused == 0 {
        return None;
    }
    let count = cell.refused.clone();
    let count =
        count.unwrap_or_else(|| format!("the audit refused {refused} of {attempts} attempts"));
    let left = match without {
        0 => "; their blocks were run again".to_owned(),
        _ if attempts == all || cell.refused.is_some() => String::new(),
        _ => format!("; {without} of {} stay without a figure", counted(all, "trial")),
    };
    let why = if why.is_empty() { String::new() } else { format!(": {}", joined(why)) };
    Some(format!("{count}{left}{why}"))
}

/// The reasons, with what several in a row begin with said once: `the machine was busy: the client …; the link …`.
fn joined(reasons: &[String]) -> String {
    let mut text = String::new();
    let mut before = None;
    for reason in reasons {
        let parts = reason.split_once(": ");
        let told = match parts {
            Some((kind, rest)) if before == Some(kind) => rest,
            _ => reason,
        };
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(told);
        before = parts.map(|(kind, _)| kind);
    }
    text
}

/// The two groups of the trials of a cell, if they form two.
pub(crate) fn modes(cell: &CellResult) -> Option<String> {
    two_groups(cell.modes?)
}

/// None if the report would print the same time for both. The result file has them.
fn two_groups(modes: Modes) -> Option<String> {
    let [low, high] = [modes.low, modes.high].map(|mode| number::duration(mode.centre));
    let [below, above] = [modes.low, modes.high].map(|mode| Percent(mode.share));
    (low != high).then(|| {
        format!("trials fall into two groups: {below} around {low}, {above} around {high}")
    })
}

/// Percentiles of single exchanges: `each of 140 calls: p50 61.2 ms [60, 63], …`; None where a trial has too few.
pub(crate) fn percentiles(cell: &CellResult) -> Option<String> {
    let samples = cell.samples.as_ref()?;
    let told: Vec<String> = samples.at.iter().map(percentile).collect();
    (!told.is_empty()).then(|| format!("{}: {}", counted(samples.n, "request"), told.join(", ")))
}

/// A stream's gaps, latency and stalls, medians of the trials; None of other workloads.
pub(crate) fn tokens(cell: &CellResult) -> Option<String> {
    let median = |name: &str| cell.metrics.get(name).map(|summary| summary.median);
    let time = |name: &str| median(name).map(number::duration);
    Some(format!(
        "gaps p50 {}, p99 {}; latency p50 {}, p99 {}; stalls {}",
        time(metric::GAP_P50_MS)?,
        time(metric::GAP_P99_MS)?,
        time(metric::LATENCY_P50_MS)?,
        time(metric::LATENCY_P99_MS)?,
        median(metric::STALLS)?
    ))
}

fn percentile(percentile: &Percentile) -> String {
    let time = match percentile.ci95 {
        Some(ci95) => number::duration_with_interval(percentile.ms, ci95),
        None => number::duration(percentile.ms),
    };
    format!("p{} {time}", percentile.share * 100.0)
}

/// What the published findings that stay open need: the full run for what was left out (`Of 4 findings, findings 1 and 2
/// need what was left out: wirelap race spdy-images, about 9 min`), and another run for what the audit refused.
pub(crate) fn findings_need(report: &Report<'_>) -> Vec<String> {
    let Some(published) = &report.result.published else { return Vec::new() };
    let numbers = |is_it: fn(&PublishedFinding) -> bool| {
        let open = published.findings.iter().zip(1..).filter(|(finding, _)| is_it(finding));
        open.map(|(_, number): (_, u32)| number.to_string()).collect::<Vec<_>>()
    };
    let which = |numbers: &[String]| match numbers {
        [] => None,
        [one] => Some(format!("of {} findings, finding {one}", published.findings.len())),
        several => {
            Some(format!("of {} findings, findings {}", published.findings.len(), listed(several)))
        }
    };
    let (left_out, refused) =
        (numbers(|finding| finding.not_run), numbers(|finding| finding.refused));
    let need = |count: usize| if count > 1 { "need" } else { "needs" };
    let mut lines = Vec::new();
    if let Some(full) = report.full_run {
        let causes = open_causes(report);
        let count = left_out.len() + usize::from(causes.is_some());
        let asked: Vec<String> = which(&left_out).into_iter().chain(causes).collect();
        if !asked.is_empty() {
            let asked = sentence_case(&asked.join(", and "));
            lines.push(format!("{asked} {} what was left out: {full}", need(count)));
        }
    }
    if let Some(which) = which(&refused) {
        lines.push(format!(
            "{} {} trials that the audit refused or that failed: run it again while the machine does nothing else",
            sentence_case(&which),
            if refused.len() > 1 { "rest on" } else { "rests on" },
        ));
    }
    lines
}

/// Why ours has no figure beside a published ratio.
pub(crate) fn no_ratio(ratio: &PublishedRatio) -> &'static str {
    if ratio.trials == 0 { "not run" } else { "no figure" }
}

/// What a published ratio is for: to judge ours, or to find the link's delay and rate.
pub(crate) fn ratio_role(ratio: &PublishedRatio) -> &'static str {
    if ratio.reconstructs { "used to fit the link (not judged)" } else { "judged" }
}

/// The published measurement in a sentence: how many findings hold, and the largest of its ratios that judge beside ours.
pub(crate) fn published_headline(published: &Published) -> String {
    let count = |verdict| published.findings.iter().filter(|one| one.verdict == verdict).count();
    let mut line = format!(
        "{} of {} findings confirmed, {} not",
        count(Agreement::Confirmed),
        published.findings.len(),
        count(Agreement::NotConfirmed)
    );
    let judging = published.ratios.iter().filter(|ratio| !ratio.reconstructs);
    let size = |ratio: &&PublishedRatio| ratio.published.ln().abs();
    let measured = judging.filter_map(|ratio| Some((ratio, ratio.ours?, ratio.ci95?)));
    let largest = measured.max_by(|(a, ..), (b, ..)| size(a).total_cmp(&size(b)));
    if let Some((ratio, ours, [low, high])) = largest {
        let ours = Ratio { value: ours.0, ci: [low.0, high.0] };
        line.push_str(&format!(
            "; the largest difference, {}, was {:.2} and is {} {} here",
            ratio.what,
            ratio.published,
            ours.number(),
            ours.interval()
        ));
    }
    line
}

/// The open question, where causes of it were not measured.
fn open_causes(report: &Report<'_>) -> Option<String> {
    let open = report.result.published.as_ref()?.open_question.as_ref()?;
    let absent = open.causes.iter().filter(|cause| cause.added_ms.is_none()).count();
    (absent > 0).then(|| {
        format!("the open question ({absent} of {} causes not measured)", open.causes.len())
    })
}

/// What comparing a contender with itself found.
pub(crate) fn same(report: &Report<'_>) -> Vec<String> {
    let Some(same) = &report.result.same else { return Vec::new() };
    if same.comparisons == 0 {
        return vec![format!(
            "A/A test: nothing is known: no comparison is complete. Each needs {} blocks in a row of which both trials count",
            same.blocks
        )];
    }
    let mut lines = vec![
        format!(
            "A/A test: {} of {} comparisons of the contender with itself found a difference ({}, 95 % interval {} to {}); \
             {} are expected by chance, and {} at most",
            same.differ,
            same.comparisons,
            Percent(same.share),
            Percent(same.ci95[0]),
            Percent(same.ci95[1]),
            Percent(same.expected),
            same.most,
        ),
        format!(
            "A/A test: {} false verdicts, {} ties; {} trials of each in a comparison",
            same.false_verdicts, same.ties, same.blocks
        ),
    ];
    lines.extend(same.places.iter().map(|place| {
        let least = place.detectable.map_or_else(String::new, |ratio| {
            format!("; smallest detectable difference {}", smallest(ratio.0 - 1.0))
        });
        format!(
            "A/A test on {}, {}: {} of {} found a difference, {} false verdicts{least}",
            place.link, place.workload, place.differ, place.comparisons, place.false_verdicts
        )
    }));
    lines
}

/// What confirms the claims of a foreign client: `confirmed by packets (connections, bytes) and the server's log
/// (protocol)`. None for wirelap's own client.
pub(crate) fn evidence(cell: &CellResult) -> Option<String> {
    let of = |grade: Grade| {
        let of_grade = cell.evidence.iter().filter(|one| one.grade == grade);
        let claims: Vec<String> = of_grade.map(|one| one.claim.to_string()).collect();
        (!claims.is_empty()).then(|| claims.join(", "))
    };
    let by = |(grade, name): (Grade, &str)| of(grade).map(|claims| format!("{name} ({claims})"));
    let witnesses = [
        (Grade::Wire, "packets"),
        (Grade::KeyLog, "the key log"),
        (Grade::ServerLog, "the server's log"),
    ];
    let confirmed: Vec<String> = witnesses.into_iter().filter_map(by).collect();
    let confirmed = (!confirmed.is_empty()).then(|| format!("confirmed by {}", listed(&confirmed)));
    let unverified = of(Grade::Unverified).map(|claims| format!("not verified: {claims}"));
    let all: Vec<String> = confirmed.into_iter().chain(unverified).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The name of a cell in tables. It includes the workload only where there are several.
pub(crate) fn cell(groups: &[Group<'_>], cell: &CellResult) -> String {
    let several = groups.iter().any(|group| group.workload.name != cell.workload.name);
    let workload = if several { format!(", {}", cell.workload.name) } else { String::new() };
    format!("{}, {}{workload}", cell.link.name, cell.contender.name)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The value that all items share; None where they differ or there are none.
fn only<T: PartialEq>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.all(|item| item == first).then_some(first)
}

/// What a machine of a merged run did, and what it is: `shards 1, 5 of 8, 40 attempts, 2 refused; 4 cores, AMD EPYC, Linux 6.1`.
pub(crate) fn machine(machine: &MachineResult) -> String {
    let shards: Vec<String> = machine.shards.iter().map(u32::to_string).collect();
    let word = if shards.len() == 1 { "shard" } else { "shards" };
    let host = &machine.host;
    let cores = counted(host.cores, "core");
    format!(
        "{word} {} of {}, {}, {} refused; {cores}, {}, Linux {}",
        shards.join(", "),
        machine.of,
        counted(machine.attempts, "attempt"),
        machine.refused,
        host.cpu,
        host.kernel,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::stats::Mode;

    #[test]
    fn two_groups_are_told_where_a_reader_could_tell_them_apart() {
        let of = |low, high| {
            let [low, high] =
                [(low, 0.25), (high, 0.75)].map(|(centre, share)| Mode { centre, share });
            two_groups(Modes { p: 0.001, low, high })
        };
        assert_eq!(of(4379.2, 4380.7), None);
        let told = of(204.0, 311.0).map(|told| told.replace('\u{a0}', " "));
        assert_eq!(
            told.as_deref(),
            Some("trials fall into two groups: 25 % around 204 ms, 75 % around 311 ms")
        );
    }
}
