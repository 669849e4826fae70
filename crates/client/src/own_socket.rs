//! A UDP socket that one connection over QUIC has to itself.

use endpoint::{Action, DatagramSettings, DatagramTransmit, ReceivedDatagrams, SocketId};
use secure::QuicClientTls;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use transport::{
    Admission, Arrival, Client, Connection, Failure, QuicInput, QuicLink, QuicSettings, QuicSocket,
};
use unit::Instant;

/// The socket of a connection.
#[derive(Debug)]
pub(crate) struct OwnSocket(QuicSocket);

/// The datagrams that close a connection.
#[derive(Debug)]
pub(crate) struct Farewell {
    transmit: DatagramTransmit,
    bytes: Vec<u8>,
}

impl OwnSocket {
    /// Begins a connection to `remote`; `host` is what its certificate must be valid for.
    pub(crate) fn connect(
        now: Instant,
        settings: &QuicSettings,
        tls: Arc<QuicClientTls>,
        remote: SocketAddr,
        host: &str,
    ) -> Result<(Self, Box<QuicLink>), Failure> {
        let mut socket = QuicSocket::client(settings, tls);
        let link = socket.connect(now, remote, host)?;
        Ok((Self(socket), link))
    }

    /// The action that opens a socket for one address. It is connected, so that ICMP tells where nothing listens.
    pub(crate) fn bind(socket: SocketId, remote: SocketAddr) -> Action {
        let ip = match remote {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let settings = DatagramSettings { remote: Some(remote), ..DatagramSettings::default() };
        Action::Bind { socket, local: SocketAddr::new(ip, 0), settings }
    }

    /// Takes datagrams off the front of `received`, until there is something for the connection.
    pub(crate) fn next_input(
        &mut self,
        now: Instant,
        received: &mut ReceivedDatagrams,
    ) -> Option<QuicInput> {
        loop {
            match self.0.handle_datagrams(now, received, Admission::Full)? {
                Arrival::Input(_, input) => return Some(input),
                // Nobody opens connections to a client.
                Arrival::Opened(_) => {}
            }
        }
    }

    /// Writes the next datagrams to `out`.
    pub(crate) fn poll_datagrams(
        &mut self,
        now: Instant,
        transport: &mut Connection<Client>,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        if let Some(transmit) = self.0.poll_answer(out) {
            return Some(transmit);
        }
        let transmit = transport.poll_datagrams(now, out, max_datagrams);
        self.settle(transport);
        transmit
    }

    /// Passes on what the connection has for its socket: call it after every call of the connection's.
    pub(crate) fn settle(&mut self, transport: &mut Connection<Client>) {
        if let Some(link) = transport.link() {
            self.0.settle(link);
        }
    }
}

impl Farewell {
    /// Closes the connection. None where the server knows already.
    pub(crate) fn close(now: Instant, transport: &mut Connection<Client>) -> Option<Self> {
        transport.close();
        let mut bytes = Vec::new();
        let transmit = transport.poll_datagrams(now, &mut bytes, 1)?;
        Some(Self { transmit, bytes })
    }

    /// Writes them to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> DatagramTransmit {
        out.extend_from_slice(&self.bytes);
        self.transmit
    }
}
