//! The parts of `wirelap load`. The command line becomes [`targets`] and a plan; [`run`] runs the plan on threads, an
//! engine each, while [`live`] shows the last second; [`outcome`] makes the counts a result, and [`hdr`] a log of
//! histograms. [`agents`] are several processes that share a load. [`slo_search`] makes
//! runs at several rates. [`keeping_up`] says whether a rate was answered.

pub(crate) mod agents;
pub(crate) mod hdr;
mod keeping_up;
pub(crate) mod live;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod slo_search;
pub(crate) mod targets;
mod warnings;
