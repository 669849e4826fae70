//! Two end points and the datagrams between them, in virtual time. The input decides what becomes of each datagram.

use crate::{heap, reached};
use endpoint::{Action, Bound, Checked, DatagramTransmit, EndPoint, ReceivedDatagrams, SocketId};
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use unit::Instant;

/// When a wire begins.
pub(super) const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

/// Where the far end listens.
const FAR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 443);

/// What becomes of datagrams, by turns: lost, doubled, held back behind the next one, damaged; else delivered.
#[derive(Debug, Clone)]
pub(super) struct Fates {
    fates: Vec<u8>,
    next: usize,
}

impl Fates {
    /// Takes them off the front of an input: their number, then a byte each.
    pub(super) fn read(input: &mut &[u8]) -> Self {
        let count = usize::from(input.split_off_first().copied().unwrap_or_default() % 32);
        let fates = input.split_off(..count.min(input.len())).unwrap_or_default().to_vec();
        Self { fates, next: 0 }
    }

    fn take(&mut self) -> u8 {
        self.next += 1;
        self.fates.get(self.next % self.fates.len().max(1)).copied().unwrap_or(0xff)
    }
}

/// One end, its sockets and what is on its way to it.
struct Side<E> {
    end: Checked<E>,
    sockets: BTreeSet<SocketId>,
    wants_transmit: VecDeque<SocketId>,
    /// Who sent it, to which of this side's sockets.
    inbox: VecDeque<(SocketAddr, SocketId, Vec<u8>)>,
    is_finished: bool,
}

/// Both ends.
pub(super) struct Wire<N, F> {
    near: Side<N>,
    far: Side<F>,
    pub(super) now: Instant,
    fates: Fates,
    most: usize,
    heap_before: isize,
}

impl<N: EndPoint, F: EndPoint> Wire<N, F> {
    /// Both begin; they may hold `most` bytes together.
    pub(super) fn new(near: N, far: F, fates: Fates, most: usize, heap_before: isize) -> Self {
        let (near, mut far) = (Side::new(near), Side::new(far));
        let bound = Bound { listener: 0, local: FAR };
        let socket = far.end.handle_bound(BEGIN, bound);
        far.sockets.extend(socket);
        far.settle();
        let mut wire = Self { near, far, now: BEGIN, fates, most, heap_before };
        wire.run_out();
        wire
    }

    pub(super) fn near(&self) -> &N {
        self.near.end.inner()
    }

    pub(super) fn is_near_finished(&self) -> bool {
        self.near.is_finished
    }

    /// Has the near end do something.
    pub(super) fn act(&mut self, act: impl FnOnce(&mut N)) {
        if !self.near.is_finished {
            act(self.near.end.inner_mut());
            self.near.settle();
            self.run_out();
        }
    }

    /// Has the near end do something and send what follows from it, of which the far end hears with the next act.
    #[cfg(test)]
    pub(super) fn act_unheard(&mut self, act: impl FnOnce(&mut N)) {
        act(self.near.end.inner_mut());
        self.near.settle();
        for (from, _, datagram) in self.near.transmit(self.now) {
            if let Some(&socket) = self.far.sockets.first() {
                self.far.inbox.push_back((near_address(from), socket, datagram));
            }
        }
    }

    /// Forgets the near end and what is on its way.
    #[cfg(test)]
    pub(super) fn into_far(self) -> Checked<F> {
        self.far.end
    }

    /// Hands a datagram to the far end, as if from the near one.
    pub(super) fn inject(&mut self, datagram: Vec<u8>) {
        if let Some(&socket) = self.far.sockets.first() {
            self.far.inbox.push_back((near_address(SocketId(0)), socket, datagram));
            self.run_out();
        }
    }

    /// Time passes.
    pub(super) fn sleep(&mut self, span: Duration) {
        let end = self.now + span;
        let mut spins = 0;
        for turn in 0.. {
            let times = [self.near.next_timeout(), self.far.next_timeout()];
            let Some(at) = times.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            // What comes after many is late.
            let at = if turn < TIMELY { at.max(self.now) } else { end };
            spins = if at > self.now { 0 } else { spins + 1 };
            assert!(spins < SPIN, "{SPIN} time-outs at {at:?}");
            self.now = at;
            self.near.fire(at);
            self.far.fire(at);
            self.run_out();
        }
        self.now = end;
    }

    /// Ends both: asked to stop twice, the far end has finished.
    pub(super) fn stop(mut self) {
        for _ in 0..2 {
            if !self.far.is_finished {
                self.far.end.handle_stop(self.now);
                self.far.settle();
                self.run_out();
            }
        }
        assert!(self.far.is_finished, "it goes on after the second handle_stop");
    }

