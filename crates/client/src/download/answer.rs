//! What a response means for a download (RFC 9110 §14, §15). The one rule: pure functions of the head and the request.

use super::version::{Comparison, Condition, Version};
use super::{Joins, Slice};
use proto::ResponseHead;
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The meaning of a response's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The body is the whole file. `why`: why it is that and not the range that was requested. `changed`: it is another
    /// version than that of the bytes that are there.
    Whole { version: Version, why: &'static str, changed: bool },
    /// The body is this range, of the same version as the bytes that are there.
    Part { range: Range<u64>, version: Version, proof: Proof },
    /// The file ends where the bytes that are there end.
    End { length: u64, proof: Proof },
    /// The bytes that are there cannot be used, for this reason.
    Anew(&'static str),
    /// The server has the same version but does not understand the condition: request without one.
    Unconditional(&'static str),
    /// A transient failure: try again later.
    Again { after: Option<Duration>, why: String },
    /// A permanent failure.
    Refused(String),
}

/// How certain it is that a part belongs to the bytes that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// A strong validator says so.
    Validator,
    /// Nothing but a digest can tell.
    None,
}

/// What a response is the answer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The range requested; None for the whole file.
    pub(super) range: Option<&'a Range<u64>>,
    /// The condition of the request; None for the whole file.
    pub(super) condition: Option<Condition<'a>>,
    /// The version of the bytes that are there.
    pub(super) known: Option<&'a Version>,
    /// Which responses may be put together.
    pub(super) joins: Joins,
    /// The part that is wanted alone; then no other range is requested.
    pub(super) slice: Option<&'a Slice>,
    /// The client's own clock when the response arrived.
    pub(super) received: Option<SystemTime>,
}

/// Judges the response to `question`.
pub(super) fn judge(head: &ResponseHead, question: &Question<'_>) -> Answer {
    match (head.status.code(), question.slice) {
        (200 | 203, Some(_)) => {
            Answer::Refused("the server serves no ranges of it: it sent all".to_owned())
        }
        (206, Some(slice)) => alone(head, slice),
        (status, _) => by_status(status, head, question),
    }
}

fn by_status(status: u16, head: &ResponseHead, question: &Question<'_>) -> Answer {
    match status {
        // 203: a proxy has changed the file (RFC 9110 §15.3.4). Its version is the only one available.
        200 | 203 => whole(head, question),
        206 => part(head, question),
        412 if matches!(question.condition, Some(Condition::UnmodifiedSince(_))) => {
            Answer::Unconditional("it answered 412 to If-Unmodified-Since")
        }
        416 => match question.range {
            Some(asked) => beyond(head, asked, question),
            None => Answer::Refused(told(head)),
        },
        // RFC 9110 §15.5.9, §15.6; RFC 6585 §4; RFC 8470 §5.2.
        408 | 425 | 429 | 500 | 502 | 503 | 504 => {
            Answer::Again { after: retry_after(head, question.received), why: told(head) }
        }
        _ => Answer::Refused(told(head)),
    }
}

/// The whole file, where perhaps a range was requested.
fn whole(head: &ResponseHead, question: &Question<'_>) -> Answer {
    let version = Version::of(head, length(head), question.received);
    let comparison = question.known.map(|known| known.compare(&version));
    let takes_ranges = head
        .fields
        .find_str("accept-ranges")
        .is_some_and(|units| units.trim().eq_ignore_ascii_case("bytes"));
    let why = match comparison {
        // Undertow compares If-Range with its tag without the quotes: for it every version is another one.
        Some(Comparison::Same) if takes_ranges && question.condition.is_some() => {
            return Answer::Unconditional("it sent all of the same version instead of the range");
        }
        Some(Comparison::Same) => "the server serves no ranges of it",
        Some(Comparison::Different) => CHANGED,
        Some(Comparison::Unknown) | None => {
            "the server sent all of it (it serves no ranges, or has another version)"
        }
    };
    Answer::Whole { version, why, changed: comparison == Some(Comparison::Different) }
}

const CHANGED: &str = "it has changed on the server";

/// The content coding of the body, if it has one although none was asked for.
pub(super) fn coding(head: &ResponseHead) -> Option<&str> {
    let coding = head.fields.find_str("content-encoding")?;
    (!coding.eq_ignore_ascii_case("identity") && !coding.is_empty()).then_some(coding)
}

/// The part that is wanted alone, as if it were a file of its own. It has no validator: a file that has changed is as good.
fn alone(head: &ResponseHead, slice: &Slice) -> Answer {
    let range = head.fields.find_str("content-range").and_then(content_range);
    let Some((range, whole)) = range else { return Answer::Refused(UNREADABLE.to_owned()) };
    let bytes = range.end - range.start;
    if !slice.is(&range, whole) || length(head).is_some_and(|length| length != bytes) {
        let (from, to) = (range.start, range.end - 1);
        return Answer::Refused(format!(
            "it was asked for the bytes {slice} and answered with {from}-{to}"
        ));
    }
    let version = Version { length: Some(bytes), ..Version::default() };
    Answer::Whole { version, why: "a range begins with its first byte", changed: false }
}

