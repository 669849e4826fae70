//! What of a recorded page waits for its style sheets and scripts. A recording has no markup, so this is inferred, unless
//! the page itself said it (`_renderBlocking`).

use crate::graph::Page;
use crate::priority::{Hint, Rank};
use crate::resource::{Blocks, Kind, Resource, ResourceId};
use unit::ByteSize;

/// Says what waits for each style sheet and script. What the document itself named blocks, and so does a style sheet that a style sheet imports. Chromium asks for async and deferred scripts
/// and for style sheets of other media at Low or below; which of them are deferred cannot be told.
pub(super) fn mark(resources: &mut [Resource], document: usize) {
    let kinds: Vec<Kind> = resources.iter().map(|resource| resource.kind).collect();
    for resource in resources {
        let by = resource.release.initiator().map(ResourceId::index);
        let is_late = matches!(resource.hint, Hint::Recorded(rank) if rank <= Rank::Low);
        let in_markup = by == Some(document);
        let is_imported = by.is_some_and(|by| kinds[by] == Kind::Stylesheet);
        resource.blocks = match resource.kind {
            _ if is_late => Blocks::Nothing,
            Kind::Stylesheet if in_markup || is_imported => Blocks::Painting,
            Kind::Script if in_markup => Blocks::Parsing,
            _ => Blocks::Nothing,
        };
    }
}

/// What the page itself said goes before that. Of a script that the first paint does not wait for it is not known whether
/// the parser does: one in the body may stop it.
pub(super) fn heed(resources: &mut [Resource], said: impl Iterator<Item = Option<bool>>) {
    for (resource, said) in resources.iter_mut().zip(said) {
        resource.blocks = match (resource.kind, said) {
            (Kind::Stylesheet, Some(true)) => Blocks::Painting,
            (Kind::Stylesheet, Some(false)) => Blocks::Nothing,
            (Kind::Script, Some(true)) => Blocks::Parsing,
            _ => resource.blocks,
        };
    }
}

/// Where the head of the page ends: behind the last style sheet and script in it that something waits for. Chromium asks
/// for scripts that stand late in the body at Medium. Without recorded priorities async and deferred scripts look like those
/// that the parser waits for: the last one then is no reason to hold anything back, and the head ends where it stands.
pub(super) fn with_head(page: Page) -> Page {
    let is_in_head = |resource: &&Resource| {
        resource.blocks != Blocks::Nothing && resource.hint != Hint::Recorded(Rank::Medium)
    };
    let end = |resource: &Resource| {
        let is_sure = matches!(resource.hint, Hint::Recorded(_));
        Some(page.offset(resource)? + u64::from(is_sure))
    };
    let blocking = page.resources().iter().filter(is_in_head);
    let end = blocking.filter_map(end).max().unwrap_or(0);
    page.with_body_at(ByteSize(end))
}
