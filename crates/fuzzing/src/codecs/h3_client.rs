//! A client under a server that sends arbitrary bytes on arbitrary streams. It takes all of them, tells one end of a stream at most,
//! sends nothing on a stream that it has ended or abandoned, and is quiet once it is closed.

use crate::{decode, reached};
use bytes::Bytes;
use endpoint::SendBuf;
use proto::h3::{Client, Settings};
use proto::schedule::RoundRobin;
use proto::{
    ClientConnection, Connection, ConnectionState, Event, Fin, MultiplexedConnection, RequestHead,
    Scheme, StreamAction, StreamId, StreamKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use trace::Tracer;
use unit::Instant;

/// The first byte chooses the settings. A part is the stream, what happens on it, and bytes.
pub(crate) fn run(input: &[u8]) {
    let Some((settings, parts)) = decode::<(u8, Vec<(u8, u8, &[u8])>)>(input) else { return };
    let mut driver = Driver::new(settings);
    for (stream, what, bytes) in parts {
        driver.part(StreamId(u64::from(stream & 0x3f)), what, bytes);
        driver.pull();
    }
    driver.client.handle_transport_closed(driver.now, None);
    driver.pull();
    assert_eq!(driver.client.state(), ConnectionState::Closed);
    assert!(!driver.client.wants_transmit());
    assert_eq!(driver.client.poll_timeout(), None, "a closed connection waits for nothing");
}

/// Plays QUIC, in the order of the contract (`proto::MultiplexedConnection`).
struct Driver {
    client: Client,
    now: Instant,
    requests: u64,
    /// The application has dealt with so many bytes and not said so.
    owed: BTreeMap<StreamId, usize>,
    /// Streams of which an event has told the end.
    told: BTreeSet<StreamId>,
    /// Streams whose receiving side is over: by FIN, by RESET_STREAM, or since the client wants no more.
    received: BTreeSet<StreamId>,
    /// Streams whose sending side is over.
    sent: BTreeSet<StreamId>,
    is_closed: bool,
    is_close_told: bool,
}

impl Driver {
    fn new(settings: u8) -> Self {
        let settings = Settings {
            qpack_blocked_streams: usize::from(settings & 3),
            stream_window: 1 << (8 + settings % 8),
            max_field_section_size: 1_000,
            grease: (settings & 0x40 != 0).then_some(7),
            ..Settings::client()
        };
        let now = Instant::ZERO;
        let client = Client::new(now, settings, Box::new(RoundRobin::default()), Tracer::off());
        let mut driver = Self {
            client,
            now,
            requests: 0,
            owed: BTreeMap::new(),
            told: BTreeSet::new(),
            received: BTreeSet::new(),
            sent: BTreeSet::new(),
            is_closed: false,
            is_close_told: false,
        };
        driver.client.handle_stream_limit(StreamKind::Bidirectional, 6);
        (0..3).for_each(|_| driver.request());
        driver.pull();
        driver
    }

    /// Every second request has a body.
    fn request(&mut self) {
        let fin = if self.requests.is_multiple_of(2) { Fin::Last } else { Fin::More };
        let head = RequestHead::get(Scheme::Https, "fuzz.test", "/");
        let Ok(stream) = self.client.request(self.now, &head, fin) else { return };
        assert_eq!(stream, StreamId(4 * self.requests), "identifiers are handed out in order");
        self.requests += 1;
        if fin == Fin::More {
            let sent = self.client.send(stream, Bytes::from_static(&[1; 5_000]), Fin::Last);
            sent.expect("a body follows");
        }
    }

    fn part(&mut self, stream: StreamId, what: u8, bytes: &[u8]) {
        // QUIC lets a server write on its own streams, and on requests that were made (RFC 9000 §19.8).
        let is_ours = stream.0.is_multiple_of(2);
        let exists = match stream.0 % 4 {
            0 => stream.0 < 4 * self.requests,
            2 => stream.0 < 16,
            _ => true,
        };
        let may_come = exists && stream.0 % 4 != 2 && !self.received.contains(&stream);
        match what % 16 {
            8 if exists && is_ours => {
                self.client.handle_stop_sending(self.now, stream, u64::from(what));
            }
            9 if may_come => {
                self.received.insert(stream);
                self.client.handle_stream_reset(self.now, stream, u64::from(what));
            }
            10 => self.request(),
            11 => {
                let total = self.requests + u64::from(what >> 4);
                self.client.handle_stream_limit(StreamKind::Bidirectional, total);
            }
            12 => self.sleep(Duration::from_secs(u64::from(what >> 4) * 10)),
            13 if exists && is_ours && what & 0x10 == 0 => {
                self.client.handle_stream_blocked(stream)
            }
            13 if exists && is_ours => self.client.handle_stream_writable(stream),
            14 if stream.0.is_multiple_of(4) && exists => self.client.reset(self.now, stream),
            15 => self.client.shutdown(self.now),
            // QUIC holds back what is not read.
            0..8 if may_come && self.client.wants_read(stream) => {
                let fin = if what & 1 == 0 { Fin::More } else { Fin::Last };
                if fin == Fin::Last {
                    self.received.insert(stream);
                }
                self.hear(stream, bytes, fin);
                if what & 2 == 0 {
                    for (stream, bytes) in std::mem::take(&mut self.owed) {
                        self.client.consume(stream, bytes);
                    }
                }
            }
            _ => {}
        }
    }

    fn hear(&mut self, stream: StreamId, mut piece: &[u8], fin: Fin) {
        while let Some(event) = self.client.handle_stream(self.now, stream, &mut piece, fin) {
            reached::note_event(&event);
            if let Event::Data { stream, data, .. } = &event {
                *self.owed.entry(*stream).or_default() += data.len();
            }
            note(&mut self.told, &mut self.is_close_told, &event);
        }
        assert!(piece.is_empty(), "all bytes are taken");
        while let Some(backlog) = self.client.take_backlog() {
            self.hear(backlog.stream, &backlog.bytes, backlog.fin);
        }
    }

    /// Time passes.
    fn sleep(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..1_000 {
            let Some(due) = self.client.poll_timeout().filter(|due| *due <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(due);
            self.client.handle_timeout(self.now);
            self.pull();
        }
        panic!("time-outs without end at {:?}", self.now);
    }

    /// Takes what the client has to tell, to do and to send.
    fn pull(&mut self) {
        while let Some(event) = self.client.poll_event(self.now) {
            reached::note_event(&event);
            note(&mut self.told, &mut self.is_close_told, &event);
        }
        while let Some(action) = self.client.poll_stream_action() {
            assert!(!self.is_closed, "{action:?} after Close");
            match action {
                StreamAction::Reset { stream, .. } => drop(self.sent.insert(stream)),
                StreamAction::StopSending { stream, .. } => drop(self.received.insert(stream)),
                StreamAction::Close { .. } => self.is_closed = true,
                StreamAction::Open { .. } | StreamAction::Read { .. } => {}
            }
        }
        let mut out = SendBuf::new();
        while let Some(sent) = self.client.poll_stream_transmit(self.now, &mut out, 300) {
            assert!(!self.is_closed, "bytes of {:?} after Close", sent.stream);
            assert!(!self.sent.contains(&sent.stream), "bytes after the end of {:?}", sent.stream);
            if sent.fin == Fin::Last {
                self.sent.insert(sent.stream);
            }
        }
    }
}

/// Notes what an event ends; nothing of it may come after.
fn note(told: &mut BTreeSet<StreamId>, is_close_told: &mut bool, event: &Event<'_>) {
    assert!(!*is_close_told, "{event:?} after Closed");
    let (stream, ends) = match *event {
        Event::Response { stream, fin, .. } | Event::Data { stream, fin, .. } => {
            (stream, fin == Fin::Last)
        }
        Event::Trailers { stream, .. } | Event::Reset { stream, .. } => (stream, true),
        Event::Informational { stream, .. } => (stream, false),
        Event::Closed { .. } => {
            *is_close_told = true;
            return;
        }
        _ => return,
    };
    assert!(!told.contains(&stream), "{event:?} after the end of its stream");
    if ends {
        told.insert(stream);
    }
}
