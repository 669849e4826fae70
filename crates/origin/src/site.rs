//! Routes a request to what answers it: a page replayed from a record, the two targets for request bodies, WebSockets,
//! responses of any size, synthetic pages, files. They are tried in this order.

use crate::answer::{self, Answer, Plan};
use crate::body::Body;
use crate::conditional::{self, Validators, Verdict};
use crate::files::Files;
use crate::replay::Replay;
use crate::response_cache::ResponseCache;
use crate::static_files;
use crate::streamed::{EvenBody, Streamed};
use crate::target::Target;
use crate::token_stream::{self, TokenStream};
use crate::upstream::ends_here;
use crate::wall_clock::WallClock;
use crate::web_socket::{self, Service};
use bytes::Bytes;
use page::{IMAGE_PATH, PAGE_PATH, Synthetic, SyntheticHtml, SyntheticImage, SyntheticPart, Table};
use proto::{Fields, Method, RequestHead, Status};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use unit::{Instant, Seed};

/// Echoes request bodies.
const ECHO_PATH: &str = "/echo";
/// Counts request bodies.
const DISCARD_PATH: &str = "/discard";
/// A WebSocket that sends every message back.
const ECHO_SOCKET_PATH: &str = "/ws/echo";
/// A WebSocket that doubles numbers.
const DOUBLE_SOCKET_PATH: &str = "/ws/double";
/// A WebSocket that sends streams of tokens.
const STREAM_SOCKET_PATH: &str = "/ws/stream";
/// A stream of tokens as one response.
const STREAM_PATH: &str = "/stream";
/// A stream of tokens by long polling: a response for each.
const POLL_PATH: &str = "/poll";
const ALLOW_BODY: &str = "POST, PUT, OPTIONS";

/// The methods that are passed on to an application.
const PASSED_ON: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE";

/// Doubles the number in its query: as [`DOUBLE_SOCKET_PATH`], with one request per number.
const DOUBLE_PATH: &str = "/double";

/// The page timer, where there is one.
const TIMER_PATH: &str = "/timer";

/// A place for a visit before a trial's work, where there is one.
const VISIT_PATH: &str = "/visit";
/// Its target that closes the connection.
pub(crate) const CLOSING_VISIT: &str = "/visit?close";

/// Responses of any size, as of an API.
const API_PATH: &str = "/api";
/// `call` tells calls apart, whose bytes differ by it.
const API_PARAMETERS: [&str; 3] = ["bytes", "call", "delay_ms"];
/// The largest response of [`API_PATH`], in bytes.
const LARGEST_ANSWER: u64 = 1 << 30;

/// Bytes of a synthetic document that is kept for the next request: one of a hundred images.
const LARGEST_DOCUMENT: u64 = 16 * 1024;

/// The longest target that is looked at, as nginx has it.
const LONGEST_TARGET: usize = 8 * 1024;

/// The longest authority: a name of 253 bytes (RFC 1035 §2.3.4) and a port.
const LONGEST_AUTHORITY: usize = 512;

/// The longest `delay_ms`.
const LONGEST_DELAY_MS: u64 = 600_000;

/// Everything that this origin can answer.
pub(crate) struct Site {
    files: Option<Box<dyn Files>>,
    responses: ResponseCache,
    table: Option<Arc<Table>>,
    replay: Option<Rc<Replay>>,
    max_age: Option<Duration>,
    wall_clock: WallClock,
    /// The page timer.
    timer: Option<Bytes>,
    /// Whether [`VISIT_PATH`] is answered.
    visits: bool,
    /// The latest synthetic document: a page is requested many times in a row.
    document: Option<(Synthetic, Bytes)>,
    /// Who answers what is no file.
    beyond_files: BeyondFiles,
}

/// Who answers requests for what is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeyondFiles {
    /// This origin, by its own targets.
    OwnTargets,
    /// The application server. Its paths are its own, so but for the page timer this origin has no targets.
    Application,
}

