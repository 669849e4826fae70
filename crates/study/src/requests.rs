//! Requests of the user's own: the one format that `load --requests-from`, the experiment file's
//! `[[workloads.requests]]` and its `requests = "FILE"` share. Nothing here reads a file: a body may be named, and is then
//! the caller's to read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use unit::Seed;

/// A file of requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFile {
    /// The requests, which take turns by their weights.
    #[serde(rename = "request")]
    pub requests: Vec<Request>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Where to: http, https, and for `load` ws or wss. A race asks its contenders' servers, and takes the path alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Path and query, in place of a URL: in races.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// GET where none is given, or POST with a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Header fields of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its body, or a WebSocket's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The file that holds the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<PathBuf>,
    /// How often it is made beside others (default 1).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 10000))]
    pub weight: u32,
    /// The status that its answer must have (default: any from 200 to 299). `load` does not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 599))]
    pub status: Option<u16>,
}

fn one() -> u32 {
    1
}

fn is_one(weight: &u32) -> bool {
    *weight == 1
}

/// The most that weighs.
const HEAVIEST: u32 = 10_000;

impl std::str::FromStr for RequestFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.requests.is_empty() {
            return Err("there is no [[request]]".to_owned());
        }
        file.requests.iter().try_for_each(Request::check)?;
        Ok(file)
    }
}

impl Request {
    /// A GET of `path`.
    pub fn get(path: String) -> Self {
        Self {
            url: None,
            path: Some(path),
            method: None,
            headers: BTreeMap::new(),
            body: None,
            body_file: None,
            weight: 1,
            status: None,
        }
    }

