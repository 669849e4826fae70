//! The film of a page: the frames that the compositor shows, from the trace category of screenshots. Each is a JPEG of at most
//! 500 x 500 pixels with the time at which it was shown.

use super::ToolError;
use super::devtools::DevTools;
use crate::contract::PageLine;
use crate::film::{Frame, kept, visual_progress};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use unit::Instant;

/// The trace's category.
const CATEGORY: &str = "disabled-by-default-devtools.screenshot";

/// How long the browser may take to hand the trace over.
const HAND_OVER: Duration = Duration::from_secs(10);

/// Begins to film.
pub(super) fn begin(browser: &mut DevTools) -> Result<(), ToolError> {
    let categories = json!({ "includedCategories": [CATEGORY], "excludedCategories": ["*"] });
    let start = json!({ "transferMode": "ReportEvents", "traceConfig": categories });
    // A browser as a whole has no screen: the page has.
    browser.call_page("Tracing.start", start).map(|_| ())
}

/// Ends the film and writes its frames to `folder`. Those from before `zero` show an empty page.
pub(super) fn end(
    browser: &mut DevTools,
    zero: Instant,
    folder: &Path,
) -> Result<Vec<Frame>, ToolError> {
    browser.set_deadline(os::clock::now() + HAND_OVER);
    browser.call_page("Tracing.end", json!({}))?;
    let deadline = os::clock::now() + HAND_OVER;
    let mut frames = Vec::new();
    while let Some(event) = browser.event(deadline)? {
        match event.method.as_str() {
            "Tracing.dataCollected" => {
                let events = event.params["value"].as_array();
                frames.extend(events.into_iter().flatten().filter_map(|one| frame(one, zero)));
            }
            "Tracing.tracingComplete" => break,
            _ => {}
        }
    }
    frames.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
    for place in kept(&frames) {
        let frame = &frames[place];
        std::fs::write(folder.join(format!("{:.1}.jpg", frame.at_ms)), &frame.jpeg)?;
    }
    Ok(frames)
}

fn frame(event: &serde_json::Value, zero: Instant) -> Option<Frame> {
    if event["name"].as_str() != Some("Screenshot") {
        return None;
    }
    // Microseconds of the monotonic clock.
    let at_ms = event["ts"].as_f64()? / 1e3 - zero.nanos() as f64 / 1e6;
    let jpeg = BASE64_STANDARD.decode(event["args"]["snapshot"].as_str()?).ok()?;
    (at_ms >= 0.0).then_some(Frame { at_ms, jpeg })
}

/// Adds what the film shows to the line of a page that began at `begun_ms`. A film that tells nothing, such as one without
/// a second frame, leaves the line as it is: the page was never painted.
pub(super) fn judge(frames: &[Frame], begun_ms: f64, line: &mut PageLine) -> Result<(), ToolError> {
    if frames.len() < 2 {
        return Ok(());
    }
    let shown: Vec<Frame> = frames
        .iter()
        .map(|frame| Frame { at_ms: frame.at_ms - begun_ms, jpeg: frame.jpeg.clone() })
        .collect();
    let progress = visual_progress(&shown)
        .map_err(|error| ToolError::Broken(format!("the film of the page: {error}")))?;
    line.speed_index_ms = Some(progress.speed_index_ms);
    line.visually_complete_ms = Some(progress.complete_ms + begun_ms);
    Ok(())
}
