//! Answers the messages of a WebSocket. The one rule: while answers wait to be sent, nothing more is read.

use crate::config::WebSocketSettings;
use crate::token_stream::TokenStream;
use bytes::Bytes;
use endpoint::SendBuf;
use page::{Message, Sender};
use proto::ws::{
    CloseCode, Connection, DeflateOffer, Event, MessageKind, Refusal, Role, ServerHandshake,
    Settings, Wish, Writes,
};
use proto::{Fin, RequestHead, ResponseHead};
use std::sync::Arc;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

/// Bytes of answers that wait before messages are read no more.
const HIGH_WATER: usize = 64 * 1024;

/// Bytes queued on a stream before its WebSocket waits.
const QUEUE: usize = 64 * 1024;

/// Bytes made of messages at once.
const PIECE: usize = 64 * 1024;

/// Streams at a time.
const MOST_STREAMS: usize = 1_000;

/// What a WebSocket is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Service {
    /// Every message goes back as it came.
    Echo,
    /// A text that is a decimal number (`-?[0-9]+(\.[0-9]+)?`) is answered with its double, exactly
    /// and whatever its length. Other texts end the connection with 1007, binary messages with 1003.
    Double,
    /// A text that names a stream (`count=300&bytes=200&every_ms=20`) is answered with its tokens, each when it is due.
    /// Other texts end the connection with 1007, binary messages with 1003.
    Stream,
    /// What a recording's server sent, in the recorded order: a message is sent once all before it have been sent or have
    /// come. Of those that come the number counts alone.
    Recorded(Arc<[Message]>),
}

/// How far a recorded conversation is.
#[derive(Debug)]
struct Script {
    messages: Arc<[Message]>,
    next: usize,
    /// When the message before the next one was sent or came.
    since: Instant,
}

/// An open WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket {
    service: Service,
    /// Empty where nothing is recorded.
    script: Script,
    /// Streams that have tokens left.
    streams: Vec<TokenStream>,
    connection: Connection,
    writes: Writes,
    out: SendBuf,
    /// Bytes that came while answers waited.
    held: Vec<u8>,
    /// Bytes taken that the stream got no credit for.
    uncredited: usize,
    /// Whether the peer has credit for more than what waits. Without it no tokens are made: they would only be held.
    has_credit: bool,
}

/// What a WebSocket of this origin is opened with.
pub(crate) struct Setup<'a> {
    pub(crate) settings: &'a WebSocketSettings,
    /// The compression to accept, where there is memory for it.
    pub(crate) deflate: Option<DeflateOffer>,
    /// The silence after which the peer is pinged.
    pub(crate) ping_after: Duration,
    pub(crate) tracer: Tracer,
}

impl WebSocket {
    /// Reads the request; gives the head of the answer and what follows it.
    pub(crate) fn open(
        now: Instant,
        request: &RequestHead,
        service: Service,
        setup: Setup<'_>,
    ) -> Result<(ResponseHead, Self), Refusal> {
        let Setup { settings: ours, deflate, ping_after, tracer } = setup;
        let handshake = ServerHandshake::read(request)?;
        let wish = Wish { deflate, ..Wish::default() };
        let (head, agreed) = handshake.accept(&wish);
        let writes = ours.writes;
        let settings = Settings {
            ping_after: Some(ping_after),
            writes,
            compression_level: ours.compression_level,
            ..Settings::default()
        };
        let connection = Connection::new(now, Role::Server, settings, &agreed, tracer);
        let out = SendBuf::new();
        let messages = match &service {
            Service::Recorded(messages) => messages.clone(),
            Service::Echo | Service::Double | Service::Stream => Arc::default(),
        };
        let web_socket = Self {
            script: Script { messages, next: 0, since: now },
            service,
            streams: Vec::new(),
            connection,
            writes,
            out,
            held: Vec::new(),
            uncredited: 0,
            has_credit: true,
        };
        Ok((head, web_socket))
    }

    /// What compressed messages may take from now on.
    #[inline]
    pub(crate) fn limit_memory(&mut self, bytes: usize) {
        self.connection.limit_memory(bytes);
    }

