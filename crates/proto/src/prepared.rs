//! A request that is sent many times: what checking and writing it costs is paid once.

use crate::connection::Fin;
use crate::h1::Written;
use crate::message::RequestHead;

/// A request's head, and its bytes where the protocol writes the same ones each time: HTTP/1.1 does, while
/// HTTP/2 and SPDY compress each head by those before it.
#[derive(Debug, Clone)]
pub struct Prepared {
    head: RequestHead,
    fin: Fin,
    http1: Result<Written, &'static str>,
}

impl Prepared {
    /// Without a body for `Fin::Last`, as [`crate::ClientConnection::request`] has it.
    pub fn new(mut head: RequestHead, fin: Fin) -> Self {
        head.fields.validate();
        let http1 = Written::new(&head, fin);
        Self { head, fin, http1 }
    }

    /// The head.
    pub fn head(&self) -> &RequestHead {
        &self.head
    }

    /// Whether a body follows.
    pub fn fin(&self) -> Fin {
        self.fin
    }

    /// As HTTP/1.1 has it, or why it cannot be written.
    pub(crate) fn http1(&self) -> Result<&Written, &'static str> {
        self.http1.as_ref().map_err(|why| *why)
    }
}
