//! What lies between messages and a stream of bytes: HTTP/1.1 up to the answer 101, then frames as its body. Nothing
//! here knows of sockets, of TLS or of what the messages are for.

use super::WebSocketConfig;
use crate::config::ClientConfig;
use crate::profile;
use crate::transport::Protocol;
use bytes::Bytes;
use endpoint::SendBuf;
use page::Url;
use proto::ws::{
    ClientHandshake, CloseCode, CloseFrame, Connection, Event, Key, MessageKind, Offer, Role,
    Settings, Via, Writes,
};
use proto::{ClientConnection, Error, Event as Http, Fields, Fin, RequestHead, StreamId};
use std::collections::VecDeque;
use trace::Tracer;
use unit::{Instant, Seed};

/// Bytes queued on the stream before frames wait.
const QUEUE: usize = 64 * 1024;

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The WebSocket is open.
    Opened,
    /// A message.
    Message(MessageKind, Bytes),
    /// The server broke a rule, or opens no WebSocket.
    Failed(Error),
    /// The server ends the WebSocket, or agrees to its end.
    Close(Option<CloseFrame>),
    /// The WebSocket has ended in good order.
    Over,
}

pub(crate) struct Line {
    http: Box<dyn ClientConnection>,
    request: RequestHead,
    handshake: ClientHandshake,
    stream: Option<StreamId>,
    socket: Option<Connection>,
    settings: Settings,
    masks: Seed,
    tracer: Tracer,
    heard: VecDeque<Heard>,
}

impl Line {
    pub(crate) fn new(
        now: Instant,
        (config, own): (&ClientConfig, &WebSocketConfig),
        (url, fields): (&Url, Fields),
    ) -> Self {
        let tracer = config.tracer.for_connection(0);
        let offer = Offer { deflate: own.deflate.into_iter().collect(), ..Offer::default() };
        let mut nonce = own.seed.child("nonce").random();
        let key = [nonce.next_u64().to_ne_bytes(), nonce.next_u64().to_ne_bytes()].concat();
        let key = Key(std::array::from_fn(|byte| key[byte]));
        Self {
            http: Protocol::Http1.machine(now, config, tracer.clone()),
            request: RequestHead {
                fields,
                ..RequestHead::get(profile::scheme(url.scheme), url.authority(), url.path.clone())
            },
            handshake: ClientHandshake::new(Via::Upgrade, key, offer),
            stream: None,
            socket: None,
            settings: Settings {
                writes: own.writes,
                compression_level: own.compression_level,
                ..Settings::default()
            },
            masks: own.seed.child("masks"),
            tracer,
            heard: VecDeque::new(),
        }
    }

    /// Asks for the WebSocket; the error says why that cannot be.
    pub(crate) fn ask(&mut self, now: Instant) -> Result<(), String> {
        let request = self.handshake.request(self.request.clone());
        let stream = self.http.request(now, &request, Fin::Last);
        self.stream = Some(stream.map_err(|refused| refused.to_string())?);
        Ok(())
    }

    /// Takes bytes of the connection.
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8]) {
        let mut input = bytes;
        while let Some(event) = self.http.handle_bytes(now, &mut input) {
            match event {
                Http::Response { head, .. } => match self.handshake.confirm(&head) {
                    Ok(agreed) => {
                        let role = Role::Client { masks: self.masks };
                        let (settings, tracer) = (self.settings.clone(), self.tracer.clone());
                        self.socket = Some(Connection::new(now, role, settings, &agreed, tracer));
                        self.heard.push_back(Heard::Opened);
                    }
                    Err(error) => self.heard.push_back(Heard::Failed(error)),
                },
                Http::Data { data, fin, stream } => {
                    let taken = data.len();
                    if let Some(socket) = &mut self.socket {
                        if fin == Fin::Last {
                            socket.handle_eof(now);
                        }
                        heed(now, socket, &mut self.heard, data);
                    }
                    self.http.consume(stream, taken);
                }
                Http::Reset { error, .. } | Http::Closed { error: Some(error) } => {
                    self.heard.push_back(Heard::Failed(error));
                }
                Http::Closed { error: None }
                | Http::Informational { .. }
                | Http::Trailers { .. }
                | Http::Promise { .. }
                | Http::Writable { .. }
                | Http::Draining { .. }
                | Http::Request { .. } => {}
            }
        }
    }

    /// The server will send nothing more.
    pub(crate) fn end(&mut self, now: Instant) {
        self.http.handle_eof(now);
        self.take(now, &[]);
    }

    pub(crate) fn hear(&mut self, now: Instant) -> Option<Heard> {
        if let Some(socket) = &mut self.socket {
            heed(now, socket, &mut self.heard, &[]);
        }
        self.heard.pop_front()
    }

    /// Whether another message may wait.
    pub(crate) fn has_room(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.unsent() < QUEUE)
    }

    pub(crate) fn say(&mut self, kind: MessageKind, data: Bytes) {
        if let Some(socket) = &mut self.socket {
            // Refused after the server's Close: then its end comes as an event.
            let _too_late = socket.send(kind, data);
        }
    }

    pub(crate) fn close(&mut self) {
        if let Some(socket) = &mut self.socket {
            // Refused where the server has closed already.
            let _too_late = socket.close(CloseCode::NORMAL, "");
        }
    }

    /// Hands frames over to the stream. Where header and payload leave apart, the next part waits until the one before
    /// is out.
    pub(crate) fn prepare(&mut self, now: Instant) {
        let (Some(stream), Some(socket)) = (self.stream, &mut self.socket) else { return };
        let queue = match self.settings.writes {
            Writes::One => QUEUE,
            Writes::Two => 1,
        };
        let unsent = self.http.unsent(stream);
        if unsent >= queue {
            return;
        }
        let mut frames = SendBuf::new();
        socket.poll_transmit(now, &mut frames, queue - unsent);
        while let Some(piece) = frames.take_piece() {
            // Refused where the connection is over, which comes as an event.
            let _over = self.http.send(stream, piece, Fin::More);
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, room: usize) {
        self.http.poll_transmit(now, out, room);
        self.take(now, &[]);
    }

    pub(crate) fn wants_transmit(&self) -> bool {
        self.http.wants_transmit() || self.socket.as_ref().is_some_and(Connection::wants_transmit)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.http.handle_timeout(now);
        self.take(now, &[]);
        if let Some(socket) = &mut self.socket {
            socket.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let socket = self.socket.as_ref().and_then(Connection::poll_timeout);
        [self.http.poll_timeout(), socket].into_iter().flatten().min()
    }
}

/// Has the WebSocket take `bytes` and keeps what it tells.
fn heed(now: Instant, socket: &mut Connection, heard: &mut VecDeque<Heard>, bytes: &[u8]) {
    let mut input = bytes;
    while let Some(event) = socket.handle_bytes(now, &mut input) {
        match event {
            Event::Message { kind, data } => heard.push_back(Heard::Message(kind, data)),
            Event::Closed { error: Some(error) } => heard.push_back(Heard::Failed(error)),
            Event::Closed { error: None } => heard.push_back(Heard::Over),
            Event::Close { frame } => heard.push_back(Heard::Close(frame)),
            Event::Ping { .. } | Event::Pong { .. } => {}
        }
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("socket", &self.socket).finish_non_exhaustive()
    }
}
