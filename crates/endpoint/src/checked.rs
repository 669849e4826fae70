//! A test double that checks the order in which a driver calls. The one rule: it passes every call on unchanged.

use crate::datagram::{DatagramTransmit, ReceivedDatagrams};
use crate::end_point::{Accepted, Action, Bound, EndPoint};
use crate::send_buf::SendBuf;
use crate::socket::{SocketError, SocketId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use unit::Instant;

/// Passes every call on to the end point `E`. Panics at the first call that breaks the order in [`EndPoint`]'s module.
/// For tests of drivers.
#[derive(Debug)]
pub struct Checked<E> {
    inner: E,
    phase: Phase,
    /// Whether `poll_action` gave None since the last call that may have queued actions.
    settled: bool,
    timeout: Option<Instant>,
    sockets: BTreeMap<SocketId, Socket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Finished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Datagram,
}

#[derive(Debug)]
struct Socket {
    kind: Kind,
    is_connected: bool,
    is_ended: bool,
    is_paused: bool,
    /// Whether `poll_transmit` may be called: `Action::Transmit` came, and the bytes have not come to an end.
    may_transmit: bool,
    awaits_drained: bool,
}

impl Socket {
    fn new(kind: Kind, is_connected: bool) -> Self {
        Self {
            kind,
            is_connected,
            is_ended: false,
            is_paused: false,
            may_transmit: false,
            awaits_drained: false,
        }
    }
}

impl<E: EndPoint> Checked<E> {
    /// Wraps `inner`, which has had no call yet.
    pub fn new(inner: E) -> Self {
        Self { inner, phase: Phase::New, settled: true, timeout: None, sockets: BTreeMap::new() }
    }

    /// The end point.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// The end point, for a command of its application's. `poll_action` follows.
    pub fn inner_mut(&mut self) -> &mut E {
        self.settled = false;
        &mut self.inner
    }

    /// Gives the end point back.
    pub fn into_inner(self) -> E {
        self.inner
    }

    /// Checks a call that may directly follow an action, before the next `poll_action`.
    fn outcome(&mut self, call: &str) {
        assert!(self.phase == Phase::Running, "{call} while {:?}", self.phase);
        self.settled = false;
    }

    /// Checks any other call that may queue actions.
    fn input(&mut self, call: &str) {
        assert!(self.settled, "{call} before poll_action gave None");
        self.outcome(call);
    }

    fn input_of(&mut self, call: &str, socket: SocketId, kind: Kind) -> &mut Socket {
        self.input(call);
        self.socket(call, socket, kind)
    }

    fn socket(&mut self, call: &str, id: SocketId, kind: Kind) -> &mut Socket {
        let found = self.sockets.get_mut(&id);
        let socket = found.unwrap_or_else(|| panic!("{call} for {id:?}, which is not there"));
        assert!(socket.kind == kind, "{call} for {id:?}, a socket of kind {:?}", socket.kind);
        socket
    }

    /// Checks that bytes may arrive on this stream.
    fn receive(&mut self, call: &str, id: SocketId) {
        let socket = self.input_of(call, id, Kind::Stream);
        assert!(socket.is_connected, "{call} for {id:?}, which is not connected");
        assert!(!socket.is_ended, "{call} for {id:?} after its end");
        assert!(!socket.is_paused, "{call} for {id:?}, which is paused");
    }

    fn name(&mut self, call: &str, id: Option<SocketId>, kind: Kind) {
        if let Some(id) = id {
            let before = self.sockets.insert(id, Socket::new(kind, true));
            assert!(before.is_none(), "{call} gave {id:?}, which is in use: the end point's fault");
        }
    }

    /// An action that was queued before its socket failed has no effect.
    fn change(&mut self, id: SocketId, change: impl FnOnce(&mut Socket)) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            change(socket);
        }
    }

    fn note(&mut self, action: &Action) {
        match action {
            Action::Connect { socket, .. } => {
                let before = self.sockets.insert(*socket, Socket::new(Kind::Stream, false));
                assert!(before.is_none(), "{socket:?} is in use: the end point's fault");
            }
            Action::Bind { socket, .. } => self.name("Bind", Some(*socket), Kind::Datagram),
            Action::Transmit(id) => self.change(*id, |socket| socket.may_transmit = true),
            Action::Pause(id) => self.change(*id, |socket| socket.is_paused = true),
            Action::Resume(id) => self.change(*id, |socket| socket.is_paused = false),
            Action::AwaitDrained(id) => self.change(*id, |socket| socket.awaits_drained = true),
            Action::Shutdown(id) => self.change(*id, |socket| socket.may_transmit = false),
            Action::Close(id) | Action::Abort(id) => drop(self.sockets.remove(id)),
            Action::Finish => self.phase = Phase::Finished,
        }
    }
}

