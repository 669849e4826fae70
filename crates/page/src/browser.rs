//! What each browser says to a server of the importance of a fetch. A profile is a plain table: a class of resource on the left, on the
//! right what goes onto the wire for it. The one rule: nothing here knows the state of a load.
//!
//! | profile | source |
//! |---|---|
//! | `chrome-46` | unverified. Chrome sent no dependencies and no `priority` field in 2015; the weights are those of its five levels |
//! | `chrome-92` | recorded from Chromium 92: crates/client/tests/virtual_time/goldens/chrome-92-*.txt |
//! | `chrome-156` | recorded from Chromium 156: crates/client/tests/virtual_time/goldens/chrome-156-*.txt |
//! | `firefox-38` | published, and in part derived: see `firefox_38` |
//! | `firefox-153` | recorded from Firefox 153: crates/client/tests/virtual_time/goldens/firefox-153-*.txt |

use crate::priority::Priority;
use serde::{Deserialize, Serialize};

/// The browser whose signals a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Browser {
    /// Chrome of 2015. Unverified: no recording, and no published table of its weights.
    #[serde(rename = "chrome-46")]
    Chrome46,
    /// Chromium of 2021. Recorded, but for raised images over HTTP/3.
    #[serde(rename = "chrome-92")]
    Chrome92,
    /// Chromium of today. Recorded.
    #[default]
    #[serde(rename = "chrome-156")]
    Chrome156,
    /// Firefox of 2015, the first with groups in its tree. Published, and in part derived; no recording.
    #[serde(rename = "firefox-38")]
    Firefox38,
    /// Firefox of today. Recorded.
    #[serde(rename = "firefox-153")]
    Firefox153,
}

/// What a fetch is to a browser that ranks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The page itself, or a frame.
    Document,
    /// A style sheet.
    Stylesheet,
    /// A classic script that stops the parser, before the first image.
    HeadScript,
    /// A classic script that stops the parser, after the first image.
    LateScript,
    /// The same, where it was held back until the parser stood at it.
    AwaitedScript,
    /// A script with `async`.
    AsyncScript,
    /// A script with `defer`.
    DeferredScript,
    /// A module script without `async`.
    ModuleScript,
    /// A font that the document preloads.
    PreloadedFont,
    /// A font that a style sheet names.
    Font,
    /// One of the first five images that are not small.
    FirstImage,
    /// Any other image.
    Image,
    /// An image that the page's author has raised (`fetchpriority=high`), or one that can be seen once the page is laid out.
    SeenImage,
    /// What is fetched for the next page.
    Prefetch,
    /// What a script asks for.
    Xhr,
    /// Sound, video and anything else.
    Other,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 16] = [
        Self::Document,
        Self::Stylesheet,
        Self::HeadScript,
        Self::LateScript,
        Self::AwaitedScript,
        Self::AsyncScript,
        Self::DeferredScript,
        Self::ModuleScript,
        Self::PreloadedFont,
        Self::Font,
        Self::FirstImage,
        Self::Image,
        Self::SeenImage,
        Self::Prefetch,
        Self::Xhr,
        Self::Other,
    ];
}

/// What goes onto the wire for a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals {
    /// The `priority` field's urgency and incremental flag, and the order in the client's own queue.
    pub priority: Priority,
    /// The place in HTTP/2's dependency tree.
    pub place: Place,
}

/// A place in HTTP/2's dependency tree (RFC 7540 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Chromium's: the exclusive child of the last stream of the same level, or of the next more urgent one that has streams. The
    /// level gives the weight: 256, 220, 183, 147, 110 from level 0 on.
    Chain {
        /// 0 (first) to 7 (last).
        level: u8,
    },
    /// Below the root, beside all others.
    Root {
        /// 1 to 256.
        weight: u16,
    },
    /// In a group ([`Browser::groups`]), beside all others of it.
    Group {
        /// The group's stream.
        group: u32,
        /// 1 to 256.
        weight: u16,
    },
}

/// A stream that is never opened, and stands in HTTP/2's dependency tree for those that depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its number.
    pub stream: u32,
    /// That of the group that it depends on; 0 for the root.
    pub parent: u32,
    /// 1 to 256.
    pub weight: u16,
}

/// What a profile's table rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Recordings of the browser itself.
    Recorded,
    /// What was published of the browser; the rest of it is derived from that.
    Published,
    /// Neither.
    Unverified,
}

/// The frame by which an image is raised that can be seen once the page is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raise {
    /// None: images are not raised.
    Never,
    /// PRIORITY over HTTP/2, and nothing over HTTP/3.
    Priority,
}

