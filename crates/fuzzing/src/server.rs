//! The whole origin under a hostile peer, on a listener without TLS: HTTP/1.1, HTTP/2, SPDY and WebSockets.

use crate::driver::{self, Bound};
use bytes::Bytes;
use origin::{
    Assets, ByLink, CasperSettings, DeliveryPolicy, Heed, LearnedSettings, Link, PushPlace,
    PushSettings, Rule, Tracking,
};
use origin::{File, FileFacts, Files, FilesError, Found, ListenerKind};
use origin::{Limits, Origin, OriginConfig, Parts, WallClock};
use proto::schedule::Policy;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use transport::Protocol;
use unit::{Instant, Seed};

/// The first byte chooses the settings, the rest is a script.
pub(crate) fn run(input: &[u8]) {
    let Some((&settings, script)) = input.split_first() else { return };
    driver::run(|| origin(settings), BOUND, script);
}

/// An origin with these settings.
pub fn origin(settings: u8) -> Origin {
    origin_on(ListenerKind::Clear, settings)
}

/// The same on another listener.
pub(crate) fn origin_on(listener: ListenerKind, settings: u8) -> Origin {
    origin_within(
        |limits| Limits {
            connections: CONNECTIONS,
            echo: ECHO,
            echoes: ECHOES,
            held_by_connection: HELD_BY_CONNECTION,
            held_by_peer: HELD,
            held: HELD,
            ..limits
        },
        listener,
        settings,
    )
}

/// The same within other limits.
pub(crate) fn origin_within(
    limits: impl FnOnce(Limits) -> Limits,
    listener: ListenerKind,
    settings: u8,
) -> Origin {
    let wall_clock = WallClock { at: Instant::ZERO, unix: Duration::from_secs(784_111_777) };
    let mut config = OriginConfig::new(vec![listener], wall_clock);
    let spdy = if settings & 8 == 0 { Protocol::Spdy31 } else { Protocol::Spdy3 };
    config.protocols = vec![Protocol::Http2, spdy, Protocol::Http1];
    config.priorities = match settings % 8 {
        0 => Policy::Rfc9218,
        1 => Policy::Rfc7540,
        2 => Policy::Spdy,
        3 => Policy::Fifo,
        4 => Policy::RoundRobin,
        5 => Policy::ServerDriven,
        _ => Policy::Auto,
    };
    config.delivery = (settings & 16 != 0).then(|| Arc::new(delivery()));
    config.limits = limits(config.limits);
    Origin::new(config, Parts { files: Some(Box::new(Folder)), ..Parts::default() })
}

/// Pushes of all kinds, of what documents load too, with a loop and with what cannot be pushed, hints, and cookies of what the peer has.
fn delivery() -> DeliveryPolicy {
    let link = |text: &str| text.parse::<Link>().ok();
    let rule = Rule {
        push: ["/a", "/b", "/", "/large.bin", "/missing", "/echo", "https://b.test/a"]
            .map(str::to_owned)
            .into(),
        hints: link("</a>; rel=preload").into_iter().collect(),
        links: link("<empty>; rel=preload").into_iter().collect(),
        ..Rule::default()
    };
    let (by_link, place) = (ByLink::Pushed, PushPlace::Interleaved);
    let cache_digest = Heed::Heeded;
    let push = PushSettings { by_link, place, cache_digest, ..PushSettings::default() };
    let casper = CasperSettings { tracking: Tracking::All, ..CasperSettings::default() };
    let all = Assets::All;
    let learned = LearnedSettings { push: all, hints: all, links: all };
    DeliveryPolicy { rules: vec![rule], push, casper: Some(casper), learned }
}

/// What the origin may hold.
///
/// - `fixed`: [`HELD`], which bodies, echoes and messages count against, a WebSocket message that may exceed it by 1 MiB
///   while it is inflated and as much while it is compressed, and what all connections share: pooled buffers, cached
///   responses, the encoders' tables.
/// - `connection`: 128 streams (`proto::h2::Settings::server`) and 100 pushes whose heads and first kilobyte of a body do not count, and
///   the machine's own tables and buffers.
/// - `input`: a field of three bytes may name an entry of HPACK's table of 4 KiB, but a header list is at most 64 KiB,
///   and what is decoded is kept for each open stream.
pub(crate) const BOUND: Bound = Bound { fixed: 6 * 1024 * 1024, connection: 512 * 1024, input: 64 };

const HELD_BY_CONNECTION: usize = 1024 * 1024;
const HELD: usize = 2 * 1024 * 1024;
const CONNECTIONS: usize = 8;
const ECHO: usize = 64 * 1024;
const ECHOES: usize = 256 * 1024;

/// Files without a disk: small, empty, large, and what cannot be read.
struct Folder;

impl Files for Folder {
    fn find(&self, _now: Instant, path: &str) -> Result<Found, FilesError> {
        let made = |length, modified| Stored { content: Content::Noise(length), modified };
        let file = match path {
            "" | "folder" => return Ok(Found::Folder),
            "denied" => return Err(FilesError::Denied),
            "busy" => return Err(FilesError::Busy),
            "index.html" => Stored { content: Content::Text(INDEX), modified: 784_000_000 },
            "empty" => made(0, 784_000_000),
            "a" | "b" => made(3_000, 784_000_000),
            "large.bin" => made(1 << 32, 784_111_777),
            _ => return Err(FilesError::NotFound),
        };
        Ok(Found::File(Rc::new(file)))
    }
}

struct Stored {
    content: Content,
    modified: u64,
}

enum Content {
    Text(&'static [u8]),
    Noise(u64),
}

impl File for Stored {
    fn facts(&self) -> FileFacts {
        let length = match self.content {
            Content::Text(text) => text.len() as u64,
            Content::Noise(length) => length,
        };
        FileFacts { length, modified: self.modified, modified_nanos: 0, identity: length }
    }

    fn read(&self, offset: u64, length: usize) -> Option<Bytes> {
        match self.content {
            Content::Text(text) => {
                let rest = text.get(usize::try_from(offset).ok()?..)?;
                Some(Bytes::from_static(&rest[..rest.len().min(length)]))
            }
            Content::Noise(all) => {
                let left = usize::try_from(all.checked_sub(offset)?).ok()?;
                Some(Bytes::from_static(page::noise(Seed(0), offset, length.min(left))))
            }
        }
    }
}

/// A page that needs what a browser looks for.
const INDEX: &[u8] = b"<!doctype html><link rel=stylesheet href=a><script src=b async></script>\
    <img src=\"//b.test/a\" srcset=\"b 2x\"><style>@import url(empty);</style><img src=missing>";
