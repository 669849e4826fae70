//! One request and the state of its response.

use crate::access::{AccessRecord, ExchangeEnd};
use crate::answer::Answer;
use crate::body::Body;
use crate::policy::Urgency;
use crate::streamed::Streamed;
use crate::upstream::RequestId;
use crate::web_socket::WebSocket;
use proto::{Fin, RequestHead, StreamId};
use transport::Protocol;
use unit::Instant;

/// A request whose response is not complete.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) stream: StreamId,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
    /// Bytes of an echo that count towards [`crate::config::Limits::echoes`].
    pub(crate) buffered: usize,
    /// Bytes of it in the connection's account.
    pub(crate) held: usize,
}

/// The state of an exchange.
#[derive(Debug)]
pub(crate) enum State {
    /// The server time before the answer.
    Thinking { until: Instant, answer: Box<Answer> },
    /// The request's body goes back as it comes.
    Echoing(Box<Echo>),
    /// The request's body is counted.
    Counting,
    /// The request's body is dropped; when it is whole, this is the answer.
    Taking(Box<Answer>),
    /// The response is being sent.
    Sending(Body),
    /// Tokens are sent, each when it is due, or what else comes bit by bit.
    Streaming(Box<Streamed>),
    /// The stream carries a WebSocket.
    WebSocket(Box<WebSocket>),
    /// The application server answers.
    Forwarded(Forwarded),
    /// The whole response was given to the connection.
    Given,
}

/// A request that the application server answers.
#[derive(Debug)]
pub(crate) struct Forwarded {
    /// Its number there.
    pub(crate) id: RequestId,
    /// Bytes of the request's head, which waits there.
    pub(crate) head: usize,
    /// Whether the whole request has come.
    pub(crate) fin: Fin,
    /// Bytes of the request's body that the client has no credit for yet.
    pub(crate) uncredited: usize,
    /// Bytes of the response's body that have not gone to the client.
    pub(crate) unsent: usize,
}

/// How far an echo is behind its request.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// Bytes that came and that the client has no credit for yet.
    pub(crate) uncredited: usize,
    /// Short pieces that wait until they are worth a frame: a peer may send DATA frames of one byte.
    pub(crate) pending: Vec<u8>,
    /// Since the echo is at its limit.
    pub(crate) full: Option<Full>,
}

/// An echo at its limit: the client writes and does not read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Full {
    /// When it is reset, if the client has read nothing by then.
    pub(crate) until: Instant,
    /// Bytes that waited when this began.
    pub(crate) unsent: usize,
}

/// What an access record is made of.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Boxed, as it came.
    pub(crate) request: Box<RequestHead>,
    /// Whether the request's target was too long to be kept: then the rest of it is gone.
    pub(crate) is_cut: bool,
    pub(crate) received: Instant,
    pub(crate) received_bytes: u64,
    /// When the response's head was given to the connection, and its status.
    pub(crate) answered: Option<(Instant, u16)>,
    pub(crate) sent_bytes: u64,
    /// The stream whose response it belongs to, where this is a push.
    pub(crate) pushed_with: Option<StreamId>,
    /// The place that the server gave it.
    pub(crate) decided: Option<Urgency>,
}

impl Ledger {
    #[inline]
    pub(crate) fn new(now: Instant, request: Box<RequestHead>) -> Self {
        Self {
            request,
            is_cut: false,
            received: now,
            received_bytes: 0,
            answered: None,
            sent_bytes: 0,
            pushed_with: None,
            decided: None,
        }
    }
}

impl Exchange {
    #[inline]
    pub(crate) fn new(stream: StreamId, ledger: Ledger) -> Self {
        Self { stream, state: State::Counting, ledger, buffered: 0, held: 0 }
    }

    /// The record of this exchange, on this connection.
    pub(crate) fn record(
        &self,
        now: Instant,
        connection: u64,
        protocol: Protocol,
        end: ExchangeEnd,
    ) -> AccessRecord<'_> {
        let ledger = &self.ledger;
        AccessRecord {
            connection,
            stream: self.stream.0,
            protocol,
            method: ledger.request.method.as_str(),
            authority: &ledger.request.authority,
            path: &ledger.request.path,
            status: ledger.answered.map(|(_, status)| status),
            received_bytes: ledger.received_bytes,
            sent_bytes: ledger.sent_bytes,
            received: ledger.received,
            answered: ledger.answered.map(|(at, _)| at),
            finished: now,
            end,
            pushed_with: ledger.pushed_with.map(|stream| stream.0),
            decided: ledger.decided,
        }
    }
}
