//! What a response means for a download (RFC 9110 §14, §15). The one rule: pure functions of the head and the request.

use super::version::{Version, validator};
use proto::ResponseHead;
use std::ops::Range;
use std::time::Duration;

/// The meaning of a response's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The body is the whole file.
    Whole(Version),
    /// The body is this range, of the same version as the bytes that are there.
    Part { range: Range<u64>, version: Version },
    /// The file ends where the bytes that are there end.
    End { length: u64 },
    /// The bytes that are there cannot be used, for this reason.
    Anew(&'static str),
    /// A transient failure: try again later.
    Again { after: Option<Duration>, why: String },
    /// A permanent failure.
    Refused(String),
}

/// Judges the response to a request for the range `asked` (None: the whole file) of the version `known`.
pub(super) fn judge(
    head: &ResponseHead,
    asked: Option<&Range<u64>>,
    known: Option<&Version>,
) -> Answer {
    match head.status.code() {
        // 203: a proxy has changed the file (RFC 9110 §15.3.4). Its version is the only one available.
        200 | 203 => Answer::Whole(Version { length: length(head), validator: validator(head) }),
        206 => part(head, asked, known),
        416 => match asked {
            Some(asked) => beyond(head, asked),
            None => Answer::Refused(told(head)),
        },
        // RFC 9110 §15.5.9, §15.6; RFC 6585 §4; RFC 8470 §5.2.
        408 | 425 | 429 | 500 | 502 | 503 | 504 => {
            Answer::Again { after: retry_after(head), why: told(head) }
        }
        _ => Answer::Refused(told(head)),
    }
}

/// The content coding of the body, if it has one although none was asked for.
pub(super) fn coding(head: &ResponseHead) -> Option<&str> {
    let coding = head.fields.find_str("content-encoding")?;
    (!coding.eq_ignore_ascii_case("identity") && !coding.is_empty()).then_some(coding)
}

fn part(head: &ResponseHead, asked: Option<&Range<u64>>, known: Option<&Version>) -> Answer {
    let Some(asked) = asked else {
        return Answer::Refused("it answered 206 to a request without a range".to_owned());
    };
    let range = head.fields.find_str("content-range").and_then(content_range);
    let Some((range, whole)) = range else {
        // multipart/byteranges is only for requests of several ranges (RFC 9110 §15.3.7.2).
        return Answer::Refused(
            "it answered 206 without a Content-Range that can be read".to_owned(),
        );
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
    let version = Version { length: whole, validator: validator(head) };
    match known {
        Some(known) if !known.is_of(&version) => Answer::Anew("it has changed on the server"),
        // Without a validator nobody could tell whether later pieces are of the same version.
        None if version.validator.is_none() && whole.is_none_or(|whole| range.end < whole) => {
            Answer::Anew("the server names no version by which its parts could be told to fit")
        }
        Some(known) => {
            let length = whole.or(known.length);
            let validator = version.validator.or_else(|| known.validator.clone());
            Answer::Part { range, version: Version { length, validator } }
        }
        None => Answer::Part { range, version },
    }
}

/// A 416 response (RFC 9110 §15.5.17): the file ends where the bytes that are there end, or before. If-Range has
/// ensured that it is the same version.
fn beyond(head: &ResponseHead, asked: &Range<u64>) -> Answer {
    let whole = head.fields.find_str("content-range").and_then(|value| {
        number(value.trim().strip_prefix("bytes")?.trim_start().strip_prefix("*/")?)
    });
    match whole {
        Some(length) if length == asked.start => Answer::End { length },
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
/// two clocks may differ.
fn retry_after(head: &ResponseHead) -> Option<Duration> {
    let value = head.fields.find_str("retry-after")?;
    if let Some(seconds) = number(value) {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    at.duration_since(httpdate::parse_http_date(head.fields.find_str("date")?).ok()?).ok()
}

fn told(head: &ResponseHead) -> String {
    let code = head.status.code();
    match name(code) {
        Some(name) => format!("the server answered {code} {name}"),
        None => format!("the server answered {code}"),
    }
}

/// The names of the statuses that downloads meet (RFC 9110 §15).
fn name(code: u16) -> Option<&'static str> {
    Some(match code {
        204 => "No Content",
        300 => "Multiple Choices",
        304 => "Not Modified",
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
        Version { length: Some(1000), validator: Some("\"a\"".to_owned()) }
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
            let answer = judge(&head, Some(&(100..200)), Some(&known()));
            assert_eq!(matches!(answer, Answer::Part { .. }), fits, "{range}: {answer:?}");
        }
        let head = head(206, &[("content-range", "bytes 900-999/1000"), ("content-length", "99")]);
        assert!(matches!(judge(&head, Some(&(900..u64::MAX)), None), Answer::Refused(_)));
    }

    #[test]
    fn a_part_of_another_version_is_of_no_use() {
        for fields in [
            [("content-range", "bytes 100-199/1000"), ("etag", "\"b\"")],
            [("content-range", "bytes 100-199/1001"), ("etag", "\"a\"")],
        ] {
            let answer = judge(&head(206, &fields), Some(&(100..200)), Some(&known()));
            assert!(matches!(answer, Answer::Anew(_)), "{answer:?}");
        }
        let unnamed = head(206, &[("content-range", "bytes 0-99/1000")]);
        assert!(matches!(judge(&unnamed, Some(&(0..100)), None), Answer::Anew(_)));
        // The whole file in one part needs no validator.
        let whole = head(206, &[("content-range", "bytes 0-99/100")]);
        assert!(matches!(judge(&whole, Some(&(0..1000)), None), Answer::Part { .. }));
    }

    #[test]
    fn a_range_after_the_end_tells_that_all_is_there() {
        let at_end = |value| judge(&head(416, &[("content-range", value)]), Some(&(10..20)), None);
        assert_eq!(at_end("bytes */10"), Answer::End { length: 10 });
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
            let answer = judge(&head(status, &[]), None, None);
            assert_eq!(matches!(answer, Answer::Again { .. }), again, "{status}");
        }
    }

    #[test]
    fn the_servers_own_rest_is_kept() {
        let after = |fields: &[_]| retry_after(&head(503, fields));
        assert_eq!(after(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let until = ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(after(&[date, until]), Some(Duration::from_secs(60)));
        assert_eq!(after(&[("retry-after", "soon")]), None);
    }
}
