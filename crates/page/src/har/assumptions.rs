//! Counts the assumptions that reading a recording made, and describes them for people.

use super::{Dependencies, Think};
use crate::number;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use unit::format_duration;

/// The counts. Those about sizes, initiators and times speak of the requests that are replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Assumptions {
    /// Entries in the file.
    pub entries: u32,
    /// Host names in the file.
    pub hosts: u32,
    /// Origins in the file: their schemes, host names and ports.
    pub origins: u32,
    /// Page loads in the file.
    pub pages: u32,
    /// Entries that belong to another page load than the one replayed.
    pub of_other_pages: u32,
    /// Entries skipped for their scheme (`data:`, `blob:`, `chrome-extension:`, …).
    pub not_http: u32,
    /// WebSockets, replayed with their messages.
    pub web_sockets: u32,
    /// Those of them whose messages are not recorded: they are opened and closed.
    pub web_sockets_bare: u32,
    /// Requests for a WebSocket that got another answer, replayed as a GET with that.
    pub web_sockets_refused: u32,
    /// Messages of WebSockets after the load's end, left out.
    pub messages_left_out: u32,
    /// Entries skipped because no answer was recorded (blocked, cancelled, still under way, pushed and unused).
    pub unanswered: u32,
    /// Entries skipped because the browser redirected itself (HSTS, an extension).
    pub answered_inside: u32,
    /// Entries left out because their URLs cannot be asked for.
    pub urls_unusable: u32,
    /// The first of those, each with its place in the file and what is wrong.
    pub unusable: Vec<String>,
    /// Requests that are replayed.
    pub replayed: u32,
    /// Sizes taken from `_transferSize`.
    pub size_from_transfer: u32,
    /// Sizes taken from `bodySize`.
    pub size_from_body: u32,
    /// Sizes taken from the Content-Length field.
    pub size_from_length: u32,
    /// Sizes taken from `content.size`.
    pub size_from_content: u32,
    /// Requests without any size, taken as empty.
    pub size_unknown: u32,
    /// HEAD requests, replayed as such.
    pub heads: u32,
    /// Requests answered 304, replayed so.
    pub not_modified: u32,
    /// Whether the document was answered 304, and is replayed in full.
    pub document_whole: bool,
    /// Requests answered with a redirect, replayed so.
    pub redirects: u32,
    /// Requests for a part, answered 206.
    pub parts: u32,
    /// Requests whose status a replay cannot give, answered 200.
    pub statuses_changed: u32,
    /// Requests without a status but with an answer of some size, answered 200.
    pub statuses_missing: u32,
    /// Responses that come bit by bit.
    pub streams: u32,
    /// Requests that the browser's cache or a service worker answered, replayed in full.
    pub from_cache: u32,
    /// Requests that the browser's cache answered with the response to an earlier one of the same load, left out.
    pub cache_repeats: u32,
    /// Requests that a service worker answered and asked for itself: its own requests are replayed in their place.
    pub worker_repeats: u32,
    /// Requests answered with an error, replayed so.
    pub errors: u32,
    /// How initiators were used.
    pub dependencies: Dependencies,
    /// How gaps were used.
    pub think: Think,
    /// Initiators that the recording names.
    pub initiators_recorded: u32,
    /// Requests that waited for a preflight (CORS).
    pub preflights: u32,
    /// Initiators that are redirects.
    pub initiators_redirect: u32,
    /// Initiators known by the Referer field (style sheets).
    pub initiators_by_referer: u32,
    /// Initiators inferred from kind and time.
    pub initiators_inferred: u32,
    /// Initiators that the recording names but that are not in it, began later, or are the request itself.
    pub initiators_unusable: u32,
    /// Requests that began before their initiator had ended.
    pub begun_early: u32,
    /// Hosts whose round trip is their least TCP connect.
    pub rtt_measured: u32,
    /// Hosts whose round trip is the median of the others'.
    pub rtt_assumed: u32,
    /// That median; None where no host has a TCP connect.
    #[serde(with = "number::nanos::option")]
    pub rtt_median: Option<Duration>,
    /// Connects that exclude the TLS handshake, by the entry's total or for being shorter.
    pub connect_without_tls: u32,
    /// Waits shorter than the round trip, for which the server time is 0.
    pub waits_clamped: u32,
    /// Requests without a wait, for which the server time is 0.
    pub waits_missing: u32,
    /// Waits that went on after the load's end, which end with it.
    pub waits_cut: u32,
    /// Requests whose bodies were under way at the load's end, replayed whole: the replay's load waits for them.
    pub under_way: u32,
    /// Bytes of those bodies.
    pub under_way_bytes: u64,
    /// Requests that began after the load's end, left out.
    pub after_load: u32,
    /// Whether the recording lacks a usable onLoad, so that the load's end is inferred.
    pub no_on_load: bool,
    /// From the first request to the load's end, as recorded.
    #[serde(with = "number::nanos::option")]
    pub load_span: Option<Duration>,
    /// Requests without a start, placed with the entry before them.
    pub starts_missing: u32,
    /// Requests whose start cannot be, placed likewise.
    pub starts_absurd: u32,
    /// Requests without a duration, taken as instant.
    pub durations_missing: u32,
    /// Requests of other methods than GET and HEAD, replayed so.
    pub not_get: u32,
    /// Requests of methods that a replay does not make, replayed as GET.
    pub methods_unknown: u32,
    /// Bytes that those of other methods send.
    pub upload_bytes: u64,
    /// Images whose recorded priority may be a later one, for which their kind decides.
    pub images_raised: u32,
    /// Requests of a HAR file that sent cookies, which are left out.
    pub cookies: u32,
    /// Bytes of those cookies.
    pub cookie_bytes: u64,
    /// Paths with characters that no request line may hold, percent-encoded.
    pub paths_mended: u32,
    /// Hosts that are address literals, given a name.
    pub hosts_renamed: u32,
    /// Repeats of a URL with another answer, told apart by a parameter in the query.
    pub repeats_renamed: u32,
}

