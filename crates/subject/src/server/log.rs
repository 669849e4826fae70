//! Sums up a server's own log: connections by protocol, requests, bytes. Servers use different names for these. Here
//! they are those that wirelap uses everywhere.

use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trace::{Protocol, SpokenProtocol};

/// The form of a server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// One line a request, `label:value` separated by tabs (<http://ltsv.org>).
    Ltsv,
    /// A JSON object a request on a line.
    Json,
}

/// What a server's log says. A line that cannot be read only counts as unread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerLog {
    /// Requests answered.
    pub requests: u64,
    /// Requests with another status than 200 or 206.
    pub refused: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Connections by their protocol.
    pub connections: BTreeMap<SpokenProtocol, u64>,
    /// Connections by the version of TLS.
    pub tls: BTreeMap<String, u64>,
    /// Connections that resumed a TLS session.
    pub resumed: u64,
    /// Lines that tell of no request.
    pub unread: u64,
}

/// The facts that a line may tell.
const LABELS: [&str; 6] = ["connection", "protocol", "tls", "resumed", "status", "bytes"];

impl ServerLog {
    /// Reads a log. `fields` gives the path of each fact in a JSON object, or several, joined by `+`.
    pub(super) fn read(text: &str, format: LogFormat, fields: &BTreeMap<String, String>) -> Self {
        let mut sum = Sum::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let facts = match format {
                LogFormat::Ltsv => ltsv(line),
                LogFormat::Json => json(line, fields),
            };
            sum.add(&facts);
        }
        sum.end()
    }
}

type Facts = BTreeMap<String, String>;

fn ltsv(line: &str) -> Facts {
    let pairs = line.split('\t').filter_map(|field| field.split_once(':'));
    pairs.map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
}

fn json(line: &str, fields: &BTreeMap<String, String>) -> Facts {
    let Ok(object) = serde_json::from_str::<Value>(line) else { return Facts::new() };
    let at = |path: &str| {
        let value = path.split('.').try_fold(&object, |at, name| at.get(name))?;
        Some(match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let fact = |label: &str| {
        let texts: Option<Vec<String>> = fields.get(label)?.split('+').map(at).collect();
        Some((label.to_owned(), texts?.join("+")))
    };
    LABELS.into_iter().filter_map(fact).collect()
}

#[derive(Default)]
struct Sum {
    log: ServerLog,
    /// A connection with its protocol, and a connection with its version: each pair counts once.
    spoken: BTreeSet<(String, SpokenProtocol)>,
    secured: BTreeSet<(String, String)>,
    resumed: BTreeSet<String>,
}

impl Sum {
    fn add(&mut self, facts: &Facts) {
        let fact = |label: &str| {
            facts.get(label).map(String::as_str).filter(|value| !matches!(*value, "" | "-"))
        };
        let Some(status) = fact("status") else {
            self.log.unread += 1;
            return;
        };
        self.log.requests += 1;
        self.log.refused += u64::from(!matches!(status, "200" | "206"));
        self.log.bytes += fact("bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        let Some(connection) = fact("connection").map(str::to_owned) else { return };
        if let Some(name) = fact("protocol").map(protocol) {
            self.spoken.insert((connection.clone(), name));
        }
        // Caddy 2.6 logs no number for the TLS version of QUIC.
        if let Some(version) = fact("tls").filter(|number| *number != "0").map(version) {
            self.secured.insert((connection.clone(), version));
        }
        if fact("resumed").is_some_and(is_resumed) {
            self.resumed.insert(connection);
        }
    }

    fn end(mut self) -> ServerLog {
        for (_, name) in self.spoken {
            *self.log.connections.entry(name).or_default() += 1;
        }
        for (_, version) in self.secured {
            *self.log.tls.entry(version).or_default() += 1;
        }
        self.log.resumed = self.resumed.len() as u64;
        self.log
    }
}

/// The protocol that a server calls `name`.
fn protocol(name: &str) -> SpokenProtocol {
    match name.to_ascii_uppercase().as_str() {
        "HTTP/2" | "HTTP/2.0" | "H2" | "H2C" => Protocol::Http2.into(),
        "HTTP/3" | "HTTP/3.0" | "H3" => Protocol::Http3.into(),
        other => SpokenProtocol::from_name(&other.to_ascii_lowercase()),
    }
}

/// `1.3`, from a server's text or from the number in the handshake (RFC 8446 §4.2.1).
fn version(name: &str) -> String {
    match name {
        "771" => "1.2".to_owned(),
        "772" => "1.3".to_owned(),
        other => other.trim_start_matches("TLSv").trim_start_matches("TLS ").to_owned(),
    }
}

/// nginx logs r, Apache Resumed, H2O 1, Caddy true.
fn is_resumed(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "r" | "resumed" | "1" | "true" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_counts_once_however_many_requests_it_carries() {
        let text = "connection:40000\tprotocol:HTTP/2.0\ttls:TLSv1.3\tresumed:.\tstatus:200\tbytes:5000\n\
                    connection:40000\tprotocol:HTTP/2.0\ttls:TLSv1.3\tresumed:.\tstatus:404\tbytes:10\n\
                    connection:40002\tprotocol:HTTP/1.1\ttls:-\tresumed:\tstatus:200\tbytes:1\n\
                    started\n";
        let log = ServerLog::read(text, LogFormat::Ltsv, &BTreeMap::new());
        assert_eq!((log.requests, log.refused, log.bytes, log.unread), (3, 1, 5011, 1));
        assert_eq!(
            log.connections,
            [(Protocol::Http2.into(), 1), (Protocol::Http1.into(), 1)].into()
        );
        assert_eq!((log.tls, log.resumed), ([("1.3".to_owned(), 1)].into(), 0));
    }

    #[test]
    fn json_is_read_by_the_paths_that_are_given() {
        let fields = [
            ("connection", "request.remote_port+request.host"),
            ("protocol", "request.proto"),
            ("tls", "request.tls.version"),
            ("resumed", "request.tls.resumed"),
            ("status", "status"),
            ("bytes", "size"),
        ];
        let fields = fields.map(|(label, path)| (label.to_owned(), path.to_owned())).into();
        let text = r#"{"request":{"remote_port":"4","host":"a.test","proto":"HTTP/2.0","tls":{"version":772,"resumed":true}},"size":7,"status":200}
            {"request":{"remote_port":"5","host":"a.test","proto":"HTTP/3.0","tls":{"version":0,"resumed":false}},"size":1,"status":200}
            {"request":{"remote_port":"5","host":"b.test","proto":"HTTP/3.0","tls":{"version":0,"resumed":false}},"size":1,"status":200}
            not json"#;
        let log = ServerLog::read(text, LogFormat::Json, &fields);
        assert_eq!((log.requests, log.bytes, log.resumed, log.unread), (3, 9, 1, 1));
        assert_eq!(
            log.connections,
            [(Protocol::Http2.into(), 1), (Protocol::Http3.into(), 2)].into()
        );
        assert_eq!(log.tls, [("1.3".to_owned(), 1)].into());
    }
}
