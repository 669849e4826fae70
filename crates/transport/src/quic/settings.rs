//! The settings of QUIC, for either role.

use super::congestion::{CongestionController, Factory};
use super::memory::ServerMemory;
use quinn_proto::{
    AckFrequencyConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, ServerConfig, TimeSource,
    TransportConfig, VarInt,
};
use secure::{QUIC_VERSION, QuicServerTls, TimeProvider};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unit::Seed;

/// The settings of QUIC connections.
#[derive(Debug, Clone)]
pub struct QuicSettings {
    /// Who decides how much may be in flight.
    pub congestion_controller: CongestionController,
    /// Packets of the first round (RFC 9002 §7.2 has ten).
    pub initial_window: u32,
    /// Bytes of a datagram before anything is known of the path, 1,200 or more.
    pub initial_mtu: u16,
    /// Whether larger datagrams are tried.
    pub mtu_discovery: MtuDiscovery,
    /// Whether one batch may hold several datagrams.
    pub gso: Gso,
    /// The peer is asked to acknowledge when more than so many packets came (draft-ietf-quic-ack-frequency); None for every
    /// other packet (RFC 9000 §13.2.2).
    pub ack_threshold: Option<u32>,
    /// Bytes of one stream that the peer may send before they are read.
    pub stream_window: u32,
    /// Bytes of all streams that the peer may send before they are read.
    pub connection_window: u32,
    /// Bidirectional streams that the peer may have open at a time.
    pub max_streams: u32,
    /// Whether DATAGRAM frames are taken and sent (RFC 9221). The machine's own settings must say the same.
    pub datagrams: Datagrams,
    /// A connection ends after this time without a packet.
    pub idle_timeout: Duration,
    /// After so long without a packet from the peer it is sent a PING (RFC 9000 §10.1.2).
    pub keep_alive: Option<Duration>,
    /// Whether a server has each client prove its address.
    pub address_validation: AddressValidation,
    /// Server: the socket on which it listens, from which its connection IDs and secrets follow. None: each socket has its own.
    pub listening: Option<ListeningSocket>,
    /// Client: what is kept of servers.
    pub memory: ServerMemory,
    /// Where connection IDs come from; None for the system's randomness.
    pub seed: Option<Seed>,
}

/// Whether larger datagrams are tried (RFC 8899).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MtuDiscovery {
    /// Up to 1,452 bytes: Ethernet's 1,500 without the headers of IPv6 and UDP.
    #[default]
    On,
    /// All datagrams are of the initial size.
    Off,
}

/// Whether the driver gets several datagrams at a time, for the kernel to segment (UDP GSO).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gso {
    /// As many as window and pacer allow.
    #[default]
    On,
    /// One.
    Off,
}

/// Whether the peer may send unreliable datagrams, and may be sent some where it takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Datagrams {
    /// The peer is told that it may, and what arrives is passed to the machine.
    On,
    /// A DATAGRAM frame ends the connection (RFC 9221 §3).
    #[default]
    Off,
}

/// Whether a server answers a client's first packet with a Retry (RFC 9000 §8.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressValidation {
    /// The handshake proves the client's address.
    #[default]
    ByHandshake,
    /// A Retry does, where the client has brought no token: one round trip more.
    ByRetry,
}

/// One of a server's sockets at an address. All of them, and those of a server that begins anew there with the same private
/// key, have the same secrets: what one of them is sent of another's connections is answered by a stateless reset that the
/// client believes (RFC 9000 §10.3.2), and each takes the others' tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Where it is bound.
    pub address: SocketAddr,
    /// Its number among those at the address, which begins the connection IDs that it gives out.
    pub number: u8,
}

impl Default for QuicSettings {
    fn default() -> Self {
        Self {
            congestion_controller: CongestionController::default(),
            initial_window: 10,
            initial_mtu: 1_200,
            mtu_discovery: MtuDiscovery::On,
            gso: Gso::On,
            ack_threshold: None,
            stream_window: 6 * 1024 * 1024,
            connection_window: 15 * 1024 * 1024,
            max_streams: proto::SERVER_STREAMS,
            datagrams: Datagrams::Off,
            idle_timeout: Duration::from_secs(75),
            keep_alive: None,
            address_validation: AddressValidation::ByHandshake,
            listening: None,
            memory: ServerMemory::default(),
            seed: None,
        }
    }
}

impl QuicSettings {
    /// A server for the open web: what a client leaves out of its streams, and so everything behind it is kept, stays small.
    pub fn server() -> Self {
        Self { stream_window: 256 * 1024, connection_window: 1024 * 1024, ..Self::default() }
    }

