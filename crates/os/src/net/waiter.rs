//! Waits for descriptors with microsecond precision: epoll with nanosecond time-outs. The one rule: it plans to wake
//! before the deadline, and then polls.
#![allow(unsafe_code)]

use crate::clock;
use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;
use unit::Instant;

/// The least and greatest time before a deadline at which sleeping ends and polling begins. A wake-up takes about 50 µs
/// if the core was just busy, and 200 µs if it slept deeply in a virtual machine. A longer delay comes from another
/// program on the core, which polling cannot cure.
const SPIN: RangeInclusive<Duration> = Duration::from_micros(80)..=Duration::from_micros(300);

/// On a core that is ours alone: how long before a deadline, and after the last arrival, it polls instead of sleeping.
/// In a virtual machine one wake-up in a hundred takes milliseconds, because the host has given the idle core to
/// others.
const AWAKE: Duration = Duration::from_millis(10);

/// Who else uses the core that the link's thread runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Core {
    /// Other threads need it too: the link sleeps until shortly before a packet is due.
    #[default]
    Shared,
    /// It is the link's alone: the link polls while it holds packets, and sleeps only when it holds none.
    Own,
}

/// A wake-up later than the polling time covers lengthens that time at once. Any other shortens it by this part of the
/// difference.
const FORGETTING: u32 = 64;

#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: OwnedFd,
    core: Core,
    /// Until when a core of our own stays awake because something arrived.
    awake: Instant,
    /// How long before a deadline to wake: the lateness of recent wake-ups.
    spin: Duration,
    /// Whether this kernel has epoll_pwait2 (5.11). Without it we wake a millisecond early and poll.
    precise: bool,
}

impl Waiter {
    pub(crate) fn new(core: Core) -> Result<Self, Os> {
        crate::clock::wake_on_time();
        // SAFETY: epoll_create1 takes flags alone.
        let epoll = new_fd(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }.into())
            .map_err(|source| Os::new("make an epoll descriptor", source))?;
        let spin = match core {
            Core::Shared => *SPIN.start(),
            Core::Own => AWAKE,
        };
        Ok(Self { epoll, core, awake: Instant::ZERO, spin, precise: true })
    }

    pub(crate) fn watch(&self, fd: RawFd, token: u64) -> Result<(), Os> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        // SAFETY: a valid event; the kernel checks the descriptor.
        let result = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event)
        };
        check(result).map_err(|source| Os::new("watch a descriptor", source))
    }

    pub(crate) fn forget(&self, fd: RawFd) {
        // SAFETY: deletion takes no event; a descriptor that is not watched is an error without effect.
        unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut())
        };
    }

    /// Waits until a descriptor is ready or `deadline` is near. Returns the tokens of the ready ones.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> Ready {
        let now = clock::now();
        let wake = deadline.map(|deadline| deadline - self.spin);
        let timeout = match wake {
            _ if now < self.awake => Some(Duration::ZERO),
            wake => wake.map(|wake| wake.since(now)),
        };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        let count = match timeout {
            Some(Duration::ZERO) => self.wait_millis(&mut events, 0),
            timeout if self.precise => {
                let count = self.wait_precisely(&mut events, timeout);
                if let (0, Some(wake)) = (count, wake) {
                    self.learn(clock::now().since(wake));
                }
                count
            }
            timeout => {
                let millis =
                    timeout.map_or(-1, |span| span.as_millis().min(1 << 30) as libc::c_int);
                self.wait_millis(&mut events, millis)
            }
        };
        if count > 0 && self.core == Core::Own {
            self.awake = now + self.spin;
        }
        Ready { events, count: usize::try_from(count).unwrap_or(0) }
    }

    /// Takes note of how late a wake-up was.
    fn learn(&mut self, late: Duration) {
        if self.core == Core::Own {
            return;
        }
        let narrowed = self.spin - self.spin.saturating_sub(late) / FORGETTING;
        self.spin = narrowed.max(late).clamp(*SPIN.start(), *SPIN.end());
    }

    fn wait_millis(&self, events: &mut [libc::epoll_event; 8], millis: libc::c_int) -> libc::c_int {
        // SAFETY: eight valid events.
        unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 8, millis) }
    }

    fn wait_precisely(
        &mut self,
        events: &mut [libc::epoll_event; 8],
        timeout: Option<Duration>,
    ) -> libc::c_int {
        let time = timeout.map(|span| libc::timespec {
            tv_sec: span.as_secs() as _,
            tv_nsec: span.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), |time| &raw const *time);
        // glibc has a wrapper only since 2.35.
        // SAFETY: eight valid events; the time is null or lives until the end of this function; the
        // signal mask is null, so that its size is not read.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.as_mut_ptr(),
                8,
                time,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        if count < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            self.precise = false;
        }
        count as libc::c_int
    }
}

/// The tokens of descriptors that are ready.
pub(crate) struct Ready {
    events: [libc::epoll_event; 8],
    count: usize,
}

impl Ready {
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u64> {
        self.events[..self.count].iter().map(|event| event.u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_follows_late_wake_ups_at_once_and_early_ones_slowly() {
        let mut waiter = Waiter::new(Core::Shared).unwrap();
        waiter.learn(Duration::from_micros(200));
        assert_eq!(waiter.spin, Duration::from_micros(200));
        waiter.learn(Duration::from_micros(72));
        assert_eq!(waiter.spin, Duration::from_micros(198));
        waiter.learn(Duration::from_millis(50));
        assert_eq!(waiter.spin, *SPIN.end());
        (0..10_000).for_each(|_| waiter.learn(Duration::ZERO));
        assert_eq!(waiter.spin, *SPIN.start());
    }

    #[test]
    fn a_core_of_our_own_is_awake_long_before_a_deadline_and_after_an_arrival() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut waiter = Waiter::new(Core::Own).unwrap();
        waiter.watch(reader.as_raw_fd(), 7).unwrap();
        waiter.learn(Duration::from_micros(90));
        assert_eq!(waiter.spin, AWAKE, "there is nothing to learn where nobody sleeps");
        assert_eq!(waiter.wait(Some(clock::now() + AWAKE / 2)).tokens().count(), 0);
        assert_eq!(waiter.awake, Instant::ZERO);
        std::io::Write::write_all(&mut writer, &[0]).unwrap();
        assert_eq!(waiter.wait(None).tokens().next(), Some(7));
        assert!(waiter.awake > Instant::ZERO, "an arrival keeps it awake");
    }
}
