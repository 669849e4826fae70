//! Field lines that were read before. Clients repeat them from request to request, byte for byte, and to read them
//! again would find nothing new: only the request line is read. The one rule: what is not plainly the same is left to
//! the whole reader. They go from connection to connection with the buffers that they stand in, so lines with secrets are
//! never kept.

use crate::h1::head::Request;
use crate::message::{Method, RequestHead, Scheme};
use wire::h1::{Limits, Version, plain_request};

/// Longer lines are read anew each time.
const LONGEST: usize = 2048;

/// The field lines that were read last, and what they say.
#[derive(Debug, Default)]
pub(super) struct KnownLines {
    /// From the first field line to the empty line, both included; empty where none are known.
    bytes: Vec<u8>,
    /// What they were held to.
    limits: Limits,
    /// Its path is empty, and its method and scheme are of no interest.
    request: Request,
}

impl KnownLines {
    /// Takes a head off the front of `input` that differs from the known one in its method and path at most; gives
    /// its length too. `spare` is an earlier head, whose buffers it then takes over.
    pub(super) fn read(
        &self,
        input: &mut &[u8],
        (scheme, limits): (Scheme, Limits),
        spare: &mut RequestHead,
    ) -> Option<(usize, Request)> {
        if self.is_empty() {
            return None;
        }
        let plain = plain_request(input)?;
        let rest = plain.rest.strip_prefix(&self.bytes[..])?;
        let method = Method::parse(plain.method.as_bytes())?;
        if plain.line > limits.line || self.limits != limits || method == Method::Connect {
            return None;
        }
        let length = input.len() - rest.len();
        *input = rest;
        let mut head = std::mem::take(spare);
        head.copy_from(&self.request.head);
        (head.method, head.scheme) = (method, scheme);
        head.path.push_str(plain.path);
        Some((length, Request { head, ..self.request }))
    }

    /// Whether none are known.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Keeps what was read of `head`, where others may be read by it.
    pub(super) fn keep(&mut self, head: &[u8], limits: Limits, request: &Request) {
        // Elsewhere the authority may come from the target (RFC 9112 §3.2.2).
        let Some(plain) = plain_request(head) else { return };
        let secret = |name: &[u8]| request.head.fields.find(name).is_some();
        if plain.rest.len() > LONGEST || secret(b"cookie") || secret(b"authorization") {
            return;
        }
        debug_assert_eq!(request.version, Version::Http11, "the line says so");
        self.bytes.clear();
        self.bytes.extend_from_slice(plain.rest);
        self.limits = limits;
        let mut head = std::mem::take(&mut self.request.head);
        head.copy_from(&request.head);
        head.path.clear();
        self.request = Request { head, ..*request };
    }
}
