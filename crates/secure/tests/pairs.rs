//! Both ends of TLS in memory, with the bytes cut anywhere.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use endpoint::SendBuf;
use secure::{
    Authority, AuthoritySpec, Ciphers, ClientTls, ClientTlsOptions, Distrust, FixedTime, Identity,
    KeyLog, Layer, Pem, Resumption, ServerTls, ServerTlsOptions, Tls, TlsError, Trust, UnixTime,
    Validity, Versions,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use unit::Seed;

fn authority() -> Authority {
    Authority::new(AuthoritySpec::default()).unwrap()
}

fn trusting(authority: &Authority) -> ClientTlsOptions {
    ClientTlsOptions { roots: vec![authority.root_pem()], ..Default::default() }
}

fn server(authority: &Authority, names: &[&str]) -> ServerTls {
    ServerTls::new(ServerTlsOptions::new(vec![authority.issue(names).unwrap()])).unwrap()
}

/// Gives `bytes` to `tls` in pieces of `step`, and the plaintext back.
fn feed(tls: &mut Tls, bytes: &[u8], step: usize) -> Result<Vec<u8>, TlsError> {
    let mut plain = Vec::new();
    for mut piece in bytes.chunks(step) {
        while let Some(part) = tls.handle_bytes(&mut piece)? {
            plain.extend_from_slice(part);
        }
        assert!(piece.is_empty());
    }
    Ok(plain)
}

/// Carries bytes both ways until both ends are content.
fn shake(near: &mut Tls, far: &mut Tls, step: usize) -> Result<(), TlsError> {
    loop {
        let (mut up, mut down) = (SendBuf::new(), SendBuf::new());
        near.send(&mut SendBuf::new(), &mut up);
        let heard = feed(far, &up.to_vec(), step);
        far.send(&mut SendBuf::new(), &mut down);
        feed(near, &down.to_vec(), step)?;
        heard?;
        if up.is_empty() && down.is_empty() {
            return Ok(());
        }
    }
}

#[test]
fn data_crosses_whatever_the_splits() {
    let authority = authority();
    let (settings, server) =
        (ClientTls::new(trusting(&authority)).unwrap(), server(&authority, &["a.example"]));
    let body: Vec<u8> = (0..100_000_u32).map(|n| ((n * 7) >> 3) as u8).collect();
    for step in [1, 5, 1_000, 16_413, usize::MAX] {
        let mut near = Tls::client(&settings, "a.example").unwrap();
        let mut far = Tls::server(&server).unwrap();
        shake(&mut near, &mut far, step).unwrap();
        let mut plain = SendBuf::new();
        plain.put(b"head");
        plain.put_shared(body.clone().into());
        let mut wire = SendBuf::new();
        while !plain.is_empty() {
            let before = (plain.len(), wire.len());
            near.send(&mut plain, &mut wire);
            assert!(before.0 - plain.len() <= 16_384, "at most one record a call");
        }
        let heard = feed(&mut far, &wire.to_vec(), step).unwrap();
        assert_eq!(&heard[..4], b"head");
        assert_eq!(&heard[4..], body);
        assert!(matches!(far.handle_eof(), Err(TlsError::Truncated)));
        near.close_notify();
        let mut wire = SendBuf::new();
        near.send(&mut SendBuf::new(), &mut wire);
        feed(&mut far, &wire.to_vec(), step).unwrap();
        assert!(far.peer_closed());
        assert_eq!(far.handle_eof(), Ok(()));
    }
}

#[test]
fn a_server_that_has_said_close_notify_ignores_what_comes_after() {
    let authority = authority();
    let (settings, server) =
        (ClientTls::new(trusting(&authority)).unwrap(), server(&authority, &["a.example"]));
    let mut near = Tls::client(&settings, "a.example").unwrap();
    let mut far = Tls::server(&server).unwrap();
    shake(&mut near, &mut far, usize::MAX).unwrap();
    far.close_notify();
    let (mut plain, mut wire) = (SendBuf::new(), SendBuf::new());
    plain.put(b"late");
    near.send(&mut plain, &mut wire);
    let whole = wire.to_vec();
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    for bytes in [damaged, whole] {
        assert_eq!(feed(&mut far, &bytes, usize::MAX), Ok(Vec::new()));
    }
    // Its own last words are close_notify alone.
    let mut last = SendBuf::new();
    far.send(&mut SendBuf::new(), &mut last);
    feed(&mut near, &last.to_vec(), usize::MAX).unwrap();
    assert!(near.peer_closed());
}

#[test]
fn the_versions_and_protocols_agreed_on_are_told() {
    let authority = authority();
    let server = server(&authority, &["a.example"]);
    for (versions, version, cipher) in [
        (Versions::Tls13, "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        (Versions::Tls12, "TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ] {
        let alpn = vec!["spdy/3.1".to_owned(), "http/1.1".to_owned()];
        let settings = ClientTls::new(ClientTlsOptions { versions, alpn, ..trusting(&authority) });
        let mut near = Tls::client(&settings.unwrap(), "a.example").unwrap();
        let mut far = Tls::server(&server).unwrap();
        assert_eq!(near.negotiated(), None);
        shake(&mut near, &mut far, usize::MAX).unwrap();
        let record = near.negotiated().unwrap().record();
        assert_eq!(
            (record.version.name(), &*record.cipher, &*record.alpn),
            (version, cipher, "http/1.1")
        );
        assert_eq!(far.negotiated().unwrap().record(), record);
    }
}

#[test]
fn a_server_that_wants_it_cheap_takes_aes_128_whatever_the_clients_order() {
    let authority = authority();
    let options = ServerTlsOptions {
        ciphers: Ciphers::Cheapest,
        ..ServerTlsOptions::new(vec![authority.issue(&["a.example"]).unwrap()])
    };
    let server = ServerTls::new(options).unwrap();
    for (versions, cipher) in [
        (Versions::Tls13, "TLS_AES_128_GCM_SHA256"),
        (Versions::Tls12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ] {
        let settings = ClientTls::new(ClientTlsOptions { versions, ..trusting(&authority) });
        let mut near = Tls::client(&settings.unwrap(), "a.example").unwrap();
        let mut far = Tls::server(&server).unwrap();
        shake(&mut near, &mut far, usize::MAX).unwrap();
        assert_eq!(near.negotiated().unwrap().cipher(), cipher);
    }
}

#[test]
fn sessions_are_resumed_only_where_both_sides_want_it() {
    let authority = authority();
    let identity = authority.issue(&["a.example"]).unwrap();
    for versions in [Versions::Tls12, Versions::Tls13] {
        for (ours, theirs, expected) in [
            (Resumption::On, Resumption::On, true),
            (Resumption::Off, Resumption::On, false),
            (Resumption::On, Resumption::Off, false),
        ] {
            let options = ClientTlsOptions { versions, resumption: ours, ..trusting(&authority) };
            let client = ClientTls::new(options).unwrap();
            let options = ServerTlsOptions {
                resumption: theirs,
                ..ServerTlsOptions::new(vec![identity.clone()])
            };
            let server = ServerTls::new(options).unwrap();
            for expected in [false, expected] {
                let mut near = Tls::client(&client, "a.example").unwrap();
                let mut far = Tls::server(&server).unwrap();
                shake(&mut near, &mut far, usize::MAX).unwrap();
                let resumed = near.negotiated().unwrap().resumed;
                assert_eq!(resumed, expected, "{versions:?} {ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn a_certificate_for_another_name_is_refused_by_name_and_remedy() {
    let authority = authority();
    let server = server(&authority, &["a.example", "10.0.0.1"]);
    let settings = ClientTls::new(trusting(&authority)).unwrap();
    let fails = |name: &str| {
        let mut near = Tls::client(&settings, name).unwrap();
        shake(&mut near, &mut Tls::server(&server).unwrap(), usize::MAX).unwrap_err()
    };
    let error = fails("b.example");
    assert!(
        matches!(&error, TlsError::Untrusted { reason: Distrust::WrongName { presented }, .. }
        if presented.iter().any(|name| name == "a.example")),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.starts_with("the certificate of b.example is not trusted: it is for a.example, "),
        "{text}"
    );
    assert!(text.ends_with("ask for one of those names, or skip the check with -k"), "{text}");
    assert!(matches!(fails("10.0.0.2"), TlsError::Untrusted { .. }));
    let mut near = Tls::client(&settings, "10.0.0.1").unwrap();
    shake(&mut near, &mut Tls::server(&server).unwrap(), usize::MAX).unwrap();
}

#[test]
fn an_unknown_authority_is_refused_and_both_sides_learn_why() {
    let ours = Authority::new(AuthoritySpec { seed: Seed(2), ..Default::default() }).unwrap();
    let theirs = authority();
    let server = server(&theirs, &["a.example"]);
    for roots in [vec![ours.root_pem()], vec![]] {
        let settings = ClientTls::new(ClientTlsOptions { roots, ..Default::default() }).unwrap();
        let mut near = Tls::client(&settings, "a.example").unwrap();
        let mut far = Tls::server(&server).unwrap();
        let error = shake(&mut near, &mut far, usize::MAX).unwrap_err();
        assert!(error.to_string().contains("unknown authority"), "{error}");
        assert!(error.to_string().contains("-k"), "{error}");
        let mut wire = SendBuf::new();
        near.send(&mut SendBuf::new(), &mut wire);
        let alert = feed(&mut far, &wire.to_vec(), usize::MAX).unwrap_err();
        assert!(alert.to_string().contains("does not trust this side's certificate"), "{alert}");
    }
    let settings = ClientTls::new(ClientTlsOptions { trust: Trust::Anyone, ..Default::default() });
    let mut near = Tls::client(&settings.unwrap(), "another.example").unwrap();
    shake(&mut near, &mut Tls::server(&server).unwrap(), usize::MAX).unwrap();
}

#[test]
fn a_certificate_out_of_its_time_is_refused() {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
    let validity = Validity::around(now);
    let authority = Authority::new(AuthoritySpec { validity, ..Default::default() }).unwrap();
    let server = server(&authority, &["a.example"]);
    let attempt = |days: i64| {
        let then = now.as_secs().saturating_add_signed(days * 86_400);
        let then = UnixTime::since_unix_epoch(Duration::from_secs(then));
        let time = Some(Arc::new(FixedTime(then)) as _);
        let settings = ClientTls::new(ClientTlsOptions { time, ..trusting(&authority) }).unwrap();
        let mut near = Tls::client(&settings, "a.example").unwrap();
        shake(&mut near, &mut Tls::server(&server).unwrap(), usize::MAX)
    };
    assert_eq!(attempt(0), Ok(()));
    let late = attempt(100).unwrap_err().to_string();
    assert!(late.contains("it expired 11 days ago"), "{late}");
    let early = attempt(-3).unwrap_err().to_string();
    assert!(early.contains("it becomes valid only in 2 days"), "{early}");
}

#[test]
fn sni_picks_the_certificate() {
    let authority = authority();
    let identities = ["a.example", "b.example"].map(|name| authority.issue(&[name]).unwrap());
    let server = ServerTls::new(ServerTlsOptions::new(identities.to_vec())).unwrap();
    let settings = ClientTls::new(trusting(&authority)).unwrap();
    for (name, passes) in [("a.example", true), ("b.example", true), ("c.example", false)] {
        let mut near = Tls::client(&settings, name).unwrap();
        let mut far = Tls::server(&server).unwrap();
        assert_eq!(shake(&mut near, &mut far, usize::MAX).is_ok(), passes, "{name}");
    }
}

#[test]
fn no_common_application_protocol_is_an_alert_in_words() {
    let authority = authority();
    let server = server(&authority, &["a.example"]);
    let options = ClientTlsOptions { alpn: vec!["spdy/3.1".into()], ..trusting(&authority) };
    let mut near = Tls::client(&ClientTls::new(options).unwrap(), "a.example").unwrap();
    let error = shake(&mut near, &mut Tls::server(&server).unwrap(), usize::MAX).unwrap_err();
    assert!(
        error.to_string().contains("it speaks none of the protocols offered (ALPN)"),
        "{error}"
    );
}

#[test]
fn a_peer_that_speaks_no_tls_is_named() {
    let settings = ClientTls::new(ClientTlsOptions::default()).unwrap();
    let mut near = Tls::client(&settings, "a.example").unwrap();
    let error = feed(&mut near, b"HTTP/1.1 400 Bad Request\r\n\r\n", usize::MAX).unwrap_err();
    assert!(error.to_string().contains("is it a TLS port?"), "{error}");
    let mut near = Tls::client(&settings, "a.example").unwrap();
    assert_eq!(near.handle_eof(), Err(TlsError::ClosedInHandshake));
    assert!(matches!(Tls::client(&settings, "no name"), Err(TlsError::BadName(_))));
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<String>>);

impl KeyLog for Kept {
    fn line(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

#[test]
fn secrets_go_to_the_key_log_in_its_format() {
    let authority = authority();
    let kept = Arc::new(Kept::default());
    let options = ClientTlsOptions { key_log: Some(kept.clone()), ..trusting(&authority) };
    let mut near = Tls::client(&ClientTls::new(options).unwrap(), "a.example").unwrap();
    let mut far = Tls::server(&server(&authority, &["a.example"])).unwrap();
    shake(&mut near, &mut far, usize::MAX).unwrap();
    let lines = kept.0.lock().unwrap();
    let line = lines.iter().find(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")).unwrap();
    let parts: Vec<&str> = line.split(' ').collect();
    assert_eq!((parts.len(), parts[1].len(), parts[2].len()), (3, 64, 96));
    assert!(parts[1..].iter().all(|part| part.bytes().all(|c| c.is_ascii_hexdigit())));
}

#[test]
fn a_record_size_bounds_the_records() {
    let authority = authority();
    let options = ServerTlsOptions {
        record_size: Some(1_400),
        ..ServerTlsOptions::new(vec![authority.issue(&["a.example"]).unwrap()])
    };
    let mut far = Tls::server(&ServerTls::new(options).unwrap()).unwrap();
    let mut near =
        Tls::client(&ClientTls::new(trusting(&authority)).unwrap(), "a.example").unwrap();
    shake(&mut near, &mut far, usize::MAX).unwrap();
    let (mut plain, mut wire) = (SendBuf::new(), SendBuf::new());
    plain.put(&[7; 10_000]);
    far.send(&mut plain, &mut wire);
    assert!(plain.is_empty());
    let wire = wire.to_vec();
    let mut rest = &wire[..];
    let mut records = 0;
    while let [23, 3, 3, high, low, ..] = *rest {
        let length = 5 + usize::from(u16::from_be_bytes([high, low]));
        assert!(length <= 1_500, "{length}");
        rest = &rest[length..];
        records += 1;
    }
    assert!(rest.is_empty() && records >= 8, "{records}");
}

#[test]
fn pem_errors_name_the_file_and_the_fault() {
    let authority = authority();
    let (one, other) =
        (authority.issue(&["a.example"]).unwrap(), authority.issue(&["b.example"]).unwrap());
    let chain = Pem::new("chain.pem", one.chain_pem());
    let key = Pem::new("key.pem", one.key_pem());
    let says = |chain: &Pem, key: &Pem| Identity::from_pem(chain, key).unwrap_err().to_string();
    assert!(Identity::from_pem(&chain, &key).is_ok());
    assert_eq!(
        says(&chain, &Pem::new("other.pem", other.key_pem())),
        "the private key in other.pem does not belong to the certificate in chain.pem"
    );
    assert!(says(&key, &key).starts_with("key.pem: it holds a private key where a certificate"));
    assert!(says(&Pem::new("x", "hello"), &key).starts_with("x: it holds no certificate"));
    assert!(says(&chain, &Pem::new("x", "hello")).starts_with("x: it holds no private key"));
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert!(says(&chain, &Pem::new("x", locked)).contains("is encrypted"));
    let useless = ClientTlsOptions {
        roots: vec![Pem::new(
            "x",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        )],
        ..Default::default()
    };
    let says_of_roots = ClientTls::new(useless).unwrap_err().to_string();
    assert_eq!(says_of_roots, "x: none of its 1 certificates can be a root");
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(
        says(&Pem::new("x", broken), &key).starts_with("x: the first certificate cannot be used")
    );
}

#[test]
fn a_layer_asks_the_machine_above_for_one_record_at_a_time() {
    let authority = authority();
    let mut far = Tls::server(&server(&authority, &["a.example"])).unwrap();
    let mut near =
        Tls::client(&ClientTls::new(trusting(&authority)).unwrap(), "a.example").unwrap();
    shake(&mut near, &mut far, usize::MAX).unwrap();
    let mut layer = Layer::secured(far);
    let (mut out, mut asked) = (SendBuf::new(), Vec::new());
    layer.poll_transmit(&mut out, 40_000, |plain, limit| {
        asked.push(limit);
        plain.put(&vec![1; limit]);
    });
    assert!(asked.len() >= 3 && asked.iter().all(|&limit| limit <= 16_384), "{asked:?}");
    assert!((40_000..42_000).contains(&out.len()), "{}", out.len());
    assert!(!layer.wants_transmit());
    let heard = feed(&mut near, &out.to_vec(), usize::MAX).unwrap();
    assert_eq!(heard.len(), asked.iter().sum::<usize>());
}

#[test]
fn the_first_records_fit_a_segment_then_three_and_later_ones_are_full() {
    let authority = authority();
    let mut far = Tls::server(&server(&authority, &["a.example"])).unwrap();
    let mut near =
        Tls::client(&ClientTls::new(trusting(&authority)).unwrap(), "a.example").unwrap();
    shake(&mut near, &mut far, usize::MAX).unwrap();
    let mut layer = Layer::secured(far);
    let mut out = SendBuf::new();
    layer.poll_transmit(&mut out, 1_200_000, |plain, limit| plain.put(&vec![1; limit]));
    // RFC 8446 §5.2: five bytes of header, the last two the length of the rest.
    let (wire, mut lengths) = (out.to_vec(), Vec::new());
    let mut rest = &wire[..];
    while let [23, _, _, high, low, body @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        lengths.push(5 + length);
        rest = &body[length..];
    }
    assert!(rest.is_empty(), "{} bytes are no records", rest.len());
    assert!(lengths.iter().take(40).all(|&length| length <= 1_448), "{lengths:?}");
    assert!(lengths.iter().skip(60).take(200).all(|&length| length <= 3 * 1_448), "{lengths:?}");
    assert!(lengths.iter().rev().nth(1).is_some_and(|&length| length > 16_000), "{lengths:?}");
}

#[test]
fn serial_numbers_follow_from_the_seed_and_keys_do_not() {
    let issue = |seed| {
        let authority = Authority::new(AuthoritySpec { seed: Seed(seed), ..Default::default() });
        authority.unwrap().issue(&["a.example"]).unwrap()
    };
    let (one, again, other) = (issue(1), issue(1), issue(2));
    assert_ne!(one.key_pem(), again.key_pem());
    // The serial stands 15 bytes into the certificate: 20 characters of base64 behind the first mark.
    let start = |identity: &Identity| identity.chain_pem()[48..68].to_vec();
    assert_eq!(start(&one), start(&again));
    assert_ne!(start(&one), start(&other));
}

#[test]
fn a_session_is_resumed_with_the_port_that_it_came_from_alone() {
    let authority = authority();
    let server = server(&authority, &["a.example"]);
    for versions in [Versions::Tls12, Versions::Tls13] {
        let settings = ClientTlsOptions { versions, ..trusting(&authority) };
        let settings = ClientTls::new(settings).unwrap();
        let resumed = |port| {
            let mut near = Tls::client(&settings.of_port(port), "a.example").unwrap();
            let mut far = Tls::server(&server).unwrap();
            shake(&mut near, &mut far, usize::MAX).unwrap();
            near.negotiated().unwrap().resumed
        };
        let ports = [443, 8443, 443, 8443];
        assert_eq!(ports.map(resumed), [false, false, true, true], "{versions:?}");
    }
}
