//! Room `origin`.
