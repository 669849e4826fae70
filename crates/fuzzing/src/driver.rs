//! Drives an end point by a script, in virtual time and in the order of the contract (`endpoint::Checked`). The script is
//! the network and the peer.
//!
//! It asserts, beside what the end point asserts itself:
//!
//! - The order and the ids of the actions are as the contract says.
//! - The end point never holds more than [`Bound`] says.
//! - Time-outs advance: [`SPIN`] of them at one instant are a loop that never ends on a real machine.
//! - After two `handle_stop` it has finished, and what it held is freed.

use crate::script::{READ, Step, steps};
use crate::tls_peer::{TlsClients, TlsPeer};
use crate::{heap, reached};
use endpoint::{Accepted, Action, Checked, EndPoint, SendBuf, SocketError, SocketId};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use unit::Instant;

/// The most that an end point may hold: `fixed + connection x (connections opened) + input x (bytes that arrived)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Bytes, whatever arrives.
    pub(crate) fixed: usize,
    /// Bytes for each connection that was opened so far.
    pub(crate) connection: usize,
    /// Bytes for each byte that arrived so far.
    pub(crate) input: usize,
}

/// Runs the script in `input` against the end point that `make` makes.
pub(crate) fn run<E: EndPoint>(make: impl FnOnce() -> E, bound: Bound, input: &[u8]) {
    run_with(make, bound, None, input);
}

/// The same for a server that speaks TLS: [`Step::OpenSecured`] brings a client of TLS, [`Step::Open`] one whose bytes go as
/// they are.
pub(crate) fn run_secured<E: EndPoint>(make: impl FnOnce() -> E, bound: Bound, input: &[u8]) {
    run_with(make, bound, Some(TlsClients::default()), input);
}

fn run_with<E: EndPoint>(
    make: impl FnOnce() -> E,
    bound: Bound,
    tls: Option<TlsClients>,
    input: &[u8],
) {
    let before = heap::held();
    heap::reset_peak();
    let mut driver = Driver::new(make(), tls, before, bound);
    for step in steps(input) {
        if driver.is_finished {
            break;
        }
        driver.step(step);
    }
    driver.stop_twice();
    drop(driver);
    let left = heap::held() - before;
    assert!(left <= LEFT_OVER, "{left} bytes are still held after the end point was dropped");
}

/// Time-outs at one instant that are taken for an endless loop.
const SPIN: u32 = 1_000;

/// Time-outs that one [`Step::Sleep`] fires at their own times. The next comes late, at the end of the sleep.
const TIMELY: u32 = 200;

/// What the first run leaves behind: tables that are made once and kept.
const LEFT_OVER: isize = 4 * 1024 * 1024;

pub(crate) struct Driver<E> {
    end_point: Checked<E>,
    /// For a server that speaks TLS.
    tls: Option<TlsClients>,
    pub(crate) now: Instant,
    pub(crate) peers: BTreeMap<SocketId, Peer>,
    connecting: VecDeque<SocketId>,
    current: SocketId,
    /// The size of the pieces in which bytes arrive.
    piece: usize,
    is_finished: bool,
    heap_before: isize,
    bound: Bound,
    opened: usize,
    arrived: usize,
    /// Time-outs since time last advanced.
    timeouts: u32,
}

/// The other side of a socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    is_connected: bool,
    wants_transmit: bool,
    is_paused: bool,
    awaits_drained: bool,
    /// Between the script and the bytes in flight; None where the script's bytes go as they are.
    tls: Option<Box<TlsPeer>>,
    /// Bytes in flight to the end point.
    pub(crate) pending: VecDeque<u8>,
    end: End,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// FIN follows the bytes in flight.
    Coming,
    Told,
}

impl Peer {
    /// The script has it say these bytes.
    fn say(&mut self, bytes: &[u8]) {
        if self.end != End::Open {
            return;
        }
        match &mut self.tls {
            None => self.pending.extend(bytes),
            Some(tls) => tls.say(bytes),
        }
        self.flush();
    }

    /// Takes what the end point sent.
    fn hear(&mut self, sent: &SendBuf) {
        if let Some(tls) = &mut self.tls {
            tls.handle_bytes(&sent.to_vec());
            self.flush();
        }
    }

    /// Puts what TLS wants to send in flight.
    fn flush(&mut self) {
        if let Some(tls) = &mut self.tls
            && self.end == End::Open
        {
            self.pending.extend(tls.poll_transmit());
        }
    }
}

