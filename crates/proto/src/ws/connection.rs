//! One end of a WebSocket after its handshake. The one rule: it sees an ordered stream of bytes and
//! nothing of what carries it.

use super::MessageKind;
use super::assembly::{Assembly, Broken};
use super::coders::Coders;
use super::handshake::Agreed;
use super::outgoing::Outgoing;
use super::reader::{HeaderReader, take};
use super::settings::{Role, Settings};
use crate::{ConnectionState, Error, Misuse, Scope};
use bytes::Bytes;
use endpoint::SendBuf;
use std::collections::VecDeque;
use trace::Tracer;
use unit::Instant;
use wire::ws::{CloseCode, CloseFrame, FrameHeader, MAX_CONTROL, OpCode, mask};

/// What a WebSocket has to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A message arrived whole.
    Message {
        /// A text is UTF-8: it has been checked.
        kind: MessageKind,
        /// Its bytes, unmasked and decompressed.
        data: Bytes,
    },
    /// The peer asks whether this side is there. It is answered already.
    Ping {
        /// 125 bytes at most.
        payload: Bytes,
    },
    /// The peer answers a Ping, or says without being asked that it is there.
    Pong {
        /// What the Ping said.
        payload: Bytes,
    },
    /// The peer ends the connection, or agrees to its end. No message follows in either direction.
    Close {
        /// Why; None where it does not say (1005).
        frame: Option<CloseFrame>,
    },
    /// The connection is over. What is owed is still to be sent; see [`Connection::wants_end`].
    Closed {
        /// None for an orderly end.
        error: Option<Error>,
    },
}

/// One end of a WebSocket.
///
/// The driver's loop is that of [`crate::Connection`]; commands and time-outs may leave events behind.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    settings: Settings,
    tracer: Tracer,
    coders: Coders,
    receiving: Receiving,
    /// The message that is arriving.
    assembly: Option<Assembly>,
    /// Bytes that a compressed message may take, in either direction.
    memory: usize,
    out: Outgoing,
    /// Whether the peer has ended its side.
    input_ended: bool,
    silence: Silence,
    phase: Phase,
    events: VecDeque<Event>,
}

/// What the next bytes are.
#[derive(Debug)]
enum Receiving {
    /// Of a header.
    Header(HeaderReader),
    /// Of a frame's payload, of which so many bytes were read.
    Data(FrameHeader, u64),
    /// Of a control frame's payload, kept until it is whole.
    Control(FrameHeader, Vec<u8>),
}

/// How long the peer has been silent.
#[derive(Debug, Clone, Copy)]
struct Silence {
    since: Instant,
    /// Whether it was asked for a sign.
    asked: bool,
}

/// Where the connection stands in its life (RFC 6455 §7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Our Close is queued, or sent at the time that the deadline follows from; the peer's is not here.
    Closing(Option<Instant>),
    /// Both are here. A client waits until then for the server to end the stream (RFC 6455 §7.1.1).
    Ending(Instant),
    Closed,
}

impl Connection {
    /// A connection whose handshake is done.
    pub fn new(
        now: Instant,
        role: Role,
        settings: Settings,
        agreed: &Agreed,
        tracer: Tracer,
    ) -> Self {
        tracer.emit(now, || trace::Event::ConnectionReady { protocol: "websocket" });
        let masks = match role {
            Role::Client { masks } => Some(masks.random()),
            Role::Server => None,
        };
        Self {
            role,
            out: Outgoing::new(
                masks,
                settings.fragment,
                settings.max_pongs,
                settings.writes,
                tracer.clone(),
            ),
            coders: Coders::new(role, agreed.deflate, settings.compression_level),
            settings,
            tracer,
            receiving: Receiving::Header(HeaderReader::default()),
            assembly: None,
            memory: usize::MAX,
            input_ended: false,
            silence: Silence { since: now, asked: false },
            phase: Phase::Open,
            events: VecDeque::new(),
        }
    }

