//! Counts the assumptions that reading a recording made, and describes them for people.

use super::{Dependencies, Think};
use crate::number;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use unit::{ByteSize, format_duration};

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
            true => format!("{hosts} and {} origins", self.origins),
            false => hosts,
        };
        let replayed = if self.replayed == 1 { "is" } else { "are" };
        let mut lines = vec![format!(
            "{} of the file's {} {replayed} replayed; it names {servers}.",
            self.replayed,
            several(self.entries, "entry", "entries"),
        )];
        let others = match self.pages.saturating_sub(1) {
            1 => "the file's other page load".to_owned(),
            pages => format!("the file's {pages} other page loads"),
        };
        lines.extend(told(
            self.of_other_pages,
            format!("request is left out: it belongs to {others}"),
            format!("requests are left out: they belong to {others}"),
        ));
        lines.extend(told(
            self.not_http,
            "entry is left out: it is neither http nor https",
            "entries are left out: they are neither http nor https",
        ));
        lines.extend(told(
            self.unanswered,
            "request is left out: no answer was recorded",
            "requests are left out: no answers were recorded",
        ));
        lines.extend(told(
            self.answered_inside,
            "request is left out: the browser redirected it itself",
            "requests are left out: the browser redirected them itself",
        ));
        lines.extend(told(
            self.urls_unusable,
            "request is left out: its URL cannot be asked for",
            "requests are left out: their URLs cannot be asked for",
        ));
        lines.extend(self.unusable.iter().map(|unusable| format!("Left out: {unusable}.")));
        self.tell_answers(&mut lines);
        self.tell_initiators(&mut lines);
        self.tell_times(&mut lines);
        lines.extend(told(
            self.images_raised,
            "image of a high priority, which may have come with the layout, is asked for as images are",
            "images of a high priority, which may have come with the layout, are asked for as images are",
        ));
        let cookies = ByteSize(self.cookie_bytes);
        lines.extend(told(
            self.cookies,
            format!("request had cookies ({cookies} in all), which are left out"),
            format!("requests had cookies ({cookies} in all), which are left out"),
        ));
        lines.extend(told(
            self.paths_mended,
            "request has an illegal path, which is percent-encoded",
            "requests have an illegal path, which is percent-encoded",
        ));
        lines.extend(told(
            self.hosts_renamed,
            "host is an address, and gets a name",
            "hosts are addresses, and get names",
        ));
        lines.extend(told(
            self.repeats_renamed,
            "request is for a URL that answered differently before: a query parameter tells it apart",
            "requests are for URLs that answered differently before: a query parameter tells them apart",
        ));
        lines
    }

    fn tell_answers(&self, lines: &mut Vec<String>) {
        lines.extend(told(
            self.size_from_transfer,
            "request has the size that `_transferSize` gives, with its head",
            "requests have the size that `_transferSize` gives, with their heads",
        ));
        lines.extend(told(
            self.size_from_body,
            "request has the size that `bodySize` gives",
            "requests have the size that `bodySize` gives",
        ));
        lines.extend(told(
            self.size_from_length,
            "request has that of its Content-Length",
            "requests have that of their Content-Length",
        ));
        lines.extend(told(
            self.size_from_content,
            "request has the size of `content.size`, which is before compression",
            "requests have the size of `content.size`, which is before compression",
        ));
        lines.extend(told(
            self.size_unknown,
            "request has no size, and is answered with an empty body",
            "requests have no size, and are answered with an empty body",
        ));
        lines.extend(told(
            self.heads,
            "request is a HEAD, and is answered with the recorded Content-Length",
            "requests are HEADs, and are answered with the recorded Content-Length",
        ));
        let upload = ByteSize(self.upload_bytes);
        lines.extend(told(
            self.not_get,
            format!("request has another method, and sends {upload} of noise as its body"),
            format!("requests have other methods, and send {upload} of noise as their bodies"),
        ));
        lines.extend(told(
            self.methods_unknown,
            "request has a method that a replay does not make, and is a GET without its body",
            "requests have a method that a replay does not make, and are GETs without their bodies",
        ));
        lines.extend(told(
            self.redirects,
            "request is answered with a redirect",
            "requests are answered with redirects",
        ));
        lines.extend(told(
            self.parts,
            "request is for a part of a file, and is answered 206",
            "requests are for parts of files, and are answered 206",
        ));
        lines.extend(told(
            self.not_modified,
            "request is answered 304, as on a visit with the file in the cache",
            "requests are answered 304, as on a visit with the files in the cache",
        ));
        if self.document_whole {
            lines.push(
                "The document was answered 304, and is sent in full: all else is found in it."
                    .to_owned(),
            );
        }
        lines.extend(told(
            self.statuses_changed,
            "request had a status that a replay cannot give (a redirect to nowhere, a part of unknown place), and is answered 200",
            "requests had a status that a replay cannot give (a redirect to nowhere, a part of unknown place), and are answered 200",
        ));
        lines.extend(told(
            self.statuses_missing,
            "request has a size and no status, and is answered 200",
            "requests have a size and no status, and are answered 200",
        ));
        lines.extend(told(
            self.streams,
            "answer came bit by bit, and comes evenly over the recorded time, until the load's end",
            "answers came bit by bit, and come evenly over the recorded time, until the load's end",
        ));
        lines.extend(told(
            self.web_sockets,
            "WebSocket is opened over the contender's transport",
            "WebSockets are opened over the contender's transport",
        ));
        lines.extend(told(
            self.web_sockets_bare,
            "WebSocket has no recorded messages, and is opened and closed",
            "WebSockets have no recorded messages, and are opened and closed",
        ));
        lines.extend(told(
            self.web_sockets_refused,
            "WebSocket was not opened, and is a GET with the recorded status",
            "WebSockets were not opened, and are GETs with the recorded status",
        ));
        lines.extend(told(
            self.messages_left_out,
            "message of WebSockets came after the load's end, and is left out",
            "messages of WebSockets came after the load's end, and are left out",
        ));
        lines.extend(told(
            self.from_cache,
            "request was answered by the browser's cache or a service worker, and is answered in full, as on a first visit",
            "requests were answered by the browser's cache or a service worker, and are answered in full, as on a first visit",
        ));
        lines.extend(told(
            self.cache_repeats,
            "request was answered by the cache from an earlier one, and is left out",
            "requests were answered by the cache from earlier ones, and are left out",
        ));
        lines.extend(told(
            self.worker_repeats,
            "request was answered by a service worker, whose own request is replayed for it",
            "requests were answered by a service worker, whose own requests are replayed for them",
        ));
        lines.extend(told(
            self.errors,
            "request is answered with an error",
            "requests are answered with errors",
        ));
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
                lines.extend(told(
                    self.initiators_recorded,
                    "request waits for the initiator that the recording names",
                    "requests wait for the initiator that the recording names",
                ));
                lines.extend(told(
                    self.initiators_redirect,
                    "request waits for a redirect",
                    "requests wait for redirects",
                ));
                lines.extend(told(
                    self.preflights,
                    "request waits for its preflight (CORS)",
                    "requests wait for their preflights (CORS)",
                ));
                lines.extend(told(
                    self.initiators_by_referer,
                    "request waits for the style sheet in its Referer",
                    "requests wait for the style sheet in their Referer",
                ));
                lines.extend(told(
                    self.initiators_inferred,
                    "request has no recorded initiator: it is inferred from its kind and time",
                    "requests have no recorded initiator: it is inferred from their kind and time",
                ));
                lines.extend(told(
                    self.initiators_unusable,
                    "request has a recorded initiator that cannot be: another is inferred",
                    "requests have recorded initiators that cannot be: others are inferred",
                ));
                lines.extend(told(
                    self.begun_early,
                    "request began before its initiator had ended: it goes out at that end",
                    "requests began before their initiators had ended: they go out at that end",
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
                let median = format_duration(median);
                lines.push(match self.rtt_measured {
                    1 => format!("The recorded round trip of 1 host is its shortest TCP connect ({median})."),
                    hosts => format!(
                        "The recorded round trip of {hosts} hosts is their shortest TCP connect (median {median})."
                    ),
                });
                lines.extend(told(
                    self.rtt_assumed,
                    format!("host has no TCP connect, and that round trip: {median}"),
                    format!("hosts have no TCP connect, and that round trip: {median}"),
                ));
            }
            None => lines.push(
                "No TCP connect is recorded, so that the server time is the whole wait.".to_owned(),
            ),
        }
        lines.extend(told(
            self.connect_without_tls,
            "connect was recorded without its TLS handshake",
            "connects were recorded without their TLS handshakes",
        ));
        lines.extend(told(
            self.waits_clamped,
            "request was answered within a round trip: its server time is 0",
            "requests were answered within a round trip: their server time is 0",
        ));
        lines.extend(told(
            self.waits_missing,
            "request has no wait: its server time is 0",
            "requests have no wait: their server time is 0",
        ));
        if let Some(span) = self.load_span {
            let end = match self.no_on_load {
                false => "up to onLoad",
                true => "up to when nothing was under way for 5 s (no usable onLoad is recorded)",
            };
            lines.push(format!("The recorded load took {}, {end}.", format_duration(span)));
        }
        let end = if self.no_on_load { "that" } else { "onLoad" };
        lines.extend(told(
            self.after_load,
            format!("request began after {end}, and is left out"),
            format!("requests began after {end}, and are left out"),
        ));
        lines.extend(told(
            self.waits_cut,
            format!("request waited beyond {end}: its server time ends with it"),
            format!("requests waited beyond {end}: their server time ends with it"),
        ));
        let at = if self.no_on_load { "then" } else { "at onLoad" };
        let bytes = ByteSize(self.under_way_bytes);
        lines.extend(told(
            self.under_way,
            format!("request ({bytes}) was under way {at}: it is replayed whole, and the load waits for it"),
            format!("requests ({bytes}) were under way {at}: they are replayed whole, and the load waits for them"),
        ));
        lines.extend(told(
            self.starts_missing,
            "request has no start, and begins with the entry before it",
            "requests have no start, and begin with the entries before them",
        ));
        lines.extend(told(
            self.starts_absurd,
            "request has a start that cannot be, and begins with the entry before it",
            "requests have a start that cannot be, and begin with the entries before them",
        ));
        lines.extend(told(
            self.durations_missing,
            "request has no duration, and takes none",
            "requests have no duration, and take none",
        ));
    }
}

impl fmt::Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().join("\n"))
    }
}

/// `1 request has no size.`, `3 requests have no size.`; nothing of none.
fn told(count: u32, one: impl fmt::Display, many: impl fmt::Display) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}.")),
        _ => Some(format!("{count} {many}.")),
    }
}

fn several(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
