//! The `Link` field (RFC 8288 §3), as far as a page load heeds it: `rel=preload`, `modulepreload` and `preconnect`. The one
//! rule: a server's text is read within bounds, and what cannot be read ends the field.

use page::{Hint, Kind};
use proto::Fields;

/// What a link asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// To fetch this.
    Preload { target: String, kind: Kind, hint: Hint },
    /// To connect to the origin of this.
    Preconnect { target: String },
}

/// The links of a head that ask for something.
pub(crate) fn links(fields: &Fields) -> Vec<Link> {
    let values = fields.all(b"link").filter_map(|value| std::str::from_utf8(value).ok());
    values.flat_map(read).take(MOST_LINKS).collect()
}

/// The links of one field.
fn read(field: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = field;
    while links.len() < MOST_LINKS
        && let Some((link, after)) = take_link(rest)
    {
        links.extend(link.asks());
        rest = after;
    }
    links
}

/// A link with those of its parameters that count.
#[derive(Debug, Default)]
struct Parameters {
    target: String,
    rel: Option<String>,
    destination: String,
    priority: String,
    /// Only where a media query holds, or of several sizes: a model without a viewport cannot tell.
    is_conditional: bool,
}

impl Parameters {
    fn asks(self) -> Option<Link> {
        let rel = self.rel?;
        let is =
            |name: &str| rel.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(name));
        if is("preconnect") {
            return Some(Link::Preconnect { target: self.target });
        }
        let kind = match is("modulepreload") {
            true => Kind::Script,
            false if is("preload") => kind(&self.destination)?,
            false => return None,
        };
        let hint = match self.priority.to_ascii_lowercase().as_str() {
            "high" => Hint::Raised,
            "low" => Hint::Lowered,
            _ => Hint::None,
        };
        (!self.is_conditional).then_some(Link::Preload { target: self.target, kind, hint })
    }
}

/// What a preload is for (HTML §4.6.7.16). One without a known `as` is not fetched.
fn kind(destination: &str) -> Option<Kind> {
    Some(match destination.to_ascii_lowercase().as_str() {
        "style" => Kind::Stylesheet,
        "script" => Kind::Script,
        "font" => Kind::Font,
        "image" => Kind::Image,
        "fetch" => Kind::Xhr,
        "audio" | "video" | "track" => Kind::Media,
        _ => return None,
    })
}

/// Takes one link off the front.
fn take_link(text: &str) -> Option<(Parameters, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let (target, mut rest) = text.strip_prefix('<')?.split_once('>')?;
    let mut link = Parameters { target: target.trim().to_owned(), ..Parameters::default() };
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(parameter) = rest.strip_prefix(';') else { break };
        let parameter = parameter.trim_start_matches([' ', '\t']);
        let end = parameter.find(['=', ';', ',']).unwrap_or(parameter.len());
        let (name, after) = parameter.split_at(end);
        let (value, after) = take_value(after)?;
        match name.trim().to_ascii_lowercase().as_str() {
            // RFC 8288 §3.3: the first one counts.
            "rel" => link.rel = link.rel.or(Some(value)),
            "as" => link.destination = value,
            "fetchpriority" => link.priority = value,
            "media" | "imagesrcset" => link.is_conditional = true,
            _ => {}
        }
        rest = after;
    }
    (rest.is_empty() || rest.starts_with(',')).then_some((link, rest))
}

/// Takes `=value` off the front, if it is there: a token or a quoted string.
fn take_value(text: &str) -> Option<(String, &str)> {
    let Some(value) = text.strip_prefix('=') else { return Some((String::new(), text)) };
    let value = value.trim_start_matches([' ', '\t']);
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find([';', ',', ' ', '\t']).unwrap_or(value.len());
        return Some((value[..end].to_owned(), &value[end..]));
    };
    let mut unquoted = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((unquoted, &quoted[at + 1..])),
            '\\' => unquoted.push(characters.next()?.1),
            other => unquoted.push(other),
        }
    }
    None
}

/// Links of one head that are heeded.
const MOST_LINKS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn preload(target: &str, kind: Kind, hint: Hint) -> Link {
        Link::Preload { target: target.into(), kind, hint }
    }

    #[test]
    fn what_a_browser_would_fetch_or_connect_to_is_found() {
        let field = "</a,b.css>; rel=preload; as=style , <x.js>;rel=\"modulepreload\",</h.png>; REL=Preload; as=\"image\"; \
                     fetchpriority=high, <https://cdn.test>; rel=preconnect; crossorigin";
        let mut fields = Fields::new().with("link", field);
        fields.push(b"link", b"</f.woff2>; rel=preload; as=font; crossorigin; nopush");
        assert_eq!(
            links(&fields),
            [
                preload("/a,b.css", Kind::Stylesheet, Hint::None),
                preload("x.js", Kind::Script, Hint::None),
                preload("/h.png", Kind::Image, Hint::Raised),
                Link::Preconnect { target: "https://cdn.test".into() },
                preload("/f.woff2", Kind::Font, Hint::None),
            ]
        );
    }

    #[test]
    fn other_links_and_what_is_none_are_passed_over() {
        for field in [
            "",
            "</a>",
            "</a>; rel=preload",
            "</a>; rel=preload; as=worker",
            "</a>; rel=next; as=style",
            "</a>; rel=preload; as=image; media=\"(max-width: 9px)\"",
            "</a>; rel=preload; as=image; imagesrcset=\"a 1x, b 2x\"",
            "/a; rel=preload; as=style",
            "</a; rel=preload; as=style",
            "</a>; rel=\"preload; as=style",
        ] {
            assert_eq!(read(field), [], "{field}");
        }
        let after = read("</a>; rel=preload, </b>; rel=preload; as=style");
        assert_eq!(after, [preload("/b", Kind::Stylesheet, Hint::None)]);
        let many = "</a>; rel=preload; as=style,".repeat(1_000);
        assert_eq!(links(&Fields::new().with("link", &many)).len(), MOST_LINKS);
    }
}
