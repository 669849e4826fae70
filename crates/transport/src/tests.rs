//! Client and server against each other, in memory.

#![allow(clippy::unwrap_used)]

use super::*;
use endpoint::SendBuf;
use proptest::prelude::*;
use proto::{Event, Fin, RequestHead, ResponseHead, Scheme, Status};
use secure::{
    Authority, AuthoritySpec, ClientTls, ClientTlsOptions, ServerTls, ServerTlsOptions, TlsError,
};
use std::rc::Rc;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

const NOW: Instant = Instant::ZERO;

/// Asks once, and notes what comes.
#[derive(Debug, Default)]
struct Asker {
    ready: Option<Protocol>,
    status: Option<Status>,
    body: Vec<u8>,
    is_whole: bool,
    closed: Option<Option<proto::Error>>,
}

impl Handler<Client> for Asker {
    fn handle_ready(&mut self, machine: &mut ClientMachine, negotiated: Negotiated<'_, Protocol>) {
        assert_eq!(self.ready.replace(negotiated.protocol), None, "it is ready once");
        let scheme = if negotiated.tls.is_some() { Scheme::Https } else { Scheme::Http };
        machine.request(NOW, &RequestHead::get(scheme, "a.test", "/x"), Fin::Last).unwrap();
    }

    fn handle_event(&mut self, machine: &mut ClientMachine, event: Event<'_>) {
        assert!(self.ready.is_some(), "no event comes before it is ready");
        match event {
            Event::Response { head, .. } => self.status = Some(head.status),
            Event::Data { stream, data, fin } => {
                self.body.extend_from_slice(data);
                machine.consume(stream, data.len());
                self.is_whole |= fin == Fin::Last;
            }
            Event::Closed { error } => self.closed = Some(error),
            _ => {}
        }
    }
}

/// Answers each request with a body of its own length.
#[derive(Debug)]
struct Answerer {
    body: usize,
    scheme: Option<Scheme>,
    ready: Option<Protocol>,
    requests: usize,
}

impl Handler<Server> for Answerer {
    fn handle_ready(&mut self, _: &mut ServerMachine, negotiated: Negotiated<'_, Protocol>) {
        assert_eq!(self.ready.replace(negotiated.protocol), None, "it is ready once");
    }

    fn handle_event(&mut self, machine: &mut ServerMachine, event: Event<'_>) {
        if let Event::Request { stream, head, .. } = event {
            self.requests += 1;
            self.scheme = Some(head.scheme);
            let mut answer = ResponseHead::new(Status::OK);
            answer.fields.push(b"content-length", self.body.to_string().as_bytes());
            machine.respond(stream, &answer, Fin::More).unwrap();
            machine.send(stream, vec![b'x'; self.body].into(), Fin::Last).unwrap();
        }
    }
}

#[derive(Clone)]
struct Certificates {
    client: ClientTls,
    server: ServerTls,
}

impl Certificates {
    fn new(offered: &[String], spoken: &[Protocol]) -> Self {
        let authority = Authority::new(AuthoritySpec::default()).unwrap();
        let mut server = ServerTlsOptions::new(vec![authority.issue(&["a.test"]).unwrap()]);
        server.alpn = spoken.iter().map(|protocol| protocol.alpn().to_owned()).collect();
        let client = ClientTlsOptions {
            roots: vec![authority.root_pem()],
            alpn: offered.to_vec(),
            ..Default::default()
        };
        Self { client: ClientTls::new(client).unwrap(), server: ServerTls::new(server).unwrap() }
    }
}

/// Two stacks and the bytes between them.
struct Pair {
    near: Connection<Client>,
    far: Connection<Server>,
    asker: Asker,
    answerer: Answerer,
}

impl Pair {
    fn new(offer: Offer, tls: Option<&Certificates>, body: usize) -> Self {
        Self::with((offer, tls, body), |spec| Connection::open(NOW, spec))
    }

    /// Whose client asks a proxy for a tunnel first.
    fn tunnelled(offer: Offer, tls: Option<&Certificates>, body: usize) -> Self {
        Self::with((offer, tls, body), |spec| {
            let tunnel = Tunnel::new(NOW, "a.test:443".to_owned(), Some("Basic eA=="))?;
            Connection::open_through(NOW, spec, tunnel)
        })
    }

