//! A client with one WebSocket: opens it, lets a [`Conversation`] speak over it, and closes it. Browsers keep as many
//! as a page asks for; a conversation has one. The one rule: whatever happened, `settle` follows, and after it nothing
//! that could be said is left.

pub(crate) mod line;

use crate::config::ClientConfig;
use crate::failure::{Failure, Place};
use crate::fetch::FetchSpec;
use bytes::Bytes;
use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use line::{Heard, Line};
use page::{Scheme, Url};
use proto::ws::{DeflateOffer, MessageKind, Writes};
use secure::{Layer, Tls, TlsError};
use std::collections::VecDeque;
use std::net::SocketAddr;
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, Protocol};
use unit::{Instant, Seed};

/// What is said over a WebSocket.
pub trait Conversation {
    /// The WebSocket is open, or will never be: how its handshake went. Always the first call, and its `queued` is when
    /// the conversation began.
    fn handle_opening(&mut self, record: FetchRecord);

    /// The next message to send; None where there is none now.
    fn poll_message(&mut self, now: Instant) -> Option<(MessageKind, Bytes)>;

    /// A message came. An error ends the conversation.
    fn handle_message(
        &mut self,
        now: Instant,
        kind: MessageKind,
        data: Bytes,
    ) -> Result<(), String>;

    /// The conversation is over before its end.
    fn handle_failure(&mut self, now: Instant, reason: &str);

    /// The connection is over. Always the last call.
    fn handle_connection_end(&mut self, record: ConnectionRecord);

    /// When there may be a message to send that no other event brings about.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether nothing is left to say or to hear.
    fn is_finished(&self) -> bool;
}

/// How a WebSocket is opened and spoken.
#[derive(Debug, Clone)]
pub struct WebSocketConfig {
    /// Where, under the http scheme of the WebSocket's own: what is secured, the transport says.
    pub url: Url,
    /// Compression that is offered; None offers none.
    pub deflate: Option<DeflateOffer>,
    /// How frames leave.
    pub writes: Writes,
    /// zlib's level of compressed messages, 0 to 9.
    pub compression_level: u32,
    /// Where masking keys and the handshake's nonce come from. Behind intermediaries that may be fooled it has to be one
    /// that nobody can foresee (RFC 6455 §10.3).
    pub seed: Seed,
}

/// An end point that holds the conversation `C`.
#[derive(Debug)]
pub struct WebSocketClient<C> {
    config: ClientConfig,
    own: WebSocketConfig,
    conversation: C,
    began: Instant,
    phase: Phase,
    actions: VecDeque<Action>,
}

#[derive(Debug)]
enum Phase {
    /// Nobody has told the time yet.
    Idle,
    Running(Box<Running>),
    Finished,
}

/// What there is while the connection lives.
#[derive(Debug)]
struct Running {
    layer: Layer,
    line: Line,
    stage: Stage,
    place: Place,
    connection: ConnectionRecord,
    opening: FetchRecord,
    /// Messages sent and not answered yet.
    unanswered: u32,
    /// Whether the driver has been told that there is something to send.
    told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// TCP's handshake.
    Connecting,
    /// TLS's handshake.
    Securing,
    /// The WebSocket's handshake.
    Opening,
    /// Messages.
    Open,
    /// Everything is said; the server's Close is awaited.
    Closing,
}

/// The only socket.
const SOCKET: SocketId = SocketId(0);

impl<C: Conversation> WebSocketClient<C> {
    /// A client that begins as soon as it is driven. Of `config`, what concerns pools and other protocols does not
    /// count.
    pub fn new(config: ClientConfig, own: WebSocketConfig, conversation: C) -> Self {
        Self {
            config,
            own,
            conversation,
            began: Instant::ZERO,
            phase: Phase::Idle,
            actions: VecDeque::new(),
        }
    }

