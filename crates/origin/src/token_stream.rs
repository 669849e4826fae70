//! Streams of tokens (`page::SyntheticStream`): as server-sent events, as plain lines, as messages of a WebSocket, and by
//! long polling. The one rule: when a token is due does not depend on what became of the ones before it.

use crate::answer::{self, Answer};
use crate::body::Body;
use crate::target::Target;
use bytes::Bytes;
use page::{SyntheticStream, Token};
use proto::{Fields, Method, RequestHead, Status};
use std::time::Duration;
use unit::Instant;

const ALLOW: &str = "GET, HEAD, OPTIONS";

/// Bytes of a poll's answer, and the rest of a line. The client asks for what is missing with its next poll.
const LARGEST_POLL: u64 = 256 * 1024;

/// The longest that a poll may have to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(1_200);

/// The tokens of a stream that have not left yet.
#[derive(Debug)]
pub(crate) struct TokenStream {
    stream: SyntheticStream,
    format: Format,
    /// The next token.
    number: u32,
    /// When it is due.
    due: Instant,
    /// Bytes of it that have left.
    sent: usize,
}

/// How a token is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// An event with an id (WHATWG HTML, "Server-sent events").
    EventStream,
    /// A line of text.
    Lines,
    /// The text alone.
    Message,
}

impl TokenStream {
    /// The stream that a request asks for; else the answer that says why there is none. A browser that connects again
    /// names the last event that it has, and gets those after it.
    pub(crate) fn requested(
        now: Instant,
        request: &RequestHead,
        target: &Target<'_>,
    ) -> Result<Self, Answer> {
        let stream = parse(request, target)?;
        let format = match target.parameter("format").unwrap_or("sse") {
            "sse" => Format::EventStream,
            "text" => Format::Lines,
            _ => return Err(bad("format: `sse` or `text` is expected")),
        };
        let last = request.fields.find(b"last-event-id").and_then(|id| {
            let id: u32 = std::str::from_utf8(id).ok()?.parse().ok()?;
            id.checked_add(1)
        });
        let number = last.unwrap_or(0);
        if number >= stream.count {
            // The client is not to connect again.
            return Err(over());
        }
        Ok(Self { number, ..Self::new(now, stream, format) })
    }

    /// The stream as messages of a WebSocket.
    pub(crate) fn messages(now: Instant, stream: SyntheticStream) -> Self {
        Self::new(now, stream, Format::Message)
    }

    fn new(now: Instant, stream: SyntheticStream, format: Format) -> Self {
        let due = now + Duration::from_millis(stream.delay_ms);
        Self { stream, format, number: 0, due, sent: 0 }
    }

    /// The fields of its response.
    pub(crate) fn fields(&self) -> Fields {
        let media_type = match self.format {
            Format::EventStream => "text/event-stream",
            Format::Lines | Format::Message => "text/plain; charset=utf-8",
        };
        Fields::new().with("content-type", media_type).with("cache-control", "no-store")
    }

    /// When the next token is due; None where all have left.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.number < self.stream.count).then_some(self.due)
    }

    /// The next token as it is written, where it is due, or its next piece of `limit` bytes at most.
    pub(crate) fn next(&mut self, now: Instant, limit: usize) -> Option<String> {
        let due = self.due().filter(|due| *due <= now)?;
        let token = Token { stream: self.stream.name, number: self.number, due };
        let (before, after) = match self.format {
            Format::EventStream => (format!("id: {}\ndata: ", token.number), "\n\n"),
            Format::Lines => (String::new(), "\n"),
            Format::Message => (String::new(), ""),
        };
        // What waits to be sent is a piece, and not a token: of what is before, within and after the text, the part from
        // `sent` on.
        let most = before.len() + self.stream.bytes as usize + after.len();
        let mut piece = String::with_capacity(most.saturating_sub(self.sent).min(limit));
        let of_before = before.get(self.sent..).unwrap_or_default();
        piece.push_str(&of_before[..of_before.len().min(limit)]);
        let start = (self.sent + piece.len()).saturating_sub(before.len());
        let left = limit - piece.len();
        let whole = token.push_part(self.stream.bytes, start, left, &mut piece);
        let start = (self.sent + piece.len()).saturating_sub(before.len() + whole);
        let rest = after.get(start..).unwrap_or_default();
        piece.push_str(&rest[..rest.len().min(limit - piece.len())]);
        self.sent += piece.len();
        if self.sent < before.len() + whole + after.len() {
            return Some(piece);
        }
        self.sent = 0;
        self.number += 1;
        self.due = due + self.stream.gap(self.number);
        Some(piece)
    }
}