    fn with(
        (offer, tls, body): (Offer, Option<&Certificates>, usize),
        open: impl FnOnce(ClientSpec<'_>) -> Result<Connection<Client>, Failure>,
    ) -> Self {
        let security = match tls {
            None => ClientSecurity::Clear,
            Some(tls) => {
                ClientSecurity::Tls { settings: &tls.client, server_name: "a.test", port: 443 }
            }
        };
        let settings = ClientSettings {
            handshake_timeout: Some(Duration::from_secs(1)),
            ..ClientSettings::new(offer)
        };
        let settings = Rc::new(settings);
        let spec = ClientSpec { security, settings, tracer: Tracer::off() };
        let near = open(spec).unwrap();
        let spoken = offer.known().map_or(Protocol::ALL.to_vec(), |only| vec![only]);
        let settings = Rc::new(ServerSettings::new(spoken));
        let spec = ServerSpec { tls: tls.map(|tls| &tls.server), settings, tracer: Tracer::off() };
        let far = Connection::accept(NOW, spec).unwrap();
        let answerer = Answerer { body, scheme: None, ready: None, requests: 0 };
        Self { near, far, asker: Asker::default(), answerer }
    }

    fn connect(&mut self) {
        self.near.handle_connected(NOW, &mut self.asker).unwrap();
    }

    /// Carries what the client has to send in pieces of `size`.
    fn there(&mut self, size: usize) -> Result<usize, Failure> {
        let mut wire = SendBuf::new();
        self.near.poll_transmit(NOW, &mut wire, 65_536);
        for piece in wire.to_vec().chunks(size) {
            self.far.handle_bytes(NOW, piece, &mut self.answerer)?;
        }
        Ok(wire.len())
    }

    fn back(&mut self, size: usize) -> Result<usize, Failure> {
        let mut wire = SendBuf::new();
        self.far.poll_transmit(NOW, &mut wire, 65_536);
        self.far.drain_events(NOW, &mut self.answerer);
        for piece in wire.to_vec().chunks(size) {
            self.near.handle_bytes(NOW, piece, &mut self.asker)?;
        }
        Ok(wire.len())
    }

    /// Until neither has anything to send.
    fn run(&mut self, sizes: (usize, usize)) -> Result<(), Failure> {
        while self.there(sizes.0)? + self.back(sizes.1)? > 0 {}
        Ok(())
    }
}

/// Each protocol over a byte stream alone. HTTP/3 is tested over QUIC (`tests/quic`).
fn single() -> impl Iterator<Item = Offer> {
    Protocol::ALL.into_iter().filter(|one| *one != Protocol::Http3).map(Offer::Only)
}

fn exchange(offer: Offer, tls: Option<&Certificates>, body: usize, sizes: (usize, usize)) {
    let mut pair = Pair::new(offer, tls, body);
    assert_eq!(pair.near.phase(), Phase::Connecting);
    assert!(!pair.near.wants_transmit(), "there is no socket yet");
    pair.connect();
    pair.run(sizes).unwrap();
    let expected = offer.known();
    assert_eq!(pair.asker.ready, expected, "{offer:?}");
    assert_eq!(pair.answerer.ready, expected, "{offer:?}");
    assert_eq!(pair.asker.status, Some(Status::OK));
    assert_eq!((pair.asker.body.len(), pair.asker.is_whole), (body, true), "{offer:?}");
    assert_eq!(pair.near.traffic().sent, pair.far.traffic().received);
    assert_eq!(pair.far.traffic().sent, pair.near.traffic().received);
}

#[test]
fn every_protocol_is_spoken_in_the_clear_and_over_tls() {
    for offer in single() {
        exchange(offer, None, 100_000, (usize::MAX, usize::MAX));
        let tls = Certificates::new(&offer.alpn(), &offer.protocols().collect::<Vec<_>>());
        exchange(offer, Some(&tls), 100_000, (usize::MAX, usize::MAX));
    }
}

#[test]
fn requests_over_tls_are_made_under_https() {
    for offer in single() {
        let tls = Certificates::new(&offer.alpn(), &offer.protocols().collect::<Vec<_>>());
        for (tls, expected) in [(None, Scheme::Http), (Some(&tls), Scheme::Https)] {
            let mut pair = Pair::new(offer, tls, 1);
            pair.connect();
            pair.run((usize::MAX, usize::MAX)).unwrap();
            assert_eq!(pair.answerer.scheme, Some(expected), "{offer:?}");
        }
    }
}

#[test]
fn the_server_chooses_by_alpn_from_what_is_offered() {
    for (spoken, chosen) in [
        (&[Protocol::Http2, Protocol::Http1][..], Protocol::Http2),
        (&[Protocol::Http1][..], Protocol::Http1),
        (&[][..], Protocol::Http1),
    ] {
        let tls = Certificates::new(&Offer::OrHttp1(Protocol::Http2).alpn(), spoken);
        let mut pair = Pair::new(Offer::OrHttp1(Protocol::Http2), Some(&tls), 10);
        pair.connect();
        pair.run((usize::MAX, usize::MAX)).unwrap();
        assert_eq!((pair.asker.ready, pair.answerer.ready), (Some(chosen), Some(chosen)));
        let agreed = pair.near.negotiated().unwrap().tls.unwrap();
        assert_eq!(agreed.version(), trace::TlsVersion::V1_3);
    }
}

#[test]
fn an_offer_that_the_server_does_not_speak_fails_on_both_sides() {
    // rustls as a server answers with an alert.
    let tls = Certificates::new(&Offer::Only(Protocol::Http2).alpn(), &[Protocol::Http1]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http2), Some(&tls), 10);
    pair.connect();
    let failure = pair.there(usize::MAX).unwrap_err();
    assert!(matches!(failure, Failure::Handshake(_)), "{failure:?}");
    assert_eq!(pair.far.phase(), Phase::Closing, "it owes the alert");
    let failure = pair.back(usize::MAX).unwrap_err();
    assert!(matches!(failure, Failure::Handshake(TlsError::Alert { .. })), "{failure:?}");
    assert_eq!(pair.far.phase(), Phase::Closed);
}

