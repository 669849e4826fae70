//! Room `secure`.
