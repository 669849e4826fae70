//! A tunnel through an HTTP proxy (RFC 9110 §9.3.6): CONNECT over HTTP/1.1, and the proxy's answer. The one rule: bytes
//! after the head of a 2xx belong to whatever runs in the tunnel, and are left alone.

use crate::failure::Failure;
use endpoint::SendBuf;
use proto::{
    ByteStreamConnection as _, ClientConnection as _, Connection as _, Event, Fields, Fin, Method,
    RequestHead, Scheme, h1,
};
use thiserror::Error;
use trace::Tracer;
use unit::Instant;

/// Why a proxy opened no tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TunnelFailure {
    /// It did not want to, or reached nobody.
    #[error("the proxy answered {status} to CONNECT")]
    Refused {
        /// Its status.
        status: u16,
    },
    /// Its answer broke HTTP/1.1.
    #[error("the proxy's answer to CONNECT: {0}")]
    Broken(proto::Error),
    /// It cannot be asked for a tunnel to this authority.
    #[error("{0}")]
    Unsendable(String),
}

impl From<TunnelFailure> for Failure {
    fn from(failure: TunnelFailure) -> Self {
        Self::Tunnel(failure)
    }
}

/// A tunnel that is being opened.
#[derive(Debug)]
pub struct Tunnel {
    machine: h1::Client,
}

impl Tunnel {
    /// Asks for a tunnel to `authority` (host and port). `authorization` is the value of Proxy-Authorization. An
    /// authority that cannot be sent gives an error.
    pub fn new(
        now: Instant,
        authority: String,
        authorization: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut fields = Fields::new();
        if let Some(authorization) = authorization {
            fields.push(b"proxy-authorization", authorization.as_bytes());
        }
        let connect = RequestHead {
            method: Method::Connect,
            fields,
            ..RequestHead::get(Scheme::Http, authority, "")
        };
        let mut machine = h1::Client::new(now, h1::ClientSettings::default(), Tracer::off());
        match machine.request(now, &connect, Fin::Last) {
            Ok(_) => Ok(Self { machine }),
            Err(refused) => Err(TunnelFailure::Unsendable(refused.to_string()).into()),
        }
    }

    /// Takes the proxy's answer off the front of `input`. Returns whether the tunnel is open now.
    pub(crate) fn handle_bytes(
        &mut self,
        now: Instant,
        input: &mut &[u8],
    ) -> Result<bool, Failure> {
        while let Some(event) = self.machine.handle_bytes(now, input) {
            match event {
                Event::Response { head, .. } => match head.status.code() {
                    200..300 => return Ok(true),
                    status => return Err(TunnelFailure::Refused { status }.into()),
                },
                Event::Closed { error: Some(error) } => {
                    return Err(TunnelFailure::Broken(error).into());
                }
                Event::Closed { error: None } => return Err(Failure::Ended),
                // Informational responses say nothing here.
                _ => {}
            }
        }
        Ok(false)
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut SendBuf, limit: usize) {
        self.machine.poll_transmit(now, out, limit);
    }

    pub(crate) fn wants_transmit(&self) -> bool {
        self.machine.wants_transmit()
    }
}
