//! [`Work`]: the interface of a workload to the client that fetches for it. A new workload implements it and changes
//! nothing else.

use crate::{FetchId, FetchSpec, Hope};
use page::{Priority, Url};
use proto::ResponseHead;
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

/// A workload, driven by its client.
pub trait Work {
    /// The next fetch to begin, which gets this number. None where there is none to begin now.
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec>;

    /// A fetch that is not wanted any more. It ends at once and counts as failed.
    fn poll_cancel(&mut self) -> Option<FetchId> {
        None
    }

    /// An origin that is to be connected to before anything is fetched from it.
    fn poll_preconnect(&mut self) -> Option<Url> {
        None
    }

    /// Whether a pushed response is of use. Its URL has the scheme of the connection. Asked where no fetch in progress
    /// is for it.
    fn wants_push(&self, _now: Instant, _url: &Url) -> bool {
        true
    }

    /// Early hints (103) for a fetch of `url` arrived over HTTP/2 or HTTP/3.
    fn handle_hints(&mut self, _now: Instant, _id: FetchId, _url: &Url, _hints: &ResponseHead) {}

    /// A fetch for a `Link` field that the page has taken over, and ranks as more urgent than the link did. It has its new priority
    /// before the page's other requests go out.
    fn poll_taken(&mut self) -> Option<(FetchId, Priority)> {
        None
    }

    /// A fetch that is more or less urgent from now on than it was when it began.
    fn poll_priority(&mut self) -> Option<(FetchId, Priority)> {
        None
    }

    /// The head of a final response arrived. The head of a followed redirect is not reported. A second head for a fetch means that
    /// it was made again: the body begins anew.
    fn handle_head(&mut self, _now: Instant, _id: FetchId, _head: &ResponseHead) {}

    /// Bytes of its body arrived. They are already counted. Bytes that are not copied here are lost.
    fn handle_body(&mut self, _now: Instant, _id: FetchId, _bytes: &[u8]) {}

    /// Direct receive: a buffer of at most `at_most` bytes for the next body bytes of a fetch. None to get them by
    /// `handle_body`.
    fn poll_buffer(&mut self, _id: FetchId, _at_most: u64) -> Option<&mut [u8]> {
        None
    }

    /// This many body bytes are at the start of the buffer that `poll_buffer` gave.
    fn handle_filled(&mut self, _now: Instant, _id: FetchId, _bytes: usize) {}

    /// A fetch is about to end without a whole response. Returns whether to try again.
    fn handle_failure(&mut self, _now: Instant, _id: FetchId, _hope: Hope) {}

    /// A fetch is over.
    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord);

    /// A connection is over.
    fn handle_connection_end(&mut self, record: ConnectionRecord);

    /// The time that `poll_timeout` returned has come.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When a fetch may have to begin although no other event happens.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Whether nothing is left to do once the fetches in flight have ended.
    fn is_finished(&self) -> bool;
}
