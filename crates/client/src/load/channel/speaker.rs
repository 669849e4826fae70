//! Who turns requests into bytes, and bytes into what was heard: a machine of HTTP's, or a WebSocket.

use super::tickets::Tickets;
use super::{Ready, Ticket};
use crate::config::ClientConfig;
use crate::load::tally::Fault;
use crate::web_socket::WebSocketConfig;
use crate::web_socket::line::{Heard, Line};
use page::Url;
use proto::ws::Writes;
use proto::{ClientConnection, Error, Event, Fields, Fin, Status, StreamId};
use unit::{Instant, Seed};

/// What was heard of a request.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) enum Told {
    /// Its answer is whole.
    Answered(Ticket),
    /// It came to nothing.
    Failed(Ticket, Fault),
    /// The peer has not acted on it.
    Unprocessed(Ticket),
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum Loss {
    /// In good order.
    Orderly,
    /// What is under way was not acted on.
    Unprocessed,
    Fault(Fault),
}

impl From<Fault> for Loss {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Who turns requests into bytes.
pub(super) enum Speaker {
    Http(Box<dyn ClientConnection>),
    Echo(Box<Echoes>),
}

/// A WebSocket, whose echoes come in the order of their messages.
pub(super) struct Echoes {
    pub(super) line: Line,
    pub(super) is_open: bool,
    pub(super) sent: u64,
    pub(super) answered: u64,
    pub(super) over: Option<Loss>,
}

pub(super) type Carried<'c> = (&'c mut Option<Speaker>, &'c mut Tickets);

pub(super) fn hear(
    now: Instant,
    (speaker, tickets): Carried<'_>,
    plain: &[u8],
    (ready, tell): (&[Ready], &mut impl FnMut(Told)),
) -> Result<(), Loss> {
    match speaker {
        Some(Speaker::Http(machine)) => hear_http(now, &mut **machine, (tickets, plain), tell),
        Some(Speaker::Echo(echoes)) => echoes.hear(now, (tickets, plain), (ready, tell)),
        None => Ok(()),
    }
}

fn hear_http(
    now: Instant,
    machine: &mut dyn ClientConnection,
    (tickets, plain): (&mut Tickets, &[u8]),
    tell: &mut impl FnMut(Told),
) -> Result<(), Loss> {
    let mut input = plain;
    let whole = machine.count_only().and_then(|counts| counts.take_repeated(now, &mut input));
    if let Some(whole) = whole {
        if let Some(mut ticket) = tickets.remove(whole.stream) {
            ticket.head = Some((now, whole.status));
            ticket.body = whole.body as u64;
            tell(Told::Answered(ticket));
        }
        if input.is_empty() {
            return Ok(());
        }
    }
    while let Some(event) = machine.handle_bytes(now, &mut input) {
        let whole = match event {
            Event::Response { stream, head, fin } => {
                if let Some(ticket) = tickets.find(stream) {
                    ticket.head = Some((now, head.status));
                }
                machine.recycle(head);
                (fin == Fin::Last).then_some(stream)
            }
            Event::Data { stream, data, fin } => {
                let bytes = data.len();
                if let Some(ticket) = tickets.find(stream) {
                    ticket.body += bytes as u64;
                }
                machine.consume(stream, bytes);
                (fin == Fin::Last).then_some(stream)
            }
            Event::Trailers { stream, .. } => Some(stream),
            Event::Informational { head, .. } => {
                machine.recycle(head);
                None
            }
            Event::Promise { stream, .. } => {
                machine.reset(now, stream);
                None
            }
            Event::Reset { stream, error } => {
                if let Some(ticket) = tickets.remove(stream) {
                    tell(match loss(Some(&error)) {
                        Loss::Unprocessed => Told::Unprocessed(ticket),
                        Loss::Fault(fault) => Told::Failed(ticket, fault),
                        Loss::Orderly => Told::Failed(ticket, Fault::StreamReset),
                    });
                }
                None
            }
            Event::Closed { error } => return Err(loss(error.as_ref())),
            Event::Writable { .. } | Event::Draining { .. } | Event::Request { .. } => None,
        };
        if let Some(ticket) = whole.and_then(|stream| tickets.remove(stream)) {
            tell(Told::Answered(ticket));
        }
    }
    Ok(())
}

/// What an end means for what was under way.
fn loss(error: Option<&Error>) -> Loss {
    match error {
        None => Loss::Orderly,
        Some(Error::Unprocessed) => Loss::Unprocessed,
        Some(Error::PeerViolation { .. }) => Fault::Protocol.into(),
        Some(Error::PeerReset { .. }) => Fault::StreamReset.into(),
        Some(Error::PeerClosed { .. } | Error::Truncated { .. }) => Fault::Closed.into(),
        Some(Error::TimedOut { .. }) => Fault::TimedOut.into(),
    }
}

impl Echoes {
    fn hear(
        &mut self,
        now: Instant,
        (tickets, plain): (&mut Tickets, &[u8]),
        (ready, tell): (&[Ready], &mut impl FnMut(Told)),
    ) -> Result<(), Loss> {
        self.line.take(now, plain);
        while let Some(heard) = self.line.hear(now) {
            match heard {
                Heard::Opened => self.is_open = true,
                Heard::Message(_, data) => {
                    self.answered += 1;
                    let Some(mut ticket) = tickets.remove(StreamId(self.answered)) else {
                        return Err(Fault::Protocol.into());
                    };
                    ticket.head = Some((now, Status::OK));
                    ticket.body = data.len() as u64;
                    let sent = ready.get(ticket.target);
                    tell(match sent {
                        Some(Ready::Echo { message }) if *message == data => Told::Answered(ticket),
                        _ => Told::Failed(ticket, Fault::WrongEcho),
                    });
                }
                Heard::Failed(error) => return Err(loss(Some(&error))),
                Heard::Close(_) => self.over = Some(Loss::Orderly),
                Heard::Over => return Err(Loss::Orderly),
            }
        }
        Ok(())
    }
}

pub(super) fn line(
    now: Instant,
    config: &ClientConfig,
    (url, fields, seed): (&Url, Fields, Seed),
) -> Line {
    let own = WebSocketConfig {
        url: url.clone(),
        deflate: None,
        writes: Writes::One,
        compression_level: 0,
        seed,
    };
    Line::new(now, (config, &own), (url, fields))
}

impl std::fmt::Debug for Speaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Http(_) => "Http",
            Self::Echo(_) => "Echo",
        })
    }
}
