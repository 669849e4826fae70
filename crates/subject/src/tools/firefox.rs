//! Firefox, driven by WebDriver BiDi: one new browser, one new profile, one page. A trial is cold, unless the job has an earlier
//! visit: no cache, no cookie, no connection, no session of TLS.
//!
//! All of its times are the wall clock's, read together with CLOCK_MONOTONIC at `ready`. What Firefox does not tell is absent: first
//! paint, layout shifts, long tasks, a film, and what connection and TLS version a request had.

mod bidi;
mod fetches;
mod profile;
mod socket;
mod visit;

use super::browser::{
    OBSERVERS, PageTimes, READ, REST, SETTLE, Told, Zero, check, document, script,
};
use super::{Emit, ToolError};
use crate::contract::{DoneLine, Job, Leaves, OutputLine, ReadyLine, Transport, Workload};
use crate::freeze::replaying_script;
use bidi::BiDi;
use fetches::{EVENTS, Fetches};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use unit::Instant;

/// How long the browser may take to start and to open an empty page.
const START: Duration = Duration::from_secs(30);

/// Does the job by the browser `program`.
pub(super) fn run(job: &Job, program: &str, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    check(job)?;
    check_visit(job)?;
    let profile = profile::make(job)?;
    let mut tab = start(job, program, &profile)?;
    if let Some(earlier) = &job.earlier {
        visit::make(job, earlier, &mut tab)?;
        if earlier.leaves == Leaves::Files {
            tab.browser.close();
            tab = start(job, program, &profile)?;
        }
    }
    if job.workload != Workload::Page {
        // Part of the start: what is measured begins with the first call.
        visit::open_blank(&mut tab, &document(job), os::clock::now() + START)?;
    }
    emit(OutputLine::Ready(ReadyLine {
        name: Some("Firefox".to_owned()),
        version: tab.version.clone(),
        key_log: job.key_log.is_some(),
        ..ReadyLine::default()
    }))?;
    let zero = Zero::now();
    if job.earlier.is_some() {
        std::thread::sleep(REST);
    }
    match job.workload {
        Workload::Page => load(job, &mut tab, zero, emit)?,
        _ => work(job, &mut tab, zero, emit)?,
    }
    tab.browser.close();
    Ok(())
}

/// What Firefox does not do of what Chromium does before its work.
fn check_visit(job: &Job) -> Result<(), ToolError> {
    let Some(earlier) = &job.earlier else { return Ok(()) };
    match (earlier.early_data, earlier.page, job.transport) {
        (true, ..) => Err(ToolError::unable(
            "Firefox made a full handshake where its first request was to go within it",
        )),
        (_, true, Transport::H3) => Err(ToolError::unable(
            "Firefox names the protocol of a cached file in another way where that is HTTP/3",
        )),
        _ => Ok(()),
    }
}

/// A browser and its one page.
struct Tab {
    browser: BiDi,
    page: String,
    version: Option<String>,
}

/// Starts the browser with an empty page.
fn start(job: &Job, program: &str, profile: &Path) -> Result<Tab, ToolError> {
    let deadline = os::clock::now() + START;
    let mut browser = BiDi::start(command(job, program, profile), deadline)?;
    let session = browser.call("session.new", json!({ "capabilities": {} }))?;
    let version = session["capabilities"]["browserVersion"].as_str().map(str::to_owned);
    let tree = browser.call("browsingContext.getTree", json!({ "maxDepth": 0 }))?;
    let Some(page) = tree["contexts"][0]["context"].as_str().map(str::to_owned) else {
        return Err(ToolError::Broken("the browser has no page".to_owned()));
    };
    prepare(&mut browser, &page, job)?;
    Ok(Tab { browser, page, version })
}

/// The browser's command line. What it leaves behind is left in the working directory, which is the trial's own.
fn command(job: &Job, program: &str, profile: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile"]);
    command.arg(profile).arg("about:blank");
    command.env("HOME", profile).env("MOZ_CRASHREPORTER_DISABLE", "1");
    if let Some(keys) = &job.key_log {
        command.env("SSLKEYLOGFILE", keys);
    }
    command
}

