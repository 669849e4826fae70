//! What documents load: read from their own HTML, as a server knows a page that it has sent before. The one rule: only what
//! this origin itself says is learned. A `Referer` is anybody's word, and one client's would decide what another is pushed.

use crate::answer::Plan;
use crate::body::Body;
use crate::delivery::blocks_rendering;
use crate::media_type::essence;
use crate::policy::{Assets, Blocks, Link};
use crate::site::host_of;
use page::{CrossOrigin, FetchMode, Found, Kind, Purpose, Scanner, Table, Url};
use proto::{Allowance, Meter, RequestHead, Status};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use unit::Instant;

/// What the documents of an origin load.
#[derive(Debug)]
pub(crate) struct PageAssets {
    keeps: Keeps,
    /// By host and path.
    pages: HashMap<Box<str>, Known>,
    /// Assets of all of them.
    kept: usize,
    /// Hashes of the documents without a script, by which these are not read again; where nothing else is remembered.
    plain: HashSet<u64>,
    /// The scripts and style sheets that they have elements for, by URL.
    elements: HashMap<Box<str>, Uses>,
    /// Bytes of new documents that may be read.
    reading: Meter,
}

/// What of a document is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keeps {
    /// All that it loads.
    #[default]
    All,
    /// Scripts and style sheets: who waits for which decides the order, and nothing else is done with what is learned.
    Ordered,
}

/// How many elements of documents wait for a script or a style sheet, and how many do not.
#[derive(Debug, Default)]
struct Uses {
    /// Classic scripts without `async` and `defer`; style sheets for screens.
    blocking: usize,
    /// All others.
    free: usize,
}

/// A document that was read.
#[derive(Debug)]
struct Known {
    /// Its validator: another one is another document.
    etag: Box<[u8]>,
    assets: Rc<[Asset]>,
}

/// Something that a document loads.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its path and query; None on another origin.
    pub(crate) path: Option<Box<str>>,
    /// The preload link for it, as it goes into a 103. It has no `nopush`: Chromium 156 was seen to ignore hints that have it.
    /// None where no link fetches as the element does.
    pub(crate) hint: Option<Link>,
    blocks: Blocks,
    /// The URL and what waits for it, where it is a script or a style sheet that has an element of its own.
    element: Option<(Box<str>, Blocks)>,
}

impl Asset {
    /// Whether it is one of these.
    pub(crate) fn is_among(&self, assets: Assets) -> bool {
        assets.has(self.blocks)
    }

    /// The preload link for the final answer. It pushes nothing.
    pub(crate) fn link(&self) -> Option<String> {
        self.hint.as_ref().map(|hint| format!("{hint}; nopush"))
    }

    fn new(document: &Url, url: &Url, need: Need<'_>) -> Option<Self> {
        let is_own =
            (url.scheme, &url.host, url.port) == (document.scheme, &document.host, document.port);
        let target = if is_own { url.path.clone() } else { url.to_string() };
        if target.len() > LONGEST || !need.is_fetched_ahead() {
            return None;
        }
        let hint = need.link(&target);
        let path = is_own.then(|| target.into());
        Some(Self { path, hint, blocks: need.blocks, element: None })
    }
}

/// What a document needs, without its URL.
#[derive(Debug, Clone, Copy)]
struct Need<'a> {
    kind: Kind,
    blocks: Blocks,
    mode: &'a FetchMode,
}

impl Need<'_> {
    fn is_fetched_ahead(&self) -> bool {
        matches!(self.kind, Kind::Stylesheet | Kind::Script | Kind::Font | Kind::Image)
    }

    /// The link that has a browser fetch it ahead, in the element's own mode: in another one it would be fetched twice.
    /// None where a link cannot say it.
    fn link(&self, target: &str) -> Option<Link> {
        let Self { kind, mode, .. } = *self;
        let rel = match kind {
            Kind::Script if mode.purpose.is_module() => "modulepreload; as=script",
            Kind::Stylesheet => "preload; as=style",
            Kind::Script => "preload; as=script",
            Kind::Font => "preload; as=font",
            Kind::Image => "preload; as=image",
            Kind::Document | Kind::Xhr | Kind::Media | Kind::Other => return None,
        };
        let cross_origin = match (kind, mode.cross_origin) {
            // Whatever a preload of it says: CSS fetches fonts so (CSS Fonts 4 §4.8.2).
            (Kind::Font, _) | (_, CrossOrigin::Anonymous) => "; crossorigin",
            (_, CrossOrigin::UseCredentials) => "; crossorigin=use-credentials",
            (_, CrossOrigin::NoCors) => "",
        };
        let integrity = match mode.integrity.as_deref() {
            // It would end the quoted string (RFC 9110 §5.6.4). No digest has these.
            Some(text) if text.contains(['"', '\\']) || text.len() > LONGEST => return None,
            Some(text) => format!("; integrity=\"{text}\""),
            None => String::new(),
        };
        format!("<{target}>; rel={rel}{cross_origin}{integrity}").parse().ok()
    }
}

