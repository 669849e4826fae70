//! Room `lab`.
fn main() {}
