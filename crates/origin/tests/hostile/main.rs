//! What peers that mean no good can make the origin hold, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

#[path = "../bench/mod.rs"]
mod bench;
mod frames;
mod memory;
mod whole;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test weighs the process: all wait for each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
