//! How many bytes may lie unsent in the kernel. With few, the end point decides late. With many, the kernel sends large
//! batches as acknowledgements come in, often on the peer's processor if that is on the same machine. The one rule:
//! beyond the socket's configured mark, the kernel holds no more than the path takes within milliseconds.

use super::socket::Output;
use std::time::Duration;
use unit::Instant;

/// Whether the low-water mark of a socket follows its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdaptiveSendBuffer {
    /// The mark stays as configured, so that a trial measures the same from begin to end.
    #[default]
    Off,
    /// A socket whose bytes leave quickly may hold more, up to 2 MiB. For a server that must use little processor time.
    On,
}

/// The highest mark. Measured over loopback with files of 10 MB: twice as much brings no gain.
const MOST: usize = 2 * 1024 * 1024;

/// If half of the mark's bytes leave within this time, the mark grows.
const QUICK: Duration = Duration::from_millis(5);

/// If they take longer than this, the mark shrinks.
const SLOW: Duration = Duration::from_millis(25);

impl Output {
    /// Called after a turn of writing. If the kernel takes no more, the measurement begins.
    pub(super) fn handle_full(
        &mut self,
        adaptive: AdaptiveSendBuffer,
        clock: impl FnOnce() -> Instant,
    ) {
        if adaptive == AdaptiveSendBuffer::On
            && !self.ready
            && self.unsent_bound > 0
            && self.full_since.is_none()
        {
            self.full_since = Some(clock());
        }
    }

    /// The kernel takes bytes again. Returns the new mark if it changed.
    pub(super) fn handle_low_water(&mut self, clock: impl FnOnce() -> Instant) -> Option<u32> {
        let full_since = self.full_since.take()?;
        let took = clock().since(full_since);
        let mark = match took {
            _ if took <= QUICK => (self.low_water * 2).min(MOST.max(self.low_water_floor)),
            _ if took >= SLOW => (self.low_water / 2).max(self.low_water_floor),
            _ => self.low_water,
        };
        if mark == self.low_water {
            return None;
        }
        self.low_water = mark;
        u32::try_from(mark).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mark after the socket was full and drained so often, in so many microseconds each time.
    fn after(adaptive: AdaptiveSendBuffer, drained: &[u64]) -> usize {
        let mut output = Output::new(128 * 1024);
        let mut now = Instant::ZERO;
        for &micros in drained {
            (output.ready, output.unsent_bound) = (false, 1);
            output.handle_full(adaptive, || now);
            now += Duration::from_micros(micros);
            output.handle_full(adaptive, || now);
            output.handle_low_water(|| now);
        }
        output.low_water
    }

    #[test]
    fn a_quick_path_may_hold_more_and_a_slow_one_no_more_than_at_first() {
        assert_eq!(after(AdaptiveSendBuffer::On, &[100]), 256 * 1024);
        assert_eq!(after(AdaptiveSendBuffer::On, &[100; 20]), MOST);
        assert_eq!(after(AdaptiveSendBuffer::On, &[100, 100, 10_000]), 512 * 1024);
        assert_eq!(after(AdaptiveSendBuffer::On, &[100, 100, 30_000]), 256 * 1024);
        assert_eq!(after(AdaptiveSendBuffer::On, &[100, 100, 30_000, 30_000, 30_000]), 128 * 1024);
    }

    #[test]
    fn a_fixed_mark_stays() {
        assert_eq!(after(AdaptiveSendBuffer::Off, &[100; 20]), 128 * 1024);
    }
}
