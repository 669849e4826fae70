//! When what a page needs before it can be painted as it is meant was there: its render-blocking style sheets and
//! scripts, and its fonts. Load time says nothing of them: a contender may load the page sooner and its scripts later.

use super::path::finished;
use crate::metric;
use std::collections::BTreeMap;
use trace::{FetchOutcome, FetchRecord};

/// What a page waits for beside its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asset {
    /// A style sheet that blocks rendering.
    Stylesheet,
    /// A script that blocks rendering or parsing.
    Script,
    /// A web font.
    Font,
}

impl Asset {
    /// The metric of the time until the last one was complete.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Stylesheet => metric::STYLESHEETS_MS,
            Self::Script => metric::SCRIPTS_MS,
            Self::Font => metric::FONTS_MS,
        }
    }
}

/// When the last of each kind was complete, in milliseconds since the first fetch was queued. `asset` says what a fetch
/// brings. A kind that the page does not have, or of which a fetch failed, has no metric.
pub fn asset_metrics(
    fetches: &[FetchRecord],
    asset: impl Fn(&FetchRecord) -> Option<Asset>,
) -> BTreeMap<String, f64> {
    let Some(start) = fetches.iter().map(|fetch| fetch.phases.queued).min() else {
        return BTreeMap::new();
    };
    let mut last: BTreeMap<Asset, Option<f64>> = BTreeMap::new();
    for fetch in fetches {
        let Some(kind) = asset(fetch) else { continue };
        let complete = (fetch.outcome == FetchOutcome::Done)
            .then(|| finished(fetch).since(start).as_secs_f64() * 1e3);
        let latest = last.entry(kind).or_insert(Some(0.0));
        *latest = latest.zip(complete).map(|(a, b)| a.max(b));
    }
    let metric_of = |(kind, at): (Asset, Option<f64>)| Some((kind.metric().to_owned(), at?));
    last.into_iter().filter_map(metric_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Phases, Protocol};
    use unit::Instant;

    fn fetch(id: u32, url: &str, last_ms: u64, outcome: FetchOutcome) -> FetchRecord {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        FetchRecord {
            id,
            url: url.to_owned(),
            method: "GET".to_owned(),
            connection: Some(0),
            stream: 0,
            protocol: Protocol::Http2.into(),
            status: Some(200),
            pushed: false,
            hinted: false,
            cached: false,
            request_body_bytes: None,
            redirects: 0,
            made_again: Vec::new(),
            body_bytes: 1,
            phases: Phases {
                sent: Some(at(1_000)),
                first_byte: Some(at(1_000 + last_ms)),
                last_byte: Some(at(1_000 + last_ms)),
                ..Phases::new(at(1_000))
            },
            outcome,
        }
    }

    fn kind(fetch: &FetchRecord) -> Option<Asset> {
        match fetch.url.rsplit_once('.')?.1 {
            "css" => Some(Asset::Stylesheet),
            "js" => Some(Asset::Script),
            "woff2" => Some(Asset::Font),
            _ => None,
        }
    }

    #[test]
    fn the_last_of_each_kind_counts_and_images_do_not() {
        let fetches = [
            fetch(0, "/", 100, FetchOutcome::Done),
            fetch(1, "/a.js", 2_200, FetchOutcome::Done),
            fetch(2, "/b.js", 400, FetchOutcome::Done),
            fetch(3, "/a.css", 300, FetchOutcome::Done),
            fetch(4, "/a.png", 5_000, FetchOutcome::Done),
        ];
        let expected =
            [(metric::SCRIPTS_MS.to_owned(), 2_200.0), (metric::STYLESHEETS_MS.to_owned(), 300.0)];
        assert_eq!(asset_metrics(&fetches, kind), BTreeMap::from(expected));
        assert_eq!(asset_metrics(&[], kind), BTreeMap::new());
    }

    #[test]
    fn a_kind_of_which_a_fetch_failed_has_no_time() {
        let failed = FetchOutcome::Failed("reset".into());
        let fetches = [
            fetch(1, "/a.woff2", 200, FetchOutcome::Done),
            fetch(2, "/b.woff2", 400, failed),
            fetch(3, "/a.css", 300, FetchOutcome::Done),
        ];
        let expected = [(metric::STYLESHEETS_MS.to_owned(), 300.0)];
        assert_eq!(asset_metrics(&fetches, kind), BTreeMap::from(expected));
    }
}
