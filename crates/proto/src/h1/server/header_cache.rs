//! Caches the header lines of the last request. Clients repeat them byte for byte, and then only the request line is
//! parsed. The one rule: a head that differs in any other byte goes to the full parser. The cache moves from connection
//! to connection with its buffers, so lines with cookies or credentials are never kept.

use crate::h1::head::Request;
use crate::{Method, RequestHead, Scheme};
use wire::h1::{Limits, Version, plain_request};

/// Longer header blocks are parsed each time.
const MAX_LENGTH: usize = 2048;

/// The header lines that were parsed last, and their meaning.
#[derive(Debug, Default)]
pub(super) struct HeaderBlockCache {
    /// From the first field line to the empty line, both included.
    bytes: Vec<u8>,
    /// The limits that they passed.
    limits: Limits,
    /// What they say; None where none are cached. Its path is empty; its method and scheme mean nothing.
    request: Option<Request>,
}

impl HeaderBlockCache {
    /// Consumes a head at the front of `input` that differs from the cached one in method and path only. Returns its
    /// length and the request, built in the buffers of `spare`. None consumes nothing.
    #[inline]
    pub(super) fn read(
        &self,
        input: &mut &[u8],
        spare: &mut Option<Box<RequestHead>>,
        scheme: Scheme,
        limits: Limits,
    ) -> Option<(usize, Request)> {
        let cached = self.request.as_ref()?;
        let plain = plain_request(input)?;
        let rest = plain.rest.strip_prefix(&self.bytes[..])?;
        let method = Method::parse(plain.method.as_bytes())?;
        if plain.line > limits.line || self.limits != limits || method == Method::Connect {
            return None;
        }
        let length = input.len() - rest.len();
        *input = rest;
        let mut head = spare.take().unwrap_or_default();
        head.copy_from(&cached.head);
        (head.method, head.scheme) = (method, scheme);
        head.path.push_str(plain.path);
        Some((length, Request { head, ..*cached }))
    }

    /// Whether nothing is cached.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.request.is_none()
    }

    /// Caches the lines of `head`, where later heads may be compared with them.
    pub(super) fn keep(&mut self, head: &[u8], limits: Limits, request: &Request) {
        // Elsewhere the authority may come from the target (RFC 9112 §3.2.2).
        let Some(plain) = plain_request(head) else { return };
        let secret = |name: &[u8]| request.head.fields.find(name).is_some();
        if plain.rest.len() > MAX_LENGTH || secret(b"cookie") || secret(b"authorization") {
            return;
        }
        debug_assert_eq!(request.version, Version::Http11, "the line says so");
        self.bytes.clear();
        self.bytes.extend_from_slice(plain.rest);
        self.limits = limits;
        let mut head = self.request.take().map_or_else(Box::default, |earlier| earlier.head);
        head.copy_from(&request.head);
        head.path.clear();
        self.request = Some(Request { head, ..*request });
    }
}
