//! The origin against real peers once more, carried by io_uring (`support` knows this binary by its name).
#![allow(clippy::duplicate_mod, reason = "each of these files is a test binary of its own as well")]

#[path = "browsers.rs"]
mod browsers;
#[path = "curl.rs"]
mod curl;
#[path = "endurance.rs"]
mod endurance;
#[path = "jvm.rs"]
mod jvm;
#[path = "peers.rs"]
mod peers;
#[path = "web_socket.rs"]
mod web_socket;
