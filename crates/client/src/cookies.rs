//! Cookies (RFC 6265), as far as page loads need them: kept for a client's time, sent back to whom they are of. Expiry is
//! heeded where it deletes a cookie. The one rule: what servers set is bounded in number and length.

use page::{Scheme, Url};
use std::net::Ipv4Addr;

/// The cookies of one browser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cookies {
    /// In the order of setting.
    cookies: Vec<Cookie>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    domain: Domain,
    path: String,
    is_secure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Domain {
    /// This host alone.
    Host(String),
    /// This one and those below it.
    Below(String),
}

impl Cookies {
    /// No cookies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the value of a `Set-Cookie` field of a response from `url`, whose scheme is that of the connection.
    pub(crate) fn set(&mut self, url: &Url, field: &[u8]) {
        let Some((cookie, lasts)) =
            std::str::from_utf8(field).ok().and_then(|text| read(url, text))
        else {
            return;
        };
        let same = |other: &Cookie| {
            (&other.name, &other.domain, &other.path)
                == (&cookie.name, &cookie.domain, &cookie.path)
        };
        match self.cookies.iter().position(same) {
            // It keeps the place of the one before it (RFC 6265 §5.3, step 11.3).
            Some(place) if lasts => self.cookies[place] = cookie,
            Some(place) => {
                self.cookies.remove(place);
            }
            None if lasts => {
                if self.cookies.len() == MOST_COOKIES {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
            None => {}
        }
    }

    /// The value of the `Cookie` field for a request of `url`; None without cookies (RFC 6265 §5.4).
    pub(crate) fn field(&self, url: &Url) -> Option<String> {
        let path = url.path.split('?').next().unwrap_or("/");
        let fits = |cookie: &&Cookie| {
            cookie.domain.covers(&url.host)
                && path_covers(&cookie.path, path)
                && (!cookie.is_secure || url.scheme == Scheme::Https)
        };
        let mut cookies: Vec<&Cookie> = self.cookies.iter().filter(fits).collect();
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> =
            cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Domain {
    fn covers(&self, host: &str) -> bool {
        match self {
            Self::Host(own) => own == host,
            // RFC 6265 §5.1.3: nothing is below an address.
            Self::Below(own) => host.strip_suffix(own.as_str()).is_some_and(|rest| {
                rest.is_empty() || (rest.ends_with('.') && host.parse::<Ipv4Addr>().is_err())
            }),
        }
    }
}

/// Reads a cookie, and whether it lasts or deletes itself (RFC 6265 §5.2, §5.3).
fn read(url: &Url, text: &str) -> Option<(Cookie, bool)> {
    let mut parts = text.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_text = |byte: u8| byte >= b' ' && byte != 0x7f;
    if name.is_empty() || text.len() > LONGEST_COOKIE || !text.bytes().all(is_text) {
        return None;
    }
    let folder = url.path.split('?').next().unwrap_or("/");
    let folder = folder.rfind('/').filter(|&slash| slash > 0).map_or("/", |slash| &folder[..slash]);
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain: Domain::Host(url.host.clone()),
        path: folder.to_owned(),
        is_secure: false,
    };
    let (mut by_age, mut by_date) = (None, None);
    for attribute in parts {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            // What is no number, or no date, is ignored.
            "max-age" => by_age = lasts_for(value).or(by_age),
            "expires" => by_date = year_of(value).map(|year| year >= LONG_AGO).or(by_date),
            "domain" if !value.is_empty() => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                let below = Domain::Below(domain);
                if !below.covers(&url.host) {
                    return None;
                }
                cookie.domain = below;
            }
            _ => {}
        }
    }
    // RFC 6265 §5.3, step 3: Max-Age outranks Expires.
    let lasts = by_age.or(by_date).unwrap_or(true);
    (!cookie.is_secure || url.scheme == Scheme::Https).then_some((cookie, lasts))
}

/// Whether a Max-Age is more than nothing; None where it is no number (RFC 6265 §5.2.2).
fn lasts_for(value: &str) -> Option<bool> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits == value && digits.bytes().any(|digit| digit != b'0'))
}

/// The year of a date; None where the text is none. RFC 6265 §5.1.1: its parts may come in any order, with anything between them.
fn year_of(date: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let is_between = |c: char| (c.is_ascii_punctuation() && c != ':') || matches!(c, ' ' | '\t');
    let (mut has_time, mut day, mut has_month, mut year) = (false, None, false, None);
    for part in date.split(is_between) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number = part[..digits].parse::<u32>().ok();
        let month = part.get(..3).map(str::to_ascii_lowercase).unwrap_or_default();
        if !has_time && is_time(part) {
            has_time = true;
        } else if day.is_none() && (1..=2).contains(&digits) {
            day = number;
        } else if !has_month && MONTHS.contains(&month.as_str()) {
            has_month = true;
        } else if year.is_none() && (2..=4).contains(&digits) {
            year = number;
        }
    }
    let year = match year? {
        short @ 0..70 => 2000 + short,
        short @ 70..100 => 1900 + short,
        year => year,
    };
    let is_date = has_time && has_month && (1..=31).contains(&day?) && year >= 1601;
    is_date.then_some(year)
}

