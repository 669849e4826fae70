//! The workload `echo` of an experiment's file, and what belongs to WebSockets alone. The one rule: what a transport
//! cannot do is refused, or its rows would say that it had.

use super::super::contender::Negotiation;
use super::super::contender::Transport;
use super::super::echo::{EchoPattern, EchoWorkload};
use super::super::file::{ContenderFile, PatternFile, SettingsFile, WorkloadFile};
use super::super::side::Side;
use super::super::workload::{Workload, WorkloadKind};
use super::{ExperimentError, Reader};
use std::ops::Range;
use toml::Spanned;
use unit::ByteSize;

impl Reader<'_> {
    pub(super) fn echoes(
        &self,
        file: WorkloadFile,
        span: &Range<usize>,
    ) -> Result<Vec<Workload>, ExperimentError> {
        let pattern = match &file.pattern {
            None => return Err(self.fault(span.clone(), "an echo needs `pattern`")),
            Some(field) => match field.get_ref() {
                PatternFile::Serial => EchoPattern::Serial,
                PatternFile::Parallel => EchoPattern::Parallel,
                PatternFile::Staggered => {
                    let message = "an echo's pattern is \"serial\" or \"parallel\"";
                    return Err(self.fault(field.span(), message));
                }
            },
        };
        let counts = self.counts(&file, span)?;
        let bytes: Vec<Option<ByteSize>> = match &file.bytes {
            None => vec![None],
            Some(field) => {
                let sizes = self.sizes(&file, "a message", span)?;
                if !sizes.iter().all(|size| (1..=LARGEST_MESSAGE.0).contains(&size.0.0)) {
                    let message = format!("a message has from 1 octet to {LARGEST_MESSAGE}");
                    return Err(self.fault(field.span(), message));
                }
                sizes.into_iter().map(|size| Some(size.0)).collect()
            }
        };
        let echoes = counts.into_iter().flat_map(|count| {
            bytes.iter().map(move |bytes| EchoWorkload { pattern, count, bytes: *bytes })
        });
        Ok(echoes.map(Workload::echo).collect())
    }

    /// Whether a contender can do every workload.
    pub(super) fn carries(
        &self,
        contender: &ContenderFile,
        workloads: &[Workload],
    ) -> Result<(), ExperimentError> {
        let other =
            workloads.iter().find(|workload| !matches!(workload.kind, WorkloadKind::Echo(_)));
        match (contender.transport.get_ref(), other) {
            (Transport::WebSocket, Some(workload)) => {
                let message = format!(
                    "the transport `ws` carries the kind \"echo\" alone, and the workload `{}` is another",
                    workload.name
                );
                Err(self.fault(contender.transport.span(), message))
            }
            _ => Ok(()),
        }
    }

    /// The client's side and the server's.
    pub(super) fn sides(
        &self,
        transport: Transport,
        given: &SettingsFile,
    ) -> Result<(Side, Side), ExperimentError> {
        match transport {
            Transport::WebSocket => self.one_connection(given)?,
            _ => self.nothing_of_web_sockets(given)?,
        }
        let usual = Side::default();
        let of = |field: &Option<Spanned<bool>>| field.as_ref().map(|field| *field.get_ref());
        let client = Side {
            nodelay: given.client_nodelay.unwrap_or(usual.nodelay),
            quickack: given.client_quickack.unwrap_or(usual.quickack),
            writes: self.writes("client_writes", &given.client_writes)?,
            deflate: of(&given.client_deflate).unwrap_or(usual.deflate),
        };
        let server = Side {
            nodelay: given.server_nodelay.unwrap_or(usual.nodelay),
            quickack: given.server_quickack.unwrap_or(usual.quickack),
            writes: self.writes("server_writes", &given.server_writes)?,
            deflate: of(&given.server_deflate).unwrap_or(usual.deflate),
        };
        Ok((client, server))
    }

    fn writes(&self, what: &str, field: &Option<Spanned<u32>>) -> Result<u32, ExperimentError> {
        match field.as_ref().map(|field| (*field.get_ref(), field)) {
            None => Ok(Side::default().writes),
            Some((writes @ 1..=2, _)) => Ok(writes),
            Some((_, field)) => {
                let message = format!("`{what}` is 1 (together) or 2 (header, then payload)");
                Err(self.fault(field.span(), message))
            }
        }
    }

    /// Frames and their compression are WebSocket's.
    fn nothing_of_web_sockets(&self, given: &SettingsFile) -> Result<(), ExperimentError> {
        let fields = [
            ("client_writes", given.client_writes.as_ref().map(Spanned::span)),
            ("server_writes", given.server_writes.as_ref().map(Spanned::span)),
            ("client_deflate", given.client_deflate.as_ref().map(Spanned::span)),
            ("server_deflate", given.server_deflate.as_ref().map(Spanned::span)),
        ];
        match fields.into_iter().find_map(|(field, span)| Some((field, span?))) {
            Some((field, span)) => {
                Err(self.fault(span, format!("`{field}` belongs to the transport \"ws\"")))
            }
            None => Ok(()),
        }
    }

    /// A WebSocket is one connection, opened once, by HTTP/1.1.
    fn one_connection(&self, given: &SettingsFile) -> Result<(), ExperimentError> {
        let several = given.connections.as_ref().filter(|field| *field.get_ref() > 1);
        let closes = given.keep_alive.as_ref().filter(|field| !*field.get_ref());
        let asks = given.negotiation.as_ref().filter(|field| *field.get_ref() == Negotiation::Alpn);
        let span = several.map(Spanned::span).or(closes.map(Spanned::span));
        if let Some(span) = span {
            return Err(self.fault(span, "a WebSocket is one connection that is kept"));
        }
        match asks {
            Some(field) => Err(self.fault(
                field.span(),
                "a WebSocket is opened by HTTP/1.1, and nothing else is offered",
            )),
            None => Ok(()),
        }
    }
}

/// Small messages are what is asked about: one lies in memory several times.
const LARGEST_MESSAGE: ByteSize = ByteSize(1_000_000);
