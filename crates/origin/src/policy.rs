//! [`Policy`]: what an origin sends without a request (push, hints). The one rule: a policy sees requests and returns
//! heads. It never touches a connection.

use proto::{RequestHead, ResponseHead};

/// The policy of an origin.
pub trait Policy {
    /// Informational responses (103 and the like), sent as soon as the request has arrived, during the server time.
    fn inform(&self, request: &RequestHead) -> Vec<ResponseHead>;
}
