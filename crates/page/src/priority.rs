//! The priority of a fetch in the terms of RFC 9218 (urgency 0 to 7, incremental), and what the author or a recording says of it.
//!
//! Chromium's ranking, in three steps that its sources show; the tables by class are in `browser`:
//! 1. A resource's type gives one of five load priorities (`TypeToPriority` in
//!    third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc); async and deferred scripts, but not modules,
//!    fall to Low, `fetchpriority` raises to High or lowers to Low.
//! 2. The load priority becomes a network priority, and that an urgency: VeryHigh 0, High 1, Medium 2,
//!    Low 3, VeryLow 4 (net/quic/quic_http_utils.cc).
//! 3. Style sheets, scripts and fonts are useless in part and so are not incremental; all else is
//!    (`ShouldLoadIncremental` in resource_request_utils.cc).
//!
//! What needs a layout is elsewhere: a load raises the images in the viewport ([`crate::Load::poll_priority`]).

use crate::browser::{Browser, CHROMIUM_WEIGHTS, Class, Place, Signals};
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
    /// `fetchpriority=low`, `async`.
    Lowered,
    /// `defer`.
    Deferred,
    /// A module script without `async`.
    Module,
    /// `rel=preload`.
    Preloaded,
    /// `rel=prefetch`.
    Prefetch,
    /// The load priority that a browser recorded.
    Recorded(Rank),
}

/// What a fetch of this kind is to a browser that knows no more of it than the author's hint: one that no markup of the page names.
pub(crate) fn class_of(kind: Kind, hint: Hint) -> Class {
    match (kind, hint) {
        (_, Hint::Prefetch) => Class::Prefetch,
        (Kind::Document, _) => Class::Document,
        (Kind::Stylesheet, _) => Class::Stylesheet,
        (Kind::Script, Hint::Deferred) => Class::DeferredScript,
        (Kind::Script, Hint::Module) => Class::ModuleScript,
        (Kind::Script, Hint::Lowered) => Class::AsyncScript,
        (Kind::Script, _) => Class::HeadScript,
        (Kind::Font, Hint::Preloaded) => Class::PreloadedFont,
        (Kind::Font, _) => Class::Font,
        (Kind::Image, Hint::Raised) => Class::SeenImage,
        (Kind::Image, _) => Class::Image,
        (Kind::Xhr, _) => Class::Xhr,
        (Kind::Media | Kind::Other, _) => Class::Other,
    }
}

impl Browser {
    /// The signals of a class, changed by what was said of this one fetch. Firefox's ranking of such fetches is not recorded: they
    /// have that of their class.
    pub(crate) fn adjusted(self, signals: Signals, hint: Hint) -> Signals {
        if !CHROMIUM.contains(&self) {
            return signals;
        }
        let level = signals.priority.urgency;
        let urgency = match hint {
            Hint::Recorded(rank) => chromium_urgency(rank),
            Hint::Raised => level.min(1),
            Hint::Lowered => level.max(3),
            Hint::None | Hint::Preloaded | Hint::Deferred | Hint::Module | Hint::Prefetch => {
                return signals;
            }
        };
        let place = match signals.place {
            Place::Chain { .. } => Place::Chain { level: urgency },
            Place::Root { .. } => Place::Root { weight: CHROMIUM_WEIGHTS[usize::from(urgency)] },
            Place::Group { .. } => signals.place,
        };
        Signals { priority: Priority { urgency, ..signals.priority }, place }
    }
}

const CHROMIUM: [Browser; 3] = [Browser::Chrome46, Browser::Chrome92, Browser::Chrome156];

fn chromium_urgency(rank: Rank) -> u8 {
    match rank {
        Rank::VeryHigh => 0,
        Rank::High => 1,
        Rank::Medium => 2,
        Rank::Low => 3,
        Rank::VeryLow => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Chromium says of a fetch whose place in the page is not known.
    fn signals_of(kind: Kind, hint: Hint) -> Signals {
        let chromium = Browser::Chrome156;
        chromium.adjusted(chromium.signals(class_of(kind, hint)), hint)
    }

    #[test]
    fn chromium_asks_for_what_blocks_rendering_before_images() {
        let of = |kind, hint| signals_of(kind, hint).priority;
        // The values that Chromium sends in its priority header: `u=0, i`, `u=0`, `u=1`, `i`.
        assert_eq!(of(Kind::Document, Hint::None), Priority { urgency: 0, incremental: true });
        assert_eq!(of(Kind::Stylesheet, Hint::None), Priority { urgency: 0, incremental: false });
        assert_eq!(of(Kind::Script, Hint::None), Priority { urgency: 1, incremental: false });
        assert_eq!(of(Kind::Xhr, Hint::None), Priority { urgency: 1, incremental: true });
        assert_eq!(of(Kind::Image, Hint::None), Priority { urgency: 3, incremental: true });
    }

    #[test]
    fn hints_move_a_fetch_and_a_recorded_rank_decides() {
        let urgency = |kind, hint| signals_of(kind, hint).priority.urgency;
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
