//! A client under arbitrary bytes: after the end of input it is closed.

use crate::{decode, reached};
use endpoint::SendBuf;
use proto::h1::{Client, ClientSettings};
use proto::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, Fin, RequestHead, Scheme,
};
use trace::Tracer;
use unit::Instant;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let now = Instant::ZERO;
    let mut client = Client::new(now, ClientSettings::default(), Tracer::off());
    let mut out = SendBuf::new();
    for mut piece in bytes.chunks(usize::from(size).max(1)) {
        if client.available_streams() > 0 {
            let head = RequestHead::get(Scheme::Http, "h", "/");
            client.request(now, &head, Fin::Last).expect("a stream is free");
            client.poll_transmit(now, &mut out, 1000);
        }
        while let Some(event) = client.handle_bytes(now, &mut piece) {
            reached::note_event(&event);
        }
        assert!(piece.is_empty());
    }
    client.handle_eof(now);
    while client.handle_bytes(now, &mut &[][..]).is_some() {}
    assert_eq!(client.state(), ConnectionState::Closed);
}
