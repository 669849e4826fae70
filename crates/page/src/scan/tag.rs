//! A start tag: its attributes, and what it makes a browser fetch. Nothing here knows how the tag arrived.

use super::entity::decode_entities;
use super::mode::{CrossOrigin, FetchMode, Purpose};
use crate::priority::Hint;
use crate::resource::{Blocks, Kind};

/// A start tag, read whole.
pub(super) struct Tag {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    pub(super) fn read(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let name_end = text.find(|c: char| c.is_ascii_whitespace() || c == '/');
        let (name, rest) = text.split_at(name_end.unwrap_or(text.len()));
        Self { name: name.to_ascii_lowercase(), attributes: read_attributes(rest) }
    }

    /// The first attribute with a name counts (HTML §13.2.5.33).
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let (_, value) = self.attributes.iter().find(|(own, _)| own == name)?;
        Some(decode_entities(value))
    }

    fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(own, _)| own == name)
    }

    /// What the tag makes a browser fetch.
    pub(super) fn need(&self) -> Option<(Kind, String)> {
        match self.name.as_str() {
            "img" => Some((Kind::Image, self.attribute("src")?)),
            "input" if self.says("type", "image") => Some((Kind::Image, self.attribute("src")?)),
            "script" if !self.has("nomodule") && self.is_javascript() => {
                Some((Kind::Script, self.attribute("src")?))
            }
            "link" => Some((self.link_kind()?, self.attribute("href")?)),
            _ => None,
        }
    }

    fn link_kind(&self) -> Option<Kind> {
        let has = |token: &str| self.has_rel(token);
        match () {
            () if self.is_style_sheet() => Some(Kind::Stylesheet),
            () if has("modulepreload") => Some(Kind::Script),
            () if has("preload") => {
                match self.attribute("as")?.trim().to_ascii_lowercase().as_str() {
                    "style" => Some(Kind::Stylesheet),
                    "script" => Some(Kind::Script),
                    "font" => Some(Kind::Font),
                    "image" => Some(Kind::Image),
                    "fetch" => Some(Kind::Xhr),
                    "audio" | "video" | "track" => Some(Kind::Media),
                    _ => None,
                }
            }
            () => None,
        }
    }

    fn is_javascript(&self) -> bool {
        let kind = self.attribute("type").unwrap_or_default().trim().to_ascii_lowercase();
        kind.is_empty()
            || kind == "module"
            || kind.contains("javascript")
            || kind.contains("ecmascript")
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.attribute(name).is_some_and(|own| own.trim().eq_ignore_ascii_case(value))
    }

    /// What of the document waits for it. A preload blocks nothing, and neither does a style sheet for another medium
    /// (HTML §4.6.7.9).
    pub(super) fn blocks(&self) -> Blocks {
        match self.name.as_str() {
            "script" if self.has("async") => Blocks::Nothing,
            "script" if self.is_deferred() => Blocks::DomContentLoaded,
            "script" => Blocks::Parsing,
            "link" if self.has_rel("stylesheet") && self.is_for_screens() => Blocks::Painting,
            _ => Blocks::Nothing,
        }
    }

    /// How it is fetched. `<input type=image>` has no `crossorigin`, and images have no `integrity`.
    pub(super) fn mode(&self) -> FetchMode {
        let cross_origin = match self.attribute("crossorigin").filter(|_| self.name != "input") {
            None => CrossOrigin::NoCors,
            Some(state) if state.eq_ignore_ascii_case("use-credentials") => {
                CrossOrigin::UseCredentials
            }
            Some(_) => CrossOrigin::Anonymous,
        };
        let has_integrity = matches!(self.name.as_str(), "link" | "script");
        let integrity = self.attribute("integrity").filter(|_| has_integrity);
        let integrity =
            integrity.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        FetchMode { cross_origin, integrity, purpose: self.purpose() }
    }

    fn purpose(&self) -> Purpose {
        match self.name.as_str() {
            "script" if self.says("type", "module") => Purpose::UseAsModule,
            "link" if self.is_style_sheet() => Purpose::Use,
            "link" if self.has_rel("modulepreload") => Purpose::ModulePreload,
            "link" => Purpose::Preload,
            _ => Purpose::Use,
        }
    }

    /// What an image covers by its own attributes, in CSS pixels.
    pub(super) fn pixels(&self) -> Option<u32> {
        let side = |name: &str| self.attribute(name)?.trim().parse::<u32>().ok();
        side("width")?.checked_mul(side("height")?)
    }

    fn is_deferred(&self) -> bool {
        self.has("defer") || self.says("type", "module")
    }

    fn has_rel(&self, token: &str) -> bool {
        let rel = self.attribute("rel").unwrap_or_default().to_ascii_lowercase();
        rel.split_ascii_whitespace().any(|own| own == token)
    }

    fn is_style_sheet(&self) -> bool {
        self.has_rel("stylesheet") && !self.has_rel("alternate") && !self.has("disabled")
    }

    fn is_for_screens(&self) -> bool {
        let media = self.attribute("media").unwrap_or_default().trim().to_ascii_lowercase();
        !media.starts_with("print")
    }

    pub(super) fn hint(&self) -> Hint {
        let is_script = self.name == "script";
        match () {
            () if self.says("fetchpriority", "high") => Hint::Raised,
            () if self.says("fetchpriority", "low") => Hint::Lowered,
            () if is_script && self.has("async") => Hint::Lowered,
            () if is_script && self.says("type", "module") => Hint::Module,
            () if is_script && self.is_deferred() => Hint::Deferred,
            () if self.name == "link" && self.has_rel("preload") => Hint::Preloaded,
            () => Hint::None,
        }
    }
}

fn read_attributes(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let Some(first) = rest.chars().next() else { return attributes };
        // A leading equals sign belongs to the name (HTML §13.2.5.32).
        let search_from = first.len_utf8();
        let name_end = rest[search_from..]
            .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '=')
            .map_or(rest.len(), |at| at + search_from);
        let name = rest[..name_end].to_ascii_lowercase();
        rest = rest[name_end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
        let value = match rest.strip_prefix('=') {
            None => "",
            Some(after) => {
                let (value, left) =
                    split_value(after.trim_start_matches(|c: char| c.is_ascii_whitespace()));
                rest = left;
                value
            }
        };
        attributes.push((name, value.to_owned()));
    }
}

fn split_value(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        _ => text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len())),
    }
}
