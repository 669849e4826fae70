//! Makes a page of a recording's entries. The one rule: what is assumed is counted.

use super::discovery::{Detective, Request};
use super::entry::Entry;
use super::extent::{self, Extent};
use super::file::Chosen;
use super::names::{Paths, name_for_literal, shared_hosts};
use super::times::RoundTrips;
use super::{
    Assumptions, Dependencies, HarError, HarOptions, Recording, Think, blocking, kind, own_answers,
    preflight, socket, status,
};
use crate::exchange::{Answered, Asked, Field, Sender};
use crate::graph::Page;
use crate::priority::{Hint, Rank};
use crate::resource::{Blocks, Fold, Kind, Method, Resource, ResourceId};
use crate::url::{Url, UrlError, path_was_mended};
use std::collections::BTreeSet;
use std::time::Duration;
use unit::ByteSize;

/// A recording on its way to a page.
pub(super) struct Builder {
    pub(super) options: HarOptions,
    /// Whether sizes are exact and all fields are replayed.
    pub(super) is_site: bool,
    pub(super) epoch_ms: u64,
    pub(super) assumptions: Assumptions,
    pub(super) unusable: Vec<Unusable>,
}

/// An entry that is left out because its URL cannot be asked for.
pub(super) struct Unusable {
    start: Option<i64>,
    is_document: bool,
    error: HarError,
}

/// Entries left out for their URLs that are listed one by one.
const UNUSABLE_TOLD: usize = 5;

/// Bytes of all bodies that a page sends.
const MOST_UPLOADED: u64 = 256 << 20;

impl Builder {
    pub(super) fn build(
        mut self,
        mut chosen: Chosen,
        entries: Vec<Entry>,
    ) -> Result<Recording, HarError> {
        let count = entries.len();
        let hosts = entries.iter().filter_map(|entry| Some(fetched(&entry.url).ok()?.host));
        self.assumptions.hosts = hosts.collect::<BTreeSet<_>>().len() as u32;
        let origins = entries.iter().filter_map(|entry| {
            let url = fetched(&entry.url).ok()?;
            let port = url.port();
            Some((url.scheme, url.host, port))
        });
        self.assumptions.origins = origins.collect::<BTreeSet<_>>().len() as u32;
        let mut requests = self.requests(&mut chosen, entries);
        if requests.is_empty() {
            let unusable = self.unusable.into_iter().next();
            return Err(unusable.map_or(HarError::Nothing(count), |unusable| unusable.error));
        }
        requests.sort_by_key(|request| (request.start, request.entry.index));
        self.assumptions.worker_repeats = own_answers::leave_to_workers(&mut requests);
        let mut document = document_of(&requests);
        self.tell_unusable(&requests[document])?;
        requests[document].kind = Kind::Document;
        self.fetch_whole(&mut requests[document].entry);
        let extent = Extent::of(&chosen.load, &requests, document);
        self.assumptions.after_load = (requests.len() - extent.requests) as u32;
        self.assumptions.no_on_load = !extent.by_on_load;
        self.assumptions.load_span = Some(span(extent.end - requests[0].start));
        requests.truncate(extent.requests);
        // Behind the extent: a request that began within the load stays in it with its preflight.
        document = preflight::put_first(&mut requests, document);
        self.assumptions.cache_repeats =
            own_answers::leave_out_repeats(&mut requests, &mut document);
        check_uploads(&requests)?;
        self.assumptions.replayed = requests.len() as u32;
        for request in &mut requests {
            request.size = self.size(&request.entry);
        }
        let rtts = RoundTrips::measure(&requests, &mut self.assumptions);
        let mut resources = self.resources(&requests, document, &rtts);
        self.end_with_the_load(&mut resources, &requests, &extent);
        for (resource, request) in resources.iter_mut().zip(&requests) {
            if request.entry.is_web_socket() {
                self.converse(resource, request, extent.end);
            } else if request.entry.is_stream() && resource.body > ByteSize::ZERO {
                self.stream(resource, request, extent.end);
            }
        }
        self.rename(&mut resources, &requests);
        let page = blocking::with_head(Page::new(ResourceId(document as u32), resources)?);
        let shared = shared_hosts(&requests);
        let by_host = rtts.by_host().iter();
        let by_name =
            by_host.map(|(host, &rtt)| (name_for_literal(host).unwrap_or(host.clone()), rtt));
        Ok(Recording {
            title: chosen.load.title,
            page: page.with_recorded_rtts(&by_name.collect()).with_shared_hosts(&shared),
            assumptions: self.assumptions,
            is_site: self.is_site,
            epoch_ms: self.epoch_ms,
        })
    }

