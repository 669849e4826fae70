//! The arms: what is spoken, and by which machine.

use crate::machine::Machine;
use proto::Scheme;
use trace::SpokenProtocol;
use transport::{ClientByteStream, ClientMachine, Failure, Role, ServerByteStream, ServerMachine};
use unit::Instant;

/// Its name in ALPN.
pub(crate) const ALPN: &str = "toy/1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Toy;

impl From<Toy> for SpokenProtocol {
    fn from(_: Toy) -> Self {
        Self::from_name(ALPN)
    }
}

/// The protocol, where TLS agreed on its name or there is no TLS.
fn choose(alpn: Option<Option<&[u8]>>) -> Option<Toy> {
    alpn.is_none_or(|chosen| chosen == Some(ALPN.as_bytes())).then_some(Toy)
}

pub(crate) struct ToyClient;

impl Role for ToyClient {
    type Machine = ClientMachine;
    type ByteStream = dyn ClientByteStream;
    type Protocol = Toy;

    fn choose(&self, alpn: Option<Option<&[u8]>>, _: &[u8]) -> Result<Option<Toy>, Failure> {
        let chosen = alpn.flatten().map(|name| String::from_utf8_lossy(name).into_owned());
        choose(alpn).map(Some).ok_or(Failure::NoAgreement { chosen })
    }

    fn machine(&self, _: Instant, _: Toy, scheme: Scheme) -> Option<Box<dyn ClientByteStream>> {
        Some(Box::new(Machine::new(scheme)))
    }

    fn application(machine: &Self::ByteStream) -> &ClientMachine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut ClientMachine {
        machine
    }
}

pub(crate) struct ToyServer;

impl Role for ToyServer {
    type Machine = ServerMachine;
    type ByteStream = dyn ServerByteStream;
    type Protocol = Toy;

    fn choose(&self, alpn: Option<Option<&[u8]>>, _: &[u8]) -> Result<Option<Toy>, Failure> {
        choose(alpn).map(Some).ok_or(Failure::UnknownProtocol)
    }

    fn machine(&self, _: Instant, _: Toy, scheme: Scheme) -> Option<Box<dyn ServerByteStream>> {
        Some(Box::new(Machine::new(scheme)))
    }

    fn application(machine: &Self::ByteStream) -> &ServerMachine {
        machine
    }

    fn application_mut(machine: &mut Self::ByteStream) -> &mut ServerMachine {
        machine
    }
}
