//! The workload `page`: fetches what the page model asks for, and gives it the responses.
//!
//! Fetches that `Link` fields ask for begin before the model has found their URLs, and before all that it finds. It takes each one
//! over once it finds its URL. A response that is fresh in the cache is not fetched. For a stale one the request is conditional.

use crate::cache::{Found, without_scheme};
use crate::preload::{Followed, Preload, Preloads};
use crate::{Cache, ExpectedStatus, FetchId, FetchSpec, Records, Work};
use bytes::Bytes;
use page::{
    Browser, ExpectedResponse, FetchStart, LinkSource, Load, Milestones, Priority, Raise,
    ResourceId, Url,
};
use proto::{Fields, Method, ResponseHead};
use std::collections::{HashMap, HashSet, VecDeque};
use trace::{CacheTally, ConnectionRecord, FetchOutcome, FetchRecord, HintTally};
use unit::{ByteSize, Instant, Seed};

/// One load of a page.
#[derive(Debug)]
pub struct PageLoad {
    source: Source,
    resources: HashMap<FetchId, ResourceId>,
    /// What the responses of taken preloads must be, where the page is a recorded one.
    expected: HashMap<FetchId, ExpectedResponse>,
    /// The document: the referrer of the other fetches.
    document: Option<Url>,
    /// Its fetch, where it is not in the cache.
    navigation: Option<FetchId>,
    preloads: Preloads,
    /// Those that the page has taken over and ranks as more urgent.
    taken: VecDeque<(FetchId, Priority)>,
    /// Those of a 103 that it has taken over. They are not the page's own to a browser, which raises none of them.
    hinted: HashSet<FetchId>,
    /// Every URL that was asked for or found in the cache, without its scheme.
    asked: HashSet<Url>,
    /// What an earlier view has left, or what this one fills for the next.
    cache: Option<Cache>,
    /// Responses that the cache will store.
    arriving: HashMap<FetchId, Arriving>,
    /// The stored bodies that a 304 would confirm, by the conditional fetch.
    conditional: HashMap<FetchId, Bytes>,
    cached: CacheTally,
    /// The records of the fetches that the page needed, and of their connections.
    pub records: Records,
}

/// A head of the document.
struct Links<'h> {
    source: LinkSource,
    base: &'h Url,
    head: &'h ResponseHead,
}

