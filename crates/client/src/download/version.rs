//! Versions of a file. Bytes of two responses make one file only if their versions are certainly the same.

use proto::ResponseHead;
use std::fmt;
use std::time::{Duration, SystemTime};

/// A version of a file, as far as the server identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Version {
    /// The length of the whole file in bytes.
    pub length: Option<u64>,
    /// The entity tag as the server writes it, weak ones too.
    pub tag: Option<String>,
    /// When the file was modified last.
    pub modified: Option<Modified>,
}

/// A Last-Modified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modified {
    /// The date as the server writes it.
    pub date: String,
    /// Whether it identifies the file byte for byte.
    pub strength: Strength,
}

/// Whether a Last-Modified identifies the file byte for byte (RFC 9110 §8.8.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// It was old enough when it was sent.
    Strong,
    /// The file may have changed again under the same date.
    Weak,
}

/// The condition under which a range of a known version is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// `If-Range`: the range if the file is unchanged, else the whole file (RFC 9110 §13.1.5).
    IfRange(&'a str),
    /// `If-Unmodified-Since`: the range if the file is unchanged, else status 412 (RFC 9110 §13.1.4). If-Range takes no
    /// date where there is an entity tag, and no weak tag.
    UnmodifiedSince(&'a str),
}

/// Why nothing can be added to bytes of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValidator {
    /// There is no name of it.
    Unnamed,
    /// There is a weak entity tag, or one that breaks the grammar, and nothing else.
    WeakTag,
    /// The Last-Modified is too close to the response's date.
    Recent,
}

/// What is known of two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// They are the same, byte for byte.
    Same,
    /// They differ.
    Different,
    /// The names that both have do not suffice to tell.
    Unknown,
}

impl Version {
    /// The version of a response that arrived at `received` by the client's own clock, if it has one. `length` is
    /// the whole file's.
    pub(super) fn of(
        head: &ResponseHead,
        length: Option<u64>,
        received: Option<SystemTime>,
    ) -> Self {
        let modified = head.fields.find_str("last-modified").map(|date| Modified {
            date: date.to_owned(),
            strength: strength(date, head.fields.find_str("date"), received),
        });
        Self { length, tag: head.fields.find_str("etag").map(str::to_owned), modified }
    }

    /// Whether further bytes of it can be told from those of another version; if not, why.
    pub fn validator(&self) -> Result<(), NoValidator> {
        self.condition().map(drop)
    }

    /// The condition for a request of further bytes of it.
    pub(super) fn condition(&self) -> Result<Condition<'_>, NoValidator> {
        match (self.strong_tag(), &self.tag, &self.modified) {
            (Some(tag), ..) => Ok(Condition::IfRange(tag)),
            (None, tag, Some(Modified { date, strength: Strength::Strong })) => Ok(match tag {
                None => Condition::IfRange(date),
                Some(_) => Condition::UnmodifiedSince(date),
            }),
            (None, _, Some(_)) => Err(NoValidator::Recent),
            (None, Some(_), None) => Err(NoValidator::WeakTag),
            (None, None, None) => Err(NoValidator::Unnamed),
        }
    }

    /// Whether `other`, a later response's, is the same version.
    pub(super) fn compare(&self, other: &Self) -> Comparison {
        let differ = |one: Option<&str>, other: Option<&str>| {
            one.zip(other).is_some_and(|(one, other)| one != other)
        };
        let date = |version: &Self| version.modified.as_ref().map(|modified| modified.date.clone());
        let lengths_differ = self.length.zip(other.length).is_some_and(|(one, other)| one != other);
        if lengths_differ || differ(self.opaque_tag(), other.opaque_tag()) {
            return Comparison::Different;
        }
        if self.strong_tag().is_some() && other.strong_tag().is_some() {
            return Comparison::Same;
        }
        if differ(date(self).as_deref(), date(other).as_deref()) {
            return Comparison::Different;
        }
        let is_dated = |version: &Self| {
            version.modified.as_ref().is_some_and(|modified| modified.strength == Strength::Strong)
        };
        match is_dated(self) && other.modified.is_some() {
            true => Comparison::Same,
            false => Comparison::Unknown,
        }
    }

    /// `self`, with what only `other` names.
    pub(super) fn completed_by(self, other: &Self) -> Self {
        Self {
            length: self.length.or(other.length),
            tag: self.tag.or_else(|| other.tag.clone()),
            modified: self.modified.or_else(|| other.modified.clone()),
        }
    }

    /// Whether the server has named nothing by which versions can be told apart.
    pub(super) fn is_unnamed(&self) -> bool {
        self.tag.is_none() && self.modified.is_none()
    }

    /// RFC 9110 §8.8.3: a weak tag does not identify single bytes.
    fn strong_tag(&self) -> Option<&str> {
        let is_strong = |tag: &&str| tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
        self.tag.as_deref().filter(is_strong)
    }

    /// The tag for the weak comparison (RFC 9110 §8.8.3.2): servers weaken a tag when they compress.
    fn opaque_tag(&self) -> Option<&str> {
        self.tag.as_deref().map(|tag| tag.strip_prefix("W/").unwrap_or(tag))
    }
}

