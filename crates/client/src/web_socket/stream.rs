//! A WebSocket over a connection of HTTP: the request, the response, then frames as its body. Over HTTP/1.1 it is asked
//! for by Upgrade, over HTTP/2 and HTTP/3 by extended CONNECT (RFC 8441, RFC 9220). It knows nothing of sockets, of TLS or of what the messages are for.

use bytes::Bytes;
use endpoint::SendBuf;
use proto::ws::{
    Agreed, ClientHandshake, CloseCode, CloseFrame, Connection, DeflateOffer, Event, Key,
    MessageKind, Offer, Role, Settings, Via, Writes,
};
use proto::{Error, Event as Http, Fin, Refused, RequestHead, ResponseHead, Status, StreamId};
use std::collections::VecDeque;
use trace::Tracer;
use transport::{Client, ClientMachine, Handler, Negotiated, Protocol};
use unit::{Instant, Seed};

/// Bytes that are queued on the stream before further frames wait.
const QUEUE: usize = 64 * 1024;

/// The settings of a WebSocket.
#[derive(Debug, Clone)]
pub(crate) struct WebSocketSpec {
    /// The request that opens it, without the handshake's own fields.
    pub(crate) request: RequestHead,
    /// The compression to offer; None for none.
    pub(crate) deflate: Option<DeflateOffer>,
    /// How frames are written.
    pub(crate) writes: Writes,
    /// zlib's level for messages, 0 to 9.
    pub(crate) compression_level: u32,
    /// The seed of masking keys and of the handshake's nonce.
    pub(crate) seed: Seed,
}

/// An event of a WebSocket.
#[derive(Debug)]
pub(crate) enum WebSocketEvent {
    /// It is open; the status of the response.
    Opened(Status),
    /// A message.
    Message(MessageKind, Bytes),
    /// The request cannot be sent; the reason.
    Unsendable(String),
    /// The server broke a rule, or refused the WebSocket.
    Failed(Error),
    /// The server closes the WebSocket, or confirms our Close.
    Close(Option<CloseFrame>),
    /// The WebSocket was closed normally.
    Over,
}

/// A WebSocket, from its request on.
pub(crate) struct WebSocketStream {
    request: RequestHead,
    key: Key,
    offer: Offer,
    /// None until the connection is ready.
    handshake: Option<ClientHandshake>,
    stream: Option<StreamId>,
    /// The status of a response that opened none.
    refused: Option<Status>,
    socket: Option<Connection>,
    settings: Settings,
    masks: Seed,
    tracer: Tracer,
    events: VecDeque<WebSocketEvent>,
}

/// A WebSocket as the handler of its connection's events.
pub(crate) struct StreamEvents<'s> {
    pub(crate) now: Instant,
    pub(crate) stream: &'s mut WebSocketStream,
}

impl Handler<Client> for StreamEvents<'_> {
    fn handle_ready(&mut self, machine: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        self.stream.ask(self.now, machine, negotiated.protocol);
    }

    fn handle_event(&mut self, machine: &mut ClientMachine, event: Http<'_>) {
        self.stream.handle_event(self.now, machine, event);
    }
}

impl WebSocketStream {
    pub(crate) fn new(spec: WebSocketSpec, tracer: Tracer) -> Self {
        let offer = Offer { deflate: spec.deflate.into_iter().collect(), ..Offer::default() };
        let mut nonce = spec.seed.child("nonce").random();
        let key = [nonce.next_u64().to_ne_bytes(), nonce.next_u64().to_ne_bytes()].concat();
        let key = Key(std::array::from_fn(|byte| key[byte]));
        Self {
            request: spec.request,
            key,
            offer,
            handshake: None,
            stream: None,
            refused: None,
            socket: None,
            settings: Settings {
                writes: spec.writes,
                compression_level: spec.compression_level,
                ..Settings::default()
            },
            masks: spec.seed.child("masks"),
            tracer,
            events: VecDeque::new(),
        }
    }

    /// Asks for the WebSocket, on a connection that is ready.
    pub(crate) fn ask(&mut self, now: Instant, machine: &mut ClientMachine, protocol: Protocol) {
        let via = match protocol {
            Protocol::Http2 | Protocol::Http3 => Via::Connect,
            Protocol::Http1 | Protocol::Spdy31 | Protocol::Spdy3 => Via::Upgrade,
        };
        let handshake = ClientHandshake::new(via, self.key, self.offer.clone());
        self.request = handshake.request(self.request.clone());
        self.handshake = Some(handshake);
        self.send_request(now, machine);
    }

