//! What a run says nothing about. An experiment lists it, in words or by a key of this table; what the run covered after all is left out.

use crate::experiment::Experiment;
use crate::record::{CLIENT_CLOCK_RESOLUTION, TrialRecord};
use crate::result::CellResult;

/// What an experiment may leave out, and a run of it may cover: by another link, or another client.
struct Topic {
    /// Its name in an experiment's file.
    key: &'static str,
    /// What a result says.
    words: &'static str,
    /// What stored runs of before there were keys say.
    former: &'static [&'static str],
    is_covered: fn(&[CellResult], &[TrialRecord]) -> bool,
}

const TOPICS: [Topic; 2] = [
    Topic {
        key: "browser-cpu",
        words: "CPU of a real browser",
        former: &[
            "CPU of a real browser",
            "the time that a browser takes to run scripts and to paint",
            "time that a browser needs by itself",
            "the browser's own time",
        ],
        is_covered: |cells, records| {
            // Calls and messages have no paints.
            cells.iter().any(CellResult::is_of_browser)
                || records.iter().any(|row| row.settings.contains_key(CLIENT_CLOCK_RESOLUTION))
        },
    },
    Topic {
        key: "loss",
        words: "loss",
        former: &[],
        is_covered: |_, records| {
            records.iter().any(|row| row.link.down.lost + row.link.up.lost > 0)
        },
    },
];

/// What the experiment lists, less what its run covered.
pub(super) fn not_covered(
    experiment: &Experiment,
    cells: &[CellResult],
    records: &[TrialRecord],
) -> Vec<String> {
    let told = |what: &String| {
        let is_of = |topic: &&Topic| topic.key == what || topic.former.contains(&what.as_str());
        match TOPICS.iter().find(is_of) {
            Some(topic) if (topic.is_covered)(cells, records) => None,
            Some(topic) if topic.key == what => Some(topic.words.to_owned()),
            _ => Some(what.clone()),
        }
    };
    experiment.not_covered.iter().filter_map(told).collect()
}
