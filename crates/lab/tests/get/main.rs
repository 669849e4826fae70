//! `wirelap get` against real servers and against servers that lie, die and stall; killed, filled up and
//! misused. The one rule of all of it: under the final name stands the whole file, or nothing.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

mod afterwards;
#[allow(dead_code, reason = "the other tests of the program use the rest")]
#[path = "../commands/bench.rs"]
mod bench;
mod curl_flags;
mod disks;
mod escapes;
mod faults;
mod http3;
mod interop;
mod kills;
mod misuse;
mod parts_and_names;
mod peers;
mod proxied;
mod recorded;
mod resumed;
mod server;
mod started;
mod surplus;
mod trusted;
mod windows;