    pub(super) fn transport(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let factory = Factory {
            controller: self.congestion_controller,
            initial_packets: self.initial_window,
        };
        let discovery = match self.mtu_discovery {
            MtuDiscovery::On => Some(MtuDiscoveryConfig::default()),
            MtuDiscovery::Off => None,
        };
        // quinn-proto holds idle time-outs in milliseconds; what does not fit means none.
        let idle = IdleTimeout::try_from(self.idle_timeout).ok();
        config
            .congestion_controller_factory(Arc::new(factory))
            .initial_mtu(self.initial_mtu)
            .mtu_discovery_config(discovery)
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .receive_window(VarInt::from_u32(self.connection_window))
            .send_window(SEND_WINDOW)
            // The machine's scheduler decides; what it hands over goes in that order.
            .send_fairness(false)
            .max_concurrent_bidi_streams(VarInt::from_u32(self.max_streams))
            .max_concurrent_uni_streams(VarInt::from_u32(UNIDIRECTIONAL_STREAMS))
            .datagram_receive_buffer_size(match self.datagrams {
                Datagrams::On => Some(DATAGRAM_BUFFER),
                Datagrams::Off => None,
            })
            .datagram_send_buffer_size(DATAGRAM_BUFFER)
            .max_idle_timeout(idle)
            .keep_alive_interval(self.keep_alive)
            .enable_segmentation_offload(self.gso == Gso::On);
        if let Some(threshold) = self.ack_threshold {
            let mut frequency = AckFrequencyConfig::default();
            frequency.ack_eliciting_threshold(VarInt::from_u32(threshold));
            config.ack_frequency_config(Some(frequency));
        }
        Arc::new(config)
    }

    pub(super) fn endpoint(&self) -> Arc<EndpointConfig> {
        Arc::new(self.endpoint_config())
    }

    /// A server's, and its settings for connections.
    pub(super) fn server_endpoint(
        &self,
        tls: Arc<QuicServerTls>,
    ) -> (Arc<EndpointConfig>, ServerConfig) {
        let mut config = self.endpoint_config();
        let Some(ListeningSocket { address, number }) = self.listening else {
            return (Arc::new(config), ServerConfig::with_crypto(tls));
        };
        let secrets = tls.secrets(address);
        let ids = secrets.connection_ids(number);
        config.reset_key(secrets.reset_key()).cid_generator(move || Box::new(ids.clone()));
        (Arc::new(config), ServerConfig::new(tls, secrets.token_key()))
    }

    fn endpoint_config(&self) -> EndpointConfig {
        let mut config = EndpointConfig::default();
        config.supported_versions(vec![QUIC_VERSION]);
        config.rng_seed(self.seed.map(bytes));
        // A peer with the same settings sends datagrams as large as ours. Below what RFC 9000 §18.2 allows nobody sets it.
        let largest = u16::try_from(config.get_max_udp_payload_size()).unwrap_or(u16::MAX);
        let _out_of_bounds = config.max_udp_payload_size(largest.max(self.initial_mtu));
        config
    }
}

/// Unacknowledged bytes that a connection keeps for retransmission. The congestion window bounds them before.
const SEND_WINDOW: u64 = 64 * 1024 * 1024;

/// Bytes of datagrams that wait, either way. quinn-proto drops the oldest ones beyond that. What arrived is taken at once.
const DATAGRAM_BUFFER: usize = 64 * 1024;

/// HTTP/3 needs three, and grease may open more (RFC 9114 §6.2). quinn-proto makes an entry of each stream that the peer may
/// open as soon as the connection begins: with 100 bidirectional ones these still fit into a table of 128.
const UNIDIRECTIONAL_STREAMS: u32 = 8;

fn bytes(seed: Seed) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, part) in bytes.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&seed.draw(index as u64).to_le_bytes());
    }
    bytes
}

/// The wall clock of TLS, for the ages of tokens.
pub(super) struct WallClock(pub(super) Arc<dyn TimeProvider>);

impl TimeSource for WallClock {
    fn now(&self) -> SystemTime {
        let since_epoch = self.0.current_time().map_or(0, |time| time.as_secs());
        UNIX_EPOCH + Duration::from_secs(since_epoch)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_as_large_as_ours_are_taken_and_those_of_ethernet_always() {
        let taken = |initial_mtu| {
            let settings = QuicSettings { initial_mtu, ..QuicSettings::default() };
            settings.endpoint().get_max_udp_payload_size()
        };
        assert_eq!([taken(1_200), taken(1_472), taken(8_972)], [1_472, 1_472, 8_972]);
    }
}
