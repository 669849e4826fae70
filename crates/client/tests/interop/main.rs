//! The client against other people's servers over loopback, where they are installed.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

mod pages;
mod push;
mod web_socket;
