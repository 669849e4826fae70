//! What a policy does for a contender. The one rule: a policy of which this contender can take nothing is refused; otherwise its
//! rows would say that it had it.

use super::PolicyFile;
use origin::{Assets, ByLink, DeliveryPolicy};
use study::experiment::{Contender, Transport};

impl PolicyFile {
    /// Refuses a policy that only pushes, or only hints, where wirelap's own client takes neither.
    pub(crate) fn check_effect(&self, contender: &Contender) -> Result<(), String> {
        let Some(delivery) = &self.delivery else { return Ok(()) };
        // What another's client takes is not known. Another's server has no policy: its trials tell so as unsupported.
        let is_own = contender.client.is_none() && contender.server.is_origin();
        if !is_own || self.priorities.is_some() || sets_more(delivery) {
            return Ok(());
        }
        let (pushes, hints) = (pushes(delivery), hints(delivery));
        let settings = &contender.settings;
        let takes_hints =
            settings.early_hints && matches!(contender.transport, Transport::H2 | Transport::H3);
        if (!pushes && !hints) || (pushes && settings.push) || (hints && takes_hints) {
            return Ok(());
        }
        let takes = match (pushes, hints) {
            (true, false) => "it pushes, which needs `push = true` over h2 or SPDY",
            (false, _) => {
                "it hints by 103, which needs h2 or h3, and `early_hints = true` (the default)"
            }
            (true, true) => {
                "it pushes, which needs `push = true` over h2 or SPDY, and hints by 103, which needs h2 or h3, and `early_hints = true` (the default)"
            }
        };
        Err(format!(
            "the contender {} takes nothing of its `policy`: {takes}",
            unit::escape(&contender.name)
        ))
    }
}

fn pushes(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.push != Assets::Unused
        || delivery.push.by_link == ByLink::Pushed
        || delivery.rules.iter().any(|rule| !rule.push.is_empty())
}

fn hints(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.hints != Assets::Unused
        || delivery.rules.iter().any(|rule| !rule.hints.is_empty())
}

/// Whether it also does what every client takes.
fn sets_more(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.links != Assets::Unused
        || delivery.rules.iter().any(|rule| !rule.links.is_empty() || rule.urgency.is_some())
}
