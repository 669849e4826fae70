//! What one load waited for longer than another: the parts of two loads, set against each other.

use super::Parts;

/// A part of a load time as a reader of a comparison knows it: connects and TLS's handshakes are one, as over QUIC they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Connects and handshakes.
    Handshakes,
    /// From requests to first bytes.
    Requests,
    /// Until a sender's window let it go on.
    WindowGrowth,
    /// Bytes passed the bottleneck.
    Serialisation,
    /// Until dropped bytes were sent again, or a lost connection was replaced.
    LossRecovery,
    /// The server's own time.
    Server,
    /// The client's own time.
    Client,
    /// Nagle's rule.
    HeldBack,
}

impl Parts {
    /// By how many nanoseconds each wait is longer than in `other`, less than zero where it is shorter; the one that differs
    /// most comes first. They sum to the difference of the two load times.
    pub fn longer_than(&self, other: &Self) -> Vec<(Wait, i64)> {
        let mut waits: Vec<(Wait, i64)> = self
            .waits()
            .into_iter()
            .zip(other.waits())
            .map(|((wait, own), (_, others))| (wait, own.cast_signed() - others.cast_signed()))
            .collect();
        waits.sort_by_key(|(_, longer)| std::cmp::Reverse(longer.unsigned_abs()));
        waits
    }

    fn waits(&self) -> [(Wait, u64); 8] {
        [
            (Wait::Handshakes, self.connect_ns + self.tls_ns),
            (Wait::Requests, self.request_ns),
            (Wait::WindowGrowth, self.window_ns),
            (Wait::Serialisation, self.serialisation_ns),
            (Wait::LossRecovery, self.loss_ns),
            (Wait::Server, self.server_ns),
            (Wait::Client, self.client_ns),
            (Wait::HeldBack, self.held_ns),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_most_comes_first_and_the_differences_sum_to_that_of_the_loads() {
        let h2 =
            Parts { connect_ns: 300, tls_ns: 310, loss_ns: 120, window_ns: 40, ..Parts::default() };
        let h3 = Parts { connect_ns: 305, window_ns: 90, server_ns: 7, ..Parts::default() };
        let waits = h2.longer_than(&h3);
        assert_eq!(
            waits[..4],
            [
                (Wait::Handshakes, 305),
                (Wait::LossRecovery, 120),
                (Wait::WindowGrowth, -50),
                (Wait::Server, -7)
            ]
        );
        let sum: i64 = waits.iter().map(|(_, longer)| longer).sum();
        assert_eq!(sum, h2.total_ns() as i64 - h3.total_ns() as i64);
    }
}
