//! What each browser says of a fetch that a `Link` field asks for. It has not read the page then: the kind of the resource and the
//! field's `fetchpriority` decide.
//!
//! | profile | source |
//! |---|---|
//! | `chrome-156`, `chrome-92`, `firefox-153` | recorded: crates/client/tests/virtual_time/goldens/\*-link-\*.txt and \*-hint-\*.txt |
//! | `chrome-46`, `firefox-38` | unverified: as the same resource in the markup |
//!
//! Sound, video and tracks are in no recording, and neither is a raised style sheet, script or font.

use crate::browser::{Browser, Class, Place, Signals};
use crate::priority::{Hint, Priority, class_of};
use crate::resource::Kind;

/// The head that has the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSource {
    /// A 103.
    EarlyHints,
    /// The final head of the document.
    Document,
}

impl Browser {
    /// What it says of a fetch that a link asks for.
    pub fn link_signals(self, source: LinkSource, kind: Kind, hint: Hint) -> Signals {
        match (self, source) {
            (Self::Chrome156, LinkSource::EarlyHints) => chrome_156_hinted(kind, hint),
            // Before `fetchpriority`.
            (Self::Chrome92 | Self::Chrome46, _) => self.preloaded(kind, Hint::None),
            (Self::Firefox153, LinkSource::Document) => firefox_153(kind, hint),
            (Self::Firefox153, LinkSource::EarlyHints) => below_root(22, Priority::default()),
            (Self::Chrome156, LinkSource::Document) | (Self::Firefox38, _) => {
                self.preloaded(kind, hint)
            }
        }
    }

    /// The signals of the same resource in the markup, where it says `rel=preload`.
    fn preloaded(self, kind: Kind, hint: Hint) -> Signals {
        let class = match kind {
            Kind::Font => Class::PreloadedFont,
            other => class_of(other, hint),
        };
        self.adjusted(self.signals(class), hint)
    }
}

/// Chromium's browser process asks for what a 103 names. It calls all of it incremental, and what is for `fetch()` Low.
fn chrome_156_hinted(kind: Kind, hint: Hint) -> Signals {
    let hint = match kind {
        Kind::Xhr => Hint::Lowered,
        _ => hint,
    };
    let mut signals = Browser::Chrome156.preloaded(kind, hint);
    signals.priority.incremental = true;
    signals
}

fn firefox_153(kind: Kind, hint: Hint) -> Signals {
    let (weight, urgency) = match (kind, hint) {
        (Kind::Stylesheet, _) => (42, 0),
        (Kind::Script, Hint::Lowered) => (12, 4),
        (Kind::Script, _) => (42, 1),
        (Kind::Image, Hint::Raised) => (31, 4),
        (Kind::Image, Hint::Lowered) => (2, 6),
        (Kind::Image, _) => (11, 5),
        (Kind::Xhr, _) => (22, 3),
        (Kind::Document | Kind::Font | Kind::Media | Kind::Other, _) => {
            return Browser::Firefox153.preloaded(kind, hint);
        }
    };
    below_root(weight, Priority { urgency, incremental: kind == Kind::Image })
}

fn below_root(weight: u16, priority: Priority) -> Signals {
    Signals { priority, place: Place::Root { weight } }
}
