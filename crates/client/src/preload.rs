//! Fetches that begin for a `Link` field, in early hints (103) or in the head of the document, before the page has found
//! their URLs, in the order of the links. The page takes such a fetch over once it finds its URL. The one rule: what the page has not
//! taken is bounded, in number and in bytes.

use crate::cache::without_scheme;
use crate::link_field::{Link, links};
use crate::{FetchId, FetchSpec};
use page::{Browser, Kind, LinkSource, Priority, Signals, Url};
use proto::{Fields, ResponseHead};
use std::collections::{BTreeMap, HashSet, VecDeque};
use trace::{FetchOutcome, FetchRecord, HintTally};

/// What links asked for.
#[derive(Debug, Default)]
pub(crate) struct Preloads {
    /// Whether early hints have come. A browser follows the first only.
    is_hinted: bool,
    /// Every URL that a link asked for, without its scheme.
    known: HashSet<Url>,
    pending: VecDeque<Wanted>,
    origins: VecDeque<Url>,
    begun: BTreeMap<FetchId, Preload>,
    /// Those to be cancelled, because too many bytes wait.
    overfull: Vec<FetchId>,
    bytes: usize,
    tally: HintTally,
}

/// A fetch that has not begun.
#[derive(Debug)]
struct Wanted {
    source: LinkSource,
    url: Url,
    kind: Kind,
    signals: Signals,
}

/// A fetch that the page has not taken, as far as it has come.
#[derive(Debug)]
pub(crate) struct Preload {
    pub(crate) source: LinkSource,
    pub(crate) url: Url,
    pub(crate) priority: Priority,
    pub(crate) head: Option<ResponseHead>,
    pub(crate) body: Vec<u8>,
    /// Once it has ended.
    pub(crate) record: Option<FetchRecord>,
}

/// Whose links are followed, and by which browser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Followed<'d> {
    pub(crate) source: LinkSource,
    /// The document.
    pub(crate) base: &'d Url,
    pub(crate) browser: Browser,
}

impl Preloads {
    /// Follows the links of a head of the document, but for those that are there (`is_there`).
    pub(crate) fn follow(
        &mut self,
        from: Followed<'_>,
        fields: &Fields,
        is_there: impl Fn(&Url) -> bool,
    ) {
        let Followed { source, base, browser } = from;
        if source == LinkSource::EarlyHints && std::mem::replace(&mut self.is_hinted, true) {
            return;
        }
        for link in links(fields) {
            match link {
                Link::Preconnect { target } => {
                    if let Ok(url) = base.join(&target)
                        && self.origins.len() < MOST_ORIGINS
                    {
                        self.origins.push_back(url);
                    }
                }
                Link::Preload { target, kind, hint } => {
                    let Ok(url) = base.join(&target) else { continue };
                    let is_new = self.known.len() < MOST_PRELOADS && !is_there(&url);
                    if is_new && self.known.insert(without_scheme(&url)) {
                        let signals = browser.link_signals(source, kind, hint);
                        self.pending.push_back(Wanted { source, url, kind, signals });
                    }
                }
            }
        }
    }

    /// The next fetch to begin, which gets this number.
    pub(crate) fn poll_fetch(&mut self, id: FetchId, referrer: Option<&Url>) -> Option<FetchSpec> {
        let Wanted { source, url, kind, signals: Signals { priority, place } } =
            self.pending.pop_front()?;
        let (own, body) = (url.clone(), Vec::new());
        let preload = Preload { source, url: own, priority, head: None, body, record: None };
        self.begun.insert(id, preload);
        self.tally.fetches += 1;
        let referrer = referrer.cloned();
        let place = Some(place);
        Some(FetchSpec { kind, priority, place, referrer, hinted: true, ..FetchSpec::get(url) })
    }

    /// The next origin to connect to.
    pub(crate) fn poll_preconnect(&mut self) -> Option<Url> {
        let origin = self.origins.pop_front()?;
        self.tally.connections += 1;
        Some(origin)
    }

    /// A fetch that is not wanted any more: any in flight where the load `is_over`.
    pub(crate) fn poll_cancel(&mut self, is_over: bool) -> Option<FetchId> {
        if is_over {
            self.pending.clear();
            self.origins.clear();
            let in_flight = self.begun.iter().find(|(_, preload)| preload.record.is_none());
            return in_flight.map(|(id, _)| *id);
        }
        self.overfull.pop()
    }

    /// Whether a fetch is one of these.
    pub(crate) fn has(&self, id: FetchId) -> bool {
        self.begun.contains_key(&id)
    }

    /// The final head of one arrived.
    pub(crate) fn handle_head(&mut self, id: FetchId, head: &ResponseHead) {
        if let Some(preload) = self.begun.get_mut(&id) {
            preload.head = Some(head.clone());
            self.bytes -= std::mem::take(&mut preload.body).len();
        }
    }

    /// Bytes of its body arrived.
    pub(crate) fn handle_body(&mut self, id: FetchId, bytes: &[u8]) {
        let Some(preload) = self.begun.get_mut(&id) else { return };
        preload.body.extend_from_slice(bytes);
        self.bytes += bytes.len();
        if self.bytes > MOST_BYTES && !self.overfull.contains(&id) {
            self.overfull.push(id);
        }
    }

    /// One is over.
    pub(crate) fn handle_end(&mut self, id: FetchId, record: FetchRecord) {
        if let Some(preload) = self.begun.get_mut(&id) {
            if record.outcome != FetchOutcome::Done {
                // The page will fetch it again, if it needs it.
                self.bytes -= std::mem::take(&mut preload.body).len();
            }
            preload.record = Some(record);
        }
    }

    /// The page needs `url`: takes the fetch that has begun for it. One that has failed is of no use.
    pub(crate) fn take(&mut self, url: &Url) -> Option<(FetchId, Preload)> {
        let url = without_scheme(url);
        let is_it = |preload: &Preload| {
            let ended = preload.record.as_ref();
            without_scheme(&preload.url) == url
                && ended.is_none_or(|record| record.outcome == FetchOutcome::Done)
        };
        let id = *self.begun.iter().find(|(_, preload)| is_it(preload))?.0;
        let preload = self.begun.remove(&id)?;
        self.overfull.retain(|other| *other != id);
        self.bytes -= preload.body.len();
        self.tally.used += 1;
        Some((id, preload))
    }

    /// What became of them; those that the page has not taken are of no use.
    pub(crate) fn tally(&self) -> HintTally {
        let records = self.begun.values().filter_map(|preload| preload.record.as_ref());
        let wasted = records.map(|record| record.body_bytes).sum::<u64>();
        HintTally { wasted_bytes: wasted, ..self.tally }
    }
}

/// Fetches that links of one page begin at most.
const MOST_PRELOADS: usize = 256;

/// Origins that wait to be connected to.
const MOST_ORIGINS: usize = 16;

/// Bytes of bodies that the page has not taken.
const MOST_BYTES: usize = 16 * 1024 * 1024;
