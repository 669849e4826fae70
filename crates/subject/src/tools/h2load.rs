//! h2load: a load tool that makes each request once here. It reports by its log of requests.

use super::drive::{Parsed, Stream, ToolRun, silent};
use super::{Emit, ToolError};
use crate::contract::{FetchLine, Job, OutputLine, Pattern, Tls, Transport};
use std::fs;
use std::io;
use std::process::Command;
use std::time::Duration;
use trace::Protocol;

/// Files in the working directory of the adapter, which belongs to the trial.
const URLS: &str = "h2load.urls";
const LOG: &str = "h2load.log";

/// The most streams at once if one connection carries many.
const MULTIPLEXED: usize = 100;

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    if let Some(reason) = unable(job) {
        return Err(ToolError::unable(reason));
    }
    let list: Vec<&str> = job.fetches.iter().map(|fetch| fetch.url.as_str()).collect();
    fs::write(URLS, list.join("\n"))?;
    // h2load appends to it, and what an earlier run did would be told as this one's.
    if let Err(error) = fs::remove_file(LOG)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    fetch(job, emit, &command(job))
}

fn unable(job: &Job) -> Option<&'static str> {
    match (job.transport, job.pattern) {
        _ if job.output.is_some() => Some("h2load drops all bodies, and writes no files"),
        _ if job.tls == Tls::V1_2 => Some("h2load cannot be held to TLS 1.2"),
        _ if !job.keep_alive => Some("h2load keeps its connections"),
        _ if clients(job) > 1
            && job.fetches.iter().any(|fetch| fetch.url != job.fetches[0].url) =>
        {
            Some(
                "each connection of h2load begins its list anew, so that several would make other requests; `connections = 1` makes these",
            )
        }
        (Transport::Http1 | Transport::H2, Pattern::Serial | Pattern::Parallel) => None,
        (Transport::Http1 | Transport::H2, _) => {
            Some("h2load starts the next fetch when one has ended")
        }
        _ => Some("h2load speaks HTTP/1.1 and HTTP/2"),
    }
}

/// Its connections.
fn clients(job: &Job) -> usize {
    match job.pattern {
        Pattern::Serial => 1,
        _ => (job.connections as usize).clamp(1, job.fetches.len().max(1)),
    }
}

fn command(job: &Job) -> Vec<String> {
    let count = job.fetches.len();
    let streams = match (job.pattern, job.transport) {
        (Pattern::Serial, _) | (_, Transport::Http1) => 1,
        _ => MULTIPLEXED.min(count.max(1)),
    };
    let mut words: Vec<String> = ["h2load", "-t", "1"].map(str::to_owned).to_vec();
    for (flag, value) in [("-n", count), ("-c", clients(job)), ("-m", streams)] {
        words.extend([flag.to_owned(), value.to_string()]);
    }
    words.push(format!("--connection-active-timeout={}", job.timeout().as_secs().max(1)));
    words.push(format!("--log-file={}", LOG));
    words.push(format!("--input-file={}", URLS));
    match (job.transport, job.tls) {
        (Transport::Http1, _) => words.push("--h1".to_owned()),
        (_, Tls::None) => words.push("--no-tls-proto=h2c".to_owned()),
        _ => words.push("--npn-list=h2".to_owned()),
    }
    words
}

fn fetch(job: &Job, emit: &mut Emit<'_>, words: &[String]) -> Result<(), ToolError> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let mut tool = ToolRun::begin(emit, "h2load", false)?;
    let zero = os::clock::realtime() - Duration::from_secs_f64(tool.now_ms() / 1e3);
    let mut protocol = None;
    let status = tool.run(command, Stream::Output, |_, text| {
        if let Some(name) = text.strip_prefix("Application protocol: ") {
            // Its word for HTTP/2 in the clear (RFC 7540 §3.1).
            protocol = Some(if name == "h2c" { Protocol::Http2.name() } else { name }.to_owned());
        }
        Parsed::Nothing
    })?;
    let text = fs::read_to_string(LOG).unwrap_or_default();
    let mut rows: Vec<Row> = text.lines().filter_map(|line| row(line, zero)).collect();
    // A row does not say its URL. On its one connection h2load requests the URLs in their order.
    rows.sort_by(|a, b| a.started.total_cmp(&b.started));
    let mut rows = rows.into_iter();
    for (place, fetch) in job.fetches.iter().enumerate() {
        // The first request had to connect before, and h2load does not report when that began.
        let waits = place == 0 || job.pattern == Pattern::Parallel;
        let wish = |started: f64| if waits { 0.0 } else { started };
        let line = match rows.next() {
            Some(row) => FetchLine {
                status: Some(row.status),
                protocol: protocol.clone(),
                sent_ms: Some(row.started),
                ..FetchLine::at(fetch.id, wish(row.started), row.ended)
            },
            None => {
                let at = tool.now_ms();
                let error = Some(silent("h2load", status));
                FetchLine { error, ..FetchLine::at(fetch.id, at, at) }
            }
        };
        tool.emit(OutputLine::Fetch(line))?;
    }
    tool.end(None)
}

#[derive(Debug, PartialEq)]
struct Row {
    started: f64,
    ended: f64,
    status: u16,
}

/// Start in microseconds since 1970, status, duration in microseconds.
fn row(line: &str, zero: Duration) -> Option<Row> {
    let mut words = line.split_ascii_whitespace();
    let start = Duration::from_micros(words.next()?.parse().ok()?);
    let status = words.next()?.parse().ok()?;
    let took: f64 = words.next()?.parse().ok()?;
    let started = start.saturating_sub(zero).as_secs_f64() * 1e3;
    Some(Row { started, ended: started + took / 1e3, status })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;

    #[test]
    fn several_connections_make_the_requests_of_a_job_only_where_all_are_alike() {
        let mut other = job(&["http://a.test/small", "http://a.test/large"]);
        assert!(unable(&other).is_some_and(|reason| reason.contains("begins its list anew")));
        other.connections = 1;
        assert_eq!(unable(&other), None);
        other.connections = 6;
        other.pattern = Pattern::Serial;
        assert_eq!(unable(&other), None);
        assert_eq!(unable(&job(&["http://a.test/small"; 2])), None);
    }

    #[test]
    fn a_row_of_h2load_s_log_is_read_against_the_wall_clock() {
        let zero = Duration::from_secs(1_000);
        let expected = Row { started: 2.0, ended: 3.5, status: 200 };
        assert_eq!(row("1000002000\t200\t1500", zero), Some(expected));
        assert_eq!(row("1000002000\t-1\t1500", zero), None);
    }
}