impl PageAssets {
    pub(crate) fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            pages: HashMap::new(),
            kept: 0,
            plain: HashSet::new(),
            elements: HashMap::new(),
            reading: Meter::new(READING),
        }
    }

    /// What the document of this request loads, in its order; nothing where the response is no HTML.
    /// Documents that are new faster than [`READING`] allows are not read: a peer that asks for another one
    /// each time and resets the request would have a server do nothing else.
    pub(crate) fn of(
        &mut self,
        now: Instant,
        request: &RequestHead,
        plan: &Plan,
        table: Option<&Table>,
    ) -> Rc<[Asset]> {
        let (status, fields) = match plan {
            Plan::Answer(answer) => (answer.status, &answer.fields),
            Plan::Cached(cached) => (cached.status(), cached.fields()),
            _ => return Rc::default(),
        };
        let media_type = fields.find_str("content-type").unwrap_or_default();
        if status != Status::OK || !is_html(media_type) {
            return Rc::default();
        }
        let name = name(request);
        let etag = fields.find(b"etag").unwrap_or_default();
        if let Some(known) = self.pages.get(name.as_str())
            && *known.etag == *etag
        {
            return Rc::clone(&known.assets);
        }
        let plain = (self.keeps == Keeps::Ordered).then(|| hash(&name, etag));
        if plain.is_some_and(|plain| self.plain.contains(&plain)) {
            self.forget(&name);
            return Rc::default();
        }
        let recorded = table.map(|table| recorded(request, table)).filter(|all| !all.is_empty());
        let assets: Rc<[Asset]> = match recorded {
            Some(recorded) => recorded.into(),
            None => {
                let bytes = of_body(plan, Body::left).unwrap_or_default().min(MOST_HTML as u64);
                if !self.reading.try_spend(now, bytes as u32) {
                    return Rc::default();
                }
                let html = of_body(plan, |body| body.first(MOST_HTML)).unwrap_or_default();
                scanned(request, &html, self.keeps).into()
            }
        };
        if let Some(plain) = plain.filter(|_| assets.is_empty()) {
            if self.plain.len() >= MOST_PAGES {
                self.plain.clear();
            }
            self.plain.insert(plain);
            self.forget(&name);
            return assets;
        }
        self.keep(name, Known { etag: etag.into(), assets: Rc::clone(&assets) });
        assets
    }

    fn keep(&mut self, name: String, known: Known) {
        if name.len() > LONGEST || known.etag.len() > LONGEST {
            return;
        }
        // A full list is emptied: what is asked for often comes back with its next request.
        if self.pages.len() >= MOST_PAGES || self.kept + known.assets.len() > MOST_KEPT {
            let reading = std::mem::replace(&mut self.reading, Meter::new(READING));
            *self = Self { reading, ..Self::new(self.keeps) };
        }
        self.forget(&name);
        self.kept += known.assets.len();
        for (url, blocks) in known.elements() {
            *self.elements.entry(url.clone()).or_default().of(*blocks) += 1;
        }
        self.pages.insert(name.into(), known);
    }

    /// What was known of a document before it changed.
    fn forget(&mut self, name: &str) {
        let Some(earlier) = self.pages.remove(name) else { return };
        self.kept -= earlier.assets.len();
        for (url, blocks) in earlier.elements() {
            let Some(uses) = self.elements.get_mut(url) else { continue };
            *uses.of(*blocks) -= 1;
            if uses.blocking + uses.free == 0 {
                self.elements.remove(url);
            }
        }
    }

    /// Whether this script or style sheet is in documents, and none of them waits for it: the script is `async`, `defer` or a module, the
    /// style sheet for print.
    pub(crate) fn is_free(&self, request: &RequestHead) -> bool {
        let uses = || self.elements.get(url_of(request)?.to_string().as_str());
        !self.elements.is_empty() && uses().is_some_and(|uses| uses.blocking == 0)
    }

    /// What a document loads that was asked about before.
    pub(crate) fn known(&self, request: &RequestHead) -> Option<Rc<[Asset]>> {
        self.pages.get(name(request).as_str()).map(|known| Rc::clone(&known.assets))
    }
}

