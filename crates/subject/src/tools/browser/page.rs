//! What the page itself knows of its paints and shifts: observers that are there before the page's first script, and that a
//! variable of the window keeps from the garbage collector.

use crate::contract::PageLine;
use crate::tools::ToolError;
use serde::Deserialize;

/// Runs before anything of the page does. A browser that lacks an entry type leaves its figure null.
pub(crate) const OBSERVERS: &str = r#"(() => {
  if (window !== window.top) return;
  const seen = { lcp: null, shifts: null, long: null, observers: [] };
  window.__wirelap = seen;
  const watch = (type, take) => {
    if (!(PerformanceObserver.supportedEntryTypes || []).includes(type)) return false;
    const observer = new PerformanceObserver(list => list.getEntries().forEach(take));
    observer.observe({ type, buffered: true });
    seen.observers.push(observer);
    return true;
  };
  watch('largest-contentful-paint', entry => { seen.lcp = entry; });
  if (watch('longtask', entry => { seen.long += entry.duration; })) seen.long = 0;
  const shift = entry => {
    if (entry.hadRecentInput) return;
    const s = seen.shifts;
    // A session window ends after a second without a shift, and after five seconds.
    if (s.sum && entry.startTime - s.last < 1000 && entry.startTime - s.first < 5000) s.sum += entry.value;
    else { s.sum = entry.value; s.first = entry.startTime; }
    s.last = entry.startTime;
    s.most = Math.max(s.most, s.sum);
  };
  seen.shifts = { sum: 0, first: 0, last: 0, most: 0 };
  if (!watch('layout-shift', shift)) seen.shifts = null;
})();"#;

/// Two frames and a little: the last paint is presented, and its observer has run.
pub(crate) const SETTLE: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))";

/// All that the page can tell, in one JSON text. Times are milliseconds since its `timeOrigin`.
pub(crate) const READ: &str = r#"(() => {
  const seen = window.__wirelap || {};
  const paint = name => performance.getEntriesByName(name)[0]?.startTime ?? null;
  const navigation = performance.getEntriesByType('navigation')[0] || {};
  const event = at => at > 0 ? at : null;
  const lcp = seen.lcp;
  const element = lcp && lcp.element ? lcp.element.tagName.toLowerCase() : null;
  const path = lcp && lcp.url ? new URL(lcp.url, location).pathname : '';
  return JSON.stringify({
    origin_ms: performance.timeOrigin,
    first_paint: paint('first-paint'),
    fcp: paint('first-contentful-paint'),
    lcp: lcp ? lcp.renderTime || lcp.loadTime || lcp.startTime : null,
    lcp_element: element ? (element + ' ' + path).trim().slice(0, 200) : null,
    dom_content_loaded: event(navigation.domContentLoadedEventStart),
    load: event(navigation.loadEventStart),
    final_head: navigation.firstInterimResponseStart > 0 ? event(navigation.finalResponseHeadersStart) : null,
    cls: seen.shifts ? seen.shifts.most : null,
    long: seen.long ?? null,
  });
})()"#;

/// What a page told; times are milliseconds since its `timeOrigin`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PageTimes {
    /// `timeOrigin` itself, in milliseconds of the wall clock.
    origin_ms: f64,
    first_paint: Option<f64>,
    fcp: Option<f64>,
    lcp: Option<f64>,
    lcp_element: Option<String>,
    dom_content_loaded: Option<f64>,
    load: Option<f64>,
    /// The head of the document's final response, where a 103 came before it.
    final_head: Option<f64>,
    cls: Option<f64>,
    long: Option<f64>,
}

impl PageTimes {
    /// What `READ` gave; None where the page has none to tell of.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, ToolError> {
        super::read_json(text.as_bytes())
            .map_err(|error| ToolError::Broken(format!("the page's times: {error}")))
    }

    /// When the head of the document's final response came, in milliseconds since the contract's zero; None where no 103 came
    /// before it. `zero_wall_ms` is as below.
    pub(crate) fn final_head_ms(&self, zero_wall_ms: f64) -> Option<f64> {
        Some((self.final_head? + self.origin_ms - zero_wall_ms).max(0.0))
    }

    /// As a line. `zero_wall_ms` is the contract's zero in milliseconds of the wall clock, and joins the page's clock to it;
    /// `unlisted` are the URLs that the job does not have.
    pub(crate) fn line(self, zero_wall_ms: f64, unlisted: Vec<String>) -> PageLine {
        let at = |ms: Option<f64>| ms.map(|ms| (ms + self.origin_ms - zero_wall_ms).max(0.0));
        PageLine {
            first_paint_ms: at(self.first_paint),
            fcp_ms: at(self.fcp),
            lcp_ms: at(self.lcp),
            dom_content_loaded_ms: at(self.dom_content_loaded),
            load_event_ms: at(self.load),
            cls: self.cls,
            long_tasks_ms: self.long,
            unlisted,
            lcp_element: self.lcp_element,
            speed_index_ms: None,
            visually_complete_ms: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = r#"{"origin_ms": 5000.5, "first_paint": null, "fcp": 300.0, "lcp": 420.25, "lcp_element": "img /a.png",
        "dom_content_loaded": 250.0, "load": 500.0, "final_head": 90.0, "cls": null, "long": null}"#;

    #[test]
    fn times_of_the_page_are_joined_to_the_contracts_clock_and_what_it_lacks_is_absent() {
        let times = PageTimes::parse(TOLD).unwrap().unwrap();
        assert_eq!(times.final_head_ms(4990.5), Some(100.0));
        let line = times.line(4990.5, Vec::new());
        assert_eq!((line.fcp_ms, line.lcp_ms), (Some(310.0), Some(430.25)));
        assert_eq!((line.dom_content_loaded_ms, line.load_event_ms), (Some(260.0), Some(510.0)));
        assert_eq!((line.first_paint_ms, line.cls, line.long_tasks_ms), (None, None, None));
        assert!(PageTimes::parse("null").unwrap().is_none());
        assert!(PageTimes::parse("{}").is_err());
    }
}