    /// Takes received bytes off the front of `input`; gives at most one event. Call until None.
    pub fn handle_bytes(&mut self, now: Instant, input: &mut &[u8]) -> Option<Event> {
        if !input.is_empty() {
            self.silence = Silence { since: now, asked: false };
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let step = match self.phase {
                // RFC 6455 §5.5.1: nothing that follows a Close frame is looked at.
                Phase::Ending(_) | Phase::Closed => {
                    *input = &[];
                    Ok(None)
                }
                Phase::Open | Phase::Closing(_) => self.read(now, input),
            };
            match step {
                Ok(Some(event)) => return Some(event),
                Ok(None) if self.input_ended && self.phase != Phase::Closed => {
                    self.end_input(now);
                }
                Ok(None) => return None,
                Err((code, rule)) => self.fail(now, code, rule),
            }
        }
    }

    /// The peer will send nothing more. Follow with `handle_bytes` on an empty input for its events.
    pub fn handle_eof(&mut self, _now: Instant) {
        self.input_ended = true;
    }

    /// The time that `poll_timeout` gave has come. Follow with `handle_bytes` on an empty input.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|deadline| deadline > now) {
            return;
        }
        match self.phase {
            Phase::Closing(_) => {
                self.end(now, Some(Error::TimedOut { waiting_for: "the peer's Close frame" }));
            }
            // The handshake was whole: that the server is slow to end the stream is no fault of it.
            Phase::Ending(_) => self.end(now, None),
            Phase::Open if self.silence.asked => {
                self.end(now, Some(Error::TimedOut { waiting_for: "a sign of the peer" }));
            }
            Phase::Open => {
                self.silence.asked = true;
                self.out.ping(Bytes::new());
            }
            Phase::Closed => {}
        }
    }

    /// When to call `handle_timeout`; None for never.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Closing(deadline) => deadline,
            Phase::Ending(deadline) => Some(deadline),
            Phase::Open => self
                .settings
                .ping_after
                .map(|span| self.silence.since + if self.silence.asked { span * 2 } else { span }),
            Phase::Closed => None,
        }
    }

    /// Appends bytes to send to `out`, about `limit` at most (a frame is never cut for it).
    pub fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        self.out.transmit(now, out, limit);
        if self.phase == Phase::Closing(None) && self.out.has_closed() {
            self.phase = Phase::Closing(Some(now + self.settings.close_timeout));
        }
    }

    /// Whether `poll_transmit` would give something now.
    pub fn wants_transmit(&self) -> bool {
        !self.out.is_empty()
    }

    /// Whether this side of the stream ends here: everything is said, and what was sent last is out
    /// as soon as the layer below has sent it.
    pub fn wants_end(&self) -> bool {
        self.phase == Phase::Closed && self.out.is_empty()
    }

    /// Where the connection stands.
    pub fn state(&self) -> ConnectionState {
        match self.phase {
            Phase::Open => ConnectionState::Open,
            Phase::Closing(_) | Phase::Ending(_) => ConnectionState::Draining,
            Phase::Closed => ConnectionState::Closed,
        }
    }

    /// Bytes of messages that wait for `poll_transmit`. The caller bounds them: it sends no more, and
    /// reads no more where it answers what it reads.
    pub fn unsent(&self) -> usize {
        self.out.len()
    }

    /// Sends a message, compressed where that was agreed on. A text must be UTF-8; it is not checked.
    pub fn send(&mut self, kind: MessageKind, data: Bytes) -> Result<(), Misuse> {
        self.may_send()?;
        let worth = data.len() >= self.settings.compress_from;
        let limit = self.memory.saturating_sub(data.len()).max(MIN_COMPRESSED);
        let compressed = if worth { self.coders.deflate(&data, limit) } else { None };
        match compressed {
            Some(compressed) => self.out.message(op_code(kind), true, compressed.into()),
            None => self.out.message(op_code(kind), false, data),
        }
        Ok(())
    }

    /// Sends a message as it is, whatever was agreed on (RFC 7692 §6 leaves that to each message).
    #[cfg(test)]
    pub(crate) fn send_plain(&mut self, kind: MessageKind, data: Bytes) -> Result<(), Misuse> {
        self.may_send()?;
        self.out.message(op_code(kind), false, data);
        Ok(())
    }

    /// Asks whether the peer is there: 125 bytes at most.
    pub fn ping(&mut self, payload: Bytes) -> Result<(), Misuse> {
        self.may_send()?;
        if payload.len() > MAX_CONTROL {
            return Err(Misuse::Unsendable("a Ping has 125 bytes at most (RFC 6455 §5.5)"));
        }
        if self.out.pings() >= self.settings.max_pongs {
            return Err(Misuse::OutOfOrder("more Pings than the limit wait to be sent"));
        }
        self.out.ping(payload);
        Ok(())
    }

    /// Ends the connection, after the messages that are queued. A reason is cut at 123 bytes.
    pub fn close(&mut self, code: CloseCode, reason: &str) -> Result<(), Misuse> {
        self.may_send()?;
        self.out.close(CloseFrame { code, reason: reason.to_owned() }.payload().into());
        self.phase = Phase::Closing(None);
        Ok(())
    }

    /// Bytes of memory of the message that is arriving, inflated, and of the coders. Those of messages that wait to be
    /// sent are [`unsent`](Self::unsent).
    pub fn held(&self) -> usize {
        let control = match &self.receiving {
            Receiving::Control(_, payload) => payload.capacity(),
            Receiving::Header(_) | Receiving::Data(..) => 0,
        };
        control + self.assembly.as_ref().map_or(0, Assembly::capacity) + self.coders.held()
    }

    /// Limits the memory of compressed messages until it is called again: one that inflates to more ends the connection
    /// with 1009, as at [`Settings::max_message`], and one whose compressed form is longer is sent as it is. Messages
    /// without compression are not judged by it: their sender pays for each byte. Default: no limit.
    #[inline]
    pub fn limit_memory(&mut self, bytes: usize) {
        self.memory = bytes;
    }

    fn may_send(&self) -> Result<(), Misuse> {
        match self.phase {
            Phase::Open => Ok(()),
            _ => Err(Misuse::OutOfOrder("nothing is sent after Close (RFC 6455 §5.5.1)")),
        }
    }

    fn read(&mut self, now: Instant, input: &mut &[u8]) -> Result<Option<Event>, Broken> {
        loop {
            match &mut self.receiving {
                Receiving::Header(reader) => {
                    let Some(header) = reader.read(input)? else { return Ok(None) };
                    self.begin_frame(now, header)?;
                }
                Receiving::Data(header, read) => {
                    let (header, offset) = (*header, *read);
                    let bytes = take(input, header.length - offset);
                    *read += bytes.len() as u64;
                    let is_whole = *read == header.length;
                    if bytes.is_empty() && !is_whole {
                        return Ok(None);
                    }
                    let event = self.read_data(&header, bytes, offset, is_whole)?;
                    if event.is_some() {
                        return Ok(event);
                    }
                }
                Receiving::Control(header, payload) => {
                    let bytes = take(input, header.length - payload.len() as u64);
                    payload.extend_from_slice(bytes);
                    if (payload.len() as u64) < header.length {
                        return Ok(None);
                    }
                    let (header, payload) = (*header, std::mem::take(payload));
                    self.receiving = Receiving::Header(HeaderReader::default());
                    return self.read_control(now, &header, payload).map(Some);
                }
            }
        }
    }

    /// Judges a header by the side that sent it and by its turn.
    fn begin_frame(&mut self, now: Instant, header: FrameHeader) -> Result<(), Broken> {
        let (frame, length) = (header.op_code.name(), header.length);
        self.tracer.emit(now, || trace::Event::FrameParsed { stream: 0, frame, length });
        match (self.role, header.mask) {
            (Role::Server, None) => {
                return Err(protocol("a client masks its frames (RFC 6455 §5.1)"));
            }
            (Role::Client { .. }, Some(_)) => {
                return Err(protocol("a server does not mask its frames (RFC 6455 §5.1)"));
            }
            _ => {}
        }
        let begins = matches!(header.op_code, OpCode::Text | OpCode::Binary);
        if header.rsv1 && !self.coders.are_agreed() {
            return Err(protocol("RSV1 is 0 without an extension (RFC 6455 §5.2)"));
        }
        if header.rsv1 && !begins {
            return Err(protocol("only the first frame of a message has RSV1 set (RFC 7692 §6.1)"));
        }
        if header.op_code.is_control() {
            self.receiving = Receiving::Control(header, Vec::new());
            return Ok(());
        }
        match (begins, self.assembly.is_some()) {
            (true, true) => {
                return Err(protocol("a message ends before the next one begins (RFC 6455 §5.4)"));
            }
            (false, false) => {
                return Err(protocol("there is a message to continue (RFC 6455 §5.4)"));
            }
            _ => {}
        }
        if header.rsv1 {
            self.coders.expect();
        }
        let assembly = self.assembly.get_or_insert_with(|| Assembly::new(&header));
        assembly.begin_frame(&header, &self.settings)?;
        self.receiving = Receiving::Data(header, 0);
        Ok(())
    }

    fn read_data(
        &mut self,
        header: &FrameHeader,
        bytes: &[u8],
        offset: u64,
        is_whole: bool,
    ) -> Result<Option<Event>, Broken> {
        let Some(assembly) = &mut self.assembly else { return Ok(None) };
        let limit = self.settings.max_message.min(self.memory);
        // The key repeats every four bytes, so only the offset's last two bits matter.
        let unmask = header.mask.map(|key| (key, (offset % 4) as usize));
        assembly.take(bytes, unmask, &mut self.coders.inflater, limit)?;
        if !is_whole {
            return Ok(None);
        }
        self.receiving = Receiving::Header(HeaderReader::default());
        let Some(assembly) = self.assembly.take_if(|_| header.fin) else { return Ok(None) };
        let (kind, data) = assembly.end(&mut self.coders.inflater, limit)?;
        Ok(Some(Event::Message { kind, data: data.into() }))
    }

    fn read_control(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        mut payload: Vec<u8>,
    ) -> Result<Event, Broken> {
        if let Some(key) = header.mask {
            mask(&mut payload, key, 0);
        }
        match header.op_code {
            OpCode::Ping => {
                let payload = Bytes::from(payload);
                // RFC 6455 §5.5.2: unless a Close frame was received; §5.5.1: nor after ours.
                if !self.out.is_closing() {
                    self.out.pong(payload.clone());
                }
                Ok(Event::Ping { payload })
            }
            OpCode::Close => {
                let frame =
                    CloseFrame::parse(&payload).map_err(|error| (error.code, error.rule))?;
                // RFC 6455 §5.5.1: the answer says the code that it got.
                let code = frame.as_ref().map(|frame| frame.code.code().to_be_bytes().to_vec());
                self.out.close(code.unwrap_or_default().into());
                match self.role {
                    Role::Server => self.end(now, None),
                    Role::Client { .. } => {
                        self.phase = Phase::Ending(now + self.settings.close_timeout);
                    }
                }
                Ok(Event::Close { frame })
            }
            _ => Ok(Event::Pong { payload: payload.into() }),
        }
    }

    /// RFC 6455 §7.1.7: fails the connection, and sends the reason in a close frame.
    fn fail(&mut self, now: Instant, code: CloseCode, rule: &'static str) {
        self.out.close(CloseFrame { code, reason: String::new() }.payload().into());
        let code = u64::from(code.code());
        self.end(now, Some(Error::PeerViolation { scope: Scope::Connection, code, rule }));
    }

    /// The peer has ended its side.
    fn end_input(&mut self, now: Instant) {
        match self.phase {
            Phase::Open => self.end(now, Some(Error::Truncated { within: "an open WebSocket" })),
            Phase::Closing(_) => {
                self.end(now, Some(Error::Truncated { within: "the closing handshake" }));
            }
            Phase::Ending(_) => self.end(now, None),
            Phase::Closed => {}
        }
    }

    fn end(&mut self, now: Instant, error: Option<Error>) {
        let reason = error.as_ref().map(Error::to_string).unwrap_or_default();
        self.tracer.emit(now, || trace::Event::ConnectionClosed { reason: &reason });
        self.phase = Phase::Closed;
        self.assembly = None;
        self.coders.release();
        self.events.push_back(Event::Closed { error });
    }
}

/// Bytes that a compressed message may have however little memory there is.
const MIN_COMPRESSED: usize = 64 * 1024;

fn op_code(kind: MessageKind) -> OpCode {
    match kind {
        MessageKind::Text => OpCode::Text,
        MessageKind::Binary => OpCode::Binary,
    }
}

fn protocol(rule: &'static str) -> Broken {
    (CloseCode::PROTOCOL_ERROR, rule)
}