    /// The conversation, taken out.
    pub fn into_conversation(self) -> C {
        self.conversation
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    fn begin(&mut self, now: Instant) {
        self.began = now;
        let scheme = self.config.transport.scheme(self.own.url.scheme);
        let url = Url { scheme, ..self.own.url.clone() };
        let (opening, authority) = (opening(now, &url), format!("{}:{}", url.host, url.port()));
        let remote = self.config.hosts.find(&url.host, url.port());
        let layer = match (remote, scheme) {
            (None, _) => Err(Failure::UnknownHost { host: url.host.clone() }),
            (Some(remote), Scheme::Http) => Ok((remote, Layer::Clear)),
            (Some(remote), Scheme::Https) => match Tls::client(&self.config.tls, &url.host) {
                Ok(tls) => Ok((remote, Layer::secured(tls))),
                Err(error) => {
                    let place = Place { authority: authority.clone(), remote };
                    Err(Failure::Handshake { place, error })
                }
            },
        };
        let (remote, layer) = match layer {
            Ok(layer) => layer,
            Err(failure) => return self.never_opened(now, opening, &failure),
        };
        let spec = FetchSpec { kind: page::Kind::Xhr, ..FetchSpec::get(url.clone()) };
        let fields = self.config.profile.fields(&spec, &url);
        let line = Line::new(now, (&self.config, &self.own), (&url, fields));
        let connection = connection(now, &authority, remote);
        let place = Place { authority, remote };
        let (stage, unanswered, told) = (Stage::Connecting, 0, false);
        let running = Running { layer, line, stage, place, connection, opening, unanswered, told };
        self.phase = Phase::Running(Box::new(running));
        let mut settings = self.config.socket.clone();
        settings.connect_timeout = self.config.timeouts.connect;
        self.actions.push_back(Action::Connect { socket: SOCKET, remote, settings });
    }

    fn never_opened(&mut self, now: Instant, mut opening: FetchRecord, failure: &Failure) {
        opening.phases.last_byte = Some(now);
        opening.outcome = FetchOutcome::Failed(failure.to_string());
        self.conversation.handle_opening(opening);
        self.conversation.handle_failure(now, &failure.to_string());
        self.phase = Phase::Finished;
        self.actions.push_back(Action::Finish);
    }

    /// Everything is over; `failure` tells why, where it was too soon.
    fn end(&mut self, now: Instant, failure: Option<&Failure>, socket: Option<Action>) {
        let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Finished) else {
            return;
        };
        let Running { stage, mut connection, mut opening, .. } = *running;
        if let Some(failure) = failure {
            let reason = failure.to_string();
            if !matches!(stage, Stage::Open | Stage::Closing) {
                opening.phases.last_byte = Some(now);
                opening.outcome = FetchOutcome::Failed(reason.clone());
                self.conversation.handle_opening(opening);
            }
            self.conversation.handle_failure(now, &reason);
        }
        connection.closed = Some(now);
        self.conversation.handle_connection_end(connection);
        self.actions.extend(socket);
        self.actions.push_back(Action::Finish);
    }

    fn fail(&mut self, now: Instant, failure: &Failure) {
        self.end(now, Some(failure), Some(Action::Close(SOCKET)));
    }

    /// Takes bytes from the socket up through the layer and the line.
    fn feed(&mut self, now: Instant, bytes: &[u8]) -> Result<(), Failure> {
        let Phase::Running(running) = &mut self.phase else { return Ok(()) };
        running.connection.bytes_received += bytes.len() as u64;
        let mut cipher = bytes;
        loop {
            let Running { layer, line, place, stage, .. } = &mut **running;
            let plain = match layer.handle_bytes(&mut cipher) {
                Ok(plain) => plain,
                Err(error) => return Err(tls_failure(place, *stage, error)),
            };
            let Some(plain) = plain else { break };
            line.take(now, plain);
        }
        self.secured(now)
    }

