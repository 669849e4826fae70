//! What a recorded request was for: its recorded type, else its media type, else its file name.

use super::entry::Entry;
use crate::resource::Kind;
use crate::url::Url;

/// What a request was for.
pub(super) fn of(entry: &Entry, url: &Url) -> Kind {
    without_url(entry).or_else(|| kind_by_name(url)).unwrap_or(Kind::Other)
}

/// The same, for an entry whose URL cannot be read.
pub(super) fn without_url(entry: &Entry) -> Option<Kind> {
    if entry.is_for_web_socket() {
        return Some(Kind::Xhr);
    }
    let by_type = match entry.resource_type.as_str() {
        "document" => Some(Kind::Document),
        "stylesheet" => Some(Kind::Stylesheet),
        "script" => Some(Kind::Script),
        "image" => Some(Kind::Image),
        "font" => Some(Kind::Font),
        "xhr" | "fetch" | "eventsource" | "preflight" | "ping" | "websocket" => Some(Kind::Xhr),
        "media" | "texttrack" => Some(Kind::Media),
        _ => None,
    };
    by_type.or_else(|| kind_by_mime(&entry.mime))
}

fn kind_by_mime(mime: &str) -> Option<Kind> {
    let (family, kind) = mime.split_once('/')?;
    match (family, kind) {
        ("text", "html") | ("application", "xhtml+xml") => Some(Kind::Document),
        ("text", "css") => Some(Kind::Stylesheet),
        ("image", _) => Some(Kind::Image),
        ("audio" | "video", _) => Some(Kind::Media),
        ("font", _) => Some(Kind::Font),
        _ if kind.contains("javascript") || kind.contains("ecmascript") => Some(Kind::Script),
        _ if kind.contains("font") => Some(Kind::Font),
        _ if kind.ends_with("json") || kind.ends_with("xml") => Some(Kind::Xhr),
        _ => None,
    }
}

fn kind_by_name(url: &Url) -> Option<Kind> {
    let path = url.path.split('?').next()?;
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => Some(Kind::Document),
        "css" => Some(Kind::Stylesheet),
        "js" | "mjs" => Some(Kind::Script),
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "ico" => Some(Kind::Image),
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Some(Kind::Font),
        "json" | "xml" => Some(Kind::Xhr),
        "mp4" | "webm" | "mp3" | "m4s" | "ts" => Some(Kind::Media),
        _ => None,
    }
}