impl Browser {
    /// Every profile.
    pub const ALL: [Self; 5] =
        [Self::Chrome46, Self::Chrome92, Self::Chrome156, Self::Firefox38, Self::Firefox153];

    /// The name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chrome46 => "chrome-46",
            Self::Chrome92 => "chrome-92",
            Self::Chrome156 => "chrome-156",
            Self::Firefox38 => "firefox-38",
            Self::Firefox153 => "firefox-153",
        }
    }

    /// What its table rests on.
    pub fn evidence(self) -> Evidence {
        match self {
            Self::Chrome46 => Evidence::Unverified,
            Self::Firefox38 => Evidence::Published,
            Self::Chrome92 | Self::Chrome156 | Self::Firefox153 => Evidence::Recorded,
        }
    }

    /// The groups of its dependency tree, which it announces before its first request. That one's stream comes after theirs.
    pub fn groups(self) -> &'static [Group] {
        match self {
            Self::Firefox38 => &FIREFOX_GROUPS,
            Self::Chrome46 | Self::Chrome92 | Self::Chrome156 | Self::Firefox153 => &[],
        }
    }

    /// What it says of a fetch of this class.
    pub fn signals(self, class: Class) -> Signals {
        match self {
            Self::Chrome46 => {
                let Row { urgency, incremental, .. } = chrome_46(class);
                let weight = CHROMIUM_WEIGHTS[usize::from(urgency)];
                Signals {
                    priority: Priority { urgency, incremental },
                    place: Place::Root { weight },
                }
            }
            Self::Chrome92 => chain(chrome_92(class)),
            Self::Chrome156 => chain(chrome_156(class)),
            Self::Firefox38 => firefox_38(class),
            Self::Firefox153 => firefox_153(class),
        }
    }

    /// Whether it sends the `priority` field (RFC 9218 §5).
    pub fn sends_field(self) -> bool {
        matches!(self, Self::Chrome156 | Self::Firefox153)
    }

    /// Whether it sends a PRIORITY_UPDATE with each request over HTTP/3 whose priority is not the default.
    pub fn updates_each_request(self) -> bool {
        self == Self::Chrome156
    }

    /// Whether it writes each frame of HTTP/2 and SPDY by itself (`SpdySession::DoWrite` in net/spdy/spdy_session.cc): requests are packets of
    /// their own, as long as the path takes them. Of Firefox it is not known here.
    pub fn writes_each_frame(self) -> bool {
        matches!(self, Self::Chrome46 | Self::Chrome92 | Self::Chrome156)
    }

    /// How it raises images that can be seen.
    pub fn raise(self) -> Raise {
        match self {
            Self::Chrome46 | Self::Chrome92 | Self::Chrome156 => Raise::Priority,
            Self::Firefox38 | Self::Firefox153 => Raise::Never,
        }
    }

    /// Whether it holds back what is less urgent while scripts in the head stop the parser.
    pub fn has_tight_mode(self) -> bool {
        !matches!(self, Self::Firefox38 | Self::Firefox153)
    }

    /// The same where requests carry priorities. Chrome of 2015 left it to the server then ("requests to request-priority-capable
    /// origin servers" were issued immediately: content/browser/loader/resource_scheduler.cc).
    pub fn has_tight_mode_with_priorities(self) -> bool {
        self.has_tight_mode() && self != Self::Chrome46
    }
}

/// HTTP/2's weights of Chromium's levels (Spdy3PriorityToHttp2Weight in QUICHE's spdy_protocol.cc).
pub const CHROMIUM_WEIGHTS: [u16; 8] = [256, 220, 183, 147, 110, 74, 37, 1];

/// A row of a table of Chromium's.
struct Row {
    /// Of the `priority` field.
    urgency: u8,
    incremental: bool,
    /// Of the dependency tree.
    level: u8,
}

fn chain(Row { urgency, incremental, level }: Row) -> Signals {
    Signals { priority: Priority { urgency, incremental }, place: Place::Chain { level } }
}

/// Level and urgency are one number, but for a script whose place is raised while it is held back.
fn row(urgency: u8, incremental: bool) -> Row {
    Row { urgency, incremental, level: urgency }
}

/// Chromium 156, recorded, of `ModuleScript` those in the head. `SeenImage` and `Other` are not in the recordings: they follow `TypeToPriority` in
/// third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc.
fn chrome_156(class: Class) -> Row {
    match class {
        Class::Document => row(0, true),
        Class::Stylesheet | Class::Font => row(0, false),
        Class::HeadScript | Class::ModuleScript | Class::PreloadedFont => row(1, false),
        Class::LateScript => row(2, false),
        Class::AwaitedScript => Row { level: 1, ..row(2, false) },
        Class::AsyncScript | Class::DeferredScript => row(3, false),
        Class::FirstImage => row(2, true),
        Class::Image | Class::Other => row(3, true),
        Class::SeenImage | Class::Xhr => row(1, true),
        Class::Prefetch => row(4, true),
    }
}