#[test]
fn a_server_without_alpn_is_no_answer_to_an_offer_of_http2_alone() {
    let tls = Certificates::new(&Offer::Only(Protocol::Http2).alpn(), &[]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http2), Some(&tls), 10);
    pair.connect();
    let failure = pair.run((usize::MAX, usize::MAX)).unwrap_err();
    assert_eq!(failure, Failure::NoAgreement { chosen: None });
    assert!(pair.near.timings().secured.is_some(), "TLS was done all the same");
    assert!(pair.near.machine().is_none());
}

#[test]
fn bytes_of_no_known_protocol_get_no_answer() {
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), None, 10);
    let failure = pair.far.handle_bytes(NOW, b"HELO there\r\n", &mut pair.answerer).unwrap_err();
    assert_eq!(failure, Failure::UnknownProtocol);
    assert_eq!(pair.far.phase(), Phase::Closed);
}

#[test]
fn a_server_waits_until_the_first_bytes_tell_the_protocol() {
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), None, 10);
    assert_eq!(pair.far.phase(), Phase::Recognising { seen: 0 });
    pair.far.handle_bytes(NOW, b"PRI * HT", &mut pair.answerer).unwrap();
    assert_eq!(pair.far.phase(), Phase::Recognising { seen: 8 });
    assert_eq!(pair.answerer.ready, None);
    pair.far.handle_bytes(NOW, b"TP/2.0\r\n\r\nSM\r\n\r\n", &mut pair.answerer).unwrap();
    assert_eq!((pair.far.phase(), pair.answerer.ready), (Phase::Ready, Some(Protocol::Http2)));
}

#[test]
fn a_name_that_no_certificate_can_be_valid_for_is_refused_before_the_connect() {
    let tls = Certificates::new(&[], &[]);
    let spec = ClientSpec {
        security: ClientSecurity::Tls { settings: &tls.client, server_name: "no name", port: 443 },
        settings: Rc::new(ClientSettings::new(Offer::Only(Protocol::Http1))),
        tracer: Tracer::off(),
    };
    let failure = Connection::<Client>::open(NOW, spec).unwrap_err();
    assert!(matches!(failure, Failure::Name(TlsError::BadName(_))), "{failure:?}");
}

