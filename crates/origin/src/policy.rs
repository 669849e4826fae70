//! [`Policy`]: what an origin sends that was not asked for (push, hints). The one rule: a policy sees requests and
//! returns heads; it never touches a connection.

use proto::{RequestHead, ResponseHead};

/// A policy; one origin has one.
pub trait Policy {
    /// Informational responses (103 and the like), sent as soon as the request is there, while the
    /// origin thinks about the answer.
    fn inform(&self, request: &RequestHead) -> Vec<ResponseHead>;
}
