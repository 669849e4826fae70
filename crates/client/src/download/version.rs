//! Versions of a file. Bytes of two responses make one file only if their versions are certainly the same.

use proto::ResponseHead;
use std::time::Duration;

/// A version of a file, as far as the server identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Version {
    /// The length of the whole file in bytes.
    pub length: Option<u64>,
    /// The value for If-Range: a strong entity tag, or a date that is strong (RFC 9110 §13.1.5).
    pub validator: Option<String>,
}

impl Version {
    /// Whether bytes of `self` and of `other` certainly belong to one version.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        let lengths_agree = match (self.length, other.length) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        let validators_agree = match (&self.validator, &other.validator) {
            (Some(one), Some(other)) => one == other,
            // A 206 need not repeat the validator that If-Range named (RFC 9110 §15.3.7).
            _ => true,
        };
        lengths_agree && validators_agree
    }
}

/// The strong validator of a response; None where it has none.
pub(super) fn validator(head: &ResponseHead) -> Option<String> {
    // RFC 9110 §8.8.3: a weak tag does not identify single bytes.
    if let Some(tag) = head.fields.find_str("etag") {
        let is_strong = tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
        return is_strong.then(|| tag.to_owned());
    }
    let modified = head.fields.find_str("last-modified")?;
    let date = httpdate::parse_http_date(head.fields.find_str("date")?).ok()?;
    let age = date.duration_since(httpdate::parse_http_date(modified).ok()?).ok()?;
    // RFC 9110 §8.8.2.2: within one second the file might have changed twice.
    (age >= Duration::from_secs(1)).then(|| modified.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Status;

    fn of(fields: &[(&str, &str)]) -> Option<String> {
        let mut head = ResponseHead::new(Status::OK);
        for (name, value) in fields {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        validator(&head)
    }

    #[test]
    fn only_strong_validators_count() {
        let day = "Sun, 06 Nov 1994 08:49:37 GMT";
        let next = "Sun, 06 Nov 1994 08:49:38 GMT";
        assert_eq!(of(&[("etag", "\"a\"")]).as_deref(), Some("\"a\""));
        assert_eq!(of(&[("etag", "W/\"a\""), ("last-modified", day), ("date", next)]), None);
        assert_eq!(of(&[("etag", "a")]), None);
        assert_eq!(of(&[("last-modified", day), ("date", next)]).as_deref(), Some(day));
        assert_eq!(of(&[("last-modified", day), ("date", day)]), None);
        assert_eq!(of(&[("last-modified", day)]), None);
        assert_eq!(of(&[]), None);
    }
}
