//! The input of a target over a whole end point: bytes that a peer sends, cut by commands. A command is four bytes: the two
//! of [`MARK`], a code and an argument. Everything else is sent. So a mutation of sent bytes leaves the commands alone,
//! and any input is a script.

use std::time::Duration;

/// The beginning of a command: two bytes that occur in neither UTF-8 nor a frame header of a seed.
pub const MARK: [u8; 2] = [0xc1, 0xfe];

/// A part of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The peer sends these bytes on the current connection.
    Send(&'a [u8]),
    /// A connection comes and is the current one from now on (server); the oldest connect succeeds (client).
    Open,
    /// The oldest connect is refused (client).
    Refuse,
    /// This connection becomes the current one: the number is an index into the open ones.
    Select(u8),
    /// From now on bytes arrive in pieces of this size; 0 for one piece.
    Cut(u8),
    /// The peer ends the current connection with FIN.
    End,
    /// The peer ends the current connection with RST.
    Reset,
    /// Time passes.
    Sleep(Duration),
    /// The end point sends once on the current connection, with this limit.
    Transmit(usize),
    /// The end point sends on every connection while it wants to, but 256 KiB each at most.
    Read,
    /// The driver asks the end point to stop.
    Stop,
    /// As `Open`, and on it a client of TLS: from now on what is sent there is its plaintext. The number chooses what the
    /// client offers (a server that speaks TLS).
    OpenSecured(u8),
    /// In the next bytes of the current connection's TLS client one bit is turned, at this place.
    Damage(u8),
    /// The current connection's TLS client says that nothing more will come.
    CloseNotify,
}

/// What the peer reads in one [`Step::Read`] at most.
pub(crate) const READ: usize = 256 * 1024;

/// The steps of a script.
pub(crate) fn steps(mut input: &[u8]) -> impl Iterator<Item = Step<'_>> {
    std::iter::from_fn(move || {
        if let Some([code, argument, rest @ ..]) = input.strip_prefix(&MARK) {
            input = rest;
            return Some(command(*code, *argument));
        }
        let at = input.windows(2).skip(1).position(|pair| *pair == MARK).map(|at| at + 1);
        let (bytes, rest) = input.split_at(at.unwrap_or(input.len()));
        input = rest;
        (!bytes.is_empty()).then_some(Step::Send(bytes))
    })
}

fn command<'a>(code: u8, argument: u8) -> Step<'a> {
    match code % 13 {
        0 => Step::Open,
        1 => Step::Refuse,
        2 => Step::Select(argument),
        3 => Step::Cut(argument),
        4 => Step::End,
        5 => Step::Reset,
        // From a microsecond to half an hour.
        6 => Step::Sleep(Duration::from_micros(1 << (argument % 32))),
        // From 1 to 128 KiB.
        7 => Step::Transmit(1 << (argument % 18)),
        8 => Step::Read,
        9 => Step::Stop,
        10 => Step::OpenSecured(argument),
        11 => Step::Damage(argument),
        _ => Step::CloseNotify,
    }
}

/// Appends a step to a script that is written. Durations and limits are rounded down to what a command can say.
pub fn write(step: Step<'_>, script: &mut Vec<u8>) {
    let (code, argument) = match step {
        Step::Send(bytes) => return script.extend_from_slice(bytes),
        Step::Open => (0, 0),
        Step::Refuse => (1, 0),
        Step::Select(index) => (2, index),
        Step::Cut(size) => (3, size),
        Step::End => (4, 0),
        Step::Reset => (5, 0),
        Step::Sleep(span) => (6, span.as_micros().max(1).ilog2().min(31) as u8),
        Step::Transmit(limit) => (7, limit.max(1).ilog2().min(17) as u8),
        Step::Read => (8, 0),
        Step::Stop => (9, 0),
        Step::OpenSecured(settings) => (10, settings),
        Step::Damage(at) => (11, at),
        Step::CloseNotify => (12, 0),
    };
    script.extend_from_slice(&MARK);
    script.extend_from_slice(&[code, argument]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let script = [
            Step::Open,
            Step::Cut(3),
            Step::Send(b"GET / HTTP/1.1\r\n\r\n"),
            Step::Sleep(Duration::from_micros(1 << 20)),
            Step::Transmit(1024),
            Step::Select(1),
            Step::Read,
            Step::Refuse,
            Step::Send(b"\xc1"),
            Step::Reset,
            Step::Stop,
            Step::OpenSecured(5),
            Step::Damage(200),
            Step::CloseNotify,
            Step::End,
        ];
        let mut written = Vec::new();
        script.iter().for_each(|step| write(*step, &mut written));
        assert!(steps(&written).eq(script));
    }

    #[test]
    fn a_cut_command_is_sent_as_bytes() {
        assert!(steps(b"\xc1\xfe\x07").eq([Step::Send(b"\xc1\xfe\x07")]));
        assert_eq!(steps(b"").count(), 0);
    }
}
