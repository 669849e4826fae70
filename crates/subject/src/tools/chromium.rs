//! Chromium and its relatives, driven by the DevTools protocol over a pipe (`--remote-debugging-pipe`): one new browser, one
//! new context, one page. A trial is cold: no cache, no cookie, no connection, no session of TLS.
//!
//! Zero of the protocol's times is CLOCK_MONOTONIC's, as that of wirelap's own. Times that only the page knows count from its
//! `performance.timeOrigin`, and a request's wall time joins the two.

mod arguments;
mod devtools;
mod fetches;
mod screenshots;

use super::browser::{OBSERVERS, PageTimes, READ, SETTLE, check};
use super::{Emit, ToolError};
use crate::contract::{DoneLine, Job, OutputLine, ReadyLine};
use crate::freeze::replaying_script;
pub(crate) use arguments::QUIET as QUIET_ARGUMENTS;
pub(crate) use devtools::DevTools;
use fetches::Fetches;
use serde_json::json;
use std::time::Duration;
use unit::Instant;

/// How long the browser may take to start and to open an empty page.
const START: Duration = Duration::from_secs(20);

/// Does the job by the browser `program`.
pub(super) fn run(job: &Job, program: &str, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    check(job)?;
    let arguments = arguments::of(job)?;
    let mut browser = DevTools::start(program, &arguments)?;
    browser.set_deadline(os::clock::now() + START);
    let version = browser.call("Browser.getVersion", json!({}))?;
    let context = browser.call("Target.createBrowserContext", json!({}))?;
    let target = browser.call(
        "Target.createTarget",
        json!({"url": "about:blank", "browserContextId": context["browserContextId"]}),
    )?;
    let attached = browser
        .call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
    browser.use_session(&attached)?;
    for domain in ["Page", "Network", "Runtime"] {
        browser.call_page(&format!("{domain}.enable"), json!({}))?;
    }
    browser.call_page("Page.addScriptToEvaluateOnNewDocument", json!({ "source": OBSERVERS }))?;
    if let Some(replay) = &job.replay {
        let script = json!({ "source": replaying_script(replay.epoch_ms, job.transport) });
        browser.call_page("Page.addScriptToEvaluateOnNewDocument", script)?;
    }
    if job.film.is_some() {
        screenshots::begin(&mut browser)?;
    }
    let product = version["product"].as_str().unwrap_or_default();
    let (name, version) = product.split_once('/').unwrap_or((product, ""));
    emit(OutputLine::Ready(ReadyLine {
        name: Some(name.to_owned()),
        version: Some(version.to_owned()),
        ..ReadyLine::default()
    }))?;
    load(job, &mut browser, emit)?;
    browser.close()
}

/// Loads the page, from `ready` to `done`.
fn load(job: &Job, browser: &mut DevTools, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let zero = os::clock::now();
    let deadline = zero + job.timeout();
    browser.set_deadline(deadline);
    let document = job.fetches.first().map(|fetch| fetch.url.as_str()).unwrap_or_default();
    let navigation = browser.call_page("Page.navigate", json!({ "url": document }))?;
    let mut fetches = Fetches::new(job, zero);
    if let Some(error) = navigation["errorText"].as_str() {
        fetches.refuse(error);
    } else {
        watch(browser, &mut fetches, deadline)?;
    }
    let times = match fetches.is_refused() {
        true => None,
        false => page_times(browser)?,
    };
    let frames = match &job.film {
        Some(folder) => screenshots::end(browser, zero, folder)?,
        None => Vec::new(),
    };
    fetches.end(os::clock::now());
    for line in fetches.lines() {
        emit(OutputLine::Fetch(line))?;
    }
    if let Some(times) = times {
        let mut line = times.line(fetches.zero_wall_ms().unwrap_or(0.0), fetches.unlisted());
        screenshots::judge(&frames, fetches.begun_ms(), &mut line)?;
        emit(OutputLine::Page(line))?;
    }
    // It opens connections that carry nothing, too, and tells of none of them.
    emit(OutputLine::Done(DoneLine::default()))?;
    Ok(())
}

/// Takes the browser's events until the page has loaded and nothing is under way, or the time is over.
fn watch(
    browser: &mut DevTools,
    fetches: &mut Fetches<'_>,
    deadline: Instant,
) -> Result<(), ToolError> {
    let mut loaded = false;
    while !(loaded && fetches.is_idle()) {
        let Some(event) = browser.event(deadline)? else { return Ok(()) };
        match event.method.as_str() {
            "Page.loadEventFired" => loaded = true,
            _ => fetches.take(&event),
        }
    }
    // What is painted last is reported with the frame after it; what the page asks for meanwhile counts, too.
    let script = json!({ "expression": SETTLE, "awaitPromise": true });
    browser.call_page("Runtime.evaluate", script)?;
    while !fetches.is_idle() || browser.has_events() {
        let Some(event) = browser.event(deadline)? else { return Ok(()) };
        fetches.take(&event);
    }
    Ok(())
}

/// Asks the page; None where it has nothing to tell.
fn page_times(browser: &mut DevTools) -> Result<Option<PageTimes>, ToolError> {
    let script = json!({ "expression": READ, "returnByValue": true });
    let answer = browser.call_page("Runtime.evaluate", script)?;
    if let Some(fault) = answer["exceptionDetails"]["text"].as_str() {
        return Err(ToolError::Broken(format!("the page does not tell its times: {fault}")));
    }
    PageTimes::parse(answer["result"]["value"].as_str().unwrap_or_default())
}
