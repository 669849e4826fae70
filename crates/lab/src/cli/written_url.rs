//! URLs as people write them, perhaps without a scheme.

use page::{Url, UrlError};

/// A URL of the command line. What it means without a scheme depends on the flags beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenUrl {
    url: Url,
    /// The same as https, where no scheme was written. The port that goes without saying is another one then.
    secured: Option<Url>,
}

impl WrittenUrl {
    /// As curl does: without a scheme it is http.
    pub(crate) fn plain(&self) -> &Url {
        &self.url
    }

    /// For HTTP/3, which has no clear form (RFC 9114 §3.1): without a scheme it is https.
    pub(crate) fn over_http3(&self) -> &Url {
        self.secured.as_ref().unwrap_or(&self.url)
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parse = |text: &str| text.parse().map_err(|error: UrlError| error.to_string());
        if text.contains("://") {
            return Ok(Self { url: parse(text)?, secured: None });
        }
        let secured = Some(parse(&format!("https://{text}"))?);
        Ok(Self { url: parse(&format!("http://{text}"))?, secured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_scheme_it_is_http_and_over_http3_https() {
        for (text, plain, over_http3) in [
            ("h/a", "http://h/a", "https://h/a"),
            ("h:80/a", "http://h/a", "https://h:80/a"),
            ("h:443", "http://h:443/", "https://h/"),
            ("http://h/a", "http://h/a", "http://h/a"),
            ("https://h/a", "https://h/a", "https://h/a"),
        ] {
            let url = WrittenUrl::parse(text).unwrap();
            let both = (url.plain().to_string(), url.over_http3().to_string());
            assert_eq!(both, (plain.to_owned(), over_http3.to_owned()), "{text}");
        }
        assert!(WrittenUrl::parse("ftp://h/").is_err());
    }
}
