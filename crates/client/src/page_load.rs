//! The workload `page`: fetches what the page model asks for, and gives it the responses.

use crate::{ExpectedStatus, FetchId, FetchSpec, Records, Work};
use page::{FetchStart, Kind, Load, Milestones, Priority, ResourceId, Url};
use proto::{Method, ResponseHead};
use std::collections::HashMap;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord};
use unit::Instant;

/// One load of a page.
#[derive(Debug)]
pub struct PageLoad {
    source: Source,
    resources: HashMap<FetchId, ResourceId>,
    /// The document: the referrer of the other fetches.
    document: Option<Url>,
    /// The records of the fetches and of their connections.
    pub records: Records,
}

/// The load begins when the client starts, which is later than when it is made.
enum Source {
    Begun(Box<Load>),
    Planned(Box<dyn FnOnce(Instant) -> Load>),
    /// Only during the call that begins the load.
    Beginning,
}

impl PageLoad {
    /// A load that `begin` makes when the client starts: [`Load::replay`] of a page, or [`Load::browse`] of a URL.
    pub fn new(begin: impl FnOnce(Instant) -> Load + 'static) -> Self {
        Self {
            source: Source::Planned(Box::new(begin)),
            resources: HashMap::new(),
            document: None,
            records: Records::default(),
        }
    }

    /// The load; None before it has begun.
    pub fn load(&self) -> Option<&Load> {
        match &self.source {
            Source::Begun(load) => Some(load),
            Source::Planned(_) | Source::Beginning => None,
        }
    }

    /// The times reached so far.
    pub fn milestones(&self) -> Milestones {
        self.load().map(Load::milestones).unwrap_or_default()
    }

    /// The resource that a fetch was for.
    pub fn resource(&self, id: FetchId) -> Option<ResourceId> {
        self.resources.get(&id).copied()
    }

    fn begun(&mut self, now: Instant) -> Option<&mut Load> {
        if let Source::Planned(_) = self.source
            && let Source::Planned(begin) = std::mem::replace(&mut self.source, Source::Beginning)
        {
            self.source = Source::Begun(Box::new(begin(now)));
        }
        match &mut self.source {
            Source::Begun(load) => Some(load),
            Source::Planned(_) | Source::Beginning => None,
        }
    }

    /// The load and the resource that a fetch is for.
    fn of(&mut self, id: FetchId) -> Option<(&mut Load, ResourceId)> {
        let resource = *self.resources.get(&id)?;
        match &mut self.source {
            Source::Begun(load) => Some((load, resource)),
            Source::Planned(_) | Source::Beginning => None,
        }
    }

    fn spec(&mut self, start: FetchStart) -> FetchSpec {
        let referrer = self.document.clone();
        if start.kind == Kind::Document && self.document.is_none() {
            self.document = Some(start.url.clone());
        }
        FetchSpec {
            kind: start.kind,
            method: match start.method {
                page::Method::Get => Method::Get,
                page::Method::Head => Method::Head,
            },
            referrer,
            priority: start.priority,
            expected: start.expected.map(|expected| expected.body),
            status: start
                .expected
                .map_or(ExpectedStatus::Any, |expected| ExpectedStatus::Exactly(expected.status)),
            ..FetchSpec::get(start.url)
        }
    }
}

impl Work for PageLoad {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        let start = self.begun(now)?.poll_fetch(now)?;
        self.resources.insert(id, start.id);
        Some(self.spec(start))
    }

    fn poll_priority(&mut self) -> Option<(FetchId, Priority)> {
        let Source::Begun(load) = &mut self.source else { return None };
        let (raised, priority) = load.poll_priority()?;
        let (id, _) = self.resources.iter().find(|(_, resource)| **resource == raised)?;
        Some((*id, priority))
    }

    fn handle_head(&mut self, now: Instant, id: FetchId, _head: &ResponseHead) {
        if let Some((load, resource)) = self.of(id) {
            load.handle_head(resource, now);
        }
    }

    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]) {
        if let Some((load, resource)) = self.of(id) {
            load.handle_body(resource, bytes, now);
        }
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord) {
        if let Some((load, resource)) = self.of(id) {
            match &record.outcome {
                FetchOutcome::Done => load.handle_done(resource, now),
                FetchOutcome::Failed(reason) => load.handle_failed(resource, reason, now),
            }
        }
        self.records.fetches.push(record);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.records.connections.push(record);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(load) = self.begun(now) {
            load.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.load().and_then(Load::poll_timeout)
    }

    fn is_finished(&self) -> bool {
        self.load().is_some_and(Load::is_finished)
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Begun(load) => load.fmt(f),
            Self::Planned(_) | Self::Beginning => f.write_str("Planned"),
        }
    }
}
