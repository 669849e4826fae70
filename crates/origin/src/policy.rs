//! What an origin says of its own accord, beside the answer. Push, order and hints come in here; the
//! one rule is that a policy sees requests and says heads, and never touches a connection.

use proto::{RequestHead, ResponseHead};

/// A policy; one origin has one.
pub trait Policy {
    /// Informational responses (103 and the like), sent as soon as the request is there, while the
    /// origin thinks about the answer.
    fn inform(&self, request: &RequestHead) -> Vec<ResponseHead>;
}
