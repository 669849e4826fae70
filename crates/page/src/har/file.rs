//! The outer structure of a HAR file, and the choice of one of its page loads.

use super::HarError;
use super::entry::Entry;
use super::time;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The frame of the file. Entries stay text until each is read, so that the bodies in them are never
/// held all at once.
#[derive(Deserialize)]
pub(super) struct File<'a> {
    /// The version of a recorded site's format; None of a HAR that others have made.
    #[serde(default)]
    pub(super) wirelap_site: Option<u32>,
    /// The time that its page saw, in milliseconds since 1970.
    #[serde(default)]
    pub(super) wirelap_epoch_ms: u64,
    #[serde(borrow)]
    pub(super) log: Log<'a>,
}

#[derive(Deserialize)]
pub(super) struct Log<'a> {
    #[serde(default)]
    pub(super) pages: Option<Value>,
    #[serde(borrow)]
    pub(super) entries: RawEntries<'a>,
}

#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct RawEntries<'a>(#[serde(borrow)] pub(super) Vec<&'a RawValue>);

/// One `pages` entry.
#[derive(Debug, Clone, Default)]
pub(super) struct PageLoad {
    id: String,
    pub(super) title: String,
    /// Nanoseconds since 1970.
    pub(super) started: Option<i64>,
    /// After the start.
    pub(super) on_load: Option<Duration>,
    entries: usize,
}

/// Reads the frame.
pub(super) fn read(file: &[u8]) -> Result<File<'_>, HarError> {
    // RFC 8259 §8.1: a byte order mark may be ignored.
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let text = std::str::from_utf8(file).map_err(|error| {
        let before = &file[..error.valid_up_to()];
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        HarError::Encoding { line, column: before.len() - line_start + 1 }
    })?;
    serde_json::from_str(text).map_err(|error| HarError::Json {
        line: error.line(),
        column: error.column(),
        problem: match error.is_eof() && !file.is_empty() {
            true => format!("not a whole HAR file, it ends in the middle: {error}"),
            false => format!("not a HAR file: {error}"),
        },
    })
}

impl PageLoad {
    /// The page loads that have entries; one without a name where the file lists none.
    pub(super) fn read_all(pages: Option<&Value>, entries: &[Entry]) -> Vec<Self> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in entries.iter().filter_map(|entry| entry.pageref.as_deref()) {
            *counts.entry(name).or_default() += 1;
        }
        let listed = pages.and_then(Value::as_array).into_iter().flatten();
        let mut loads: Vec<Self> = listed.map(Self::read).collect();
        for load in &mut loads {
            load.entries = counts.get(load.id.as_str()).copied().unwrap_or_default();
        }
        let with_entries: Vec<Self> =
            loads.iter().filter(|load| load.entries > 0).cloned().collect();
        match (with_entries.is_empty(), loads.into_iter().next()) {
            (false, _) => with_entries,
            // One whose name no entry uses is still the one that its times belong to.
            (true, only) => vec![only.unwrap_or_default()],
        }
    }

    fn read(page: &Value) -> Self {
        let text =
            |name: &str| page.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let on_load = page.get("pageTimings").and_then(|timings| timings.get("onLoad"));
        let on_load = on_load.and_then(|n| n.as_f64().or_else(|| n.as_str()?.trim().parse().ok()));
        Self {
            id: text("id"),
            title: text("title"),
            started: time::read(&text("startedDateTime")),
            on_load: on_load
                .filter(|n| *n > 0.0 && *n < 86_400_000.0)
                .map(|n| Duration::from_nanos((n * 1e6) as u64)),
            entries: 0,
        }
    }
}

/// A page load, and the names of the others.
pub(super) struct Chosen {
    pub(super) load: PageLoad,
    pub(super) others: BTreeSet<String>,
}

impl Chosen {
    /// The `asked`th of `pages`, from 0.
    pub(super) fn of(pages: &[PageLoad], asked: u32) -> Result<Self, HarError> {
        let load = pages.get(asked as usize).cloned();
        let load = load.ok_or(HarError::NoSuchPage { asked, pages: pages.len() })?;
        let others = pages.iter().map(|page| page.id.clone()).filter(|id| *id != load.id).collect();
        Ok(Self { load, others })
    }
}
