//! The driver finds each fault that it looks for.

use super::*;
use crate::script::write;

/// An end point with one fault, or none.
#[derive(Default)]
struct Faulty {
    fault: Fault,
    held: Vec<u8>,
    actions: VecDeque<Action>,
    stops: u32,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Fault {
    #[default]
    None,
    /// It keeps a thousand times what arrives.
    Hoards,
    /// A time-out is always due.
    Spins,
    /// It never finishes.
    Stays,
    /// It gives the id of an open socket again.
    Repeats,
}

impl EndPoint for Faulty {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        Some(SocketId(0))
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, socket: SocketId, bytes: &[u8]) {
        if self.fault == Fault::Hoards {
            self.held.resize(self.held.len() + 1000 * bytes.len(), 0);
        }
        self.actions.push_back(Action::Transmit(socket));
    }

    fn handle_eof(&mut self, _now: Instant, socket: SocketId) {
        if self.fault != Fault::Repeats {
            self.actions.push_back(Action::Close(socket));
        }
    }

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, _error: SocketError) {}

    fn poll_transmit(
        &mut self,
        _now: Instant,
        _socket: SocketId,
        _out: &mut SendBuf,
        _limit: usize,
    ) {
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn handle_stop(&mut self, _now: Instant) {
        self.stops += 1;
        if self.stops == 2 && self.fault != Fault::Stays {
            self.actions.push_back(Action::Finish);
        }
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        (self.fault == Fault::Spins).then_some(Instant::ZERO)
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

fn drive(fault: Fault) {
    let mut script = Vec::new();
    let connection = [
        Step::Open,
        Step::Cut(7),
        Step::Send(&[b'x'; 2000]),
        Step::Sleep(Duration::from_secs(1)),
        Step::Transmit(10),
        Step::End,
        Step::Open,
    ];
    connection.iter().for_each(|step| write(*step, &mut script));
    let bound = Bound { fixed: 100_000, connection: 1_000, input: 10 };
    run(|| Faulty { fault, ..Faulty::default() }, bound, &script);
}

#[test]
fn an_end_point_without_a_fault_passes() {
    drive(Fault::None);
}

#[test]
#[should_panic(expected = "are allowed")]
fn one_that_keeps_too_much_is_found() {
    drive(Fault::Hoards);
}

#[test]
#[should_panic(expected = "1000 time-outs at")]
fn one_that_spins_is_found() {
    drive(Fault::Spins);
}

#[test]
#[should_panic(expected = "it goes on after the second handle_stop")]
fn one_that_does_not_finish_is_found() {
    drive(Fault::Stays);
}

#[test]
#[should_panic(expected = "which is in use: the end point's fault")]
fn one_that_gives_an_id_twice_is_found() {
    drive(Fault::Repeats);
}
