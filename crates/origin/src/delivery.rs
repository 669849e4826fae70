//! A delivery policy at work in one thread: the policy, and which of its pushes were said not to be made; what can be pushed.

use crate::access::{AccessLog, NotPushed, SkippedPush};
use crate::across_threads::{AcrossThreads, MOST_TOLD};
use crate::answer::Plan;
use crate::config::OriginConfig;
use crate::files::Files;
use crate::learned::{Keeps, PageAssets};
use crate::media_type::{self, essence};
use crate::policy::{DeliveryPolicy, LearnedSettings, Tracking};
use crate::site::{BeyondFiles, Site};
use page::Url;
use proto::schedule::Policy;
use proto::{Fields, RequestHead, Scheme, Status};
use std::collections::HashSet;
use std::sync::Arc;
use unit::Instant;
use wire::cache_digest;

/// Finds out before anything is served whether a policy's pushes can be made.
#[derive(Debug)]
pub struct PushCheck {
    site: Site,
}

impl PushCheck {
    /// Against an origin with these files, and its own synthetic pages.
    pub fn new(files: Box<dyn Files>) -> Self {
        Self { site: Site::new(Some(files), None, None) }
    }

    /// Against an origin with these files before an application server, which may answer whatever is asked for.
    pub fn before_application(files: Box<dyn Files>) -> Self {
        let site = Site::new(Some(files), None, None);
        Self { site: site.with_beyond_files(BeyondFiles::Application) }
    }

    /// Whether a request for the root of a host could push this target.
    pub fn check(&mut self, now: Instant, target: &str) -> Result<(), NotPushed> {
        let parent = RequestHead::get(Scheme::Https, "localhost", "/");
        let request = promised_request(&parent, target).ok_or(NotPushed::OtherOrigin)?;
        pushable(&self.site.plan(now, &request), &request.path).map(drop)
    }
}

/// A policy, and what it has said.
#[derive(Debug)]
pub(crate) struct Delivery {
    policy: Arc<DeliveryPolicy>,
    /// Whether the assets that block rendering go first.
    pub(crate) blocking_assets: BlockingAssets,
    /// What documents load.
    pub(crate) pages: PageAssets,
    /// The skipped pushes that were told, here or by another thread.
    told: HashSet<(Box<str>, NotPushed)>,
    across_threads: AcrossThreads,
}

/// When the assets that block rendering are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockingAssets {
    /// As the client asks.
    AsAsked,
    /// Before all else.
    First,
}

impl Delivery {
    /// None where the client decides everything.
    pub(crate) fn of(config: &OriginConfig) -> Option<Box<Self>> {
        let blocking_assets = match config.priorities {
            Policy::ServerDriven => BlockingAssets::First,
            _ => BlockingAssets::AsAsked,
        };
        let policy = match (&config.delivery, blocking_assets) {
            (None, BlockingAssets::AsAsked) => return None,
            (None, BlockingAssets::First) => Arc::default(),
            (Some(policy), _) => Arc::clone(policy),
        };
        let keeps = match policy.learned == LearnedSettings::default() {
            true => Keeps::Ordered,
            false => Keeps::All,
        };
        Some(Box::new(Self {
            policy,
            blocking_assets,
            pages: PageAssets::new(keeps),
            told: HashSet::new(),
            across_threads: config.across_threads.clone(),
        }))
    }

    pub(crate) fn policy(&self) -> Arc<DeliveryPolicy> {
        Arc::clone(&self.policy)
    }

    /// Whether [`Self::skip`] would tell nothing more of this target.
    pub(crate) fn has_told(&self, target: &str, why: NotPushed) -> bool {
        self.told.len() >= MOST_TOLD || self.told.contains(&(target.into(), why))
    }

    /// Tells the log that something is not pushed, once for each target and cause, in whichever thread that is.
    pub(crate) fn skip(&mut self, log: Option<&dyn AccessLog>, target: &str, why: NotPushed) {
        if self.told.len() < MOST_TOLD
            && self.told.insert((target.into(), why))
            && self.across_threads.is_first_to_tell(target, why)
            && let Some(log) = log
        {
            log.not_pushed(&SkippedPush { target, why });
        }
    }
}

/// Whether a response of this media type blocks rendering: CSS, JavaScript, fonts.
pub(crate) fn blocks_rendering(media_type: &str) -> bool {
    is_css_or_script(media_type) || essence(media_type).starts_with("font/")
}

/// Whether a CASPER cookie names a response of this media type.
pub(crate) fn is_tracked(tracking: Tracking, media_type: &str) -> bool {
    tracking == Tracking::All || is_css_or_script(media_type)
}

fn is_css_or_script(media_type: &str) -> bool {
    // RFC 9239 §6.
    let known =
        ["text/css", "text/javascript", "application/javascript", "application/x-javascript"];
    known.iter().any(|known| essence(media_type).eq_ignore_ascii_case(known))
}

