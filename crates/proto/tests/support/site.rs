//! What the test server answers: `/` says hello, `/bytes/N` gives N bytes, `/echo` gives the body
//! back (with its trailers), `/hints` informs first, `/trailers` trails, `/push` promises `/bytes/1000`.

use super::drive::{Go, drive};
use bytes::Bytes;
use proto::{ByteStreamConnection, Event, Fields, Fin, Method, RequestHead, ResponseHead};
use proto::{ServerConnection, Status, StreamId};
use std::collections::HashMap;
use std::net::TcpStream;

const CHUNK: usize = 32 * 1024;

/// Byte `at` of every body: long runs of one value would hide a shift.
pub fn pattern(at: u64) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

pub fn pattern_bytes(from: u64, count: usize) -> Vec<u8> {
    (from..from + count as u64).map(pattern).collect()
}

#[derive(Default)]
pub struct Site {
    /// Bytes still to be queued, by stream: next position and end.
    downloads: HashMap<StreamId, (u64, u64)>,
    echoes: HashMap<StreamId, ()>,
    /// Requests seen.
    pub requests: u64,
}

impl Site {
    pub fn on_event<S: ServerConnection>(
        &mut self,
        server: &mut S,
        event: Option<Event<'_>>,
    ) -> Go {
        match event {
            Some(Event::Request { stream, head, fin }) => {
                self.requests += 1;
                self.answer(server, stream, &head, fin);
            }
            Some(Event::Data { stream, data, fin }) => {
                if self.echoes.contains_key(&stream) {
                    let _ = server.send(stream, Bytes::copy_from_slice(data), fin);
                }
                server.consume(stream, data.len());
            }
            Some(Event::Trailers { stream, fields }) if self.echoes.contains_key(&stream) => {
                let _ = server.send_trailers(stream, &fields);
            }
            Some(Event::Writable { stream }) => self.go_on(server, stream),
            Some(Event::Reset { stream, .. }) => {
                self.downloads.remove(&stream);
                self.echoes.remove(&stream);
            }
            _ => {}
        }
        Go::On
    }

    fn answer<S: ServerConnection>(
        &mut self,
        server: &mut S,
        stream: StreamId,
        head: &RequestHead,
        fin: Fin,
    ) {
        let mut response = ResponseHead::new(Status::OK);
        response.fields.push(b"server", b"wirelap-test");
        let (path, _) = head.path.split_once('?').unwrap_or((&head.path, ""));
        let size = path.strip_prefix("/bytes/").and_then(|size| size.parse::<u64>().ok());
        if head.method == Method::Head {
            let _ = server.respond(stream, &response, Fin::Last);
        } else if let Some(size) = size {
            response.fields.push(b"content-length", size.to_string().as_bytes());
            let _ = server.respond(stream, &response, Fin::More);
            self.downloads.insert(stream, (0, size));
            self.go_on(server, stream);
        } else if path == "/echo" {
            let _ = server.respond(stream, &response, fin);
            self.echoes.insert(stream, ());
        } else if path == "/trailers" {
            let _ = server.respond(stream, &response, Fin::More);
            let _ = server.send(stream, Bytes::from_static(b"body"), Fin::More);
            let _ = server.send_trailers(stream, &Fields::new().with("x-sum", "42"));
        } else {
            if path == "/hints"
                && let Some(status) = Status::new(103)
            {
                let _ = server.inform(stream, &ResponseHead::new(status));
            }
            if path == "/push" {
                self.push(server, stream, head);
            }
            response.fields.push(b"content-type", b"text/plain");
            let _ = server.respond(stream, &response, Fin::More);
            let _ = server.send(stream, Bytes::from_static(b"hello from wirelap\n"), Fin::Last);
        }
    }

    fn push<S: ServerConnection>(&mut self, server: &mut S, parent: StreamId, head: &RequestHead) {
        let request = RequestHead::get(head.scheme, head.authority.clone(), "/bytes/1000");
        if let Ok(stream) = server.promise(parent, &request) {
            self.answer(server, stream, &request, Fin::Last);
        }
    }

    fn go_on<S: ServerConnection>(&mut self, server: &mut S, stream: StreamId) {
        while let Some((at, end)) = self.downloads.get_mut(&stream) {
            if server.unsent(stream) >= 2 * CHUNK {
                return;
            }
            let count = (*end - *at).min(CHUNK as u64) as usize;
            let data = Bytes::from(pattern_bytes(*at, count));
            *at += count as u64;
            let fin = if at == end { Fin::Last } else { Fin::More };
            if server.send(stream, data, fin).is_err() || fin == Fin::Last {
                self.downloads.remove(&stream);
            }
        }
    }
}

/// Serves one connection until it is over.
pub fn serve<S: ServerConnection + ByteStreamConnection>(
    tcp: &TcpStream,
    mut server: S,
) -> std::io::Result<Site> {
    let mut site = Site::default();
    drive(tcp, &mut server, |server, event| site.on_event(server, event))?;
    Ok(site)
}
