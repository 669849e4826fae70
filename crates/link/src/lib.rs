//! Room `link`.
