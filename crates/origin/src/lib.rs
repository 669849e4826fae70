//! Our server as a sans-IO end point: HTTP/1.1, HTTP/2, HTTP/3 and SPDY; files, synthetic pages and pages replayed from
//! a record. A [`DeliveryPolicy`] says what it pushes and hints, and in which order it sends.
//!
//! A driver hands bytes and the time to an [`Origin`], and takes what it gives. Files come from a [`Files`] handed in, a
//! record of each exchange goes to an [`AccessLog`].
//!
//! ```
//! use origin::{ListenerKind, Origin, OriginConfig, Parts, WallClock};
//! use endpoint::{Accepted, EndPoint, SendBuf};
//! use std::time::Duration;
//! use unit::Instant;
//!
//! let now = Instant::ZERO;
//! let wall_clock = WallClock { at: now, unix: Duration::from_secs(784_111_777) };
//! let config = OriginConfig::new(vec![ListenerKind::Clear], wall_clock);
//! let mut origin = Origin::new(config, Parts::default());
//! let any = ([127, 0, 0, 1], 80).into();
//! let socket = origin.handle_accepted(now, Accepted { listener: 0, local: any, remote: any }).ok_or("refused")?;
//! origin.handle_bytes(now, socket, b"GET /image/1?bytes=5 HTTP/1.1\r\nHost: localhost\r\n\r\n");
//! let mut out = SendBuf::new();
//! origin.poll_transmit(now, socket, &mut out, 16_384);
//! assert!(out.to_vec().starts_with(b"HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
//! # Ok::<(), &str>(())
//! ```

mod access;
mod across_threads;
mod answer;
mod body;
mod budget;
mod buffer_pool;
mod conditional;
mod config;
mod connection;
mod delivery;
mod delivery_log;
mod exchange;
mod files;
mod learned;
mod media_type;
mod origin;
mod policy;
mod range;
mod replay;
mod response_cache;
mod session;
mod shared;
mod site;
mod static_files;
mod streamed;
mod target;
mod timers;
mod token_stream;
mod upstream;
mod wall_clock;
mod web_socket;

pub use access::{AccessLog, AccessRecord, ExchangeEnd, NotPushed, OpenedRecord, SkippedPush};
pub use across_threads::AcrossThreads;
pub use config::{Limits, ListenerKind, OriginConfig, WebSocketSettings};
pub use delivery::PushCheck;
pub use delivery_log::DeliveryLog;
pub use files::{File, FileFacts, Files, FilesError, Found};
pub use origin::Origin;
pub use policy::{
    Assets, BadGlob, BadLink, ByLink, CasperSettings, DeliveryPolicy, Glob, Heed, LearnedSettings,
    Link, PushPlace, PushSettings, Rule, Tracking, Urgency,
};
pub use replay::{Content, Replay, ReplayTally};
pub use shared::Parts;
pub use upstream::UpstreamSettings;
pub use wall_clock::WallClock;
