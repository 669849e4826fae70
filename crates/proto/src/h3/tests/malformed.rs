//! Responses that a client may not take (RFC 9114 §4.1.2), and CONNECT without a protocol (§4.4), frame by frame.

use super::hand::{ByHand, SETTINGS, coded, section};
use super::*;
use wire::h3::{ErrorCode, Frame};

/// A client that has asked for something; its own side of the stream is still open.
fn asking(method: Method) -> Client {
    let mut client = client(Settings::client());
    give(&mut client, 3, &[&[0][..], &coded(&[SETTINGS])].concat(), Fin::More);
    let head = match method {
        Method::Connect => connect(),
        method => RequestHead { method, ..get("/") },
    };
    assert_eq!(client.request(NOW, &head, Fin::More), Ok(StreamId(0)));
    client
}

/// RFC 9114 §4.4: neither scheme nor path.
pub(super) fn connect() -> RequestHead {
    RequestHead { method: Method::Connect, ..RequestHead::get(Scheme::Http, "a.test:443", "") }
}

/// What a client asks its transport for.
fn actions(client: &mut Client) -> Vec<StreamAction> {
    while client.poll_stream_transmit(NOW, &mut SendBuf::new(), 1 << 16).is_some() {}
    std::iter::from_fn(|| client.poll_stream_action()).collect()
}

/// The code that a client closes the connection with.
fn closed_with(client: &mut Client) -> Option<ErrorCode> {
    actions(client).into_iter().find_map(|action| match action {
        StreamAction::Close { code, .. } => Some(ErrorCode(code)),
        _ => None,
    })
}

/// Hands these frames to a client that has sent a GET. They are an error of the stream, and the connection lives.
fn is_malformed(frames: &[Frame<'_>], fin: Fin) {
    let mut client = asking(Method::Get);
    actions(&mut client);
    let events = give(&mut client, 0, &coded(frames), fin);
    let told = matches!(events.last(), Some(Owned::Reset(0, Error::PeerViolation { .. })));
    assert!(told, "{frames:?}: {events:?}");
    let (stream, code) = (StreamId(0), ErrorCode::MESSAGE_ERROR.0);
    let asked = actions(&mut client);
    assert!(asked.contains(&StreamAction::Reset { stream, code }), "{frames:?}: {asked:?}");
    // A later response on the same connection comes.
    let next = client.request(NOW, &get("/next"), Fin::Last).unwrap();
    let head = section(&[(":status", "200")]);
    let events = give(&mut client, next.0, &coded(&[Frame::Headers(&head)]), Fin::Last);
    assert!(matches!(events[..], [Owned::Response(4, _, Fin::Last)]), "{frames:?}: {events:?}");
}

#[test]
fn a_malformed_response_resets_its_stream_with_h3_message_error() {
    for fields in [
        &[("x", "y")][..],
        &[],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "")],
        &[(":status", "20")],
        &[(":status", "2x0")],
        &[(":status", "1000")],
        // RFC 9114 §4.5.
        &[(":status", "101")],
        &[(":status", "200"), ("Upper", "case")],
        &[(":status", "200"), ("", "y")],
        &[(":status", "200"), ("a b", "y")],
        &[(":status", "200"), ("x", "y\r\nz: 1")],
        &[(":status", "200"), ("connection", "close")],
        &[(":status", "200"), ("keep-alive", "timeout=5")],
        &[(":status", "200"), ("proxy-connection", "close")],
        &[(":status", "200"), ("transfer-encoding", "chunked")],
        &[(":status", "200"), ("upgrade", "websocket")],
        &[("x", "y"), (":status", "200")],
        &[(":status", "200"), (":path", "/")],
        &[(":status", "200"), (":method", "GET")],
        &[(":status", "200"), (":foo", "bar")],
        &[(":status", "200"), ("content-length", "x")],
        &[(":status", "200"), ("content-length", "3"), ("content-length", "4")],
    ] {
        for fin in [Fin::More, Fin::Last] {
            is_malformed(&[Frame::Headers(&section(fields))], fin);
        }
    }
}

#[test]
fn a_response_whose_body_is_not_as_long_as_it_says_is_malformed() {
    let head = section(&[(":status", "200"), ("content-length", "3")]);
    let trailers = section(&[("x", "y")]);
    is_malformed(&[Frame::Headers(&head)], Fin::Last);
    is_malformed(&[Frame::Headers(&head), Frame::Data(b"ab")], Fin::Last);
    is_malformed(&[Frame::Headers(&head), Frame::Data(b"abcd")], Fin::More);
    is_malformed(&[Frame::Headers(&head), Frame::Data(b"ab"), Frame::Data(b"cd")], Fin::More);
    let short = [Frame::Headers(&head), Frame::Data(b"ab"), Frame::Headers(&trailers)];
    is_malformed(&short, Fin::Last);
    let mut client = asking(Method::Get);
    let whole = coded(&[Frame::Headers(&head), Frame::Data(b"abc"), Frame::Headers(&trailers)]);
    let events = give(&mut client, 0, &whole, Fin::Last);
    let fields = Fields::new().with("x", "y");
    assert_eq!(events[1], Owned::Data(0, b"abc".to_vec(), Fin::More));
    assert_eq!(events[2..], [Owned::Trailers(0, fields)]);
}

