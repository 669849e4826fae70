//! How many bytes of a body are made at a time.

use proto::SendCredit;

/// Bytes of a body that are made at a time: few until the peer reads, for made bytes that nobody reads take memory. It grows
/// with the bytes that have gone to the driver, which takes no more than the kernel does. What the kernel takes of a peer
/// that reads nothing is not enough to make it grow.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes made so far.
    made: u64,
}

/// What is made before the peer has read.
const FIRST: usize = 2 * 1024;

/// What is made for a peer that reads.
const MOST: usize = 64 * 1024;

/// So many times as many bytes must have gone as are made at a time.
const PROOF: u64 = 8;

/// What a body gets that would have none, where its peer reads.
const LEAST: usize = 1024;

/// The same where its peer gives no credit.
const WITHOUT_CREDIT: usize = 64;

impl Pace {
    /// So many bytes were made.
    pub(super) fn handle_made(&mut self, bytes: usize) {
        self.made += bytes as u64;
    }

    /// Bytes of the next piece, where the connection holds `held`.
    pub(super) fn bytes(&self, held: usize) -> usize {
        let gone = self.made.saturating_sub(held as u64) / PROOF;
        usize::try_from(gone).unwrap_or(MOST).clamp(FIRST, MOST)
    }

    /// Bytes that many bodies of a connection share before their pieces become small.
    pub(super) fn of_many(&self, held: usize) -> usize {
        (self.bytes(held) * 4).min(MOST)
    }

    /// Bytes that a body gets in any case, where none of it wait: a connection asks for more only where some were sent.
    pub(super) fn least(&self, held: usize, credit: SendCredit) -> usize {
        match credit.stream.min(credit.connection) {
            0 => WITHOUT_CREDIT,
            _ => (self.bytes(held) / 16).min(LEAST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_bytes_that_have_gone_and_not_with_those_that_wait() {
        let mut pace = Pace::default();
        pace.handle_made(1_000_000);
        assert_eq!(pace.bytes(1_000_000), FIRST);
        // What a kernel takes for a peer that reads nothing.
        assert_eq!(pace.bytes(1_000_000 - 16_000), FIRST);
        assert_eq!(pace.bytes(1_000_000 - 100_000), 12_500);
        assert_eq!(pace.bytes(0), MOST);
    }

    #[test]
    fn a_peer_that_does_not_read_gets_less_than_one_that_does_and_one_without_credit_next_to_nothing()
     {
        let credit = |stream, connection| SendCredit { stream, connection };
        let mut pace = Pace::default();
        assert_eq!((pace.least(0, credit(9, 9)), pace.of_many(0)), (FIRST / 16, 4 * FIRST));
        assert_eq!(pace.least(0, credit(0, 9)), WITHOUT_CREDIT);
        assert_eq!(pace.least(0, credit(9, 0)), WITHOUT_CREDIT);
        pace.handle_made(1_000_000);
        assert_eq!((pace.least(0, credit(9, 9)), pace.of_many(0)), (LEAST, MOST));
    }
}
