//! Which browser's signals wirelap's own client sends when it loads a page, and how it raises an image. Names alone: the tables are in
//! `page::Browser`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The browser as which wirelap's own client loads a page: its priorities, their signals, what it holds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// Chrome of 2015: weights below the root, no `priority` field. Unverified.
    #[serde(rename = "chrome-46")]
    Chrome46,
    /// Chromium of 2021: a chain of dependencies, no `priority` field.
    #[serde(rename = "chrome-92")]
    Chrome92,
    /// Chromium of today: a chain of dependencies and the `priority` field.
    #[default]
    #[serde(rename = "chrome-156")]
    Chrome156,
    /// Firefox of 2015: a tree with groups, no `priority` field. Published and derived, not recorded.
    #[serde(rename = "firefox-38")]
    Firefox38,
    /// Firefox of today: weights below the root and the `priority` field.
    #[serde(rename = "firefox-153")]
    Firefox153,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] =
        [Self::Chrome46, Self::Chrome92, Self::Chrome156, Self::Firefox38, Self::Firefox153];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chrome46 => "chrome-46",
            Self::Chrome92 => "chrome-92",
            Self::Chrome156 => "chrome-156",
            Self::Firefox38 => "firefox-38",
            Self::Firefox153 => "firefox-153",
        }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// By which frame wirelap's own client raises an image that can be seen once the page is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RaiseBy {
    /// As the browser of the profile: Chromium by PRIORITY over h2 and not at all over h3, Firefox never.
    #[default]
    Profile,
    /// By PRIORITY_UPDATE (RFC 9218), beside what the profile sends. No browser does so: a control.
    PriorityUpdate,
}

impl RaiseBy {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
