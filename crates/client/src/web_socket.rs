//! A client with one WebSocket. It opens the WebSocket, runs a [`Conversation`] over it, and closes it. The one rule:
//! `settle` runs after every input, and sends everything that can be sent.

mod end_point;
pub(crate) mod stream;

use crate::failure::{Destination, Failure};
use crate::own_socket::{Farewell, OwnSocket};
use crate::profile;
use crate::transport_choice::{connection_settings, security};
use crate::{ClientConfig, FetchSpec};
use bytes::Bytes;
use endpoint::{Action, SocketId};
use page::Url;
use proto::RequestHead;
use proto::ws::{DeflateOffer, MessageKind, Writes};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use stream::{StreamEvents, WebSocketEvent, WebSocketSpec, WebSocketStream};
use trace::{ConnectionRecord, FetchOutcome, FetchRecord, Protocol, SpokenProtocol};
use transport::{
    Client, ClientSettings, ClientSpec, Connection, Protocol as Spoken, QuicFacts, QuicTally,
};
use unit::{Instant, Seed};

/// The messages of a WebSocket: what to send, and what to do with what is received.
pub trait Conversation {
    /// The record of the opening handshake, whether it succeeded or failed. Always the first call; its `queued` is
    /// when the conversation began.
    fn handle_opening(&mut self, record: FetchRecord);

    /// The next message to send; None where there is none now.
    fn poll_message(&mut self, now: Instant) -> Option<(MessageKind, Bytes)>;

    /// A message was received. An error ends the conversation.
    fn handle_message(
        &mut self,
        now: Instant,
        kind: MessageKind,
        data: Bytes,
    ) -> Result<(), String>;

    /// The conversation ended early, for this reason.
    fn handle_failure(&mut self, now: Instant, reason: &str);

    /// The connection has ended. Always the last call.
    fn handle_connection_end(&mut self, record: ConnectionRecord);

    /// When a message becomes due without another event.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Whether there is nothing left to send or to receive.
    fn is_finished(&self) -> bool;
}

/// The settings of a WebSocket.
#[derive(Debug, Clone)]
pub struct WebSocketConfig {
    /// Its URL, with http for ws and https for wss. The transport decides about TLS.
    pub url: Url,
    /// The compression to offer; None for none.
    pub deflate: Option<DeflateOffer>,
    /// How frames are written.
    pub writes: Writes,
    /// zlib's level for messages, 0 to 9.
    pub compression_level: u32,
    /// The seed of masking keys and of the handshake's nonce. It must be unpredictable where an intermediary could be
    /// attacked (RFC 6455 §10.3).
    pub seed: Seed,
}

/// An end point that runs the conversation `C`.
#[derive(Debug)]
pub struct WebSocketClient<C> {
    config: ClientConfig,
    settings: Rc<ClientSettings>,
    own: WebSocketConfig,
    conversation: C,
    phase: Phase,
    /// Over QUIC: what the server is told at the end.
    farewell: Option<Farewell>,
    quic_facts: Option<QuicFacts>,
    quic_tally: Option<QuicTally>,
    actions: VecDeque<Action>,
}

#[derive(Debug)]
enum Phase {
    /// `handle_start` has not been called.
    Waiting,
    Running(Box<Running>),
    Finished,
}

/// The state while the connection lives.
#[derive(Debug)]
struct Running {
    began: Instant,
    transport: Connection<Client>,
    /// None over TCP.
    quic: Option<OwnSocket>,
    stream: WebSocketStream,
    stage: Stage,
    destination: Destination,
    connection: ConnectionRecord,
    opening: FetchRecord,
    /// Messages sent that have no answer yet.
    unanswered: u32,
}

/// The state of the WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The connection's handshakes, then the WebSocket's own.
    Opening,
    /// Messages are exchanged.
    Open,
    /// All messages are exchanged; the server's Close is awaited.
    Closing,
}

/// The only socket.
const SOCKET: SocketId = SocketId(0);

impl<C: Conversation> WebSocketClient<C> {
    /// A client that begins when it is started. Settings of `config` for pools and other protocols have no effect.
    pub fn new(config: ClientConfig, own: WebSocketConfig, conversation: C) -> Self {
        let settings = connection_settings(&config, config.transport.web_socket_offer());
        Self {
            config,
            settings,
            own,
            conversation,
            phase: Phase::Waiting,
            farewell: None,
            quic_facts: None,
            quic_tally: None,
            actions: VecDeque::new(),
        }
    }

    /// What the connection over QUIC began to send by; None where there was none.
    pub fn quic_facts(&self) -> Option<&QuicFacts> {
        self.quic_facts.as_ref()
    }

    /// What the connection over QUIC has done; None where none has ended.
    pub fn quic_tally(&self) -> Option<&QuicTally> {
        self.quic_tally.as_ref()
    }

    /// Returns the conversation.
    pub fn into_conversation(self) -> C {
        self.conversation
    }

