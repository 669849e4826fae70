//! What was fetched, and what the time went into: weight, requests, hosts, largest files, and the bottleneck in words.

use crate::file_name::file_name;
use crate::markup::Markup;
use crate::metrics::cached;
use crate::overview::{Group, has_rate, has_recorded_gaps};
use crate::{Report, words};
use std::collections::BTreeSet;
use study::experiment::WorkloadKind;
use study::metric;
use study::reconcile::Parts;
use study::record::TrialRecord;
use study::result::CellResult;
use unit::ByteSize;

/// One box a workload; nothing where no trial shows its fetches.
pub(super) fn your_page(m: &mut Markup, report: &Report<'_>, groups: &[Group<'_>]) {
    let compared: Vec<&Group<'_>> =
        groups.iter().filter(|group| group.workload.check_of.is_none()).collect();
    let chunks = compared.chunk_by(|a, b| a.workload.name == b.workload.name);
    let told: Vec<(&[&Group<'_>], &TrialRecord)> =
        chunks.filter_map(|groups| Some((groups, shown(report, groups)?))).collect();
    if told.is_empty() {
        return;
    }
    let is_several = told.len() > 1;
    m.element("section", &[("id", &"page")], |m| {
        let kinds = || told.iter().map(|(groups, _)| &groups[0].workload.kind);
        let title = match () {
            () if kinds().all(|kind| matches!(kind, WorkloadKind::Har(_))) => "Your page",
            () if kinds().all(|kind| matches!(kind, WorkloadKind::Page(_))) => "The page",
            () => "The work",
        };
        m.line("h2", &[], title);
        for (groups, trial) in &told {
            if is_several {
                m.line("h3", &[], &groups[0].workload.name);
            }
            facts(m, trial);
            bottlenecks(m, groups);
        }
    });
}

/// The trial that shows what is fetched: the baseline's median one where there is one. A first view shows all of the page.
fn shown<'a>(report: &Report<'a>, groups: &[&Group<'a>]) -> Option<&'a TrialRecord> {
    let baselines = groups.iter().filter_map(|group| group.baseline());
    let all = groups.iter().flat_map(|group| group.cells.iter().copied());
    let cells: Vec<&CellResult> = baselines.chain(all).collect();
    let (next, first): (Vec<&CellResult>, Vec<_>) =
        cells.into_iter().partition(|cell| cell.contender.settings.next_view.is_some());
    let mut cells = first.into_iter().chain(next);
    cells.find_map(|cell| report.median_row(cell).filter(|row| !row.fetches.is_empty()))
}

fn facts(m: &mut Markup, trial: &TrialRecord) {
    let fetches = &trial.fetches;
    let weight: u64 = fetches.iter().map(|fetch| fetch.body_bytes).sum();
    let hosts: BTreeSet<&str> = fetches.iter().map(|fetch| host(&fetch.url)).collect();
    let mut largest: Vec<_> = fetches.iter().collect();
    largest.sort_by_key(|fetch| (std::cmp::Reverse(fetch.body_bytes), fetch.id));
    let largest: Vec<String> = largest
        .iter()
        .take(LARGEST)
        .map(|fetch| format!("{} ({})", file_name(&fetch.url), ByteSize(fetch.body_bytes)))
        .collect();
    m.element("dl", &[("class", &"host")], |m| {
        let mut fact = |name: &str, value: &str| {
            m.element("div", &[], |m| {
                m.line("dt", &[], name);
                m.line("dd", &[], value);
            });
        };
        let is_next = trial.plan.cell.contender.settings.next_view.is_some();
        if is_next {
            fact("shown", "the next view, after a first one");
        }
        let name = if is_next { "fetched" } else { "weight" };
        fact(name, &format!("{} in bodies", ByteSize(weight)));
        fact("requests", &fetches.len().to_string());
        let of = |name: &str| trial.metrics.get(name).copied();
        if let Some(fresh) = of(metric::CACHE_FRESH).filter(|_| is_next) {
            let files = fresh + of(metric::CACHE_REVALIDATED).unwrap_or_default();
            fact("cache", &cached(files, of(metric::CACHED_BYTES).unwrap_or_default()));
        }
        match hosts.iter().next() {
            Some(only) if hosts.len() == 1 => fact("hosts fetched from", &format!("1 ({only})")),
            _ => fact("hosts fetched from", &hosts.len().to_string()),
        }
        fact("largest files", &largest.join(", "));
    });
}

/// Files that are named.
const LARGEST: usize = 3;

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// A sentence a link: what most of the baseline's time goes into, and what most of the fastest one's.
fn bottlenecks(m: &mut Markup, groups: &[&Group<'_>]) {
    let said: Vec<(&str, String)> = groups
        .iter()
        .filter_map(|group| Some((group.link.name.as_str(), bottleneck(group)?)))
        .collect();
    if said.is_empty() {
        return;
    }
    m.element("ul", &[("class", &"causes")], |m| {
        for (link, sentence) in said {
            m.element("li", &[], |m| {
                m.line("b", &[], link);
                m.text(": ");
                m.text(sentence);
            });
        }
    });
}

fn bottleneck(group: &Group<'_>) -> Option<String> {
    // Between a stream's tokens there is nothing to wait for.
    if group.workload.is_paced() || matches!(group.workload.kind, WorkloadKind::Stream(_)) {
        return None;
    }
    let fastest = group.fastest_first().into_iter().find(|cell| parts(cell).is_some())?;
    let first = group.baseline().filter(|cell| parts(cell).is_some()).unwrap_or(fastest);
    let (word, share) = largest(first)?;
    let mut text = format!("{:.0} % of {}'s time {word}", share * 100.0, first.contender.name);
    if fastest.contender.name != first.contender.name {
        let (word, share) = largest(fastest)?;
        text.push_str(&format!("; {:.0} % of {}'s {word}", share * 100.0, fastest.contender.name));
    }
    Some(text)
}

fn parts(cell: &CellResult) -> Option<Parts> {
    cell.median_trial.as_ref()?.parts.filter(|parts| parts.total_ns() > 0)
}

/// The largest part of a load time in words, with its share. What waits for the far side counts as one.
fn largest(cell: &CellResult) -> Option<(String, f64)> {
    let parts = parts(cell)?;
    let has_rate = cell.median_trial.as_ref().is_some_and(has_rate);
    let receiving = match has_rate {
        true => "the link's rate: the bytes keep it busy",
        false => "receiving: from first bytes to last bytes",
    };
    let client = match has_recorded_gaps(cell) {
        true => "the gaps that the recording has between finding a file and asking for it",
        false => "the client",
    };
    let trips = [
        ("connects", parts.connect_ns),
        ("TLS", parts.tls_ns),
        ("requests", parts.request_ns),
        ("window growth", parts.window_ns),
    ];
    let mut named = [
        (receiving, parts.serialisation_ns),
        ("loss recovery: packets or a connection were lost", parts.loss_ns),
        ("the server", parts.server_ns),
        (client, parts.client_ns),
        ("bytes that a sender holds back (Nagle)", parts.held_ns),
        ("", parts.round_trips_ns()),
    ];
    named.sort_by_key(|(_, nanos)| std::cmp::Reverse(*nanos));
    let (word, nanos) = named[0];
    let share = nanos as f64 / parts.total_ns() as f64;
    if !word.is_empty() {
        return Some((format!("goes into {word}"), share));
    }
    let mut trips = trips.to_vec();
    trips.sort_by_key(|(_, nanos)| std::cmp::Reverse(*nanos));
    let worth = |(_, nanos): &&(&str, u64)| *nanos * 5 >= parts.round_trips_ns();
    let most: Vec<&str> = trips.iter().filter(worth).map(|(name, _)| *name).collect();
    let mostly = if trips.iter().any(|one| one.1 > 0 && !worth(&one)) { "mostly " } else { "" };
    // Without a rate what is waited for is not only the path.
    let trips = if has_rate { "round trips" } else { "waiting for first bytes" };
    Some((format!("goes into {trips} ({mostly}{})", words::listed(&most)), share))
}
