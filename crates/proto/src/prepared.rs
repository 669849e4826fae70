//! A request that is sent many times: what checking and writing it costs is paid once.

use crate::connection::Fin;
use crate::h1::Written;
use crate::message::RequestHead;
use std::sync::atomic::{AtomicU64, Ordering};

/// A request's head, and its bytes where the protocol writes the same ones each time: HTTP/1.1 does, while
/// HTTP/2 and SPDY compress each head by those before it.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Tells it from all others of this process; its clones are the same.
    id: u64,
    head: RequestHead,
    fin: Fin,
    http1: Result<Written, &'static str>,
}

impl Prepared {
    /// Without a body for `Fin::Last`, as [`crate::ClientConnection::request`] has it.
    pub fn new(head: RequestHead, fin: Fin) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let http1 = Written::new(&head, fin);
        Self { id, head, fin, http1 }
    }

    /// Its name among all that were prepared.
    pub(crate) fn id(&self) -> u64 {
        self.id
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
