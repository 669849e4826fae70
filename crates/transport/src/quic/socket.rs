//! One UDP socket with many QUIC connections: which datagram belongs to which of them, and what is answered without any
//! (Retry, version negotiation, stateless reset). The one rule: connections are their owner's; this holds only their
//! identifiers.

use super::clock::to_std;
use super::link::Link;
use super::memory::{RememberedServer, ServerMemory};
use super::settings::{AddressValidation, QuicSettings, WallClock};
use super::unproven::UnprovenAddress;
use crate::failure::Failure;
use bytes::{Buf, BytesMut};
use endpoint::{DatagramTransmit, Ecn, ReceivedDatagrams};
use quinn_proto::{
    ClientConfig, ConnectError, ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint,
    Endpoint, EndpointEvent, Incoming, Transmit, TransportConfig,
};
use secure::{QuicClientTls, QuicServerTls, TlsError};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use unit::Instant;

/// What carries QUIC over one UDP socket, for either role.
pub struct QuicSocket {
    endpoint: Endpoint,
    /// What a client's new connections are made of.
    client: Option<ClientParts>,
    address_validation: AddressValidation,
    /// Connections of clients whose address is not proven.
    unproven: usize,
    /// The clients whose handshakes go on, and the addresses from which they began.
    handshakes: BTreeMap<ConnectionHandle, SocketAddr>,
    memory: ServerMemory,
    /// Datagrams that belong to no connection.
    answers: VecDeque<(DatagramTransmit, Vec<u8>)>,
}

/// What a client's connections are made of.
struct ClientParts {
    tls: Arc<QuicClientTls>,
    transport: Arc<TransportConfig>,
    keep_alive: Option<Duration>,
}

/// A connection, by its place at its socket: dense and used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuicHandle(pub usize);

/// What a datagram brought.
#[derive(Debug)]
pub enum Arrival {
    /// A client opens a connection. It has taken the datagram.
    Opened(Box<Link>),
    /// Something for this connection: `handle_input` takes it.
    Input(QuicHandle, QuicInput),
}

/// A received packet for a connection.
#[derive(Debug)]
pub struct QuicInput {
    pub(super) event: Box<ConnectionEvent>,
    /// Where it came from.
    pub(super) remote: SocketAddr,
    /// Bytes of its datagram.
    pub(super) length: usize,
    /// The same, if quinn-proto was told another address.
    pub(super) elsewhere: Option<SocketAddr>,
}

/// Whether a connection may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Open,
    /// There are too many: its client is told so (CONNECTION_REFUSED).
    Full,
}

impl QuicSocket {
    /// A client's socket.
    pub fn client(settings: &QuicSettings, tls: Arc<QuicClientTls>) -> Self {
        let (transport, keep_alive) = (settings.transport(), settings.keep_alive);
        let client = ClientParts { tls, transport, keep_alive };
        let endpoint = Endpoint::new(settings.endpoint(), None, MAY_DISCOVER_MTU, None);
        Self::new(settings, endpoint, Some(client))
    }

    /// A server's socket.
    pub fn server(settings: &QuicSettings, tls: Arc<QuicServerTls>) -> Self {
        let wall_clock = tls.wall_clock();
        let (config, mut server) = settings.server_endpoint(tls);
        server.transport_config(settings.transport());
        server.time_source(Arc::new(WallClock(wall_clock)));
        let endpoint = Endpoint::new(config, Some(Arc::new(server)), MAY_DISCOVER_MTU, None);
        Self::new(settings, endpoint, None)
    }

    fn new(settings: &QuicSettings, endpoint: Endpoint, client: Option<ClientParts>) -> Self {
        let address_validation = settings.address_validation;
        let memory = settings.memory.clone();
        Self {
            endpoint,
            client,
            address_validation,
            unproven: 0,
            handshakes: BTreeMap::new(),
            memory,
            answers: VecDeque::new(),
        }
    }

