//! The whole origin behind a UDP listener, under a client that has keys and breaks any rule.

use super::peer::Peer;
use super::tampering::SharedPlan;
use super::wire::{Fates, Wire};
use crate::{heap, server};
use origin::{ListenerKind, Origin};
use quinn_proto::{Dir, StreamId};
use secure::{Authority, AuthoritySpec, ClientTls, ClientTlsOptions, QuicClientTls};
use secure::{Resumption, ServerTls, ServerTlsOptions};
use std::sync::Arc;
use std::time::Duration;
use transport::{AddressValidation, QuicSettings};
use unit::Seed;

/// The first byte chooses the settings. The fates of datagrams follow, then steps: what is done, to which stream, and bytes with
/// their number before them.
pub(crate) fn run(input: &[u8]) {
    let Some((&settings, mut rest)) = input.split_first() else { return };
    let fates = Fates::read(&mut rest);
    let (tls, server_tls) = TLS.with(|tls| (Arc::clone(&tls.client), tls.server.clone()));
    let before = heap::held();
    heap::reset_peak();
    let peer = Peer::new(tls, SharedPlan::default());
    let mut wire = Wire::new(peer, origin(settings, server_tls), fates, MOST, before);
    wire.sleep(Duration::from_millis(50));
    while let Some(step) = Step::read(&mut rest) {
        act(&mut wire, step);
    }
    wire.sleep(Duration::from_secs(200));
    wire.stop();
    let left = heap::held() - before;
    assert!(left <= LEFT_OVER, "{left} bytes are still held after both ends were dropped");
}

/// An origin with these settings, over QUIC.
pub(super) fn origin(settings: u8, tls: ServerTls) -> Origin {
    let address_validation = match settings & 0x10 {
        0 => AddressValidation::ByHandshake,
        _ => AddressValidation::ByRetry,
    };
    let quic = QuicSettings { address_validation, seed: Some(Seed(1)), ..QuicSettings::default() };
    server::origin_on(ListenerKind::Quic(tls, quic), settings)
}

/// What the origin and its client may hold together: the origin's budgets (`server::origin_on`), quinn-proto's buffers for what
/// was not acknowledged and what was not read, and the client's own.
pub(super) const MOST: usize = 48 * 1024 * 1024;

/// Tables that the first run makes and keeps, and sessions.
pub(super) const LEFT_OVER: isize = 8 * 1024 * 1024;

struct Step<'a> {
    what: u8,
    which: u8,
    bytes: &'a [u8],
}

impl<'a> Step<'a> {
    fn read(input: &mut &'a [u8]) -> Option<Self> {
        let [what, which, length] = *input.split_off(..3)? else { return None };
        let length = usize::from(length).min(input.len());
        let bytes = input.split_off(..length).unwrap_or_default();
        Some(Self { what, which, bytes })
    }
}

fn act(wire: &mut Wire<Peer, Origin>, step: Step<'_>) {
    let Step { what, which, bytes } = step;
    let on = |peer: &Peer| -> Option<StreamId> {
        let count = peer.streams.len().max(1);
        peer.streams.keys().nth(usize::from(which) % count).copied()
    };
    match what % 12 {
        0 => wire.act(|peer| {
            let _done = peer.try_open(Dir::Bi, bytes);
        }),
        1 => wire.act(|peer| {
            let _done = peer.try_open(Dir::Uni, bytes);
        }),
        2 => wire.act(|peer| {
            let _done = on(peer).map(|stream| peer.try_write(stream, bytes));
        }),
        3 => wire.act(|peer| {
            let _done = on(peer).map(|stream| peer.finish(stream));
        }),
        4 => wire.act(|peer| {
            let _done = on(peer).map(|stream| peer.reset(stream));
        }),
        // The same bytes many times, as a flood.
        5 => wire.act(|peer| {
            for _ in 0..which {
                if let Some(stream) = peer.try_open(Dir::Bi, bytes) {
                    peer.reset(stream);
                }
            }
        }),
        6 | 7 => wire.act(|peer| peer.send_frames(bytes)),
        8 => wire.inject(bytes.to_vec()),
        9 => wire.act(|peer| peer.close(u32::from(which))),
        // From a microsecond to 17 minutes.
        _ => wire.sleep(Duration::from_micros(1 << (which % 31))),
    }
}

thread_local! {
    /// Made once, because certificates take long.
    pub(super) static TLS: Tls = {
        let authority = Authority::new(AuthoritySpec::default()).expect("the default authority");
        let identity = authority.issue(&["a.test", "b.test"]).expect("a certificate");
        let resumption = Resumption::Early;
        let options = ServerTlsOptions { resumption, ..ServerTlsOptions::new(vec![identity]) };
        let roots = vec![authority.root_pem()];
        let client = ClientTlsOptions { roots, resumption: Resumption::Off, ..Default::default() };
        let client = ClientTls::new(client).expect("the default settings");
        let server = ServerTls::new(options).expect("the default settings");
        Tls { client: client.for_quic("h3").expect("TLS 1.3"), whole: client, server }
    };
}

/// Both sides' settings.
pub(super) struct Tls {
    pub(super) client: Arc<QuicClientTls>,
    pub(super) whole: ClientTls,
    pub(super) server: ServerTls,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request for `/page?images=1000&bytes=5000`, whose document has 70 kB; its fields as literals.
    const REQUEST: &[u8] =
        b"\x01\x2a\x00\x00\xd1\xd7\x50\x06a.test\x51\x1c/page?images=1000&bytes=5000";

    /// Bytes that both ends allocate for each of 100 requests that are reset, after the origin has answered them or before it was asked
    /// for bytes.
    fn made_for_resets(is_answered: bool) -> usize {
        let (client, server) = TLS.with(|tls| (Arc::clone(&tls.client), tls.server.clone()));
        let peer = Peer::new(client, SharedPlan::default());
        let fates = Fates::read(&mut &[][..]);
        let mut wire = Wire::new(peer, origin(0, server), fates, MOST, heap::held());
        wire.sleep(Duration::from_millis(50));
        wire.act(|peer| {
            peer.try_open(Dir::Uni, b"\x00\x04\x00");
        });
        let (before, mut requests) = (heap::allocated(), 0);
        for _ in 0..20 {
            let mut opened = Vec::new();
            wire.act_unheard(|peer| {
                opened.extend((0..5).filter_map(|_| peer.try_open(Dir::Bi, REQUEST)));
            });
            requests += opened.len();
            if is_answered {
                wire.act(|_| {});
            }
            wire.act(|peer| opened.iter().for_each(|stream| peer.reset(*stream)));
            wire.sleep(Duration::from_millis(1));
        }
        assert_eq!(requests, 100);
        let made = heap::allocated() - before;
        wire.stop();
        made / requests
    }

    /// What an attack has made does not depend on the machine, as its time would.
    #[test]
    fn documents_over_quic_whose_requests_are_reset_in_the_same_turn_are_not_made() {
        let (answered, reset) = (made_for_resets(true), made_for_resets(false));
        assert!(answered > 70_000 && reset < answered / 20, "{answered}, {reset}");
    }
}
