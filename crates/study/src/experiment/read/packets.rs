//! The settings that one of TCP and QUIC has alone. The one rule: what a contender's packets cannot follow is refused, or its rows
//! would say that they had.

use super::super::contender::{Negotiation, Transport};
use super::super::file::SettingsFile;
use super::super::first_visit::FirstVisit;
use super::super::terms::Terms;
use super::{ExperimentError, Reader};
use toml::Spanned;

impl Reader<'_> {
    /// What one of TCP and QUIC has alone, and what QUIC cannot be without.
    pub(super) fn packets(
        &self,
        (transport, first_visit): (Transport, FirstVisit),
        given: &SettingsFile,
    ) -> Result<(), ExperimentError> {
        let is_quic = transport.is_over_quic();
        let of_quic = [
            ("mtu_discovery", given.mtu_discovery.as_ref().map(Spanned::span)),
            ("gso", given.gso.as_ref().map(Spanned::span)),
            ("ack_threshold", given.ack_threshold.as_ref().map(Spanned::span)),
        ];
        for (name, span) in of_quic {
            if let Some(span) = span.filter(|_| !is_quic) {
                return Err(
                    self.fault(span, format!("`{name}` is QUIC's, and `{transport}` is over TCP"))
                );
            }
        }
        if let Some(field) = given.pacing.as_ref().filter(|_| is_quic) {
            return Err(self.fault(field.span(), "`pacing` is TCP's: QUIC is always paced"));
        }
        let is_full = given.terms.unwrap_or_default() == Terms::Equal
            && given.mtu.as_ref().map_or(USUAL_MTU, |field| *field.get_ref()) >= USUAL_MTU;
        let discovers = given.mtu_discovery.as_ref().filter(|field| is_full && *field.get_ref());
        if let Some(field) = discovers {
            let words = "on equal terms the first datagrams fill packets of `mtu`, and larger ones than those of 1500 bytes are never \
                tried: `terms = \"as-shipped\"` begins with datagrams of 1200";
            return Err(self.fault(field.span(), words));
        }
        let negotiates =
            given.negotiation.as_ref().filter(|own| *own.get_ref() == Negotiation::Alpn);
        if let Some(field) = negotiates.filter(|_| is_quic) {
            let words =
                format!("over QUIC nothing but `{transport}` is offered: leave `negotiation` away");
            return Err(self.fault(field.span(), words));
        }
        let of_tcp = [
            ("fast_open", given.fast_open.as_ref().map(Spanned::span)),
            ("slow_start_after_idle", given.slow_start_after_idle.as_ref().map(Spanned::span)),
            ("client_nodelay", given.client_nodelay.as_ref().map(Spanned::span)),
            ("server_nodelay", given.server_nodelay.as_ref().map(Spanned::span)),
            ("client_quickack", given.client_quickack.as_ref().map(Spanned::span)),
            ("server_quickack", given.server_quickack.as_ref().map(Spanned::span)),
        ];
        // What finds HTTP/3 over TCP first has settings of both.
        let is_quic_alone = is_quic && !first_visit.uses_tcp();
        for (name, span) in of_tcp {
            if let Some(span) = span.filter(|_| is_quic_alone) {
                return Err(
                    self.fault(span, format!("`{name}` is TCP's, and `{transport}` is over QUIC"))
                );
            }
        }
        match &given.mtu {
            Some(field) if is_quic && *field.get_ref() < LEAST_QUIC_MTU => {
                let words = format!("QUIC needs packets of {LEAST_QUIC_MTU} bytes (RFC 9000 §14)");
                Err(self.fault(field.span(), words))
            }
            _ => Ok(()),
        }
    }
}

/// Ethernet's.
const USUAL_MTU: u32 = 1_500;

/// RFC 9000 §14.1: datagrams of 1,200 bytes, and the headers of IPv4 and UDP.
const LEAST_QUIC_MTU: u32 = 1_228;
