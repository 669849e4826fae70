//! The opening handshake between our two sides, by the RFC's example, and what breaks it.

use crate::ws::{
    Agreed, ClientHandshake, ClientWindow, DeflateOffer, DeflateParameters, Key, Offer, Refusal,
    ServerHandshake, Via, WindowBits, Wish,
};
use crate::{Error, Fields, Method, RequestHead, ResponseHead, Scheme, Status};

fn offer() -> Offer {
    let deflate =
        DeflateOffer { client_max_window_bits: ClientWindow::Limitable, ..DeflateOffer::default() };
    Offer { subprotocols: vec!["chat".into(), "superchat".into()], deflate: vec![deflate] }
}

fn handshake(via: Via) -> ClientHandshake {
    ClientHandshake::new(via, Key(*b"the sample nonce"), offer())
}

fn request(via: Via) -> RequestHead {
    let head = RequestHead::get(Scheme::Http, "server.example.com", "/chat");
    handshake(via).request(head)
}

fn wish() -> Wish {
    let bits = WindowBits::new(10).unwrap();
    let deflate = DeflateOffer {
        client_max_window_bits: ClientWindow::AtMost(bits),
        ..DeflateOffer::default()
    };
    Wish { subprotocols: vec!["superchat".into()], deflate: Some(deflate) }
}

fn without(fields: &Fields, name: &str) -> Fields {
    let mut rest = Fields::new();
    for field in fields.iter().filter(|field| field.name != name.as_bytes()) {
        rest.push_field(field);
    }
    rest
}

fn with(fields: &Fields, name: &str, value: &str) -> Fields {
    without(fields, name).with(name, value)
}

#[test]
fn the_example_of_the_rfc_opens_a_websocket() {
    // RFC 6455 §1.2, §1.3
    let request = request(Via::Upgrade);
    assert_eq!(request.fields.find_str("sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));
    let (head, _) = ServerHandshake::read(&request).unwrap().accept(&Wish::default());
    assert_eq!(head.status.code(), 101);
    assert_eq!(head.fields.find_str("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(handshake(Via::Upgrade).confirm(&head), Ok(Agreed::default()));
}

#[test]
fn both_sides_agree_on_the_same_by_upgrade_and_by_connect() {
    for via in [Via::Upgrade, Via::Connect] {
        let (head, servers) = ServerHandshake::read(&request(via)).unwrap().accept(&wish());
        let clients = handshake(via).confirm(&head).unwrap();
        assert_eq!(clients, servers);
        assert_eq!(clients.subprotocol.as_deref(), Some("superchat"));
        let agreed = DeflateParameters {
            client_max_window_bits: WindowBits::new(10),
            ..DeflateParameters::default()
        };
        assert_eq!(clients.deflate, Some(agreed));
    }
    let connect = request(Via::Connect);
    assert_eq!((connect.method, connect.protocol.as_deref()), (Method::Connect, Some("websocket")));
    // RFC 8441 §5: no Upgrade, no key.
    assert!(connect.fields.find(b"upgrade").is_none());
    assert!(connect.fields.find(b"sec-websocket-key").is_none());
}

#[test]
fn a_request_that_asks_for_none_or_asks_wrongly_is_refused_by_rule() {
    let right = request(Via::Upgrade);
    let refusal = |fields: Fields, method: Method| {
        let head = RequestHead { fields, method, ..right.clone() };
        ServerHandshake::read(&head).err()
    };
    let fields = &right.fields;
    assert_eq!(refusal(without(fields, "upgrade"), Method::Get), Some(Refusal::NotAsked));
    assert_eq!(refusal(with(fields, "upgrade", "h2c"), Method::Get), Some(Refusal::NotAsked));
    assert_eq!(refusal(fields.clone(), Method::Post), Some(Refusal::NotAsked));
    let version = refusal(with(fields, "sec-websocket-version", "8"), Method::Get).unwrap();
    assert_eq!(version, Refusal::UnknownVersion);
    assert_eq!(version.head().fields.find_str("sec-websocket-version"), Some("13"));
    for broken in [
        without(fields, "sec-websocket-version"),
        without(fields, "sec-websocket-key"),
        with(fields, "sec-websocket-key", "c2hvcnQ="),
        fields.clone().with("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        with(fields, "sec-websocket-extensions", "permessage-deflate; =1"),
    ] {
        let refusal = refusal(broken, Method::Get).unwrap();
        assert_eq!(refusal.head().status.code(), 400, "{refusal:?}");
    }
    assert_eq!(refusal(with(fields, "upgrade", "h2c, WebSocket"), Method::Get), None);
}

#[test]
fn an_answer_that_breaks_a_rule_or_says_no_opens_nothing() {
    let (right, _) = ServerHandshake::read(&request(Via::Upgrade)).unwrap().accept(&wish());
    let code = |fields: Fields, status: u16| {
        let head = ResponseHead { status: Status::new(status).unwrap(), fields };
        match handshake(Via::Upgrade).confirm(&head) {
            Err(Error::PeerViolation { code, .. }) => Some(code),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    };
    let fields = &right.fields;
    assert_eq!(code(fields.clone(), 101), None);
    assert_eq!(code(fields.clone(), 404), Some(404));
    assert_eq!(code(fields.clone(), 200), Some(200));
    for broken in [
        without(fields, "upgrade"),
        with(fields, "upgrade", "h2c"),
        without(fields, "sec-websocket-accept"),
        with(fields, "sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOO="),
        with(fields, "sec-websocket-protocol", "tea"),
        fields.clone().with("sec-websocket-protocol", "chat"),
        with(fields, "sec-websocket-extensions", "tea"),
        with(fields, "sec-websocket-extensions", "permessage-deflate, permessage-deflate"),
        with(fields, "sec-websocket-extensions", "permessage-deflate; tea"),
    ] {
        assert_eq!(code(broken.clone(), 101), Some(1002), "{broken:?}");
    }
}