impl Assumptions {
    /// One sentence for each thing assumed.
    pub fn sentences(&self) -> Vec<String> {
        let hosts = several(self.hosts, "host", "hosts");
        let servers = match self.origins > self.hosts {
            true => format!("{hosts} with {} origins", self.origins),
            false => hosts,
        };
        let mut lines = vec![format!(
            "Replayed: {} of {} ({servers} in the file).",
            self.replayed,
            several(self.entries, "entry", "entries"),
        )];
        let others = several(self.pages.saturating_sub(1), "other page load", "other page loads");
        lines.extend(some(self.of_other_pages, format!("left out: of the file's {others}")));
        lines.extend(some(self.not_http, "skipped: not http or https"));
        lines.extend(some(self.unanswered, "skipped: no answer was recorded"));
        lines.extend(some(self.answered_inside, "skipped: the browser redirected itself"));
        lines.extend(some(self.urls_unusable, "left out: their URL cannot be asked for"));
        lines.extend(self.unusable.iter().map(|unusable| format!("Left out: {unusable}.")));
        self.tell_answers(&mut lines);
        self.tell_initiators(&mut lines);
        self.tell_times(&mut lines);
        lines.extend(some(
            self.images_raised,
            "for an image of a high priority, which may have come with the layout: asked for as images are",
        ));
        let cookies = format!("with cookies ({} B in all): left out", self.cookie_bytes);
        lines.extend(some(self.cookies, cookies));
        lines.extend(some(self.paths_mended, "with an illegal path: percent-encoded"));
        lines.extend(some_hosts(self.hosts_renamed, "with an address for a name: given a name"));
        lines.extend(some(
            self.repeats_renamed,
            "for a URL that answered differently before: told apart by a query parameter",
        ));
        lines
    }

    fn tell_answers(&self, lines: &mut Vec<String>) {
        lines.extend(some(self.size_from_transfer, "sized by _transferSize (head included)"));
        lines.extend(some(self.size_from_body, "sized by bodySize"));
        lines.extend(some(self.size_from_length, "sized by Content-Length"));
        lines.extend(some(self.size_from_content, "sized by content.size (decoded)"));
        lines.extend(some(self.size_unknown, "without any size: taken as empty"));
        lines.extend(some(self.heads, "HEAD: replayed as HEAD, with the recorded Content-Length"));
        lines.extend(some(
            self.not_get,
            format!(
                "another method: replayed as such, with {} B of body that hold noise",
                self.upload_bytes
            ),
        ));
        lines.extend(some(
            self.methods_unknown,
            "a method that a replay does not make: replayed as GET without its body",
        ));
        lines.extend(some(self.redirects, "answered with a redirect: replayed as such"));
        lines.extend(some(self.parts, "for a part (206): replayed as such"));
        lines.extend(some(
            self.not_modified,
            "answered 304: replayed as such, as on a visit with that in the cache",
        ));
        if self.document_whole {
            lines.push(
                "The document was answered 304: replayed in full, all else is found in it."
                    .to_owned(),
            );
        }
        lines.extend(some(
            self.statuses_changed,
            "answered with a status that a replay cannot give (a redirect to nowhere, a part of \
             unknown place): replayed with status 200",
        ));
        lines.extend(some(
            self.statuses_missing,
            "without a status, but with a size: taken as answered, with status 200",
        ));
        lines.extend(some(
            self.streams,
            "answered bit by bit: replayed evenly over the recorded time, until the load's end",
        ));
        lines.extend(some(
            self.web_sockets,
            "for a WebSocket: replayed over the contender's transport",
        ));
        lines.extend(some(
            self.web_sockets_bare,
            "for a WebSocket without recorded messages: opened and closed",
        ));
        lines.extend(some(
            self.web_sockets_refused,
            "for a WebSocket that was not opened: replayed as a GET with the recorded status",
        ));
        if self.messages_left_out > 0 {
            let count = several(self.messages_left_out, "message", "messages");
            lines.push(format!("{count} of WebSockets: left out, after the load's end."));
        }
        lines.extend(some(
            self.from_cache,
            "answered by the browser's cache or a service worker: replayed in full, as on a first visit",
        ));
        lines.extend(some(
            self.cache_repeats,
            "answered by the cache from an earlier request: left out",
        ));
        lines.extend(some(
            self.worker_repeats,
            "answered by a service worker that asked for the same: its own requests are replayed",
        ));
        lines.extend(some(self.errors, "answered with an error: replayed as such"));
    }

