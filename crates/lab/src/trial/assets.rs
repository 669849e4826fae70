//! Which files of a page block its first paint, and which are fonts.

use page::{Hint, Kind, Page, Release, Resource};
use std::collections::BTreeMap;
use study::reconcile::Asset;

/// By URL, as fetches are recorded.
pub(super) fn assets(page: &Page) -> BTreeMap<String, Asset> {
    let resources = page.resources().iter();
    resources.filter_map(|one| Some((one.url.to_string(), asset(page, one)?))).collect()
}

/// Render-blocking is what the document itself names, or a style sheet that it names, and what nothing says to be late: a
/// script that another script asks for is asynchronous (HTML, 4.12.1), and so is one with `async` or `defer`.
fn asset(page: &Page, resource: &Resource) -> Option<Asset> {
    let by = resource.release.initiator().and_then(|by| page.resource(by)).map(|by| by.kind);
    let in_markup = by == Some(Kind::Document) && resource.release != Release::Navigation;
    let blocks = resource.hint != Hint::Lowered;
    match resource.kind {
        Kind::Stylesheet if blocks && (in_markup || by == Some(Kind::Stylesheet)) => {
            Some(Asset::Stylesheet)
        }
        Kind::Script if blocks && in_markup => Some(Asset::Script),
        Kind::Font => Some(Asset::Font),
        _ => None,
    }
}
