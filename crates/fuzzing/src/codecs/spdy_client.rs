//! A SPDY client with a request under way, that takes pushes, under arbitrary bytes: after the end of
//! input it is closed.

use crate::{decode, reached};
use endpoint::SendBuf;
use proto::schedule::RoundRobin;
use proto::spdy::{Client, Settings, Version};
use proto::{
    ByteStreamConnection, ClientConnection, Connection, ConnectionState, Event, Fin, RequestHead,
    Scheme,
};
use trace::Tracer;
use unit::Instant;

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let now = Instant::ZERO;
    let settings = Settings { enable_push: true, ..Settings::client(Version::V3_1) };
    let mut client = Client::new(now, settings, Box::new(RoundRobin::default()), Tracer::off());
    let head = RequestHead::get(Scheme::Http, "a.test", "/");
    client.request(now, &head, Fin::More).expect("a stream is free");
    let mut out = SendBuf::new();
    let mut hear = |client: &mut Client, mut piece: &[u8]| {
        while let Some(event) = client.handle_bytes(now, &mut piece) {
            reached::note_event(&event);
            if let Event::Data { stream, data, .. } = event {
                client.consume(stream, data.len());
            }
        }
        assert!(piece.is_empty());
        client.poll_transmit(now, &mut out, 1000);
        out.clear();
    };
    for piece in bytes.chunks(usize::from(size).max(1)) {
        hear(&mut client, piece);
    }
    client.handle_eof(now);
    hear(&mut client, b"");
    assert_eq!(client.state(), ConnectionState::Closed);
}
