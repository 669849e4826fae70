//! The entry point of each command, a file each. It takes the flags from `cli`, lets the other folders do the work, and
//! prints what they found. The flags are not here because the folders below read them too.

pub(crate) mod bisect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod engines;
pub(crate) mod get;
pub(crate) mod link;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod race;
pub(crate) mod record;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod serve;
mod serve_log;
pub(crate) mod subject;
pub(crate) mod timer;
mod timer_report;