    /// The path and the status of a response that opened no WebSocket.
    pub(crate) fn refusal(&self) -> Option<(&str, Status)> {
        Some((self.request.path.as_str(), self.refused?))
    }

    /// The stream that it is on; None until the request is sent.
    pub(crate) fn number(&self) -> Option<StreamId> {
        self.stream
    }

    /// Sends the request, where the server's settings allow it by now.
    fn send_request(&mut self, now: Instant, machine: &mut ClientMachine) {
        let fin = if self.request.protocol.is_some() { Fin::More } else { Fin::Last };
        let refused = match machine.request(now, &self.request, fin) {
            Ok(stream) => return self.stream = Some(stream),
            // Over QUIC no stream is there when the connection has just become ready.
            Err(Refused::TooEarly | Refused::Full) => return,
            Err(Refused::NotAllowed) => {
                let name = "SETTINGS_ENABLE_CONNECT_PROTOCOL";
                format!(
                    "the server takes no WebSockets over this protocol (it did not send {name})"
                )
            }
            Err(refused) => refused.to_string(),
        };
        self.handshake = None;
        self.events.push_back(WebSocketEvent::Unsendable(refused));
    }

    /// Takes an event of the connection.
    pub(crate) fn handle_event(
        &mut self,
        now: Instant,
        machine: &mut ClientMachine,
        event: Http<'_>,
    ) {
        match event {
            Http::Response { head, fin, .. } => match self.confirm(&head) {
                Ok(agreed) => {
                    let role = Role::Client { masks: self.masks };
                    let (settings, tracer) = (self.settings.clone(), self.tracer.clone());
                    let mut socket = Connection::new(now, role, settings, &agreed, tracer);
                    // RFC 8441 §5: the end of the stream is that of the bytes.
                    if fin == Fin::Last {
                        socket.handle_eof(now);
                    }
                    self.socket = Some(socket);
                    self.events.push_back(WebSocketEvent::Opened(head.status));
                }
                Err(error) => {
                    self.refused = Some(head.status);
                    self.events.push_back(WebSocketEvent::Failed(error));
                }
            },
            Http::Data { data, fin, stream } => {
                let taken = data.len();
                if let Some(socket) = &mut self.socket {
                    if fin == Fin::Last {
                        socket.handle_eof(now);
                    }
                    take(now, socket, &mut self.events, data);
                }
                machine.consume(stream, taken);
            }
            Http::Reset { error, .. } | Http::Closed { error: Some(error) } => {
                self.events.push_back(WebSocketEvent::Failed(error));
            }
            // Over QUIC nothing else tells that the connection has ended in good order.
            Http::Closed { error: None } => match &mut self.socket {
                Some(socket) => socket.handle_eof(now),
                None if self.refused.is_none() => {
                    let error = Error::Truncated { within: "a WebSocket's handshake" };
                    self.events.push_back(WebSocketEvent::Failed(error));
                }
                None => {}
            },
            // They end the stream (RFC 9113 §8.1).
            Http::Trailers { .. } => {
                if let Some(socket) = &mut self.socket {
                    socket.handle_eof(now);
                }
            }
            Http::Informational { .. }
            | Http::Promise { .. }
            | Http::Writable { .. }
            | Http::Draining { .. }
            | Http::Request { .. } => {}
        }
    }

    fn confirm(&self, head: &ResponseHead) -> Result<Agreed, Error> {
        let Some(handshake) = &self.handshake else {
            return Err(Error::Truncated { within: "a WebSocket's handshake" });
        };
        handshake.confirm(head)
    }

    /// The next event.
    pub(crate) fn poll_event(&mut self, now: Instant) -> Option<WebSocketEvent> {
        if let Some(socket) = &mut self.socket {
            take(now, socket, &mut self.events, &[]);
        }
        self.events.pop_front()
    }

