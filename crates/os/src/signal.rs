//! Ctrl-C and the other signals that end a process, as a counter and a descriptor to wait on. The one rule: the handler
//! only counts and wakes.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// Whether an interrupt has come that [`Interrupts`] has taken over. It is for work that lasts and gets no [`Interrupts`];
/// false where nobody has taken them over, as they end the process then.
pub fn is_interrupted() -> bool {
    COUNT.load(Ordering::SeqCst) > 0
}

/// The process's interrupts from now on. They no longer end it.
#[derive(Debug)]
pub struct Interrupts {
    wake: OwnedFd,
}

impl Interrupts {
    /// Handles SIGINT, SIGTERM and SIGHUP. After a second call, its descriptor is woken instead of the first's.
    ///
    /// SIGHUP stays ignored where it is: nohup(1) relies on it. SIGINT does not, since scripts end what they have started in the
    /// background by it, where their shell has it ignored.
    pub fn take() -> std::io::Result<Self> {
        match is_ignored(libc::SIGHUP) {
            true => Self::take_signals(&[libc::SIGINT, libc::SIGTERM]),
            false => Self::take_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]),
        }
    }

    /// Handles the keyboard's signals, Ctrl-C and Ctrl-\ (SIGINT, SIGQUIT), and leaves the others as they are.
    pub(crate) fn take_keyboard() -> std::io::Result<Self> {
        Self::take_signals(&[libc::SIGINT, libc::SIGQUIT])
    }

    /// Handles all signals that ask a process to end. Ignored signals stay ignored: nohup(1), and shells that start
    /// background jobs, rely on it.
    pub(crate) fn take_unignored() -> std::io::Result<Self> {
        let all = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];
        let wanted: Vec<_> = all.into_iter().filter(|&signal| !is_ignored(signal)).collect();
        Self::take_signals(&wanted)
    }

    fn take_signals(signals: &[libc::c_int]) -> std::io::Result<Self> {
        // SAFETY: eventfd takes no pointers and gives a new descriptor or -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and nobody else's.
        let wake = unsafe { OwnedFd::from_raw_fd(fd) };
        WAKE.store(fd, Ordering::SeqCst);
        for &signal in signals {
            // SAFETY: the structure is plain data, zero is a valid value of each field, and the
            // handler does only what is safe in one: atomics and write(2).
            let failed = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut()) != 0
            };
            if failed {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(Self { wake })
    }

    /// How many have come.
    pub fn count(&self) -> u32 {
        COUNT.load(Ordering::SeqCst)
    }

    /// It becomes readable again when the next signal comes.
    pub(crate) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes of a live local; an eventfd that nobody has written to is an error without effect.
        unsafe { libc::read(self.wake.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl AsFd for Interrupts {
    /// Readable from the first interrupt on.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let own: RawFd = self.wake.as_raw_fd();
        // The handler must not write to a descriptor that may belong to something else by then.
        let _ = WAKE.compare_exchange(own, -1, Ordering::SeqCst, Ordering::SeqCst);
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the structure is plain data, zero is a valid value of each field, and the call writes to it alone.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

extern "C" fn count(_signal: libc::c_int) {
    COUNT.fetch_add(1, Ordering::SeqCst);
    let fd = WAKE.load(Ordering::SeqCst);
    if fd >= 0 {
        let one = 1_u64;
        // SAFETY: eight bytes of a live local; write(2) is async-signal-safe, and a failure (the
        // counter is full, so it is readable already) may be ignored.
        unsafe { libc::write(fd, (&raw const one).cast(), 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_counted_and_wakes_the_waiter() {
        let interrupts = Interrupts::take().unwrap();
        let before = interrupts.count();
        // SAFETY: raises a signal whose handler was installed above.
        unsafe { libc::raise(libc::SIGTERM) };
        assert_eq!(interrupts.count(), before + 1);
        assert!(is_interrupted());
        let mut poll =
            libc::pollfd { fd: interrupts.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd, no waiting.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 1);
        interrupts.clear();
        // SAFETY: as above.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 0) }, 0);
    }

    #[test]
    fn a_hang_up_that_is_ignored_stays_ignored() {
        // SAFETY: a plain call without pointers. No other test of this program depends on SIGHUP.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        let _interrupts = Interrupts::take().unwrap();
        assert!(is_ignored(libc::SIGHUP));
        assert!(!is_ignored(libc::SIGTERM));
    }
}