impl<E: EndPoint> Driver<E> {
    pub(crate) fn new(
        end_point: E,
        tls: Option<TlsClients>,
        heap_before: isize,
        bound: Bound,
    ) -> Self {
        let mut driver = Self {
            end_point: Checked::new(end_point),
            tls,
            now: Instant::ZERO,
            peers: BTreeMap::new(),
            connecting: VecDeque::new(),
            current: SocketId(0),
            piece: usize::MAX,
            is_finished: false,
            heap_before,
            bound,
            opened: 0,
            arrived: 0,
            timeouts: 0,
        };
        driver.end_point.handle_start(driver.now);
        driver.settle();
        driver
    }

    pub(crate) fn step(&mut self, step: Step<'_>) {
        let current = self.current;
        match step {
            Step::Send(bytes) => self.with_peer(|peer| peer.say(bytes)),
            Step::Open | Step::OpenSecured(_) if !self.connecting.is_empty() => self.connect(),
            Step::Open => self.accept(None),
            Step::OpenSecured(settings) => {
                let tls = self.tls.as_mut().map(|clients| clients.connect(settings));
                self.accept(tls.map(Box::new));
            }
            Step::Damage(at) => self.with_tls(|tls| tls.damage(at)),
            Step::CloseNotify => self.with_tls(TlsPeer::close),
            Step::Refuse => {
                if let Some(&socket) = self.connecting.front() {
                    self.fail(socket, SocketError::Refused);
                }
            }
            Step::Select(index) => {
                let nth = usize::from(index) % self.peers.len().max(1);
                self.current = self.peers.keys().nth(nth).copied().unwrap_or(current);
            }
            Step::Cut(size) => self.piece = if size == 0 { usize::MAX } else { size.into() },
            Step::End => self.with_peer(|peer| {
                if peer.end == End::Open {
                    peer.end = End::Coming;
                }
            }),
            Step::Reset => self.fail(current, SocketError::Reset),
            Step::Sleep(span) => self.sleep(span),
            Step::Transmit(limit) => drop(self.transmit(current, limit)),
            Step::Read => self.read(),
            Step::Stop => {
                self.end_point.handle_stop(self.now);
                self.settle();
            }
        }
        self.deliver_all();
    }

    /// What the script does to the current connection's peer.
    pub(crate) fn with_peer(&mut self, act: impl FnOnce(&mut Peer)) {
        if let Some(peer) = self.peers.get_mut(&self.current) {
            act(peer);
        }
    }

    fn with_tls(&mut self, act: impl FnOnce(&mut TlsPeer)) {
        self.with_peer(|peer| {
            if let Some(tls) = &mut peer.tls {
                act(tls);
                peer.flush();
            }
        });
    }

    fn accept(&mut self, tls: Option<Box<TlsPeer>>) {
        let accepted = Accepted { listener: 0, local: ADDRESS, remote: ADDRESS };
        if let Some(socket) = self.end_point.handle_accepted(self.now, accepted) {
            self.opened += 1;
            let mut peer = Peer { is_connected: true, tls, ..Peer::default() };
            peer.flush();
            self.peers.insert(socket, peer);
            self.current = socket;
        }
        self.settle();
        self.shake_hands();
    }

    /// Goes on with the current connection's handshake until it is over or stands still.
    fn shake_hands(&mut self) {
        let current = self.current;
        let is_eager = |peer: &Peer| peer.tls.as_ref().is_some_and(|tls| tls.is_eager());
        while self.peers.get(&current).is_some_and(is_eager) {
            while !self.is_finished && self.deliver(current) {}
            if self.transmit(current, PIECE) == 0 {
                break;
            }
        }
    }

    fn connect(&mut self) {
        let Some(socket) = self.connecting.pop_front() else { return };
        if let Some(peer) = self.peers.get_mut(&socket) {
            peer.is_connected = true;
            self.opened += 1;
            self.current = socket;
            self.end_point.handle_connected(self.now, socket, ADDRESS);
            self.settle();
        }
    }

    fn fail(&mut self, socket: SocketId, error: SocketError) {
        if self.peers.remove(&socket).is_some() {
            self.connecting.retain(|other| *other != socket);
            self.end_point.handle_error(self.now, socket, error);
            self.settle();
        }
    }

    fn sleep(&mut self, span: Duration) {
        let end = self.now + span;
        let mut fired = 0;
        while !self.is_finished
            && let Some(at) = self.end_point.poll_timeout().filter(|at| *at <= end)
        {
            let at = if fired < TIMELY { at.max(self.now) } else { end };
            self.timeouts = if at > self.now { 0 } else { self.timeouts + 1 };
            assert!(self.timeouts < SPIN, "{SPIN} time-outs at {at:?}");
            self.now = at;
            fired += 1;
            self.end_point.handle_timeout(at);
            self.settle();
            self.deliver_all();
        }
        self.now = self.now.max(end);
        self.timeouts = 0;
    }

