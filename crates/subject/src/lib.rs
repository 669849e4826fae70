//! Room `subject`.
