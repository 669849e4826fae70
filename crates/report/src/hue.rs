//! One colour for each transport, the same in every picture and in the terminal. The colours are those of
//! Okabe and Ito, "Color Universal Design" (2008), which colour-blind readers can distinguish. A transport with TLS and
//! the same without have two similar hues. Where several builds of one transport race, each contender has a colour of its
//! own. No picture shows anything by colour alone.

use std::collections::BTreeMap;
use study::experiment::{Contender, Tls, Transport};

/// The colour of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hue {
    /// HTTP/1.1 in the clear: orange, #E69F00.
    Http1Clear,
    /// HTTP/1.1 over TLS: vermilion, #D55E00.
    Http1Tls,
    /// HTTP/2 by prior knowledge: sky blue, #56B4E9.
    H2Clear,
    /// HTTP/2 over TLS: blue, #0072B2.
    H2Tls,
    /// HTTP/3: yellow, #F0E442; text in it is olive.
    H3,
    /// SPDY by prior knowledge: a lighter variant of the next, #5CC3A4.
    SpdyClear,
    /// SPDY over TLS: bluish green, #009E73.
    SpdyTls,
    /// WebSocket without TLS: a lighter variant of the next, #E2A7CB.
    WebSocketClear,
    /// WebSocket over TLS: reddish purple, #CC79A7.
    WebSocketTls,
}

impl Hue {
    /// The colour that `contender` has everywhere.
    pub(crate) fn of(contender: &Contender) -> Self {
        match (contender.transport, contender.tls) {
            (Transport::Http1, Tls::None) => Self::Http1Clear,
            (Transport::Http1, Tls::V1_2 | Tls::V1_3) => Self::Http1Tls,
            (Transport::H2, Tls::None) => Self::H2Clear,
            (Transport::H2, Tls::V1_2 | Tls::V1_3) => Self::H2Tls,
            (Transport::H3, _) => Self::H3,
            (Transport::Spdy | Transport::Spdy3, Tls::None) => Self::SpdyClear,
            (Transport::Spdy | Transport::Spdy3, Tls::V1_2 | Tls::V1_3) => Self::SpdyTls,
            (Transport::WebSocket | Transport::WebSocketH2 | Transport::WebSocketH3, Tls::None) => {
                Self::WebSocketClear
            }
            (
                Transport::WebSocket | Transport::WebSocketH2 | Transport::WebSocketH3,
                Tls::V1_2 | Tls::V1_3,
            ) => Self::WebSocketTls,
        }
    }

    /// The style sheet's class for the colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Http1Clear => "http1-clear",
            Self::Http1Tls => "http1-tls",
            Self::H2Clear => "h2-clear",
            Self::H2Tls => "h2-tls",
            Self::H3 => "h3",
            Self::SpdyClear => "spdy-clear",
            Self::SpdyTls => "spdy-tls",
            Self::WebSocketClear => "ws-clear",
            Self::WebSocketTls => "ws-tls",
        }
    }

    /// The nearest of the 256 terminal colours, light enough on a dark background and dark enough on a light one.
    pub(crate) fn ansi(self) -> u8 {
        match self {
            Self::Http1Clear => 172,
            Self::Http1Tls => 166,
            Self::H2Clear => 74,
            Self::H2Tls => 32,
            Self::H3 => 142,
            Self::SpdyClear => 79,
            Self::SpdyTls => 36,
            Self::WebSocketClear => 176,
            Self::WebSocketTls => 133,
        }
    }
}

/// The colours of a race's contenders, by their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Palette(BTreeMap<String, Hue>);

impl Palette {
    /// One colour a transport. Contenders of one transport share it, unless there are colours enough for all: then the first
    /// of each transport has it, and the others have those that no transport of the race has.
    pub(crate) fn of<'a>(contenders: impl Iterator<Item = &'a Contender>) -> Self {
        let mut named: Vec<(&str, Hue)> = Vec::new();
        for contender in contenders {
            if named.iter().all(|(name, _)| *name != contender.name) {
                named.push((&contender.name, Hue::of(contender)));
            }
        }
        let mut free: Vec<Hue> =
            SET.into_iter().filter(|hue| named.iter().all(|(_, taken)| taken != hue)).collect();
        let mut colours = BTreeMap::new();
        let is_shared = |at: usize| named[..at].iter().any(|(_, hue)| *hue == named[at].1);
        let are_enough = (0..named.len()).filter(|at| is_shared(*at)).count() <= free.len();
        for (at, (name, hue)) in named.iter().enumerate() {
            let own = if are_enough && is_shared(at) { free.remove(0) } else { *hue };
            colours.insert((*name).to_owned(), own);
        }
        Self(colours)
    }

    /// The colour that `contender` has everywhere in this race.
    pub(crate) fn hue(&self, contender: &Contender) -> Hue {
        self.0.get(&contender.name).copied().unwrap_or_else(|| Hue::of(contender))
    }
}

/// Okabe and Ito's colours, those that differ most first. Black is the text's.
const SET: [Hue; 7] = [
    Hue::H2Tls,
    Hue::Http1Tls,
    Hue::SpdyTls,
    Hue::WebSocketTls,
    Hue::H2Clear,
    Hue::Http1Clear,
    Hue::H3,
];

#[cfg(test)]
mod tests {
    use super::*;
    use study::experiment::KNOWN_CONTENDERS;

    fn contenders(names: &[(&str, &str)]) -> Vec<Contender> {
        let of = |(name, kind): &(&str, &str)| {
            let known = KNOWN_CONTENDERS.iter().find(|known| known.name == *kind).unwrap();
            Contender { name: (*name).to_owned(), ..known.contender() }
        };
        names.iter().map(of).collect()
    }

    fn colours(race: &[Contender]) -> Vec<Hue> {
        let palette = Palette::of(race.iter());
        race.iter().map(|contender| palette.hue(contender)).collect()
    }

    #[test]
    fn builds_of_one_transport_have_colours_of_their_own() {
        let builds = contenders(&[("old", "h2"), ("new", "h2"), ("nginx", "h2"), ("h1", "h1-tls")]);
        assert_eq!(colours(&builds), [Hue::H2Tls, Hue::SpdyTls, Hue::WebSocketTls, Hue::Http1Tls]);
    }

    #[test]
    fn transports_that_race_once_each_keep_theirs() {
        let race = contenders(&[("a", "h1"), ("b", "h1-tls"), ("c", "h2"), ("d", "h3")]);
        assert_eq!(colours(&race), race.iter().map(Hue::of).collect::<Vec<_>>());
    }

    #[test]
    fn where_colours_do_not_suffice_a_transport_has_one() {
        let names: Vec<String> = (0..9).map(|number| format!("build {number}")).collect();
        let race: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "h2")).collect();
        assert!(colours(&contenders(&race)).iter().all(|hue| *hue == Hue::H2Tls));
    }
}
