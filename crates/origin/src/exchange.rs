//! One request and the state of its response.

use crate::access::{AccessRecord, ExchangeEnd};
use crate::answer::Answer;
use crate::body::Body;
use crate::web_socket::WebSocket;
use proto::{RequestHead, StreamId};
use transport::Protocol;
use unit::Instant;

/// A request whose response is not complete.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) stream: StreamId,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
}

/// The state of an exchange.
#[derive(Debug)]
pub(crate) enum State {
    /// The server time before the answer.
    Thinking { until: Instant, answer: Box<Answer> },
    /// The request's body is sent back as it arrives. `uncredited` bytes of it have not been credited yet.
    Echoing { uncredited: usize },
    /// The bytes of the request's body are counted.
    Counting,
    /// The response is being sent.
    Sending(Body),
    /// The stream carries a WebSocket.
    WebSocket(Box<WebSocket>),
    /// The whole response was given to the connection.
    Given,
}

/// The data of an access record.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) request: RequestHead,
    pub(crate) received: Instant,
    pub(crate) received_bytes: u64,
    pub(crate) answered: Option<Instant>,
    pub(crate) status: Option<u16>,
    pub(crate) sent_bytes: u64,
}

impl Ledger {
    pub(crate) fn new(now: Instant, request: RequestHead) -> Self {
        Self {
            request,
            received: now,
            received_bytes: 0,
            answered: None,
            status: None,
            sent_bytes: 0,
        }
    }
}

impl Exchange {
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
            status: ledger.status,
            received_bytes: ledger.received_bytes,
            sent_bytes: ledger.sent_bytes,
            received: ledger.received,
            answered: ledger.answered,
            finished: now,
            end,
        }
    }
}
