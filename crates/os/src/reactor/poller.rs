//! The seam between a reactor and the kernel: a [`Poller`] for each [`Backend`](super::Backend). The one rule: it knows
//! sockets and tokens, and never the end point. When to read, what to send and how a socket ends is the reactor's alone.

use super::socket::Socket;
use super::stop::Stop;
use super::table::{Table, Token};
use crate::tcp::{self, Listener};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Tells what sockets are ready for, and moves bytes between stream sockets and the reactor.
pub(super) trait Poller {
    /// Tells of each call of `stop` under the token [`super::STOP`]. Calls before this one are told as one.
    fn watch_stop(&mut self, stop: &Stop) -> io::Result<()>;

    /// Tells, for as long as it is so, that connections wait at `listener`.
    fn listen(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Tells nothing more of `listener` until `resume_listener`.
    fn pause_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Tells of `listener` again, after `pause_listener`.
    fn resume_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Connections were taken from `listener`: all of them, or as many as a turn allows.
    fn accepted(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Closes a listener: from the return on, nobody connects.
    fn close_listener(&mut self, listener: Listener);

    /// Watches a socket from now on, connected or not.
    fn add(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// A socket that was added before is connected now.
    fn opened(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Tells the kernel all that was asked since the last wait, and waits up to `timeout` (None: for ever). Returns how
    /// many events came.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize>;

    /// One event of the last wait. Each is asked for once, in order. None where the reactor need not know of it.
    fn event(&mut self, index: usize, table: &mut Table) -> Option<Readiness>;

    /// What has arrived, into `buffer` where one is given. Sets whether more may be there. `WouldBlock` where there is
    /// nothing.
    fn receive<'a>(
        &'a mut self,
        token: Token,
        socket: &mut Socket,
        buffer: Option<&mut [u8]>,
    ) -> io::Result<Received<'a>>;

    /// After `receive` returned `WouldBlock`: whether all that had arrived was received.
    fn is_drained(&mut self, socket: &Socket) -> bool;

    /// Throws away what has arrived. Returns how many bytes, 0 for the peer's end.
    fn discard(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Sends from the front of what is pending, or begins to. Returns how many bytes the kernel is known to have taken.
    /// Sets whether it takes more now; where it does not, an event will tell that it does.
    fn send(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Has an event tell that little lies unsent in the kernel.
    fn await_low_water(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Receives nothing until the next `receive`, but tells of errors.
    fn pause(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Closes a stream socket.
    fn remove(&mut self, socket: Socket);

    /// Watches a datagram socket from now on. `await_datagrams` follows.
    fn add_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Tells when datagrams arrive. Called each time that a receive call has found nothing more.
    fn await_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Tells when the kernel takes datagrams again.
    fn await_datagram_space(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// What `await_datagram_space` waited for has come.
    fn datagram_space_came(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Closes a datagram socket.
    fn close(&mut self, fd: OwnedFd);

    /// Nothing more will be asked for a while: completes what was begun for sockets that are gone.
    fn flush(&mut self);
}

/// What `receive` brought.
#[derive(Debug)]
pub(super) enum Received<'a> {
    /// The peer has ended.
    End,
    /// So many bytes, in the buffer that was given.
    Filled(usize),
    /// These.
    Bytes(&'a [u8]),
}

/// What a socket, a listener or the stop signal is ready for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readiness {
    pub(super) token: u64,
    bits: u32,
    /// The socket has failed: the error's number.
    pub(super) error: Option<i32>,
}

impl Readiness {
    /// From the bits of poll(2), which are epoll's too.
    pub(super) fn new(token: u64, bits: u32) -> Self {
        Self { token, bits, error: None }
    }

    /// A socket that has failed, with this errno.
    pub(super) fn failure(token: Token, error: i32) -> Self {
        Self { token: token.0, bits: 0, error: Some(error) }
    }

    /// There is something to read, or an end or error to find by reading.
    pub(super) fn readable(self) -> bool {
        self.has(libc::EPOLLIN) || self.hung_up() || self.failed()
    }

    /// Bytes can be sent, or a connect is decided.
    pub(super) fn writable(self) -> bool {
        self.has(libc::EPOLLOUT) || self.failed() || self.has(libc::EPOLLHUP)
    }

    /// The peer will send nothing more.
    pub(super) fn hung_up(self) -> bool {
        self.has(libc::EPOLLRDHUP) || self.has(libc::EPOLLHUP)
    }

    /// An error waits to be taken.
    pub(super) fn failed(self) -> bool {
        self.has(libc::EPOLLERR)
    }

    fn has(self, bit: libc::c_int) -> bool {
        self.bits & bit as u32 != 0
    }
}

/// Sends by a call, and notes what the kernel takes and whether it takes more.
pub(super) fn send_now(socket: &mut Socket) -> io::Result<usize> {
    let output = &mut socket.output;
    let sent = unless_blocked(&mut output.ready, || tcp::send(socket.fd.as_fd(), &output.pending));
    match sent {
        Ok((offered, taken)) => {
            output.take(taken);
            // A write cut short has told the kernel that somebody waits: an edge will come.
            output.ready = taken == offered;
            Ok(taken)
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

/// The outcome of a call, and whether the direction is `ready` for another.
pub(super) fn unless_blocked<T>(
    ready: &mut bool,
    call: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let outcome = call();
    if matches!(&outcome, Err(error) if error.kind() == ErrorKind::WouldBlock) {
        *ready = false;
    }
    outcome
}
