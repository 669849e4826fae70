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
        let is_get = matches!(request.entry.method.as_str(), "" | "GET" | "get");
        let own = Fetched::by(request);
        let earlier = fetched.entry(request.url.to_string()).or_default();
        let is_repeat = is_get
            && place != *document
            && request.entry.from_cache
            && earlier.iter().any(|earlier| earlier.answers(&own));
        // What an earlier visit has left in the cache is replayed in full, and answers later ones as it did.
        if is_get && !is_repeat && !earlier.contains(&own) {
            earlier.push(own);
        }
        keep.push(!is_repeat);
    }
    retain(requests, &keep, document)
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

/// Keeps these requests, and follows the `document` to its new place. Tells how many are left out.
fn retain(requests: &mut Vec<Request>, keep: &[bool], document: &mut usize) -> u32 {
    let before = requests.len();
    *document -= keep[..*document].iter().filter(|kept| !**kept).count();
    let mut kept = keep.iter();
    requests.retain(|_| kept.next().is_some_and(|kept| *kept));
    (before - requests.len()) as u32
}
