//! The report on each finished file: a line for people, or a line of JSON for programs.

use super::names::Target;
use super::sink::Wish;
use client::{Report, STOPPED};
use os::files::writer::{WriteError, WrittenFile};
use serde::Serialize;
use unit::{ByteSize, Instant, format_duration};

/// RFC 9110 §15.4.5.
const NOT_MODIFIED: u16 = 304;

/// A file that is over.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) wish: Wish,
    pub(crate) report: Report,
    /// The file, or why it is not there.
    pub(crate) result: Result<WrittenFile, String>,
    /// Whether it is not there because its digest was another one than expected.
    has_wrong_digest: bool,
    arrival: Arrival,
}

/// How a file came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Fetched,
    /// It was there, and nobody was asked.
    There,
    /// The server says that it is not newer than asked for.
    NotModified,
}

/// Whether a file was wanted only where it is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    None,
    ModifiedSince,
}

/// The line of JSON. Names are added, never changed.
#[derive(Debug, Serialize)]
struct Line<'a> {
    url: &'a str,
    final_url: &'a str,
    /// None where it is not there.
    file: Option<String>,
    ok: bool,
    error: Option<&'a str>,
    bytes: Option<u64>,
    received: u64,
    resumed: u64,
    sha256: Option<String>,
    status: Option<u16>,
    /// None where nothing was answered.
    protocol: Option<&'a str>,
    connections: usize,
    retries: u32,
    first_byte_ms: Option<f64>,
    total_ms: Option<f64>,
}

impl Outcome {
    /// The results of the protocol machine and of the disk, put together.
    pub(crate) fn new(
        wish: Wish,
        report: Report,
        written: Option<Result<WrittenFile, WriteError>>,
        condition: Condition,
    ) -> Self {
        if condition == Condition::ModifiedSince && report.status == Some(NOT_MODIFIED) {
            let result = Ok(WrittenFile { length: 0, digest: None });
            let arrival = Arrival::NotModified;
            return Self { wish, report, result, has_wrong_digest: false, arrival };
        }
        let has_wrong_digest = matches!(written, Some(Err(WriteError::WrongDigest { .. })));
        let result = match (&report.failure, written) {
            (_, Some(Err(why @ WriteError::Taken(_)))) => {
                Err(format!("{why}; --clobber replaces it"))
            }
            // The disk's own words are nearer to the cause.
            (_, Some(Err(why))) => Err(why.to_string()),
            (Some(why), _) => Err(why.clone()),
            (None, Some(Ok(whole))) => Ok(whole),
            (None, None) => Err(STOPPED.to_owned()),
        };
        Self { wish, report, result, has_wrong_digest, arrival: Arrival::Fetched }
    }

    /// A file that was there before.
    pub(crate) fn there(wish: Wish, file: WrittenFile) -> Self {
        let report = Report { url: wish.url.clone(), ..Report::default() };
        let arrival = Arrival::There;
        Self { wish, report, result: Ok(file), has_wrong_digest: false, arrival }
    }

    /// Whether it is not there because the command was told to stop.
    pub(crate) fn was_stopped(&self) -> bool {
        self.result.as_ref().is_err_and(|why| why == STOPPED)
    }

    /// Whether parts were put together without a validator, and the digest says that they do not fit.
    pub(crate) fn is_wrong_join(&self) -> bool {
        self.report.unproven && matches!(self.wish.target, Target::File(_)) && self.has_wrong_digest
    }

    /// Takes the outcome of the same file's second download, with what the first one cost.
    pub(crate) fn replaced_by(&mut self, later: Self) {
        let first = std::mem::replace(self, later);
        let report = &mut self.report;
        report.received += first.report.received;
        report.retries += first.report.retries + 1;
        let numbered = report.connections.last().map_or(0, |last| last + 1);
        report.connections.extend(first.report.connections.iter().map(|id| id + numbered));
        report.started = first.report.started;
        report.answered = first.report.answered;
    }

    /// Whether a file is there in the end; what is not newer than a date may never have been.
    fn is_there(&self) -> bool {
        match &self.wish.target {
            Target::File(path) => self.arrival != Arrival::NotModified || path.exists(),
            Target::Stream(_) | Target::Stdout => true,
        }
    }

    /// A line of JSON, safe to print.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        let whole = self.result.as_ref().ok();
        let line = Line {
            url: &self.wish.url,
            final_url: &self.report.url,
            file: whole.filter(|_| self.is_there()).map(|_| self.wish.target.name()),
            ok: whole.is_some(),
            error: self.result.as_ref().err().map(String::as_str),
            bytes: whole.map(|whole| whole.length),
            received: self.report.received,
            resumed: self.report.resumed,
            sha256: whole.and_then(|whole| whole.digest).map(|digest| digest.to_string()),
            status: self.report.status,
            protocol: Some(self.report.protocol.name()).filter(|name| !name.is_empty()),
            connections: self.report.connections.len(),
            retries: self.report.retries,
            first_byte_ms: self.millis(self.report.answered),
            total_ms: self.millis(self.report.ended),
        };
        Ok(unit::escape_json(&serde_json::to_string(&line)?).into_owned())
    }

    /// A line for people, safe to print.
    pub(crate) fn sentence(&self) -> String {
        unit::escape(&self.raw_sentence()).into_owned()
    }

    fn raw_sentence(&self) -> String {
        match &self.result {
            Err(why) => format!("{}: {why}", self.wish.url),
            Ok(whole) => {
                let name = self.wish.target.name();
                match self.arrival {
                    Arrival::Fetched => format!("{name}: {}", self.fetched(whole)),
                    Arrival::There => {
                        let length = ByteSize(whole.length);
                        format!("{name}: {length} are there already, with the SHA-256 asked for")
                    }
                    Arrival::NotModified => {
                        format!("{name}: not modified since then, so nothing was fetched")
                    }
                }
            }
        }
    }

    fn fetched(&self, whole: &WrittenFile) -> String {
        let Report { started, ended, received, resumed, protocol, .. } = &self.report;
        let mut line = ByteSize(whole.length).to_string();
        if let Some(span) = started.zip(*ended).map(|(started, ended)| ended.since(started)) {
            line.push_str(&format!(" in {}", format_duration(span)));
            // What was there before did not come at any speed.
            if !span.is_zero() && *received > 0 {
                let rate = (*received as f64 / span.as_secs_f64()).round() as u64;
                line.push_str(&format!(", {}/s", ByteSize(rate)));
            }
        }
        line.push_str(&format!(" over {protocol}"));
        if *resumed > 0 {
            line.push_str(&format!(", {} of them from before", ByteSize(*resumed)));
        }
        if let Some(digest) = whole.digest {
            line.push_str(&format!(", SHA-256 {digest}"));
        }
        line
    }

    fn millis(&self, at: Option<Instant>) -> Option<f64> {
        let span = at?.since(self.report.started?);
        Some((span.as_secs_f64() * 1e6).round() / 1e3)
    }
}