    fn tell_initiators(&self, lines: &mut Vec<String>) {
        match self.dependencies {
            Dependencies::Flat => {
                lines.push(
                    "Flat dependencies: everything is found when the document has arrived."
                        .to_owned(),
                );
            }
            Dependencies::Inferred => {
                lines.extend(some(
                    self.initiators_recorded,
                    "found by the initiator that the recording names",
                ));
                lines.extend(some(self.initiators_redirect, "found by a redirect"));
                lines.extend(some(
                    self.preflights,
                    "asked for leave by a preflight (CORS): released at its end",
                ));
                lines.extend(some(
                    self.initiators_by_referer,
                    "found by the style sheet in their Referer",
                ));
                lines.extend(some(
                    self.initiators_inferred,
                    "with an initiator inferred from kind and time",
                ));
                lines.extend(some(
                    self.initiators_unusable,
                    "with a recorded initiator that cannot be: inferred instead",
                ));
                lines.extend(some(
                    self.begun_early,
                    "began before their initiator had ended: released at its end",
                ));
            }
        }
        if self.think == Think::None {
            lines.push("Gaps after discovery are left out.".to_owned());
        }
    }

    fn tell_times(&self, lines: &mut Vec<String>) {
        match self.rtt_median {
            Some(median) => {
                let assumed = match self.rtt_assumed {
                    0 => String::new(),
                    some => format!(", {} by the median of those", several(some, "host", "hosts")),
                };
                lines.push(format!(
                    "Round trips: {} by the least TCP connect{assumed}, {}.",
                    several(self.rtt_measured, "host", "hosts"),
                    format_duration(median)
                ));
            }
            None => lines.push(
                "Round trips: no TCP connect is recorded, so server time is the whole wait."
                    .to_owned(),
            ),
        }
        lines.extend(some(self.connect_without_tls, "with a connect that excludes TLS"));
        lines.extend(some(self.waits_clamped, "waited less than a round trip: server time 0"));
        lines.extend(some(self.waits_missing, "without a wait: server time 0"));
        if let Some(span) = self.load_span {
            let end = match self.no_on_load {
                false => "until onLoad",
                true => "until nothing was under way for 5 s (no usable onLoad is recorded)",
            };
            lines.push(format!("The recorded load took {}, {end}.", format_duration(span)));
        }
        lines.extend(some(
            self.after_load,
            "began after that: left out, a trial ends with the load",
        ));
        lines.extend(some(
            self.waits_cut,
            "waited until after that: server time cut to end with it",
        ));
        if self.under_way > 0 {
            lines.push(format!(
                "{} ({} B) {} under way at its end: replayed whole, the load waits for {}.",
                several(self.under_way, "request", "requests"),
                self.under_way_bytes,
                if self.under_way == 1 { "was" } else { "were" },
                if self.under_way == 1 { "it" } else { "them" },
            ));
        }
        lines.extend(some(self.starts_missing, "without a start: placed with the entry before"));
        lines.extend(some(
            self.starts_absurd,
            "with a start that cannot be: placed with the entry before",
        ));
        lines.extend(some(self.durations_missing, "without a duration: taken as instant"));
    }
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().join("\n"))
    }
}

fn some(count: u32, what: impl fmt::Display) -> Option<String> {
    (count > 0).then(|| format!("{}: {what}.", several(count, "request", "requests")))
}

fn some_hosts(count: u32, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{}: {what}.", several(count, "host", "hosts")))
}

fn several(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
