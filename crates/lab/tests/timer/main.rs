//! The page timer in real browsers: it finds what is planted, says a tie where nothing is, refuses what it cannot time,
//! and its download is judged as the page judged it. Synthetic images in the same browsers.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

#[allow(dead_code, reason = "the other tests of the program use the rest")]
#[path = "../commands/bench.rs"]
mod bench;
mod browser;
mod chromium;

mod firefox;
mod images;
mod refusals;
mod reports;
mod site;
mod statistics;
mod verdicts;