    /// The entries that are replayed, with what is known of their times.
    fn requests(&mut self, chosen: &mut Chosen, entries: Vec<Entry>) -> Vec<Request> {
        let is_other =
            |entry: &Entry| entry.pageref.as_ref().is_some_and(|page| chosen.others.contains(page));
        let (others, entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_other);
        self.assumptions.of_other_pages = others.len() as u32;
        let plausible = extent::plausible_starts(&mut chosen.load, &entries);
        let mut requests = Vec::new();
        let first =
            entries.iter().filter_map(|entry| entry.started).find(|at| plausible.contains(at));
        let mut last_start = chosen.load.started.or(first).unwrap_or(0);
        for entry in entries {
            let started = entry.started.filter(|at| plausible.contains(at));
            let Some(url) = self.fetchable(&entry, started) else { continue };
            let start = started.unwrap_or(last_start);
            match entry.started {
                None => self.assumptions.starts_missing += 1,
                Some(_) if started.is_none() => self.assumptions.starts_absurd += 1,
                Some(_) => {}
            }
            last_start = start;
            let taken = entry.time.filter(|time| !time.is_zero()).unwrap_or(entry.timings.sum());
            if taken.is_zero() && entry.time.is_none() {
                self.assumptions.durations_missing += 1;
            }
            let end = start.saturating_add(nanos(taken));
            let receiving = nanos(entry.timings.receive.unwrap_or_default());
            requests.push(Request {
                body_start: end.saturating_sub(receiving).max(start),
                kind: kind::of(&entry, &url),
                size: ByteSize::ZERO,
                url,
                start,
                end,
                preflight: None,
                entry,
            });
        }
        requests
    }

    /// A document that was not modified is answered in full where its length is known: all else is found in its bytes.
    fn fetch_whole(&mut self, document: &mut Entry) {
        let sizes = [document.content_length, document.content_size];
        if document.is_not_modified() && sizes.into_iter().flatten().any(|size| size > 0) {
            // What the other sizes count is the head.
            (document.transfer_size, document.body_size) = (None, None);
            document.status = Some(200);
            self.assumptions.document_whole = true;
        }
    }

    /// Tells which entries are left out for their URLs; an error where one of them may be the document.
    fn tell_unusable(&mut self, document: &Request) -> Result<(), HarError> {
        self.assumptions.urls_unusable = self.unusable.len() as u32;
        for unusable in std::mem::take(&mut self.unusable) {
            let comes_first = unusable.start.is_none_or(|start| start <= document.start);
            if unusable.is_document && comes_first {
                return Err(unusable.error);
            }
            if self.assumptions.unusable.len() < UNUSABLE_TOLD {
                self.assumptions.unusable.push(unusable.error.to_string());
            }
        }
        Ok(())
    }

    /// No server thinks longer than the recorded load took: a stream or a long poll was under way at its end.
    fn end_with_the_load(
        &mut self,
        resources: &mut [Resource],
        requests: &[Request],
        extent: &Extent,
    ) {
        for (resource, request) in resources.iter_mut().zip(requests) {
            let left = span(extent.end - request.start);
            if resource.server_time > left {
                resource.server_time = left;
                self.assumptions.waits_cut += 1;
            }
            // Streams and WebSockets end with the load.
            let is_bounded = request.entry.is_stream() || request.entry.is_web_socket();
            if extent.is_under_way(request) && !is_bounded && request.size > ByteSize::ZERO {
                self.assumptions.under_way += 1;
                self.assumptions.under_way_bytes += resource.received_body().0;
            }
        }
    }

