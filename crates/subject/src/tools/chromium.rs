//! Chromium and its relatives, driven by the DevTools protocol over a pipe (`--remote-debugging-pipe`): one new browser, one
//! new context, one page. A trial is cold, unless the job has an earlier visit: no cache, no cookie, no connection, no session
//! of TLS.
//!
//! Zero of the protocol's times is CLOCK_MONOTONIC's, as that of wirelap's own. Times that only the page knows count from its
//! `performance.timeOrigin`, and a request's wall time joins the two.

mod arguments;
mod blank;
mod devtools;
mod fetches;
mod screenshots;
mod visit;

use super::browser::{
    OBSERVERS, PageTimes, READ, REST, SETTLE, Told, Zero, check, document, script,
};
use super::{Emit, ToolError};
use crate::contract::{DoneLine, Job, Leaves, OutputLine, ReadyLine, Workload};
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
    let mut browser = start(job, program)?;
    if let Some(earlier) = &job.earlier {
        visit::make(job, earlier, &mut browser)?;
        if earlier.leaves == Leaves::Files {
            browser.close();
            browser = start(job, program)?;
        }
    }
    let ready = ready(&mut browser)?;
    if job.film.is_some() {
        screenshots::begin(&mut browser)?;
    }
    if job.workload != Workload::Page {
        // Part of the start: what is measured begins with the first call.
        blank::open(&mut browser, &document(job), os::clock::now() + START)?;
    }
    emit(OutputLine::Ready(ready))?;
    let zero = Zero::now();
    if job.earlier.is_some() {
        std::thread::sleep(REST);
    }
    match job.workload {
        Workload::Page => load(job, &mut browser, zero.at, emit)?,
        _ => work(job, &mut browser, zero, emit)?,
    }
    browser.close();
    Ok(())
}

/// Starts the browser with an empty page. A profile that is to outlast it is that of its one context.
fn start(job: &Job, program: &str) -> Result<DevTools, ToolError> {
    let mut browser = DevTools::start(program, &arguments::of(job, program)?)?;
    browser.set_deadline(os::clock::now() + START);
    let mut page = json!({"url": "about:blank"});
    if job.earlier.as_ref().is_none_or(|earlier| earlier.leaves != Leaves::Files) {
        let context = browser.call("Target.createBrowserContext", json!({}))?;
        page["browserContextId"] = context["browserContextId"].clone();
    }
    let target = browser.call("Target.createTarget", page)?;
    let attached = browser
        .call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}))?;
    browser.use_session(&attached)?;
    for domain in ["Page", "Runtime"] {
        browser.call_page(&format!("{domain}.enable"), json!({}))?;
    }
    if job.workload == Workload::Page {
        browser.call_page("Network.enable", json!({}))?;
        let observers = json!({ "source": OBSERVERS });
        browser.call_page("Page.addScriptToEvaluateOnNewDocument", observers)?;
    }
    if let Some(replay) = &job.replay {
        let script = json!({ "source": replaying_script(replay.epoch_ms, job.transport) });
        browser.call_page("Page.addScriptToEvaluateOnNewDocument", script)?;
    }
    Ok(browser)
}

fn ready(browser: &mut DevTools) -> Result<ReadyLine, ToolError> {
    browser.set_deadline(os::clock::now() + START);
    let version = browser.call("Browser.getVersion", json!({}))?;
    let product = version["product"].as_str().unwrap_or_default();
    let (name, version) = product.split_once('/').unwrap_or((product, ""));
    Ok(ReadyLine {
        name: Some(name.to_owned()),
        version: Some(version.to_owned()),
        ..ReadyLine::default()
    })
}

/// Makes the calls, or sends the messages, from `ready` to `done`.
fn work(
    job: &Job,
    browser: &mut DevTools,
    zero: Zero,
    emit: &mut Emit<'_>,
) -> Result<(), ToolError> {
    // The page itself gives up at the time-out.
    browser.set_deadline(os::clock::now() + job.timeout() + REST);
    let answer = blank::evaluate(browser, &script(job))?;
    Told::parse(answer.as_str().unwrap_or_default())?.tell(job, zero, emit)
}

/// Loads the page, from `ready` to `done`.
fn load(
    job: &Job,
    browser: &mut DevTools,
    zero: Instant,
    emit: &mut Emit<'_>,
) -> Result<(), ToolError> {
    let deadline = os::clock::now() + job.timeout();
    browser.set_deadline(deadline);
    let fetches = view(job, browser, zero, deadline)?;
    let times = match fetches.is_refused() {
        true => None,
        false => page_times(browser)?,
    };
    let frames = match &job.film {
        Some(folder) => screenshots::end(browser, zero, folder)?,
        None => Vec::new(),
    };
    for line in fetches.lines() {
        emit(OutputLine::Fetch(line))?;
    }
    if let Some(times) = times {
        let mut line = times.line(fetches.zero_wall_ms().unwrap_or(0.0), fetches.unlisted());
        screenshots::judge(&frames, fetches.begun_ms(), &mut line)?;
        emit(OutputLine::Page(line))?;
    }
    if let Some(closing) = &job.alt_svc {
        emit(OutputLine::Next(visit::next(job, closing, browser, zero)?))?;
    }
    // It opens connections that carry nothing, too, and tells of none of them.
    emit(OutputLine::Done(DoneLine::default()))?;
    Ok(())
}

/// Has the page loaded until the deadline; times count from `zero`.
fn view<'a>(
    job: &'a Job,
    browser: &mut DevTools,
    zero: Instant,
    deadline: Instant,
) -> Result<Fetches<'a>, ToolError> {
    let mut fetches = Fetches::new(job, zero);
    let url = job.fetches.first().map(|fetch| fetch.url.as_str()).unwrap_or_default();
    let navigation = browser.call_page("Page.navigate", json!({ "url": url }))?;
    match navigation["errorText"].as_str() {
        Some(error) => fetches.refuse(error),
        None => watch(browser, &mut fetches, deadline)?,
    }
    fetches.end(os::clock::now());
    Ok(fetches)
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
    let answer = blank::evaluate(browser, READ)?;
    PageTimes::parse(answer.as_str().unwrap_or_default())
}
