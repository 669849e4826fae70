//! An end point on datagram sockets that does what a test's closure says, and fails the test where the reactor breaks
//! the order of calls.

use endpoint::{
    Accepted, Action, Bound, Checked, DatagramTransmit, Ecn, EndPoint, ReceivedDatagrams, SendBuf,
    SocketError, SocketId,
};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use unit::Instant;

/// Its one socket.
const SOCKET: SocketId = SocketId(0);

/// What the reactor told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Started,
    Bound(SocketId, SocketAddr),
    Received(Received),
    Drained(SocketId),
    Failed(SocketId, SocketError),
    Timeout,
    Stop,
}

/// Datagrams, with what is known of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Received {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<IpAddr>,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) stride: usize,
    pub(crate) data: Vec<u8>,
}

/// What the closure works with.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    actions: VecDeque<Action>,
    outgoing: VecDeque<(DatagramTransmit, Vec<u8>)>,
    pub(crate) timeout: Option<Instant>,
    /// It refuses the socket that it is given.
    pub(crate) refuses: bool,
    /// It closes the socket and finishes once all is given to the reactor.
    pub(crate) finish_when_sent: bool,
    /// Calls of `poll_datagrams` that gave something, after the first turn.
    pub(crate) asked_while_waiting: usize,
    /// Batches that were taken.
    pub(crate) made: usize,
    /// What `has_much_to_send` tells.
    pub(crate) has_much_to_send: bool,
    has_waited: bool,
}

impl Desk {
    /// Queues datagrams.
    pub(crate) fn send(&mut self, transmit: DatagramTransmit, contents: &[u8]) {
        self.outgoing.push_back((transmit, contents.to_vec()));
        self.actions.push_back(Action::Transmit(SOCKET));
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }
}

pub(crate) struct Peer<F> {
    pub(crate) desk: Desk,
    handle: F,
}

/// An end point for one run.
pub(crate) fn peer<F: FnMut(&mut Desk, Seen)>(handle: F) -> Checked<Peer<F>> {
    Checked::new(Peer { desk: Desk::default(), handle })
}

impl<F: FnMut(&mut Desk, Seen)> Peer<F> {
    fn tell(&mut self, seen: Seen) {
        (self.handle)(&mut self.desk, seen);
    }
}

impl<F: FnMut(&mut Desk, Seen)> EndPoint for Peer<F> {
    fn handle_start(&mut self, _now: Instant) {
        self.tell(Seen::Started);
    }

    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        panic!("nobody listens for connections")
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {
        panic!("nobody connects")
    }

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {
        panic!("there is no stream")
    }

    fn handle_bound(&mut self, _now: Instant, bound: Bound) -> Option<SocketId> {
        self.tell(Seen::Bound(SOCKET, bound.local));
        (!self.desk.refuses).then_some(SOCKET)
    }

    fn handle_datagrams(&mut self, _now: Instant, socket: SocketId, datagrams: ReceivedDatagrams) {
        assert_eq!(socket, SOCKET);
        let ReceivedDatagrams { remote, local, ecn, stride, data } = datagrams;
        self.tell(Seen::Received(Received { remote, local, ecn, stride, data: data.to_vec() }));
    }

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {
        panic!("there is no stream")
    }

    fn handle_drained(&mut self, _now: Instant, socket: SocketId) {
        self.tell(Seen::Drained(socket));
    }

    fn handle_error(&mut self, _now: Instant, socket: SocketId, error: SocketError) {
        self.tell(Seen::Failed(socket, error));
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {
        panic!("there is no stream")
    }

    fn poll_datagrams(
        &mut self,
        _now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let (transmit, contents) = self.desk.outgoing.pop_front()?;
        let count = transmit.segment_size.map_or(1, |size| contents.len().div_ceil(size));
        assert!(count <= max_datagrams, "the kernel takes {max_datagrams} at a time");
        self.desk.made += 1;
        self.desk.asked_while_waiting += usize::from(self.desk.has_waited);
        out.extend_from_slice(&contents);
        if self.desk.finish_when_sent && self.desk.outgoing.is_empty() {
            self.desk.actions.extend([Action::Close(SOCKET), Action::Finish]);
        }
        Some(transmit)
    }

    fn has_much_to_send(&self, _socket: SocketId) -> bool {
        self.desk.has_much_to_send
    }

    fn wants_transmit(&self, _socket: SocketId) -> bool {
        !self.desk.outgoing.is_empty()
    }

    fn handle_timeout(&mut self, _now: Instant) {
        self.desk.timeout = None;
        self.tell(Seen::Timeout);
    }

    fn handle_stop(&mut self, _now: Instant) {
        self.tell(Seen::Stop);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.desk.has_waited = true;
        self.desk.timeout
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.desk.actions.pop_front()
    }
}

/// Gives this thread a network of its own, whose loopback carries 80 Mbit/s and lets what is too much wait.
pub(crate) fn slow_loopback() {
    // SAFETY: a plain call, for this thread alone.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "needs root");
    let commands = [
        "ip link set lo mtu 1500 up",
        "tc qdisc add dev lo root tbf rate 80mbit burst 20kb limit 100mb",
    ];
    for command in commands {
        let mut words = command.split(' ');
        let status = Command::new(words.next().unwrap()).args(words).status();
        assert!(status.as_ref().is_ok_and(|status| status.success()), "`{command}`: {status:?}");
    }
}

/// Packets that the kernel dropped because a processor's backlog of received packets was full (proc_net(5),
/// `softnet_stat`: the second column), those of all programs.
pub(crate) fn dropped_in_backlogs() -> u64 {
    let lines = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let dropped = |line: &str| {
        let column = line.split_whitespace().nth(1).unwrap();
        u64::from_str_radix(column, 16).unwrap()
    };
    lines.lines().map(dropped).sum()
}

/// Gives a socket a receive buffer of 16 MB, beyond what the system allows without privilege.
pub(crate) fn widen_receive_buffer(socket: &UdpSocket) {
    let bytes: libc::c_int = 16_000_000;
    let length = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the option is an int, which lives through the call.
    let set = unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const bytes).cast(), length)
    };
    assert_eq!(set, 0, "needs root");
}
