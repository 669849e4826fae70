//! What a contender's settings ask of either end of ours.

use crate::error::CliError;
use endpoint::{Acks, FastOpen, Nagle, Pacing, SocketSettings};
use proto::h2;
use secure::{DEFAULT_TICKETS, Resumption, Versions};
use study::experiment::{CongestionControl, Contender, Side, Temperature, Terms, Tls, Transport};
use transport::{CongestionController, Gso, MtuDiscovery, Protocol, QuicSettings};

/// The protocol of a transport's first bytes.
pub(crate) fn protocol_of(transport: Transport) -> Result<Protocol, CliError> {
    Protocol::try_from(transport.protocol().begins_as()).map_err(CliError::failed)
}

/// QUIC of either side. What TCP and QUIC both have is equal: packets that fill the contender's MTU and keep their
/// size, the packets of the first round, and the congestion controller.
pub(crate) fn quic_settings(contender: &Contender) -> QuicSettings {
    let settings = &contender.settings;
    let full = settings.mtu.saturating_sub(IPV4_AND_UDP_HEADERS);
    let initial_mtu = match settings.terms {
        Terms::Equal => u16::try_from(full).unwrap_or(u16::MAX),
        Terms::AsShipped => QuicSettings::default().initial_mtu,
    };
    let congestion_controller = match settings.congestion_control {
        CongestionControl::Cubic => CongestionController::Cubic,
        CongestionControl::Reno => CongestionController::NewReno,
        CongestionControl::Bbr => CongestionController::Bbr,
    };
    QuicSettings {
        congestion_controller,
        initial_window: settings.initial_window,
        initial_mtu,
        mtu_discovery: if settings.mtu_discovery { MtuDiscovery::On } else { MtuDiscovery::Off },
        gso: if settings.gso { Gso::On } else { Gso::Off },
        ack_threshold: settings.ack_threshold,
        stream_window: settings.stream_window.0 as u32,
        connection_window: settings.connection_window.0 as u32,
        ..QuicSettings::default()
    }
}

/// QUIC of our server. The contender's windows are those of its client; uploads have the windows that they have over HTTP/2.
pub(crate) fn server_quic_settings(contender: &Contender) -> QuicSettings {
    let h2::Settings { stream_window, connection_window, .. } = h2::Settings::server();
    QuicSettings { stream_window, connection_window, ..quic_settings(contender) }
}

/// What carried the view that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarriedBy {
    Tcp,
    Quic,
}

/// Whether a contender sends on the terms that TCP and QUIC can share, for its row; None where no QUIC is beside it. Without a link
/// TCP is the host's.
pub(crate) fn terms(contender: &Contender, by: CarriedBy, has_link: bool) -> Option<String> {
    let settings = &contender.settings;
    let is_quic = by == CarriedBy::Quic;
    let own_server = contender.server.is_origin();
    let mut unequal: Vec<&str> = settings.unmatched.iter().map(String::as_str).collect();
    match settings.terms {
        Terms::Equal if !is_quic && !settings.pacing => return None,
        Terms::Equal => {}
        Terms::AsShipped if is_quic && own_server => {
            unequal.push("datagrams begin with 1200 bytes")
        }
        Terms::AsShipped => unequal.push("TCP is not paced"),
    }
    if !has_link {
        unequal.push(
            "without a link the host decides on TCP's packet size, initial window and congestion control",
        );
    }
    if is_quic && settings.mtu_discovery {
        unequal.push("larger packets are tried");
    }
    if is_quic && settings.ack_threshold.is_some() {
        unequal.push("acknowledgements are fewer");
    }
    if settings.congestion_control == CongestionControl::Bbr && own_server {
        unequal.push(match is_quic {
            true => "BBR is quinn-proto's, which is not paced by its rate",
            false => "BBR is the kernel's",
        });
    }
    match (is_quic, own_server) {
        (_, true) => {}
        (true, false) => {
            unequal.push(
                "the server decides on packet size, initial window, congestion control and pacing",
            );
        }
        (false, false) => unequal.push("the server's TCP is not paced"),
    }
    Some(if unequal.is_empty() {
        "equal".to_owned()
    } else {
        format!("unequal: {}", unequal.join("; "))
    })
}

/// How a side's sockets send and acknowledge.
pub(crate) fn socket_settings(contender: &Contender, side: Side) -> SocketSettings {
    SocketSettings {
        fast_open: if contender.settings.fast_open { FastOpen::On } else { FastOpen::Off },
        nagle: if side.nodelay { Nagle::Off } else { Nagle::On },
        acks: if side.quickack { Acks::Quick } else { Acks::Delayed },
        pacing: if contender.settings.pacing { Pacing::On } else { Pacing::Host },
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

/// Whether tickets are given and taken, and whether early data goes; both sides are held to it.
pub(crate) fn resumption(contender: &Contender) -> Resumption {
    match (contender.settings.temperature, contender.settings.resumption) {
        (Temperature::Early, _) => Resumption::Early,
        (Temperature::Cold | Temperature::Resumed | Temperature::Open, true) => Resumption::On,
        (Temperature::Cold | Temperature::Resumed | Temperature::Open, false) => Resumption::Off,
    }
}

/// Tickets that our origin gives after each handshake: where sessions are resumed, one for each connection of the work.
pub(crate) fn tickets(contender: &Contender) -> usize {
    match contender.settings.temperature.resumes() {
        true => DEFAULT_TICKETS.max(contender.settings.connections as usize),
        false => DEFAULT_TICKETS,
    }
}

/// Bytes of an IPv4 header without options (RFC 791 §3.1) and of UDP's (RFC 768).
const IPV4_AND_UDP_HEADERS: u32 = 20 + 8;