    /// Whether `Action::Finish` was given.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    fn begin(&mut self, now: Instant) {
        let url = self.config.transport.requested(&self.own.url);
        let opening = opening(now, &url, spoken(&self.settings));
        let Some(remote) = self.config.hosts.find(&url.host, url.port()) else {
            let failure = Failure::UnknownHost { host: url.host };
            return self.never_opened(now, opening, &failure);
        };
        let authority = format!("{}:{}", url.host, url.port()).into();
        let destination = Destination { authority, remote, proxy: None };
        let (mut transport, quic) = match self.open(now, &url, remote) {
            Ok(opened) => opened,
            Err(failure) => {
                let failure = Failure::of_transport(&destination, failure, &self.settings);
                return self.never_opened(now, opening, &failure);
            }
        };
        self.quic_facts = transport.link().map(|link| link.facts());
        let authority = destination.authority.to_string();
        let running = Running {
            began: now,
            transport,
            quic,
            stream: WebSocketStream::new(self.spec(&url), self.config.tracer.for_connection(0)),
            stage: Stage::Opening,
            destination,
            connection: ConnectionRecord::begun(0, authority, remote.to_string(), now),
            opening,
            unanswered: 0,
        };
        let is_over_quic = running.quic.is_some();
        self.phase = Phase::Running(Box::new(running));
        if is_over_quic {
            self.actions.push_back(OwnSocket::bind(SOCKET, remote));
            return self.settle(now);
        }
        let mut settings = self.config.socket.clone();
        settings.connect_timeout = self.config.timeouts.connect;
        self.actions.push_back(Action::Connect { socket: SOCKET, remote, settings });
    }

    fn open(
        &self,
        now: Instant,
        url: &Url,
        remote: SocketAddr,
    ) -> Result<(Connection<Client>, Option<OwnSocket>), transport::Failure> {
        let (settings, tracer) = (self.settings.clone(), self.config.tracer.for_connection(0));
        if settings.offer.known() != Some(Spoken::Http3) {
            let security = security(&self.config, url.scheme, &url.host, url.port());
            let opened = Connection::open(now, ClientSpec { security, settings, tracer })?;
            return Ok((opened, None));
        }
        let alpn = Spoken::Http3.alpn();
        let tls = self.config.tls.for_quic(alpn);
        let tls = tls.map_err(|_| transport::Failure::UnknownProtocol)?.observed_by(&tracer);
        let (socket, link) = OwnSocket::connect(now, &self.config.quic, tls, remote, &url.host)?;
        Ok((Connection::open_quic(now, link, settings, tracer), Some(socket)))
    }

    fn spec(&self, url: &Url) -> WebSocketSpec {
        let spec = FetchSpec { kind: page::Kind::Xhr, ..FetchSpec::get(url.clone()) };
        let fields = self.config.profile.fields(&spec, url);
        let (scheme, authority) = (profile::scheme(url.scheme), url.authority());
        WebSocketSpec {
            request: RequestHead {
                fields,
                ..RequestHead::get(scheme, authority, url.path.clone())
            },
            deflate: self.own.deflate,
            writes: self.own.writes,
            compression_level: self.own.compression_level,
            seed: self.own.seed,
        }
    }

    fn never_opened(&mut self, now: Instant, mut opening: FetchRecord, failure: &Failure) {
        opening.phases.last_byte = Some(now);
        opening.outcome = FetchOutcome::Failed(failure.to_string());
        self.conversation.handle_opening(opening);
        self.conversation.handle_failure(now, &failure.to_string());
        self.phase = Phase::Finished;
        self.actions.push_back(Action::Finish);
    }

    /// Ends everything; `failure` is the reason if it ends early.
    fn end(&mut self, now: Instant, failure: Option<&Failure>, socket: Option<Action>) {
        let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Finished) else {
            return;
        };
        let Running { stage, mut transport, quic, mut connection, mut opening, .. } = *running;
        if let Some(failure) = failure {
            let reason = failure.to_string();
            if stage == Stage::Opening {
                opening.phases.last_byte = Some(now);
                opening.outcome = FetchOutcome::Failed(reason.clone());
                self.conversation.handle_opening(opening);
            }
            self.conversation.handle_failure(now, &reason);
        }
        transport.complete(&mut connection);
        self.quic_tally = transport.link().map(|link| link.tally());
        connection.protocol = match stage {
            Stage::Opening => SpokenProtocol::None,
            _ => spoken(&self.settings),
        };
        connection.closed = Some(now);
        self.conversation.handle_connection_end(connection);
        if quic.is_some() && socket.is_some() {
            self.farewell = Farewell::close(now, &mut transport);
        }
        match self.farewell {
            Some(_) => self.actions.push_back(Action::Transmit(SOCKET)),
            None => self.finish(socket),
        }
    }

    /// All is over, and so is the socket.
    fn finish(&mut self, socket: Option<Action>) {
        self.actions.extend(socket);
        self.actions.push_back(Action::Finish);
    }

    fn fail(&mut self, now: Instant, failure: &Failure) {
        self.end(now, Some(failure), Some(Action::Close(SOCKET)));
    }

    /// Calls the transport, handles its events, and sends what is to be sent.
    fn drive(
        &mut self,
        now: Instant,
        act: impl FnOnce(
            &mut Connection<Client>,
            &mut StreamEvents<'_>,
        ) -> Result<(), transport::Failure>,
    ) {
        let Phase::Running(running) = &mut self.phase else { return };
        let Running { transport, quic, stream, .. } = &mut **running;
        let done = act(transport, &mut StreamEvents { now, stream });
        if let Some(quic) = quic {
            quic.settle(transport);
        }
        running.note_phases(now);
        let heard = self.handle_events(now);
        let Phase::Running(running) = &self.phase else { return };
        // Events before a failure are handled first.
        let done = done.map_err(|failure| {
            Failure::of_transport(&running.destination, failure, &self.settings)
        });
        match heard.and(done) {
            Ok(()) => self.settle(now),
            Err(failure) => self.fail(now, &failure),
        }
    }

    /// Handles the WebSocket's events.
    fn handle_events(&mut self, now: Instant) -> Result<(), Failure> {
        loop {
            let Phase::Running(running) = &mut self.phase else { return Ok(()) };
            let Some(event) = running.stream.poll_event(now) else { return Ok(()) };
            let destination = || running.destination.clone();
            match event {
                WebSocketEvent::Opened(status) => {
                    running.stage = Stage::Open;
                    let opening = &mut running.opening;
                    opening.status = Some(status.code());
                    opening.phases.first_byte = Some(now);
                    opening.phases.last_byte = Some(now);
                    self.conversation.handle_opening(opening.clone());
                }
                WebSocketEvent::Message(kind, data) => {
                    running.unanswered = running.unanswered.saturating_sub(1);
                    if let Err(reason) = self.conversation.handle_message(now, kind, data) {
                        return Err(Failure::Refused { destination: destination(), reason });
                    }
                }
                WebSocketEvent::Unsendable(reason) => {
                    return Err(Failure::Unsendable { destination: destination(), reason });
                }
                WebSocketEvent::Close(Some(frame)) if running.stage != Stage::Closing => {
                    let code = frame.code.code();
                    let reason = format!("it closed the WebSocket with {code}: {}", frame.reason);
                    return Err(Failure::Refused { destination: destination(), reason });
                }
                WebSocketEvent::Close(_) => {}
                WebSocketEvent::Failed(error) => {
                    return Err(Failure::Protocol { destination: destination(), error });
                }
                WebSocketEvent::Over if running.stage == Stage::Closing => {
                    self.end(now, None, Some(Action::Close(SOCKET)));
                }
                WebSocketEvent::Over => {
                    return Err(Failure::Closed { destination: destination() });
                }
            }
        }
    }

    /// Queues the output, and asks the driver to send.
    fn settle(&mut self, now: Instant) {
        let Phase::Running(running) = &mut self.phase else { return };
        let Running { transport, quic, stream, stage, connection, unanswered, .. } = &mut **running;
        if *stage == Stage::Open {
            while stream.takes_messages()
                && let Some((kind, data)) = self.conversation.poll_message(now)
            {
                connection.requests += 1;
                connection.rounds += u32::from(*unanswered == 0);
                *unanswered += 1;
                stream.send(kind, data);
            }
            if self.conversation.is_finished() {
                *stage = Stage::Closing;
                stream.close();
            }
        }
        if let Some(machine) = transport.machine() {
            stream.write_frames(now, machine);
        }
        if quic.is_some() {
            transport.drain_events(now, &mut StreamEvents { now, stream });
        }
        if transport.poll_wants_transmit() {
            self.actions.push_back(Action::Transmit(SOCKET));
        }
    }

    /// The end of the time limit for the whole conversation.
    fn deadline(&self) -> Option<Instant> {
        let Phase::Running(running) = &self.phase else { return None };
        self.config.timeouts.whole.map(|limit| running.began + limit)
    }
}

impl Running {
    /// Records the times of the connection's phases.
    fn note_phases(&mut self, now: Instant) {
        let (timings, phases) = (self.transport.timings(), &mut self.opening.phases);
        phases.connected = timings.connected;
        phases.secured = timings.secured;
        if phases.sent.is_none() && self.transport.protocol().is_some() {
            phases.sent = Some(now);
            self.connection.requests = 1;
            self.connection.rounds = 1;
        }
    }
}

/// What is spoken once it is open: a WebSocket over the version of HTTP that is offered.
fn spoken(settings: &ClientSettings) -> SpokenProtocol {
    let http = settings.offer.known().map(Protocol::from);
    http.and_then(Protocol::web_socket_over).unwrap_or(Protocol::WebSocket).into()
}

fn opening(now: Instant, url: &Url, protocol: SpokenProtocol) -> FetchRecord {
    // RFC 6455 §3: ws and wss where HTTP has http and https.
    let url = url.to_string().replacen("http", "ws", 1);
    let mut record = FetchRecord::new(0, url, now);
    record.phases.connect_start = Some(now);
    record.connection = Some(0);
    record.protocol = protocol;
    record
}
