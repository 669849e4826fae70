//! The bodies of a recorded site, as our origin sends them to a browser: with the names and the scheme that its hosts have in
//! the trial, and compressed where they were compressed.

use crate::inputs::{site, subjects};
use crate::trial::job::TrialOrder;
use crate::trial::outcome::failed;
use bytes::Bytes;
use flate2::{Compression, GzBuilder};
use origin::{Content, ReplayTally};
use page::{Method, Page, Resource, Scheme, Url};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use study::experiment::{Tls, WorkloadKind};
use study::outcome::Outcome;
use subject::ClientDeclaration;

/// What far needs of a recorded site.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FarSite {
    /// The page.
    pub(crate) page: Page,
    /// The folder of the bodies.
    pub(crate) bodies: PathBuf,
    /// The scheme that the trial has in place of the recorded ones.
    pub(crate) scheme: Scheme,
}

/// How a browser's requests found their answers, as rows have it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ReplayCounts {
    /// By their URLs.
    pub(crate) exact: u32,
    /// By the recorded query that is nearest to theirs.
    pub(crate) nearest: u32,
    /// Not at all.
    pub(crate) missed: u32,
    /// The first of those.
    pub(crate) named: Vec<String>,
    /// Answers with noise in place of a body that is not there.
    pub(crate) without_body: u32,
    /// Recorded WebSockets that nobody has opened.
    pub(crate) sockets_missed: u32,
}

impl From<ReplayTally> for ReplayCounts {
    fn from(tally: ReplayTally) -> Self {
        let ReplayTally { exact, nearest, missed, named, without_body, sockets_missed } = tally;
        Self { exact, nearest, missed, named, without_body, sockets_missed }
    }
}

impl ReplayCounts {
    /// The setting that names what nothing matched; None where all was matched.
    pub(crate) fn missed_in_words(&self) -> Option<(String, String)> {
        (self.missed > 0).then(|| (MISSED.to_owned(), self.named.join("; ")))
    }
}

/// The setting that names what nothing matched.
pub(crate) const MISSED: &str = "replay, not in the recording";

/// A recorded site that a browser loads.
#[derive(Debug, Clone)]
pub(crate) struct SiteReplay {
    /// What answers.
    pub(crate) far: FarSite,
    /// The time that the page sees, in milliseconds since 1970.
    pub(crate) epoch_ms: u64,
}

impl SiteReplay {
    /// That of a trial in which a browser loads a recorded site; else None.
    pub(crate) fn of(order: &TrialOrder) -> Result<Option<Self>, Outcome> {
        let cell = &order.plan.cell;
        let (WorkloadKind::Har(har), Some(client)) = (&cell.workload.kind, &cell.contender.client)
        else {
            return Ok(None);
        };
        let catalogue = subjects::of_run(&order.inputs).map_err(failed)?;
        if !catalogue.client(&client.name).is_some_and(ClientDeclaration::is_browser) {
            return Ok(None);
        }
        let file = order.inputs.join(&har.file);
        let recording = crate::inputs::har::read(&file, har).map_err(failed)?;
        let Some(folder) = file.parent().filter(|_| recording.is_site) else { return Ok(None) };
        let scheme = match cell.contender.tls {
            Tls::None => Scheme::Http,
            Tls::V1_2 | Tls::V1_3 => Scheme::Https,
        };
        let (page, bodies) = (recording.page, folder.join(site::BODIES));
        let far = FarSite { page, bodies, scheme };
        Ok(Some(Self { far, epoch_ms: recording.epoch_ms }))
    }

    /// What the browser is expected to ask for: each URL once, the navigation first. What a list of URLs cannot say, other
    /// methods and WebSockets, is left to the page.
    pub(crate) fn fetches(&self) -> Vec<(Url, u16)> {
        let mut known = BTreeSet::new();
        let mut fetches = Vec::new();
        for resource in self.far.page.resources() {
            let path = resource.recorded_path().to_owned();
            let url = Url { path, scheme: self.far.scheme, ..resource.url.clone() };
            let is_told = resource.method == Method::Get && !resource.is_web_socket();
            if is_told && known.insert(url.to_string()) {
                fetches.push((url, resource.status));
            }
        }
        fetches
    }
}

/// Bytes of one body that is read.
const LARGEST_BODY: u64 = 512 << 20;

/// The largest extra field of gzip (RFC 1952 §2.3.1.1): its length has two bytes.
const LARGEST_EXTRA: u64 = 65_535;

impl FarSite {
    /// The bodies by their files' names. Those that cannot be read are left out, and missed when they are asked for.
    pub(crate) fn contents(&self) -> HashMap<String, Content> {
        let authorities = self.authorities();
        let mut contents = HashMap::new();
        for resource in self.page.resources() {
            let Some(name) = &resource.answered.file else { continue };
            if contents.contains_key(name) {
                continue;
            }
            let Some(body) = read(&self.bodies.join(name)) else { continue };
            let body = match is_text(&resource.content_type) {
                true => rewrite(&body, self.scheme, &authorities),
                false => body,
            };
            contents.insert(name.clone(), content(body, resource));
        }
        contents
    }

    /// The page with the scheme of the trial in the fields that name it.
    pub(crate) fn page(&self) -> Page {
        let authorities = self.authorities();
        self.page.clone().with_fields(|value| {
            let rewritten = rewrite(value.as_bytes(), self.scheme, &authorities);
            String::from_utf8_lossy(&rewritten).into_owned()
        })
    }

    /// Whether it has WebSockets.
    pub(crate) fn has_web_sockets(&self) -> bool {
        self.page.resources().iter().any(Resource::is_web_socket)
    }

