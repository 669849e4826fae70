//! Flow control as HTTP/2 and SPDY have it: a window counts the bytes that one side may still send.
//! Nothing here knows frames.

/// RFC 9113 §6.9.1.
const LARGEST: i64 = 0x7fff_ffff;

/// The peer gave more credit than a window can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow;

/// The peer sent more than its credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded;

/// What we may send. Below zero after the peer has made its initial window smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendWindow {
    available: i64,
}

impl SendWindow {
    pub(crate) fn new(bytes: u32) -> Self {
        Self { available: i64::from(bytes) }
    }

    /// Bytes that may be sent now.
    pub(crate) fn available(self) -> usize {
        usize::try_from(self.available).unwrap_or(0)
    }

    /// More credit, or less by a change of the initial window.
    pub(crate) fn adjust(&mut self, by: i64) -> Result<(), Overflow> {
        let available = self.available + by;
        if available > LARGEST {
            return Err(Overflow);
        }
        self.available = available;
        Ok(())
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.available -= bytes as i64;
    }

    #[cfg(test)]
    pub(crate) fn balance(self) -> i64 {
        self.available
    }
}

/// What the peer may send. Every byte of `size` is either available to the peer, with the
/// application, or dealt with and not yet announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceiveWindow {
    size: i64,
    available: i64,
    dealt_with: i64,
}

impl ReceiveWindow {
    pub(crate) fn new(bytes: u32) -> Self {
        let bytes = i64::from(bytes);
        Self { size: bytes, available: bytes, dealt_with: 0 }
    }

    /// Counts what arrived.
    pub(crate) fn receive(&mut self, bytes: u32) -> Result<(), Exceeded> {
        let bytes = i64::from(bytes);
        if bytes > self.available {
            return Err(Exceeded);
        }
        self.available -= bytes;
        Ok(())
    }

    /// Counts what was dealt with; gives the increment to announce once that is half the window.
    pub(crate) fn consume(&mut self, bytes: u32) -> Option<u32> {
        self.dealt_with += i64::from(bytes);
        if self.dealt_with == 0 || self.dealt_with < self.size / 2 {
            return None;
        }
        let increment = std::mem::take(&mut self.dealt_with);
        self.available += increment;
        u32::try_from(increment).ok()
    }

    /// The window has another size from now on.
    pub(crate) fn resize(&mut self, bytes: u32) {
        self.available += i64::from(bytes) - self.size;
        self.size = i64::from(bytes);
    }

    /// What the peer may still send, as it counts it.
    #[cfg(test)]
    pub(crate) fn balance(self) -> i64 {
        self.available
    }

    /// Bytes that the application still has.
    #[cfg(test)]
    pub(crate) fn outstanding(self) -> i64 {
        self.size - self.available - self.dealt_with
    }
}

/// Credit of a whole connection, both ways; None where only streams have windows (SPDY/3).
#[derive(Debug)]
pub(crate) struct ConnectionWindows(Option<Windows>);

#[derive(Debug)]
struct Windows {
    receive: ReceiveWindow,
    send: SendWindow,
}

impl ConnectionWindows {
    /// The bytes of all streams together are not counted.
    pub(crate) const UNCOUNTED: Self = Self(None);

    /// Both sides begin with `initial` bytes; the peer has `receive` bytes once it has been told.
    pub(crate) fn counted(initial: u32, receive: u32) -> Self {
        let mut window = ReceiveWindow::new(initial);
        window.resize(receive);
        Self(Some(Windows { receive: window, send: SendWindow::new(initial) }))
    }

    /// Bytes that may be sent now.
    pub(crate) fn available(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |windows| windows.send.available())
    }

    /// Counts what is sent.
    pub(crate) fn take(&mut self, bytes: usize) {
        if let Some(windows) = &mut self.0 {
            windows.send.take(bytes);
        }
    }

    /// More credit.
    pub(crate) fn add(&mut self, bytes: u32) -> Result<(), Overflow> {
        self.0.as_mut().map_or(Ok(()), |windows| windows.send.adjust(i64::from(bytes)))
    }

    /// Counts what arrived.
    pub(crate) fn receive(&mut self, bytes: u32) -> Result<(), Exceeded> {
        self.0.as_mut().map_or(Ok(()), |windows| windows.receive.receive(bytes))
    }

    /// Counts what was dealt with; gives the increment to announce where it is time.
    pub(crate) fn consume(&mut self, bytes: u32) -> Option<u32> {
        self.0.as_mut().and_then(|windows| windows.receive.consume(bytes))
    }

    /// Bytes that the application still has.
    #[cfg(test)]
    pub(crate) fn outstanding(&self) -> i64 {
        self.0.as_ref().map_or(0, |windows| windows.receive.outstanding())
    }

    /// What may be received and sent.
    #[cfg(test)]
    pub(crate) fn balances(&self) -> (i64, i64) {
        let balances = |windows: &Windows| (windows.receive.balance(), windows.send.balance());
        self.0.as_ref().map_or((0, 0), balances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_goes_back_once_half_the_window_is_dealt_with() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.receive(80), Ok(()));
        assert_eq!(window.consume(49), None);
        assert_eq!(window.consume(1), Some(50));
        assert_eq!(window.outstanding(), 30);
        assert_eq!(window.receive(71), Err(Exceeded), "20 were left and 50 came back");
        assert_eq!(window.receive(70), Ok(()));
    }

    #[test]
    fn a_window_of_one_byte_moves() {
        let mut window = ReceiveWindow::new(1);
        assert_eq!(window.receive(1), Ok(()));
        assert_eq!(window.consume(0), None);
        assert_eq!(window.consume(1), Some(1));
    }

    #[test]
    fn what_was_dealt_with_before_a_window_shrank_goes_back_after_it() {
        let mut window = ReceiveWindow::new(65_535);
        assert_eq!(window.receive(5_629), Ok(()));
        assert_eq!(window.consume(5_629), None);
        window.resize(241);
        assert_eq!(window.balance(), -5_388, "the peer is in debt");
        assert_eq!(window.consume(0), Some(5_629));
        assert_eq!((window.balance(), window.outstanding()), (241, 0));
    }

    #[test]
    fn a_smaller_initial_window_may_leave_a_debt() {
        let mut window = SendWindow::new(100);
        window.take(80);
        window.adjust(-50).unwrap();
        assert_eq!((window.available(), window.balance()), (0, -30));
        assert_eq!(window.adjust(LARGEST + 31), Err(Overflow));
        assert_eq!(window.adjust(LARGEST + 30), Ok(()));
    }
}