/// Chromium 92, recorded: as 156, without the rank of the first images.
fn chrome_92(class: Class) -> Row {
    match class {
        Class::FirstImage => chrome_156(Class::Image),
        Class::AwaitedScript => chrome_156(Class::LateScript),
        other => chrome_156(other),
    }
}

/// Chrome 46, unverified: the levels of Blink's load priorities of 2015, of which scripts had Medium.
fn chrome_46(class: Class) -> Row {
    match class {
        Class::Document => row(0, true),
        Class::Stylesheet => row(1, false),
        Class::HeadScript
        | Class::LateScript
        | Class::AwaitedScript
        | Class::Font
        | Class::PreloadedFont => row(2, false),
        Class::Xhr => row(1, true),
        // There were no modules in 2015.
        Class::AsyncScript | Class::DeferredScript | Class::ModuleScript => row(3, false),
        Class::FirstImage | Class::Image | Class::Other => row(3, true),
        Class::SeenImage => row(1, true),
        Class::Prefetch => row(4, true),
    }
}

/// The groups of Firefox from 37 on (`Http2Session::SendHello`; there a weight is one less, as it goes onto the wire).
const FIREFOX_GROUPS: [Group; 5] = [
    Group { stream: LEADERS, parent: 0, weight: 201 },
    Group { stream: UNBLOCKED, parent: 0, weight: 101 },
    Group { stream: BACKGROUND, parent: 0, weight: 1 },
    Group { stream: SPECULATIVE, parent: BACKGROUND, weight: 1 },
    Group { stream: FOLLOWERS, parent: LEADERS, weight: 1 },
];

/// Style sheets and scripts of the head.
const LEADERS: u32 = 3;
/// Scripts of the body, `async` ones, what scripts ask for.
const UNBLOCKED: u32 = 5;
/// What the page can do without.
const BACKGROUND: u32 = 7;
/// What may be of use later.
const SPECULATIVE: u32 = 9;
/// Images and all that has no class: after the leaders.
const FOLLOWERS: u32 = 11;

/// Firefox 38. Published are the groups (Http2Session.cpp; P. McManus, "HTTP/2 Dependency Priorities in Firefox 37", 2015),
/// what is in which (Http2Stream.cpp), the document's weight (summerwind, "HTTP/2 Prioritization", speakerdeck.com, 2015, of
/// Firefox 38.0.5), and those of style sheets, scripts and images (nghttp's manual, after Firefox of April 2015). Derived
/// are `AsyncScript` and `DeferredScript` (as scripts of the body; so is `ModuleScript`, which it did not know), `Xhr`, fonts and `Other` (the weight of normal priority is
/// 22; what has no class is a follower) and `Prefetch`. It had no `priority` field: urgencies are the order in the client's
/// own queue alone.
fn firefox_38(class: Class) -> Signals {
    let (group, weight, urgency) = match class {
        Class::Document => (FOLLOWERS, 32, 0),
        Class::Stylesheet | Class::HeadScript => (LEADERS, 2, 2),
        Class::LateScript
        | Class::AwaitedScript
        | Class::AsyncScript
        | Class::DeferredScript
        | Class::ModuleScript => (UNBLOCKED, 2, 3),
        Class::Xhr => (UNBLOCKED, 22, 4),
        Class::PreloadedFont | Class::Font | Class::Other => (FOLLOWERS, 22, 3),
        Class::FirstImage | Class::Image | Class::SeenImage => (FOLLOWERS, 12, 5),
        Class::Prefetch => (SPECULATIVE, 2, 6),
    };
    let priority = Priority { urgency, incremental: false };
    Signals { priority, place: Place::Group { group, weight } }
}

/// Firefox 153, recorded. `Font`, `ModuleScript` and `Other` are not in the recordings and have what is nearest.
fn firefox_153(class: Class) -> Signals {
    let (weight, urgency, incremental) = match class {
        Class::Document => (42, 0, true),
        Class::Stylesheet | Class::HeadScript => (22, 2, false),
        Class::PreloadedFont | Class::Font => (32, 2, false),
        Class::LateScript
        | Class::AwaitedScript
        | Class::AsyncScript
        | Class::DeferredScript
        | Class::ModuleScript
        | Class::Other => (22, 3, false),
        Class::Xhr => (22, 4, false),
        Class::FirstImage | Class::Image | Class::SeenImage => (12, 5, true),
        Class::Prefetch => (2, 6, false),
    };
    Signals { priority: Priority { urgency, incremental }, place: Place::Root { weight } }
}