    /// Returns how many bytes came.
    fn transmit(&mut self, socket: SocketId, limit: usize) -> usize {
        let Some(peer) = self.peers.get_mut(&socket) else { return 0 };
        if self.is_finished || !peer.wants_transmit || !peer.is_connected {
            return 0;
        }
        let mut out = SendBuf::new();
        self.end_point.poll_transmit(self.now, socket, &mut out, limit);
        peer.wants_transmit = !out.is_empty() && self.end_point.wants_transmit(socket);
        peer.hear(&out);
        let sent = out.len();
        reached::note_sent(sent);
        self.settle();
        sent
    }

    fn read(&mut self) {
        for socket in self.sockets() {
            let mut left = READ;
            while left > 0 {
                match self.transmit(socket, left.min(PIECE)) {
                    0 => break,
                    sent => left = left.saturating_sub(sent),
                }
            }
        }
    }

    fn deliver_all(&mut self) {
        for socket in self.sockets() {
            while !self.is_finished && self.deliver(socket) {}
        }
    }

    fn sockets(&self) -> Vec<SocketId> {
        self.peers.keys().copied().collect()
    }

    /// Hands in the next bytes of a socket, its end, or that it is drained. False where there is nothing to hand in.
    fn deliver(&mut self, socket: SocketId) -> bool {
        let Some(peer) = self.peers.get_mut(&socket) else { return false };
        if peer.is_paused || !peer.is_connected || peer.end == End::Told {
            return false;
        }
        if !peer.pending.is_empty() {
            let size = self.piece.min(peer.pending.len()).min(PIECE);
            let mut piece: Vec<u8> = peer.pending.drain(..size).collect();
            if let Some(buffer) = self.end_point.poll_receive_buffer(socket) {
                let taken = size.min(buffer.len());
                assert!(taken > 0, "an empty buffer to receive into");
                buffer[..taken].copy_from_slice(&piece[..taken]);
                for byte in piece.drain(taken..).rev() {
                    peer.pending.push_front(byte);
                }
                self.arrived += taken;
                self.end_point.handle_received(self.now, socket, taken);
            } else {
                self.arrived += size;
                self.end_point.handle_bytes(self.now, socket, &piece);
            }
        } else if peer.end == End::Coming {
            peer.end = End::Told;
            self.end_point.handle_eof(self.now, socket);
        } else if std::mem::take(&mut peer.awaits_drained) {
            self.end_point.handle_drained(self.now, socket);
        } else {
            return false;
        }
        self.settle();
        true
    }

    /// Runs after every call: takes the actions, and weighs the heap.
    fn settle(&mut self) {
        while !self.is_finished
            && let Some(action) = self.end_point.poll_action()
        {
            self.act(action);
        }
        let Bound { fixed, connection, input } = self.bound;
        let bound = fixed + connection * self.opened + input * self.arrived;
        let held = heap::peak() - self.heap_before;
        assert!(
            usize::try_from(held).is_ok_and(|held| held <= bound) || held < 0,
            "{held} bytes held after {} bytes on {} connections; {bound} are allowed",
            self.arrived,
            self.opened
        );
        heap::reset_peak();
    }

    fn act(&mut self, action: Action) {
        let mut change = |socket: &SocketId, change: &dyn Fn(&mut Peer)| {
            if let Some(peer) = self.peers.get_mut(socket) {
                change(peer);
            }
        };
        match &action {
            Action::Connect { socket, .. } => {
                self.peers.insert(*socket, Peer::default());
                self.connecting.push_back(*socket);
            }
            Action::Bind { .. } => panic!("no target has datagrams"),
            Action::Transmit(socket) => change(socket, &|peer| peer.wants_transmit = true),
            Action::Shutdown(socket) => change(socket, &|peer| peer.wants_transmit = false),
            Action::Pause(socket) => change(socket, &|peer| peer.is_paused = true),
            Action::Resume(socket) => change(socket, &|peer| peer.is_paused = false),
            Action::AwaitDrained(socket) => change(socket, &|peer| peer.awaits_drained = true),
            Action::Close(socket) | Action::Abort(socket) => {
                self.peers.remove(socket);
                self.connecting.retain(|other| other != socket);
            }
            Action::Finish => self.is_finished = true,
        }
    }

    /// The driver is asked to stop, then told to stop at once.
    fn stop_twice(&mut self) {
        for _ in 0..2 {
            if !self.is_finished {
                self.end_point.handle_stop(self.now);
                self.settle();
                self.read();
            }
        }
        assert!(self.is_finished, "it goes on after the second handle_stop");
    }
}

/// The size of what a driver reads and sends at once.
const PIECE: usize = 64 * 1024;

const ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 80);

#[cfg(test)]
mod tests;
