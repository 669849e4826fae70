//! What an operation is called, in the 64 bits that come back with its completion.

use crate::reactor::table::Token;

/// Bits of a token's low half that name its place; what kind of operation it is stands above them.
const PLACE: u32 = 28;

const RECEIVE: u64 = 1;
const ROOM: u64 = 2;
const FAULT: u64 = 3;
const LISTENER: u64 = 4;
const SEND: u64 = 5;
const STOP: u64 = 6;

/// What was asked, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// What arrives on a socket.
    Receive(Token),
    /// A socket's room to send, or the outcome of its connect.
    Room(Token),
    /// A paused socket's errors.
    Fault(Token),
    /// A listener's connections.
    Listener(Token),
    /// What is being sent, by its number.
    Send(usize),
    /// The stop signal.
    Stop,
    /// Nobody waits for the outcome.
    Nothing,
}

impl Name {
    pub(super) fn encode(self) -> u64 {
        let (kind, rest) = match self {
            Self::Receive(token) => (RECEIVE, token.0),
            Self::Room(token) => (ROOM, token.0),
            Self::Fault(token) => (FAULT, token.0),
            Self::Listener(token) => (LISTENER, token.0),
            Self::Send(number) => (SEND, number as u64),
            Self::Stop => (STOP, 0),
            Self::Nothing => (0, 0),
        };
        debug_assert!(rest & (0xf << PLACE) == 0, "no process has so many descriptors");
        kind << PLACE | rest
    }

    pub(super) fn decode(bits: u64) -> Self {
        let rest = bits & !(0xf << PLACE);
        match bits >> PLACE & 0xf {
            RECEIVE => Self::Receive(Token(rest)),
            ROOM => Self::Room(Token(rest)),
            FAULT => Self::Fault(Token(rest)),
            LISTENER => Self::Listener(Token(rest)),
            SEND => Self::Send(rest as usize),
            STOP => Self::Stop,
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_was_given() {
        let token = Token(u64::from(u32::MAX) << 32 | 0x0fff_ffff);
        for name in [
            Name::Receive(token),
            Name::Room(token),
            Name::Fault(Token(1 << 32)),
            Name::Listener(Token(3)),
            Name::Send(0x0fff_ffff),
            Name::Stop,
            Name::Nothing,
        ] {
            assert_eq!(Name::decode(name.encode()), name);
        }
    }
}
