//! A document of the server's origin that the adapter answers in the server's place, so that scripts may run in it and nothing has
//! passed over the link.

use super::ToolError;
use super::devtools::DevTools;
use crate::tools::browser::BLANK;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use unit::Instant;

/// Opens `url` with an empty document.
pub(super) fn open(browser: &mut DevTools, url: &str, deadline: Instant) -> Result<(), ToolError> {
    browser.call_page("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] }))?;
    // Its answer comes with the document's.
    browser.tell_page("Page.navigate", json!({ "url": url }))?;
    let mut is_answered = false;
    loop {
        let Some(event) = browser.event(deadline)? else {
            return Err(ToolError::Broken("the browser opened no empty page".to_owned()));
        };
        match event.method.as_str() {
            // It may try TLS first where the URL has none, and takes a refusal for an answer.
            "Fetch.requestPaused" if event.params["request"]["url"].as_str() != Some(url) => {
                let id = &event.params["requestId"];
                let refusal = json!({ "requestId": id, "errorReason": "ConnectionRefused" });
                browser.call_page("Fetch.failRequest", refusal)?;
            }
            "Fetch.requestPaused" => {
                let answer = json!({
                    "requestId": event.params["requestId"],
                    "responseCode": 200,
                    "responseHeaders": [{ "name": "content-type", "value": "text/html" }],
                    "body": BASE64_STANDARD.encode(BLANK),
                });
                browser.call_page("Fetch.fulfillRequest", answer)?;
                is_answered = true;
            }
            "Page.loadEventFired" if is_answered => break,
            _ => {}
        }
    }
    browser.call_page("Fetch.disable", json!({})).map(|_| ())
}

/// What a script's promise gives in the page.
pub(super) fn evaluate(browser: &mut DevTools, script: &str) -> Result<Value, ToolError> {
    let asked = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
    let mut answer = browser.call_page("Runtime.evaluate", asked)?;
    let thrown = &answer["exceptionDetails"];
    match thrown["text"].as_str() {
        Some(fault) => {
            let more = thrown["exception"]["description"].as_str().unwrap_or_default();
            Err(ToolError::Broken(format!("the page's script: {fault} {more}")))
        }
        None => Ok(answer["result"]["value"].take()),
    }
}
