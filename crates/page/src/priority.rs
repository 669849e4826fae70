//! How a browser ranks what it fetches, in the terms of RFC 9218 (urgency 0 to 7, incremental).
//!
//! Chromium's way, in three steps that its sources show:
//! 1. A resource's type gives one of five load priorities (`TypeToPriority` in
//!    third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc); async and deferred scripts
//!    fall to Low, `fetchpriority` raises to High or lowers to Low.
//! 2. The load priority becomes a network priority, and that an urgency: VeryHigh 0, High 1, Medium 2,
//!    Low 3, VeryLow 4 (net/quic/quic_http_utils.cc).
//! 3. Style sheets, scripts and fonts are useless in part and so are not incremental; all else is
//!    (`ShouldLoadIncremental` in resource_request_utils.cc).
//!
//! What needs a layout is elsewhere: a load raises the images in the viewport ([`crate::Load::poll_priority`]).

use crate::resource::Kind;
use serde::{Deserialize, Serialize};

/// The priority parameters of a fetch (RFC 9218 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Priority {
    /// 0 (first) to 7 (last); 3 by default (RFC 9218 §4.1).
    pub urgency: u8,
    /// Whether parts of the response are of use before the whole is there (RFC 9218 §4.2).
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

/// Whose ranking is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Browser {
    /// Chromium and what is built on it.
    #[default]
    Chromium,
}

/// A load priority by Chromium's names, which other browsers' exports use too (`_priority` in a HAR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// Prefetches.
    VeryLow,
    /// Images, media, async scripts.
    Low,
    /// Manifests, scripts late in the body.
    Medium,
    /// Scripts, requests by scripts.
    High,
    /// Documents, style sheets, fonts.
    VeryHigh,
}

impl Rank {
    /// Reads the names that exporters write: `VeryHigh`, `Highest`, `high`, `Very Low`, …
    pub fn from_name(name: &str) -> Option<Self> {
        let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
        match letters.to_ascii_lowercase().as_str() {
            "veryhigh" | "highest" => Some(Self::VeryHigh),
            "high" => Some(Self::High),
            "medium" | "normal" => Some(Self::Medium),
            "low" => Some(Self::Low),
            "verylow" | "lowest" | "idle" => Some(Self::VeryLow),
            _ => None,
        }
    }
}

/// What the page's author, or the browser that recorded it, said about the importance of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Nothing: its kind decides.
    #[default]
    None,
    /// `fetchpriority=high`.
    Raised,
    /// `fetchpriority=low`, `async`, `defer`.
    Lowered,
    /// The load priority that a browser recorded.
    Recorded(Rank),
}

impl Browser {
    /// The priority that this browser gives a fetch.
    pub fn priority(self, kind: Kind, hint: Hint) -> Priority {
        match self {
            Self::Chromium => Priority {
                urgency: chromium_urgency(chromium_rank(kind, hint)),
                incremental: chromium_incremental(kind),
            },
        }
    }
}

fn chromium_rank(kind: Kind, hint: Hint) -> Rank {
    let by_kind = match kind {
        Kind::Document | Kind::Stylesheet | Kind::Font => Rank::VeryHigh,
        Kind::Script | Kind::Xhr => Rank::High,
        Kind::Image | Kind::Media | Kind::Other => Rank::Low,
    };
    match hint {
        Hint::None => by_kind,
        Hint::Raised => by_kind.max(Rank::High),
        Hint::Lowered => by_kind.min(Rank::Low),
        Hint::Recorded(rank) => rank,
    }
}

fn chromium_urgency(rank: Rank) -> u8 {
    match rank {
        Rank::VeryHigh => 0,
        Rank::High => 1,
        Rank::Medium => 2,
        Rank::Low => 3,
        Rank::VeryLow => 4,
    }
}

fn chromium_incremental(kind: Kind) -> bool {
    match kind {
        Kind::Stylesheet | Kind::Script | Kind::Font => false,
        Kind::Document | Kind::Image | Kind::Xhr | Kind::Media | Kind::Other => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chromium_asks_for_what_blocks_rendering_before_images() {
        let of = |kind, hint| Browser::Chromium.priority(kind, hint);
        // The values that Chromium sends in its priority header: `u=0, i`, `u=0`, `u=1`, `i`.
        assert_eq!(of(Kind::Document, Hint::None), Priority { urgency: 0, incremental: true });
        assert_eq!(of(Kind::Stylesheet, Hint::None), Priority { urgency: 0, incremental: false });
        assert_eq!(of(Kind::Script, Hint::None), Priority { urgency: 1, incremental: false });
        assert_eq!(of(Kind::Xhr, Hint::None), Priority { urgency: 1, incremental: true });
        assert_eq!(of(Kind::Image, Hint::None), Priority { urgency: 3, incremental: true });
    }

    #[test]
    fn hints_move_a_fetch_and_a_recorded_rank_decides() {
        let urgency = |kind, hint| Browser::Chromium.priority(kind, hint).urgency;
        assert_eq!(urgency(Kind::Script, Hint::Lowered), 3);
        assert_eq!(urgency(Kind::Image, Hint::Raised), 1);
        assert_eq!(urgency(Kind::Stylesheet, Hint::Raised), 0);
        assert_eq!(urgency(Kind::Image, Hint::Recorded(Rank::VeryLow)), 4);
    }

    #[test]
    fn the_names_of_several_exporters_are_understood() {
        assert_eq!(Rank::from_name("VeryHigh"), Some(Rank::VeryHigh));
        assert_eq!(Rank::from_name("Highest"), Some(Rank::VeryHigh));
        assert_eq!(Rank::from_name("low"), Some(Rank::Low));
        assert_eq!(Rank::from_name(""), None);
    }
}