    /// TLS is done, or there was none: the WebSocket is asked for.
    fn secured(&mut self, now: Instant) -> Result<(), Failure> {
        let Phase::Running(running) = &mut self.phase else { return Ok(()) };
        if running.stage != Stage::Securing || running.layer.is_handshaking() {
            return Ok(());
        }
        if let Some(agreed) = running.layer.negotiated() {
            running.connection.secured = Some(now);
            running.connection.tls = Some(agreed.record());
            running.opening.phases.secured = Some(now);
        }
        running.stage = Stage::Opening;
        running.opening.phases.sent = Some(now);
        running.connection.requests = 1;
        running.connection.rounds = 1;
        let asked = running.line.ask(now);
        asked.map_err(|reason| Failure::Unsendable { place: running.place.clone(), reason })
    }

    /// Deals with what the line has heard.
    fn hear(&mut self, now: Instant) -> Result<(), Failure> {
        loop {
            let Phase::Running(running) = &mut self.phase else { return Ok(()) };
            let Some(heard) = running.line.hear(now) else { return Ok(()) };
            let place = || running.place.clone();
            match heard {
                Heard::Opened => {
                    running.stage = Stage::Open;
                    running.connection.protocol = Protocol::WebSocket.into();
                    let opening = &mut running.opening;
                    opening.status = Some(101);
                    opening.phases.first_byte = Some(now);
                    opening.phases.last_byte = Some(now);
                    self.conversation.handle_opening(opening.clone());
                }
                Heard::Message(kind, data) => {
                    running.unanswered = running.unanswered.saturating_sub(1);
                    if let Err(reason) = self.conversation.handle_message(now, kind, data) {
                        return Err(Failure::Refused { place: place(), reason });
                    }
                }
                Heard::Close(Some(frame)) if running.stage != Stage::Closing => {
                    let code = frame.code.code();
                    let reason = format!("it closed the WebSocket with {code}: {}", frame.reason);
                    return Err(Failure::Refused { place: place(), reason });
                }
                Heard::Close(_) => {}
                Heard::Failed(error) => return Err(Failure::Protocol { place: place(), error }),
                Heard::Over if running.stage == Stage::Closing => {
                    self.end(now, None, Some(Action::Close(SOCKET)));
                }
                Heard::Over => return Err(Failure::Closed { place: place() }),
            }
        }
    }

    /// Says what there is to say, and tells the driver.
    fn settle(&mut self, now: Instant) {
        if let Err(failure) = self.hear(now) {
            return self.fail(now, &failure);
        }
        let Phase::Running(running) = &mut self.phase else { return };
        if running.stage == Stage::Open {
            while running.line.has_room()
                && let Some((kind, data)) = self.conversation.poll_message(now)
            {
                running.connection.requests += 1;
                running.connection.rounds += u32::from(running.unanswered == 0);
                running.unanswered += 1;
                running.line.say(kind, data);
            }
            if self.conversation.is_finished() {
                running.stage = Stage::Closing;
                running.line.close();
            }
        }
        let may = running.stage != Stage::Connecting;
        let wants = running.layer.wants_transmit() || running.line.wants_transmit();
        if may && wants && !running.told {
            running.told = true;
            self.actions.push_back(Action::Transmit(SOCKET));
        }
    }

    /// When patience ends: with the connect, or with the whole.
    fn deadline(&self) -> Option<Instant> {
        let Phase::Running(running) = &self.phase else { return None };
        let timeouts = &self.config.timeouts;
        let whole = timeouts.whole.map(|limit| self.began + limit);
        match running.stage {
            Stage::Connecting | Stage::Securing => {
                let connect = self.began + timeouts.connect;
                Some(whole.map_or(connect, |whole| whole.min(connect)))
            }
            Stage::Opening | Stage::Open | Stage::Closing => whole,
        }
    }

    fn too_late(&self) -> Option<Failure> {
        let Phase::Running(running) = &self.phase else { return None };
        let within = self.config.timeouts.connect;
        let missing = match running.stage {
            Stage::Connecting => "TCP",
            Stage::Securing => "TLS",
            Stage::Opening | Stage::Open | Stage::Closing => {
                return self.config.timeouts.whole.map(|limit| Failure::TooSlow { limit });
            }
        };
        Some(Failure::ConnectTime { place: running.place.clone(), within, missing })
    }
}

