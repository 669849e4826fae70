//! What a browser does before its work and after it: the earlier visit, and the next load of a page whose first one found HTTP/3.

use super::devtools::DevTools;
use super::{ToolError, blank, view};
use crate::contract::{EarlierVisit, Job, NextLine};
use crate::tools::browser::{REST, ask_all, document, next_line};
use serde_json::json;
use unit::Instant;

/// Makes the earlier visit.
pub(super) fn make(
    job: &Job,
    visit: &EarlierVisit,
    browser: &mut DevTools,
) -> Result<(), ToolError> {
    let zero = os::clock::now();
    let deadline = zero + job.timeout();
    browser.set_deadline(deadline);
    if visit.page {
        view(job, browser, zero, deadline)?.all_came("the first view")?;
    }
    if !visit.asks.is_empty() {
        ask(job, &visit.asks, browser, deadline)?;
    }
    leave(browser)
}

/// Loads the page once more over new connections, with an empty cache. At `closing` the server closes those that stand.
pub(super) fn next(
    job: &Job,
    closing: &str,
    browser: &mut DevTools,
    zero: Instant,
) -> Result<NextLine, ToolError> {
    let deadline = os::clock::now() + job.timeout();
    browser.set_deadline(deadline);
    ask(job, &[closing.to_owned()], browser, deadline)?;
    browser.call_page("Network.clearBrowserCache", json!({}))?;
    leave(browser)?;
    let next = view(job, browser, zero, deadline)?;
    next.all_came("the next view")?;
    next_line(&next.lines())
}

/// Asks for `urls` from a page of the origin.
fn ask(
    job: &Job,
    urls: &[String],
    browser: &mut DevTools,
    deadline: Instant,
) -> Result<(), ToolError> {
    blank::open(browser, &document(job), deadline)?;
    blank::evaluate(browser, &ask_all(urls)).map(|_| ())
}

/// Leaves the page, and waits until what the server has closed is closed here.
fn leave(browser: &mut DevTools) -> Result<(), ToolError> {
    browser.call_page("Page.navigate", json!({ "url": "about:blank" }))?;
    std::thread::sleep(REST);
    browser.forget_events();
    Ok(())
}
