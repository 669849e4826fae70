//! What the adapters of browsers share: what a browser does not do, its events, the lines of a page's requests, and what the page itself
//! knows of its times.

mod events;
mod json;
mod page;
mod requests;
mod visit;
mod work;

pub(crate) use events::{Event, Events};
pub(crate) use json::read_json;
pub(super) use page::{OBSERVERS, PageTimes, READ, SETTLE};
pub use requests::NOT_ASKED;
pub(super) use requests::Requests;
pub(super) use visit::{REST, Zero, next_line};
pub(super) use work::{BLANK, Told, ask_all, document, script};

use super::ToolError;
use crate::contract::{Fetch, Job, Pattern, Tls, Transport, Workload};
use std::process::{Child, ExitStatus};
use std::time::Duration;
use unit::Instant;

/// What no browser does in this way.
pub(super) fn check(job: &Job) -> Result<(), ToolError> {
    let reason = match (job.workload, job.pattern, job.transport, job.tls) {
        (Workload::Download, ..) => "a browser writes no files here",
        (_, Pattern::Staggered { .. }, ..) => {
            "a page's timers are too coarse for calls at fixed times: a browser makes them one after another, or at once"
        }
        (Workload::Page, Pattern::Serial, ..) => {
            "a browser chooses itself when a page's fetches begin"
        }
        (Workload::Page | Workload::Calls, _, Transport::WebSocket, _) => {
            "a WebSocket carries messages alone"
        }
        (_, _, Transport::Spdy31 | Transport::Spdy3, _) => {
            "no browser that is driven in this way speaks SPDY"
        }
        (_, _, Transport::H2 | Transport::H3, Tls::None) => {
            "browsers speak HTTP/2 and HTTP/3 over TLS alone"
        }
        (_, _, Transport::H3, Tls::V1_2) => "HTTP/3 is TLS 1.3",
        _ if !job.keep_alive => "a browser keeps its connections",
        _ if job.warmup > 0 => "a browser starts cold",
        _ => return Ok(()),
    };
    Err(ToolError::unable(reason))
}

/// How a browser ended; None where it has not by then.
pub(super) fn ended(browser: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = browser.try_wait() {
            return Some(status);
        }
        if os::clock::now() >= deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Every `HOST:PORT` of the job, once each.
pub(super) fn origins(job: &Job) -> Vec<String> {
    let authority = |fetch: &Fetch| {
        let (_, authority) = fetch.origin().split_once("://")?;
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        Some(if has_port { authority.to_owned() } else { format!("{authority}:443") })
    };
    let mut origins: Vec<String> = job.fetches.iter().filter_map(authority).collect();
    origins.sort();
    origins.dedup();
    origins
}

#[cfg(test)]
pub(super) mod tests {
    use crate::contract::{Fetch, Job, Negotiation, Pattern, Tls, Transport, Workload};

    /// A page's job in the clear.
    pub(crate) fn job(urls: &[&str]) -> Job {
        Job {
            contract: 1,
            workload: Workload::Page,
            transport: Transport::Http1,
            tls: Tls::None,
            negotiation: Negotiation::Alpn,
            pattern: Pattern::Parallel,
            connections: 6,
            keep_alive: true,
            resumption: true,
            receive_windows: None,
            fetches: (0..).zip(urls).map(|(id, url)| Fetch::get(id, (*url).into(), None)).collect(),
            trust: None,
            public_keys: Vec::new(),
            film: None,
            earlier: None,
            alt_svc: None,
            replay: None,
            output: None,
            key_log: None,
            warmup: 0,
            timeout_ms: 1_000,
        }
    }
}
