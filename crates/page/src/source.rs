//! The source of a workload's page, as a stored trial names it.

use crate::browser::Browser;
use crate::graph::Page;
use crate::load::Load;
use crate::synthetic::{Synthetic, SyntheticError};
use crate::url::Url;
use serde::{Deserialize, Serialize};
use unit::Instant;

/// A page to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PageSource {
    /// Generated from a seed. Its resources are found in its HTML as the bytes arrive.
    Synthetic(Synthetic),
    /// Read from a recording. Its graph is known, and its bodies are noise of the recorded size.
    Recorded(Page),
}

impl PageSource {
    /// The page's graph. A synthetic page is served by `origin`; a recorded one names its own hosts.
    pub fn page(&self, origin: &Url) -> Result<Page, SyntheticError> {
        match self {
            Self::Synthetic(synthetic) => synthetic.page(origin),
            Self::Recorded(page) => Ok(page.clone()),
        }
    }

    /// Begins a load of it.
    pub fn load(
        &self,
        origin: &Url,
        browser: Browser,
        now: Instant,
    ) -> Result<Load, SyntheticError> {
        match self {
            Self::Synthetic(synthetic) => {
                Ok(Load::browse(origin.join(&synthetic.target())?, browser, now))
            }
            Self::Recorded(page) => Ok(Load::replay(page, browser, now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_synthetic_page_is_found_in_its_bytes_as_its_graph_says() {
        let origin: Url = "http://far/".parse().unwrap();
        let synthetic = Synthetic { images: 7, ..Synthetic::default() };
        let source = PageSource::Synthetic(synthetic);
        let page = source.page(&origin).unwrap();
        let now = Instant::ZERO;
        let mut load = source.load(&origin, Browser::Chrome156, now).unwrap();
        let mut asked = BTreeSet::new();
        while let Some(fetch) = load.poll_fetch(now) {
            if asked.is_empty() {
                load.handle_body(fetch.id, synthetic.html().as_bytes(), now);
            }
            asked.insert(fetch.url);
            load.handle_done(fetch.id, now);
        }
        let expected: BTreeSet<_> = page.resources().iter().map(|r| r.url.clone()).collect();
        assert_eq!(asked, expected);
        assert_eq!(load.milestones().load, Some(now));
        let text = serde_json::to_string(&source).unwrap();
        assert_eq!(serde_json::from_str::<PageSource>(&text).unwrap(), source);
    }
}
