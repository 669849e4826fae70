//! A private cache (RFC 9111), as far as the next view of a page needs one: the first view fills it, the next one finds
//! responses that are fresh, stale or evicted. The one rule: what it says depends on its contents and on a time that is
//! handed in, never on a clock.

use bytes::Bytes;
use page::{Scheme, Url};
use proto::{Fields, ResponseHead, Status};
use std::collections::HashMap;
use std::time::Duration;
use unit::{Instant, Seed};

/// The stored responses of one browser.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    entries: HashMap<Url, Entry>,
    bytes: usize,
    mode: Mode,
}

/// What happened between two views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// How long it was. Stored responses age by it.
    pub away: Duration,
    /// Per cent of the stored responses that were evicted meanwhile.
    pub evicted: u32,
    /// Which ones: the same for the same URLs.
    pub seed: Seed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// A first view: responses are stored, none is found.
    #[default]
    Filling,
    /// The next view: stored responses are found, none is stored.
    Serving,
}

#[derive(Debug, Clone)]
struct Entry {
    body: Bytes,
    freshness: Freshness,
    stored: Instant,
    /// Request fields that ask whether it is still current.
    validators: Fields,
}

/// How long a response is fresh, and how old it was when it came (RFC 9111 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Freshness {
    lifetime: Duration,
    age: Duration,
}

/// What the cache has of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// It may be used without asking.
    Fresh(Bytes),
    /// It may be used once the server has answered a request with these fields by 304.
    Stale(Bytes, Fields),
}

impl Cache {
    /// An empty one, for a first view to fill.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is left of it for the next view.
    #[must_use]
    pub fn after(mut self, absence: Absence) -> Self {
        let Absence { away, evicted, seed } = absence;
        self.entries.retain(|url, entry| {
            entry.freshness.age += away;
            seed.child(&url.to_string()).fraction(0) * 100.0 >= f64::from(evicted)
        });
        self.bytes = self.entries.values().map(|entry| entry.body.len()).sum();
        self.mode = Mode::Serving;
        self
    }

    /// Responses that are stored.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a response with this head is to be stored, once it is whole.
    pub(crate) fn stores(&self, head: &ResponseHead) -> bool {
        self.mode == Mode::Filling && is_storable(head)
    }

    /// Stores the response to a GET of `url`.
    pub(crate) fn store(&mut self, now: Instant, url: &Url, head: &ResponseHead, body: Bytes) {
        if self.bytes + body.len() > MOST_BYTES {
            return;
        }
        self.bytes += body.len();
        let entry = Entry {
            freshness: Freshness::of(head),
            stored: now,
            validators: validators(head),
            body,
        };
        if let Some(before) = self.entries.insert(without_scheme(url), entry) {
            self.bytes -= before.body.len();
        }
    }

    /// Whether a response may be used without asking.
    pub(crate) fn is_fresh(&self, now: Instant, url: &Url) -> bool {
        matches!(self.find(now, url), Found::Fresh(_))
    }

    /// What may answer a GET of `url`.
    pub(crate) fn find(&self, now: Instant, url: &Url) -> Found {
        let Some(entry) =
            self.entries.get(&without_scheme(url)).filter(|_| self.mode == Mode::Serving)
        else {
            return Found::Nothing;
        };
        let Freshness { lifetime, age } = entry.freshness;
        match age + now.since(entry.stored) < lifetime {
            true => Found::Fresh(entry.body.clone()),
            false if entry.validators.is_empty() => Found::Nothing,
            false => Found::Stale(entry.body.clone(), entry.validators.clone()),
        }
    }
}

/// The URL that names a resource whether or not a contender fetches it over TLS: the scheme is always `http`.
pub(crate) fn without_scheme(url: &Url) -> Url {
    Url { scheme: Scheme::Http, ..url.clone() }
}

/// RFC 9111 §3: a private cache stores what it may use again.
fn is_storable(head: &ResponseHead) -> bool {
    let varies = head.fields.all(b"vary").any(|value| value.contains(&b'*'));
    let may_serve = !Freshness::of(head).lifetime.is_zero() || !validators(head).is_empty();
    matches!(head.status.code(), 200 | 301 | 308 | 404 | 410)
        && directive(&head.fields, "no-store").is_none()
        && !varies
        && may_serve
}

