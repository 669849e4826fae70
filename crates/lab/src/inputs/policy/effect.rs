//! What a policy does for a contender. The one rule: a policy of which this contender can take nothing is refused; otherwise its
//! rows would say that it had it.

use super::PolicyFile;
use origin::{Assets, ByLink, DeliveryPolicy};
use proto::schedule::Policy;
use study::experiment::{Contender, Transport};

impl PolicyFile {
    /// Refuses a policy that does nothing, that only orders responses where one is sent at a time, or that only pushes or hints where
    /// wirelap's own client takes neither.
    pub(crate) fn check_effect(&self, contender: &Contender) -> Result<(), String> {
        // Another's server has no policy: its trials tell so as unsupported.
        if !contender.server.is_origin() || *self == Self::default() {
            return Ok(());
        }
        let needs = self.needs(contender);
        if needs.is_empty() {
            return Ok(());
        }
        let name = unit::escape(&contender.name);
        Err(format!(
            "the contender {name} takes nothing of its `policy`: it {}",
            needs.join(", and ")
        ))
    }

    /// What the policy does and what that needs, where the contender has none of it; else nothing.
    fn needs(&self, contender: &Contender) -> Vec<&'static str> {
        let delivery = self.delivery.clone().unwrap_or_default();
        let settings = &contender.settings;
        // What another's client takes is not known.
        let is_own = contender.client.is_none();
        let takes_hints =
            settings.early_hints && matches!(contender.transport, Transport::H2 | Transport::H3);
        let shares = contender.transport.protocol().multiplexes();
        let effects = [
            (links(&delivery), true, ""),
            (urgencies(&delivery), shares, ORDERS),
            (
                self.priorities == Some(Policy::Rfc7540),
                contender.transport.protocol().has_dependency_tree(),
                TREE,
            ),
            (self.priorities.is_some_and(|it| it != Policy::Rfc7540), shares, ORDERS),
            (pushes(&delivery), settings.push || !is_own, PUSHES),
            (hints(&delivery), takes_hints || !is_own, HINTS),
        ];
        let wanted = effects.into_iter().filter(|(is_wanted, ..)| *is_wanted);
        if wanted.clone().any(|(_, is_taken, _)| is_taken) {
            return Vec::new();
        }
        let needs: Vec<_> = wanted.map(|(.., needs)| needs).collect();
        if needs.is_empty() { vec![NOTHING] } else { needs }
    }
}

const ORDERS: &str = "orders responses, which needs a transport whose responses share a connection";
const TREE: &str = "orders responses by the dependency tree of HTTP/2, which needs h2";
const PUSHES: &str = "pushes, which needs `push = true` over h2 or SPDY";
const HINTS: &str = "hints by 103, which needs h2 or h3, and `early_hints = true` (the default)";
const NOTHING: &str = "names nothing to push, hint, link or order";

fn pushes(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.push != Assets::Unused
        || delivery.push.by_link == ByLink::Pushed
        || delivery.rules.iter().any(|rule| !rule.push.is_empty())
}

fn hints(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.hints != Assets::Unused
        || delivery.rules.iter().any(|rule| !rule.hints.is_empty())
}

/// Fields of the final answer, which every client takes.
fn links(delivery: &DeliveryPolicy) -> bool {
    delivery.learned.links != Assets::Unused
        || delivery.rules.iter().any(|rule| !rule.links.is_empty())
}

fn urgencies(delivery: &DeliveryPolicy) -> bool {
    delivery.rules.iter().any(|rule| rule.urgency.is_some())
}
