//! How a server's connection ends, and what it waits for until then.

use super::exchange::{Continue, Exchange, Then};
use super::{Input, Receiving, Server};
use crate::h1::body;
use crate::{ConnectionState, Error, Event};
use std::time::Duration;
use unit::Instant;

/// Where the connection stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// It takes requests.
    Open,
    /// It takes no further requests; answers still go out.
    Finishing { error: Option<Error>, peer: Peer },
    /// All is sent; what still comes, up to so many bytes, is dropped until the peer's FIN.
    Lingering { error: Option<Error>, left: usize },
    /// It is over.
    Closed,
}

/// What the peer may be doing when the last answer is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// It has nothing more to send.
    Silent,
    /// It may still be sending.
    Sending,
}

impl Phase {
    pub(super) fn state(&self) -> ConnectionState {
        match self {
            Self::Open => ConnectionState::Open,
            Self::Finishing { .. } | Self::Lingering { .. } => ConnectionState::Draining,
            Self::Closed => ConnectionState::Closed,
        }
    }
}

/// What the connection waits for, and since when.
#[derive(Debug, Default)]
pub(super) struct Timer {
    waiting: Option<Waiting>,
    since: Instant,
    limit: Option<Duration>,
}

/// Something that must come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Request,
    Head,
    Body,
    Fin,
}

impl Timer {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.and(self.limit).map(|limit| self.since + limit)
    }

    /// What is waited for has made progress.
    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
    }
}

impl Server {
    /// Takes no further requests.
    pub(super) fn finish(&mut self, error: Option<Error>) {
        if matches!(self.phase, Phase::Open) {
            self.phase = Phase::Finishing { error, peer: Peer::Silent };
        }
    }

    /// Takes no further bytes, and expects some to come all the same.
    pub(super) fn finish_lingering(&mut self, error: Option<Error>) {
        self.receiving = Receiving::Nothing;
        self.backlog = Vec::new();
        if matches!(self.phase, Phase::Open | Phase::Finishing { .. }) {
            self.phase = Phase::Finishing { error, peer: Peer::Sending };
        }
    }

