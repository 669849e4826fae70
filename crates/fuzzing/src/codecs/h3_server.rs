//! A server under arbitrary bytes on arbitrary streams: it takes all of them, never sends on a stream that has ended,
//! and goes quiet once it is closed.

use crate::{decode, reached};
use bytes::Bytes;
use endpoint::SendBuf;
use proto::h3::{Server, Settings};
use proto::schedule::Rfc9218;
use proto::{
    Connection, ConnectionState, Event, Fin, MultiplexedConnection, ResponseHead, ServerConnection,
    Status, StreamId,
};
use std::collections::BTreeSet;
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

const NOW: Instant = Instant::ZERO;

fn hear(server: &mut Server, stream: StreamId, mut piece: &[u8], fin: Fin) {
    while let Some(event) = server.handle_stream(NOW, stream, &mut piece, fin) {
        reached::note_event(&event);
        match event {
            Event::Request { stream, .. } => {
                let mut head = ResponseHead::new(Status::OK);
                head.fields.validate();
                let _ = server.respond(stream, &head, Fin::More);
                // Some are small enough to be sent again.
                let body: &[u8] = if stream.0 % 16 == 0 { &[7; 900] } else { &[7; 90] };
                let _ = server.send(stream, Bytes::from_static(body), Fin::Last);
                server.allow_repeats(stream, NOW + Duration::from_secs(1));
                if stream.0 % 8 == 0 {
                    server.release(stream);
                }
            }
            Event::Data { stream, data, .. } => server.consume(stream, data.len()),
            _ => {}
        }
    }
    assert!(piece.is_empty());
    while let Some(backlog) = server.take_backlog() {
        hear(server, backlog.stream, &backlog.bytes, backlog.fin);
    }
}

pub(crate) fn run(input: &[u8]) {
    let Some(parts) = decode::<Vec<(u8, u8, &[u8])>>(input) else { return };
    let settings = Settings { qpack_blocked_streams: 2, ..Settings::server() };
    let mut server = Server::new(NOW, settings, Box::new(Rfc9218::default()), Tracer::off());
    let (mut ended, mut over) = (BTreeSet::new(), BTreeSet::new());
    for (stream, what, bytes) in parts {
        // The client's streams alone: QUIC does not let it write on others.
        let stream = StreamId(u64::from(stream & 0x3e));
        let fin = if what & 1 == 0 { Fin::More } else { Fin::Last };
        match what % 8 {
            6 => server.handle_stop_sending(NOW, stream, u64::from(what)),
            7 if ended.insert(stream) => server.handle_stream_reset(NOW, stream, u64::from(what)),
            _ if !ended.contains(&stream) => {
                hear(&mut server, stream, bytes, fin);
                if fin == Fin::Last {
                    ended.insert(stream);
                }
            }
            _ => {}
        }
        while server.poll_event(NOW).is_some() {}
        while server.poll_stream_action().is_some() {}
        let mut out = SendBuf::new();
        while let Some(sent) = server.poll_stream_transmit(NOW, &mut out, 300) {
            assert!(!over.contains(&sent.stream), "bytes after the end");
            if sent.fin == Fin::Last {
                over.insert(sent.stream);
            }
        }
    }
    server.handle_transport_closed(NOW, None);
    assert_eq!(server.state(), ConnectionState::Closed);
}
