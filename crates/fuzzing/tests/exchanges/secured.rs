//! Seeds for the origin behind TLS: the same exchanges as without TLS, and what only TLS has.

use fuzzing::script::{Step, write};
use secure::{ClientTls, ClientTlsOptions, Layer, Tls, Trust, Versions};
use std::collections::BTreeMap;
use std::time::Duration;

/// The seeds by name, made of those of the origin without TLS and of some by hand.
pub(crate) fn seeds(clear: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let offers = [("http2", HTTP2), ("spdy31", SPDY), ("spdy3", NO_ALPN)];
    let secured = clear.iter().map(|(name, seed)| {
        let offer = offers.iter().find(|(protocol, _)| name.starts_with(protocol));
        let offer = offer.map_or(HTTP1, |(_, offer)| *offer);
        (name.clone(), with_tls(seed, offer))
    });
    secured.chain(by_hand().into_iter().map(|(name, seed)| (name.to_owned(), seed))).collect()
}

/// The same script with each connection secured.
fn with_tls(seed: &[u8], offer: u8) -> Vec<u8> {
    let (mut open, mut secured) = (Vec::new(), Vec::new());
    write(Step::Open, &mut open);
    write(Step::OpenSecured(offer), &mut secured);
    let mut made = Vec::new();
    let mut rest = seed;
    while !rest.is_empty() {
        match rest.strip_prefix(&open[..]) {
            Some(after) => {
                made.extend_from_slice(&secured);
                rest = after;
            }
            None => made.extend(rest.split_off_first().copied()),
        }
    }
    made
}

fn by_hand() -> [(&'static str, Vec<u8>); 9] {
    use Step::{
        CloseNotify, Cut, Damage, End, Open, OpenSecured, Read, Reset, Send, Sleep, Transmit,
    };
    let (hello, old_hello) = (client_hello(Versions::Any), client_hello(Versions::Tls12));
    // A name that is no host name, which the server replaces (`secure`'s server_name.rs).
    let mut odd_name = hello.clone();
    let at = hello.windows(6).position(|part| part == b"a.test").expect("the name is in clear");
    odd_name[at..at + 6].copy_from_slice(b"a:test");
    // RFC 8446 §5: a change_cipher_spec record, and one that no key opens.
    let no_key_opens = &[b"\x14\x03\x03\0\x01\x01\x17\x03\x03\0\x20", &[7; 32][..]].concat();
    let raw = |hello| script(0, &[Open, Send(hello), Read, Send(no_key_opens), Read]);
    let get = b"GET /a HTTP/1.1\r\nHost: a.test\r\nAccept: text/html\r\n\r\n";
    let large = b"GET /large.bin HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let (http1, slowly) = (OpenSecured(HTTP1), OpenSecured(HTTP1 | SLOWLY));
    let early = [http1, Send(get), Read, Reset, slowly, Send(get), Read, Read];
    let close = [OpenSecured(HTTP1 | TLS_1_2), Send(large), Transmit(4096), CloseNotify, Read, End];
    // rustls asserts that nothing follows its close_notify, where an alert would (`secure::Tls`).
    let last = b"GET /a HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    let damaged_late = [http1, Send(last), Read, Damage(30), Send(get), Read];
    [
        ("damaged_after_the_end", script(0, &damaged_late)),
        ("raw_hello", raw(&hello)),
        ("raw_hello_of_1_2", raw(&old_hello)),
        ("raw_odd_name_in_pieces", script(0, &[Open, Cut(7), Send(&odd_name), Read])),
        ("raw_without_tls", script(0, &[Open, Send(get), Read])),
        ("raw_hello_alone", script(0, &[Open, Send(&hello), Sleep(Duration::from_secs(30))])),
        ("early_data", script(STORED_SESSIONS, &early)),
        ("damaged", script(0, &[http1, Send(get), Read, Damage(30), Send(get), Read])),
        ("close_notify", script(0, &close)),
    ]
}

/// An input: settings of the origin, and a script.
fn script(settings: u8, steps: &[Step<'_>]) -> Vec<u8> {
    let mut input = vec![settings];
    steps.iter().for_each(|step| write(*step, &mut input));
    input
}

/// The first record of a client.
fn client_hello(versions: Versions) -> Vec<u8> {
    let alpn = vec!["h2".to_owned(), "http/1.1".to_owned()];
    let options = ClientTlsOptions { trust: Trust::Anyone, alpn, versions, ..Default::default() };
    let tls = ClientTls::new(options).expect("settings of this file");
    let mut layer = Layer::secured(Tls::client(&tls, "a.test").expect("a host name"));
    let mut out = endpoint::SendBuf::new();
    layer.poll_transmit(&mut out, 1 << 16, |_, _| {});
    out.to_vec()
}

/// The server keeps sessions and takes early data.
const STORED_SESSIONS: u8 = 0x20;

/// What a client offers, as `Step::OpenSecured` says it.
const HTTP2: u8 = 0;
const HTTP1: u8 = 1;
const SPDY: u8 = 2;
const NO_ALPN: u8 = 3;
const TLS_1_2: u8 = 4;
/// The handshake goes on as the script has the client read.
const SLOWLY: u8 = 16;
