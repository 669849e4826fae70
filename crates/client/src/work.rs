//! [`Work`]: the interface of a workload to the client that fetches for it. A new workload implements it and changes
//! nothing else.

use crate::failure::Hope;
use crate::fetch::{FetchId, FetchSpec};
use proto::ResponseHead;
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

/// A workload, driven by its client.
pub trait Work {
    /// The next fetch to begin; it will have this number. None where there is none to begin now.
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec>;

    /// A fetch that is not wanted any more; it ends at once, as a failed one.
    fn poll_cancel(&mut self) -> Option<FetchId> {
        None
    }

    /// The head of a final response came (not a redirect's that is followed).
    fn handle_head(&mut self, now: Instant, id: FetchId, head: &ResponseHead);

    /// Bytes of its body came. They are counted already; what is not copied here is gone.
    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]);

    /// Direct receive: a buffer for the body bytes of a fetch that come next, `at_most` so many; None to see them in
    /// `handle_body`.
    fn poll_buffer(&mut self, _id: FetchId, _at_most: u64) -> Option<&mut [u8]> {
        None
    }

    /// So many body bytes stand at the start of the buffer that `poll_buffer` gave.
    fn handle_filled(&mut self, _now: Instant, _id: FetchId, _bytes: usize) {}

    /// A fetch is about to end without a whole response: whether another try may do better.
    fn handle_failure(&mut self, _now: Instant, _id: FetchId, _hope: Hope) {}

    /// A fetch is over.
    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord);

    /// A connection is over.
    fn handle_connection_end(&mut self, record: ConnectionRecord);

    /// The time that `poll_timeout` told has come.
    fn handle_timeout(&mut self, now: Instant);

    /// When there may be a fetch to begin that no other event brings about.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether nothing is left to do, once the fetches under way are over.
    fn is_finished(&self) -> bool;
}
