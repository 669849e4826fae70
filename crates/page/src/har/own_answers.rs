//! Requests that the browser answered by itself: from its caches, and by service workers. The one rule: of one response that
//! came over the network one is replayed.

use super::discovery::Request;
use crate::exchange::Field;
use std::collections::HashMap;

/// Leaves out what the cache answered with the response to an earlier request of the same load, and tells how many these are.
/// Without a cache each would come over the network once more. The `document` stays: all else is found in it.
pub(super) fn leave_out_repeats(requests: &mut Vec<Request>, document: &mut usize) -> u32 {
    let mut fetched: HashMap<String, Vec<Fetched>> = HashMap::new();
    let mut keep = Vec::with_capacity(requests.len());
    for (place, request) in requests.iter().enumerate() {
        let is_get = is_get(request);
        let own = Fetched::by(request);
        let earlier = fetched.entry(request.url.to_string()).or_default();
        let is_repeat = is_get
            && place != *document
            && request.entry.is_answered_by_browser()
            && earlier.iter().any(|earlier| earlier.answers(&own));
        // What an earlier visit has left in the cache is replayed in full, and answers later ones as it did.
        if is_get && !is_repeat && !earlier.contains(&own) {
            earlier.push(own);
        }
        keep.push(!is_repeat);
    }
    retain(requests, &keep, document)
}

/// Leaves out what a service worker answered where it asked for that URL itself: Chromium lists both, the page's request and
/// the worker's. The first request of the worker after the page's own is what became of it, and is of the page's kind then.
/// Tells how many are left out.
pub(super) fn leave_to_workers(requests: &mut Vec<Request>) -> u32 {
    let mut keep = vec![true; requests.len()];
    let mut heirs = Vec::new();
    {
        let of_network = |request: &Request| !request.entry.by_service_worker;
        let key = |request: &Request| (request.entry.method.clone(), request.url.to_string());
        let mut asked: HashMap<_, WorkersOwn> = HashMap::new();
        for (place, request) in requests.iter().enumerate().filter(|(_, one)| of_network(one)) {
            asked.entry(key(request)).or_default().places.push(place);
        }
        for (place, request) in requests.iter().enumerate().filter(|(_, one)| !of_network(one)) {
            let Some(own) = asked.get_mut(&key(request)) else { continue };
            keep[place] = false;
            heirs.extend(own.first_after(place).map(|heir| (place, heir)));
        }
    }
    for (place, heir) in heirs {
        let page = &requests[place];
        let (kind, entry) = (page.kind, page.entry.clone());
        requests[heir].kind = kind;
        requests[heir].entry.take_place_of(entry);
    }
    retain(requests, &keep, &mut 0)
}

/// The requests for one URL that went over the network.
#[derive(Default)]
struct WorkersOwn {
    places: Vec<usize>,
    /// How many of them answer a request of the page, or came before it.
    passed: usize,
}

impl WorkersOwn {
    fn first_after(&mut self, place: usize) -> Option<usize> {
        let before = self.places[self.passed..].iter().take_while(|own| **own < place).count();
        self.passed += before;
        let first = self.places.get(self.passed).copied();
        self.passed += usize::from(first.is_some());
        first
    }
}

/// What decides whether the response to a request answers a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fetched {
    is_redirect: bool,
    /// The part that it asked for; None where that was the whole.
    range: Option<String>,
}

impl Fetched {
    fn by(request: &Request) -> Self {
        let is_range = |field: &&Field| field.name == "range";
        let range = request.entry.asked.iter().find(is_range).map(|field| field.value.clone());
        Self { is_redirect: request.entry.redirect.is_some(), range }
    }

    fn answers(&self, later: &Self) -> bool {
        self.is_redirect == later.is_redirect && (self.range.is_none() || self.range == later.range)
    }
}

fn is_get(request: &Request) -> bool {
    let method = &request.entry.method;
    method.is_empty() || method.eq_ignore_ascii_case("GET")
}

/// Keeps these requests, and follows the `document` to its new place. Tells how many are left out.
fn retain(requests: &mut Vec<Request>, keep: &[bool], document: &mut usize) -> u32 {
    let before = requests.len();
    *document -= keep[..*document].iter().filter(|kept| !**kept).count();
    let mut kept = keep.iter();
    requests.retain(|_| kept.next().is_some_and(|kept| *kept));
    (before - requests.len()) as u32
}
