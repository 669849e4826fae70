//! Our client and our origin over HTTP/3, and a path that loses, doubles, reorders and damages datagrams as the input says. What
//! arrives as whole is whole.

use super::origin::{LEFT_OVER, MOST, TLS, origin};
use super::wire::{Fates, Wire};
use crate::heap;
use crate::http_client::url;
use client::{Bodies, Client, ClientConfig, FetchId, FetchList, FetchSpec, HostAddress, Transport};
use secure::ClientTls;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use trace::FetchOutcome;

/// The first byte chooses the settings, the second the lengths of bodies; the fates of datagrams follow.
pub(crate) fn run(input: &[u8]) {
    let Some(([settings, lengths], mut rest)) = input.split_first_chunk() else { return };
    let fates = Fates::read(&mut rest);
    let (client_tls, server_tls) = TLS.with(|tls| (tls.whole.clone(), tls.server.clone()));
    let before = heap::held();
    heap::reset_peak();
    let length = 1_000 << (lengths % 9);
    let near = client(client_tls, length, settings & 3);
    let mut wire = Wire::new(near, origin(*settings, server_tls), fates, MOST, before);
    for _ in 0..WHOLE.as_secs() + 10 {
        wire.sleep(Duration::from_secs(1));
        if wire.is_near_finished() {
            break;
        }
    }
    assert!(wire.is_near_finished(), "the client waits on");
    let list = wire.near().work();
    for fetch in &list.records.fetches {
        if fetch.outcome == FetchOutcome::Done {
            let answer = list.answer(FetchId(fetch.id)).expect("an answer that is done");
            assert_eq!(answer.body.len(), length, "{fetch:?}");
        }
    }
    wire.stop();
    let left = heap::held() - before;
    assert!(left <= LEFT_OVER, "{left} bytes are still held after both ends were dropped");
}

/// A client that asks for some bodies of this length at once.
fn client(tls: ClientTls, length: usize, more: u8) -> Client<FetchList> {
    let mut config = ClientConfig::new(Transport::H3, tls);
    config.hosts.insert_default(FAR_HOST);
    config.timeouts.whole = Some(WHOLE);
    let path = |number| format!("https://a.test/image/{number}?bytes={length}");
    let specs = (0..=more * 3).map(|number| FetchSpec::get(url(&path(number))));
    Client::new(config, FetchList::new(specs, Bodies::Keep))
}

/// What a fetch may take.
const WHOLE: Duration = Duration::from_secs(100);

const FAR_HOST: HostAddress = HostAddress::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