    /// Client: begins a connection. `server_name` is what the certificate must be valid for.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        server_name: &str,
    ) -> Result<Box<Link>, Failure> {
        let ClientParts { tls, transport, keep_alive } =
            self.client.as_ref().ok_or(Failure::Ended)?;
        let bare = server_name.trim_start_matches('[').trim_end_matches(']');
        let server = RememberedServer::new(&self.memory, bare, remote.port());
        let mut config = ClientConfig::new(tls.of_port(remote.port()));
        config.transport_config(Arc::clone(transport));
        config.token_store(server.tokens());
        match self.endpoint.connect(to_std(now), config, remote, bare) {
            Ok((handle, quic)) => {
                let mut link = Link::new(handle, quic);
                link.server = Some(server);
                link.keep_alive = *keep_alive;
                Ok(Box::new(link))
            }
            Err(ConnectError::InvalidServerName(name)) => {
                Err(Failure::Name(TlsError::BadName(name)))
            }
            Err(_) => Err(Failure::Ended),
        }
    }

    /// Takes datagrams off the front of `received` until one brings something. Call until None: then all are taken, and
    /// `poll_answer` may have some to send.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        received: &mut ReceivedDatagrams,
        admission: Admission,
    ) -> Option<Arrival> {
        while !received.data.is_empty() {
            let length = received.stride.clamp(1, received.data.len());
            let datagram = Datagram {
                remote: received.remote,
                local: received.local,
                ecn: received.ecn.map(codepoint),
                data: self.take(&mut received.data, length),
            };
            let arrival = self.handle_datagram(now, datagram, admission);
            if arrival.is_some() {
                return arrival;
            }
        }
        None
    }

    /// Takes the next datagram off the front of what was received. A server copies it: bytes of a stream that wait for earlier ones
    /// would keep all that was received into the same memory, of all clients, and no window bounds that.
    fn take(&self, received: &mut BytesMut, length: usize) -> BytesMut {
        if self.client.is_some() {
            return received.split_to(length);
        }
        let copy = BytesMut::from(&received[..length]);
        received.advance(length);
        copy
    }

    fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: Datagram,
        admission: Admission,
    ) -> Option<Arrival> {
        let Datagram { remote, local, ecn, data } = datagram;
        let length = data.len();
        let mut answer = Vec::new();
        // The packets of a handshake have long headers (RFC 8999 §5.1).
        let is_of_handshake = data.first().is_some_and(|first| first & LONG_HEADER != 0);
        let copy = (is_of_handshake && !self.handshakes.is_empty()).then(|| data.clone());
        match self.endpoint.handle(to_std(now), remote, local, ecn, data, &mut answer)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                let began = self.handshakes.get(&handle).copied().filter(|began| *began != remote);
                let (event, elsewhere) = match began.zip(copy) {
                    None => (event, None),
                    Some((began, data)) => {
                        let datagram = Datagram { remote: began, local, ecn, data };
                        (self.event_of(now, datagram)?, Some(remote))
                    }
                };
                let input = QuicInput { event: Box::new(event), remote, length, elsewhere };
                Some(Arrival::Input(QuicHandle(handle.0), input))
            }
            DatagramEvent::Response(transmit) => {
                self.answer(&transmit, answer);
                None
            }
            DatagramEvent::NewConnection(incoming) => {
                self.handle_incoming(now, Opening { incoming, length }, admission, answer)
            }
        }
    }

    /// What a datagram brings a connection that is there.
    fn event_of(&mut self, now: Instant, datagram: Datagram) -> Option<ConnectionEvent> {
        let Datagram { remote, local, ecn, data } = datagram;
        match self.endpoint.handle(to_std(now), remote, local, ecn, data, &mut Vec::new())? {
            DatagramEvent::ConnectionEvent(_, event) => Some(event),
            DatagramEvent::NewConnection(_) | DatagramEvent::Response(_) => None,
        }
    }

    fn handle_incoming(
        &mut self,
        now: Instant,
        opening: Opening,
        admission: Admission,
        mut answer: Vec<u8>,
    ) -> Option<Arrival> {
        let Opening { incoming, length } = opening;
        if admission == Admission::Full {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            self.answer(&transmit, answer);
            return None;
        }
        let asks_first =
            self.address_validation == AddressValidation::ByRetry || self.unproven >= MAX_UNPROVEN;
        let wants_proof = asks_first && !incoming.remote_address_validated();
        if wants_proof {
            // It fails only for a client that brought a Retry's token, and that one's address is validated.
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut answer) {
                self.answer(&transmit, answer);
            }
            return None;
        }
        let mut unproven = UnprovenAddress::default();
        unproven.handle_received(length);
        let unproven = Some(unproven).filter(|_| !incoming.remote_address_validated());
        let remote = incoming.remote_address();
        match self.endpoint.accept(incoming, to_std(now), &mut answer, None) {
            Ok((handle, quic)) => {
                let mut link = Link::new(handle, quic);
                self.unproven += usize::from(unproven.is_some());
                self.handshakes.insert(handle, remote);
                link.counts_as_unproven = unproven.is_some();
                link.unproven = unproven;
                Some(Arrival::Opened(Box::new(link)))
            }
            Err(refused) => {
                if let Some(transmit) = refused.response {
                    self.answer(&transmit, answer);
                }
                None
            }
        }
    }

    /// Passes on what a connection has for its socket: call it after every call of the connection's. Tells whether the
    /// connection has come to its end, so that its place is free.
    pub fn settle(&mut self, link: &mut Link) -> Lifetime {
        if link.unproven.is_none() {
            self.count_off(link);
        }
        if !self.handshakes.is_empty() && !link.is_handshaking() {
            self.handshakes.remove(&link.handle);
        }
        while let Some(event) = link.quic.poll_endpoint_events() {
            let is_drained = event.is_drained();
            if let Some(event) = self.endpoint.handle_event(link.handle, event) {
                link.quic.handle_event(event);
            }
            if is_drained {
                self.count_off(link);
                self.handshakes.remove(&link.handle);
                return Lifetime::Over;
            }
        }
        if link.is_forgotten {
            self.remove(link);
            return Lifetime::Over;
        }
        Lifetime::Goes
    }

    /// Forgets a connection before it has come to its end: later packets of its peer's are answered by a stateless reset.
    pub fn forget(&mut self, link: &mut Link) {
        if self.settle(link) == Lifetime::Goes {
            self.remove(link);
        }
    }

    fn remove(&mut self, link: &mut Link) {
        self.count_off(link);
        self.handshakes.remove(&link.handle);
        self.endpoint.handle_event(link.handle, EndpointEvent::drained());
    }

    /// The address is proven, or the connection is over.
    fn count_off(&mut self, link: &mut Link) {
        self.unproven -= usize::from(std::mem::take(&mut link.counts_as_unproven));
    }

    /// The next datagram that belongs to no connection.
    pub fn poll_answer(&mut self, out: &mut Vec<u8>) -> Option<DatagramTransmit> {
        let (transmit, bytes) = self.answers.pop_front()?;
        out.extend_from_slice(&bytes);
        Some(transmit)
    }

    /// Whether `poll_answer` would give one.
    pub fn has_answer(&self) -> bool {
        !self.answers.is_empty()
    }

    fn answer(&mut self, transmit: &Transmit, mut bytes: Vec<u8>) {
        // Under a flood those that wait are dropped first: the path may lose them, too.
        if self.answers.len() < MAX_ANSWERS {
            bytes.truncate(transmit.size);
            self.answers.push_back((datagram_transmit(transmit), bytes));
        }
    }
}

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It does.
    Goes,
    /// It has ended, and late packets of the peer's need no answer any more.
    Over,
}

/// A client's first packet, in a datagram of so many bytes.
struct Opening {
    incoming: Incoming,
    length: usize,
}

struct Datagram {
    remote: SocketAddr,
    local: Option<std::net::IpAddr>,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
}

/// The reactor forbids fragmentation where the kernel can.
const MAY_DISCOVER_MTU: bool = true;

const MAX_ANSWERS: usize = 1024;

/// RFC 8999 §5.1.
const LONG_HEADER: u8 = 0x80;

/// Above so many connections whose clients have not proven their addresses, new clients do so by a Retry, for which nothing is
/// kept. A burst of real clients has proven theirs within a round trip; each of the others holds about 40 kB until its
/// handshake has timed out.
const MAX_UNPROVEN: usize = 1024;

pub(super) fn datagram_transmit(transmit: &Transmit) -> DatagramTransmit {
    let ecn = transmit.ecn.map(|ecn| match ecn {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    });
    DatagramTransmit {
        remote: transmit.destination,
        local: transmit.src_ip,
        ecn,
        segment_size: transmit.segment_size,
    }
}

fn codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

impl fmt::Debug for QuicSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicSocket").field("answers", &self.answers.len()).finish_non_exhaustive()
    }
}
