//! What is between two ends: the packets that pass, and their capture.

pub(crate) mod capture;
pub(crate) mod path;
