//! Reports: the findings of `study` as terminal text, as one HTML file, as JSON, CSV and HAR. A report is a pure function
//! of statistics and rows: nothing here computes a statistic, reads a file, prints, or reads the clock.
//!
//! ```
//! use report::{Colour, Report, Style};
//! use study::{analyse, experiment::builtin, record::RunHeader};
//!
//! let header = RunHeader {
//!     schema: "wirelap.rows/1".into(),
//!     version: "0.1.0".into(),
//!     experiment: builtin()[0].toml.parse()?,
//!     started_unix_ms: 0,
//!     host: Default::default(),
//!     command_line: vec!["wirelap".into(), "race".into(), "quick".into()],
//!     shard: None,
//!     machines: Vec::new(),
//!     missing: Vec::new(),
//! };
//! let (result, links, films) = (analyse(&header, &[]), Default::default(), Default::default());
//! let report =
//!     Report { result: &result, rows: &[], folder: "runs/1", links: &links, assumptions: &[], films: &films, again: None, next: None, full_run: None };
//! let text = report::terminal(&report, Style { colour: Colour::Off, width: 80 });
//! assert!(text.ends_with("report       runs/1/report.html\n"));
//! assert!(report::html(&report).contains("On lan, wifi and 3g, nothing could be compared"));
//! # Ok::<(), study::experiment::ExperimentError>(())
//! ```

mod answer;
mod bmf;
mod calibration;
#[cfg(feature = "parquet")]
mod columnar;
mod command;
mod comparison;
mod connections;
mod cost;
mod csv;
mod file_name;
mod film;
mod film_file;
mod gates;
mod har;
mod html;
mod hue;
mod json;
mod load;
mod markup;
mod metrics;
mod model_check;
mod number;
mod overview;
mod published_markdown;
mod published_summary;
mod qlog;
mod race_gates;
mod rows;
mod scale;
mod sent;
mod terminal;
mod timer;
mod timing;
mod verdict_words;
mod waits;
mod way_out;
mod words;

pub use bmf::bmf;
pub use calibration::{calibration, conclusion};
#[cfg(feature = "parquet")]
pub use columnar::{ParquetError, parquet};
pub use comparison::{comparison_junit, comparison_markdown, comparison_terminal};
pub use csv::csv;
pub use film::{FilmFrame, FilmKey, Films};
pub use film_file::{FilmFileError, FilmSide, side_by_side};
pub use gates::gate_finding;
pub use har::har;
pub use html::{ComparisonLinks, comparison_html, html, load_html, published_html, timer_html};
pub use json::{json, load_json, timer_json};
pub use load::{load, load_csv, load_errors, load_probe, load_prometheus, load_rate};
pub use model_check::model_check;
pub use number::timestamp;
pub use published_markdown::published_markdown;
pub use published_summary::published_terminal;
pub use qlog::{QlogConnection, QlogHead, QlogVantage};
pub use race_gates::{race_junit, race_markdown};
pub use terminal::{Colour, Style, terminal};
pub use timer::{timer_csv, timer_page, timer_terminal};
pub use way_out::again;

use std::collections::BTreeMap;
use study::record::TrialRecord;
use study::result::RunResult;

/// What was assumed, one sentence each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumptions {
    /// The recording that it was read from, facts included; None of what was assumed of all else.
    pub read_from: Option<String>,
    /// The sentences. Each begins with its count, where there is one.
    pub sentences: Vec<String>,
}

/// Everything that a report shows.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// What was found.
    pub result: &'a RunResult,
    /// The rows of the result. Pictures of single trials are drawn from them.
    pub rows: &'a [TrialRecord],
    /// The run's folder, as the reader would name it.
    pub folder: &'a str,
    /// What the links were, by name.
    pub links: &'a BTreeMap<String, LinkText>,
    /// What was read from recordings, and what had to be assumed.
    pub assumptions: &'a [Assumptions],
    /// What browsers showed, for the cells that were recorded; empty where nothing was.
    pub films: &'a Films,
    /// The command that makes the run again so that it answers, from [`again`]; None where there is none.
    pub again: Option<&'a str>,
    /// The command to try next; None where there is none to suggest.
    pub next: Option<&'a str>,
    /// For a published measurement of which this run left something out: the command that runs all of it, and how long that
    /// takes.
    pub full_run: Option<&'a str>,
}

/// A link in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkText {
    /// Its figures: `1.6/0.768 Mbit/s, RTT 300 ms, queue 60 kB`.
    pub figures: String,
    /// The source of the figures, and what is assumed; empty where the experiment gave the figures itself.
    pub source: String,
}
