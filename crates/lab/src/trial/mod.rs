//! One trial, from its preparation to its row.

pub(crate) mod audit;
pub(crate) mod capture;
pub(crate) mod download_files;
pub(crate) mod echo;
pub(crate) mod far;
pub(crate) mod job;
pub(crate) mod near;
pub(crate) mod observed;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod server_process;
pub(crate) mod setup;
pub(crate) mod static_files;
pub(crate) mod subject_client;
pub(crate) mod subject_process;
pub(crate) mod synthetic;
pub(crate) mod task;
pub(crate) mod tcp_settings;
pub(crate) mod worker;