    /// The recorded hosts with their ports, the longest first: none is then taken for a part of another one.
    fn authorities(&self) -> Vec<String> {
        let all = self.page.resources().iter().map(|resource| resource.url.authority());
        let mut all: Vec<String> = all.collect();
        all.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        all.dedup();
        all
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let facts = path.symlink_metadata().ok()?;
    let is_fit = facts.is_file() && facts.len() <= LARGEST_BODY;
    is_fit.then(|| std::fs::read(path).ok())?
}

/// Whether a body may name hosts.
fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || ["javascript", "json", "xml"].iter().any(|word| media_type.contains(word))
}

/// Has every URL of a recorded host begin with `scheme`, those of WebSockets with its counterpart.
fn rewrite(body: &[u8], scheme: Scheme, authorities: &[String]) -> Vec<u8> {
    let pairs: [(&[u8], &[u8]); 2] = match scheme {
        Scheme::Https => [(b"http", b"https"), (b"ws", b"wss")],
        Scheme::Http => [(b"https", b"http"), (b"wss", b"ws")],
    };
    let mut rewritten = Vec::with_capacity(body.len());
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        let begins = at == 0 || !body[at - 1].is_ascii_alphanumeric();
        let found = pairs.iter().filter(|_| begins).find(|(from, _)| {
            rest.strip_prefix(*from).is_some_and(|rest| names_host(rest, authorities))
        });
        match found {
            Some((from, to)) => {
                rewritten.extend_from_slice(to);
                at += from.len();
            }
            None => {
                rewritten.push(body[at]);
                at += 1;
            }
        }
    }
    rewritten
}

/// Whether `rest`, which follows a scheme, is `://` and a recorded host, the slashes as they are or as JSON escapes them.
fn names_host(rest: &[u8], authorities: &[String]) -> bool {
    let Some(rest) = rest.strip_prefix(b"://").or_else(|| rest.strip_prefix(b":\\/\\/")) else {
        return false;
    };
    authorities.iter().any(|authority| {
        let rest = rest.strip_prefix(authority.as_bytes());
        // A longer name or another port is another host.
        let ends = |byte: &u8| !byte.is_ascii_alphanumeric() && !b".-_:".contains(byte);
        rest.is_some_and(|rest| rest.first().is_none_or(ends))
    })
}

/// A body as it is sent. What was compressed is compressed with gzip, and filled up to the recorded length.
fn content(body: Vec<u8>, resource: &Resource) -> Content {
    let recorded = resource.body.0;
    // Events are read as they come. What came after the load the origin leaves out.
    let is_stream = resource.answered.streamed.is_some();
    if is_stream || recorded >= body.len() as u64 || body.is_empty() {
        return Content { bytes: body.into(), coding: None };
    }
    let bare = gzip(&body, 0).unwrap_or_default();
    // The extra field has two bytes of its own for its length.
    let room = recorded.saturating_sub(bare.len() as u64 + 2).min(LARGEST_EXTRA);
    let coded = match room {
        0 => bare,
        room => gzip(&body, room as usize).unwrap_or(bare),
    };
    Content { bytes: Bytes::from(coded), coding: Some("gzip") }
}

fn gzip(body: &[u8], extra: usize) -> std::io::Result<Vec<u8>> {
    let builder = GzBuilder::new();
    let builder = if extra > 0 { builder.extra(vec![0; extra]) } else { builder };
    let mut encoder = builder.write(Vec::new(), Compression::best());
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn urls_of_recorded_hosts_get_the_scheme_of_the_trial_and_others_stay() {
        let authorities = ["a.test:8080".to_owned(), "a.test".to_owned()];
        let secure = |text: &str| {
            String::from_utf8(rewrite(text.as_bytes(), Scheme::Https, &authorities)).unwrap()
        };
        for (text, expected) in [
            ("x http://a.test/y", "x https://a.test/y"),
            ("'http://a.test:8080'", "'https://a.test:8080'"),
            ("ws://a.test/chat", "wss://a.test/chat"),
            (r#""http:\/\/a.test\/y""#, r#""https:\/\/a.test\/y""#),
            ("https://a.test/", "https://a.test/"),
            ("http://a.test.evil/", "http://a.test.evil/"),
            ("http://a.test:80801/", "http://a.test:80801/"),
            ("http://b.test/", "http://b.test/"),
            ("xhttp://a.test/", "xhttp://a.test/"),
            ("http", "http"),
        ] {
            assert_eq!(secure(text), expected, "{text}");
        }
        let clear = rewrite(b"https://a.test/ wss://a.test/", Scheme::Http, &authorities);
        assert_eq!(clear, b"http://a.test/ ws://a.test/");
    }

    #[test]
    fn what_was_compressed_has_its_recorded_length_and_its_own_bytes() {
        let body = b"some words that come again and again. ".repeat(100);
        let resource = |bytes: u64| -> Resource {
            serde_json::from_value(serde_json::json!({
                "url": {"scheme": "http", "host": "a", "path": "/"}, "kind": "document", "content_type": "text/html",
                "body": bytes, "server_time": 0, "release": "navigation", "think": 0, "hint": "none",
            }))
            .unwrap()
        };
        let coded = content(body.clone(), &resource(900));
        assert_eq!((coded.bytes.len(), coded.coding), (900, Some("gzip")));
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&coded.bytes[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, body);
        // No coding of ours makes it that small.
        assert!(content(body.clone(), &resource(20)).bytes.len() > 20);
        let whole = content(body.clone(), &resource(body.len() as u64));
        assert_eq!((whole.bytes.len(), whole.coding), (body.len(), None));
        let mut stream = resource(900);
        stream.answered.streamed = Some(std::time::Duration::from_secs(1));
        let events = content(body.clone(), &stream);
        assert_eq!((events.bytes.len(), events.coding), (body.len(), None));
    }
}