/// A response that the cache will store once it is whole.
#[derive(Debug)]
struct Arriving {
    url: Url,
    head: Option<ResponseHead>,
    body: Vec<u8>,
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
            expected: HashMap::new(),
            document: None,
            navigation: None,
            preloads: Preloads::default(),
            taken: VecDeque::new(),
            hinted: HashSet::new(),
            asked: HashSet::new(),
            cache: None,
            arriving: HashMap::new(),
            conditional: HashMap::new(),
            cached: CacheTally::default(),
            records: Records::default(),
        }
    }

    /// The same load by a browser with this cache: an empty one is filled, one [`after`](Cache::after) a first view is
    /// asked first.
    #[must_use]
    pub fn with_cache(self, cache: Cache) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// The cache, where there is one.
    pub fn into_cache(self) -> Option<Cache> {
        self.cache
    }

    /// What was found in the cache.
    pub fn cached(&self) -> CacheTally {
        self.cached
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

    /// What became of the fetches that `Link` fields asked for.
    pub fn hints(&self) -> HintTally {
        self.preloads.tally()
    }

    fn browser(&self) -> Browser {
        self.load().map(Load::browser).unwrap_or_default()
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

    /// Whether a resource is the page's own document. Redirects before it are resources of their own on a recorded page,
    /// and frames are documents too.
    fn is_own_document(&self, id: ResourceId) -> bool {
        self.load().is_some_and(|load| load.document() == id)
    }

    /// The fetch of a resource.
    fn spec(&mut self, now: Instant, id: FetchId, start: FetchStart) -> FetchSpec {
        let referrer = self.document.clone();
        if self.is_own_document(start.id) {
            self.document = Some(start.url.clone());
            self.navigation = Some(id);
        }
        self.asked.insert(without_scheme(&start.url));
        let mut fields = Fields::new();
        for field in &start.asked.fields {
            fields.push(field.name.as_bytes(), field.value.as_bytes());
        }
        let spec = FetchSpec {
            kind: start.kind,
            method: method(start.method),
            fields,
            body: body(&start.url, start.asked.body),
            referrer,
            priority: start.priority,
            place: Some(start.place),
            expected: start.expected.map(|expected| expected.body),
            status: match start.expected {
                // It opens with 101 or 200, as the protocol has it, and its handshake judges that.
                Some(expected) if start.messages.is_none() => {
                    ExpectedStatus::Exactly(expected.status)
                }
                _ => ExpectedStatus::Any,
            },
            messages: start.messages,
            ..FetchSpec::get(start.url)
        };
        self.ask_if_current(now, id, spec)
    }

    /// The same request, with the validators of a stored response where there is a stale one. Notes what is to be stored.
    fn ask_if_current(&mut self, now: Instant, id: FetchId, mut spec: FetchSpec) -> FetchSpec {
        let is_plain = spec.method == Method::Get && spec.messages.is_none();
        let Some(cache) = self.cache.as_ref().filter(|_| is_plain) else {
            return spec;
        };
        let arriving = Arriving { url: spec.url.clone(), head: None, body: Vec::new() };
        self.arriving.insert(id, arriving);
        if let Found::Stale(body, validators) = cache.find(now, &spec.url) {
            self.conditional.insert(id, body);
            for field in validators.iter() {
                spec.fields.push_field(field);
            }
            if let ExpectedStatus::Exactly(status) = spec.status {
                spec.status = ExpectedStatus::ExactlyOrNotModified(status);
            }
        }
        spec
    }

    /// Gives a resource the fresh response of the cache; false where there is none.
    fn use_cached(&mut self, now: Instant, start: &FetchStart) -> bool {
        let is_plain = start.method == page::Method::Get && start.messages.is_none();
        let Some(cache) = self.cache.as_ref().filter(|_| is_plain) else {
            return false;
        };
        let Found::Fresh(body) = cache.find(now, &start.url) else { return false };
        if self.is_own_document(start.id) {
            self.document = Some(start.url.clone());
        }
        self.cached.fresh += 1;
        self.cached.bytes += body.len() as u64;
        self.asked.insert(without_scheme(&start.url));
        if let Source::Begun(load) = &mut self.source {
            load.handle_head(start.id, now);
            load.handle_body(start.id, &body, now);
            load.handle_done(start.id, now);
        }
        true
    }

    /// Gives a resource the fetch that has begun for its URL, as far as it has come.
    fn bind(&mut self, now: Instant, start: &FetchStart, id: FetchId, preload: Preload) {
        let Preload { source, priority, head, body, record, .. } = preload;
        match source {
            LinkSource::EarlyHints => {
                self.hinted.insert(id);
            }
            LinkSource::Document if self.browser().raise() == Raise::Never => {}
            LinkSource::Document if start.priority.urgency < priority.urgency => {
                self.taken.push_back((id, start.priority));
            }
            LinkSource::Document => {}
        }
        self.resources.insert(id, start.id);
        self.asked.insert(without_scheme(&start.url));
        self.expected.extend(start.expected.map(|expected| (id, expected)));
        if let Some((load, resource)) = self.of(id) {
            if head.is_some() {
                load.handle_head(resource, now);
            }
            if !body.is_empty() {
                load.handle_body(resource, &body, now);
            }
        }
        if let Some(record) = record {
            self.end(now, id, record);
        }
    }

    /// A fetch that the page needs is over.
    fn end(&mut self, now: Instant, id: FetchId, mut record: FetchRecord) {
        let current = self.conditional.remove(&id).filter(|_| record.status == Some(304));
        if let Some(reason) = self.objection(id, &record).filter(|_| current.is_none())
            && record.outcome == FetchOutcome::Done
        {
            record.outcome = FetchOutcome::Failed(reason);
        }
        if let Some(body) = &current {
            self.cached.revalidated += 1;
            self.cached.bytes += body.len() as u64;
        }
        if let Some((load, resource)) = self.of(id) {
            match &record.outcome {
                FetchOutcome::Done => {
                    if let Some(body) = current {
                        load.handle_body(resource, &body, now);
                    }
                    load.handle_done(resource, now);
                }
                FetchOutcome::Failed(reason) => load.handle_failed(resource, reason, now),
            }
        }
        self.records.fetches.push(record);
    }

    /// Notes what arrived of a response that the cache may store.
    fn store_arriving(&mut self, now: Instant, id: FetchId, record: &FetchRecord) {
        let Some(Arriving { url, head: Some(head), body }) = self.arriving.remove(&id) else {
            return;
        };
        if let (FetchOutcome::Done, Some(cache)) = (&record.outcome, &mut self.cache) {
            cache.store(now, &url, &head, body.into());
        }
    }

    /// Begins what a head of the document asks for.
    fn follow_links(&mut self, now: Instant, id: FetchId, links: Links<'_>) {
        if self.navigation != Some(id) {
            return;
        }
        let Links { source, base, head } = links;
        let (asked, cache) = (&self.asked, &self.cache);
        let is_there = |url: &Url| {
            asked.contains(&without_scheme(url))
                || cache.as_ref().is_some_and(|cache| cache.is_fresh(now, url))
        };
        let browser = self.browser();
        self.preloads.follow(Followed { source, base, browser }, &head.fields, is_there);
    }

    /// Why a taken preload is not what the page needs.
    fn objection(&self, id: FetchId, record: &FetchRecord) -> Option<String> {
        let ExpectedResponse { status, body } = *self.expected.get(&id)?;
        let got = (record.status, record.body_bytes);
        (got != (Some(status), body.0))
            .then(|| format!("status {status} and {} bytes were expected, not {got:?}", body.0))
    }
}

fn method(method: page::Method) -> Method {
    match method {
        page::Method::Get => Method::Get,
        page::Method::Head => Method::Head,
        page::Method::Post => Method::Post,
        page::Method::Put => Method::Put,
        page::Method::Patch => Method::Patch,
        page::Method::Delete => Method::Delete,
        page::Method::Options => Method::Options,
    }
}

/// The body of a recorded request: noise of its length.
fn body(url: &Url, length: ByteSize) -> Bytes {
    let seed = Seed(0).child(&url.path);
    let mut body = Vec::new();
    while let Some(left) = (length.0 as usize).checked_sub(body.len()).filter(|left| *left > 0) {
        body.extend_from_slice(page::noise(seed, body.len() as u64, left));
    }
    body.into()
}

impl Work for PageLoad {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        // What a link asks for goes before what the document names.
        if let Some(spec) = self.preloads.poll_fetch(id, self.document.as_ref()) {
            self.asked.insert(without_scheme(&spec.url));
            return Some(self.ask_if_current(now, id, spec));
        }
        while let Some(start) = self.begun(now)?.poll_fetch(now) {
            if self.use_cached(now, &start) {
                continue;
            }
            let begun = match start.method {
                page::Method::Get if start.messages.is_none() => self.preloads.take(&start.url),
                _ => None,
            };
            let Some((fetch, preload)) = begun else {
                self.resources.insert(id, start.id);
                return Some(self.spec(now, id, start));
            };
            self.bind(now, &start, fetch, preload);
        }
        None
    }

    fn poll_cancel(&mut self) -> Option<FetchId> {
        let is_over = self.load().is_some_and(Load::is_finished);
        self.preloads.poll_cancel(is_over)
    }

    fn poll_preconnect(&mut self) -> Option<Url> {
        self.preloads.poll_preconnect()
    }

    fn wants_push(&self, now: Instant, url: &Url) -> bool {
        let is_cached = self.cache.as_ref().is_some_and(|cache| cache.is_fresh(now, url));
        !is_cached && !self.asked.contains(&without_scheme(url))
    }

    fn handle_hints(&mut self, now: Instant, id: FetchId, url: &Url, hints: &ResponseHead) {
        let source = LinkSource::EarlyHints;
        self.follow_links(now, id, Links { source, base: url, head: hints });
    }

    fn poll_taken(&mut self) -> Option<(FetchId, Priority)> {
        self.taken.pop_front()
    }

    fn poll_priority(&mut self) -> Option<(FetchId, Priority)> {
        let Source::Begun(load) = &mut self.source else { return None };
        loop {
            let (raised, priority) = load.poll_priority()?;
            // What came from the cache has no fetch.
            let fetch = self.resources.iter().find(|(_, resource)| **resource == raised);
            if let Some((id, _)) = fetch.filter(|(id, _)| !self.hinted.contains(id)) {
                return Some((*id, priority));
            }
        }
    }

    fn handle_head(&mut self, now: Instant, id: FetchId, head: &ResponseHead) {
        if let Some(arriving) = self.arriving.get_mut(&id) {
            let is_stored = self.cache.as_ref().is_some_and(|cache| cache.stores(head));
            arriving.head = is_stored.then(|| head.clone());
            arriving.body.clear();
        }
        if let Some((load, resource)) = self.of(id) {
            load.handle_head(resource, now);
        }
        self.preloads.handle_head(id, head);
        if let Some(base) = self.document.clone() {
            let source = LinkSource::Document;
            self.follow_links(now, id, Links { source, base: &base, head });
        }
    }

    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]) {
        if let Some(arriving) = self.arriving.get_mut(&id).filter(|one| one.head.is_some()) {
            arriving.body.extend_from_slice(bytes);
        }
        match self.of(id) {
            Some((load, resource)) => load.handle_body(resource, bytes, now),
            None => self.preloads.handle_body(id, bytes),
        }
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord) {
        self.store_arriving(now, id, &record);
        match self.preloads.has(id) {
            true => self.preloads.handle_end(id, record),
            false => self.end(now, id, record),
        }
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