impl fmt::Display for NoValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unnamed => "the server names no version of it (no ETag, no Last-Modified)",
            Self::WeakTag => "the server's ETag is weak and it sends no Last-Modified",
            Self::Recent => {
                "it was modified too shortly before the response for Last-Modified to identify it"
            }
        })
    }
}

/// RFC 9110 §8.8.2.2: within one second the file might have changed twice. A response without a Date is dated by the
/// client (§6.6.1). Its clock is another one than the server's, so the minute of RFC 7232 §2.2.2 lies between.
fn strength(modified: &str, date: Option<&str>, received: Option<SystemTime>) -> Strength {
    const SAME_CLOCK: Duration = Duration::from_secs(1);
    const OTHER_CLOCK: Duration = Duration::from_secs(60);
    let dated = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let (sent, apart) = match (dated, received) {
        (Some(date), _) => (date, SAME_CLOCK),
        (None, Some(received)) => (received, OTHER_CLOCK),
        (None, None) => return Strength::Weak,
    };
    let age = httpdate::parse_http_date(modified)
        .ok()
        .and_then(|modified| sent.duration_since(modified).ok());
    match age {
        Some(age) if age >= apart => Strength::Strong,
        _ => Strength::Weak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Status;

    const DAY: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEXT: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn of(fields: &[(&str, &str)]) -> Version {
        received(fields, None)
    }

    fn received(fields: &[(&str, &str)], seconds_later: Option<u64>) -> Version {
        let mut head = ResponseHead::new(Status::OK);
        for (name, value) in fields {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        let day = httpdate::parse_http_date(DAY).unwrap();
        Version::of(&head, Some(10), seconds_later.map(|later| day + Duration::from_secs(later)))
    }

    #[test]
    fn only_strong_validators_make_a_condition() {
        let tagged = of(&[("etag", "\"a\""), ("last-modified", DAY), ("date", NEXT)]);
        assert_eq!(tagged.condition(), Ok(Condition::IfRange("\"a\"")));
        let dated = of(&[("last-modified", DAY), ("date", NEXT)]);
        assert_eq!(dated.condition(), Ok(Condition::IfRange(DAY)));
        for tag in ["W/\"a\"", "a"] {
            let weak = of(&[("etag", tag), ("last-modified", DAY), ("date", NEXT)]);
            assert_eq!(weak.condition(), Ok(Condition::UnmodifiedSince(DAY)));
            assert_eq!(of(&[("etag", tag)]).condition(), Err(NoValidator::WeakTag));
        }
        let recent = of(&[("last-modified", DAY), ("date", DAY)]);
        assert_eq!(recent.condition(), Err(NoValidator::Recent));
        assert_eq!(of(&[("last-modified", DAY)]).condition(), Err(NoValidator::Recent));
        assert_eq!(of(&[]).condition(), Err(NoValidator::Unnamed));
    }

    #[test]
    fn an_undated_response_is_dated_by_the_client_with_a_minute_between() {
        let fields = [("last-modified", DAY)];
        assert_eq!(received(&fields, Some(60)).condition(), Ok(Condition::IfRange(DAY)));
        assert_eq!(received(&fields, Some(59)).condition(), Err(NoValidator::Recent));
        let dated = [("last-modified", DAY), ("date", DAY)];
        assert_eq!(received(&dated, Some(600)).condition(), Err(NoValidator::Recent));
    }

    #[test]
    fn names_are_compared_with_their_like() {
        let tag = of(&[("etag", "\"a\"")]);
        let weak = of(&[("etag", "W/\"a\""), ("last-modified", DAY), ("date", NEXT)]);
        let dated = of(&[("last-modified", DAY)]);
        assert_eq!(tag.compare(&of(&[("etag", "\"a\"")])), Comparison::Same);
        assert_eq!(tag.compare(&of(&[("etag", "\"b\"")])), Comparison::Different);
        assert_eq!(tag.compare(&dated), Comparison::Unknown);
        assert_eq!(weak.compare(&dated), Comparison::Same);
        assert_eq!(weak.compare(&of(&[("last-modified", NEXT)])), Comparison::Different);
        assert_eq!(
            weak.compare(&of(&[("etag", "W/\"b\""), ("last-modified", DAY)])),
            Comparison::Different
        );
        assert_eq!(weak.compare(&of(&[("etag", "W/\"a\"")])), Comparison::Unknown);
        assert_eq!(
            weak.compare(&Version { length: Some(11), ..weak.clone() }),
            Comparison::Different
        );
        assert_eq!(
            dated.compare(&weak),
            Comparison::Unknown,
            "the first date may be of two versions"
        );
    }
}
