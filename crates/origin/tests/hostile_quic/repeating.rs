//! Small responses that wait without their streams, and requests that come again and again on one connection, which the machine answers
//! by itself: both where nobody keeps a log.

use crate::{Bench, START, Trusted};
use bytes::Bytes;
use fuzzing::quic::{Peer, Seen, SharedPlan};
use origin::{AccessLog, AccessRecord, File, FileFacts, Files, FilesError, Found, Parts};
use quinn_proto::{Dir, StreamId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use transport::QuicSettings;
use unit::{Instant, Seed};

/// A request for `/a`, its fields as literals.
const REQUEST: &[u8] = b"\x01\x10\x00\x00\xd1\xd7\x50\x06a.test\x51\x02/a";

/// Where the last character of its path stands.
const NAME: usize = REQUEST.len() - 1;

/// Bytes of a file: as many as a response may have that waits without its stream.
const LENGTH: usize = 128;

/// A file changes after so long,
const CHANGES: Duration = Duration::from_millis(700);

/// and is looked at again after so long.
const FRESH: Duration = Duration::from_millis(300);

/// A folder whose every file says how often it has changed.
struct Changing {
    reads: Rc<Cell<usize>>,
}

struct Version {
    text: Bytes,
    fresh_until: Instant,
    reads: Rc<Cell<usize>>,
}

fn version_at(at: Instant) -> u64 {
    (at.since(START).as_nanos() / CHANGES.as_nanos()) as u64
}

impl Files for Changing {
    fn find(&self, now: Instant, _path: &str) -> Result<Found, FilesError> {
        let (text, reads) =
            (format!("{:0LENGTH$}", version_at(now)).into(), Rc::clone(&self.reads));
        Ok(Found::File(Rc::new(Version { text, fresh_until: now + FRESH, reads })))
    }
}

impl File for Version {
    fn facts(&self) -> FileFacts {
        FileFacts { length: LENGTH as u64, modified: 0, modified_nanos: 0, identity: 0 }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        self.reads.set(self.reads.get() + 1);
        let from = offset as usize;
        Some(self.text.slice(from..(from + length).min(LENGTH)))
    }

    fn is_held(&self) -> bool {
        true
    }

    fn fresh_until(&self) -> Option<Instant> {
        Some(self.fresh_until)
    }
}

/// Reads nothing of what it is told.
struct Unread;

impl AccessLog for Unread {
    fn record(&self, _record: &AccessRecord<'_>) {}
}

/// When each request was made, what came, and how often a file was read.
struct Told {
    asked: BTreeMap<StreamId, Instant>,
    streams: BTreeMap<StreamId, Seen>,
    reads: usize,
}

/// A client whose SETTINGS have come, of a server with such a folder.
fn connected(trusted: &Trusted, reads: &Rc<Cell<usize>>, log: Option<Rc<dyn AccessLog>>) -> Bench {
    let files: Option<Box<dyn Files>> = Some(Box::new(Changing { reads: Rc::clone(reads) }));
    let settings = QuicSettings { seed: Some(Seed(1)), ..QuicSettings::default() };
    let peer = Peer::new(trusted.tls("h3"), SharedPlan::default());
    let origin = trusted.origin_of(settings, Parts { files, log, ..Parts::default() });
    let mut bench = Bench::of(peer, origin);
    bench.connected();
    bench.act(|peer| peer.open(Dir::Uni, b"\x00\x04\x00"));
    bench
}

fn ask(peer: &mut Peer) -> StreamId {
    ask_with(peer, REQUEST)
}

pub(crate) fn ask_with(peer: &mut Peer, request: &[u8]) -> StreamId {
    let stream = peer.open(Dir::Bi, request);
    peer.finish(stream);
    stream
}

/// What a client asks for.
#[derive(Clone, Copy)]
struct Asks {
    /// So many files in turn,
    names: u8,
    /// so many of them at once,
    at_once: usize,
    /// so many times,
    rounds: usize,
    /// and again after so many milliseconds.
    pause: u64,
}

fn told(trusted: &Trusted, log: Option<Rc<dyn AccessLog>>, asks: Asks) -> Told {
    let Asks { names, at_once, rounds, pause } = asks;
    let reads = Rc::new(Cell::new(0));
    let mut bench = connected(trusted, &reads, log);
    let mut asked = BTreeMap::new();
    for _ in 0..rounds {
        let now = bench.world.now();
        for _ in 0..at_once {
            let mut request = REQUEST.to_vec();
            request[NAME] += (asked.len() % usize::from(names)) as u8;
            asked.insert(bench.act(|peer| ask_with(peer, &request)), now);
        }
        bench.run(pause);
    }
    let streams = bench.act(|peer| std::mem::take(&mut peer.streams));
    Told { asked, streams, reads: reads.get() }
}

#[test]
fn what_is_sent_again_is_what_the_file_and_the_date_are_now() {
    let trusted = Trusted::new();
    let asks = Asks { names: 1, at_once: 3, rounds: 150, pause: 40 };
    let (each, again) = (told(&trusted, Some(Rc::new(Unread)), asks), told(&trusted, None, asks));
    assert_eq!(each.reads, each.asked.len(), "who keeps a log is asked each time");
    assert!(again.reads * 4 < each.reads, "{} of {}", again.reads, each.reads);
    same_and_new(&each, &again);
}

#[test]
fn what_waits_without_its_stream_is_what_the_file_and_the_date_are_now() {
    let trusted = Trusted::new();
    // More than the first window takes.
    let asks = Asks { names: 26, at_once: 60, rounds: 20, pause: 200 };
    let (each, released) =
        (told(&trusted, Some(Rc::new(Unread)), asks), told(&trusted, None, asks));
    assert_eq!(released.reads, each.reads, "no request comes again soon");
    same_and_new(&each, &released);
}

/// Both have the same bytes, and they are those of a file that is fresh.
fn same_and_new(each: &Told, again: &Told) {
    assert_eq!(each.asked, again.asked);
    for (stream, asked) in &each.asked {
        let (one, other) = (&each.streams[stream], &again.streams[stream]);
        assert!(one.is_finished && other.is_finished);
        assert_eq!(one.bytes, other.bytes, "{stream}");
        let text = std::str::from_utf8(&one.bytes[one.bytes.len() - LENGTH..]).unwrap();
        // Half a round trip later it is there.
        let (came, version) = (*asked + Duration::from_millis(11), text.parse::<u64>().unwrap());
        let oldest = version_at(came.max(START + FRESH) - FRESH);
        assert!((oldest..=version_at(came)).contains(&version), "{version} at {came:?}");
    }
}

/// The second in which the server says goodbye to a client that asks no more, and how often it has read the file.
fn goodbye(trusted: &Trusted, log: Option<Rc<dyn AccessLog>>) -> Option<(u64, usize)> {
    let reads = Rc::new(Cell::new(0));
    let mut bench = connected(trusted, &reads, log);
    for _ in 0..5 {
        bench.act(ask);
        bench.run(40);
    }
    // In one datagram: a request that comes again, and one whose end never comes.
    let endless = bench.act(|peer| {
        ask(peer);
        peer.open(Dir::Bi, REQUEST)
    });
    let control = |bench: &mut Bench| {
        let is_servers = |id: &StreamId| id.dir() == Dir::Uni && id.initiator().is_server();
        let streams = |peer: &mut Peer| {
            let control = peer.streams.iter().filter(|(id, _)| is_servers(id));
            control.map(|(_, seen)| seen.bytes.clone()).find(|bytes| bytes.first() == Some(&0))
        };
        bench.act(streams).unwrap()
    };
    bench.run(1_000);
    let before = control(&mut bench);
    for second in 1..200 {
        // Nothing ends by QUIC's own idle time-out.
        bench.act(|peer| {
            peer.connection.ping();
            peer.try_write(endless, b"");
        });
        bench.run(1_000);
        let said = control(&mut bench);
        if said != before {
            // GOAWAY (RFC 9114 §7.2.6).
            assert_eq!(said[before.len()], 7);
            return Some((second, reads.get()));
        }
    }
    None
}

#[test]
fn a_connection_on_which_requests_came_again_is_idle_when_others_are() {
    let trusted = Trusted::new();
    let (each, again) = (goodbye(&trusted, Some(Rc::new(Unread))), goodbye(&trusted, None));
    let (Some((at, reads)), Some((also_at, fewer))) = (each, again) else {
        panic!("{each:?}, {again:?}")
    };
    assert_eq!(at, also_at);
    assert!(fewer < reads, "some were sent again");
}
