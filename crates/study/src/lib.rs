//! Experiments, rows and statistics: values and pure functions, without IO, clock or printing.
//!
//! An [`experiment`] is planned into trials ([`plan`]), a runner leaves a row for each ([`record`]), [`reconcile`]
//! compares what client and link recorded of a trial, and [`analyse`] turns rows into a [`result`].
//!
//! ```
//! use study::experiment::{Experiment, builtin};
//! use study::plan::{Surroundings, trials};
//!
//! let quick: Experiment = builtin()[0].toml.parse()?;
//! let plan = trials(&quick, &Surroundings::default());
//! assert!(plan.iter().any(|trial| trial.key == "page-50x5kB/3g/h2/0"));
//!
//! let error = builtin()[0].toml.replace("images", "imges").parse::<Experiment>().unwrap_err();
//! assert_eq!(error.suggestion.as_deref(), Some("images"));
//! # Ok::<(), study::experiment::ExperimentError>(())
//! ```

mod analyse;
pub mod audit;
pub mod bisect;
pub mod blocks;
pub mod calendar;
pub mod calibration;
pub mod carried;
pub mod compare;
pub mod comparison;
pub mod estimate;
pub mod experiment;
pub mod family;
pub mod gate;
pub mod load;
pub mod merge;
pub mod metric;
pub mod model_check;
pub mod outcome;
pub mod plan;
pub mod published;
pub mod reconcile;
pub mod record;
pub mod requests;
pub mod result;
#[cfg(test)]
mod schema_file;
pub mod shard;
pub mod stats;
pub mod timeline;
pub mod timer;
pub mod verdict;

pub use analyse::{analyse, check_gates, deciding_metric, is_settled, planned_looks};
