//! A blocking driver for connections over real sockets, and a small site to serve: for examples and
//! interoperability tests. Threads and clocks are fine here; the machines know of neither.
#![allow(dead_code, unreachable_pub, reason = "each test uses its own part")]
#![allow(missing_docs, reason = "support of tests")]

pub mod drive;
pub mod fetch;
pub mod peers;
pub mod site;
