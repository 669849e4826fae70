//! What the tests ask of a browser: to open the timer, to act as a user would, and to tell a value of the page.

use crate::bench::Bench;
use serde_json::Value;
use std::time::Duration;

/// A browser under way.
pub(crate) trait Browser {
    /// Opens a page in the first tab.
    fn open(&mut self, url: &str);
    /// The value of a script's `return`, in the page.
    fn evaluate(&mut self, script: &str) -> Value;
    /// Clicks an element, as a user does: a page may open a pop-up then.
    fn click(&mut self, selector: &str);
}

/// Both browsers, by name; None, and a skip, where one is not there.
pub(crate) fn start(name: &str, bench: &Bench) -> Option<Box<dyn Browser>> {
    match name {
        "chromium" => Some(Box::new(crate::chromium::Chromium::start(bench, &[])?)),
        _ => Some(Box::new(crate::firefox::Firefox::start(bench)?)),
    }
}

/// Where a program of the system is; None, and a skip, where it is not.
pub(crate) fn program(names: &[&str]) -> Option<String> {
    let found = names.iter().map(|name| format!("/usr/bin/{name}"));
    let found = found.into_iter().find(|path| std::path::Path::new(path).exists());
    if found.is_none() {
        testing::skip(format_args!("{} is not installed: ./peers install", names[0]));
    }
    found
}

/// How a run of the timer ended.
#[derive(Debug)]
pub(crate) struct Timed {
    /// `done` or `refused`.
    pub(crate) state: String,
    /// What the page shows on top.
    pub(crate) finding: String,
    /// Why nothing was timed; empty where it was.
    pub(crate) alarm: String,
    /// The verdicts in the table, by metric.
    pub(crate) verdicts: Value,
    /// What the button lets download.
    pub(crate) download: Value,
}

/// Fills in the form by the address, starts as a user does, and waits for the end.
pub(crate) fn time(browser: &mut dyn Browser, timer: &str, settings: &[(&str, &str)]) -> Timed {
    start_timing(browser, timer, settings);
    ended(browser)
}

/// Fills in the form and starts.
pub(crate) fn start_timing(browser: &mut dyn Browser, timer: &str, settings: &[(&str, &str)]) {
    let pairs: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    browser.open("about:blank");
    browser.open(&format!("{timer}#{}", pairs.join("&")));
    until(browser, "ready");
    browser.click("#start");
}

/// Waits for the end of a run.
pub(crate) fn ended(browser: &mut dyn Browser) -> Timed {
    for _ in 0..MOST_LOOKS {
        let state = state(browser);
        if state == "done" || state == "refused" {
            let mut text = |script: &str| browser.evaluate(script).as_str().unwrap().to_owned();
            return Timed {
                state,
                finding: text("return document.querySelector('#finding').textContent"),
                alarm: text("return document.querySelector('#alarm').textContent"),
                verdicts: browser.evaluate(
                    "return Object.fromEntries([...document.querySelectorAll('#times [data-metric]')]
                       .map(row => [row.dataset.metric, row.dataset.verdict]))",
                ),
                download: browser.evaluate("return wirelapTimer.result()"),
            };
        }
        std::thread::sleep(LOOK);
    }
    panic!("the timer does not end: {}", browser.evaluate("return document.body.innerText"));
}

/// Looks at the page until it is in `state`.
pub(crate) fn until(browser: &mut dyn Browser, wanted: &str) {
    for _ in 0..MOST_LOOKS {
        if state(browser) == wanted {
            return;
        }
        std::thread::sleep(LOOK);
    }
    panic!("the timer is never {wanted}");
}

fn state(browser: &mut dyn Browser) -> String {
    let state = browser.evaluate("return document.body ? document.body.dataset.state || '' : ''");
    state.as_str().unwrap_or_default().to_owned()
}

/// As in a query (RFC 3986 §2.1).
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let one = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

const LOOK: Duration = Duration::from_millis(100);
/// Five minutes: nothing here takes as long, unless it hangs.
const MOST_LOOKS: u32 = 3_000;
