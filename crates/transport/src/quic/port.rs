//! A UDP socket as its end point holds it: what it carries, where each connection stands in the end point's table, and
//! whose turn it is to send.

use super::socket::{QuicHandle, QuicSocket};
use endpoint::SocketId;
use std::collections::{BTreeMap, VecDeque};

/// A UDP socket.
#[derive(Debug)]
pub struct QuicPort {
    /// Its id.
    pub socket: SocketId,
    /// What it carries.
    pub quic: QuicSocket,
    /// The places of its connections in the end point's table.
    pub places: BTreeMap<QuicHandle, usize>,
    ready: Ready,
    is_transmitting: bool,
}

/// Connections that may have datagrams to send, by their places.
#[derive(Debug, Default)]
struct Ready {
    in_turn: VecDeque<usize>,
    /// Of each place, whether it has a turn.
    has_turn: Vec<bool>,
    /// Whose turn was the last one.
    last: Option<usize>,
    /// How many more it had at once.
    more: u8,
}

/// A connection that has more to send has so many more turns at once: what it needs is in the caches then.
const MOST_MORE: u8 = 3;

impl Ready {
    fn add(&mut self, place: usize) {
        if self.has_turn.len() <= place {
            self.has_turn.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.has_turn[place], true) {
            self.in_turn.push_back(place);
        }
    }

    fn next(&mut self) -> Option<usize> {
        let place = self.in_turn.pop_front()?;
        self.has_turn[place] = false;
        if self.last.replace(place) != Some(place) {
            self.more = 0;
        }
        Some(place)
    }

    /// The place whose turn it was wants another.
    fn go_on(&mut self, place: usize) {
        if self.last != Some(place) || self.more == MOST_MORE {
            self.more = 0;
            return self.add(place);
        }
        if !std::mem::replace(&mut self.has_turn[place], true) {
            self.more += 1;
            self.in_turn.push_front(place);
        }
    }
}

impl QuicPort {
    /// A socket without connections.
    pub fn new(socket: SocketId, quic: QuicSocket) -> Self {
        let (places, ready) = (BTreeMap::new(), Ready::default());
        Self { socket, quic, places, ready, is_transmitting: false }
    }

    /// The connection at this place may have datagrams to send.
    pub fn add_ready(&mut self, place: usize) {
        self.ready.add(place);
    }

    /// The place of the connection whose turn it is to send. Where it did, it gets another turn by `go_on`.
    pub fn next_ready(&mut self) -> Option<usize> {
        self.ready.next()
    }

    /// The connection whose turn it was has sent, and may have more.
    pub fn go_on(&mut self, place: usize) {
        self.ready.go_on(place);
    }

    /// Whether to ask the driver now to transmit. It is asked once, and again after it was given nothing.
    pub fn poll_wants_transmit(&mut self) -> bool {
        let wants = !self.ready.in_turn.is_empty() || self.quic.has_answer();
        let tell = wants && !self.is_transmitting;
        self.is_transmitting |= tell;
        tell
    }

    /// Whether the driver was asked to transmit and was not given nothing since.
    pub fn is_transmitting(&self) -> bool {
        self.is_transmitting
    }

    /// The driver was given nothing.
    pub fn stop_transmitting(&mut self) {
        self.is_transmitting = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn who_has_more_goes_on_some_times_and_then_the_others_have_their_turns() {
        let mut ready = Ready::default();
        (0..3).for_each(|place| ready.add(place));
        let turn = |ready: &mut Ready| {
            let place = ready.next().unwrap();
            ready.go_on(place);
            place
        };
        let turns: Vec<usize> = (0..14).map(|_| turn(&mut ready)).collect();
        assert_eq!(turns, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0]);
        // Alone it has every turn, and what was added meanwhile has one turn, not two.
        let mut ready = Ready::default();
        ready.add(7);
        for _ in 0..1_000 {
            assert_eq!(ready.next(), Some(7));
            ready.add(7);
            ready.go_on(7);
            assert_eq!(ready.in_turn, [7]);
        }
    }

    proptest! {
        /// Turns are those of a plain queue that is searched before something is added.
        #[test]
        fn each_place_has_one_turn_in_the_order_in_which_they_asked(
            steps in proptest::collection::vec(proptest::option::of(0..9_usize), 0..200),
        ) {
            let (mut ready, mut plain) = (Ready::default(), VecDeque::new());
            for step in steps {
                match step {
                    Some(place) => {
                        ready.add(place);
                        if !plain.contains(&place) {
                            plain.push_back(place);
                        }
                    }
                    None => prop_assert_eq!(ready.next(), plain.pop_front()),
                }
                prop_assert_eq!(&ready.in_turn, &plain);
            }
        }
    }
}