    /// What is wrong with it, wherever it is used.
    pub fn check(&self) -> Result<(), String> {
        let name = self.place();
        if self.url.is_some() == self.path.is_some() {
            return Err(match &self.url {
                Some(url) => format!("{url} has a path beside its url: one of them is enough"),
                None => "a request needs `url` or `path`".to_owned(),
            });
        }
        if let Some(path) = &self.path
            && (!path.starts_with('/') || path.contains(|c: char| c.is_control() || c == ' '))
        {
            return Err(format!("`{path}` is no path such as \"/api/items?page=2\""));
        }
        if !(1..=HEAVIEST).contains(&self.weight) {
            return Err(format!("a weight is from 1 to {HEAVIEST}, not {}", self.weight));
        }
        if self.body.is_some() && self.body_file.is_some() {
            return Err(format!("{name} has both body and body_file"));
        }
        if let Some(method) = self.method.as_deref().filter(|method| !is_method(method)) {
            return Err(format!("`{method}` is no method to ask with"));
        }
        match self.status {
            Some(status) if !(200..=599).contains(&status) => {
                Err(format!("{name}: a final status is from 200 to 599, not {status}"))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with it in a race.
    pub fn check_for_race(&self) -> Result<(), String> {
        self.check()?;
        if let Some(url) = &self.url
            && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
        {
            return Err(format!("`{url}` is no http or https URL, and calls are made to no other"));
        }
        self.check_fields()
    }

    /// What is wrong with its fields: the client writes those itself that say where a message ends.
    pub fn check_fields(&self) -> Result<(), String> {
        let name = self.place();
        for (field, value) in &self.headers {
            if !is_token(field) || value.contains(['\r', '\n', '\0']) {
                return Err(format!("{name}: `{field}: {value}` is no header field"));
            }
            if FRAMING.iter().any(|own| field.eq_ignore_ascii_case(own)) {
                let hint = if field.eq_ignore_ascii_case("host") {
                    "; its URL, or the server's `name`, says it"
                } else {
                    ""
                };
                return Err(format!("{name}: the client writes the field `{field}` itself{hint}"));
            }
        }
        Ok(())
    }

    /// The method, as it is sent.
    pub fn method(&self) -> &str {
        let usual = if self.body.is_some() || self.body_file.is_some() { "POST" } else { "GET" };
        self.method.as_deref().unwrap_or(usual)
    }

    /// Whether the server's state stays as it was (RFC 9110 §9.2.1).
    pub fn is_safe(&self) -> bool {
        ["GET", "HEAD", "OPTIONS", "TRACE"].contains(&self.method())
    }

    /// Whether it says nothing that a plain GET does not.
    pub fn is_plain_get(&self) -> bool {
        self.method() == "GET"
            && self.headers.is_empty()
            && self.body.is_none()
            && self.body_file.is_none()
    }

    /// Path and query, from the slash on.
    pub fn target(&self) -> &str {
        let Some(url) = &self.url else { return self.path.as_deref().unwrap_or("/") };
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let rest = rest.split('#').next().unwrap_or_default();
        rest.find('/').map_or("/", |slash| &rest[slash..])
    }

    /// What it is called in messages.
    fn place(&self) -> &str {
        self.url.as_deref().or(self.path.as_deref()).unwrap_or("a request")
    }
}

/// The request that is made as the `nth`: drawn by weight from the seed and the number alone, so that all who share the
/// seed make the same requests in the same order. None where there are none.
pub fn drawn(requests: &[Request], seed: Seed, nth: u64) -> Option<&Request> {
    let whole: u32 = requests.iter().map(|request| request.weight).sum();
    let drawn = (seed.child("request").fraction(nth) * f64::from(whole)) as u32;
    let mut below = 0;
    let found = requests.iter().find(|request| {
        below += request.weight;
        drawn < below
    });
    found.or(requests.last())
}

/// Fields that belong to the connection and to the message's length.
const FRAMING: [&str; 7] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "keep-alive",
    "proxy-connection",
];

/// CONNECT asks for a tunnel.
fn is_method(text: &str) -> bool {
    is_token(text) && text != "CONNECT"
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: &str) -> Result<Request, String> {
        let file: RequestFile = format!("[[request]]\n{request}").parse()?;
        Ok(file.requests[0].clone())
    }

    #[test]
    fn a_file_is_read_and_its_mistakes_are_named() {
        let post = read("path = \"/orders?a=1\"\nbody = \"x\"\nstatus = 201\nweight = 3").unwrap();
        assert_eq!((post.method(), post.target(), post.status), ("POST", "/orders?a=1", Some(201)));
        assert!(!post.is_safe() && !post.is_plain_get());
        let get = read("url = \"https://shop.test/items?page=2#top\"").unwrap();
        assert_eq!((get.method(), get.target()), ("GET", "/items?page=2"));
        assert!(get.is_plain_get() && get.check_for_race().is_ok());
        assert_eq!(read("url = \"http://shop.test\"").unwrap().target(), "/");
        for (wrong, word) in [
            ("weight = 1", "needs `url` or `path`"),
            ("url = \"http://a/\"\npath = \"/b\"", "one of them is enough"),
            ("path = \"b\"", "no path"),
            ("path = \"/b c\"", "no path"),
            ("path = \"/\"\nmethod = \"G T\"", "no method"),
            ("path = \"/\"\nmethod = \"CONNECT\"", "no method"),
            ("path = \"/\"\nstatus = 100", "final status"),
            ("path = \"/\"\nbody = \"a\"\nbody_file = \"b\"", "both"),
            ("path = \"/\"\nstatsu = 200", "statsu"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(word), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_requests_of_a_file_keep_their_order_and_their_own_fields() {
        let text = "[[request]]\nurl = 'http://h/a'\nweight = 3\nheaders = { Accept = 'x' }\n\
                    [[request]]\nurl = 'http://h/b'\nmethod = 'PUT'\nbody = 'text'\n";
        let file: RequestFile = text.parse().unwrap();
        assert_eq!((file.requests[0].weight, file.requests[1].weight), (3, 1));
        assert_eq!(file.requests[0].headers["Accept"], "x");
        assert_eq!(file.requests[1].method(), "PUT");
        for wrong in [
            "",
            "request = []",
            "[[request]]\nurl = 'http://h/'\nweight = 0",
            "[[request]]\nurl = 'http://h/'\nwieght = 2",
            "[[request]]\nurl = 'http://h/'\nbody = 'a'\nbody_file = 'b'",
        ] {
            assert!(wrong.parse::<RequestFile>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_race_cannot_ask_is_refused() {
        for (wrong, word) in [
            ("url = \"ws://a/\"", "no http or https URL"),
            ("path = \"/\"\nheaders = { Host = \"a\" }", "server's `name`"),
            ("path = \"/\"\nheaders = { Content-Length = \"1\" }", "writes the field"),
            ("path = \"/\"\nheaders = { \"a b\" = \"1\" }", "no header field"),
        ] {
            let error = read(wrong).unwrap().check_for_race().unwrap_err();
            assert!(error.contains(word), "{wrong}: {error}");
        }
    }

    #[test]
    fn requests_are_drawn_by_weight_and_the_same_for_one_seed() {
        let weighted = |path: &str, weight| Request { weight, ..Request::get(path.to_owned()) };
        let requests = [weighted("/often", 9), weighted("/seldom", 1)];
        let draws = |seed| -> Vec<&str> {
            (0..1000).map(|nth| drawn(&requests, Seed(seed), nth).unwrap().target()).collect()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        let seldom = draws(1).iter().filter(|path| **path == "/seldom").count();
        assert!((70..130).contains(&seldom), "{seldom}");
        assert_eq!(drawn(&[], Seed(1), 0), None);
    }
}