    /// The URL of an entry that went over the network by HTTP; others are counted.
    fn fetchable(&mut self, entry: &Entry, start: Option<i64>) -> Option<Url> {
        let url = match fetched(&entry.url) {
            Ok(url) => url,
            Err(UrlError::Scheme(_)) => {
                self.assumptions.not_http += 1;
                return None;
            }
            Err(error) => {
                let error = HarError::Entry {
                    index: entry.index,
                    url: entry.url.clone(),
                    field: "request.url".to_owned(),
                    problem: error.to_string(),
                };
                let is_document = kind::without_url(entry) == Some(Kind::Document);
                self.unusable.push(Unusable { start, is_document, error });
                return None;
            }
        };
        let empty =
            [entry.transfer_size, entry.body_size, entry.content_length, entry.content_size]
                .iter()
                .all(|size| size.unwrap_or(0) == 0);
        let skipped = match entry.status {
            _ if entry.is_for_web_socket() && entry.has_messages() => return Some(url),
            _ if entry.answered_inside => &mut self.assumptions.answered_inside,
            // None, 0 and below: blocked, cancelled, under way when the file was written, or pushed and never used.
            status
                if status.is_none_or(|status| status < 100)
                    && (empty || entry.is_for_web_socket()) =>
            {
                &mut self.assumptions.unanswered
            }
            _ => return Some(url),
        };
        *skipped += 1;
        None
    }

    fn size(&mut self, entry: &Entry) -> ByteSize {
        let noted = &mut self.assumptions;
        noted.from_cache += u32::from(entry.is_answered_by_browser());
        if entry.is_head() {
            noted.heads += 1;
            return ByteSize(entry.content_length.unwrap_or(0));
        }
        if entry.is_web_socket() || !status::has_body(status::replayed(entry)) {
            return ByteSize::ZERO;
        }
        // A site tells it exactly, also of what was cut. What the browser answered by itself was not on the wire.
        let exact = entry.body_size.filter(|_| self.is_site && !entry.is_answered_by_browser());
        if let Some(size) = exact {
            noted.size_from_body += u32::from(size > 0);
            return ByteSize(size);
        }
        // Of a redirect that is the head.
        let transfer = entry.transfer_size.filter(|_| !self.is_site && entry.redirect.is_none());
        let sources = [
            (transfer, &mut noted.size_from_transfer),
            (entry.body_size, &mut noted.size_from_body),
            (entry.content_length, &mut noted.size_from_length),
            (entry.content_size, &mut noted.size_from_content),
        ];
        for (size, count) in sources {
            if let Some(size) = size.filter(|&size| size > 0) {
                *count += 1;
                return ByteSize(size);
            }
        }
        // Redirects seldom have a body.
        let is_known = self.is_site || entry.redirect.is_some();
        noted.size_unknown += u32::from(!is_known);
        ByteSize::ZERO
    }

