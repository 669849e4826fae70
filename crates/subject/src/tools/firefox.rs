//! Firefox, driven by WebDriver BiDi: one new browser, one new profile, one page. A trial is cold: no cache, no cookie, no
//! connection, no session of TLS.
//!
//! All of its times are the wall clock's, read together with CLOCK_MONOTONIC at `ready`. What Firefox does not tell is absent: first
//! paint, layout shifts, long tasks, a film, and what connection and TLS version a request had.

mod bidi;
mod fetches;
mod profile;
mod socket;

use super::browser::{OBSERVERS, PageTimes, READ, SETTLE, check};
use super::{Emit, ToolError};
use crate::contract::{DoneLine, Job, OutputLine, ReadyLine};
use crate::freeze::replaying_script;
use bidi::BiDi;
use fetches::{EVENTS, Fetches};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use unit::Instant;

/// How long the browser may take to start and to open an empty page.
const START: Duration = Duration::from_secs(30);

/// Does the job by the browser `program`.
pub(super) fn run(job: &Job, program: &str, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    check(job)?;
    let deadline = os::clock::now() + START;
    let mut browser = BiDi::start(command(job, program)?, deadline)?;
    let session = browser.call("session.new", json!({ "capabilities": {} }))?;
    let version = session["capabilities"]["browserVersion"].as_str();
    let tree = browser.call("browsingContext.getTree", json!({ "maxDepth": 0 }))?;
    let Some(page) = tree["contexts"][0]["context"].as_str() else {
        return Err(ToolError::Broken("the browser has no page".to_owned()));
    };
    prepare(&mut browser, page)?;
    if let Some(replay) = &job.replay {
        let freezing = format!("() => {{ {} }}", replaying_script(replay.epoch_ms, job.transport));
        browser.call("script.addPreloadScript", json!({ "functionDeclaration": freezing }))?;
    }
    emit(OutputLine::Ready(ReadyLine {
        name: Some("Firefox".to_owned()),
        version: version.map(str::to_owned),
        key_log: job.key_log.is_some(),
        ..ReadyLine::default()
    }))?;
    load(job, &mut browser, page, emit)?;
    browser.close();
    Ok(())
}

/// The browser's command line. What it leaves behind is left in the working directory, which is the trial's own.
fn command(job: &Job, program: &str) -> Result<Command, ToolError> {
    let profile = profile::make(job)?;
    let mut command = Command::new(program);
    command.args(["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile"]);
    command.arg(&profile).arg("about:blank");
    command.env("HOME", &profile).env("MOZ_CRASHREPORTER_DISABLE", "1");
    if let Some(keys) = &job.key_log {
        command.env("SSLKEYLOGFILE", keys);
    }
    Ok(command)
}

/// Opens an empty page of the page model's size, and asks for events.
fn prepare(browser: &mut BiDi, page: &str) -> Result<(), ToolError> {
    let viewport = json!({ "width": 800, "height": 600 });
    let sized = json!({ "context": page, "viewport": viewport, "devicePixelRatio": 1 });
    browser.call("browsingContext.setViewport", sized)?;
    let empty = json!({ "context": page, "url": "about:blank", "wait": "complete" });
    browser.call("browsingContext.navigate", empty)?;
    let observers = format!("() => {{ {OBSERVERS} }}");
    browser.call("script.addPreloadScript", json!({ "functionDeclaration": observers }))?;
    let mut events = EVENTS.to_vec();
    events.extend(["browsingContext.load", "browsingContext.navigationFailed"]);
    browser.call("session.subscribe", json!({ "events": events, "contexts": [page] }))?;
    evaluate(browser, page, SETTLE).map(|_| ())
}

/// Loads the page, from `ready` to `done`.
fn load(job: &Job, browser: &mut BiDi, page: &str, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let (zero, zero_wall) = (os::clock::now(), os::clock::realtime());
    let deadline = zero + job.timeout();
    browser.set_deadline(deadline);
    let mut fetches = Fetches::new(job, zero, zero_wall);
    let document = job.fetches.first().map(|fetch| fetch.url.as_str()).unwrap_or_default();
    let to_document = json!({ "context": page, "url": document, "wait": "none" });
    match browser.ask("browsingContext.navigate", to_document)? {
        Ok(_) => watch(browser, page, &mut fetches, deadline)?,
        Err(refusal) => fetches.refuse(&refusal),
    }
    let times = match fetches.is_refused() || os::clock::now() >= deadline {
        true => None,
        false => PageTimes::parse(evaluate(browser, page, READ)?.as_str().unwrap_or_default())?,
    };
    if let Some(times) = &times {
        fetches.note_final_head(times.final_head_ms(fetches.zero_wall_ms()));
    }
    fetches.end(os::clock::now());
    for line in fetches.lines() {
        emit(OutputLine::Fetch(line))?;
    }
    if let Some(times) = times {
        emit(OutputLine::Page(times.line(fetches.zero_wall_ms(), fetches.unlisted())))?;
    }
    // It does not number its connections.
    emit(OutputLine::Done(DoneLine::default()))?;
    Ok(())
}

/// Takes the browser's events until the page has loaded and nothing is under way, or the time is over.
fn watch(
    browser: &mut BiDi,
    page: &str,
    fetches: &mut Fetches<'_>,
    deadline: Instant,
) -> Result<(), ToolError> {
    let mut loaded = false;
    while !(loaded && fetches.is_idle()) {
        let Some(event) = browser.event(deadline)? else { return Ok(()) };
        // A frame of the page has a context of its own.
        let is_page = event.params["context"].as_str() == Some(page);
        match event.method.as_str() {
            "browsingContext.load" => loaded |= is_page,
            "browsingContext.navigationFailed" if is_page => {
                fetches.refuse(event.params["message"].as_str().unwrap_or("it was not loaded"));
            }
            _ => fetches.take(&event),
        }
        if fetches.is_refused() {
            return Ok(());
        }
    }
    // What is painted last is reported with the frame after it; what the page asks for meanwhile counts, too.
    evaluate(browser, page, SETTLE)?;
    while !fetches.is_idle() || browser.has_events() {
        let Some(event) = browser.event(deadline)? else { return Ok(()) };
        fetches.take(&event);
    }
    Ok(())
}

/// What a script gives in the page, once it is settled.
fn evaluate(browser: &mut BiDi, page: &str, script: &str) -> Result<Value, ToolError> {
    let target = json!({ "context": page });
    let asked = json!({ "expression": script, "target": target, "awaitPromise": true });
    let mut answer = browser.call("script.evaluate", asked)?;
    match answer["exceptionDetails"]["text"].as_str() {
        Some(fault) => Err(ToolError::Broken(format!("the page does not tell its times: {fault}"))),
        None => Ok(answer["result"]["value"].take()),
    }
}