impl<E: EndPoint> EndPoint for Checked<E> {
    fn handle_start(&mut self, now: Instant) {
        assert!(self.phase == Phase::New, "handle_start comes once");
        self.phase = Phase::Running;
        self.settled = false;
        self.inner.handle_start(now);
    }

    fn handle_accepted(&mut self, now: Instant, accepted: Accepted) -> Option<SocketId> {
        self.input("handle_accepted");
        let id = self.inner.handle_accepted(now, accepted);
        self.name("handle_accepted", id, Kind::Stream);
        id
    }

    fn handle_connected(&mut self, now: Instant, id: SocketId, local: SocketAddr) {
        self.outcome("handle_connected");
        let socket = self.socket("handle_connected", id, Kind::Stream);
        assert!(!socket.is_connected, "handle_connected for {id:?} twice");
        socket.is_connected = true;
        self.inner.handle_connected(now, id, local);
    }

    fn handle_bytes(&mut self, now: Instant, socket: SocketId, bytes: &[u8]) {
        self.receive("handle_bytes", socket);
        self.inner.handle_bytes(now, socket, bytes);
    }

    fn poll_receive_buffer(&mut self, socket: SocketId) -> Option<&mut [u8]> {
        self.inner.poll_receive_buffer(socket)
    }

    fn handle_received(&mut self, now: Instant, socket: SocketId, bytes: usize) {
        self.receive("handle_received", socket);
        self.inner.handle_received(now, socket, bytes);
    }

    fn handle_bound(&mut self, now: Instant, bound: Bound) -> Option<SocketId> {
        self.input("handle_bound");
        let id = self.inner.handle_bound(now, bound);
        self.name("handle_bound", id, Kind::Datagram);
        id
    }

    fn handle_datagrams(&mut self, now: Instant, socket: SocketId, datagrams: ReceivedDatagrams) {
        let state = self.input_of("handle_datagrams", socket, Kind::Datagram);
        assert!(!state.is_paused, "handle_datagrams for {socket:?}, which is paused");
        assert!(!datagrams.data.is_empty(), "handle_datagrams for {socket:?} without any");
        assert!(datagrams.stride > 0, "handle_datagrams for {socket:?} without a stride");
        self.inner.handle_datagrams(now, socket, datagrams);
    }

    fn handle_eof(&mut self, now: Instant, socket: SocketId) {
        self.receive("handle_eof", socket);
        self.socket("handle_eof", socket, Kind::Stream).is_ended = true;
        self.inner.handle_eof(now, socket);
    }

    fn handle_drained(&mut self, now: Instant, id: SocketId) {
        self.input("handle_drained");
        let found = self.sockets.get_mut(&id);
        let socket = found.unwrap_or_else(|| panic!("handle_drained for {id:?}, which is gone"));
        let awaited = std::mem::take(&mut socket.awaits_drained);
        assert!(awaited, "handle_drained for {id:?}, which did not ask for it");
        assert!(socket.is_connected, "handle_drained for {id:?}, which is not connected");
        assert!(!socket.is_ended, "handle_drained for {id:?} after its end");
        assert!(!socket.is_paused, "handle_drained for {id:?}, which is paused and was not read");
        self.inner.handle_drained(now, id);
    }