impl Site {
    pub(crate) fn new(
        files: Option<Box<dyn Files>>,
        table: Option<Arc<Table>>,
        max_age: Option<Duration>,
    ) -> Self {
        let responses = ResponseCache::default();
        let beyond_files = BeyondFiles::OwnTargets;
        Self {
            files,
            responses,
            table,
            replay: None,
            max_age,
            wall_clock: WallClock { at: Instant::ZERO, unix: Duration::ZERO },
            timer: None,
            visits: false,
            document: None,
            beyond_files,
        }
    }

    /// The same with the time that its answers' dates have.
    pub(crate) fn with_wall_clock(self, wall_clock: WallClock) -> Self {
        Self { wall_clock, ..self }
    }

    /// The same with the page timer.
    pub(crate) fn with_timer(self, timer: Option<Bytes>) -> Self {
        Self { timer, ..self }
    }

    /// The same, with a place for earlier visits or without.
    pub(crate) fn with_visits(self, visits: bool) -> Self {
        Self { visits, ..self }
    }

    /// The same with a recorded site.
    pub(crate) fn with_replay(self, replay: Option<Rc<Replay>>) -> Self {
        Self { replay, ..self }
    }

    /// The same with somebody else for what is no file.
    pub(crate) fn with_beyond_files(self, beyond_files: BeyondFiles) -> Self {
        Self { beyond_files, ..self }
    }

    /// How to handle a request.
    pub(crate) fn plan(&mut self, now: Instant, request: &RequestHead) -> Plan {
        if let Some(replay) = &self.replay {
            return replay.plan(now, request);
        }
        if let Some(plan) = self.replayed(now, request) {
            return plan;
        }
        if request.path.len() > LONGEST_TARGET || request.authority.len() > LONGEST_AUTHORITY {
            return Plan::Answer(Answer::text(answer::URI_TOO_LONG, "This target is too long."));
        }
        // The first such request has passed all the checks below.
        if let Some(cached) = self.responses.find(now, request) {
            return Plan::Cached(cached);
        }
        // RFC 9110 §9.3.7: OPTIONS for the server as a whole.
        if request.path == "*" && request.method == Method::Options {
            return Plan::Answer(Answer::options(static_files::ALLOW));
        }
        if self.beyond_files == BeyondFiles::Application {
            return self.file_or_forward(now, request);
        }
        // It names no path (RFC 9110 §9.3.6). One with a protocol begins a WebSocket.
        if request.method == Method::Connect && request.protocol.is_none() {
            let no_proxy = "This server is no proxy: it opens no tunnels.";
            return Plan::Answer(Answer::text(answer::NOT_IMPLEMENTED, no_proxy));
        }
        let target = match Target::parse(&request.path) {
            Ok(target) => target,
            Err(bad) => return Plan::Answer(Answer::text(answer::BAD_REQUEST, bad.0)),
        };
        let delay = match delay(&target) {
            Ok(delay) => delay,
            Err(bad) => return Plan::Answer(bad),
        };
        let path = request.path.split('?').next().unwrap_or_default();
        let mut answer = match path {
            ECHO_PATH | DISCARD_PATH => match request.method {
                Method::Post | Method::Put if path == ECHO_PATH => return Plan::Echo,
                Method::Post | Method::Put => return Plan::Count,
                Method::Options => Answer::options(ALLOW_BODY),
                _ => Answer::refuse_method(request, ALLOW_BODY),
            },
            ECHO_SOCKET_PATH => return Plan::WebSocket(Service::Echo),
            DOUBLE_SOCKET_PATH => return Plan::WebSocket(Service::Double),
            STREAM_SOCKET_PATH => return Plan::WebSocket(Service::Stream),
            STREAM_PATH => match TokenStream::requested(now, request, &target) {
                Ok(stream) => return Plan::Stream(Box::new(Streamed::tokens(stream))),
                Err(answer) => answer,
            },
            // The time before it is the time until its token is due.
            POLL_PATH => return Plan::Answer(token_stream::polled(now, request, &target)),
            API_PATH => api_answer(request, &target),
            DOUBLE_PATH => doubled(request, &target),
            PAGE_PATH => self.synthetic_page(request),
            TIMER_PATH if let Some(page) = &self.timer => timer_page(request, page),
            VISIT_PATH if self.visits => visit(request),
            image if image.starts_with(IMAGE_PATH) && request.path.contains('?') => {
                self.cacheable(request, synthetic_image(request))
            }
            _ => match (synthetic_part(request), &self.files) {
                (Some(answer), _) => self.cacheable(request, answer),
                (None, Some(files)) => {
                    let (responses, unix_now) = (&mut self.responses, self.wall_clock.seconds(now));
                    static_files::Ask { files: &**files, now, unix_now, request, responses }
                        .answer(&target)
                }
                (None, None) => Answer::text(answer::NOT_FOUND, "There is nothing here."),
            },
        };
        answer.delay = delay;
        Plan::Answer(answer)
    }

