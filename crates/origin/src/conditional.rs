//! Conditional requests (RFC 9110 §13). The one rule: the order of the checks is §13.2.2's.

use crate::wall_clock::parse_http_date;
use proto::{Fields, Method};

/// The validators of a representation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Validators {
    /// A strong entity tag, with its quotes.
    pub(crate) etag: String,
    /// Last modification, in seconds since 1970.
    pub(crate) modified: u64,
}

impl Validators {
    /// Those that the fields of a response name; None where they name none.
    pub(crate) fn of(response: &Fields) -> Option<Self> {
        let etag = response.find_str("etag").map(|tag| tag.strip_prefix("W/").unwrap_or(tag));
        let modified = date(response, "last-modified");
        if etag.is_none() && modified.is_none() {
            return None;
        }
        let etag = etag.unwrap_or_default().to_owned();
        Some(Self { etag, modified: modified.unwrap_or_default() })
    }
}

/// The result of a request's preconditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Answer the request.
    Proceed,
    /// 304
    NotModified,
    /// 412
    Failed,
}

/// Evaluates the preconditions of a request against the present version.
pub(crate) fn evaluate(method: &Method, fields: &Fields, current: &Validators) -> Verdict {
    // RFC 9110 §13.2.2, steps 1 and 2.
    if fields.find(b"if-match").is_some() {
        if !matches_any(fields, b"if-match", &current.etag, Comparison::Strong) {
            return Verdict::Failed;
        }
    } else if let Some(since) = date(fields, "if-unmodified-since")
        && current.modified > since
    {
        return Verdict::Failed;
    }
    // Steps 3 and 4.
    let is_read = matches!(method, Method::Get | Method::Head);
    if fields.find(b"if-none-match").is_some() {
        if matches_any(fields, b"if-none-match", &current.etag, Comparison::Weak) {
            return if is_read { Verdict::NotModified } else { Verdict::Failed };
        }
    } else if is_read
        && let Some(since) = date(fields, "if-modified-since")
        && current.modified <= since
    {
        return Verdict::NotModified;
    }
    Verdict::Proceed
}

/// RFC 9110 §13.1.5: whether a `Range` counts. Without `If-Range` it does.
pub(crate) fn range_counts(fields: &Fields, current: &Validators) -> bool {
    let Some(value) = fields.find(b"if-range") else { return true };
    let Ok(value) = std::str::from_utf8(value) else { return false };
    if value.contains('"') {
        return value == current.etag;
    }
    parse_http_date(value) == Some(current.modified)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// RFC 9110 §8.8.3.2: whether the list holds our tag, or is `*`.
fn matches_any(fields: &Fields, name: &[u8], ours: &str, comparison: Comparison) -> bool {
    fields.all(name).filter_map(|value| std::str::from_utf8(value).ok()).any(|value| {
        value.trim() == "*"
            || tags(value).any(|tag| match comparison {
                Comparison::Strong => tag == ours,
                Comparison::Weak => tag.strip_prefix("W/").unwrap_or(tag) == ours,
            })
    })
}

/// The tags of a list. A comma may be part of a tag, so quotes mark where each one ends.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        let open = rest.find('"')?;
        let close = open + 1 + rest[open + 1..].find('"')?;
        let (tag, after) = rest.split_at(close + 1);
        rest = after;
        Some(tag)
    })
}

/// RFC 9110 §13.1.3, §13.1.4: a value that is not a date is ignored.
fn date(fields: &Fields, name: &str) -> Option<u64> {
    parse_http_date(fields.find_str(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn current() -> Validators {
        Validators { etag: "\"a,b\"".to_owned(), modified: 784_111_777 }
    }

    fn verdict(method: Method, name: &str, value: &str) -> Verdict {
        evaluate(&method, &Fields::new().with(name, value), &current())
    }

    #[test]
    fn each_precondition_decides_as_its_section_says() {
        use Method::{Get, Put};
        use Verdict::{Failed, NotModified, Proceed};
        for (method, name, value, expected) in [
            (Get, "if-match", "\"x\", \"a,b\"", Proceed),
            (Get, "if-match", "W/\"a,b\"", Failed),
            (Get, "if-match", "*", Proceed),
            (Get, "if-match", "\"x\"", Failed),
            (Get, "if-unmodified-since", DATE, Proceed),
            (Get, "if-unmodified-since", EARLIER, Failed),
            (Get, "if-unmodified-since", "soon", Proceed),
            (Get, "if-none-match", "\"x\",W/\"a,b\"", NotModified),
            (Put, "if-none-match", "*", Failed),
            (Get, "if-none-match", "\"x\"", Proceed),
            (Get, "if-modified-since", DATE, NotModified),
            (Get, "if-modified-since", EARLIER, Proceed),
            (Put, "if-modified-since", DATE, Proceed),
        ] {
            assert_eq!(verdict(method.clone(), name, value), expected, "{method} {name}: {value}");
        }
    }

    #[test]
    fn a_tag_goes_before_a_date() {
        let both = Fields::new().with("if-none-match", "\"x\"").with("if-modified-since", DATE);
        assert_eq!(evaluate(&Method::Get, &both, &current()), Verdict::Proceed);
        let both = Fields::new().with("if-match", "\"a,b\"").with("if-unmodified-since", EARLIER);
        assert_eq!(evaluate(&Method::Get, &both, &current()), Verdict::Proceed);
    }

    #[test]
    fn if_range_wants_the_same_version_exactly() {
        for (value, counts) in
            [("\"a,b\"", true), ("W/\"a,b\"", false), (DATE, true), (EARLIER, false), ("x", false)]
        {
            let fields = Fields::new().with("if-range", value);
            assert_eq!(range_counts(&fields, &current()), counts, "{value}");
        }
    }
}
