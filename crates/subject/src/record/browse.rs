//! Drives the browser through a recording.

use super::exchanges::Exchanges;
use super::{Coverage, RecordSpec, RecordedPage};
use crate::freeze::freezing_script;
use crate::tools::ToolError;
use crate::tools::browser::{Event, read_json};
use crate::tools::chromium::{DevTools, QUIET_ARGUMENTS};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use unit::Instant;

/// How long the browser may take to start and to open an empty page.
const START: Duration = Duration::from_secs(20);

/// How often it is asked whether to stop.
const STEP: Duration = Duration::from_millis(100);

/// Bytes of bodies that the browser keeps until they are read.
const KEPT: u64 = 512 << 20;

/// Records the page.
pub(super) fn run(spec: &RecordSpec<'_>) -> Result<RecordedPage, ToolError> {
    let mut browser = DevTools::start_unheard(spec.program, &arguments(spec))?;
    let recorded = browse(spec, &mut browser);
    browser.close();
    recorded
}

fn arguments(spec: &RecordSpec<'_>) -> Vec<String> {
    // Without the namespaces of a trial around it, the browser keeps its own sandbox where it can have one.
    let is_root = os::process::is_root();
    let wanted = QUIET_ARGUMENTS.iter().filter(|argument| is_root || **argument != "--no-sandbox");
    let mut arguments: Vec<String> = wanted.map(|argument| (*argument).to_owned()).collect();
    arguments.push(format!("--user-data-dir={}", spec.profile.display()));
    // Frames of other sites speak through the page's own session.
    arguments.push("--disable-site-isolation-trials".to_owned());
    // Of a switch that is given twice, Chromium takes the last.
    for switch in arguments.iter_mut().filter(|one| one.starts_with("--disable-features=")) {
        switch.push_str(",IsolateOrigins,site-per-process");
    }
    if spec.insecure {
        arguments.push("--ignore-certificate-errors".to_owned());
    }
    if !spec.resolver_rules.is_empty() {
        arguments.push(format!("--host-resolver-rules={}", spec.resolver_rules));
    }
    arguments.push("--remote-debugging-pipe".to_owned());
    arguments
}

fn browse(spec: &RecordSpec<'_>, browser: &mut DevTools) -> Result<RecordedPage, ToolError> {
    browser.set_deadline(os::clock::now() + START);
    let version = browser.call("Browser.getVersion", json!({}))?;
    let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
    let attached = browser
        .call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
    browser.use_session(&attached)?;
    for domain in ["Page", "Runtime", "DOM", "CSS", "Profiler"] {
        browser.call_page(&format!("{domain}.enable"), json!({}))?;
    }
    let kept = json!({"maxTotalBufferSize": KEPT, "maxResourceBufferSize": KEPT});
    browser.call_page("Network.enable", kept)?;
    let script = json!({"source": freezing_script(spec.epoch_ms)});
    browser.call_page("Page.addScriptToEvaluateOnNewDocument", script)?;
    browser.call_page("CSS.startRuleUsageTracking", json!({}))?;
    browser.call_page(
        "Profiler.startPreciseCoverage",
        json!({"callCount": false, "detailed": true}),
    )?;
    let deadline = os::clock::now() + spec.timeout;
    browser.set_deadline(deadline);
    // It is answered when the server has answered, which may be never.
    browser.tell_page("Page.navigate", json!({"url": spec.url}))?;
    let mut recording = Recording {
        exchanges: Exchanges::default(),
        sheets: BTreeMap::new(),
        loaded_s: None,
        parsed_s: None,
    };
    let was_cut = recording.watch(spec, browser, deadline)?;
    browser.set_deadline(os::clock::now() + START);
    let coverage = recording.coverage(browser)?;
    let told = browser
        .call_page("Runtime.evaluate", json!({"expression": READ, "returnByValue": true}))?;
    // A page may have a JSON.stringify of its own.
    let told = told["result"]["value"].as_str().unwrap_or_default();
    let told: Value = read_json(told.as_bytes()).unwrap_or_default();
    let wall = |at: Option<f64>, exchanges: &Exchanges| at.and_then(|at| exchanges.wall(at));
    let loaded = wall(recording.loaded_s, &recording.exchanges);
    let dom_content_loaded = wall(recording.parsed_s, &recording.exchanges);
    let mut exchanges = recording.exchanges.finish();
    exchanges.retain(|exchange| {
        ["http:", "https:", "ws:", "wss:"].iter().any(|scheme| exchange.url.starts_with(scheme))
    });
    for exchange in &mut exchanges {
        let blocking = told["blocking"].get(&exchange.url).and_then(Value::as_str);
        exchange.render_blocking = blocking.map(str::to_owned);
    }
    Ok(RecordedPage {
        browser: version["product"].as_str().unwrap_or_default().to_owned(),
        title: told["title"].as_str().unwrap_or_default().to_owned(),
        started: exchanges.first().map_or(0, |first| first.started),
        dom_content_loaded,
        loaded,
        was_cut,
        exchanges,
        coverage,
    })
}