    /// A file where there is one; all else is the application's.
    fn file_or_forward(&mut self, now: Instant, request: &RequestHead) -> Plan {
        if request.method == Method::Connect {
            return Plan::Answer(Answer::text(
                answer::NOT_IMPLEMENTED,
                "Neither tunnels nor WebSockets go to the application.",
            ));
        }
        let path = request.path.split('?').next().unwrap_or_default();
        if let (TIMER_PATH, Some(page)) = (path, &self.timer) {
            return Plan::Answer(timer_page(request, page));
        }
        let reads = matches!(request.method, Method::Get | Method::Head);
        if let (true, Some(files), Ok(target)) = (reads, &self.files, Target::parse(&request.path))
        {
            let (responses, unix_now) = (&mut self.responses, self.wall_clock.seconds(now));
            let ask = static_files::Ask { files: &**files, now, unix_now, request, responses };
            let answer = ask.answer(&target);
            if answer.status != answer::NOT_FOUND {
                return Plan::Answer(answer);
            }
        }
        match (ends_here(request), &request.method) {
            (false, _) => Plan::Forward,
            (true, Method::Options) => Plan::Answer(Answer::options(PASSED_ON)),
            (true, _) => {
                let reason = "This server does not answer TRACE.";
                Plan::Answer(Answer::text(answer::NOT_IMPLEMENTED, reason))
            }
        }
    }

    /// A record answers every method: recorded pages post and preflight too.
    fn replayed(&self, now: Instant, request: &RequestHead) -> Option<Plan> {
        let table = self.table.as_ref()?;
        let host = host_of(&request.authority);
        let recorded = table.answer(&host.to_ascii_lowercase(), &request.path)?;
        if let Some(messages) = &recorded.answered.messages {
            return Some(Plan::WebSocket(Service::Recorded(messages.as_slice().into())));
        }
        let mut fields = Fields::new();
        if !recorded.content_type.is_empty() {
            fields.push(b"content-type", recorded.content_type.as_bytes());
        }
        for field in &recorded.answered.fields {
            fields.push(field.name.as_bytes(), field.value.as_bytes());
        }
        let status = Status::new(recorded.status).unwrap_or(Status::OK);
        let seed = Seed(0).child(&request.path);
        // What comes bit by bit has status 200.
        let streamed = recorded.answered.streamed.filter(|_| status == Status::OK);
        if let Some(span) = streamed {
            let begin = now + recorded.server_time;
            let (bytes, content) = (recorded.body.0, Bytes::new());
            let body = EvenBody { fields, bytes, content, begin, span, sent: 0 };
            return Some(Plan::Stream(Box::new(Streamed::even(body))));
        }
        let body = Body::Noise { seed, left: 0..recorded.body.0 };
        let mut answer = Answer::new(status, fields, body);
        answer.delay = recorded.server_time;
        let answer = self.cacheable(request, answer);
        let is_read = matches!(request.method, Method::Get | Method::Head);
        Some(if is_read { Plan::Answer(answer) } else { Plan::AnswerAfter(Box::new(answer)) })
    }

