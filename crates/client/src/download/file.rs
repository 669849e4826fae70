//! One file in progress, and the requests for it.

use super::retry::Tries;
use super::version::{Condition, NoValidator, Version};
use super::{Joins, Kept, Report, Slice, Wanted};
use crate::fetch::{FetchId, FetchSpec};
use page::Url;
use proto::Fields;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use unit::{Instant, Ranges};

/// A file in progress.
#[derive(Debug)]
pub(super) struct File {
    url: Url,
    fields: Fields,
    /// The byte ranges that the sink has.
    pub(super) kept: Ranges,
    /// The version of these bytes; None before it is known.
    pub(super) version: Option<Version>,
    /// Which responses may be put together.
    pub(super) joins: Joins,
    /// The part of it that is wanted alone.
    pub(super) slice: Option<Slice>,
    /// Whether ranges are requested with a condition.
    pub(super) asking: Asking,
    /// Whether the sink knows this version.
    pub(super) begun: bool,
    /// Whether the server has answered with a range.
    pub(super) splits: bool,
    /// Ranges did not work: the file is requested whole.
    pub(super) whole_only: bool,
    pub(super) rest_until: Option<Instant>,
    pub(super) tries: Tries,
    pub(super) report: Report,
}

/// Whether ranges are requested with a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Where the version has a strong validator.
    Conditionally,
    /// The server does not understand conditions. Its 206 itself must name the version.
    Unconditionally,
}

/// One request for a file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: usize,
    /// The range requested; None for the whole file.
    pub(super) asked: Option<Range<u64>>,
    /// The offset of the next byte in the file.
    pub(super) at: u64,
    /// Where the body ends; None where its length is unknown.
    pub(super) end: Option<u64>,
    pub(super) state: PartState,
    /// Bytes of an unwanted body that were dropped so far.
    pub(super) dropped: u64,
    /// How many tries for the file had failed when it began.
    pub(super) failures: u64,
}

/// The state of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartState {
    /// No answer yet.
    Awaiting,
    /// The file's bytes are arriving.
    Body,
    /// The response has none of the file's bytes. Its meaning takes effect when it has ended.
    Over(Fate),
    /// It was cancelled.
    Cancelled,
}

/// The meaning of a response without bytes of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Again {
        after: Option<Duration>,
        why: String,
    },
    Anew(&'static str),
    /// The same is requested without a condition.
    Unconditional(&'static str),
    /// The file ends where the bytes that are there end.
    All,
    Refused(String),
}

impl File {
    pub(super) fn new(wanted: Wanted) -> Self {
        let Wanted { url, fields, kept, joins, slice } = wanted;
        let (kept, version) = match kept {
            Some(Kept { ranges, version }) => (ranges, Some(version)),
            None => (Ranges::new(), None),
        };
        let report = Report { url: url.to_string(), ..Report::default() };
        Self {
            url,
            fields,
            tries: Tries::of(kept.total()),
            kept,
            version,
            joins,
            slice,
            asking: Asking::Conditionally,
            begun: false,
            splits: false,
            whole_only: false,
            rest_until: None,
            report,
        }
    }

    /// The next range to request (the inner None: the whole file); None where no further request makes sense. With
    /// `connections` above one, a file is requested in pieces.
    pub(super) fn claim(
        &self,
        parts: &BTreeMap<FetchId, Part>,
        index: usize,
        connections: usize,
        piece: u64,
    ) -> Option<Option<Range<u64>>> {
        let own = || parts.values().filter(|part| part.file == index);
        let under_way = own().count();
        // A response without bytes of the file must end first: its meaning is known only then.
        let is_settled = own().all(|part| !matches!(part.state, PartState::Over(_)));
        if under_way > 0 && !(self.splits && under_way < connections && is_settled) {
            return None;
        }
        if self.slice.is_some() {
            return (under_way == 0).then_some(None);
        }
        if under_way == 0 && (self.whole_only || (self.kept.is_empty() && connections == 1)) {
            return Some(None);
        }
        let mut taken = self.kept.clone();
        for part in own().filter(|part| part.state != PartState::Cancelled) {
            taken.insert(part.asked.clone().unwrap_or(0..u64::MAX));
        }
        let length = self.version.as_ref().and_then(|version| version.length);
        let Range { start, end } = taken.gap(0);
        if length.is_some_and(|length| start >= length) {
            // All known bytes are there: ask the server whether the file ends here.
            return (under_way == 0).then_some(Some(start..u64::MAX));
        }
        let end = if connections > 1 {
            end.min(length.unwrap_or(u64::MAX)).min((start / piece + 1) * piece)
        } else {
            end
        };
        Some(Some(start..end))
    }

    /// The request for `range` of the file.
    pub(super) fn request(&self, range: Option<&Range<u64>>) -> FetchSpec {
        let mut fields = self.fields.clone();
        if let Some(slice) = &self.slice {
            fields.push(b"range", format!("bytes={slice}").as_bytes());
        }
        if let Some(range) = range {
            let value = match range.end {
                u64::MAX => format!("bytes={}-", range.start),
                end => format!("bytes={}-{}", range.start, end - 1),
            };
            fields.push(b"range", value.as_bytes());
            match self.condition() {
                Some(Condition::IfRange(validator)) => {
                    fields.push(b"if-range", validator.as_bytes());
                }
                Some(Condition::UnmodifiedSince(date)) => {
                    fields.push(b"if-unmodified-since", date.as_bytes());
                }
                None => {}
            }
        }
        FetchSpec { fields, ..FetchSpec::get(self.url.clone()) }
    }

    /// The condition of requests for ranges.
    pub(super) fn condition(&self) -> Option<Condition<'_>> {
        match self.asking {
            Asking::Conditionally => self.version.as_ref()?.condition().ok(),
            Asking::Unconditionally => None,
        }
    }

    /// Whether a further response can be checked against the version of the bytes that are there; if not, why.
    pub(super) fn may_go_on(&self) -> Result<(), NoValidator> {
        match &self.version {
            Some(version) if self.begun && self.joins == Joins::Validated => version.validator(),
            _ => Ok(()),
        }
    }

    /// Forgets all bytes that are there.
    pub(super) fn forget(&mut self) {
        match self.begun {
            true => self.tries.begin_anew(),
            false => self.tries.forget_earlier(),
        }
        self.whole_only = true;
        self.report.unproven = false;
        self.kept = Ranges::new();
        self.version = None;
        self.begun = false;
        self.splits = false;
        self.report.resumed = 0;
    }
}

impl Part {
    pub(super) fn new(file: usize, asked: Option<Range<u64>>, failures: u64) -> Self {
        Self { file, asked, at: 0, end: None, state: PartState::Awaiting, dropped: 0, failures }
    }
}