/// `/poll`: the tokens after `after` that are due, a line each, as far as they fit into [`LARGEST_POLL`]; else the next one, as soon as it is due. `since` is when
/// the first token was due, as that token says; without it the stream begins. So the client keeps the state, and a poll
/// can be repeated.
pub(crate) fn polled(now: Instant, request: &RequestHead, target: &Target<'_>) -> Answer {
    let stream = match parse(request, target) {
        Ok(stream) => stream,
        Err(answer) => return answer,
    };
    let number = |name: &str| target.parameter(name).map(str::parse::<u64>).transpose();
    let (first, since) = match (number("after"), number("since")) {
        (Ok(Some(after)), Ok(Some(since))) => (after.saturating_add(1), Instant::from_nanos(since)),
        (Ok(None), Ok(None)) => (0, now + Duration::from_millis(stream.delay_ms)),
        _ => return bad("after, since: both are given as whole numbers, or neither is"),
    };
    if first >= u64::from(stream.count) {
        return over();
    }
    if since.since(now) > LONGEST_WAIT {
        return bad("since: the time at which the first token was due is expected");
    }
    let mut dues = (0..).zip(stream.dues(since)).skip(first as usize);
    let Some((number, due)) = dues.next() else { return over() };
    let mut lines = PolledLines::of(stream, number, due);
    for (number, due) in dues.take_while(|(_, due)| *due <= now) {
        if lines.left >= LARGEST_POLL {
            break;
        }
        lines.extend(number, due);
    }
    let mut answer = Answer::text(Status::OK, "").with("cache-control", "no-store");
    answer.body = Body::Polled(Box::new(lines));
    answer.delay = due.since(now);
    answer
}

/// The tokens of a poll's answer, a line each, made as they are sent.
#[derive(Debug)]
pub(crate) struct PolledLines {
    /// Its count ends with the last token of the answer.
    tokens: TokenStream,
    /// Bytes that [`next`](Self::next) has not given yet.
    left: u64,
}

impl PolledLines {
    /// The line of one token.
    fn of(stream: SyntheticStream, number: u32, due: Instant) -> Self {
        let stream = SyntheticStream { count: number + 1, ..stream };
        let tokens = TokenStream { stream, format: Format::Lines, number, due, sent: 0 };
        let mut lines = Self { tokens, left: 0 };
        lines.left = lines.length(number, due);
        lines
    }

    /// Adds the line of the token that comes after the last one.
    fn extend(&mut self, number: u32, due: Instant) {
        self.tokens.stream.count = number + 1;
        self.left += self.length(number, due);
    }

    fn length(&self, number: u32, due: Instant) -> u64 {
        let SyntheticStream { name: stream, bytes, .. } = self.tokens.stream;
        // The text without its filling, and the end of the line.
        Token { stream, number, due }.push_part(bytes, 0, 0, &mut String::new()) as u64 + 1
    }

    /// Bytes that were not given yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, of `limit` bytes at most. Empty at the end.
    pub(crate) fn next(&mut self, limit: usize) -> Bytes {
        let mut piece = String::with_capacity(limit.min(self.left as usize));
        while piece.len() < limit
            && let Some(next) = self.tokens.next(self.tokens.due, limit - piece.len())
        {
            piece.push_str(&next);
        }
        self.left -= piece.len() as u64;
        piece.into()
    }
}

fn parse(request: &RequestHead, target: &Target<'_>) -> Result<SyntheticStream, Answer> {
    match request.method {
        Method::Get | Method::Head => {
            target.query.parse().map_err(|error| bad(&format!("{error}")))
        }
        Method::Options => Err(Answer::options(ALLOW)),
        _ => Err(Answer::refuse_method(request, ALLOW)),
    }
}

fn bad(rule: &str) -> Answer {
    Answer::text(answer::BAD_REQUEST, rule)
}

/// All tokens have been sent: 204, after which an EventSource does not connect again.
fn over() -> Answer {
    Answer::new(answer::NO_CONTENT, Fields::new(), Body::empty())
}
