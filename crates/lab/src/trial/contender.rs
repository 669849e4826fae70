//! What a contender's settings ask of either end of ours.

use crate::error::CliError;
use endpoint::{Acks, FastOpen, Nagle, SocketSettings};
use secure::{Resumption, Versions};
use study::experiment::{CongestionControl, Contender, Side, Tls, Transport};
use transport::{CongestionController, MtuDiscovery, Protocol, QuicSettings};

/// The protocol of a transport's first bytes.
pub(crate) fn protocol_of(transport: Transport) -> Result<Protocol, CliError> {
    Protocol::try_from(transport.protocol().begins_as()).map_err(CliError::failed)
}

/// QUIC of either side. What TCP and QUIC both have is equal: packets that fill the contender's MTU and keep their
/// size, the packets of the first round, and the congestion controller.
pub(crate) fn quic_settings(contender: &Contender) -> Result<QuicSettings, CliError> {
    let settings = &contender.settings;
    let initial_mtu = settings.mtu.saturating_sub(IPV4_AND_UDP_HEADERS);
    let congestion_controller = match settings.congestion_control {
        CongestionControl::Cubic => CongestionController::Cubic,
        CongestionControl::Reno => CongestionController::NewReno,
        CongestionControl::Bbr => {
            return Err(CliError::failed("wirelap's own QUIC has cubic and reno, not bbr"));
        }
    };
    Ok(QuicSettings {
        congestion_controller,
        initial_window: settings.initial_window,
        initial_mtu: u16::try_from(initial_mtu).unwrap_or(u16::MAX),
        mtu_discovery: MtuDiscovery::Off,
        stream_window: settings.stream_window.0 as u32,
        connection_window: settings.connection_window.0 as u32,
        ..QuicSettings::default()
    })
}

/// How a side's sockets send and acknowledge.
pub(crate) fn socket_settings(contender: &Contender, side: Side) -> SocketSettings {
    SocketSettings {
        fast_open: if contender.settings.fast_open { FastOpen::On } else { FastOpen::Off },
        nagle: if side.nodelay { Nagle::Off } else { Nagle::On },
        acks: if side.quickack { Acks::Quick } else { Acks::Delayed },
        ..SocketSettings::default()
    }
}

/// Exactly the TLS version that a contender names; both sides are held to it.
pub(crate) fn versions(contender: &Contender) -> Versions {
    match contender.tls {
        Tls::V1_2 => Versions::Tls12,
        Tls::None | Tls::V1_3 => Versions::Tls13,
    }
}

/// Whether tickets are given and taken; both sides are held to it.
pub(crate) fn resumption(contender: &Contender) -> Resumption {
    if contender.settings.resumption { Resumption::On } else { Resumption::Off }
}

/// Bytes of an IPv4 header without options (RFC 791 §3.1) and of UDP's (RFC 768).
const IPV4_AND_UDP_HEADERS: u32 = 20 + 8;
