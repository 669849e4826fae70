//! The workload of a downloader: whole files, over connections that break, from servers that answer with parts, with
//! other versions, or not now. The one rule: bytes are handed on only when it is certain which file and version they
//! belong to, and at which offset.
//!
//! A file begins with one request. Where the server supports ranges, the rest after a broken connection is requested
//! on condition that the file is unchanged, and several connections fetch a large file in pieces. A transient failure
//! (RFC 9110 §15.5.9, §15.6, a broken connection) is retried after a pause that doubles each time. A try that added a
//! mebibyte resets the count. Bytes that are thrown away do not count. Body bytes go to a [`Sink`]; nothing here opens files.

mod answer;
mod file;
mod retry;
mod sink;
mod slice;
mod version;
mod work;

pub use retry::Retry;
pub use sink::{Beginning, FileId, Note, Refusal, Sink};
pub use slice::Slice;
pub use version::{Modified, NoValidator, Strength, Version};

use crate::failure::Hope;
use crate::fetch::FetchId;
use answer::{Answer, Proof};
use file::{Asking, Fate, File, Part, PartState};
use page::Url;
use proto::Fields;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::{Duration, SystemTime};
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, SpokenProtocol};
use unit::{Instant, Ranges, Seed};

/// A file to download.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its URL.
    pub url: Url,
    /// Fields of the request.
    pub fields: Fields,
    /// What an earlier run has left of it.
    pub kept: Option<Kept>,
    /// Which responses may be put together.
    pub joins: Joins,
    /// The part of it that is wanted; None for all of it. A part comes by one request, and begins anew where that breaks.
    pub slice: Option<Slice>,
}

/// Which responses may be put together into one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Joins {
    /// Those that a strong validator shows to be of one version.
    #[default]
    Validated,
    /// All that do not contradict each other, because a digest of the whole file is checked at the end.
    DigestChecked,
}

/// What an earlier run has left of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The byte ranges.
    pub ranges: Ranges,
    /// The version that they are of. Without a validator they are taken to be of the server's present one, because the
    /// user said so (`-C -`).
    pub version: Version,
}

/// The settings of downloads.
#[derive(Debug, Clone, Copy)]
pub struct DownloadSettings {
    /// Connections per file: its ranges fetched at a time.
    pub connections: usize,
    /// Files fetched at a time.
    pub parallel: usize,
    /// The size of a piece where a file is fetched over several connections, in bytes: a multiple of what the sink
    /// prefers to write at once.
    pub piece: u64,
    /// When a failed try is repeated.
    pub retry: Retry,
    /// The time limit for one file, all tries together.
    pub max_time: Option<Duration>,
    /// The seed of the pauses' random parts.
    pub seed: Seed,
    /// The time of day at [`Instant::ZERO`], to date responses without a Date. None leaves them undated.
    pub epoch: Option<SystemTime>,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self {
            connections: 1,
            parallel: 16,
            piece: 8 << 20,
            retry: Retry::default(),
            max_time: None,
            seed: Seed(0),
            epoch: None,
        }
    }
}

/// The result of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The URL that answered last.
    pub url: String,
    /// The last status.
    pub status: Option<u16>,
    /// The protocol of the last fetch.
    pub protocol: SpokenProtocol,
    /// The connections that it used.
    pub connections: BTreeSet<u32>,
    /// Tries after the first.
    pub retries: u32,
    /// Bytes received for it in this run.
    pub received: u64,
    /// Bytes of an earlier run that were used.
    pub resumed: u64,
    /// Whether parts were put together without a validator: only a digest can tell whether they are of one version.
    pub unproven: bool,
    /// Whether the server sent all of the same file where a range of it was asked for: nobody can go on from what is there.
    pub lacks_ranges: bool,
    /// Its length, once it is complete.
    pub length: Option<u64>,
    /// When the first request was asked for.
    pub started: Option<Instant>,
    /// When the first answer came.
    pub answered: Option<Instant>,
    /// When it was complete, or given up.
    pub ended: Option<Instant>,
    /// Why it failed; None otherwise.
    pub failure: Option<String>,
}

/// Files that are downloaded into a sink.
#[derive(Debug)]
pub struct Download<S> {
    settings: DownloadSettings,
    sink: S,
    files: Vec<File>,
    /// Files not begun.
    waiting: VecDeque<usize>,
    /// Files in progress.
    active: BTreeSet<usize>,
    parts: BTreeMap<FetchId, Part>,
    /// Whether another try of a fetch makes sense, as reported before its end.
    hopes: BTreeMap<FetchId, Hope>,
    cancels: VecDeque<FetchId>,
    connections: Vec<ConnectionRecord>,
}