impl Known {
    fn elements(&self) -> impl Iterator<Item = &(Box<str>, Blocks)> {
        self.assets.iter().filter_map(|asset| asset.element.as_ref())
    }
}

impl Uses {
    fn of(&mut self, blocks: Blocks) -> &mut usize {
        match blocks {
            Blocks::Rendering => &mut self.blocking,
            Blocks::Nothing => &mut self.free,
        }
    }
}

/// Whether a media type is that of a document.
pub(crate) fn is_html(media_type: &str) -> bool {
    essence(media_type).eq_ignore_ascii_case("text/html")
}

fn hash(name: &str, etag: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, etag).hash(&mut hasher);
    hasher.finish()
}

fn name(request: &RequestHead) -> String {
    format!("{}{}", request.authority, request.path)
}

/// What `look` finds in the body of a response.
fn of_body<T>(plan: &Plan, look: impl FnOnce(&Body) -> T) -> Option<T> {
    match plan {
        Plan::Answer(answer) => Some(look(&answer.body)),
        Plan::Cached(cached) => Some(look(&cached.body())),
        _ => None,
    }
}

/// What the HTML names.
fn scanned(request: &RequestHead, html: &[u8], keeps: Keeps) -> Vec<Asset> {
    let Some(document) = url_of(request) else { return Vec::new() };
    let mut scanner = Scanner::new();
    let found = scanner.feed(html);
    let base = scanner.base().and_then(|base| document.join(base).ok());
    let base = base.as_ref().unwrap_or(&document);
    let asset = |found: &Found| {
        let url = base.join(&found.reference).ok()?;
        let blocks = blocks(found);
        let need = Need { kind: found.kind, blocks, mode: &found.mode };
        let asset = Asset::new(&document, &url, need)?;
        // What a preload is for says the element that comes later.
        let is_element = is_ordered(found.kind) && found.mode.purpose != Purpose::Preload;
        let element = is_element.then(|| (url.to_string().into(), blocks));
        Some(Asset { element, ..asset })
    };
    let is_kept = |found: &&Found| keeps == Keeps::All || is_ordered(found.kind);
    found.iter().filter(is_kept).filter_map(asset).take(MOST_ASSETS).collect()
}

/// Whether what waits for such a resource decides when it goes.
fn is_ordered(kind: Kind) -> bool {
    matches!(kind, Kind::Script | Kind::Stylesheet)
}

/// What a recording says that was loaded by GET from the document's host. It has no HTML; its order is that of the paths.
fn recorded(request: &RequestHead, table: &Table) -> Vec<Asset> {
    let Some(document) = url_of(request) else { return Vec::new() };
    let host = host_of(&request.authority).to_ascii_lowercase();
    let own = table.iter().filter(|(name, path, answer)| {
        let is_found = answer.gets > 0 && answer.status == Status::OK.code();
        *name == host && *path != request.path && is_found
    });
    // A recording does not have the elements.
    let mode = FetchMode::default();
    let asset = |(_, path, answer): (&str, &str, &page::Answer)| {
        let essence = essence(&answer.content_type);
        let blocks = match blocks_rendering(essence) {
            true => Blocks::Rendering,
            false => Blocks::Nothing,
        };
        let kind = match (blocks, essence) {
            (Blocks::Rendering, "text/css") => Kind::Stylesheet,
            (Blocks::Rendering, font) if font.starts_with("font/") => Kind::Font,
            (Blocks::Rendering, _) => Kind::Script,
            (Blocks::Nothing, image) if image.starts_with("image/") => Kind::Image,
            (Blocks::Nothing, _) => return None,
        };
        let need = Need { kind, blocks, mode: &mode };
        Asset::new(&document, &document.join(path).ok()?, need)
    };
    own.filter_map(asset).take(MOST_ASSETS).collect()
}

fn url_of(request: &RequestHead) -> Option<Url> {
    format!("{}://{}{}", request.scheme.as_str(), request.authority, request.path).parse().ok()
}

