//! What Firefox does before its work and after it: the earlier visit, the empty document that scripts run in, and the next load of a
//! page whose first one found HTTP/3.

use super::{Tab, evaluate, view};
use crate::contract::{EarlierVisit, Job, NextLine};
use crate::tools::ToolError;
use crate::tools::browser::{BLANK, REST, Zero, ask_all, document, next_line};
use serde_json::json;
use unit::Instant;

/// Makes the earlier visit.
pub(super) fn make(job: &Job, visit: &EarlierVisit, tab: &mut Tab) -> Result<(), ToolError> {
    let zero = Zero::now();
    let deadline = zero.at + job.timeout();
    if visit.page {
        view(job, tab, zero, deadline)?.all_came("the first view")?;
    }
    if !visit.asks.is_empty() {
        ask(job, &visit.asks, tab, deadline)?;
    }
    leave(tab)
}

/// Loads the page once more over new connections, with an empty cache. At `closing` the server closes those that stand.
pub(super) fn next(
    job: &Job,
    closing: &str,
    tab: &mut Tab,
    zero: Zero,
) -> Result<NextLine, ToolError> {
    let deadline = os::clock::now() + job.timeout();
    ask(job, &[closing.to_owned()], tab, deadline)?;
    // Every request is made as if nothing was kept.
    tab.browser.call("network.setCacheBehavior", json!({ "cacheBehavior": "bypass" }))?;
    leave(tab)?;
    let next = view(job, tab, zero, deadline)?;
    next.all_came("the next view")?;
    next_line(&next.lines())
}

/// Opens `url` with an empty document that is answered here in the server's place.
pub(super) fn open_blank(tab: &mut Tab, url: &str, deadline: Instant) -> Result<(), ToolError> {
    const PHASE: &str = "network.beforeRequestSent";
    let (browser, page) = (&mut tab.browser, &tab.page);
    browser.set_deadline(deadline);
    let events = json!({ "events": [PHASE, "browsingContext.load"], "contexts": [page] });
    let subscribed = browser.call("session.subscribe", events)?;
    let intercept = json!({ "phases": ["beforeRequestSent"], "contexts": [page] });
    let intercept = browser.call("network.addIntercept", intercept)?;
    let to_blank = json!({ "context": page, "url": url, "wait": "none" });
    // Its answer comes with the document's.
    browser.post("browsingContext.navigate", to_blank)?;
    let mut is_answered = false;
    loop {
        let Some(event) = browser.event(deadline)? else {
            return Err(ToolError::Broken("the browser opened no empty page".to_owned()));
        };
        match event.method.as_str() {
            PHASE if event.params["isBlocked"].as_bool() == Some(true) => {
                let html = json!({ "type": "string", "value": "text/html" });
                let answer = json!({
                    "request": event.params["request"]["request"],
                    "statusCode": 200,
                    "reasonPhrase": "OK",
                    "headers": [{ "name": "content-type", "value": html }],
                    "body": { "type": "string", "value": BLANK },
                });
                browser.call("network.provideResponse", answer)?;
                is_answered = true;
            }
            "browsingContext.load" if is_answered => break,
            _ => {}
        }
    }
    browser.call("network.removeIntercept", json!({ "intercept": intercept["intercept"] }))?;
    let own = json!({ "subscriptions": [subscribed["subscription"]] });
    browser.call("session.unsubscribe", own).map(|_| ())
}

/// Asks for `urls` from a page of the origin.
fn ask(job: &Job, urls: &[String], tab: &mut Tab, deadline: Instant) -> Result<(), ToolError> {
    open_blank(tab, &document(job), deadline)?;
    evaluate(&mut tab.browser, &tab.page, &ask_all(urls)).map(|_| ())
}

/// Leaves the page, and waits until what the server has closed is closed here.
fn leave(tab: &mut Tab) -> Result<(), ToolError> {
    let empty = json!({ "context": tab.page, "url": "about:blank", "wait": "complete" });
    tab.browser.call("browsingContext.navigate", empty)?;
    std::thread::sleep(REST);
    tab.browser.forget_events()
}
