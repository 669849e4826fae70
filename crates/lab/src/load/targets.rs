//! The command line and its files as targets.

use crate::cli::{LoadArgs, parse_target};
use crate::console;
use crate::error::{self, CliError};
use bytes::Bytes;
use client::load::{Exchange, Target};
use page::Url;
use proto::{Fields, Method};
use std::path::Path;
use study::requests::{Request, RequestFile};

/// What is asked for: the URLs as the flags say, then the file's requests.
pub(crate) fn targets(args: &LoadArgs) -> Result<Vec<Target>, CliError> {
    let body = args.data.as_deref().map(data).transpose()?;
    let mut targets = Vec::new();
    for url in &args.urls {
        let (method, body) = (args.request.as_deref(), body.clone());
        let wish = Wish { url: args.url(url), is_web_socket: url.is_web_socket, method, body };
        targets.push(wish.target(&args.header, 1)?);
    }
    if let Some(file) = &args.requests_from {
        targets.extend(script(file, args)?);
    }
    let sockets = targets.iter().filter(|target| is_echo(target)).count();
    if sockets > 0 && sockets < targets.len() {
        return Err(CliError::misuse("requests and WebSockets are not made in one run")
            .remedy("run wirelap load for each, side by side where it has to be at a time"));
    }
    Ok(targets)
}

/// Its URL as it was written: a WebSocket's begins with ws or wss.
pub(crate) fn written_url(target: &Target) -> String {
    let url = target.url.to_string();
    if is_echo(target) { url.replacen("http", "ws", 1) } else { url }
}

/// Whether messages are sent there.
pub(crate) fn is_echo(target: &Target) -> bool {
    matches!(target.exchange, Exchange::Echo { .. })
}

fn script(file: &Path, args: &LoadArgs) -> Result<Vec<Target>, CliError> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| error::file(format!("reading {name}"), &error))?;
    let script: RequestFile =
        text.parse().map_err(|error| CliError::misuse(format!("{name}: {error}")))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let target = |request: &Request| {
        let Some(url) = &request.url else {
            return Err(CliError::misuse(format!("{name}: {} has no server", request.target()))
                .remedy("give a request of load a `url`; `path` alone is for races"));
        };
        request.check_fields().map_err(|error| CliError::misuse(format!("{name}: {error}")))?;
        if request.status.is_some() {
            console::note(&format!(
                "note: {name}: load does not look at `status`; it counts 400 and above as refused"
            ));
        }
        let body = match (&request.body, &request.body_file) {
            (Some(text), _) => Some(Bytes::from(text.clone())),
            (None, Some(file)) => Some(bytes(&folder.join(file))?),
            (None, None) => None,
        };
        let url = parse_target(url)
            .map_err(|error| CliError::misuse(format!("{name}: `{url}`: {error}")))?;
        let (is_web_socket, method) = (url.is_web_socket, request.method.as_deref());
        let wish = Wish { url: args.url(&url), is_web_socket, method, body };
        let own = request.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let fields: Vec<(String, String)> = args.header.iter().cloned().chain(own).collect();
        wish.target(&fields, request.weight)
    };
    script.requests.iter().map(target).collect()
}

struct Wish<'a> {
    url: &'a Url,
    is_web_socket: bool,
    method: Option<&'a str>,
    body: Option<Bytes>,
}

/// What a WebSocket says where nobody has said what.
const MESSAGE: &[u8] = b"wirelap says hello, and hears it";

impl Wish<'_> {
    fn target(self, header: &[(String, String)], weight: u32) -> Result<Target, CliError> {
        let mut fields = Fields::new();
        for (name, value) in header {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        for (name, value) in [("user-agent", crate::VERSION_FIELD), ("accept", "*/*")] {
            if fields.find_str(name).is_none() {
                fields.push(name.as_bytes(), value.as_bytes());
            }
        }
        let exchange = if self.is_web_socket {
            if self.method.is_some() {
                return Err(CliError::misuse("a WebSocket's message has no method"));
            }
            let message = self.body.unwrap_or(Bytes::from_static(MESSAGE));
            if std::str::from_utf8(&message).is_err() {
                return Err(CliError::misuse(
                    "a WebSocket's message is sent as text, which is UTF-8",
                ));
            }
            Exchange::Echo { fields, message }
        } else {
            let body = self.body.unwrap_or_default();
            let usual = if body.is_empty() { "GET" } else { "POST" };
            let method = self.method.unwrap_or(usual);
            let method = Method::parse(method.as_bytes())
                .filter(|method| *method != Method::Connect)
                .ok_or_else(|| CliError::misuse(format!("`{method}` is no method to ask with")))?;
            Exchange::Http { method, fields, body }
        };
        Ok(Target { url: self.url.clone(), exchange, weight })
    }
}

fn data(text: &str) -> Result<Bytes, CliError> {
    match text.strip_prefix('@') {
        Some(file) => bytes(Path::new(file)),
        None => Ok(Bytes::from(text.to_owned())),
    }
}

fn bytes(file: &Path) -> Result<Bytes, CliError> {
    std::fs::read(file)
        .map(Bytes::from)
        .map_err(|error| error::file(format!("reading {}", file.display()), &error))
}
