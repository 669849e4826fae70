//! A run of an experiment: which trials there are, which may start next, their rows, and the verdict.

pub(crate) mod again;
pub(crate) mod experiments;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod run_folder;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod store;