    /// Ends at once. Answers that are not yet sent are lost.
    pub(super) fn close(&mut self, error: Option<Error>) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        if self.exchanges.iter().any(|exchange| exchange.out.len() > 0) {
            self.left = self.exchanges.iter().map(|exchange| exchange.out.len()).collect();
        }
        self.exchanges.clear();
        self.unconsumed = 0;
        self.receiving = Receiving::Nothing;
        self.phase = Phase::Closed;
        self.events.push_back(Event::Closed { error });
    }

    /// The newest request is whole.
    pub(super) fn end_request(&mut self) {
        self.receiving = match self.phase {
            _ if self.exchanges.back().is_some_and(|newest| newest.has_switched()) => {
                Receiving::Tunnel
            }
            Phase::Open => Receiving::Head,
            _ => Receiving::Nothing,
        };
    }

    /// The body of the newest request breaks the protocol, or does not come.
    pub(super) fn fail_request(&mut self, status: u16, error: Error) {
        let stream = self.newest();
        if let Some(exchange) = self.exchanges.back_mut() {
            if exchange.is_applications() {
                self.events.push_back(Event::Reset { stream, error: error.clone() });
            }
            exchange.fail(status);
        }
        self.finish_lingering(Some(error));
    }

    /// The oldest answer is sent.
    pub(super) fn end_exchange(&mut self) {
        let Some(mut exchange) = self.exchanges.pop_front() else { return };
        self.first += 1;
        self.unconsumed -= exchange.unconsumed;
        if self.exchanges.is_empty() {
            self.release_body(exchange.expect);
        }
        if exchange.then == Then::Close {
            self.end_after(self.exchanges.is_empty());
        }
        exchange.out.reset();
        self.buffers().out = Some(exchange.out);
    }

    /// The answer that was the last is sent. Requests read ahead of it are not answered
    /// (RFC 9112 §9.6); `none_ahead` says that there are none.
    fn end_after(&mut self, none_ahead: bool) {
        self.exchanges.clear();
        self.unconsumed = 0;
        match self.receiving {
            Receiving::Nothing if none_ahead => {}
            Receiving::Head if none_ahead && self.reader.is_empty() && self.backlog.is_empty() => {
                self.receiving = Receiving::Nothing;
                self.finish(None);
            }
            _ => {
                let error = match &mut self.phase {
                    Phase::Finishing { error, .. } => error.take(),
                    _ => None,
                };
                self.finish_lingering(error);
            }
        }
    }

    /// The answer came before the whole of the request's body: nobody wants the rest.
    fn release_body(&mut self, expect: Continue) {
        match std::mem::replace(&mut self.receiving, Receiving::Nothing) {
            Receiving::Body(_) if expect == Continue::Owed => self.finish_lingering(None),
            Receiving::Body(incoming) => {
                self.receiving = Receiving::Discard(incoming, self.settings.max_discard);
            }
            Receiving::Tunnel => self.finish_lingering(None),
            other => self.receiving = other,
        }
    }

    /// Bytes came that belong to nothing.
    pub(super) fn linger_over(&mut self, bytes: &[u8]) {
        match &mut self.phase {
            Phase::Finishing { peer, .. } if !bytes.is_empty() => *peer = Peer::Sending,
            Phase::Lingering { left, error } => match left.checked_sub(bytes.len()) {
                Some(rest) => *left = rest,
                None => {
                    let error = error.take();
                    self.close(error);
                }
            },
            _ => {}
        }
    }

    /// The peer has ended its side, and everything before that has been read.
    pub(super) fn end_input(&mut self) {
        if let Phase::Lingering { error, .. } = &mut self.phase {
            let error = error.take();
            return self.close(error);
        }
        match self.receiving {
            Receiving::Head if self.is_blocked() => {}
            Receiving::Head => {
                // RFC 9112 §9.6: a client may end its side and still wait for answers.
                self.receiving = Receiving::Nothing;
                let cut_off = !self.reader.is_empty();
                self.finish(cut_off.then_some(Error::Truncated { within: "a request head" }));
            }
            Receiving::Body(_) => self.close(Some(Error::Truncated { within: "a request body" })),
            Receiving::Discard(..) => self.close(None),
            Receiving::Tunnel => {
                self.receiving = Receiving::Nothing;
                self.events.push_back(body::end(self.newest()));
            }
            Receiving::Nothing => {}
        }
    }

    /// Moves on where nothing is left to do, and waits for what is next.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant) {
        let is_done = self.exchanges.is_empty() && matches!(self.receiving, Receiving::Nothing);
        if let Phase::Finishing { error, peer } = &mut self.phase
            && is_done
        {
            let error = error.take();
            match (*peer, self.input) {
                (Peer::Sending, Input::Open) => {
                    self.phase = Phase::Lingering { error, left: self.settings.max_discard };
                }
                _ => self.close(error),
            }
        }
        self.retime(now);
    }

    /// Starts the time-out of what is waited for now, where that is something new.
    pub(super) fn retime(&mut self, now: Instant) {
        let settings = &self.settings;
        let (waiting, limit) = match (&self.phase, &self.receiving) {
            (Phase::Closed, _) => (None, None),
            (Phase::Lingering { .. }, _) => (Some(Waiting::Fin), Some(settings.linger_timeout)),
            // What is not read is not late.
            (_, Receiving::Head) if self.is_blocked() => (None, None),
            (_, Receiving::Head) if !self.reader.is_empty() => {
                (Some(Waiting::Head), settings.header_timeout)
            }
            (_, Receiving::Head) if self.exchanges.is_empty() => {
                (Some(Waiting::Request), settings.keep_alive_timeout)
            }
            // A client that waits for 100 is not late.
            (_, Receiving::Body(_))
                if self.exchanges.back().is_some_and(Exchange::owes_continue) =>
            {
                (None, None)
            }
            (_, Receiving::Body(_) | Receiving::Discard(..)) if self.has_credit() => {
                (Some(Waiting::Body), settings.body_timeout)
            }
            _ => (None, None),
        };
        if self.timer.waiting != waiting {
            self.timer = Timer { waiting, since: now, limit };
        }
    }

    /// What was waited for has not come in time.
    pub(super) fn run_out(&mut self) {
        match self.timer.waiting {
            None => {}
            Some(Waiting::Request) => self.close(None),
            Some(Waiting::Head) => self.refuse(Error::TimedOut { waiting_for: "a request head" }),
            Some(Waiting::Body) if matches!(self.receiving, Receiving::Discard(..)) => {
                self.finish_lingering(None);
            }
            Some(Waiting::Body) => {
                self.fail_request(408, Error::TimedOut { waiting_for: "a request body" });
            }
            Some(Waiting::Fin) => {
                let error = match &mut self.phase {
                    Phase::Lingering { error, .. } => error.take(),
                    _ => None,
                };
                self.close(error);
            }
        }
    }
}