/// The page's title, and which of its resources the page says to have waited for.
const READ: &str = r#"JSON.stringify({
  title: document.title.slice(0, 300),
  blocking: Object.fromEntries(performance.getEntriesByType('resource')
    .filter(entry => entry.renderBlockingStatus).map(entry => [entry.name, entry.renderBlockingStatus])),
})"#;

struct Recording {
    exchanges: Exchanges,
    /// Style sheets by their identifiers: URL and length.
    sheets: BTreeMap<String, (String, u64)>,
    loaded_s: Option<f64>,
    parsed_s: Option<f64>,
}

impl Recording {
    /// Takes events until the page has loaded and was quiet for a while; whether the time was over before.
    fn watch(
        &mut self,
        spec: &RecordSpec<'_>,
        browser: &mut DevTools,
        deadline: Instant,
    ) -> Result<bool, ToolError> {
        let mut quiet_since = None;
        loop {
            if (spec.is_stopped)() {
                return Err(ToolError::Broken("it was interrupted".to_owned()));
            }
            if let Some(error) = self.exchanges.refusal() {
                return Err(ToolError::Broken(format!("{}: {error}", spec.url)));
            }
            let now = os::clock::now();
            if now >= deadline && !self.exchanges.has_document() {
                let limit = unit::format_duration(spec.timeout);
                return Err(ToolError::Broken(format!("{}: no answer within {limit}", spec.url)));
            }
            if now >= deadline {
                return Ok(true);
            }
            let is_quiet = self.loaded_s.is_some() && self.exchanges.is_idle();
            let since = is_quiet.then(|| quiet_since.unwrap_or(now));
            if since.is_some_and(|since| now.since(since) >= spec.quiet) {
                return Ok(false);
            }
            quiet_since = since;
            let Some(event) = browser.event((now + STEP).min(deadline))? else { continue };
            self.take(browser, &event)?;
            if self.exchanges.is_loading(&event) {
                quiet_since = None;
            }
        }
    }

    fn take(&mut self, browser: &mut DevTools, event: &Event) -> Result<(), ToolError> {
        match event.method.as_str() {
            "Page.loadEventFired" => {
                self.loaded_s = self.loaded_s.or(event.params["timestamp"].as_f64());
            }
            "Page.domContentEventFired" => {
                self.parsed_s = self.parsed_s.or(event.params["timestamp"].as_f64());
            }
            "CSS.styleSheetAdded" => self.note_sheet(&event.params["header"]),
            _ => {
                if let Some(id) =
                    self.exchanges.take(event).filter(|id| self.exchanges.has_body(id))
                {
                    self.read_body(browser, &id);
                }
            }
        }
        Ok(())
    }

    /// Reads a body. The browser keeps none of some responses: then there is none.
    fn read_body(&mut self, browser: &mut DevTools, id: &str) {
        let read = browser.call_page("Network.getResponseBody", json!({"requestId": id}));
        let Ok(read) = read else { return };
        let text = read["body"].as_str().unwrap_or_default();
        let body = match read["base64Encoded"].as_bool() {
            Some(true) => BASE64_STANDARD.decode(text).ok(),
            _ => Some(text.as_bytes().to_vec()),
        };
        if let Some(body) = body {
            self.exchanges.set_body(id, body);
        }
    }