    /// Whether another message may wait.
    pub(crate) fn takes_messages(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.unsent() < QUEUE)
    }

    /// Queues a message.
    pub(crate) fn send(&mut self, kind: MessageKind, data: Bytes) {
        if let Some(socket) = &mut self.socket {
            // Refused after the server's Close: then its end comes as an event.
            let _too_late = socket.send(kind, data);
        }
    }

    /// Ends the WebSocket in good order.
    pub(crate) fn close(&mut self) {
        if let Some(socket) = &mut self.socket {
            // Refused where the server has closed already.
            let _too_late = socket.close(CloseCode::NORMAL, "");
        }
    }

    /// Hands the request, where it is still to be sent, and frames over to the connection. Where header and payload leave apart, the next part waits until the one
    /// before is out.
    pub(crate) fn write_frames(&mut self, now: Instant, machine: &mut ClientMachine) {
        if self.stream.is_none() && self.handshake.is_some() {
            self.send_request(now, machine);
        }
        let (Some(stream), Some(socket)) = (self.stream, &mut self.socket) else { return };
        if !socket.wants_transmit() {
            return;
        }
        let queue = match self.settings.writes {
            Writes::One => QUEUE,
            Writes::Two => 1,
        };
        let unsent = machine.unsent(stream);
        if unsent >= queue {
            return;
        }
        let mut frames = SendBuf::new();
        socket.poll_transmit(now, &mut frames, queue - unsent);
        while let Some(piece) = frames.take_piece() {
            // Refused where the connection is over, which comes as an event.
            let _over = machine.send(stream, piece, Fin::More);
        }
    }

    /// The time that `poll_timeout` gave may have come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(socket) = &mut self.socket {
            socket.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.socket.as_ref().and_then(Connection::poll_timeout)
    }
}

/// Gives `bytes` to the WebSocket and keeps its events.
fn take(
    now: Instant,
    socket: &mut Connection,
    events: &mut VecDeque<WebSocketEvent>,
    bytes: &[u8],
) {
    let mut input = bytes;
    while let Some(event) = socket.handle_bytes(now, &mut input) {
        match event {
            Event::Message { kind, data } => {
                events.push_back(WebSocketEvent::Message(kind, data));
            }
            Event::Closed { error: Some(error) } => {
                events.push_back(WebSocketEvent::Failed(error));
            }
            Event::Closed { error: None } => events.push_back(WebSocketEvent::Over),
            Event::Close { frame } => events.push_back(WebSocketEvent::Close(frame)),
            Event::Ping { .. } | Event::Pong { .. } => {}
        }
    }
}

impl std::fmt::Debug for WebSocketStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSocketStream").field("socket", &self.socket).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::schedule::RoundRobin;
    use proto::{Fields, Scheme, h2};

    const NOW: Instant = Instant::from_nanos(1_000_000_000);
    const STREAM: StreamId = StreamId(1);

    /// A WebSocket over HTTP/2 that was asked for, and what it tells of `event` after its response.
    fn told_of(fin: Fin, event: Option<Http<'_>>) -> Vec<String> {
        let spec = WebSocketSpec {
            request: RequestHead::get(Scheme::Https, "a.test".to_owned(), "/ws".to_owned()),
            deflate: None,
            writes: Writes::One,
            compression_level: 1,
            seed: Seed(1),
        };
        let (settings, order) = (h2::Settings::client(), Box::new(RoundRobin::default()));
        let mut machine = h2::Client::new(NOW, settings, order, Tracer::off());
        let mut stream = WebSocketStream::new(spec, Tracer::off());
        stream.ask(NOW, &mut machine, Protocol::Http2);
        let head = ResponseHead { status: Status::OK, fields: Fields::new() };
        stream.handle_event(NOW, &mut machine, Http::Response { stream: STREAM, head, fin });
        if let Some(event) = event {
            stream.handle_event(NOW, &mut machine, event);
        }
        let events = std::iter::from_fn(|| stream.poll_event(NOW));
        events.map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn the_end_of_the_stream_or_of_the_connection_is_the_end_of_the_websocket() {
        let open = told_of(Fin::More, None);
        assert_eq!(open.len(), 1, "{open:?}");
        // RFC 8441 §5: a response that ends the stream; and CONNECTION_CLOSE in good order, of which QUIC tells no end of the stream.
        let closed = Some(Http::Closed { error: None });
        let trailers = Some(Http::Trailers { stream: STREAM, fields: Fields::new() });
        let ended = [(Fin::Last, None), (Fin::More, closed), (Fin::More, trailers)];
        for told in ended.map(|(fin, event)| told_of(fin, event)) {
            assert_eq!(told[0], open[0]);
            assert!(told.len() == 2 && told[1].starts_with("Failed(Truncated"), "{told:?}");
        }
    }
}
