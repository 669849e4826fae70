//! What a contender's settings ask of either end of ours.

use crate::error::CliError;
use endpoint::{Acks, FastOpen, Nagle, SocketSettings};
use secure::{Resumption, Versions};
use study::experiment::{Contender, Side, Tls, Transport};
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

/// Whether tickets are given and taken; both sides are held to it.
pub(crate) fn resumption(contender: &Contender) -> Resumption {
    if contender.settings.resumption { Resumption::On } else { Resumption::Off }
}