    /// The answer of a page's resource as a browser may store it, or 304 where it has that already. What was recorded of that stands;
    /// where it is missing it is added, but not to documents.
    fn cacheable(&self, request: &RequestHead, mut answer: Answer) -> Answer {
        let media_type = answer.fields.find_str("content-type").unwrap_or_default();
        let is_document = media_type.starts_with("text/html");
        let Some(max_age) = self.max_age.filter(|_| answer.status == Status::OK) else {
            return answer;
        };
        if !is_document && !says_how_long(&answer.fields) {
            answer = answer.with("cache-control", &format!("max-age={}", max_age.as_secs()));
        }
        if !is_document && Validators::of(&answer.fields).is_none() {
            let etag = format!("\"{:016x}\"", Seed(0).child(&request.path).0);
            answer = answer.with("etag", &etag);
        }
        let Some(validators) = Validators::of(&answer.fields) else { return answer };
        match conditional::evaluate(&request.method, &request.fields, &validators) {
            Verdict::NotModified => not_modified(answer),
            Verdict::Proceed | Verdict::Failed => answer,
        }
    }

    fn synthetic_page(&mut self, request: &RequestHead) -> Answer {
        if let Some(refusal) = unless_read(request) {
            return refusal;
        }
        let page = match request.path.parse::<Synthetic>() {
            Ok(page) => page,
            Err(error) => return Answer::text(answer::BAD_REQUEST, &error.to_string()),
        };
        let body = match &self.document {
            Some((known, html)) if *known == page => Body::Bytes(html.clone()),
            _ => self.document_of(page),
        };
        let fields = Fields::new().with("content-type", "text/html; charset=utf-8");
        Answer::new(Status::OK, fields, body)
    }

    /// The document of a page: small ones are kept, large ones are made as they are sent.
    fn document_of(&mut self, page: Synthetic) -> Body {
        let mut html = SyntheticHtml::new(&page);
        if html.left() > LARGEST_DOCUMENT {
            return Body::Page(Box::new(html));
        }
        let html = Bytes::from(html.next(usize::MAX));
        self.document = Some((page, html.clone()));
        Body::Bytes(html)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("table", &self.table.is_some()).finish_non_exhaustive()
    }
}

/// The answer to who has this one already, with the fields that RFC 9110 §15.4.5 asks for.
/// Whether an answer says how long it is fresh. A recorded date in `Expires` says nothing of today, but one of long ago does, and so
/// does what is no date (RFC 9111 §5.3).
fn says_how_long(fields: &Fields) -> bool {
    let is_past = |text: &str| {
        httpdate::parse_http_date(text).map_or(true, |date| date < UNIX_EPOCH + LONG_AGO)
    };
    fields.find(b"cache-control").is_some()
        || fields.find_str("pragma").is_some_and(|text| text.contains("no-cache"))
        || fields.find_str("expires").is_some_and(is_past)
}

/// 2000-01-01: servers say by an earlier date that an answer is stale.
const LONG_AGO: Duration = Duration::from_secs(946_684_800);

fn not_modified(answer: Answer) -> Answer {
    const KEPT: [&[u8]; 5] = [b"cache-control", b"content-location", b"etag", b"expires", b"vary"];
    let mut fields = Fields::new();
    let kept = answer.fields.iter().filter(|field| KEPT.contains(&field.name));
    kept.for_each(|field| fields.push_field(field));
    Answer { delay: answer.delay, ..Answer::new(Status::NOT_MODIFIED, fields, Body::empty()) }
}

fn synthetic_image(request: &RequestHead) -> Answer {
    if let Some(refusal) = unless_read(request) {
        return refusal;
    }
    match request.path.parse::<SyntheticImage>() {
        Ok(image) => {
            let fields = Fields::new().with("content-type", image.media_type());
            Answer::new(Status::OK, fields, Body::of_image(&image))
        }
        Err(error) => Answer::text(answer::BAD_REQUEST, &error.to_string()),
    }
}

/// A style sheet, a script, a font or an image with a place in the layout of a synthetic page. None where the target names none: files may
/// have such paths.
fn synthetic_part(request: &RequestHead) -> Option<Answer> {
    let part = match request.path.contains("?bytes=") {
        true => request.path.parse::<SyntheticPart>().ok()?,
        false => return None,
    };
    if let Some(refusal) = unless_read(request) {
        return Some(refusal);
    }
    let fields = Fields::new().with("content-type", part.media_type());
    Some(Answer::new(Status::OK, fields, Body::of_pieces(part.pieces())))
}

