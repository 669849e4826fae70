//! The parts of `wirelap bisect`: commits and checkouts by [`git`], and each commit's [`comparison`] with the good one.

pub(crate) mod comparison;
pub(crate) mod git;
