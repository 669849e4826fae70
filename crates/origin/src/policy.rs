//! [`DeliveryPolicy`]: what an origin sends besides the answer, and in which order. The one rule: a policy is plain values that say
//! what is wanted. What becomes of it on a connection is `session/deliver.rs`.

mod glob;
mod link;

pub use glob::{BadGlob, Glob};
pub use link::{BadLink, Link};

use proto::schedule::Incremental;
use wire::casper::Capacity;

/// What an origin does by itself: pushes, early hints, links, the order of delivery.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryPolicy {
    /// What is wanted for which requests. All rules that match apply, in order.
    pub rules: Vec<Rule>,
    /// How responses are pushed.
    pub push: PushSettings,
    /// Pushes only what the browser's cookie does not name; None pushes blindly.
    pub casper: Option<CasperSettings>,
    /// What is done with the assets that a document is known to load.
    pub learned: LearnedSettings,
}

/// What is wanted for the requests whose host and path match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The host asked for, without its port; None for any.
    pub host: Option<Glob>,
    /// The path asked for, without its query unless the pattern has one; None for any.
    pub path: Option<Glob>,
    /// The media type of the response, without its parameters; None for any.
    pub media_type: Option<Glob>,
    /// Paths of the same host, with their queries, that are pushed as soon as the request is there.
    pub push: Vec<String>,
    /// `Link` fields of a 103 response (RFC 8297), sent as soon as the request is there.
    pub hints: Vec<Link>,
    /// `Link` fields of the final response.
    pub links: Vec<Link>,
    /// The order of the response among others on its connection, whatever the client asks for. The last rule that says one
    /// decides.
    pub urgency: Option<Urgency>,
}

/// A response's place among others: [`proto::schedule::Priority::Decided`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgency {
    /// 0 to 2: before all that no rule names; 4 to 7: after it; 3: as the client asks.
    pub urgency: u8,
    /// Whether it shares the rate with its equals.
    pub incremental: Incremental,
}

/// How responses are pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSettings {
    /// Whether `Link: rel=preload` of a response pushes what it names, as H2O does.
    pub by_link: ByLink,
    /// Where pushed bytes stand beside those of the response that they belong to.
    pub place: PushPlace,
    /// The most pushes that a list makes for one request.
    pub most: usize,
    /// The most bytes of these responses together. The first that goes beyond it ends the list: what comes later is
    /// needed later. So does one whose size is not known yet, such as an application's. None for no limit.
    pub most_bytes: Option<u64>,
    /// Whether a response that a `Cache-Digest` field of the request names is pushed ([`wire::cache_digest`]).
    pub cache_digest: Heed,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            by_link: ByLink::Ignored,
            place: PushPlace::Before,
            most: 64,
            most_bytes: None,
            cache_digest: Heed::Ignored,
        }
    }
}

/// Whether preload links push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByLink {
    /// Links are for the client alone.
    #[default]
    Ignored,
    /// A link without `nopush` to the same origin is a push.
    Pushed,
}

/// Whether a request's word about the client's cache counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Heed {
    /// It does not.
    #[default]
    Ignored,
    /// What the client says that it has is not pushed.
    Heeded,
}

/// Where pushed bytes stand beside those of the response that they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushPlace {
    /// Before it.
    #[default]
    Before,
    /// It has one half of the bytes, and its pushes together the other.
    Interleaved,
    /// As the scheduler has it: RFC 7540 §5.3.5 makes a push depend on its response, which so goes first. Without signals of the client
    /// both take turns.
    After,
}

/// What is done with the assets that a document is known to load, in the document's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LearnedSettings {
    /// These are pushed.
    pub push: Assets,
    /// These are in `Link: rel=preload` fields of a 103 response.
    pub hints: Assets,
    /// These are in `Link: rel=preload` fields of the final response. They push nothing.
    pub links: Assets,
}

/// Some of the assets that a document loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assets {
    /// None of them.
    #[default]
    Unused,
    /// CSS, fonts, and JavaScript that is neither `async`, `defer` nor a module.
    Blocking,
    /// All of them.
    All,
}

/// Cache-aware push by H2O's cookie ([`wire::casper`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CasperSettings {
    /// Bits of a key.
    pub capacity: Capacity,
    /// Which responses the cookie names.
    pub tracking: Tracking,
}

/// Which responses a CASPER cookie names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracking {
    /// CSS and JavaScript.
    #[default]
    BlockingAssets,
    /// All, whatever their status.
    All,
}

impl DeliveryPolicy {
    /// Whether it decides the order of any response.
    pub(crate) fn decides(&self) -> bool {
        let pushes = self.push.by_link == ByLink::Pushed
            || self.learned.push != Assets::Unused
            || self.rules.iter().any(|rule| !rule.push.is_empty());
        self.rules.iter().any(|rule| rule.urgency.is_some())
            || (pushes && self.push.place != PushPlace::After)
    }

    /// The rules for a request and its response.
    pub(crate) fn matching<'p, 'r>(
        &'p self,
        subject: Subject<'r>,
    ) -> impl Iterator<Item = &'p Rule> + use<'p, 'r> {
        self.rules.iter().filter(move |rule| rule.matches(subject))
    }
}

/// What rules are compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The host asked for, without its port.
    pub(crate) host: &'a str,
    /// The path and query asked for.
    pub(crate) target: &'a str,
    /// The media type of the response; empty where it has none.
    pub(crate) media_type: &'a str,
}

impl Assets {
    /// Whether an asset that blocks rendering, or does not, is among them.
    pub(crate) fn has(self, asset: Blocks) -> bool {
        match self {
            Self::Unused => false,
            Self::Blocking => asset == Blocks::Rendering,
            Self::All => true,
        }
    }
}

/// What waits for an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Nothing is painted without it.
    Rendering,
    /// Nothing waits for it.
    Nothing,
}

impl Rule {
    fn matches(&self, Subject { host, target, media_type }: Subject<'_>) -> bool {
        self.host.as_ref().is_none_or(|glob| glob.matches_host(host))
            && self.path.as_ref().is_none_or(|glob| glob.matches_path(target))
            && self.media_type.as_ref().is_none_or(|glob| glob.matches_media_type(media_type))
    }
}
