//! The line by which a browser says how it showed a page.

use super::line::LATEST_MS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A browser has loaded the page. Times are milliseconds since `ready` was written; the page began when its document was
/// asked for (`started_ms` of the first fetch). What the browser does not tell is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PageLine {
    /// First Paint (W3C Paint Timing).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub first_paint_ms: Option<f64>,
    /// First Contentful Paint (W3C Paint Timing).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub fcp_ms: Option<f64>,
    /// Largest Contentful Paint (W3C Largest Contentful Paint).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub lcp_ms: Option<f64>,
    /// The element of it: its name, and the path of its image if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lcp_element: Option<String>,
    /// The start of the event DOMContentLoaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub dom_content_loaded_ms: Option<f64>,
    /// The start of the event `load`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub load_event_ms: Option<f64>,
    /// Cumulative Layout Shift: the largest session window of shifts (web.dev/articles/cls). No unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cls: Option<f64>,
    /// The time that long tasks took together (W3C Long Tasks: over 50 ms each). This is a length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub long_tasks_ms: Option<f64>,
    /// Speed Index of the film, counted from the start of the page. This is a length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub speed_index_ms: Option<f64>,
    /// When the film shows the last change: the page is visually complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub visually_complete_ms: Option<f64>,
    /// URLs that the browser asked for and that are not among the job's fetches, ten at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
}

impl PageLine {
    /// Why the line is not valid; None for a valid one.
    pub(super) fn fault(&self) -> Option<String> {
        let figures = [
            ("first_paint_ms", self.first_paint_ms),
            ("fcp_ms", self.fcp_ms),
            ("lcp_ms", self.lcp_ms),
            ("dom_content_loaded_ms", self.dom_content_loaded_ms),
            ("load_event_ms", self.load_event_ms),
            ("cls", self.cls),
            ("long_tasks_ms", self.long_tasks_ms),
            ("speed_index_ms", self.speed_index_ms),
            ("visually_complete_ms", self.visually_complete_ms),
        ];
        let given = figures.into_iter().filter_map(|(name, figure)| Some((name, figure?)));
        let (name, figure) =
            given.into_iter().find(|(_, figure)| !(0.0..=LATEST_MS).contains(figure))?;
        Some(format!("`{name}` is {figure}, and it is from 0 to {LATEST_MS}, a day"))
    }
}
