//! Which files of a page block its first paint, and which are fonts; and the times of the page model as metrics.

use page::{Blocks, Kind, Page, PaintTimes, Resource};
use std::collections::BTreeMap;
use std::time::Duration;
use study::metric;
use study::reconcile::Asset;
use trace::FetchRecord;

/// What blocks the paint of a page, and its fonts.
pub(super) struct Assets {
    /// By URL without its scheme: contenders with TLS fetch a page's `http` URLs as `https`.
    by_url: BTreeMap<String, Asset>,
}

impl Assets {
    pub(super) fn of(page: &Page) -> Self {
        let known = |one: &Resource| Some((one.url.to_string(), asset(one)?));
        let by_url = page.resources().iter().filter_map(known);
        Self {
            by_url: by_url.map(|(url, asset)| (without_scheme(&url).to_owned(), asset)).collect(),
        }
    }

    /// What a fetch brings.
    pub(super) fn find(&self, fetch: &FetchRecord) -> Option<Asset> {
        self.by_url.get(without_scheme(&fetch.url)).copied()
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

fn asset(resource: &Resource) -> Option<Asset> {
    match (resource.kind, resource.blocks) {
        (Kind::Font, _) => Some(Asset::Font),
        (_, Blocks::Painting) => Some(Asset::Stylesheet),
        (_, Blocks::Parsing) => Some(Asset::Script),
        (_, Blocks::Nothing | Blocks::DomContentLoaded) => None,
    }
}

/// The times that were reached, in milliseconds.
pub(super) fn paint_metrics(times: PaintTimes) -> BTreeMap<String, f64> {
    let blank = times.first_paint.zip(times.unload);
    let named: [(&str, Option<Duration>); 7] = [
        (metric::UNLOAD_MS, times.unload),
        (metric::FIRST_PAINT_MS, times.first_paint),
        (metric::BLANK_MS, blank.map(|(paint, unload)| paint.saturating_sub(unload))),
        (metric::FCP_MS, times.fcp),
        (metric::LCP_MS, times.lcp),
        (metric::DOM_CONTENT_LOADED_MS, times.dom_content_loaded),
        (metric::SPEED_INDEX_MS, times.speed_index),
    ];
    let millis =
        |(name, time): (&str, Option<Duration>)| Some((name.to_owned(), time?.as_secs_f64() * 1e3));
    named.into_iter().filter_map(millis).collect()
}
