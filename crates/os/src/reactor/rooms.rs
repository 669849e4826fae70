//! Room for what is on its way to the kernel. The one rule: a socket has some only while it owes bytes, so that what
//! idle connections hold does not grow with what they once sent, and that the room used next was used a moment ago.

use endpoint::SendBuf;

/// Rooms that wait, at most: sockets that the kernel takes nothing from hold theirs.
const WAITING: usize = 16;

/// Rooms that no socket needs just now, the one used last on top.
#[derive(Debug, Default)]
pub(super) struct Rooms(Vec<SendBuf>);

impl Rooms {
    /// Gives an empty queue room.
    pub(super) fn lend(&mut self, owed: &mut SendBuf) {
        if let Some(room) = self.0.pop() {
            debug_assert!(owed.is_empty(), "what is owed is not thrown away");
            *owed = room;
        }
    }

    /// Takes the room of a queue that has become empty.
    pub(super) fn take_back(&mut self, owed: &mut SendBuf) {
        if owed.is_empty() && owed.capacity() > 0 {
            let room = std::mem::take(owed);
            if self.0.len() < WAITING {
                self.0.push(room);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_room_only_while_it_holds_bytes() {
        let (mut rooms, mut one, mut other) = (Rooms::default(), SendBuf::new(), SendBuf::new());
        one.put(&[0; 100_000]);
        rooms.take_back(&mut one);
        assert_eq!(one.len(), 100_000, "bytes that are owed stay");
        one.advance(100_000);
        rooms.take_back(&mut one);
        assert_eq!(one.capacity(), 0);
        rooms.lend(&mut other);
        assert!(other.capacity() >= 100_000);
    }

    #[test]
    fn no_more_than_some_rooms_wait() {
        let mut rooms = Rooms::default();
        for _ in 0..100 {
            let mut owed = SendBuf::new();
            owed.put(b"x");
            owed.clear();
            rooms.take_back(&mut owed);
        }
        assert_eq!(rooms.0.len(), WAITING);
    }
}
