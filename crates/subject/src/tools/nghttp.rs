//! nghttp: HTTP/2 only, all fetches at once over one connection. It reports by `--stat`, which it prints at its end.

use super::drive::{Parsed, Stream, ToolRun, silent};
use super::{Emit, ToolError};
use crate::contract::{FetchLine, Job, OutputLine, Pattern, Tls, Transport};
use std::collections::BTreeSet;
use std::process::Command;

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let unable = match (job.transport, job.pattern) {
        (Transport::H2, Pattern::Parallel) if job.output.is_some() => {
            Some("nghttp writes all bodies to one output, and no files")
        }
        (Transport::H2, _) if !job.keep_alive => {
            Some("nghttp makes all its requests on one connection")
        }
        (Transport::H2, Pattern::Parallel) if job.tls == Tls::V1_2 => {
            Some("nghttp cannot be held to TLS 1.2")
        }
        (Transport::H2, Pattern::Parallel) if repeats(job) => Some("nghttp asks for a URL once"),
        (Transport::H2, Pattern::Parallel) => None,
        (Transport::H2, _) => Some("nghttp makes all its requests at once"),
        _ => Some("nghttp speaks HTTP/2 alone"),
    };
    if let Some(reason) = unable {
        return Err(ToolError::unable(reason));
    }
    let mut command = Command::new("nghttp");
    command.args(["--null-out", "--stat", "--no-verify-peer", "--no-dep"]);
    command.arg(format!("--timeout={}", job.timeout().as_secs().max(1)));
    command.args(job.fetches.iter().map(|fetch| &fetch.url));
    let mut tool = ToolRun::begin(emit, "nghttp", false)?;
    let mut rows = Vec::new();
    let status = tool.run(command, Stream::Output, |_, text| {
        rows.extend(row(text));
        Parsed::Nothing
    })?;
    // Its times count from when it had connected, but it does not report when that was. Its last time is about now.
    let last = rows.iter().map(|row| row.ended).fold(0.0, f64::max);
    let zero = (tool.now_ms() - last).max(0.0);
    let mut missing: BTreeSet<usize> = (0..job.fetches.len()).collect();
    for row in rows {
        let asked = |place: &&usize| path(&job.fetches[**place].url) == row.path;
        let Some(place) = missing.iter().find(asked).copied() else { continue };
        missing.remove(&place);
        tool.emit(OutputLine::Fetch(FetchLine {
            status: Some(row.status),
            protocol: Some("h2".to_owned()),
            connection: Some(0),
            sent_ms: Some(zero + row.started),
            // It had to connect first, and does not report when that began.
            ..FetchLine::at(job.fetches[place].id, 0.0, zero + row.ended)
        }))?;
    }
    for place in missing {
        let at = tool.now_ms();
        let error = Some(silent("nghttp", status));
        tool.emit(OutputLine::Fetch(FetchLine {
            error,
            ..FetchLine::at(job.fetches[place].id, at, at)
        }))?;
    }
    tool.end(Some(1))
}

/// Whether a URL is asked for more than once.
fn repeats(job: &Job) -> bool {
    let different: BTreeSet<&str> = job.fetches.iter().map(|fetch| fetch.url.as_str()).collect();
    different.len() < job.fetches.len()
}

/// A row of its statistics; times in milliseconds since it had connected.
#[derive(Debug, PartialEq)]
struct Row {
    ended: f64,
    started: f64,
    status: u16,
    path: String,
}

/// ` 13   +1.20ms      +154us   1.05ms  200   6K /path`; a star before the request's start marks a push.
fn row(line: &str) -> Option<Row> {
    let mut words = line.split_ascii_whitespace();
    let _stream: u32 = words.next()?.parse().ok()?;
    let ended = millis(words.next()?)?;
    let started = millis(words.next()?)?;
    let _process = words.next()?;
    let status = words.next()?.parse().ok()?;
    let _size = words.next()?;
    let path = words.next()?.to_owned();
    Some(Row { ended, started, status, path })
}

fn millis(text: &str) -> Option<f64> {
    let text = text.trim_start_matches('+');
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// Path and query of an absolute URL.
pub(super) fn path(url: &str) -> &str {
    let after = url.find("://").map_or(0, |at| at + 3);
    url[after..].find('/').map_or("/", |at| &url[after + at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::browser::tests::job;

    #[test]
    fn a_url_that_is_drawn_twice_is_not_for_it() {
        let mut twice = job(&["http://a.test/a", "http://a.test/b", "http://a.test/a"]);
        twice.transport = Transport::H2;
        let error = run(&twice, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "nghttp asks for a URL once");
    }

    #[test]
    fn a_row_of_nghttp_s_statistics_is_read() {
        let text = " 13   +1.20ms       +154us  1.05ms  200   6K /api?call=1";
        let expected = Row { ended: 1.2, started: 0.154, status: 200, path: "/api?call=1".into() };
        assert_eq!(row(text), Some(expected));
        assert_eq!(row("id  responseEnd requestStart  process code size request path"), None);
    }

    #[test]
    fn the_path_of_a_url_is_what_follows_its_host() {
        assert_eq!(path("https://a.test/b?c=/d"), "/b?c=/d");
        assert_eq!(path("https://a.test"), "/");
    }
}
