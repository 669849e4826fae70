//! The response to one request, as a plan that knows no connection.

use crate::body::Body;
use crate::response_cache::CachedResponse;
use crate::streamed::Streamed;
use crate::web_socket::Service;
use bytes::Bytes;
use proto::{Fields, RequestHead, Status};
use std::rc::Rc;
use std::time::Duration;

pub(crate) const CONTINUE: Status = status(100);
pub(crate) const NO_CONTENT: Status = status(204);
pub(crate) const PARTIAL_CONTENT: Status = status(206);
pub(crate) const MOVED_PERMANENTLY: Status = status(301);
pub(crate) const BAD_REQUEST: Status = status(400);
pub(crate) const FORBIDDEN: Status = status(403);
pub(crate) const NOT_FOUND: Status = status(404);
pub(crate) const METHOD_NOT_ALLOWED: Status = status(405);
pub(crate) const PRECONDITION_FAILED: Status = status(412);
pub(crate) const CONTENT_TOO_LARGE: Status = status(413);
pub(crate) const URI_TOO_LONG: Status = status(414);
pub(crate) const RANGE_NOT_SATISFIABLE: Status = status(416);
pub(crate) const NOT_IMPLEMENTED: Status = status(501);
pub(crate) const BAD_GATEWAY: Status = status(502);
pub(crate) const UNAVAILABLE: Status = status(503);
pub(crate) const GATEWAY_TIMEOUT: Status = status(504);

/// A response, and the server time before it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: Status,
    /// Without `Date`, `Server` and `Content-Length`, which every response gets.
    pub(crate) fields: Fields,
    pub(crate) body: Body,
    pub(crate) delay: Duration,
}

/// How a request is handled.
#[derive(Debug)]
pub(crate) enum Plan {
    /// With an answer that does not depend on the request's body.
    Answer(Answer),
    /// With an answer that follows the request's body.
    AnswerAfter(Box<Answer>),
    /// With a file whose response is cached.
    Cached(Rc<CachedResponse>),
    /// Its body is sent back as it arrives.
    Echo,
    /// The answer is the length of its body.
    Count,
    /// With tokens, each when it is due, or with what else comes bit by bit.
    Stream(Box<Streamed>),
    /// Its target is a WebSocket.
    WebSocket(Service),
    /// The application server answers.
    Forward,
}

impl Answer {
    pub(crate) fn new(status: Status, fields: Fields, body: Body) -> Self {
        Self { status, fields, body, delay: Duration::ZERO }
    }

    /// A status, and a sentence for people as the body.
    pub(crate) fn text(status: Status, text: &str) -> Self {
        let fields = Fields::new().with("content-type", "text/plain; charset=utf-8");
        let body = Bytes::from(format!("{text}\n"));
        Self::new(status, fields, Body::Bytes(body))
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push(name.as_bytes(), value.as_bytes());
        self
    }

    /// RFC 9110 §15.5.6: 405 names what is allowed. §15.6.2: an unknown method is 501.
    pub(crate) fn refuse_method(request: &RequestHead, allow: &str) -> Self {
        match request.method {
            proto::Method::Other(_) => {
                Self::text(NOT_IMPLEMENTED, "This method is not known here.")
            }
            _ => Self::text(METHOD_NOT_ALLOWED, "This method is not allowed here.")
                .with("allow", allow),
        }
    }

    /// RFC 9110 §9.3.7: the methods that a target allows.
    pub(crate) fn options(allow: &str) -> Self {
        Self::new(NO_CONTENT, Fields::new().with("allow", allow), Body::empty())
    }
}

const fn status(code: u16) -> Status {
    match Status::new(code) {
        Some(status) => status,
        None => panic!("a status code has three digits"),
    }
}