/// The request that a promise makes up; None for another origin. It has the fields that may decide which
/// representation is sent, as H2O copies them.
pub(crate) fn promised_request(parent: &RequestHead, target: &str) -> Option<RequestHead> {
    let base = format!("{}://{}{}", parent.scheme.as_str(), parent.authority, parent.path);
    let base: Url = base.parse().ok()?;
    let url = base.join(target).ok()?;
    if (url.scheme, &url.host, url.port) != (base.scheme, &base.host, base.port) {
        return None;
    }
    let authority = parent.authority.as_str();
    let mut request = RequestHead::get(parent.scheme, authority, url.path);
    for field in parent.fields.iter() {
        if COPIED.iter().any(|name| field.name.eq_ignore_ascii_case(name)) {
            request.fields.push_field(field);
        }
    }
    Some(request)
}

/// Of a request's fields those that a policy reads after the request has begun, in at most so many bytes. What does not fit is left
/// out.
pub(crate) fn read_by_policy(fields: &Fields, most: usize) -> Fields {
    let mut left = most;
    let kept = fields.iter().filter(|field| {
        let is = |name: &[u8]| field.name.eq_ignore_ascii_case(name);
        let is_read = COPIED.iter().any(|name| is(name)) || is(cache_digest::FIELD.as_bytes());
        let size = field.list_size();
        let fits = is_read && size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    let kept: Vec<_> = kept.collect();
    let bytes = kept.iter().map(|field| field.name.len() + field.value.len()).sum();
    let mut read = Fields::with_capacity(kept.len(), bytes);
    kept.into_iter().for_each(|field| read.push_field(field));
    read
}

/// The media type of a planned response; empty where it is not known yet, and where there is none.
pub(crate) fn media_type_of(plan: &Plan) -> &str {
    fields_of(plan).and_then(|fields| fields.find_str("content-type")).unwrap_or_default()
}

/// The `ETag` of a planned response.
pub(crate) fn etag_of(plan: &Plan) -> Option<&[u8]> {
    fields_of(plan)?.find(b"etag")
}

/// The fields of a planned response, where they are known yet.
fn fields_of(plan: &Plan) -> Option<&Fields> {
    match plan {
        Plan::Answer(answer) => Some(&answer.fields),
        Plan::Cached(cached) => Some(cached.fields()),
        _ => None,
    }
}

/// Bytes of a planned response's body; None where they are not known yet, as of an application's.
pub(crate) fn size_of(plan: &Plan) -> Option<u64> {
    match plan {
        Plan::Answer(answer) => Some(answer.body.left()),
        Plan::Cached(cached) => Some(cached.body().left()),
        _ => None,
    }
}

/// The media type of a response that can be pushed.
pub(crate) fn pushable(plan: &Plan, path: &str) -> Result<String, NotPushed> {
    let (status, fields) = match plan {
        Plan::Answer(answer) => (answer.status, &answer.fields),
        Plan::Cached(cached) => (cached.status(), cached.fields()),
        // The application has not answered: the name tells the media type.
        Plan::Forward => {
            let name = path.split('?').next().unwrap_or_default();
            return Ok(media_type::of_path(name).to_owned());
        }
        _ => return Err(NotPushed::NotPlain),
    };
    match status {
        Status::OK => Ok(fields.find_str("content-type").unwrap_or_default().to_owned()),
        other => Err(NotPushed::Status(other.code())),
    }
}

/// The fields of a request that its pushes have, too.
const COPIED: [&[u8]; 5] =
    [b"accept", b"accept-charset", b"accept-encoding", b"accept-language", b"user-agent"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn css_scripts_and_fonts_block_rendering_and_cookies_name_the_first_two() {
        for (media_type, blocks, tracked) in [
            ("text/css; charset=utf-8", true, true),
            ("Text/JavaScript", true, true),
            ("application/javascript", true, true),
            ("font/woff2", true, false),
            ("text/html", false, false),
            ("image/png", false, false),
            ("", false, false),
        ] {
            assert_eq!(blocks_rendering(media_type), blocks, "{media_type}");
            assert_eq!(is_tracked(Tracking::BlockingAssets, media_type), tracked, "{media_type}");
            assert!(is_tracked(Tracking::All, media_type));
        }
    }

    #[test]
    fn of_a_large_request_what_a_policy_reads_is_kept_within_bounds() {
        let long = "x".repeat(3_000);
        let fields = Fields::new()
            .with("cookie", &long)
            .with("Accept-Encoding", "br")
            .with("cache-digest", &long)
            .with("cache-digest", &long)
            .with("user-agent", "a browser");
        let kept = read_by_policy(&fields, 4_096);
        let names: Vec<_> = kept.iter().map(|field| field.name).collect();
        assert_eq!(names, [&b"Accept-Encoding"[..], b"cache-digest", b"user-agent"]);
        assert!(kept.capacity() <= 4_096);
        let many = (0..1_000).fold(Fields::new(), |all, _| all.with("accept", "*"));
        assert!(read_by_policy(&many, 4_096).capacity() <= 4_096);
    }
}