    fn resources(
        &mut self,
        requests: &[Request],
        document: usize,
        rtts: &RoundTrips,
    ) -> Vec<Resource> {
        let detective = Detective::new(requests, document);
        let mut resources = Vec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            let discovery = match self.options.dependencies {
                Dependencies::Inferred => detective.discover(place, &mut self.assumptions),
                Dependencies::Flat => detective.discover_flat(place, &mut self.assumptions),
            };
            let think = match self.options.think {
                Think::Recorded => discovery.think,
                Think::None => Duration::ZERO,
            };
            // A site's answers set its cookies again.
            let cookies = if self.is_site { 0 } else { request.entry.cookies };
            self.assumptions.cookies += u32::from(cookies > 0);
            self.assumptions.cookie_bytes = self.assumptions.cookie_bytes.saturating_add(cookies);
            let method = self.method(&request.entry);
            let status = self.status(&request.entry);
            resources.push(Resource {
                url: request.url.clone(),
                kind: request.kind,
                method,
                status,
                content_type: request.entry.mime.clone(),
                body: request.size,
                server_time: rtts.server_time(request, &mut self.assumptions),
                release: discovery.release,
                think,
                hint: self.hint(request),
                blocks: Blocks::Nothing,
                pixels: None,
                fold: Fold::Unknown,
                asked: asked(&request.entry, method),
                answered: self.answered(&request.entry, status),
            });
        }
        blocking::mark(&mut resources, document);
        let said = requests.iter().map(|request| request.entry.blocks_rendering);
        blocking::heed(&mut resources, said);
        resources
    }

    /// The recorded priority. Developer tools write the last one that a request had, and Chromium raises images to High once the layout
    /// shows them: of an image of a HAR file nobody knows with which it began. A site has the first one.
    fn hint(&mut self, request: &Request) -> Hint {
        let Some(rank) = Rank::from_name(&request.entry.rank) else { return Hint::None };
        if !self.is_site && request.kind == Kind::Image && rank >= Rank::High {
            self.assumptions.images_raised += 1;
            return Hint::None;
        }
        Hint::Recorded(rank)
    }

    fn method(&mut self, entry: &Entry) -> Method {
        if entry.is_head() {
            return Method::Head;
        }
        let method = match entry.method.as_str() {
            "" => Method::Get,
            name => match Method::of_name(name) {
                Some(method) => method,
                None => {
                    self.assumptions.methods_unknown += 1;
                    return Method::Get;
                }
            },
        };
        if method != Method::Get {
            self.assumptions.not_get += 1;
            let bytes = &mut self.assumptions.upload_bytes;
            *bytes = bytes.saturating_add(entry.upload);
        }
        method
    }

    fn status(&mut self, entry: &Entry) -> u16 {
        let (status, noted) = (status::replayed(entry), &mut self.assumptions);
        noted.statuses_missing += u32::from(status::is_missing(entry));
        noted.web_sockets_refused += u32::from(entry.is_refused_web_socket());
        match status {
            101 => noted.web_sockets += 1,
            206 => noted.parts += 1,
            304 => noted.not_modified += 1,
            300..400 => noted.redirects += 1,
            400.. => noted.errors += 1,
            _ => noted.statuses_changed += u32::from(status::is_changed(entry)),
        }
        status
    }

    /// What a response says besides its status, type and length.
    fn answered(&self, entry: &Entry, status: u16) -> Answered {
        let needed: &[&str] = match status {
            206 => &["content-range"],
            304 => &["etag", "last-modified"],
            // How long it holds.
            301 | 308 => &["location", "cache-control"],
            300..400 => &["location"],
            _ => &[],
        };
        let mut fields = entry.answered.clone();
        if !self.is_site {
            fields.retain(|field| needed.contains(&field.name.as_str()));
            fields.extend(caching(&entry.answered).filter(|_| status == 200));
        }
        if status::is_redirect(status) && !fields.iter().any(|field| field.name == "location") {
            fields.extend(entry.redirect.as_deref().and_then(|to| Field::new("location", to)));
        }
        let file = entry.file.clone().filter(|_| self.is_site);
        Answered { fields, file, ..Answered::default() }
    }

    /// Gives a WebSocket the messages that were exchanged until the load's end.
    fn converse(&mut self, resource: &mut Resource, request: &Request, end: i64) {
        let recorded = request.entry.messages.as_deref();
        self.assumptions.web_sockets_bare += u32::from(recorded.is_none());
        let timings = request.entry.timings;
        let opened = request.start.saturating_add(nanos(timings.sum()));
        let gaps = self.options.think == Think::Recorded;
        let until = socket::Until { opened: opened.min(request.end), end, gaps };
        let (messages, left_out) = socket::replayed(recorded.unwrap_or_default(), until);
        self.assumptions.messages_left_out += left_out;
        let received = messages.iter().filter(|message| message.from == Sender::Server);
        resource.body = ByteSize(received.map(|message| message.data.len() as u64).sum());
        resource.answered.messages = Some(messages);
        if !self.is_site {
            // The wait of some exporters is the whole conversation.
            resource.server_time = Duration::ZERO;
        }
    }

    /// Has a stream of events come as long as it came until the load's end.
    fn stream(&mut self, resource: &mut Resource, request: &Request, end: i64) {
        let whole = span(request.end - request.body_start);
        let until_end = span(end - request.body_start).min(whole);
        if until_end.is_zero() {
            return;
        }
        self.assumptions.streams += 1;
        if until_end < whole {
            let part = u128::from(resource.body.0) * until_end.as_nanos() / whole.as_nanos();
            resource.body = ByteSize(part as u64);
        }
        resource.answered.streamed = Some(until_end);
    }

    /// Gives address literals a name, and repeats with another answer a path of their own.
    fn rename(&mut self, resources: &mut [Resource], requests: &[Request]) {
        let mut renamed = BTreeSet::new();
        let mut paths = Paths::default();
        for (resource, request) in resources.iter_mut().zip(requests) {
            if path_was_mended(&request.entry.url, &resource.url) {
                self.assumptions.paths_mended += 1;
            }
            if let Some(name) = name_for_literal(&resource.url.host) {
                renamed.insert(std::mem::replace(&mut resource.url.host, name));
            }
            let path = paths.path_for(resource);
            if path != resource.url.path {
                self.assumptions.repeats_renamed += 1;
                let recorded = std::mem::replace(&mut resource.url.path, path);
                resource.answered.recorded_path = Some(recorded);
            }
        }
        self.assumptions.hosts_renamed = renamed.len() as u32;
    }
}