impl<S: Sink> Download<S> {
    /// All of `wanted`, numbered in this order.
    pub fn new(settings: DownloadSettings, wanted: Vec<Wanted>, sink: S) -> Self {
        Self {
            settings,
            sink,
            waiting: (0..wanted.len()).collect(),
            files: wanted.into_iter().map(File::new).collect(),
            active: BTreeSet::new(),
            parts: BTreeMap::new(),
            hopes: BTreeMap::new(),
            cancels: VecDeque::new(),
            connections: Vec::new(),
        }
    }

    /// The results, in the order in which the files were asked for.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.files.iter().map(|file| &file.report)
    }

    /// The connections that were used, in the order in which they ended.
    pub fn connections(&self) -> &[ConnectionRecord] {
        &self.connections
    }

    /// Returns the sink.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// The next request for one of the files in progress.
    fn next_part(&mut self, now: Instant) -> Option<(usize, Option<Range<u64>>)> {
        let limit = self.settings.connections;
        for &index in &self.active {
            let file = &self.files[index];
            if file.rest_until.is_some_and(|until| until > now) {
                continue;
            }
            if let Some(range) = file.claim(&self.parts, index, limit, self.settings.piece) {
                return Some((index, range));
            }
        }
        None
    }

    fn begin_next(&mut self, now: Instant) -> bool {
        if self.active.len() >= self.settings.parallel {
            return false;
        }
        let Some(index) = self.waiting.pop_front() else { return false };
        self.files[index].report.started = Some(now);
        self.active.insert(index);
        true
    }

    /// Cancels all other requests for the file.
    fn cancel_parts(&mut self, index: usize, but: Option<FetchId>) {
        for (&id, part) in &mut self.parts {
            if part.file == index && Some(id) != but && part.state != PartState::Cancelled {
                part.state = PartState::Cancelled;
                self.cancels.push_back(id);
            }
        }
    }

    fn fail(&mut self, now: Instant, index: usize, why: String) {
        self.cancel_parts(index, None);
        self.active.remove(&index);
        self.sink.give_up(FileId(index));
        let report = &mut self.files[index].report;
        report.ended = Some(now);
        report.failure = Some(why);
    }

    /// Handles the head of the response to `id`.
    fn answered(&mut self, now: Instant, id: FetchId, answer: Answer) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let index = part.file;
        match answer {
            Answer::Again { after, why } => {
                part.state = PartState::Over(Fate::Again { after, why })
            }
            Answer::Refused(why) => part.state = PartState::Over(Fate::Refused(why)),
            Answer::Anew(why) => self.over(id, index, Fate::Anew(why)),
            Answer::Unconditional(why) => self.over(id, index, Fate::Unconditional(why)),
            Answer::End { length, proof } => {
                self.files[index].report.unproven |= proof == Proof::None;
                self.is_all(now, id, length);
            }
            Answer::Whole { version, why, changed } => {
                part.at = 0;
                part.end = version.length;
                part.state = PartState::Body;
                self.cancel_parts(index, Some(id));
                let file = &mut self.files[index];
                if !file.kept.is_empty() {
                    file.report.lacks_ranges = !changed;
                    self.sink.note(FileId(index), &Note::Anew(why));
                    file.forget();
                }
                file.whole_only = false;
                self.begin(now, index, version);
            }
            Answer::Part { range, version, proof } => {
                part.at = range.start;
                part.end = Some(range.end);
                part.state = PartState::Body;
                let file = &mut self.files[index];
                file.splits = true;
                file.report.lacks_ranges = false;
                file.report.unproven |= proof == Proof::None;
                if file.begun {
                    return;
                }
                file.report.resumed = file.kept.total();
                self.begin(now, index, version);
            }
        }
    }

    /// The file ends where the bytes that are there end.
    fn is_all(&mut self, now: Instant, id: FetchId, length: u64) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        part.state = PartState::Over(Fate::All);
        let index = part.file;
        let file = &mut self.files[index];
        let version = Version { length: Some(length), ..file.version.clone().unwrap_or_default() };
        if file.begun {
            file.version = Some(version);
        } else {
            file.report.resumed = file.kept.total();
            self.begin(now, index, version);
        }
    }

    /// The response has no bytes that can be used, and the other requests for the file are of no use either.
    fn over(&mut self, id: FetchId, index: usize, fate: Fate) {
        self.cancel_parts(index, Some(id));
        if let Some(part) = self.parts.get_mut(&id) {
            part.state = PartState::Over(fate);
        }
    }

    /// Tells the sink which file begins.
    fn begin(&mut self, now: Instant, index: usize, version: Version) {
        let file = &mut self.files[index];
        let beginning = Beginning { version: &version, kept: &file.kept };
        let begun = self.sink.begin(FileId(index), beginning);
        file.version = Some(version);
        file.begun = true;
        if let Err(Refusal(why)) = begun {
            self.fail(now, index, why);
        }
    }

    /// A fetch has ended without a failure of its connection.
    fn ended_well(&mut self, now: Instant, part: &Part) {
        let &Part { file: index, at, end, .. } = part;
        let file = &mut self.files[index];
        match end {
            None => file.version.get_or_insert_default().length = Some(at),
            Some(end) if end != at => {
                let why = format!("the body ended after {at} of {end} bytes");
                return self.again(now, part, None, why);
            }
            Some(_) => {}
        }
        self.complete_if_whole(now, index);
    }

    fn complete_if_whole(&mut self, now: Instant, index: usize) {
        let file = &mut self.files[index];
        let Some(length) = file.version.as_ref().and_then(|version| version.length) else { return };
        if !file.begun || !file.kept.covers(0..length) {
            return;
        }
        self.active.remove(&index);
        file.report.length = Some(length);
        file.report.ended = Some(now);
        if let Err(Refusal(why)) = self.sink.complete(FileId(index), length) {
            file.report.failure = Some(why);
        }
    }

    /// Retries after a transient failure of a part, or gives up.
    fn again(&mut self, now: Instant, part: &Part, after: Option<Duration>, why: String) {
        let (index, retry) = (part.file, self.settings.retry);
        let file = &mut self.files[index];
        if part.failures < file.tries.failures() {
            // It began before the last failure: what ends several requests at once is one failed try.
            let asked = after.map(|after| now + after.min(retry.longest_asked));
            file.rest_until = file.rest_until.max(asked);
            return;
        }
        let Some(rest) = self.next_try(now, index, &why) else { return };
        let file = &mut self.files[index];
        let longest = retry.longest_asked;
        if let Some(after) = after.filter(|after| retry.span.is_none() && *after > longest) {
            let (after, longest) = (unit::format_duration(after), unit::format_duration(longest));
            let why =
                format!("{why} and asks for a pause of {after}; at most {longest} are waited");
            return self.fail(now, index, why);
        }
        let rest = after.map_or(rest, |after| after.max(rest));
        if let Some(limit) = retry.span
            && file.report.started.is_some_and(|started| now + rest > started + limit)
        {
            let why = format!("{why}; there is no time left to try again");
            return self.fail(now, index, why);
        }
        file.rest_until = Some(now + rest);
        self.sink.note(FileId(index), &Note::Retry { after: rest, why: &why });
        if let Err(lack) = file.may_go_on()
            && !file.kept.is_empty()
        {
            self.sink.note(FileId(index), &Note::Anew(&lack.to_string()));
            file.forget();
        }
    }

    /// Counts a try, and returns the pause before it. None where there were too many: the file has failed.
    fn next_try(&mut self, now: Instant, index: usize, why: &str) -> Option<Duration> {
        let file = &mut self.files[index];
        let seed = self.settings.seed.nth(index as u64);
        let kept = if file.may_go_on().is_ok() { file.kept.total() } else { 0 };
        let rest = file.tries.next(&self.settings.retry, seed, kept);
        if rest.is_none() {
            let why = file.tries.given_up(why.to_owned());
            self.fail(now, index, why);
            return None;
        }
        file.report.retries += 1;
        rest
    }

    fn ended(&mut self, now: Instant, part: Part, record: &FetchRecord, hope: Hope) {
        let index = part.file;
        if !self.active.contains(&index) {
            return;
        }
        match (&part.state, &record.outcome) {
            (PartState::Cancelled, _) => {}
            (PartState::Over(Fate::Refused(why)), _) => self.fail(now, index, why.clone()),
            (PartState::Over(Fate::Again { after, why }), _) => {
                self.again(now, &part, *after, why.clone());
            }
            // Both are requested without a pause. They count as a try all the same, because a server could cause
            // this for ever.
            (PartState::Over(Fate::Anew(why)), _) => {
                if self.next_try(now, index, why).is_some() {
                    self.sink.note(FileId(index), &Note::Anew(why));
                    self.files[index].forget();
                }
            }
            (PartState::Over(Fate::Unconditional(why)), _) => {
                if self.next_try(now, index, why).is_some() {
                    self.sink.note(FileId(index), &Note::Unconditional(why));
                    self.files[index].asking = Asking::Unconditionally;
                }
            }
            (PartState::Over(Fate::All), _) => self.complete_if_whole(now, index),
            (PartState::Awaiting | PartState::Body, FetchOutcome::Failed(why)) => match hope {
                Hope::Lasting => self.fail(now, index, why.clone()),
                Hope::Transient => self.again(now, &part, None, why.clone()),
            },
            (PartState::Awaiting, FetchOutcome::Done) => {
                self.fail(now, index, "the server gave no answer".to_owned());
            }
            (PartState::Body, FetchOutcome::Done) => self.ended_well(now, &part),
        }
    }

    /// When the time limit of a file ends.
    fn deadline(&self, index: usize) -> Option<Instant> {
        Some(self.files[index].report.started? + self.settings.max_time?)
    }
}
