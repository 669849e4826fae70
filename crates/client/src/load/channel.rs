//! One connection of the engine: what stands on its socket, and which requests it carries. It decides nothing: it tells
//! what was heard, and takes the requests that it is given.

mod speaker;
mod tickets;

pub(super) use speaker::{Loss, Told};

use super::plan::{Exchange, Target};
use super::tally::Fault;
use crate::config::ClientConfig;
use crate::transport::Protocol;
use bytes::Bytes;
use endpoint::SendBuf;
use proto::ws::MessageKind;
use proto::{ConnectionState, Fin, Refused, RequestHead, Status, StreamId};
use secure::Layer;
use speaker::{Echoes, Speaker, hear, line};
use std::time::Duration;
use tickets::Tickets;
use trace::Tracer;
use unit::{Instant, Seed};

/// A request on its way: when it was due, and what has come of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
    pub(super) target: usize,
    /// None for the warm-up.
    pub(super) stage: Option<usize>,
    pub(super) due: Instant,
    pub(super) begun: Instant,
    pub(super) head: Option<(Instant, Status)>,
    pub(super) body: u64,
    /// How often it was begun before.
    pub(super) tries: u8,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is no socket.
    Shut,
    /// TCP's handshake.
    Connecting,
    /// TLS's handshake, and the WebSocket's.
    Securing,
    /// Requests.
    Open,
}

#[derive(Debug)]
pub(super) struct Channel {
    /// Which server it leads to.
    pub(super) server: usize,
    pub(super) stage: Stage,
    pub(super) layer: Layer,
    speaker: Option<Speaker>,
    tickets: Tickets,
    /// Whether the driver has been told that there is something to send.
    pub(super) told: bool,
    /// Whether it stands among the connections that could take a request.
    pub(super) listed: bool,
    /// Whether it has come to where requests can be made, and was counted so.
    pub(super) counted: bool,
    /// Whether its first attempt is decided.
    pub(super) decided: bool,
    /// When the attempt began, and TCP's handshake ended.
    pub(super) began: Instant,
    pub(super) connected: Instant,
    /// Answers over the present connection.
    pub(super) answers: u64,
    /// How long the next attempt waits.
    pub(super) rest: Duration,
}

/// What a request is made of. Its fields are validated.
#[derive(Debug)]
pub(super) enum Ready {
    Http { head: Box<RequestHead>, fin: Fin, body: Bytes },
    Echo { message: Bytes },
}

impl Channel {
    pub(super) fn new(server: usize) -> Self {
        Self {
            server,
            stage: Stage::Shut,
            layer: Layer::Clear,
            speaker: None,
            tickets: Tickets::default(),
            told: false,
            listed: false,
            counted: false,
            decided: false,
            began: Instant::ZERO,
            connected: Instant::ZERO,
            answers: 0,
            rest: Duration::ZERO,
        }
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self, now: Instant, layer: Layer) {
        self.stage = Stage::Connecting;
        self.layer = layer;
        self.began = now;
        self.answers = 0;
        self.told = false;
        self.counted = false;
    }