/// The URL that is asked for: that of a WebSocket begins with a request of HTTP.
fn fetched(url: &str) -> Result<Url, UrlError> {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match scheme.as_str() {
        "ws" | "wss" => format!("http{}", &url[2..]).parse(),
        _ => url.parse(),
    }
}

/// Refuses what a client could not hold: it has the body of each request in memory.
fn check_uploads(requests: &[Request]) -> Result<(), HarError> {
    let mut total = 0_u64;
    for Request { entry, .. } in requests {
        if Method::of_name(&entry.method).is_none_or(|method| !method.has_body()) {
            continue;
        }
        total = total.saturating_add(entry.upload);
        if total > MOST_UPLOADED {
            return Err(HarError::Entry {
                index: entry.index,
                url: entry.url.clone(),
                field: "request.bodySize".to_owned(),
                problem: "the bodies that the page sends are larger than 256 MiB by then"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// What keeps a next view from using a response without asking, in one form: a URL that says it otherwise the next time answers the same.
fn caching(fields: &[Field]) -> Option<Field> {
    let values = fields.iter().filter(|field| field.name == "cache-control");
    let said: Vec<String> = values
        .flat_map(|field| field.value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .collect();
    let says = |directive: &str| said.iter().any(|one| one == directive);
    let value = match (says("no-store"), says("no-cache") || says("max-age=0")) {
        (true, _) => "no-store",
        (false, true) => "no-cache",
        (false, false) => return None,
    };
    Field::new("cache-control", value)
}

/// What a request says besides its method and URL.
fn asked(entry: &Entry, method: Method) -> Asked {
    let body = if method.has_body() { entry.upload } else { 0 };
    let is_conditional = entry.is_not_modified();
    let wanted = |name: &str| match name {
        "content-type" => body > 0,
        "range" => status::replayed(entry) == 206,
        "if-none-match" | "if-modified-since" => is_conditional,
        _ => false,
    };
    let fields = entry.asked.iter().filter(|field| wanted(&field.name)).cloned().collect();
    Asked { fields, body: ByteSize(body) }
}

/// The main document: the first HTML that is no redirect, else the first that is none, else the first.
fn document_of(requests: &[Request]) -> usize {
    let answers = |request: &Request| request.entry.redirect.is_none();
    let html =
        requests.iter().position(|request| request.kind == Kind::Document && answers(request));
    html.or_else(|| requests.iter().position(answers)).unwrap_or(0)
}

pub(super) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
