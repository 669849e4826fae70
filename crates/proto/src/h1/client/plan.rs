//! How a request is written: its target, its framing and what it asks of the connection.

use crate::h1::head;
use crate::h1::outgoing::Framing;
use crate::h1::settings::KeepAlive;
use crate::{Fields, Fin, Method, RequestHead};
use std::sync::Arc;
use wire::h1;

/// How a request is written.
#[derive(Debug, Clone)]
pub(crate) struct RequestPlan {
    pub(super) asked: Asked,
    /// None where no body follows.
    pub(super) framing: Option<Framing>,
    length: Option<u64>,
}

impl RequestPlan {
    /// The error says why the request cannot be written.
    pub(super) fn new(head: &RequestHead, fin: Fin) -> Result<Self, &'static str> {
        head::check_fields(&head.fields)?;
        if head.protocol.is_some() {
            return Err("extended CONNECT is HTTP/2's and HTTP/3's (RFC 8441)");
        }
        let has_form = match head.method {
            Method::Connect => head.path.is_empty() && head.authority.contains(':'),
            Method::Options if head.path == "*" => true,
            // A proxy is told the whole URL (RFC 9112 §3.2.2).
            _ => head.path.starts_with('/') || head.path.starts_with("http://"),
        };
        if !has_form || !head.path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return Err("the target is a path or a URL in printable ASCII (RFC 9112 §3.2)");
        }
        if !h1::is_field_name(head.method.as_str().as_bytes()) {
            return Err("a method is a token (RFC 9110 §9.1)");
        }
        if !head.authority.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("an authority is printable ASCII (RFC 9110 §7.2)");
        }
        let declared = head::declared_length(&head.fields)?;
        // RFC 9110 §8.6: where the method anticipates a body, its absence is said.
        let anticipates = matches!(head.method, Method::Post | Method::Put | Method::Patch);
        let (framing, length) = match (fin, declared) {
            (Fin::Last, Some(length)) if length > 0 => {
                return Err("fewer bytes than Content-Length said");
            }
            (Fin::Last, None) if !anticipates => (None, None),
            (Fin::Last, _) => (None, Some(0)),
            (Fin::More, Some(length)) => (Some(Framing::Exactly(length)), Some(length)),
            (Fin::More, None) => (Some(Framing::Chunked), None),
        };
        let asked = match head.method {
            Method::Head => Asked::Head,
            Method::Connect => Asked::Tunnel,
            _ if head.fields.find(b"upgrade").is_some() => Asked::Upgrade,
            _ => Asked::Body,
        };
        Ok(Self { asked, framing, length })
    }

    pub(super) fn write(&self, head: &RequestHead, keep_alive: KeepAlive, out: &mut Vec<u8>) {
        let target = if self.asked == Asked::Tunnel { &head.authority } else { &head.path };
        h1::put_request_line(out, head.method.as_str(), target);
        // RFC 9110 §7.2: Host comes first.
        h1::put_field(out, b"Host", head.authority.as_bytes());
        head::put_fields(out, &head.fields);
        match (self.length, self.framing) {
            (Some(length), _) => head::put_length(out, length),
            (None, Some(_)) => h1::put_field(out, b"transfer-encoding", b"chunked"),
            (None, None) => {}
        }
        match (keep_alive, self.asked) {
            (KeepAlive::On, Asked::Upgrade) => h1::put_field(out, b"connection", b"upgrade"),
            (KeepAlive::Off, Asked::Upgrade) => {
                h1::put_field(out, b"connection", b"upgrade, close")
            }
            (KeepAlive::Off, _) => h1::put_field(out, b"connection", b"close"),
            (KeepAlive::On, _) => {}
        }
        h1::put_end(out);
    }
}

/// A request as it goes over a connection that is kept: its bytes serve again for the same request.
#[derive(Debug)]
pub(super) struct WrittenRequest {
    pub(super) plan: RequestPlan,
    pub(super) bytes: Vec<u8>,
    pub(super) expects_continue: bool,
    head: RequestHead,
    fin: Fin,
}

impl WrittenRequest {
    /// The error says why the request cannot be written.
    pub(super) fn new(head: &RequestHead, fin: Fin) -> Result<Self, &'static str> {
        let plan = RequestPlan::new(head, fin)?;
        let mut bytes = Vec::new();
        plan.write(head, KeepAlive::On, &mut bytes);
        let expects_continue = expects_continue(&head.fields);
        Ok(Self { plan, bytes, expects_continue, head: head.clone(), fin })
    }

    /// Whether it is this request. Its fields are the same where they were validated as one list.
    pub(super) fn is_of(&self, head: &RequestHead, fin: Fin) -> bool {
        let same_fields = match (self.head.fields.validated(), head.fields.validated()) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        same_fields
            && self.fin == fin
            && self.head.method == head.method
            && self.head.path == head.path
            && self.head.authority == head.authority
            && head.protocol.is_none()
    }
}

/// Whether the request waits for 100 before its body (RFC 9110 §10.1.1).
pub(super) fn expects_continue(fields: &Fields) -> bool {
    fields.find(b"expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"))
}

/// What of a request bears on its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Body,
    /// HEAD.
    Head,
    /// Another protocol, if the server likes.
    Upgrade,
    /// CONNECT: after a 2xx the bytes are the tunnel's (RFC 9110 §9.3.6).
    Tunnel,
}
