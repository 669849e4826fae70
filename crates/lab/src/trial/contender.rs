//! What a contender's settings ask of either end of ours.

use crate::error::CliError;
use endpoint::{Acks, FastOpen, Nagle, SocketSettings};
use secure::{DEFAULT_TICKETS, Resumption, Versions};
use study::experiment::{Contender, Side, Temperature, Tls, Transport};
use transport::Protocol;

/// The protocol of a transport's first bytes. An error where wirelap's own `end`, "client" or "server", has no
/// machine for it: a trial that asks for it is unsupported before it begins.
pub(crate) fn protocol_of(end: &str, transport: Transport) -> Result<Protocol, CliError> {
    raced(transport).ok_or_else(|| CliError::failed(unspoken(end, transport)))
}

/// Why a trial is unsupported whose transport wirelap's own `end` does not speak; None where it does.
pub(crate) fn lacks_machine(end: &str, transport: Transport) -> Option<String> {
    raced(transport).is_none().then(|| unspoken(end, transport))
}

/// What our own ends speak in a trial. HTTP/3 is not yet among it: `serve` and `get` alone have it.
fn raced(transport: Transport) -> Option<Protocol> {
    let protocol = Protocol::try_from(transport.protocol().begins_as()).ok()?;
    (protocol != Protocol::Http3).then_some(protocol)
}

fn unspoken(end: &str, transport: Transport) -> String {
    format!("wirelap's own {end} does not speak {transport} in races")
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