    /// There is no socket any more; gives what was under way.
    pub(super) fn shut(&mut self) -> impl Iterator<Item = Ticket> + '_ {
        self.stage = Stage::Shut;
        self.layer = Layer::Clear;
        self.speaker = None;
        self.tickets.drain()
    }

    /// Requests are made by `protocol` from now on.
    pub(super) fn speak(&mut self, now: Instant, config: &ClientConfig, protocol: Protocol) {
        self.speaker = Some(Speaker::Http(protocol.machine(now, config, Tracer::off())));
        self.stage = Stage::Open;
    }

    /// A WebSocket is asked for.
    pub(super) fn ask_for_web_socket(
        &mut self,
        now: Instant,
        config: &ClientConfig,
        (target, seed): (&Target, Seed),
    ) -> Result<(), Loss> {
        let Exchange::Echo { fields, .. } = &target.exchange else {
            return Err(Fault::Protocol.into());
        };
        let mut line = line(now, config, (&target.url, fields.clone(), seed));
        line.ask(now).map_err(|_| Fault::Protocol)?;
        let echoes = Echoes { line, is_open: false, sent: 0, answered: 0, over: None };
        self.speaker = Some(Speaker::Echo(Box::new(echoes)));
        Ok(())
    }

    /// Whether somebody has been chosen to speak.
    pub(super) fn speaks(&self) -> bool {
        self.speaker.is_some()
    }

    /// Requests under way.
    pub(super) fn under_way(&self) -> usize {
        self.tickets.len()
    }

    /// Whether it could take a request now, of `streams` at a time.
    pub(super) fn has_room(&self, streams: usize) -> bool {
        if self.stage != Stage::Open || self.tickets.len() >= streams {
            return false;
        }
        match &self.speaker {
            Some(Speaker::Http(machine)) => machine.available_streams() > 0,
            Some(Speaker::Echo(echoes)) => echoes.over.is_none() && echoes.line.has_room(),
            None => false,
        }
    }

    /// Makes a request. What could not be made comes back.
    pub(super) fn start(
        &mut self,
        now: Instant,
        mut ticket: Ticket,
        ready: &Ready,
    ) -> Result<(), Told> {
        ticket.begun = now;
        let stream = match (&mut self.speaker, ready) {
            (Some(Speaker::Http(machine)), Ready::Http { head, fin, body }) => {
                match machine.request(now, head, *fin) {
                    Ok(stream) => {
                        if *fin == Fin::More {
                            // Refused where the connection is over, which comes as an event.
                            let _over = machine.send(stream, body.clone(), Fin::Last);
                        }
                        stream
                    }
                    Err(Refused::Draining | Refused::Full) => {
                        return Err(Told::Unprocessed(ticket));
                    }
                    Err(Refused::NotAllowed | Refused::Unsendable(_)) => {
                        return Err(Told::Failed(ticket, Fault::Protocol));
                    }
                }
            }
            (Some(Speaker::Echo(echoes)), Ready::Echo { message }) => {
                echoes.line.say(MessageKind::Text, message.clone());
                echoes.sent += 1;
                StreamId(echoes.sent)
            }
            _ => return Err(Told::Unprocessed(ticket)),
        };
        self.tickets.insert(stream, ticket);
        Ok(())
    }

    /// Takes plaintext up through the speaker; tells what was heard by `tell`.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        plain: &[u8],
        (ready, mut tell): (&[Ready], impl FnMut(Told)),
    ) -> Result<(), Loss> {
        hear(now, (&mut self.speaker, &mut self.tickets), plain, (ready, &mut tell))?;
        self.note_open();
        Ok(())
    }

    /// A WebSocket's handshake may be done.
    fn note_open(&mut self) {
        if let Some(Speaker::Echo(echoes)) = &self.speaker
            && echoes.is_open
        {
            self.stage = Stage::Open;
        }
    }

    /// Takes bytes from the socket up through the layer, as far as somebody speaks. Gives None where all are taken,
    /// or the plaintext that came before anybody was chosen.
    pub(super) fn feed(
        &mut self,
        now: Instant,
        cipher: &mut &[u8],
        (ready, mut tell): (&[Ready], impl FnMut(Told)),
    ) -> Result<Option<Vec<u8>>, Loss> {
        loop {
            let Some(plain) = self.layer.handle_bytes(cipher).map_err(|_| Fault::Tls)? else {
                return Ok(None);
            };
            if self.speaker.is_none() {
                // The server speaks in the same flight that ends the handshake: this piece has to wait until the
                // layer, from which it is borrowed, has told what was agreed on.
                return Ok(Some(plain.to_vec()));
            }
            hear(now, (&mut self.speaker, &mut self.tickets), plain, (ready, &mut tell))?;
            self.note_open();
        }
    }

    /// The peer will send nothing more.
    pub(super) fn end_input(&mut self, now: Instant) {
        match &mut self.speaker {
            Some(Speaker::Http(machine)) => machine.handle_eof(now),
            Some(Speaker::Echo(echoes)) => echoes.line.end(now),
            None => {}
        }
    }

    /// Whether the connection has nothing under way and takes nothing more.
    pub(super) fn is_over(&self) -> bool {
        match &self.speaker {
            Some(Speaker::Http(machine)) => match machine.state() {
                ConnectionState::Open => false,
                ConnectionState::Draining => self.tickets.is_empty(),
                ConnectionState::Closed => true,
            },
            Some(Speaker::Echo(echoes)) => echoes.over.is_some() && self.tickets.is_empty(),
            None => false,
        }
    }

    /// Appends what is to be sent.
    pub(super) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize) {
        let speaker = &mut self.speaker;
        if let Some(Speaker::Echo(echoes)) = speaker {
            echoes.line.prepare(now);
        }
        self.layer.poll_transmit(out, room, |plain, room| match speaker {
            Some(Speaker::Http(machine)) => machine.poll_transmit(now, plain, room),
            Some(Speaker::Echo(echoes)) => echoes.line.poll_transmit(now, plain, room),
            None => {}
        });
    }

    /// Whether there is something to send, and a socket to send it to.
    pub(super) fn wants_transmit(&self) -> bool {
        if matches!(self.stage, Stage::Shut | Stage::Connecting) {
            return false;
        }
        self.layer.wants_transmit()
            || match &self.speaker {
                Some(Speaker::Http(machine)) => machine.wants_transmit(),
                Some(Speaker::Echo(echoes)) => echoes.line.wants_transmit(),
                None => false,
            }
    }

    /// Ends in good order, as far as that can be done by what is sent.
    pub(super) fn say_goodbye(&mut self, now: Instant) {
        match &mut self.speaker {
            Some(Speaker::Http(machine)) => machine.shutdown(now),
            Some(Speaker::Echo(echoes)) => echoes.line.close(),
            None => {}
        }
        self.layer.close_notify();
    }

    /// Looks at the clock: ends what was due before `overdue`, and the machine's own time-outs. An error where the
    /// connection cannot go on.
    pub(super) fn look(
        &mut self,
        now: Instant,
        overdue: Instant,
        tell: &mut impl FnMut(Told),
    ) -> Result<(), Loss> {
        match &mut self.speaker {
            Some(Speaker::Http(machine))
                if machine.poll_timeout().is_some_and(|due| due <= now) =>
            {
                machine.handle_timeout(now);
            }
            Some(Speaker::Echo(echoes)) => echoes.line.handle_timeout(now),
            Some(Speaker::Http(_)) | None => {}
        }
        if !self.tickets.iter().any(|(_, ticket)| ticket.due <= overdue) {
            return Ok(());
        }
        let late = self.tickets.iter().filter(|(_, ticket)| ticket.due <= overdue);
        let mut late: Vec<StreamId> = late.map(|(stream, _)| *stream).collect();
        late.sort_unstable();
        for stream in late {
            if let Some(ticket) = self.tickets.remove(stream) {
                tell(Told::Failed(ticket, Fault::TimedOut));
            }
            if let Some(Speaker::Http(machine)) = &mut self.speaker {
                machine.reset(now, stream);
            }
        }
        // What is still to come cannot be told from the answer that is given up, where answers have no names.
        match &self.speaker {
            Some(Speaker::Http(machine)) if machine.state() == ConnectionState::Open => Ok(()),
            _ => Err(Fault::Closed.into()),
        }
    }
}
