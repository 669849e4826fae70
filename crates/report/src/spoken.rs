//! What a trial really spoke, from its connections: what a user needs to trust that it was what its contender is
//! called.

use crate::number;
use std::collections::{BTreeMap, BTreeSet};
use study::record::TrialRecord;
use trace::{ConnectionRecord, HeaderBytes, HeaderSize, SpokenProtocol, TlsVersion};

/// What the connections of a trial come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Connections by the protocol spoken.
    connections: BTreeMap<SpokenProtocol, usize>,
    secured: usize,
    resumed: usize,
    streams: u64,
    pushed: u64,
    heads: Option<HeaderBytes>,
    tls: BTreeSet<TlsVersion>,
    ciphers: BTreeSet<String>,
}

impl Spoken {
    pub(crate) fn of(trial: &TrialRecord) -> Self {
        let opened = || trial.connections.iter().filter(|c| !c.protocol.is_none());
        let tls = || opened().filter_map(|connection| connection.tls.as_ref());
        let mut connections = BTreeMap::new();
        for connection in opened() {
            *connections.entry(connection.protocol.clone()).or_default() += 1;
        }
        let sum = |of: fn(&ConnectionRecord) -> u32| opened().map(|c| u64::from(of(c))).sum();
        Self {
            connections,
            secured: tls().count(),
            resumed: tls().filter(|tls| tls.resumed).count(),
            streams: sum(|connection| connection.requests + connection.pushed),
            pushed: sum(|connection| connection.pushed),
            heads: HeaderBytes::of(&trial.connections),
            tls: tls().map(|tls| tls.version.clone()).collect(),
            ciphers: tls().map(|tls| tls.cipher.clone()).collect(),
        }
    }

    /// Each protocol with its number of connections: `6x http/1.1`.
    pub(crate) fn protocols(&self) -> String {
        let each = self.connections.iter().map(|(protocol, count)| format!("{count}x {protocol}"));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Versions of TLS, or that there was none.
    pub(crate) fn tls(&self) -> String {
        let clear = self.connections.values().sum::<usize>() > self.secured;
        let versions =
            self.tls.iter().map(TlsVersion::to_string).chain(clear.then(|| "none".to_owned()));
        versions.collect::<Vec<_>>().join(", ")
    }

    /// Cipher suites.
    pub(crate) fn ciphers(&self) -> String {
        match self.ciphers.is_empty() {
            true => "–".to_owned(),
            false => self.ciphers.iter().cloned().collect::<Vec<_>>().join(", "),
        }
    }

    /// How many of the secured connections took an earlier session up again: `5 of 6`.
    pub(crate) fn resumed(&self) -> String {
        match self.secured {
            0 => "–".to_owned(),
            secured => format!("{} of {secured}", self.resumed),
        }
    }

    /// Streams that a connection carried on average.
    pub(crate) fn streams(&self) -> String {
        match self.connections.values().sum::<usize>() {
            0 => "–".to_owned(),
            1 => self.streams.to_string(),
            all => format!("{:.1}", self.streams as f64 / all as f64),
        }
    }

    /// Streams that the server opened.
    pub(crate) fn pushed(&self) -> String {
        self.pushed.to_string()
    }

    /// Bytes of the requests' heads before and after compression.
    pub(crate) fn heads_sent(&self) -> String {
        size(self.heads.map(|heads| heads.sent))
    }

    /// Bytes of the responses' heads before and after compression.
    pub(crate) fn heads_received(&self) -> String {
        size(self.heads.map(|heads| heads.received))
    }

    /// All of it in a few words for a line: `1x h2, heads to 16 %`.
    pub(crate) fn in_short(&self) -> String {
        let mut parts = vec![self.protocols()];
        if self.resumed > 0 {
            parts.push(format!("{} resumed", self.resumed()));
        }
        let share = self.heads.and_then(|HeaderBytes { sent, received }| {
            share(sent.plain + received.plain, sent.coded + received.coded)
        });
        parts.extend(share.map(|share| format!("heads to {share}")));
        parts.join(", ")
    }
}

/// `18 231 → 2 904 (16 %)`; what was not compressed is one figure.
fn size(size: Option<HeaderSize>) -> String {
    let Some(HeaderSize { plain, coded }) = size else { return "not told".to_owned() };
    let text = |bytes: u64| number::count(bytes as f64);
    match share(plain, coded) {
        Some(share) => format!("{} → {} ({share})", text(plain), text(coded)),
        None => text(coded),
    }
}

/// What is left after compression, in whole per cent; None without any.
fn share(plain: u64, coded: u64) -> Option<String> {
    (plain != coded && plain > 0).then(|| format!("{:.0} %", coded as f64 / plain as f64 * 100.0))
}