    /// Moves datagrams until neither end has any, or both have had their say many times.
    fn run_out(&mut self) {
        for _ in 0..ROUNDS {
            let sent = self.near.transmit(self.now);
            let mut moved = !sent.is_empty();
            for (from, _, datagram) in sent {
                if let Some(&socket) = self.far.sockets.first() {
                    deliver(&mut self.fates, (near_address(from), socket, datagram), &mut self.far);
                }
            }
            let sent = self.far.transmit(self.now);
            moved |= !sent.is_empty();
            for (_, to, datagram) in sent {
                reached::note_sent(datagram.len());
                let socket = SocketId(usize::from(to.port()).saturating_sub(FIRST_PORT));
                if self.near.sockets.contains(&socket) {
                    deliver(&mut self.fates, (FAR, socket, datagram), &mut self.near);
                }
            }
            moved |= self.near.hear(self.now) | self.far.hear(self.now);
            let held = heap::peak() - self.heap_before;
            assert!(
                usize::try_from(held).is_ok_and(|held| held <= self.most) || held < 0,
                "{held} bytes are held; {} are allowed",
                self.most
            );
            heap::reset_peak();
            if !moved {
                return;
            }
        }
    }
}

/// The near end's sockets have a port each.
fn near_address(SocketId(number): SocketId) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], (FIRST_PORT + number) as u16))
}

fn deliver<E>(fates: &mut Fates, datagram: (SocketAddr, SocketId, Vec<u8>), to: &mut Side<E>) {
    let fate = fates.take();
    match fate & 7 {
        0 => {}
        1 => {
            to.inbox.push_back(datagram.clone());
            to.inbox.push_back(datagram);
        }
        2 => to.inbox.push_front(datagram),
        3 => {
            let (from, socket, mut bytes) = datagram;
            let at = usize::from(fate) * 37 % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (fate >> 5);
            }
            to.inbox.push_back((from, socket, bytes));
        }
        _ => to.inbox.push_back(datagram),
    }
}

impl<E: EndPoint> Side<E> {
    fn new(end: E) -> Self {
        let mut side = Self {
            end: Checked::new(end),
            sockets: BTreeSet::new(),
            wants_transmit: VecDeque::new(),
            inbox: VecDeque::new(),
            is_finished: false,
        };
        side.end.handle_start(BEGIN);
        side.settle();
        side
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        if self.is_finished { None } else { self.end.poll_timeout() }
    }

    fn fire(&mut self, now: Instant) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.end.handle_timeout(now);
            self.settle();
        }
    }

    /// All that it wants to send now, of each datagram the socket and the destination.
    fn transmit(&mut self, now: Instant) -> Vec<(SocketId, SocketAddr, Vec<u8>)> {
        let mut sent = Vec::new();
        for _ in 0..ROUNDS {
            let Some(&socket) = self.wants_transmit.front().filter(|_| !self.is_finished) else {
                break;
            };
            let mut out = Vec::new();
            let transmit = self.end.poll_datagrams(now, socket, &mut out, BATCH);
            self.settle();
            let Some(DatagramTransmit { remote, segment_size, .. }) = transmit else {
                self.wants_transmit.retain(|other| *other != socket);
                continue;
            };
            let size = segment_size.unwrap_or(out.len()).max(1);
            sent.extend(out.chunks(size).map(|datagram| (socket, remote, datagram.to_vec())));
        }
        sent
    }

    /// Hands in what has come.
    fn hear(&mut self, now: Instant) -> bool {
        let mut heard = false;
        while let Some((remote, socket, datagram)) = self.inbox.pop_front() {
            if self.is_finished || datagram.is_empty() || !self.sockets.contains(&socket) {
                continue;
            }
            let (data, stride) = (datagram[..].into(), datagram.len());
            let received = ReceivedDatagrams { remote, local: None, ecn: None, stride, data };
            self.end.handle_datagrams(now, socket, received);
            self.settle();
            heard = true;
        }
        heard
    }

    fn settle(&mut self) {
        while !self.is_finished
            && let Some(action) = self.end.poll_action()
        {
            match action {
                Action::Bind { socket, .. } => drop(self.sockets.insert(socket)),
                Action::Transmit(socket) if !self.wants_transmit.contains(&socket) => {
                    self.wants_transmit.push_back(socket);
                }
                Action::Close(socket) | Action::Abort(socket) => {
                    self.sockets.remove(&socket);
                    self.wants_transmit.retain(|other| *other != socket);
                }
                Action::Finish => self.is_finished = true,
                _ => {}
            }
        }
    }
}

/// Time-outs at one instant that are taken for an endless loop.
const SPIN: u32 = 1_000;

/// Time-outs that come at their own times; later ones come at the end of the sleep.
const TIMELY: u32 = 500;

/// How often both ends may speak without time passing, and one without the other.
const ROUNDS: usize = 200;

/// Datagrams that one call may give.
const BATCH: usize = 16;

const FIRST_PORT: usize = 50_000;