    /// Whether it has tokens left to send, which wait for credit.
    #[inline]
    pub(crate) fn has_tokens(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether the peer has credit for more than what waits on the stream.
    pub(crate) fn set_credit(&mut self, has_credit: bool) {
        self.has_credit = has_credit;
    }

    /// How many bytes may be queued on the stream before the next piece waits.
    pub(crate) fn queue(&self) -> usize {
        match self.writes {
            Writes::One => QUEUE,
            // A piece that met another there would leave with it.
            Writes::Two => 1,
        }
    }

    /// Takes bytes of the stream; `Fin::Last` for its end.
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8], fin: Fin) {
        self.uncredited += bytes.len();
        if fin == Fin::Last {
            self.connection.handle_eof(now);
        }
        if self.held.is_empty() {
            let rest = self.answer(now, bytes);
            self.held.extend_from_slice(rest);
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Goes on with what was held; whether that may have made more to send.
    pub(crate) fn resume(&mut self, now: Instant) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let held = std::mem::take(&mut self.held);
        let rest = self.answer(now, &held).to_vec();
        self.held = rest;
        true
    }

    /// The next bytes of the stream, and whether they are its last.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(Bytes, Fin)> {
        if self.out.is_empty() {
            self.send_tokens(now);
            self.send_recorded(now);
            self.connection.poll_transmit(now, &mut self.out, PIECE);
        }
        match self.out.take_piece() {
            Some(piece) => Some((piece, Fin::More)),
            None if self.connection.wants_end() => Some((Bytes::new(), Fin::Last)),
            None => None,
        }
    }

    /// Bytes of memory of its messages, in both directions, and of its coders.
    pub(crate) fn bytes_held(&self) -> usize {
        self.connection.held() + self.connection.unsent() + self.out.len() + self.held.capacity()
    }

    /// Bytes that the stream is to get credit for, once all answers to them were taken.
    pub(crate) fn take_credit(&mut self) -> usize {
        std::mem::take(&mut self.uncredited)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let has_capacity = self.connection.unsent() < HIGH_WATER;
        let makes_tokens = has_capacity && self.has_credit;
        let due = self.streams.iter().filter_map(TokenStream::due).min().filter(|_| makes_tokens);
        let recorded = self.script.due().filter(|_| has_capacity);
        [self.connection.poll_timeout(), due, recorded].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.answer(now, &[]);
        self.send_tokens(now);
        self.send_recorded(now);
    }

    /// The origin goes away.
    pub(crate) fn shutdown(&mut self) {
        // Refused where the end has begun already.
        let _too_late = self.connection.close(CloseCode::GOING_AWAY, "");
    }

    /// Sends the tokens that are due, the earliest first, until too many bytes wait.
    fn send_tokens(&mut self, now: Instant) {
        while self.has_credit && self.connection.unsent() < HIGH_WATER {
            let earliest = self.streams.iter_mut().min_by_key(|stream| stream.due());
            let Some(token) = earliest.and_then(|stream| stream.next(now, usize::MAX)) else {
                return;
            };
            // Refused after Close: the peer gets no tokens any more.
            let _too_late = self.connection.send(MessageKind::Text, token.into());
            self.streams.retain(|stream| stream.due().is_some());
        }
    }

    /// Sends the recorded messages that are due, until too many bytes wait.
    fn send_recorded(&mut self, now: Instant) {
        while self.connection.unsent() < HIGH_WATER
            && self.script.due().is_some_and(|due| due <= now)
        {
            send_message(&mut self.connection, &self.script.messages[self.script.next]);
            self.script.next += 1;
            self.script.since = now;
        }
    }

    /// A message came: the script goes on behind the client's next one. What the server sent before that is sent.
    fn heard_recorded(&mut self, now: Instant) {
        let Script { messages, next, since } = &mut self.script;
        *since = now;
        let mut rest = messages[*next..].iter();
        if let Some(ahead) = rest.position(|message| message.from == Sender::Client) {
            let passed = &messages[*next..*next + ahead];
            passed.iter().for_each(|message| send_message(&mut self.connection, message));
            *next += ahead + 1;
        }
    }

    /// Begins the stream that a message names.
    fn begin_stream(&mut self, now: Instant, text: &[u8]) -> Result<(), &'static str> {
        if self.streams.len() >= MOST_STREAMS {
            return Err("too many streams");
        }
        let query = std::str::from_utf8(text).ok().and_then(|query| query.parse().ok());
        let stream = query.ok_or("a stream such as count=300&bytes=200&every_ms=20 is expected")?;
        self.streams.push(TokenStream::messages(now, stream));
        Ok(())
    }

    /// Answers messages until too many answers wait; gives the bytes that are left.
    fn answer<'o>(&mut self, now: Instant, bytes: &'o [u8]) -> &'o [u8] {
        let mut input = bytes;
        while self.connection.unsent() < HIGH_WATER {
            let Some(event) = self.connection.handle_bytes(now, &mut input) else { break };
            let Event::Message { kind, data } = event else { continue };
            // Refused after Close: the peer gets no answers any more.
            let _too_late = match (&self.service, kind) {
                (Service::Recorded(_), _) => {
                    self.heard_recorded(now);
                    Ok(())
                }
                (Service::Echo, kind) => self.connection.send(kind, data),
                (Service::Double, MessageKind::Text) => match double(&data) {
                    Some(doubled) => self.connection.send(kind, doubled.into()),
                    None => self
                        .connection
                        .close(CloseCode::INVALID_PAYLOAD, "a decimal number is expected"),
                },
                (Service::Stream, MessageKind::Text) => match self.begin_stream(now, &data) {
                    Ok(()) => Ok(()),
                    Err(reason) => self.connection.close(CloseCode::INVALID_PAYLOAD, reason),
                },
                (Service::Double | Service::Stream, MessageKind::Binary) => {
                    self.connection.close(CloseCode::UNSUPPORTED_DATA, "a text is expected")
                }
            };
        }
        input
    }
}