/// `/timer`: the page timer, which is another one in the next version.
fn timer_page(request: &RequestHead, page: &Bytes) -> Answer {
    if let Some(refusal) = unless_read(request) {
        return refusal;
    }
    let fields = Fields::new()
        .with("content-type", "text/html; charset=utf-8")
        .with("cache-control", "no-cache");
    Answer::new(Status::OK, fields, Body::Bytes(page.clone()))
}

/// `/visit`: a document with nothing to load. Nobody keeps it, so that each visit is one.
fn visit(request: &RequestHead) -> Answer {
    if let Some(refusal) = unless_read(request) {
        return refusal;
    }
    Answer::text(Status::OK, "A visit.\n").with("cache-control", "no-store")
}

/// `/double?number=`: its double, as plain text.
fn doubled(request: &RequestHead, target: &Target<'_>) -> Answer {
    if let Some(refusal) = unless_read(request) {
        return refusal;
    }
    let number = target.parameter("number").unwrap_or_default();
    match web_socket::double(number.as_bytes()) {
        Some(doubled) => {
            let fields = Fields::new().with("content-type", "text/plain");
            Answer::new(Status::OK, fields, Body::Bytes(doubled.into()))
        }
        None => Answer::text(answer::BAD_REQUEST, "number is a decimal number"),
    }
}

/// `/api?bytes=`: that many bytes, the same ones for the same target.
fn api_answer(request: &RequestHead, target: &Target<'_>) -> Answer {
    if let Some(refusal) = unless_read(request) {
        return refusal;
    }
    if let Some(unknown) = target.unknown_parameter(&API_PARAMETERS) {
        let known = API_PARAMETERS.join(", ");
        let rule = format!("unknown parameter `{unknown}`; known are {known}");
        return Answer::text(answer::BAD_REQUEST, &rule);
    }
    let bytes = target.parameter("bytes").map_or(Ok(0), str::parse::<u64>);
    match bytes {
        Ok(bytes) if bytes <= LARGEST_ANSWER => {
            let fields = Fields::new().with("content-type", "application/octet-stream");
            let seed = Seed(0).child(&request.path);
            Answer::new(Status::OK, fields, Body::Noise { seed, left: 0..bytes })
        }
        _ => {
            let rule = format!("bytes: a whole number from 0 to {LARGEST_ANSWER} is expected");
            Answer::text(answer::BAD_REQUEST, &rule)
        }
    }
}

fn unless_read(request: &RequestHead) -> Option<Answer> {
    match request.method {
        Method::Get | Method::Head => None,
        Method::Options => Some(Answer::options(static_files::ALLOW)),
        _ => Some(Answer::refuse_method(request, static_files::ALLOW)),
    }
}

/// `?delay_ms=`: the server time before the response.
fn delay(target: &Target<'_>) -> Result<Duration, Answer> {
    let Some(text) = target.parameter("delay_ms") else { return Ok(Duration::ZERO) };
    match text.parse::<u64>() {
        Ok(millis) if millis <= LONGEST_DELAY_MS => Ok(Duration::from_millis(millis)),
        _ => {
            let rule = format!("delay_ms: a whole number from 0 to {LONGEST_DELAY_MS} is expected");
            Err(Answer::text(answer::BAD_REQUEST, &rule))
        }
    }
}

/// An authority without its port.
pub(crate) fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_long_it_is_fresh_by_more_than_cache_control() {
        for (name, value, says) in [
            ("cache-control", "private", true),
            ("pragma", "no-cache", true),
            ("expires", "0", true),
            ("expires", "Thu, 01 Jan 1970 00:00:00 GMT", true),
            ("expires", "Thu, 01 Jan 2015 00:00:00 GMT", false),
            ("etag", "\"1\"", false),
        ] {
            assert_eq!(says_how_long(&Fields::new().with(name, value)), says, "{name}: {value}");
        }
    }
}
