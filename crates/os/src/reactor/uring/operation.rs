//! The operation's identity, in the 64 bits that come back with its completion.

use crate::reactor::table::Token;

/// The bits of a token's low half that hold its index. The kind of the operation is above them.
const INDEX: u32 = 28;

const RECEIVE: u64 = 1;
const WRITABLE: u64 = 2;
const ERRORS: u64 = 3;
const ACCEPT: u64 = 4;
const SEND: u64 = 5;
const STOP: u64 = 6;
const DATAGRAMS: u64 = 7;

/// What was asked, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// What arrives on a socket.
    Receive(Token),
    /// That a socket takes bytes, or the outcome of its connect.
    Writable(Token),
    /// A paused socket's errors.
    Errors(Token),
    /// A listener's connections.
    Accept(Token),
    /// A send, by its number.
    Send(usize),
    /// The stop signal.
    Stop,
    /// A datagram socket: that datagrams arrived, or that it takes some.
    Datagrams(Token),
    /// Nobody waits for the outcome.
    Unobserved,
}

impl Operation {
    pub(super) fn encode(self) -> u64 {
        let (kind, rest) = match self {
            Self::Receive(token) => (RECEIVE, token.0),
            Self::Writable(token) => (WRITABLE, token.0),
            Self::Errors(token) => (ERRORS, token.0),
            Self::Accept(token) => (ACCEPT, token.0),
            Self::Send(number) => (SEND, number as u64),
            Self::Stop => (STOP, 0),
            Self::Datagrams(token) => (DATAGRAMS, token.0),
            Self::Unobserved => (0, 0),
        };
        debug_assert!(rest & (0xf << INDEX) == 0, "no process has so many descriptors");
        kind << INDEX | rest
    }

    pub(super) fn decode(bits: u64) -> Self {
        let rest = bits & !(0xf << INDEX);
        match bits >> INDEX & 0xf {
            RECEIVE => Self::Receive(Token(rest)),
            WRITABLE => Self::Writable(Token(rest)),
            ERRORS => Self::Errors(Token(rest)),
            ACCEPT => Self::Accept(Token(rest)),
            SEND => Self::Send(rest as usize),
            STOP => Self::Stop,
            DATAGRAMS => Self::Datagrams(Token(rest)),
            _ => Self::Unobserved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_comes_back_as_it_was_given() {
        let token = Token(u64::from(u32::MAX) << 32 | 0x0fff_ffff);
        for operation in [
            Operation::Receive(token),
            Operation::Writable(token),
            Operation::Errors(Token(1 << 32)),
            Operation::Accept(Token(3)),
            Operation::Send(0x0fff_ffff),
            Operation::Stop,
            Operation::Datagrams(token),
            Operation::Unobserved,
        ] {
            assert_eq!(Operation::decode(operation.encode()), operation);
        }
    }
}
