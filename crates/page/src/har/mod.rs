//! Reads a page from a HAR 1.2 file as browsers and WebPageTest export it.
//!
//! Exporters disagree on nearly every field, so each gap is filled by a stated rule and every use of a
//! rule is counted in [`Assumptions`]:
//! - size: `_transferSize`, else `bodySize`, else Content-Length, else `content.size`; the first that
//!   is above 0, so that what came from a cache has its size too. A redirect has no `_transferSize`: that is its head.
//!   A recorded site (docs/record.md) has the exact `bodySize`;
//! - a method stays what it is, with as many bytes of body; one that a replay does not make becomes a GET;
//! - a status stays what it is: a redirect with its Location, a part (206) with its Range and Content-Range, a 304 with
//!   the validators that asked for it and without a body, an error with its body. Without such a field it becomes 200, and so
//!   does the document's 304: all else is found in its bytes;
//! - a WebSocket has the messages that were exchanged until the load's end, where they are recorded;
//! - a stream of events takes as long as it took until the load's end, evenly;
//! - what a cache of the browser answered is a request, unless it has the response to an earlier one: see `own_answers.rs`;
//! - round trip of a host: its least TCP connect (without TLS), else the median of the hosts;
//! - server time: `wait` less the round trip, never below 0;
//! - initiators and gaps: see `discovery.rs`; preflights of CORS: see `preflight.rs`;
//! - requests that began after the load are left out: see `extent.rs`;
//! - an entry whose URL cannot be asked for is left out, unless it is the document.
//!
//! The one rule: what cannot be read is an error that names the entry; what is merely missing is not.

mod assumptions;
mod blocking;
mod builder;
mod discovery;
mod entry;
mod extent;
mod file;
mod kind;
mod names;
mod own_answers;
mod preflight;
mod socket;
mod status;
mod time;
mod times;

#[cfg(test)]
mod tests;

pub use assumptions::Assumptions;

use crate::graph::{GraphError, Page};
use builder::Builder;
use entry::Entry;
use file::{Chosen, PageLoad};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What makes a resource known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependencies {
    /// Its initiator, recorded or inferred.
    #[default]
    Inferred,
    /// The document's end, for everything: the other extreme.
    Flat,
}

/// What becomes of the gap between being known and being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// It is replayed as recorded. (Flat dependencies have none: the recorded gap would hold the very
    /// fetches whose order they leave out.)
    #[default]
    Recorded,
    /// It is left out.
    None,
}

/// How to read a HAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HarOptions {
    /// What makes a resource known.
    pub dependencies: Dependencies,
    /// What becomes of gaps.
    pub think: Think,
    /// Which of several page loads in the file, from 0, of those that have entries.
    pub page: u32,
}

/// A page read from a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The page's title, as recorded.
    pub title: String,
    /// The page.
    pub page: Page,
    /// What was assumed on the way.
    pub assumptions: Assumptions,
    /// Whether it is a recorded site, with the bodies in files beside it.
    #[serde(default)]
    pub is_site: bool,
    /// The time that a recorded site's page saw, in milliseconds since 1970.
    #[serde(default)]
    pub epoch_ms: u64,
}

/// Why a file gives no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HarError {
    /// It is not UTF-8.
    #[error("line {line}, column {column}: not UTF-8")]
    Encoding {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
    },
    /// It is not JSON, or not a HAR's.
    #[error("{problem}")]
    Json {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        /// What is wrong, with the place.
        problem: String,
    },
    /// An entry cannot be read.
    #[error("entry {index} (log.entries[{index}]){}: {field}: {problem}", of_url(.url))]
    Entry {
        /// Its place in `log.entries`, from 0.
        index: usize,
        /// The URL that it asks for, where that could be read.
        url: String,
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is nothing in it that can be replayed.
    #[error("none of the {0} entries can be replayed: no http or https request with an answer")]
    Nothing(usize),
    /// It has fewer page loads than that.
    #[error("there is no page {asked}: the file has {pages} page loads with entries, from 0")]
    NoSuchPage {
        /// The number asked for.
        asked: u32,
        /// How many there are.
        pages: usize,
    },
    /// The format of a recorded site is a later one.
    #[error("it is a recorded site of version {found}, and this is read: {SITE_VERSION}")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The resources make no page.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The version of the format of a recorded site (docs/record.md).
pub const SITE_VERSION: u32 = 1;

/// Reads the page that `file` recorded: a HAR file, or the `site.json` of a recorded site.
pub fn parse(file: &[u8], options: HarOptions) -> Result<Recording, HarError> {
    let har = file::read(file)?;
    if let Some(found) = har.wirelap_site.filter(|version| *version != SITE_VERSION) {
        return Err(HarError::Version { found });
    }
    let entries = har.log.entries.0.iter().enumerate();
    let entries: Vec<Entry> =
        entries.map(|(index, json)| Entry::read(index, json.get())).collect::<Result<_, _>>()?;
    let pages = PageLoad::read_all(har.log.pages.as_ref(), &entries);
    let chosen = Chosen::of(&pages, options.page)?;
    let builder = Builder {
        options,
        is_site: har.wirelap_site.is_some(),
        epoch_ms: har.wirelap_epoch_ms,
        assumptions: Assumptions {
            entries: entries.len() as u32,
            pages: pages.len().max(1) as u32,
            dependencies: options.dependencies,
            think: options.think,
            ..Assumptions::default()
        },
        unusable: Vec::new(),
    };
    builder.build(chosen, entries)
}

fn of_url(url: &str) -> String {
    // Enough to find it by; some URLs are pages long.
    let short: String = url.chars().take(100).collect();
    if short.is_empty() { short } else { format!(" for {short}") }
}
