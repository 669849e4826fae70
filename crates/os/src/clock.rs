//! The clocks of the machine. Nothing else in the workspace reads one.
#![allow(unsafe_code)]

use std::time::Duration;
use unit::Instant;

/// The unit of processor time in /proc/stat and /proc/PID/stat: USER_HZ is 100 wherever wirelap runs.
pub const TICK: Duration = Duration::from_millis(10);

/// Now, on CLOCK_MONOTONIC.
pub fn now() -> Instant {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The call cannot fail: the clock exists on every Linux and
    // the pointer is good.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Now, on CLOCK_REALTIME, since its epoch: for the kernel's time stamps and for dates in files.
pub fn realtime() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor time that this thread has taken, on CLOCK_THREAD_CPUTIME_ID.
pub fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Makes the kernel wake the calling thread at the time it asked for. By default the kernel may delay a wake-up by 50
/// µs to join it with another.
pub fn wake_on_time() {
    // SAFETY: this option takes a number; a refusal leaves the default.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
