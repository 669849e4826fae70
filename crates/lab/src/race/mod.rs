//! A run of an experiment. [`experiments`] reads what the user named (or [`again`] an earlier run); the run has a
//! [`run_folder`] with a [`store`] of rows. What is [`planned`] tells how long it takes. The [`runner`] starts a worker process for each trial that the [`schedule`]
//! lets start, stores its row, and shows the [`progress`] and who [leads](leader). [`quiet`] waits for a machine that is not busy. [`report`] makes rows a verdict and prints it.
//!
//! A [`shard`] is a part of a run on a machine of its own, and [`merge`] makes one run of all shards.
//!
//! Nothing of a run is in memory alone: a run that is resumed makes the same schedule from its rows.

pub(crate) mod again;
pub(crate) mod beside_browser;
pub(crate) mod experiments;
pub(crate) mod films;
mod foretold;
mod leader;
pub(crate) mod merge;
pub(crate) mod planned;
pub(crate) mod profiles;
pub(crate) mod progress;
pub(crate) mod published_page;
pub(crate) mod quiet;
pub(crate) mod report;
pub(crate) mod run_folder;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod service;
pub(crate) mod shard;
pub(crate) mod store;
pub(crate) mod until_decided;