impl Script {
    /// When the next message is to be sent; None where one of the client's is awaited, and at the end.
    fn due(&self) -> Option<Instant> {
        let next = self.messages.get(self.next)?;
        (next.from == Sender::Server).then(|| self.since + next.after)
    }
}

fn send_message(connection: &mut Connection, message: &Message) {
    let kind = match message.kind {
        page::MessageKind::Text => MessageKind::Text,
        page::MessageKind::Binary => MessageKind::Binary,
    };
    // Refused after Close: the peer gets no messages any more.
    let _too_late = connection.send(kind, Bytes::copy_from_slice(&message.data));
}

/// Twice a decimal number, digit by digit; None where it is none.
pub(crate) fn double(text: &[u8]) -> Option<Vec<u8>> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (&text[..1], digits),
        digits => (&text[..0], digits),
    };
    let mut parts = digits.split(|byte| *byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let whole = parts.next().is_some_and(is_number);
    let fraction = parts.next().is_none_or(is_number);
    if !whole || !fraction || parts.next().is_some() {
        return None;
    }
    let mut doubled = digits.to_vec();
    let mut carry = 0;
    for digit in doubled.iter_mut().rev().filter(|digit| **digit != b'.') {
        let value = (*digit - b'0') * 2 + carry;
        *digit = b'0' + value % 10;
        carry = value / 10;
    }
    let carry: &[u8] = if carry == 1 { b"1" } else { b"" };
    Some([sign, carry, &doubled].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_number_is_doubled_exactly() {
        for (number, doubled) in [
            ("0", "0"),
            ("21", "42"),
            ("-7", "-14"),
            ("500", "1000"),
            ("0.5", "1.0"),
            ("-9.95", "-19.90"),
            (
                "99999999999999999999999999999999999999999",
                "199999999999999999999999999999999999999998",
            ),
        ] {
            assert_eq!(double(number.as_bytes()), Some(doubled.as_bytes().to_vec()), "{number}");
        }
    }

    #[test]
    fn what_is_no_decimal_number_is_not_doubled() {
        for text in
            ["", "-", "+1", "1e3", "1.", ".5", "1.2.3", "0x10", " 1", "1 ", "--1", "NaN", "١"]
        {
            assert_eq!(double(text.as_bytes()), None, "{text:?}");
        }
    }
}