/// What waits for it. Of what is preloaded the element that uses it is not known yet: it is taken for one that blocks.
fn blocks(found: &Found) -> Blocks {
    let is_preload = found.mode.purpose == Purpose::Preload;
    let blocks = match found.kind {
        Kind::Font => true,
        Kind::Stylesheet => found.blocks == page::Blocks::Painting || is_preload,
        Kind::Script => found.blocks == page::Blocks::Parsing || is_preload,
        _ => false,
    };
    if blocks { Blocks::Rendering } else { Blocks::Nothing }
}

/// Documents that are remembered.
const MOST_PAGES: usize = 256;

/// Assets of one document that are remembered.
const MOST_ASSETS: usize = 128;

/// Assets of all documents that are remembered.
const MOST_KEPT: usize = 4_096;

/// Bytes of a document that are read.
const MOST_HTML: usize = 128 * 1024;

/// Bytes of new documents that are read at once, and in a second after that: 64 documents and 32, some 50 ms and 25.
const READING: Allowance = Allowance { burst: 8 * 1024 * 1024, per_second: 4 * 1024 * 1024 };

/// Bytes of the longest host and path, validator, URL or `integrity` that is remembered.
const LONGEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use proto::{Fields, Scheme};
    use std::time::Duration;

    #[test]
    fn a_style_sheet_for_print_alone_is_waited_for_by_nobody() {
        let is_free = |html: &'static str| {
            let mut pages = PageAssets::new(Keeps::Ordered);
            let document = RequestHead::get(Scheme::Https, "a.test", "/");
            let fields = Fields::new().with("content-type", "text/html").with("etag", "1");
            let answer = Answer::new(Status::OK, fields, Body::Bytes(html.into()));
            pages.of(Instant::ZERO, &document, &Plan::Answer(answer), None);
            pages.is_free(&RequestHead::get(Scheme::Https, "a.test", "/a.css"))
        };
        assert!(is_free("<link rel=stylesheet media=print href=/a.css>"));
        assert!(!is_free("<link rel=stylesheet href=/a.css>"));
        assert!(!is_free(
            "<link rel=stylesheet media=print href=/a.css><link rel=stylesheet href=a.css>"
        ));
        assert!(!is_free("<link rel=stylesheet media=print href=/b.css>"));
    }

    #[test]
    fn of_a_document_that_changed_the_latest_says_which_scripts_it_waits_for() {
        for keeps in [Keeps::Ordered, Keeps::All] {
            let mut pages = PageAssets::new(keeps);
            let document = RequestHead::get(Scheme::Https, "a.test", "/");
            let script = RequestHead::get(Scheme::Https, "a.test", "/a.js");
            let mut is_free = |etag: &str, html: &'static str| {
                let fields = Fields::new().with("content-type", "text/html").with("etag", etag);
                let answer = Answer::new(Status::OK, fields, Body::Bytes(html.into()));
                pages.of(Instant::ZERO, &document, &Plan::Answer(answer), None);
                pages.is_free(&script)
            };
            let waits = "<script src=/a.js></script><img src=/a.png>";
            assert!(!is_free("1", waits));
            assert!(
                !is_free("1", "<script async src=/a.js></script>"),
                "the same is not read again"
            );
            assert!(is_free("2", "<script type=module src=/a.js></script>"));
            assert!(is_free(
                "3",
                "<link rel=preload as=script href=/a.js><script defer src=a.js></script>"
            ));
            assert!(!is_free("4", "<link rel=modulepreload href=/b.js>"), "it names it no more");
            assert!(!is_free("5", "<p>plain</p>"));
            assert!(!is_free("5", waits), "the same is not read again");
            assert!(is_free("6", "<script async fetchpriority=high src=/a.js></script>"));
            assert!(!is_free("5", "<p>plain</p>"), "as it was");
        }
    }

    #[test]
    fn a_link_fetches_as_its_element_does() {
        let document = RequestHead::get(Scheme::Https, "a.test", "/");
        for (html, link) in [
            ("<link rel=stylesheet href=a.css>", "</a.css>; rel=preload; as=style"),
            (
                "<link rel=stylesheet href=a.css crossorigin integrity=sha256-AA=>",
                "</a.css>; rel=preload; as=style; crossorigin; integrity=\"sha256-AA=\"",
            ),
            (
                "<script src=//b.test/a.js crossorigin=use-credentials>",
                "<https://b.test/a.js>; rel=preload; as=script; crossorigin=use-credentials",
            ),
            ("<script type=module src=a.js>", "</a.js>; rel=modulepreload; as=script"),
            ("<link rel=modulepreload href=a.js>", "</a.js>; rel=modulepreload; as=script"),
            (
                "<script type=module crossorigin=use-credentials src=a.js>",
                "</a.js>; rel=modulepreload; as=script; crossorigin=use-credentials",
            ),
            ("<img src=a.png crossorigin>", "</a.png>; rel=preload; as=image; crossorigin"),
            (
                "<link rel=preload as=font href=a.woff2>",
                "</a.woff2>; rel=preload; as=font; crossorigin",
            ),
            // What no link can say.
            ("<script src=a.js integrity='x\"; nopush; y=\"'>", ""),
            ("<script src=a.js integrity=\u{e9}>", ""),
        ] {
            let [asset] = &scanned(&document, html.as_bytes(), Keeps::All)[..] else {
                panic!("{html}")
            };
            assert_eq!(asset.hint.as_ref().map_or("", Link::as_str), link, "{html}");
            assert!(asset.path.is_some() || html.contains("b.test"), "it can still be pushed");
        }
    }

    #[test]
    fn rendering_waits_for_style_sheets_that_are_for_screens_and_for_scripts_that_stop_the_parser()
    {
        let document = RequestHead::get(Scheme::Https, "a.test", "/");
        for (html, blocks) in [
            ("<link rel=stylesheet href=a.css>", Blocks::Rendering),
            ("<link rel=stylesheet media=print href=a.css>", Blocks::Nothing),
            ("<link rel=preload as=style href=a.css>", Blocks::Rendering),
            ("<link rel=preload as=style fetchpriority=high href=a.css>", Blocks::Rendering),
            ("<script src=a.js>", Blocks::Rendering),
            ("<script async src=a.js>", Blocks::Nothing),
            ("<script type=module src=a.js>", Blocks::Nothing),
            ("<link rel=preload as=script fetchpriority=low href=a.js>", Blocks::Rendering),
            ("<link rel=modulepreload href=a.js>", Blocks::Nothing),
            ("<link rel=preload as=font href=a.woff2>", Blocks::Rendering),
            ("<img src=a.png>", Blocks::Nothing),
        ] {
            let assets = scanned(&document, html.as_bytes(), Keeps::All);
            assert_eq!(assets[0].blocks, blocks, "{html}");
        }
    }

    #[test]
    fn of_a_recorded_page_is_learned_what_a_get_asks_for() {
        let resource = |method: &str, path: &str, status: u16| {
            serde_json::json!({"url": {"scheme": "https", "host": "a.test", "path": path}, "kind": "script",
                "method": method, "status": status, "content_type": "text/javascript", "body": 10,
                "server_time": 0, "release": "navigation", "think": 0, "hint": "none"})
        };
        let resources = serde_json::json!([
            resource("GET", "/", 200),
            resource("GET", "/app.js", 200),
            resource("POST", "/api", 200),
            resource("HEAD", "/app.js?wirelap-repeat=2", 200),
            resource("GET", "/gone.js", 404),
            resource("GET", "/api?wirelap-repeat=2", 200),
        ]);
        let resources = serde_json::from_value(resources).unwrap();
        let table = page::Page::new(page::ResourceId(0), resources).unwrap().table();
        let found = recorded(&RequestHead::get(Scheme::Https, "a.test", "/"), &table);
        let paths: Vec<_> = found.iter().map(|asset| asset.path.as_deref().unwrap()).collect();
        assert_eq!(paths, ["/api?wirelap-repeat=2", "/app.js"], "in the order of the paths");
    }

    #[test]
    fn documents_that_are_new_all_the_time_are_read_as_fast_as_is_allowed() {
        let mut pages = PageAssets::new(Keeps::All);
        let html = format!("<img src=a.png>{}", " ".repeat(2 * MOST_HTML));
        let mut number = 0;
        let mut read = |now: Instant| {
            let known = (0..200).filter(|_| {
                number += 1;
                let document = RequestHead::get(Scheme::Https, "a.test", format!("/?{number}"));
                let fields = Fields::new().with("content-type", "text/html");
                let body = Body::Bytes(html.clone().into());
                let plan = Plan::Answer(Answer::new(Status::OK, fields, body));
                !pages.of(now, &document, &plan, None).is_empty()
            });
            known.count()
        };
        let start = Instant::from_nanos(1_000_000_000);
        assert_eq!((read(start), read(start)), (64, 0));
        assert_eq!(read(start + Duration::from_secs(1)), 32);
        assert_eq!(read(start + Duration::from_secs(60)), 64);
    }
}