/// The fields that make a request conditional (RFC 9111 §4.3.1). As in Chromium, redirects and errors are not asked for so.
fn validators(head: &ResponseHead) -> Fields {
    let (fields, mut validators) = (&head.fields, Fields::new());
    if head.status != Status::OK {
        return validators;
    }
    for (of, asks) in [("etag", "if-none-match"), ("last-modified", "if-modified-since")] {
        if let Some(value) = fields.find(of.as_bytes()) {
            validators.push(asks.as_bytes(), value);
        }
    }
    validators
}

impl Freshness {
    fn of(head: &ResponseHead) -> Self {
        let age = head.fields.find_str("age").and_then(|age| age.trim().parse().ok()).unwrap_or(0);
        Self { lifetime: lifetime(head), age: Duration::from_secs(age) }
    }
}

/// RFC 9111 §4.2.1: `max-age`, else `Expires` less `Date`, else a tenth of the time since the last change (§4.2.2). What has moved
/// for good, or is gone, stays so. All as in Chromium (net/http/http_response_headers.cc, `GetFreshnessLifetimes`).
fn lifetime(head: &ResponseHead) -> Duration {
    let fields = &head.fields;
    if directive(fields, "no-cache").is_some() {
        return Duration::ZERO;
    }
    if let Some(seconds) = directive(fields, "max-age") {
        return Duration::from_secs(seconds.trim_matches('"').parse().unwrap_or(0));
    }
    let date = |name: &str| httpdate::parse_http_date(fields.find_str(name)?).ok();
    let date_field = date("date");
    if fields.find(b"expires").is_some() {
        // What is no date has expired.
        let left =
            date("expires").zip(date_field).and_then(|(end, now)| end.duration_since(now).ok());
        return left.unwrap_or_default();
    }
    if matches!(head.status.code(), 301 | 308 | 410) {
        return Duration::MAX;
    }
    if head.status != Status::OK || directive(fields, "must-revalidate").is_some() {
        return Duration::ZERO;
    }
    let unchanged = date_field
        .zip(date("last-modified"))
        .and_then(|(now, modified)| now.duration_since(modified).ok());
    unchanged.unwrap_or_default() / 10
}

