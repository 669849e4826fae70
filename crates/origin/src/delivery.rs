//! A delivery policy at work in one thread: the policy, and which of its pushes were said not to be made.

use crate::access::{AccessLog, NotPushed, SkippedPush};
use crate::config::OriginConfig;
use crate::policy::{DeliveryPolicy, Tracking};
use proto::schedule::Policy;
use std::collections::HashSet;
use std::sync::Arc;

/// A policy, and what it has said.
#[derive(Debug)]
pub(crate) struct Delivery {
    policy: Arc<DeliveryPolicy>,
    /// Whether the assets that block rendering go first.
    pub(crate) blocking_assets: BlockingAssets,
    /// The skipped pushes that were told.
    told: HashSet<(Box<str>, NotPushed)>,
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
        Some(Box::new(Self { policy, blocking_assets, told: HashSet::new() }))
    }

    pub(crate) fn policy(&self) -> Arc<DeliveryPolicy> {
        Arc::clone(&self.policy)
    }

    /// Tells the log that something is not pushed, once for each target and cause.
    pub(crate) fn skip(&mut self, log: Option<&dyn AccessLog>, target: &str, why: NotPushed) {
        if self.told.len() < MOST_TOLD
            && self.told.insert((target.into(), why))
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

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Skipped pushes that are told, in all.
const MOST_TOLD: usize = 256;

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
}