    fn handle_progress(&mut self, now: Instant, id: SocketId) {
        self.input_of("handle_progress", id, Kind::Stream);
        self.inner.handle_progress(now, id);
    }

    fn handle_error(&mut self, now: Instant, id: SocketId, error: SocketError) {
        self.outcome("handle_error");
        let known = self.sockets.remove(&id).is_some();
        assert!(known, "handle_error for {id:?}, which is not there");
        self.inner.handle_error(now, id, error);
    }

    fn poll_transmit(&mut self, now: Instant, id: SocketId, out: &mut SendBuf, limit: usize) {
        self.outcome("poll_transmit");
        let socket = self.socket("poll_transmit", id, Kind::Stream);
        assert!(socket.is_connected, "poll_transmit for {id:?}, which is not connected");
        assert!(socket.may_transmit, "poll_transmit for {id:?}, which did not ask for it");
        let before = out.len();
        self.inner.poll_transmit(now, id, out, limit);
        let more = out.len() > before && self.inner.wants_transmit(id);
        self.socket("poll_transmit", id, Kind::Stream).may_transmit = more;
    }

    fn poll_datagrams(
        &mut self,
        now: Instant,
        id: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        self.outcome("poll_datagrams");
        assert!(out.is_empty(), "poll_datagrams for {id:?} with bytes of an earlier call");
        assert!(max_datagrams > 0, "poll_datagrams for {id:?} for none");
        let socket = self.socket("poll_datagrams", id, Kind::Datagram);
        assert!(socket.may_transmit, "poll_datagrams for {id:?}, which did not ask for it");
        let transmit = self.inner.poll_datagrams(now, id, out, max_datagrams);
        let more = transmit.is_some() && self.inner.wants_transmit(id);
        self.socket("poll_datagrams", id, Kind::Datagram).may_transmit = more;
        transmit
    }

    fn has_much_to_send(&self, socket: SocketId) -> bool {
        self.inner.has_much_to_send(socket)
    }

    fn wants_transmit(&self, socket: SocketId) -> bool {
        self.inner.wants_transmit(socket)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.input("handle_timeout");
        let is_due = self.timeout.is_some_and(|at| at <= now);
        assert!(is_due, "handle_timeout at {now:?}, where poll_timeout told {:?}", self.timeout);
        self.timeout = None;
        self.inner.handle_timeout(now);
    }