/// Whether it is hours, minutes and seconds.
fn is_time(text: &str) -> bool {
    let parts: Vec<Option<u32>> =
        text.split(':').map(|part| part.parse().ok().filter(|_| part.len() <= 2)).collect();
    matches!(parts[..], [Some(0..24), Some(0..60), Some(0..60)])
}

/// RFC 6265 §5.1.4.
fn path_covers(own: &str, path: &str) -> bool {
    path.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || own.ends_with('/') || rest.starts_with('/'))
}

/// Cookies that are kept (Chromium keeps 180 a site); the oldest goes first.
const MOST_COOKIES: usize = 180;

/// Bytes of a `Set-Cookie` field (Chromium, net/cookies/parsed_cookie.h).
const LONGEST_COOKIE: usize = 4_096;

/// Servers delete by a date in a year before this one: no clock is needed to tell.
const LONG_AGO: u32 = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn sent(set: &[&str], to: &str) -> Option<String> {
        let mut cookies = Cookies::new();
        for field in set {
            cookies.set(&url("https://www.a.test/shop/page?q"), field.as_bytes());
        }
        cookies.field(&url(to))
    }

    #[test]
    fn a_cookie_goes_back_to_where_it_belongs() {
        let casper = "h2o_casper=AbC; Path=/; Expires=Tue, 01 Jan 2030 00:00:00 GMT; Secure";
        for (set, to, expected) in [
            (casper, "https://www.a.test/x", Some("h2o_casper=AbC")),
            (casper, "http://www.a.test/x", None),
            (casper, "https://a.test/x", None),
            ("a=1", "https://www.a.test/shop/x", Some("a=1")),
            ("a=1", "https://www.a.test/shopping", None),
            ("a=1; domain=.A.test; path=/", "http://b.a.test/", Some("a=1")),
            ("a=1; domain=a.test; path=/", "http://ba.test/", None),
            ("a=1; domain=other.test", "https://other.test/", None),
            ("a=1; path=nothing", "https://www.a.test/shop", Some("a=1")),
            ("=1", "https://www.a.test/shop/", None),
            ("a", "https://www.a.test/shop/", None),
        ] {
            assert_eq!(sent(&[set], to).as_deref(), expected, "{set} to {to}");
        }
    }

    #[test]
    fn a_later_cookie_replaces_or_deletes_an_earlier_one() {
        let to = "https://www.a.test/shop/deep/x";
        let several = ["b=2; path=/", "a=1", "b=3; path=/", "c=4; path=/shop/deep"];
        assert_eq!(sent(&several, to).as_deref(), Some("c=4; a=1; b=3"));
        let replaced = ["a=1", "b=2", "a=3"];
        assert_eq!(sent(&replaced, to).as_deref(), Some("a=3; b=2"), "it keeps its place");
    }

    #[test]
    fn what_has_expired_is_deleted_and_what_is_no_time_is_ignored() {
        let to = "https://www.a.test/shop/deep/x";
        for (ends, is_deleted) in [
            ("max-age=0", true),
            ("max-age=-1", true),
            ("max-age=60", false),
            ("max-age=99999999999999999999", false),
            ("max-age=soon", false),
            ("max-age=", false),
            ("max-age=0; max-age=soon", true),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", true),
            ("Expires=Thu, 01-Jan-1970 00:00:00 GMT", true),
            ("Expires=Thu, 01-Jan-70 0:0:1 UTC", true),
            ("Expires=Thu Jan  1 00:00:00 1970", true),
            ("Expires=Fri, 31-Dec-2038 23:59:59 GMT", false),
            ("Expires=Fri, 31-Dec-38 23:59:59 GMT", false),
            ("Expires=0", false),
            ("Expires=01 Jan 1970", false),
            ("Expires=41 Jan 1970 00:00:00", false),
            ("Expires=01 Jan 1970 24:00:00", false),
            ("max-age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
            ("max-age=0; Expires=Fri, 31 Dec 2038 23:59:59 GMT", true),
            ("max-age=soon; Expires=Thu, 01 Jan 1970 00:00:00 GMT", true),
        ] {
            let left = sent(&["a=1", &format!("a=2; {ends}")], to);
            assert_eq!(left.is_none(), is_deleted, "{ends}: {left:?}");
        }
    }

    #[test]
    fn nothing_is_below_an_address() {
        let mut cookies = Cookies::new();
        cookies.set(&url("http://127.0.0.1/"), b"a=1; domain=0.0.1");
        cookies.set(&url("http://127.0.0.1/"), b"b=2; domain=127.0.0.1");
        assert_eq!(cookies.field(&url("http://127.0.0.1/")).as_deref(), Some("b=2"));
    }

    #[test]
    fn what_servers_set_is_bounded() {
        let mut cookies = Cookies::new();
        let from = url("http://a.test/");
        for n in 0..1_000 {
            cookies.set(&from, format!("c{n}=1").as_bytes());
        }
        assert_eq!(cookies.cookies.len(), MOST_COOKIES);
        let before = cookies.clone();
        cookies.set(&from, format!("long={}", "x".repeat(LONGEST_COOKIE)).as_bytes());
        cookies.set(&from, b"a=1\r\nb: c");
        cookies.set(&from, b"a=\xff");
        assert_eq!(cookies, before);
    }
}
