//! `Link` fields (RFC 8288) as a policy names them, and what a preload link pushes.

use std::fmt;
use std::str::FromStr;

/// One link, as it stands in a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    text: String,
    target: String,
    /// Whether it has `rel=preload` and lacks `nopush`.
    pushes: bool,
}

/// A text that is no link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLink {
    /// What is wrong with it.
    pub rule: &'static str,
}

impl Link {
    /// As it stands in a field.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What it points at, as it was written.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether it asks a server to push (W3C Preload §3.3): `rel=preload` without `nopush`.
    pub fn pushes(&self) -> bool {
        self.pushes
    }

    /// All links of a field, in order. What cannot be read ends the list.
    pub fn all_of(field: &str) -> Vec<Self> {
        let mut rest = field;
        let mut links = Vec::new();
        while let Some((link, more)) = take_link(rest)
            && links.len() < MOST_LINKS
        {
            links.push(link);
            rest = more;
        }
        links
    }
}

impl FromStr for Link {
    type Err = BadLink;

    fn from_str(text: &str) -> Result<Self, BadLink> {
        if !text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
            return Err(BadLink { rule: "a link is plain ASCII without control characters" });
        }
        match take_link(text) {
            Some((link, "")) => Ok(link),
            Some(_) => Err(BadLink { rule: "one link stands in each text" }),
            None => Err(BadLink {
                rule: "a link is <target>; rel=…, such as </a.css>; rel=preload; as=style",
            }),
        }
    }
}

/// Takes the first link and the comma behind it off a field.
fn take_link(field: &str) -> Option<(Link, &str)> {
    let field = field.trim_start_matches([' ', '\t', ',']);
    let (target, mut rest) = field.strip_prefix('<')?.split_once('>')?;
    let (mut rel, mut nopush) = (None, false);
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(more) = rest.strip_prefix(';') else { break };
        let more = more.trim_start_matches([' ', '\t']);
        let end = more.find([';', ',', '=', ' ', '\t']).unwrap_or(more.len());
        let name = &more[..end];
        let (value, after) = take_value(more[end..].trim_start_matches([' ', '\t']))?;
        match name.to_ascii_lowercase().as_str() {
            // RFC 8288 §3.3: the first one counts.
            "rel" => rel = rel.or(Some(value)),
            "nopush" => nopush = true,
            _ => {}
        }
        rest = after;
    }
    let text = field[..field.len() - rest.len()].trim_end().to_owned();
    let rest = match rest.strip_prefix(',') {
        Some(more) => more,
        None if rest.is_empty() => rest,
        None => return None,
    };
    let is_preload =
        rel.as_deref()?.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case("preload"));
    Some((Link { text, target: target.trim().to_owned(), pushes: is_preload && !nopush }, rest))
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

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for BadLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)
    }
}

impl std::error::Error for BadLink {}

/// Links of one field that are read.
const MOST_LINKS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preload_link_pushes_unless_it_says_nopush() {
        for (text, pushes) in [
            ("</a.css>; rel=preload; as=style", true),
            ("</a.css>;REL=\"x Preload\"", true),
            ("</a.css>; rel=preload; nopush", false),
            ("</a.css>; rel=preload;nopush=1; as=style", false),
            ("</a.css>; rel=preconnect", false),
            ("</a.css>; rel=next; rel=preload", false),
            ("</a.css>; title=\"; rel=preload\"; rel=next", false),
        ] {
            let link: Link = text.parse().unwrap();
            assert_eq!((link.pushes(), link.target(), link.as_str()), (pushes, "/a.css", text));
        }
    }

    #[test]
    fn a_field_has_several_links() {
        let field = "</a,b>; rel=preload , <https://x/y>; rel=\"preload\"; nopush,</c>;rel=preload";
        let links = Link::all_of(field);
        let told: Vec<_> = links.iter().map(|link| (link.target(), link.pushes())).collect();
        assert_eq!(told, [("/a,b", true), ("https://x/y", false), ("/c", true)]);
        assert_eq!(Link::all_of("</a>; rel=preload, b").len(), 1);
        assert_eq!(Link::all_of("").len(), 0);
    }

    #[test]
    fn what_is_no_link_is_told_why() {
        let bad = [
            "",
            "/a",
            "<a",
            "</a>",
            "</a>; rel=\"x",
            "</a>; rel=x, </b>; rel=y",
            "</a>; rel=x\r\ny: z",
        ];
        for text in bad {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }
}
