//! Data within a TLS handshake over TCP (0-RTT, RFC 8446 §2.3). A client keeps what it sent so: where the server rejects
//! it, the same bytes go again after the handshake, so that nothing is lost and nothing is processed twice.

use endpoint::SendBuf;
use rustls::Connection;
use std::io::{Read, Write};
use trace::EarlyData;

/// The early data of one connection.
#[derive(Debug)]
pub(crate) struct Early {
    state: State,
    /// Server: what came and was not yet handed out.
    received: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Server: it is not known whether any comes.
    Open,
    /// Client: `left` bytes may be sent before the handshake is over; these were.
    Sending { left: usize, sent: SendBuf },
    /// Server: it comes, and answers may go before the handshake is over (0.5-RTT).
    Taking,
    /// Client: the handshake is over, and these bytes must be sent again.
    Again(SendBuf),
    /// Nothing is left to do.
    Over(EarlyData),
}

impl Early {
    /// The state of a connection that begins.
    pub(crate) fn new(connection: &mut Connection) -> Self {
        let state = match connection {
            Connection::Client(client) => match client.early_data() {
                Some(early) => State::Sending { left: early.bytes_left(), sent: SendBuf::new() },
                None => State::Over(EarlyData::None),
            },
            Connection::Server(_) => State::Open,
        };
        Self { state, received: Vec::new() }
    }

    /// Follows the handshake. Call it after each input.
    pub(crate) fn handle_progress(&mut self, connection: &mut Connection) {
        let is_handshaking = connection.is_handshaking();
        match (&mut self.state, connection) {
            (State::Over(_) | State::Again(_), _) => {}
            (State::Sending { left, .. }, Connection::Client(client)) if is_handshaking => {
                // A HelloRetryRequest ends it.
                *left = client.early_data().map_or(0, |early| early.bytes_left());
            }
            (State::Sending { sent, .. }, Connection::Client(client)) => {
                let is_accepted = client.is_early_data_accepted();
                self.state = match std::mem::take(sent) {
                    sent if sent.is_empty() => State::Over(EarlyData::None),
                    _ if is_accepted => State::Over(EarlyData::Accepted),
                    sent => State::Again(sent),
                };
            }
            (_, Connection::Server(server)) => {
                if let Some(mut early) = server.early_data() {
                    self.state = State::Taking;
                    // It reads from memory.
                    let _bytes = early.read_to_end(&mut self.received);
                }
                if !is_handshaking {
                    self.state = State::Over(self.outcome());
                }
            }
            (_, Connection::Client(_)) => {}
        }
    }

    /// Whether application data may be sent although the handshake is not over.
    pub(crate) fn may_send(&self) -> bool {
        match &self.state {
            State::Sending { left, .. } => *left > 0,
            State::Taking => true,
            State::Open | State::Again(_) | State::Over(_) => false,
        }
    }

    /// Client: sends the front of `plain` as early data, as much as may go.
    pub(crate) fn send(&mut self, plain: &mut SendBuf, connection: &mut Connection) {
        let (State::Sending { left, sent }, Connection::Client(client)) =
            (&mut self.state, connection)
        else {
            return;
        };
        let mut taken = 0;
        for chunk in plain.chunks() {
            let Some(mut early) = client.early_data() else { break };
            let part = &chunk[..chunk.len().min(*left)];
            // It fails for no bytes alone.
            let count = early.write(part).unwrap_or(0);
            *left = early.bytes_left();
            sent.put(&part[..count]);
            taken += count;
            if count < chunk.len() {
                break;
            }
        }
        plain.advance(taken);
    }

    /// Client: what must be sent again, before anything else.
    pub(crate) fn take_rejected(&mut self) -> Option<SendBuf> {
        let State::Again(sent) = &mut self.state else { return None };
        let sent = std::mem::take(sent);
        self.state = State::Over(EarlyData::Rejected);
        Some(sent)
    }

    /// Whether `take_rejected` would give something.
    pub(crate) fn was_rejected(&self) -> bool {
        matches!(self.state, State::Again(_))
    }

    /// Server: what came early and was not yet handed out.
    pub(crate) fn received(&self) -> &[u8] {
        &self.received
    }

    /// Server: what `received` gave was handed out.
    pub(crate) fn forget_received(&mut self) {
        self.received = Vec::new();
    }

    /// Server: whether early data comes, so that all that was agreed on is known.
    pub(crate) fn is_taking(&self) -> bool {
        matches!(self.state, State::Taking)
    }

    /// What became of it, as far as that is known.
    pub(crate) fn outcome(&self) -> EarlyData {
        match &self.state {
            State::Open | State::Sending { .. } => EarlyData::None,
            State::Taking => EarlyData::Accepted,
            State::Again(_) => EarlyData::Rejected,
            State::Over(outcome) => *outcome,
        }
    }
}