impl<C: Conversation> EndPoint for WebSocketClient<C> {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, now: Instant, _socket: SocketId, _local: SocketAddr) {
        let Phase::Running(running) = &mut self.phase else { return };
        running.stage = Stage::Securing;
        running.connection.connected = Some(now);
        running.opening.phases.connected = Some(now);
        if let Err(failure) = self.secured(now) {
            return self.fail(now, &failure);
        }
        self.settle(now);
    }

    fn handle_bytes(&mut self, now: Instant, _socket: SocketId, bytes: &[u8]) {
        match self.feed(now, bytes) {
            Ok(()) => self.settle(now),
            Err(failure) => self.fail(now, &failure),
        }
    }

    fn handle_eof(&mut self, now: Instant, _socket: SocketId) {
        let Phase::Running(running) = &mut self.phase else { return };
        // What is cut off within TLS is cut off within the WebSocket too, which tells.
        let _cut = running.layer.handle_eof();
        running.line.end(now);
        self.settle(now);
        if let Phase::Running(running) = &self.phase {
            let place = running.place.clone();
            self.fail(now, &Failure::Closed { place });
        }
    }

    fn handle_error(&mut self, now: Instant, _socket: SocketId, error: SocketError) {
        let Phase::Running(running) = &self.phase else { return };
        let place = running.place.clone();
        let failure = match running.stage {
            Stage::Connecting if error == SocketError::TimedOut => {
                let within = self.config.timeouts.connect;
                Failure::ConnectTime { place, within, missing: "TCP" }
            }
            Stage::Connecting => Failure::Connect { place, error },
            _ => Failure::Socket { place, error },
        };
        self.end(now, Some(&failure), None);
    }

    fn poll_transmit(&mut self, now: Instant, _socket: SocketId, out: &mut SendBuf, room: usize) {
        let Phase::Running(running) = &mut self.phase else { return };
        let before = out.len();
        let Running { layer, line, connection, told, .. } = &mut **running;
        line.prepare(now);
        layer.poll_transmit(out, room, |plain, room| line.poll_transmit(now, plain, room));
        connection.bytes_sent += (out.len() - before) as u64;
        *told = out.len() > before;
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Phase::Idle = self.phase {
            self.begin(now);
        }
        if self.deadline().is_some_and(|at| at <= now)
            && let Some(failure) = self.too_late()
        {
            return self.fail(now, &failure);
        }
        if let Phase::Running(running) = &mut self.phase {
            running.line.handle_timeout(now);
        }
        self.settle(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        if let Phase::Idle = self.phase {
            self.began = now;
            let opening = opening(now, &self.own.url);
            return self.never_opened(now, opening, &Failure::Stopped);
        }
        self.fail(now, &Failure::Stopped);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        match &self.phase {
            Phase::Idle => Some(Instant::ZERO),
            Phase::Running(running) => {
                let next = match running.stage {
                    Stage::Open if running.line.has_room() => self.conversation.poll_timeout(),
                    _ => None,
                };
                [self.deadline(), running.line.poll_timeout(), next].into_iter().flatten().min()
            }
            Phase::Finished => None,
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

fn opening(now: Instant, url: &Url) -> FetchRecord {
    // RFC 6455 §3: ws and wss where HTTP has http and https.
    let url = url.to_string().replacen("http", "ws", 1);
    let mut record = FetchRecord::wished(0, url, now);
    record.phases.connect_start = Some(now);
    record.connection = Some(0);
    record.protocol = Protocol::WebSocket.into();
    record
}

fn connection(now: Instant, authority: &str, remote: SocketAddr) -> ConnectionRecord {
    ConnectionRecord::begun(0, authority.to_owned(), remote.to_string(), now)
}

fn tls_failure(place: &Place, stage: Stage, error: TlsError) -> Failure {
    let place = place.clone();
    match stage {
        Stage::Connecting | Stage::Securing => Failure::Handshake { place, error },
        Stage::Opening | Stage::Open | Stage::Closing => Failure::Tls { place, error },
    }
}
