//! Room `proto`.