#[test]
fn a_response_that_never_comes_and_trailers_with_what_they_cannot_have_are_malformed() {
    let (hints, head) = (section(&[(":status", "103")]), section(&[(":status", "200")]));
    is_malformed(&[Frame::Headers(&hints)], Fin::Last);
    for trailers in [
        &[(":status", "200")][..],
        &[("x", "y"), (":status", "200")],
        &[("Upper", "case")],
        &[("connection", "close")],
        &[("transfer-encoding", "chunked")],
    ] {
        let trailers = section(trailers);
        is_malformed(&[Frame::Headers(&head), Frame::Headers(&trailers)], Fin::Last);
    }
}

#[test]
fn a_connect_names_an_authority_alone() {
    let own = [(":method", "CONNECT"), (":authority", "a.test:443")];
    for extra in
        [&[(":scheme", "https")][..], &[(":path", "/")], &[(":scheme", "https"), (":path", "/")]]
    {
        let mut hand = ByHand::greeted(Settings::server());
        let fields = section(&[&own, extra].concat());
        hand.frames(0, &[Frame::Headers(&fields)], Fin::More);
        assert_eq!(hand.reset_with(0), Some(ErrorCode::MESSAGE_ERROR), "{extra:?}");
        assert_eq!(hand.events, []);
    }
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&section(&own[..1]))], Fin::More);
    assert_eq!(hand.reset_with(0), Some(ErrorCode::MESSAGE_ERROR));
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&section(&own))], Fin::More);
    assert_eq!(hand.events, [Owned::Request(0, connect(), Fin::More)]);
}

#[test]
fn data_alone_follows_a_connect() {
    let (own, fields) = ([(":method", "CONNECT"), (":authority", "a.test:443")], [("x", "y")]);
    let mut hand = ByHand::greeted(Settings::server());
    hand.frames(0, &[Frame::Headers(&section(&own)), Frame::Data(b"up")], Fin::More);
    assert_eq!(hand.closed_with(), None);
    hand.frames(0, &[Frame::Headers(&section(&fields))], Fin::More);
    assert_eq!(hand.closed_with(), Some(ErrorCode::FRAME_UNEXPECTED));
    // Heads before the final one change nothing, and a tunnel has no length (RFC 9110 §9.3.6).
    let mut client = asking(Method::Connect);
    let (hints, opened) =
        (section(&[(":status", "103")]), section(&[(":status", "200"), ("content-length", "1")]));
    let frames = [Frame::Headers(&hints), Frame::Headers(&opened), Frame::Data(b"down")];
    let events = give(&mut client, 0, &coded(&frames), Fin::More);
    assert_eq!(events.last(), Some(&Owned::Data(0, b"down".to_vec(), Fin::More)));
    assert_eq!(closed_with(&mut client), None);
    give(&mut client, 0, &coded(&[Frame::Headers(&section(&fields))]), Fin::More);
    assert_eq!(closed_with(&mut client), Some(ErrorCode::FRAME_UNEXPECTED));
}

#[test]
fn a_connect_that_is_refused_has_a_response_like_others() {
    for status in ["403", "503", "302"] {
        let mut client = asking(Method::Connect);
        let head = section(&[(":status", status), ("content-length", "2")]);
        let trailers = section(&[("x", "y")]);
        let frames = [Frame::Headers(&head), Frame::Data(b"no"), Frame::Headers(&trailers)];
        let events = give(&mut client, 0, &coded(&frames), Fin::Last);
        let [Owned::Response(0, head, Fin::More), rest @ ..] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(head.status.code().to_string(), status);
        let trailers = Owned::Trailers(0, Fields::new().with("x", "y"));
        assert_eq!(rest, [Owned::Data(0, b"no".to_vec(), Fin::More), trailers]);
        assert_eq!(closed_with(&mut client), None);
        // Its length counts, too.
        let mut client = asking(Method::Connect);
        let head = section(&[(":status", status), ("content-length", "2")]);
        let events = give(&mut client, 0, &coded(&[Frame::Headers(&head)]), Fin::Last);
        assert!(matches!(events[..], [Owned::Reset(0, _)]), "{events:?}");
    }
}
