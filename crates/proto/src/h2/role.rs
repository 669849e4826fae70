//! The two roles of a connection.

use super::framing::Http2;
use super::settings::Settings;
use crate::multiplex::Session;
use crate::multiplex::role::impl_roles;

/// A client's connection. A server may reset a stream with NO_ERROR after its whole answer, to say that
/// it needs no more of the request (RFC 9113 §8.1): the answer then came before `Event::Reset`, and counts.
#[derive(Debug)]
pub struct Client {
    pub(super) session: Session<Http2>,
}

/// A server's connection.
#[derive(Debug)]
pub struct Server {
    pub(super) session: Session<Http2>,
}

impl_roles!(Http2, Settings);
