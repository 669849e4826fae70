//! Puts preflights of CORS before the requests that they ask for. Chromium's exporter has such a request begin before its
//! preflight, and names the request as the preflight's initiator. In truth the request goes out when it has leave.
//!
//! The one rule: a request waits for a preflight of its own URL that began after it and ended before it.

use super::discovery::Request;
use std::collections::HashMap;

/// Requests for one URL that are looked at for a preflight, the latest first.
const LOOKED_AT: usize = 64;

/// Has each request begin at the end of its preflight, and gives the preflight the initiators of its request.
/// `requests` stand in the order of their starts, before and after. Gives the new place of the document.
pub(super) fn put_first(requests: &mut [Request], document: usize) -> usize {
    let document_index = requests[document].entry.index;
    let mut by_url: HashMap<String, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        let url = request.url.to_string();
        if !request.entry.is_preflight {
            by_url.entry(url).or_default().push(place);
        } else if let Some(open) = by_url.get_mut(&url)
            && let Some(of) = asking(requests, open, request)
        {
            pairs.push((place, open.remove(of)));
        }
    }
    for &(preflight, place) in &pairs {
        let Request { end, start, ref entry, .. } = requests[preflight];
        let index = entry.index;
        let request = &mut requests[place];
        // Later than its preflight also where that took no time.
        request.start = end.max(start.saturating_add(1));
        (request.body_start, request.end) =
            (request.body_start.max(request.start), request.end.max(request.start));
        request.preflight = Some(index);
        requests[preflight].entry.initiators =
            std::mem::take(&mut requests[place].entry.initiators);
    }
    requests.sort_by_key(|request| (request.start, request.entry.index));
    requests.iter().position(|request| request.entry.index == document_index).unwrap_or(document)
}

/// Which of the `open` places has the request that `preflight` asks for: the latest that was under way at its end.
fn asking(requests: &[Request], open: &[usize], preflight: &Request) -> Option<usize> {
    let mut latest = (0..open.len()).rev().take(LOOKED_AT);
    latest.find(|&of| requests[open[of]].end >= preflight.end)
}
