//! The header fields that a browser sends with a request, because their bytes cost time on a slow uplink. The values
//! are those of Chromium on Linux. The same set is sent in the clear and over TLS (a browser omits `sec-*` on http),
//! so that contenders differ in their transport alone.

use crate::FetchSpec;
use page::{Kind, Scheme, Url};
use proto::Fields;

/// Which fields go with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Chromium's, but with `accept-encoding: identity`, so that bodies have the size that was asked for.
    #[default]
    Chromium,
    /// Chromium's with its own `accept-encoding`. Servers may compress, and HTML is not scanned then.
    ChromiumCoded,
    /// Only those of the fetch itself.
    Bare,
}

impl Profile {
    /// The fields for a fetch of `url`, found on the page at `referrer`.
    pub(crate) fn fields(self, spec: &FetchSpec, url: &Url) -> Fields {
        let mut fields = Fields::new();
        let coding = match self {
            Self::Bare => return spec.fields.clone(),
            Self::Chromium => "identity",
            Self::ChromiumCoded => "gzip, deflate, br, zstd",
        };
        let mut push = |name: &str, value: &str| {
            // A field of the fetch itself replaces the profile's.
            if spec.fields.find(name.as_bytes()).is_none() {
                fields.push(name.as_bytes(), value.as_bytes());
            }
        };
        push("sec-ch-ua", r#""Chromium";v="140", "Not=A?Brand";v="24""#);
        push("sec-ch-ua-mobile", "?0");
        push("sec-ch-ua-platform", r#""Linux""#);
        let navigates = spec.kind == Kind::Document && spec.referrer.is_none();
        if navigates {
            push("upgrade-insecure-requests", "1");
        }
        push("user-agent", USER_AGENT);
        push("accept", accept(spec.kind));
        push("sec-fetch-site", site(spec.referrer.as_ref(), url));
        push("sec-fetch-mode", mode(spec.kind, spec.referrer.as_ref(), url));
        if navigates {
            push("sec-fetch-user", "?1");
        }
        push("sec-fetch-dest", destination(spec.kind));
        if let Some(referrer) = &spec.referrer {
            push("referer", &referer(referrer, url));
        }
        push("accept-encoding", coding);
        push("accept-language", "en-US,en;q=0.9");
        for field in spec.fields.iter() {
            fields.push_field(field);
        }
        fields
    }
}

const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                          Chrome/140.0.0.0 Safari/537.36";

fn accept(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => {
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,\
             image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
        }
        Kind::Stylesheet => "text/css,*/*;q=0.1",
        Kind::Image => "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
        Kind::Script | Kind::Font | Kind::Xhr | Kind::Media | Kind::Other => "*/*",
    }
}

/// The value of Sec-Fetch-Site (Fetch Metadata). Sites would need the public suffix list, so another host counts as
/// another site.
fn site(referrer: Option<&Url>, url: &Url) -> &'static str {
    match referrer {
        None => "none",
        Some(referrer) if same_origin(referrer, url) => "same-origin",
        Some(referrer) if referrer.host == url.host => "same-site",
        Some(_) => "cross-site",
    }
}

fn mode(kind: Kind, referrer: Option<&Url>, url: &Url) -> &'static str {
    match kind {
        Kind::Document => "navigate",
        Kind::Font => "cors",
        Kind::Xhr if referrer.is_some_and(|referrer| same_origin(referrer, url)) => "same-origin",
        Kind::Xhr => "cors",
        Kind::Stylesheet | Kind::Script | Kind::Image | Kind::Media | Kind::Other => "no-cors",
    }
}

fn destination(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "document",
        Kind::Stylesheet => "style",
        Kind::Script => "script",
        Kind::Image => "image",
        Kind::Font => "font",
        Kind::Media => "video",
        Kind::Xhr | Kind::Other => "empty",
    }
}

/// The default referrer policy, strict-origin-when-cross-origin.
fn referer(referrer: &Url, url: &Url) -> String {
    match same_origin(referrer, url) {
        true => referrer.to_string(),
        false => format!("{}://{}/", referrer.scheme, referrer.authority()),
    }
}

/// Whether two URLs have the same scheme, host and port.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    (one.scheme, &one.host, one.port()) == (other.scheme, &other.host, other.port())
}

/// The value of RFC 9218's `priority` field, without the parameters that have their default value.
pub(crate) fn priority_value(priority: page::Priority) -> Option<String> {
    let default = page::Priority::default();
    match (priority.urgency == default.urgency, priority.incremental) {
        (true, false) => None,
        (true, true) => Some("i".to_owned()),
        (false, false) => Some(format!("u={}", priority.urgency)),
        (false, true) => Some(format!("u={}, i", priority.urgency)),
    }
}

/// The scheme in the words of the protocols.
pub(crate) fn scheme(scheme: Scheme) -> proto::Scheme {
    match scheme {
        Scheme::Http => proto::Scheme::Http,
        Scheme::Https => proto::Scheme::Https,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(kind: Kind, referrer: Option<&str>) -> Fields {
        let url: Url = "https://a.example/img/1.png".parse().unwrap();
        let referrer = referrer.map(|text| text.parse().unwrap());
        let spec = FetchSpec { kind, referrer, ..FetchSpec::get(url.clone()) };
        Profile::Chromium.fields(&spec, &url)
    }

    #[test]
    fn requests_have_the_size_of_a_browsers() {
        // Chromium 140 without cookies: some 600 bytes a navigation, 550 an image, as HTTP/1.1 writes
        // them with request line and host.
        let bytes = |fields: Fields| -> usize {
            fields.iter().map(|field| field.name.len() + field.value.len() + 4).sum()
        };
        let navigation = bytes(fields(Kind::Document, None));
        let image = bytes(fields(Kind::Image, Some("https://a.example/")));
        assert!((520..620).contains(&navigation), "{navigation}");
        assert!((430..560).contains(&image), "{image}");
    }

    #[test]
    fn a_path_is_told_to_its_own_origin_only() {
        let own = fields(Kind::Image, Some("https://a.example/page?q=1"));
        assert_eq!(own.find_str("referer"), Some("https://a.example/page?q=1"));
        assert_eq!(own.find_str("sec-fetch-site"), Some("same-origin"));
        let other = fields(Kind::Image, Some("https://b.example/page?q=1"));
        assert_eq!(other.find_str("referer"), Some("https://b.example/"));
        assert_eq!(other.find_str("sec-fetch-site"), Some("cross-site"));
    }

    #[test]
    fn a_fetchs_own_field_replaces_the_profiles() {
        let url: Url = "http://a.example/".parse().unwrap();
        let spec = FetchSpec {
            fields: Fields::new().with("User-Agent", "mine"),
            ..FetchSpec::get(url.clone())
        };
        let fields = Profile::Chromium.fields(&spec, &url);
        assert_eq!(fields.all(b"user-agent").collect::<Vec<_>>(), [b"mine"]);
    }

    #[test]
    fn default_priorities_are_not_sent() {
        let value = |urgency, incremental| priority_value(page::Priority { urgency, incremental });
        assert_eq!(value(3, false), None);
        assert_eq!(value(3, true).as_deref(), Some("i"));
        assert_eq!(value(0, true).as_deref(), Some("u=0, i"));
        assert_eq!(value(1, false).as_deref(), Some("u=1"));
    }
}