/// Opens an empty page of the page model's size, and asks for events.
fn prepare(browser: &mut BiDi, page: &str, job: &Job) -> Result<(), ToolError> {
    let viewport = json!({ "width": 800, "height": 600 });
    let sized = json!({ "context": page, "viewport": viewport, "devicePixelRatio": 1 });
    browser.call("browsingContext.setViewport", sized)?;
    let empty = json!({ "context": page, "url": "about:blank", "wait": "complete" });
    browser.call("browsingContext.navigate", empty)?;
    let mut events = vec!["browsingContext.load", "browsingContext.navigationFailed"];
    if job.workload == Workload::Page {
        let observers = format!("() => {{ {OBSERVERS} }}");
        browser.call("script.addPreloadScript", json!({ "functionDeclaration": observers }))?;
        events.extend(EVENTS);
    }
    if let Some(replay) = &job.replay {
        let freezing = format!("() => {{ {} }}", replaying_script(replay.epoch_ms, job.transport));
        browser.call("script.addPreloadScript", json!({ "functionDeclaration": freezing }))?;
    }
    browser.call("session.subscribe", json!({ "events": events, "contexts": [page] }))?;
    evaluate(browser, page, SETTLE).map(|_| ())
}

/// Makes the calls, or sends the messages, from `ready` to `done`.
fn work(job: &Job, tab: &mut Tab, zero: Zero, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    // The page itself gives up at the time-out.
    tab.browser.set_deadline(os::clock::now() + job.timeout() + REST);
    let answer = evaluate(&mut tab.browser, &tab.page, &script(job))?;
    Told::parse(answer.as_str().unwrap_or_default())?.tell(job, zero, emit)
}

/// Loads the page, from `ready` to `done`.
fn load(job: &Job, tab: &mut Tab, zero: Zero, emit: &mut Emit<'_>) -> Result<(), ToolError> {
    let deadline = os::clock::now() + job.timeout();
    let mut fetches = view(job, tab, zero, deadline)?;
    let times = match fetches.is_refused() || os::clock::now() >= deadline {
        true => None,
        false => {
            let told = evaluate(&mut tab.browser, &tab.page, READ)?;
            PageTimes::parse(told.as_str().unwrap_or_default())?
        }
    };
    if let Some(times) = &times {
        fetches.note_final_head(times.final_head_ms(fetches.zero_wall_ms()));
    }
    for line in fetches.lines() {
        emit(OutputLine::Fetch(line))?;
    }
    if let Some(times) = times {
        emit(OutputLine::Page(times.line(fetches.zero_wall_ms(), fetches.unlisted())))?;
    }
    if let Some(closing) = &job.alt_svc {
        emit(OutputLine::Next(visit::next(job, closing, tab, zero)?))?;
    }
    // It does not number its connections.
    emit(OutputLine::Done(DoneLine::default()))?;
    Ok(())
}

/// Has the page loaded until the deadline; times count from `zero`.
fn view<'a>(
    job: &'a Job,
    tab: &mut Tab,
    zero: Zero,
    deadline: Instant,
) -> Result<Fetches<'a>, ToolError> {
    tab.browser.set_deadline(deadline);
    let mut fetches = Fetches::new(job, zero.at, zero.wall);
    let url = job.fetches.first().map(|fetch| fetch.url.as_str()).unwrap_or_default();
    let to_document = json!({ "context": tab.page, "url": url, "wait": "none" });
    match tab.browser.ask("browsingContext.navigate", to_document)? {
        Ok(_) => watch(&mut tab.browser, &tab.page, &mut fetches, deadline)?,
        Err(refusal) => fetches.refuse(&refusal),
    }
    fetches.end(os::clock::now());
    Ok(fetches)
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
        Some(fault) => Err(ToolError::Broken(format!("the page's script: {fault}"))),
        None => Ok(answer["result"]["value"].take()),
    }
}