    fn handle_stop(&mut self, now: Instant) {
        self.input("handle_stop");
        self.inner.handle_stop(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        assert!(self.settled, "poll_timeout before poll_action gave None");
        self.timeout = self.inner.poll_timeout();
        self.timeout
    }

    fn poll_action(&mut self) -> Option<Action> {
        assert!(self.phase == Phase::Running, "poll_action while {:?}", self.phase);
        let action = self.inner.poll_action();
        match &action {
            Some(action) => self.note(action),
            None => self.settled = true,
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Gives the actions that it was made with, and does nothing else.
    #[derive(Debug, Default)]
    struct Mute(VecDeque<Action>);

    impl EndPoint for Mute {
        fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
            Some(SocketId(0))
        }

        fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

        fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

        fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

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

        fn handle_stop(&mut self, _now: Instant) {}

        fn poll_timeout(&mut self) -> Option<Instant> {
            Some(NOW)
        }

        fn poll_action(&mut self) -> Option<Action> {
            self.0.pop_front()
        }
    }

    const NOW: Instant = Instant::from_nanos(1_000);
    const SOCKET: SocketId = SocketId(0);

    /// A driver that has begun and accepted one connection, with these actions to come.
    fn begun(actions: impl IntoIterator<Item = Action>) -> Checked<Mute> {
        let mut checked = Checked::new(Mute::default());
        checked.handle_start(NOW);
        assert_eq!(checked.poll_action(), None);
        let any = ([127, 0, 0, 1], 80).into();
        checked.handle_accepted(NOW, Accepted { listener: 0, local: any, remote: any });
        checked.inner.0.extend(actions);
        checked
    }

    fn settle(checked: &mut Checked<Mute>) {
        while checked.poll_action().is_some() {}
    }

    #[test]
    fn a_driver_that_keeps_the_order_passes() {
        let mut checked = begun([Action::Transmit(SOCKET), Action::AwaitDrained(SOCKET)]);
        settle(&mut checked);
        checked.poll_transmit(NOW, SOCKET, &mut SendBuf::new(), 100);
        settle(&mut checked);
        checked.handle_bytes(NOW, SOCKET, b"x");
        settle(&mut checked);
        checked.handle_drained(NOW, SOCKET);
        settle(&mut checked);
        assert_eq!(checked.poll_timeout(), Some(NOW));
        checked.handle_timeout(NOW);
        settle(&mut checked);
        checked.handle_eof(NOW, SOCKET);
        settle(&mut checked);
        checked.handle_error(NOW, SOCKET, SocketError::Reset);
    }

    #[test]
    #[should_panic(expected = "handle_bytes before poll_action gave None")]
    fn actions_are_polled_before_the_next_input() {
        begun([]).handle_bytes(NOW, SOCKET, b"x");
    }

    #[test]
    #[should_panic(expected = "handle_timeout before poll_action gave None")]
    fn actions_are_polled_after_a_command_too() {
        let mut checked = begun([]);
        settle(&mut checked);
        checked.inner_mut();
        checked.handle_timeout(NOW);
    }

    #[test]
    #[should_panic(expected = "did not ask for it")]
    fn bytes_are_polled_only_of_a_socket_that_asked() {
        let mut checked = begun([]);
        settle(&mut checked);
        checked.poll_transmit(NOW, SOCKET, &mut SendBuf::new(), 100);
    }

    #[test]
    #[should_panic(expected = "which is not there")]
    fn nothing_arrives_on_a_socket_that_was_closed() {
        let mut checked = begun([Action::Close(SOCKET)]);
        settle(&mut checked);
        checked.handle_bytes(NOW, SOCKET, b"x");
    }

    #[test]
    #[should_panic(expected = "after its end")]
    fn nothing_arrives_after_the_end() {
        let mut checked = begun([]);
        settle(&mut checked);
        checked.handle_eof(NOW, SOCKET);
        settle(&mut checked);
        checked.handle_bytes(NOW, SOCKET, b"x");
    }

    #[test]
    #[should_panic(expected = "which is paused and was not read")]
    fn a_paused_socket_is_not_drained() {
        let mut checked = begun([Action::AwaitDrained(SOCKET), Action::Pause(SOCKET)]);
        settle(&mut checked);
        checked.handle_drained(NOW, SOCKET);
    }

    #[test]
    #[should_panic(expected = "after its end")]
    fn a_socket_that_has_ended_is_not_told_that_it_is_drained() {
        let mut checked = begun([Action::AwaitDrained(SOCKET)]);
        settle(&mut checked);
        checked.handle_eof(NOW, SOCKET);
        settle(&mut checked);
        checked.handle_drained(NOW, SOCKET);
    }

    #[test]
    #[should_panic(expected = "where poll_timeout told")]
    fn no_time_comes_before_it_was_asked_for() {
        let mut checked = begun([]);
        settle(&mut checked);
        assert_eq!(checked.poll_timeout(), Some(NOW));
        checked.handle_timeout(Instant::ZERO);
    }

    #[test]
    #[should_panic(expected = "while Finished")]
    fn nothing_follows_the_finish() {
        let mut checked = begun([Action::Finish]);
        checked.poll_action();
        checked.settled = true;
        checked.handle_bytes(NOW, SOCKET, b"x");
    }
}