/// multipart/byteranges is only for requests of several ranges (RFC 9110 §15.3.7.2).
const UNREADABLE: &str = "it answered 206 without a Content-Range that can be read";

fn part(head: &ResponseHead, question: &Question<'_>) -> Answer {
    let Some(asked) = question.range else {
        return Answer::Refused("it answered 206 to a request without a range".to_owned());
    };
    let range = head.fields.find_str("content-range").and_then(content_range);
    let Some((range, whole)) = range else {
        return Answer::Refused(UNREADABLE.to_owned());
    };
    let is_shorter_for_cause = whole.is_some_and(|whole| range.end == whole);
    let fits = range.start == asked.start
        && range.end <= asked.end
        && (range.end == asked.end || asked.end == u64::MAX || is_shorter_for_cause)
        && length(head).is_none_or(|length| length == range.end - range.start);
    if !fits {
        let (from, to) = (range.start, range.end);
        return Answer::Refused(format!(
            "it was asked for the bytes from {} on and answered with those from {from} to {to}",
            asked.start
        ));
    }
    let version = Version::of(head, whole, question.received);
    let Some(known) = question.known else {
        // Without a validator nobody could tell whether later pieces are of the same version.
        let is_all = whole.is_some_and(|whole| range.end >= whole);
        return match (version.condition(), question.joins) {
            (Ok(_), _) => Answer::Part { range, version, proof: Proof::Validator },
            (Err(_), _) if is_all => Answer::Part { range, version, proof: Proof::Validator },
            (Err(_), Joins::DigestChecked) => Answer::Part { range, version, proof: Proof::None },
            (Err(_), Joins::Validated) => Answer::Anew(UNNAMED),
        };
    };
    match fit(known, &version, question) {
        Err(why) => Answer::Anew(why),
        // The first response's strength counts: this one only repeats the names.
        Ok(proof) => Answer::Part { range, version: known.clone().completed_by(&version), proof },
    }
}

const UNNAMED: &str = "the server names no version by which its parts could be told to fit";

/// Whether bytes of `version` may be added to those of `known`.
fn fit(known: &Version, version: &Version, question: &Question<'_>) -> Result<Proof, &'static str> {
    match (known.compare(version), question.condition, question.joins) {
        (Comparison::Different, ..) => Err(CHANGED),
        (Comparison::Same, ..) => Ok(Proof::Validator),
        // A 206 need not repeat the validator that If-Range named (RFC 9110 §15.3.7).
        (Comparison::Unknown, Some(Condition::IfRange(_)), _) => Ok(Proof::Validator),
        (Comparison::Unknown, _, Joins::DigestChecked) => Ok(Proof::None),
        // The user said that these bytes are of the present version (`-C -`).
        (Comparison::Unknown, ..) if known.is_unnamed() => Ok(Proof::None),
        (Comparison::Unknown, ..) => Err(UNNAMED),
    }
}

/// A 416 response (RFC 9110 §15.5.17): the file ends where the bytes that are there end, or before.
fn beyond(head: &ResponseHead, asked: &Range<u64>, question: &Question<'_>) -> Answer {
    let whole = head.fields.find_str("content-range").and_then(|value| {
        number(value.trim().strip_prefix("bytes")?.trim_start().strip_prefix("*/")?)
    });
    let version = Version::of(head, whole, question.received);
    let fit = question.known.map_or(Ok(Proof::Validator), |known| fit(known, &version, question));
    match (whole, fit) {
        (Some(length), Ok(proof)) if length == asked.start => Answer::End { length, proof },
        _ => Answer::Anew("the server has no such range of it"),
    }
}

/// Parses `bytes 0-99/1000`: the range, half open, and the whole length (RFC 9110 §14.4).
fn content_range(value: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, whole) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    let whole = if whole == "*" { None } else { Some(number(whole)?) };
    let end = last.checked_add(1)?;
    (first <= last && whole.is_none_or(|whole| end <= whole)).then_some((first..end, whole))
}

