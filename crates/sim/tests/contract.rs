//! The simulator as a driver: what it tells an end point, and when. `Checked` holds it to the order of calls.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use endpoint::{Accepted, Action, EndPoint, SendBuf, SocketError, SocketId};
use sim::{Ended, Host, Path, Pieces, Scripted, Transcript, World};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// Accepts at most `accepts` connections, writes down what it is told, and receives into a buffer where it has one.
#[derive(Default)]
struct Logger {
    accepts: usize,
    buffer: Vec<u8>,
    told: Vec<String>,
    actions: VecDeque<Action>,
    /// Asked for with the first bytes.
    on_bytes: Vec<Action>,
    wake: Option<Instant>,
}

impl Logger {
    fn tell(&mut self, told: impl Into<String>) {
        self.told.push(told.into());
    }
}

impl EndPoint for Logger {
    fn handle_start(&mut self, _now: Instant) {
        self.tell("start");
    }

    fn handle_accepted(&mut self, _now: Instant, accepted: Accepted) -> Option<SocketId> {
        self.tell(format!("accepted on {}", accepted.listener));
        let id = self.accepts.checked_sub(1)?;
        self.accepts = id;
        Some(SocketId(id))
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, bytes: &[u8]) {
        self.tell(format!("{} bytes", bytes.len()));
        self.actions.extend(self.on_bytes.drain(..));
    }

    fn poll_receive_buffer(&mut self, _socket: SocketId) -> Option<&mut [u8]> {
        (!self.buffer.is_empty()).then_some(&mut self.buffer[..])
    }

    fn handle_received(&mut self, _now: Instant, _socket: SocketId, bytes: usize) {
        self.tell(format!("received {:?}", &self.buffer[..bytes]));
        self.buffer.drain(..bytes);
    }

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {
        self.tell("end");
    }

    fn handle_drained(&mut self, _now: Instant, _socket: SocketId) {
        self.tell("drained");
    }

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        self.tell(error.to_string());
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, out: &mut SendBuf, limit: usize) {
        self.tell("asked for bytes");
        out.put(&vec![1; limit]);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.wake = None;
        self.tell(format!("time {}", now.nanos()));
    }

    fn handle_stop(&mut self, _now: Instant) {
        self.tell("stop");
        self.actions.push_back(Action::Finish);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.wake
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const FAR: SocketId = SocketId(0);

type Peer = Host<Scripted<Transcript>>;

/// A logger that listens, and a peer with a connection to it.
fn joined(logger: Logger) -> (World, Peer, Host<Logger>, SocketId) {
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Scripted::new(Transcript::default()));
    let far = world.listen("10.0.0.2:80", logger);
    world.connect(near, far, Path::delay(Duration::from_millis(5)));
    let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
    (world, near, far, socket)
}

fn told(world: &World, far: Host<Logger>) -> &[String] {
    &world.end_point(far).told
}

#[test]
fn an_end_point_is_started_then_told_what_happens_then_told_that_all_is_read() {
    let on_bytes = vec![Action::AwaitDrained(FAR)];
    let (mut world, near, far, socket) =
        joined(Logger { accepts: 1, on_bytes, ..Logger::default() });
    world.split_reads(far, Pieces::Of(400));
    world.with(near, |near| near.send(socket, &[1; 1_000]));
    world.run();
    let expected = ["start", "accepted on 0", "400 bytes", "400 bytes", "200 bytes", "drained"];
    assert_eq!(told(&world, far), expected);
    world.with(near, |near| near.shutdown(socket));
    world.run();
    assert_eq!(told(&world, far)[6..], ["end"]);
}

#[test]
fn bytes_go_into_the_end_points_own_buffer_while_it_has_one() {
    let (mut world, near, far, socket) =
        joined(Logger { accepts: 1, buffer: vec![0; 5], ..Logger::default() });
    world.with(near, |near| near.send(socket, b"\x01\x02\x03"));
    world.run();
    world.with(near, |near| near.send(socket, b"\x04\x05\x06\x07"));
    world.run();
    let expected = ["received [1, 2, 3]", "received [4, 5]", "2 bytes"];
    assert_eq!(told(&world, far)[2..], expected);
}

#[test]
fn a_connection_that_is_refused_is_closed() {
    let (mut world, near, far, socket) = joined(Logger::default());
    world.run();
    assert_eq!(told(&world, far), ["start", "accepted on 0"]);
    assert_eq!(world.end_point(near).script().ended(socket), Some(Ok(())));
    assert_eq!(world.sockets(far).opened, 0);
}

#[test]
fn a_reset_and_an_abort_are_told_to_the_other_side() {
    let (mut world, near, far, socket) = joined(Logger { accepts: 1, ..Logger::default() });
    world.run();
    world.with(near, |near| near.reset(socket));
    world.run();
    assert_eq!(told(&world, far)[2..], ["connection reset by peer"]);
    let on_bytes = vec![Action::Abort(FAR)];
    let (mut world, near, _, socket) = joined(Logger { accepts: 1, on_bytes, ..Logger::default() });
    world.with(near, |near| near.send(socket, b"x"));
    world.run();
    let reset = Some(Err(SocketError::Reset));
    assert_eq!(world.end_point(near).script().ended(socket), reset);
}

#[test]
fn nothing_is_read_of_a_paused_socket() {
    let on_bytes = vec![Action::Pause(FAR), Action::AwaitDrained(FAR)];
    let (mut world, near, far, socket) =
        joined(Logger { accepts: 1, on_bytes, ..Logger::default() });
    world.split_reads(far, Pieces::Of(1));
    world.with(near, |near| near.send(socket, b"ab"));
    world.with(near, |near| near.shutdown(socket));
    world.run();
    assert_eq!(told(&world, far)[2..], ["1 bytes"]);
    world.with(far, |far| far.actions.push_back(Action::Resume(FAR)));
    world.run();
    assert_eq!(told(&world, far)[3..], ["1 bytes", "end"]);
}

#[test]
fn times_come_when_they_are_due_and_bytes_of_the_same_instant_before_them() {
    let wake = Some(BEGIN + Duration::from_millis(15));
    let (mut world, near, far, socket) = joined(Logger { accepts: 1, wake, ..Logger::default() });
    // SYN and SYN-ACK take 10 ms, the byte 5 more.
    world.with(near, |near| near.send(socket, b"x"));
    world.run();
    assert_eq!(told(&world, far)[1..], ["accepted on 0", "1 bytes", "time 1015000000"]);
}

#[test]
fn a_socket_that_is_blocked_is_not_asked() {
    let (mut world, near, far, socket) = joined(Logger { accepts: 1, ..Logger::default() });
    world.run();
    world.block_writes(far);
    world.with(far, |far| far.actions.push_back(Action::Transmit(FAR)));
    world.run();
    assert_eq!(told(&world, far).len(), 2);
    assert_eq!(world.end_point(near).script().received(socket), b"");
}

#[test]
fn a_stopped_end_point_accepts_no_more_and_nothing_follows_its_finish() {
    let (mut world, near, far, socket) = joined(Logger { accepts: 2, ..Logger::default() });
    world.run();
    world.stop(far);
    assert!(world.is_finished(far));
    world.with(near, |near| near.send(socket, b"x"));
    let late = world.with(near, |near| near.connect("10.0.0.2:80"));
    assert_eq!(world.run(), Ended::NothingPlanned);
    assert_eq!(told(&world, far)[2..], ["stop"]);
    let ended = |socket| world.end_point(near).script().ended(socket);
    assert_eq!(ended(socket), Some(Ok(())), "what it held is closed");
    assert_eq!(ended(late), Some(Err(SocketError::Refused)));
}
