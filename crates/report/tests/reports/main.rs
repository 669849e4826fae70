//! Reports of a simulated run, looked at as their readers do: the page as a tree, the terminal as lines, the
//! exports as data.

// Clippy spares only functions that are tests themselves, not what they call.
#![allow(clippy::unwrap_used)]

mod exports;
mod films;
mod page;
mod pictures;
mod plain_answers;
mod published_page;
#[path = "../simulated/mod.rs"]
mod simulated;
mod style_sheet;
mod terminal;
mod waits;

use report::LinkText;
use simulated::{Run, quick};
use std::sync::LazyLock;
use study::experiment::Experiment;
use study::outcome::Outcome;
use trace::{FetchOutcome, SpokenProtocol};

/// What every string from outside is replaced by: markup, quotes, a formula, escapes and a reversal of text.
const HOSTILE: &str =
    "=1+\"'<script>alert(1)</script>&amp;]]>--!>\u{1b}[31m\u{202e}\0,\r\n`$(x)`\u{7}";

/// A run in which every string that comes from outside is hostile.
fn hostile() -> &'static Run {
    static RUN: LazyLock<Run> = LazyLock::new(with_hostile_strings);
    &RUN
}

fn with_hostile_strings() -> Run {
    let mut experiment: Experiment = quick();
    experiment.title = HOSTILE.into();
    experiment.question = HOSTILE.into();
    experiment.not_covered = vec![HOSTILE.into()];
    let baseline = format!("h1-tls{HOSTILE}");
    experiment.contenders.iter_mut().for_each(|c| c.name.push_str(HOSTILE));
    experiment.links.iter_mut().for_each(|link| link.name.push_str(HOSTILE));
    experiment.workloads.iter_mut().for_each(|workload| workload.name = HOSTILE.into());
    experiment.baseline = baseline;
    let mut run = Run::of(experiment, |plan| {
        let reason = HOSTILE.to_owned();
        match plan.block {
            0 => Some(Outcome::Failed { reason }),
            1 => Some(Outcome::Unsupported { reason, remedy: HOSTILE.to_owned() }),
            _ => None,
        }
    });
    for row in &mut run.rows {
        row.settings.insert(HOSTILE.into(), HOSTILE.into());
        for fetch in &mut row.fetches {
            fetch.url = format!("https://far/{HOSTILE}");
            fetch.outcome = FetchOutcome::Failed(HOSTILE.into());
        }
        row.connections
            .iter_mut()
            .for_each(|connection| connection.protocol = SpokenProtocol::from_name(HOSTILE));
    }
    run.result.command_line = vec![HOSTILE.into()];
    run.result.host.more.insert(HOSTILE.into(), HOSTILE.into());
    let text = LinkText { figures: HOSTILE.into(), source: HOSTILE.into() };
    run.links =
        run.result.cells.iter().map(|cell| (cell.link.name.clone(), text.clone())).collect();
    run
}
