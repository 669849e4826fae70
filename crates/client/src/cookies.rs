//! Cookies (RFC 6265), as far as page loads need them: kept for a client's time, sent back to whom they are of. Expiry is
//! heeded where it deletes a cookie. The one rule: what servers set is bounded in number and length.

use page::{Scheme, Url};
use std::time::{Duration, UNIX_EPOCH};

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
        self.cookies.retain(|other| !same(other));
        if lasts {
            if self.cookies.len() == MOST_COOKIES {
                self.cookies.remove(0);
            }
            self.cookies.push(cookie);
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
            Self::Below(own) => host
                .strip_suffix(own.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
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
    let mut lasts = true;
    for attribute in parts {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            "max-age" => lasts = value.parse::<i64>().is_ok_and(|seconds| seconds > 0),
            // A date of long ago, by which servers delete: no clock is needed to tell.
            "expires" => {
                let end = httpdate::parse_http_date(value);
                lasts = end.map_or(lasts, |end| end > UNIX_EPOCH + LONG_AGO);
            }
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
    (!cookie.is_secure || url.scheme == Scheme::Https).then_some((cookie, lasts))
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

/// 2000-01-01.
const LONG_AGO: Duration = Duration::from_secs(946_684_800);

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
        for end in ["max-age=0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"] {
            assert_eq!(sent(&["a=1", &format!("a=; {end}")], to), None);
        }
        assert_eq!(sent(&["a=1; max-age=60"], to).as_deref(), Some("a=1"));
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