fn length(head: &ResponseHead) -> Option<u64> {
    number(head.fields.find_str("content-length")?)
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The pause that Retry-After asks for (RFC 9110 §10.2.3). A date is relative to the response's own Date, because the
/// two clocks may differ. A response without one is dated by the client (§6.6.1).
fn retry_after(head: &ResponseHead, received: Option<SystemTime>) -> Option<Duration> {
    let value = head.fields.find_str("retry-after")?;
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    let date = head.fields.find_str("date").and_then(|date| httpdate::parse_http_date(date).ok());
    at.duration_since(date.or(received)?).ok()
}

fn told(head: &ResponseHead) -> String {
    let code = head.status.code();
    let name = name(code).map_or_else(String::new, |name| format!(" {name}"));
    // One that was not followed.
    let led = head.fields.find_str("location").filter(|_| (300..400).contains(&code));
    let led = led.map_or_else(String::new, |to| format!(", which leads to {to}"));
    format!("the server answered {code}{name}{led}")
}

/// The names of the statuses that downloads meet (RFC 9110 §15).
fn name(code: u16) -> Option<&'static str> {
    Some(match code {
        204 => "No Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        410 => "Gone",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Status;

    fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
        let mut head = ResponseHead::new(Status::new(status).unwrap());
        for (name, value) in fields {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        head
    }

    fn known() -> Version {
        Version { length: Some(1000), tag: Some("\"a\"".to_owned()), modified: None }
    }

    fn judged(head: &ResponseHead, range: Option<&Range<u64>>, known: Option<&Version>) -> Answer {
        let condition = known.and_then(|known| known.condition().ok());
        let joins = Joins::Validated;
        judge(head, &Question { range, condition, known, joins, slice: None, received: None })
    }

    #[test]
    fn a_part_must_be_the_one_asked_for() {
        for (range, fits) in [
            ("bytes 100-199/1000", true),
            ("bytes 100-149/1000", false),
            ("bytes 0-99/1000", false),
            ("bytes 100-299/1000", false),
            ("bytes 100-199/150", false),
            ("bytes 199-100/1000", false),
            ("bytes */1000", false),
            ("octets 100-199/1000", false),
        ] {
            let head = head(206, &[("content-range", range), ("etag", "\"a\"")]);
            let answer = judged(&head, Some(&(100..200)), Some(&known()));
            assert_eq!(matches!(answer, Answer::Part { .. }), fits, "{range}: {answer:?}");
        }
        let head = head(206, &[("content-range", "bytes 900-999/1000"), ("content-length", "99")]);
        assert!(matches!(judged(&head, Some(&(900..u64::MAX)), None), Answer::Refused(_)));
    }

    #[test]
    fn a_part_of_another_version_is_of_no_use() {
        for fields in [
            [("content-range", "bytes 100-199/1000"), ("etag", "\"b\"")],
            [("content-range", "bytes 100-199/1001"), ("etag", "\"a\"")],
        ] {
            let answer = judged(&head(206, &fields), Some(&(100..200)), Some(&known()));
            assert!(matches!(answer, Answer::Anew(_)), "{answer:?}");
        }
        let unnamed = head(206, &[("content-range", "bytes 0-99/1000")]);
        assert!(matches!(judged(&unnamed, Some(&(0..100)), None), Answer::Anew(_)));
        // The whole file in one part needs no validator.
        let whole = head(206, &[("content-range", "bytes 0-99/100")]);
        assert!(matches!(judged(&whole, Some(&(0..1000)), None), Answer::Part { .. }));
    }

    #[test]
    fn a_part_that_is_wanted_alone_is_a_file_of_its_own_and_nothing_else_is_taken_for_it() {
        let slice = Slice::Within(100..=199);
        let judged = |status, fields: &[(&str, &str)]| {
            let question = Question {
                range: None,
                condition: None,
                known: None,
                joins: Joins::DigestChecked,
                slice: Some(&slice),
                received: None,
            };
            judge(&head(status, fields), &question)
        };
        let right = judged(206, &[("content-range", "bytes 100-199/1000"), ("etag", "\"a\"")]);
        let version = Version { length: Some(100), ..Version::default() };
        assert!(matches!(right, Answer::Whole { version: own, .. } if own == version));
        for (status, range) in [
            (206, "bytes 0-99/1000"),
            (206, "bytes 100-299/1000"),
            (206, "chunks 1-2/3"),
            (200, "bytes 100-199/1000"),
            (416, "bytes */50"),
        ] {
            let answer = judged(status, &[("content-range", range)]);
            assert!(matches!(answer, Answer::Refused(_)), "{status} {range}: {answer:?}");
        }
        let short = [("content-range", "bytes 100-199/1000"), ("content-length", "99")];
        assert!(matches!(judged(206, &short), Answer::Refused(_)));
        assert!(matches!(judged(503, &[]), Answer::Again { .. }));
    }

    #[test]
    fn a_range_after_the_end_tells_that_all_is_there() {
        let at_end = |value| judged(&head(416, &[("content-range", value)]), Some(&(10..20)), None);
        assert_eq!(at_end("bytes */10"), Answer::End { length: 10, proof: Proof::Validator });
        assert!(matches!(at_end("bytes */9"), Answer::Anew(_)));
        assert!(matches!(at_end("bytes 0-9/10"), Answer::Anew(_)));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (status, again) in
            [(404, false), (403, false), (501, false), (304, false), (204, false)]
                .into_iter()
                .chain([408, 429, 500, 502, 503, 504].map(|status| (status, true)))
        {
            let answer = judged(&head(status, &[]), None, None);
            assert_eq!(matches!(answer, Answer::Again { .. }), again, "{status}");
        }
    }

    #[test]
    fn the_servers_own_rest_is_kept() {
        let received = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_817);
        let after = |fields: &[_]| retry_after(&head(503, fields), Some(received));
        assert_eq!(after(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let until = ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(after(&[date, until]), Some(Duration::from_secs(60)));
        // 40 s later by the clock of this side, which dates what has no date.
        assert_eq!(after(&[until]), Some(Duration::from_secs(20)));
        let endless = ("retry-after", "18446744073709551616");
        assert_eq!(after(&[endless]), Some(Duration::from_secs(u64::MAX)));
        assert_eq!(after(&[("retry-after", "soon")]), None);
    }
}
