//! What the connections of a trial spoke. It shows that a contender really used the protocol that it is named for.

use crate::number;
use std::collections::{BTreeMap, BTreeSet};
use study::record::TrialRecord;
use trace::{
    ConnectionRecord, EarlyData, HeaderBytes, HeaderSize, PushTally, SpokenProtocol, TlsVersion,
};
use unit::counted;

/// The connections of a trial, summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionSummary {
    /// How many spoke each protocol.
    connections: BTreeMap<SpokenProtocol, u32>,
    secured: usize,
    resumed: usize,
    /// Those whose early data (0-RTT) the server has processed, and those whose it has dropped.
    early_accepted: usize,
    early_rejected: usize,
    streams: u64,
    pushed: u64,
    pushes: PushTally,
    headers: Option<HeaderBytes>,
    tls: BTreeSet<TlsVersion>,
    ciphers: BTreeSet<String>,
}

impl ConnectionSummary {
    pub(crate) fn of(trial: &TrialRecord) -> Self {
        let opened = || trial.connections.iter().filter(|c| !c.protocol.is_none());
        let tls = || opened().filter_map(|connection| connection.tls.as_ref());
        let mut connections = BTreeMap::new();
        for connection in opened() {
            *connections.entry(connection.protocol.clone()).or_default() += 1;
        }
        let mut pushes = PushTally::default();
        opened().for_each(|connection| pushes += connection.pushes);
        let early = |outcome| tls().filter(|tls| tls.early_data == outcome).count();
        let sum = |of: fn(&ConnectionRecord) -> u32| opened().map(|c| u64::from(of(c))).sum();
        Self {
            connections,
            secured: tls().count(),
            resumed: tls().filter(|tls| tls.resumed).count(),
            early_accepted: early(EarlyData::Accepted),
            early_rejected: early(EarlyData::Rejected),
            streams: sum(|connection| connection.requests + connection.pushed),
            pushed: sum(|connection| connection.pushed),
            pushes,
            headers: HeaderBytes::of(&trial.connections),
            tls: tls().map(|tls| tls.version.clone()).collect(),
            ciphers: tls().map(|tls| tls.cipher.clone()).collect(),
        }
    }

    /// Each protocol with its number of connections: `6 connections, HTTP/1.1`.
    pub(crate) fn protocols(&self) -> String {
        let each = |(protocol, count): (&SpokenProtocol, &u32)| {
            format!("{}, {}", counted(*count, "connection"), protocol_name(protocol))
        };
        self.connections.iter().map(each).collect::<Vec<_>>().join(" and ")
    }

    /// Versions of TLS, or that there was none.
    pub(crate) fn tls(&self) -> String {
        let clear = self.connections.values().sum::<u32>() as usize > self.secured;
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

    /// How many of the TLS connections resumed a session: `5 of 6`.
    fn resumed(&self) -> String {
        match self.secured {
            0 => "–".to_owned(),
            secured => format!("{} of {secured}", self.resumed),
        }
    }

    /// How many of the TLS connections resumed a session, and what became of early data: `1 of 1, early data accepted`.
    pub(crate) fn sessions(&self) -> String {
        std::iter::once(self.resumed()).chain(self.early_data()).collect::<Vec<_>>().join(", ")
    }

    /// What became of early data: `early data accepted` where that is true of every TLS connection, else `early data accepted on
    /// 4 of 6` and `early data rejected on 1 of 6`. Nothing where none was sent.
    fn early_data(&self) -> impl Iterator<Item = String> {
        let all = self.secured;
        let told = [("accepted", self.early_accepted), ("rejected", self.early_rejected)];
        told.into_iter().filter(|(_, count)| *count > 0).map(move |(what, count)| {
            match count == all {
                true => format!("early data {what}"),
                false => format!("early data {what} on {count} of {all}"),
            }
        })
    }

    /// Streams that a connection carried on average.
    pub(crate) fn streams(&self) -> String {
        match self.connections.values().sum::<u32>() {
            0 => "–".to_owned(),
            1 => self.streams.to_string(),
            all => format!("{:.1}", self.streams as f64 / f64::from(all)),
        }
    }

    /// Streams that the server opened: `5`, or `5, 3 used, 41 000 bytes in vain` where the client took pushes.
    pub(crate) fn pushed(&self) -> String {
        let PushTally { used, wasted_bytes, .. } = self.pushes;
        let mut text = self.pushed.to_string();
        if self.pushed > 0 && self.pushes != PushTally::default() {
            text.push_str(&format!(", {used} used"));
        }
        if wasted_bytes > 0 {
            text.push_str(&format!(", {} bytes in vain", number::count(wasted_bytes as f64)));
        }
        text
    }

    /// Bytes of the requests' headers before and after compression.
    pub(crate) fn request_headers(&self) -> String {
        size(self.headers.map(|headers| headers.sent))
    }

    /// Bytes of the responses' headers before and after compression.
    pub(crate) fn response_headers(&self) -> String {
        size(self.headers.map(|headers| headers.received))
    }

    /// All of these in a few words: `1 connection, HTTP/2, headers compressed to 16 % of their size`.
    pub(crate) fn in_short(&self) -> String {
        let mut parts = vec![self.protocols()];
        let all = u64::from(self.connections.values().sum::<u32>());
        // As where a server closes each of them, whatever the contender would keep.
        if all > 1 && self.streams == all {
            parts.push("one for each request".to_owned());
        }
        if self.resumed > 0 {
            parts.push(format!("{} TLS sessions resumed", self.resumed()));
        }
        parts.extend(self.early_data());
        if self.pushed > 0 {
            parts.push(format!("pushed: {}", self.pushed()));
        }
        let share = self.headers.and_then(|HeaderBytes { sent, received }| {
            share(sent.plain + received.plain, sent.coded + received.coded)
        });
        parts.extend(share.map(|share| format!("headers compressed to {share} of their size")));
        parts.join(", ")
    }
}

/// The name for a reader.
fn protocol_name(protocol: &SpokenProtocol) -> &str {
    protocol.known().map_or_else(|| protocol.name(), |known| known.title())
}

/// `18 231 → 2 904 (16 %)`; a single figure without compression.
fn size(size: Option<HeaderSize>) -> String {
    let Some(HeaderSize { plain, coded }) = size else { return "not known".to_owned() };
    let text = |bytes: u64| number::count(bytes as f64);
    match share(plain, coded) {
        Some(share) => format!("{} → {} ({share})", text(plain), text(coded)),
        None => text(coded),
    }
}

/// The size after compression in whole per cent; None without any bytes.
fn share(plain: u64, coded: u64) -> Option<String> {
    (plain != coded && plain > 0).then(|| format!("{:.0} %", coded as f64 / plain as f64 * 100.0))
}