    fn note_sheet(&mut self, header: &Value) {
        let (Some(id), Some(url)) = (header["styleSheetId"].as_str(), header["sourceURL"].as_str())
        else {
            return;
        };
        if url.starts_with("http") && header["isInline"].as_bool() == Some(false) {
            let length = header["length"].as_f64().unwrap_or(0.0) as u64;
            self.sheets.insert(id.to_owned(), (url.to_owned(), length));
        }
    }

    /// What of the style sheets and scripts was used.
    fn coverage(&self, browser: &mut DevTools) -> Result<Vec<Coverage>, ToolError> {
        let rules = browser.call_page("CSS.stopRuleUsageTracking", json!({}))?;
        let scripts = browser.call_page("Profiler.takePreciseCoverage", json!({}))?;
        let mut used: BTreeMap<&str, u64> = BTreeMap::new();
        for rule in rules["ruleUsage"].as_array().into_iter().flatten() {
            if rule["used"].as_bool() == Some(true)
                && let Some(id) = rule["styleSheetId"].as_str()
            {
                *used.entry(id).or_default() += range(rule).map_or(0, |(from, to)| to - from);
            }
        }
        let sheet = |(id, (url, total)): (&String, &(String, u64))| Coverage {
            url: url.clone(),
            total: *total,
            used: used.get(id.as_str()).copied().unwrap_or(0).min(*total),
        };
        let mut all: Vec<Coverage> = self.sheets.iter().map(sheet).collect();
        all.extend(scripts["result"].as_array().into_iter().flatten().filter_map(script_coverage));
        Ok(all)
    }
}

fn range(of: &Value) -> Option<(u64, u64)> {
    let number = |name: &str| of[name].as_f64().map(|n| n.max(0.0) as u64);
    let (from, to) = (number("startOffset")?, number("endOffset")?);
    (from <= to).then_some((from, to))
}

/// Of a script: the ranges are nested, and an inner one says more than the one around it.
fn script_coverage(script: &Value) -> Option<Coverage> {
    let url = script["url"].as_str().filter(|url| url.starts_with("http"))?;
    let functions = script["functions"].as_array()?.iter();
    let mut ranges: Vec<(u64, u64, bool)> = functions
        .flat_map(|function| function["ranges"].as_array().into_iter().flatten())
        .filter_map(|one| {
            let (from, to) = range(one)?;
            Some((from, to, one["count"].as_u64().unwrap_or(0) > 0))
        })
        .collect();
    let total = ranges.iter().map(|(_, to, _)| *to).max()?;
    // The widest first: each is painted over by those within it.
    ranges.sort_by_key(|(from, to, _)| (std::cmp::Reverse(to - from), *from));
    let mut edges: Vec<u64> = ranges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut runs = vec![false; edges.len()];
    for (from, to, ran) in ranges {
        let (first, last) =
            (edges.partition_point(|e| *e < from), edges.partition_point(|e| *e < to));
        runs[first..last].fill(ran);
    }
    let pieces = edges.windows(2).zip(&runs).filter(|(_, ran)| **ran);
    let used = pieces.map(|(piece, _)| piece[1] - piece[0]).sum();
    Some(Coverage { url: url.to_owned(), total, used })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_range_says_more_than_the_one_around_it() {
        let script = json!({"url": "http://a/x.js", "functions": [
            {"ranges": [{"startOffset": 0, "endOffset": 100, "count": 1}]},
            {"ranges": [{"startOffset": 10, "endOffset": 40, "count": 0}]},
            {"ranges": [{"startOffset": 50, "endOffset": 90, "count": 1}, {"startOffset": 60, "endOffset": 70, "count": 0}]},
        ]});
        let coverage = script_coverage(&script).unwrap();
        assert_eq!((coverage.total, coverage.used), (100, 60));
        assert_eq!(script_coverage(&json!({"url": "", "functions": []})), None);
    }
}
