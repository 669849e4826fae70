//! wrk: a load tool that runs for a time. A script makes it fetch each path once, and prints what it did.

use super::drive::{Parsed, Stream, ToolRun, silent};
use super::{Emit, ToolError};
use crate::contract::{FetchLine, Job, OutputLine, Pattern, Tls, Transport};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Duration;
use trace::Protocol;

pub(super) fn run(job: &Job, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let unable = match (job.transport, job.pattern) {
        _ if job.output.is_some() => Some("wrk drops all bodies, and writes no files"),
        _ if job.tls != Tls::None => Some("wrk cannot be held to a TLS version"),
        (Transport::Http1, Pattern::Serial) if job.keep_alive => None,
        (Transport::Http1, Pattern::Serial) => Some("wrk keeps its connections"),
        (Transport::Http1, _) => {
            Some("wrk cannot be stopped at a number of fetches over several connections")
        }
        _ => Some("wrk speaks HTTP/1.1 alone"),
    };
    if let Some(reason) = unable {
        return Err(ToolError::unable(reason));
    }
    let Some(first) = job.fetches.first() else {
        return Err(ToolError::unable("wrk needs something to fetch"));
    };
    fs::write(SCRIPT, script(job))?;
    let mut command = Command::new("wrk");
    let seconds = job.timeout().as_secs().max(1);
    command.args(["-t", "1", "-c", "1", "-d", &format!("{seconds}s"), "--timeout"]);
    command.arg(format!("{seconds}s")).arg("-s").arg(SCRIPT).arg(&first.url);
    fetch(job, emit, command)
}

/// A file in the working directory of the adapter, which belongs to the trial.
const SCRIPT: &str = "wrk.lua";

fn fetch(job: &Job, emit: &mut Emit<'_>, command: Command) -> Result<(), ToolError> {
    let mut tool = ToolRun::begin(emit, "wrk", false)?;
    let zero = os::clock::realtime() - Duration::from_secs_f64(tool.now_ms() / 1e3);
    let at = |micros: f64| (micros / 1e3 - zero.as_secs_f64() * 1e3).max(0.0);
    let mut sent: BTreeMap<usize, f64> = BTreeMap::new();
    let mut answered = BTreeMap::new();
    let status = tool.run(command, Stream::Output, |_, text| {
        match event(text) {
            Some(Event::Sent { place, micros }) => drop(sent.insert(place, at(micros))),
            Some(Event::Answered { place, micros, status, bytes }) => {
                answered.insert(place, (at(micros), status, bytes));
            }
            None => {}
        }
        // It would go on until its time is up.
        if answered.len() == job.fetches.len() { Parsed::Enough } else { Parsed::Nothing }
    })?;
    for (place, fetch) in job.fetches.iter().enumerate() {
        let line = match (sent.get(&place), answered.get(&place)) {
            (Some(&sent), Some(&(ended, status, bytes))) => FetchLine {
                status: Some(status),
                protocol: Some(Protocol::Http1.name().to_owned()),
                connection: Some(0),
                sent_ms: Some(sent),
                bytes: Some(bytes),
                // It connects before it sends the first request, and does not report when that began.
                ..FetchLine::at(fetch.id, if place == 0 { 0.0 } else { sent }, ended.max(sent))
            },
            _ => {
                let at = tool.now_ms();
                let error = Some(silent("wrk", status));
                FetchLine { error, ..FetchLine::at(fetch.id, at, at) }
            }
        };
        tool.emit(OutputLine::Fetch(line))?;
    }
    tool.end(None)
}

enum Event {
    Sent { place: usize, micros: f64 },
    Answered { place: usize, micros: f64, status: u16, bytes: u64 },
}

fn event(line: &str) -> Option<Event> {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next()?;
    let place = words.next()?.parse().ok()?;
    let micros = words.next()?.parse().ok()?;
    match kind {
        "sent" => Some(Event::Sent { place, micros }),
        "answered" => {
            let status = words.next()?.parse().ok()?;
            Some(Event::Answered { place, micros, status, bytes: words.next()?.parse().ok()? })
        }
        _ => None,
    }
}

/// A Lua script for wrk: each path once, in order, then no more. Its clock is gettimeofday(2).
fn script(job: &Job) -> String {
    let mut text = String::from(
        "local ffi = require('ffi')\n\
         ffi.cdef[[typedef struct { long s; long us; } when_t; int gettimeofday(when_t *, void *);]]\n\
         local now = ffi.new('when_t')\n\
         local function micros()\n  ffi.C.gettimeofday(now, nil)\n\
         \x20 return string.format('%.0f', tonumber(now.s) * 1e6 + tonumber(now.us))\nend\n\
         local paths = {\n",
    );
    for fetch in &job.fetches {
        let _ = writeln!(text, "  {:?},", super::nghttp::path(&fetch.url));
    }
    text.push_str(
        "}\nlocal asked, answered = 0, 0\nio.stdout:setvbuf('line')\n\
         function request()\n  if asked < #paths then\n\
         \x20   asked = asked + 1\n    io.write('sent ', asked - 1, ' ', micros(), '\\n')\n  end\n\
         \x20 return wrk.format('GET', paths[asked])\nend\n\
         function response(status, headers, body)\n  answered = answered + 1\n\
         \x20 io.write('answered ', answered - 1, ' ', micros(), ' ', status, ' ', #body, '\\n')\n\
         \x20 if answered == #paths then wrk.thread:stop() end\nend\n",
    );
    text
}