/// The value of a directive of Cache-Control; empty where it has none.
fn directive(fields: &Fields, name: &str) -> Option<String> {
    let values = fields.all(b"cache-control").filter_map(|value| std::str::from_utf8(value).ok());
    values.flat_map(|value| value.split(',')).find_map(|directive| {
        let (own, value) = directive.split_once('=').unwrap_or((directive, ""));
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// Bytes of bodies that are stored; what comes beyond is not.
const MOST_BYTES: usize = 256 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_nanos(5_000_000_000);

    fn head(fields: &[(&str, &str)]) -> ResponseHead {
        let mut head = ResponseHead::new(Status::OK);
        for (name, value) in fields {
            head.fields.push(name.as_bytes(), value.as_bytes());
        }
        head
    }

    fn url(path: &str) -> Url {
        format!("http://a.test{path}").parse().unwrap()
    }

    fn absence(away: u64, evicted: u32) -> Absence {
        Absence { away: Duration::from_secs(away), evicted, seed: Seed(1) }
    }

    /// What is found of a response after so many seconds; None where it is not stored.
    fn found(fields: &[(&str, &str)], away: u64) -> Option<&'static str> {
        let (mut cache, head) = (Cache::new(), head(fields));
        if !cache.stores(&head) {
            return None;
        }
        cache.store(NOW, &url("/"), &head, Bytes::from_static(b"x"));
        assert_eq!(cache.find(NOW, &url("/")), Found::Nothing, "a first view finds nothing");
        let https = "https://a.test/".parse().unwrap();
        Some(match cache.after(absence(away, 0)).find(NOW, &https) {
            Found::Nothing => "nothing",
            Found::Fresh(_) => "fresh",
            Found::Stale(_, asks) if asks.find(b"if-none-match").is_some() => "stale by etag",
            Found::Stale(..) => "stale by date",
        })
    }

    #[test]
    fn freshness_is_that_of_rfc_9111() {
        let date = ("date", "Mon, 23 Nov 2026 12:00:00 GMT");
        let tag = ("etag", "\"1\"");
        let modified = ("last-modified", "Mon, 23 Nov 2026 10:00:00 GMT");
        for (fields, away, expected) in [
            (vec![("cache-control", "public, max-age=60")], 59, Some("fresh")),
            (vec![("cache-control", "Max-Age=\"60\""), ("age", "30")], 31, Some("nothing")),
            (vec![("cache-control", "max-age=60"), tag], 60, Some("stale by etag")),
            (vec![("cache-control", "max-age=60, no-cache"), tag], 0, Some("stale by etag")),
            (vec![("cache-control", "max-age=9"), date, ("expires", "0")], 8, Some("fresh")),
            (vec![date, ("expires", "Mon, 23 Nov 2026 12:01:00 GMT")], 59, Some("fresh")),
            (
                vec![date, ("expires", "Mon, 23 Nov 2026 12:01:00 GMT"), tag],
                60,
                Some("stale by etag"),
            ),
            (vec![date, ("expires", "0"), modified], 0, Some("stale by date")),
            // A tenth of two hours.
            (vec![date, modified], 719, Some("fresh")),
            (vec![date, modified], 720, Some("stale by date")),
            (vec![("cache-control", "no-store, max-age=60"), tag], 0, None),
            (vec![("vary", "accept, *"), ("cache-control", "max-age=60")], 0, None),
            (vec![], 0, None),
        ] {
            assert_eq!(found(&fields, away), expected, "{fields:?} after {away} s");
        }
    }

    #[test]
    fn what_has_moved_for_good_is_not_asked_for_again_and_what_has_moved_for_now_is() {
        let lifetime = |status: u16, fields: &[(&str, &str)]| {
            let head = ResponseHead { status: Status::new(status).unwrap(), ..head(fields) };
            Cache::new().stores(&head).then(|| Freshness::of(&head).lifetime)
        };
        let minute = [("cache-control", "max-age=60")];
        let must_ask = [("cache-control", "must-revalidate")];
        for status in [301, 308, 410] {
            assert_eq!(lifetime(status, &[]), Some(Duration::MAX));
            assert_eq!(lifetime(status, &minute), Some(Duration::from_secs(60)));
            assert_eq!(lifetime(status, &[("cache-control", "no-cache"), ("etag", "\"1\"")]), None);
            assert_eq!(lifetime(status, &must_ask), Some(Duration::MAX));
        }
        assert_eq!(lifetime(404, &minute), Some(Duration::from_secs(60)));
        let changed = [
            ("date", "Mon, 23 Nov 2026 12:00:00 GMT"),
            ("last-modified", "Mon, 23 Nov 2026 10:00:00 GMT"),
        ];
        assert_eq!(lifetime(200, &changed), Some(Duration::from_secs(720)));
        assert_eq!(lifetime(404, &changed), None);
        assert_eq!(lifetime(200, &[changed[0], changed[1], must_ask[0]]), Some(Duration::ZERO));
        for status in [302, 307, 403, 500] {
            assert_eq!(lifetime(status, &minute), None);
        }
    }

    #[test]
    fn the_evicted_part_follows_from_the_seed() {
        let mut cache = Cache::new();
        for n in 0..1_000 {
            let head = head(&[("cache-control", "max-age=60")]);
            cache.store(NOW, &url(&format!("/{n}")), &head, Bytes::from_static(b"xy"));
        }
        assert_eq!((cache.len(), cache.bytes), (1_000, 2_000));
        let left = |evicted, seed| {
            let left = cache.clone().after(Absence { seed: Seed(seed), ..absence(0, evicted) });
            (0..1_000)
                .filter(|n| left.find(NOW, &url(&format!("/{n}"))) != Found::Nothing)
                .collect::<Vec<_>>()
        };
        assert_eq!(left(30, 1), left(30, 1));
        assert_ne!(left(30, 1), left(30, 2));
        assert!((650..750).contains(&left(30, 1).len()));
        assert_eq!((left(0, 1).len(), left(100, 1).len()), (1_000, 0));
    }
}
