//! Memory that datagrams are received into. The one rule: received bytes are split off and never copied. Their memory
//! is used again once all of its owners have dropped it.
//!
//! One message is received at a time, and the next one goes right behind it. Receiving several messages in one call
//! (recvmmsg) was weighed: each needs 64 KiB to itself, since the kernel may have joined datagrams (GRO), so that small
//! datagrams would lie 64 KiB apart and keep that much memory each.

use bytes::BytesMut;

/// Bytes of the arena. A datagram that is still held keeps all of them.
const ARENA: usize = 256 * 1024;

/// Bytes of the largest message: a UDP datagram's length has 16 bits (RFC 768), and joined datagrams keep to that.
const LARGEST: usize = 64 * 1024;

/// Where the next datagrams go.
#[derive(Debug, Default)]
pub(crate) struct ReceiveArena {
    /// What is left of the arena. All of its bytes are initialised.
    rest: BytesMut,
}

impl ReceiveArena {
    /// A buffer for the next message. What the message does not use stays for the one after.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        if self.rest.len() < LARGEST {
            self.refill();
        }
        &mut self.rest[..LARGEST]
    }

    /// The first `length` bytes of the buffer, which now hold a message.
    pub(crate) fn take(&mut self, length: usize) -> BytesMut {
        self.rest.split_to(length)
    }

    fn refill(&mut self) {
        self.rest.clear();
        if self.rest.try_reclaim(ARENA) {
            // SAFETY: the allocation is one that `zeroed` made below, which has initialised its first ARENA bytes, and
            // the reclaimed capacity begins at its start. Nothing makes bytes uninitialised again.
            unsafe { self.rest.set_len(ARENA) };
        } else {
            self.rest = BytesMut::zeroed(ARENA);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(arena: &mut ReceiveArena, byte: u8, length: usize) -> BytesMut {
        arena.buffer()[..length].fill(byte);
        arena.take(length)
    }

    #[test]
    fn memory_is_used_again_once_its_datagrams_are_dropped() {
        let mut arena = ReceiveArena::default();
        let first = arena.buffer().as_ptr().addr();
        for round in 0..2_000_u32 {
            let datagram = receive(&mut arena, round as u8, 1_200);
            assert!((first..first + ARENA).contains(&datagram.as_ptr().addr()), "{round}");
        }
    }

    #[test]
    fn a_datagram_that_is_held_keeps_its_bytes() {
        let mut arena = ReceiveArena::default();
        let held: Vec<BytesMut> = (0..100).map(|n| receive(&mut arena, n, 30_000)).collect();
        for (n, datagram) in held.iter().enumerate() {
            assert!(datagram.len() == 30_000 && datagram.iter().all(|&byte| byte == n as u8));
        }
    }

    #[test]
    fn datagrams_stand_one_behind_the_other() {
        let mut arena = ReceiveArena::default();
        let one = receive(&mut arena, 1, 100);
        let two = receive(&mut arena, 2, 100);
        assert_eq!(one.as_ptr().addr() + 100, two.as_ptr().addr());
    }
}