#[test]
fn each_phase_has_its_own_end_when_time_is_up() {
    let late = NOW + Duration::from_secs(1);
    let tls = Certificates::new(&[], &[]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    assert_eq!(pair.near.poll_timeout(), Some(late));
    pair.near.handle_timeout(NOW, &mut pair.asker).unwrap();
    let failure = pair.near.handle_timeout(late, &mut pair.asker).unwrap_err();
    assert_eq!(failure, Failure::TimedOut { phase: Phase::Connecting });
    assert_eq!(pair.near.poll_timeout(), None);
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    pair.connect();
    let failure = pair.near.handle_timeout(late, &mut pair.asker).unwrap_err();
    assert_eq!(failure, Failure::TimedOut { phase: Phase::Securing });
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    pair.connect();
    pair.run((usize::MAX, usize::MAX)).unwrap();
    assert_eq!(pair.near.poll_timeout(), None, "it was ready in time");
}

#[test]
fn an_end_is_judged_by_the_phase_in_which_it_comes() {
    let tls = Certificates::new(&[], &[]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    pair.connect();
    let failure = pair.near.handle_eof(NOW, Truncation::Fails, &mut pair.asker).unwrap_err();
    assert_eq!(failure, Failure::Handshake(TlsError::ClosedInHandshake));

    let mut pair = Pair::new(Offer::Only(Protocol::Http1), None, 10);
    let ended = pair.far.handle_eof(NOW, Truncation::Ignored, &mut pair.answerer);
    assert_eq!((ended, pair.far.phase()), (Err(Failure::Ended), Phase::Closed));

    // After the response, without a close_notify.
    for (truncation, expected) in
        [(Truncation::Fails, Err(Failure::Tls(TlsError::Truncated))), (Truncation::Ignored, Ok(()))]
    {
        let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
        pair.connect();
        pair.run((usize::MAX, usize::MAX)).unwrap();
        assert_eq!(pair.near.handle_eof(NOW, truncation, &mut pair.asker), expected);
        assert_eq!(pair.asker.closed.is_some(), expected.is_ok(), "the machine hears of an end");
    }
}

#[test]
fn garbage_instead_of_records_fails_tls_in_each_phase() {
    let tls = Certificates::new(&[], &[]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    pair.connect();
    let failure = pair.near.handle_bytes(NOW, b"220 smtp", &mut pair.asker).unwrap_err();
    assert!(matches!(failure, Failure::Handshake(TlsError::PeerViolation { .. })), "{failure:?}");
    let mut pair = Pair::new(Offer::Only(Protocol::Http1), Some(&tls), 10);
    pair.connect();
    pair.run((usize::MAX, usize::MAX)).unwrap();
    let failure = pair.near.handle_bytes(NOW, &[0x17; 40], &mut pair.asker).unwrap_err();
    assert!(matches!(failure, Failure::Tls(TlsError::PeerViolation { .. })), "{failure:?}");
    // The alert is owed, and nothing else.
    let mut wire = SendBuf::new();
    pair.near.poll_transmit(NOW, &mut wire, 65_536);
    assert!(!wire.is_empty());
    assert_eq!(pair.near.phase(), Phase::Closed);
}

#[test]
fn close_sends_the_last_words_and_close_notify() {
    let tls = Certificates::new(&Offer::Only(Protocol::Http2).alpn(), &[Protocol::Http2]);
    let mut pair = Pair::new(Offer::Only(Protocol::Http2), Some(&tls), 10);
    pair.connect();
    pair.run((usize::MAX, usize::MAX)).unwrap();
    proto::Connection::shutdown(pair.near.machine().unwrap(), NOW);
    pair.near.close();
    assert_eq!(pair.near.phase(), Phase::Closing);
    assert!(pair.near.poll_wants_transmit() && !pair.near.poll_wants_transmit());
    pair.there(usize::MAX).unwrap();
    assert_eq!(pair.near.phase(), Phase::Closed);
    assert!(pair.far.peer_closed());
    pair.near.handle_bytes(NOW, b"anything", &mut pair.asker).unwrap();
    assert_eq!(pair.near.phase(), Phase::Closed, "what still arrives is ignored");
}

#[test]
fn bytes_of_a_body_may_be_received_elsewhere_in_the_clear_only() {
    for secured in [false, true] {
        let tls = secured.then(|| Certificates::new(&[], &[]));
        let mut pair = Pair::new(Offer::Only(Protocol::Http1), tls.as_ref(), 10);
        pair.connect();
        while pair.asker.status.is_none() {
            pair.there(usize::MAX).unwrap();
            let mut wire = SendBuf::new();
            pair.far.poll_transmit(NOW, &mut wire, 65_536);
            let bytes = wire.to_vec();
            let kept = if secured { bytes.len() } else { bytes.len() - 10 };
            pair.near.handle_bytes(NOW, &bytes[..kept], &mut pair.asker).unwrap();
        }
        let left = pair.near.expected_body().map(|(_, left)| left);
        assert_eq!(left, (!secured).then_some(10));
        if !secured {
            assert_eq!(pair.near.body_received(NOW, 4), Fin::More);
            assert_eq!(pair.near.body_received(NOW, 6), Fin::Last);
            assert_eq!(pair.near.traffic().received, pair.far.traffic().sent);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn how_the_bytes_are_cut_changes_nothing(there in 1usize..300, back in 1usize..3000) {
        for offer in single() {
            exchange(offer, None, 20_000, (there, back));
            let tls = Certificates::new(&offer.alpn(), &offer.protocols().collect::<Vec<_>>());
            exchange(offer, Some(&tls), 20_000, (there, back));
        }
    }
}

#[test]
fn whatever_is_spoken_runs_in_a_tunnel_once_the_proxy_has_opened_it() {
    let offer = Offer::Only(Protocol::Http2);
    let tls = Certificates::new(&offer.alpn(), &[Protocol::Http2]);
    for tls in [None, Some(&tls)] {
        let mut pair = Pair::tunnelled(offer, tls, 5_000);
        pair.connect();
        let mut wire = SendBuf::new();
        pair.near.poll_transmit(NOW, &mut wire, 65_536);
        let asked = "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nproxy-authorization: Basic eA==\r\n\r\n";
        assert_eq!(String::from_utf8(wire.to_vec()).unwrap(), asked);
        assert!(!pair.near.wants_transmit() && pair.near.phase() == Phase::Tunnelling);
        // A hint, and an answer whose Content-Length does not count (RFC 9110 §9.3.6), byte by byte.
        let answer = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
        for byte in answer.chunks(1) {
            assert_eq!(pair.near.phase(), Phase::Tunnelling);
            pair.near.handle_bytes(NOW, byte, &mut pair.asker).unwrap();
        }
        pair.run((7, 11)).unwrap();
        assert_eq!((pair.asker.body.len(), pair.asker.is_whole), (5_000, true));
    }
}

#[test]
fn bytes_right_behind_a_proxys_answer_are_the_servers() {
    let mut pair = Pair::tunnelled(Offer::Only(Protocol::Http2), None, 1);
    pair.connect();
    let mut wire = SendBuf::new();
    pair.near.poll_transmit(NOW, &mut wire, 65_536);
    // The answer, and an empty SETTINGS frame in the same packet.
    let both = b"HTTP/1.1 200 OK\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    pair.near.handle_bytes(NOW, both, &mut pair.asker).unwrap();
    pair.near.poll_transmit(NOW, &mut wire, 65_536);
    let ack = b"\0\0\0\x04\x01\0\0\0\0";
    assert!(wire.to_vec().windows(ack.len()).any(|bytes| bytes == ack), "{wire:?}");
}

#[test]
fn a_tunnel_that_is_not_opened_says_why() {
    let begun = || {
        let mut pair = Pair::tunnelled(Offer::Only(Protocol::Http1), None, 1);
        pair.connect();
        pair
    };
    let refused = |answer: &[u8]| {
        let mut pair = begun();
        let mut wire = SendBuf::new();
        pair.near.poll_transmit(NOW, &mut wire, 65_536);
        let failure = pair.near.handle_bytes(NOW, answer, &mut pair.asker).unwrap_err();
        assert_eq!(pair.near.phase(), Phase::Closed, "{failure:?}");
        failure
    };
    let of_status = |status| Failure::Tunnel(TunnelFailure::Refused { status });
    let answer = b"HTTP/1.1 407 No\r\nContent-Length: 100\r\n\r\n";
    assert_eq!(refused(answer), of_status(407));
    assert_eq!(refused(b"HTTP/1.1 304 No\r\n\r\n"), of_status(304));
    let broken = refused(b"SSH-2.0-x\r\n\r\n");
    assert!(matches!(broken, Failure::Tunnel(TunnelFailure::Broken(_))), "{broken:?}");

    let mut pair = begun();
    let failure = pair.near.handle_eof(NOW, Truncation::Fails, &mut pair.asker).unwrap_err();
    assert_eq!(failure, Failure::Ended);
    let mut pair = begun();
    let late = NOW + Duration::from_secs(1);
    let failure = pair.near.handle_timeout(late, &mut pair.asker).unwrap_err();
    assert_eq!(failure, Failure::TimedOut { phase: Phase::Tunnelling });
    let failure = Tunnel::new(NOW, "a b".to_owned(), None).unwrap_err();
    assert!(matches!(failure, Failure::Tunnel(TunnelFailure::Unsendable(_))), "{failure:?}");
}
