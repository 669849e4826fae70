//! The interface between a reactor and the kernel: one [`Poller`] for each [`Backend`](super::Backend). The one rule: a
//! poller knows sockets and tokens, never the end point. The reactor alone decides when to read, what to send and how a
//! socket ends.

use super::socket::Socket;
use super::stop::Stop;
use super::table::{Table, Token};
use crate::tcp::{self, Listener};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Reports what sockets are ready for, and moves bytes between stream sockets and the reactor.
pub(super) trait Poller {
    /// Reports each call of `stop` under the token [`super::STOP`]. Earlier calls are reported as one.
    fn watch_stop(&mut self, stop: &Stop) -> io::Result<()>;

    /// Reports, for as long as it is so, that connections wait at `listener`.
    fn listen(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Reports nothing of `listener` until `resume_listener`.
    fn pause_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Reports `listener` again after `pause_listener`.
    fn resume_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Connections were accepted from `listener`: all of them, or as many as a turn allows.
    fn accepted(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Closes a listener. After the return nobody can connect.
    fn close_listener(&mut self, listener: Listener);

    /// Watches a socket from now on, connected or not.
    fn add(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// A socket that was added before is connected now.
    fn opened(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Hands everything that was asked since the last wait to the kernel, and waits up to `timeout` (None: for ever).
    /// Returns how many events came.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize>;

    /// One event of the last wait. Each is asked for once, in order. None for an event that does not concern the
    /// reactor.
    fn event(&mut self, index: usize, table: &mut Table) -> Option<Readiness>;

    /// Receives `most` bytes at most, into `buffer` if there is one, otherwise into the poller's own. Sets whether more may be there.
    /// `WouldBlock` where there is nothing.
    fn receive<'a>(
        &'a mut self,
        token: Token,
        socket: &mut Socket,
        buffer: Option<&mut [u8]>,
        most: usize,
    ) -> io::Result<Received<'a>>;

    /// No more is received from a socket, though there may be bytes: they wait for its next turn.
    fn defer(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// After `receive` returned `WouldBlock`: whether all that had arrived was received.
    fn is_drained(&mut self, socket: &Socket) -> bool;

    /// Discards what has arrived. Returns how many bytes, 0 for the peer's end.
    fn discard(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Sends from the front of what is pending, or begins to. Returns how many bytes the kernel is known to have taken.
    /// Sets whether it takes more now. If not, an event will report that it does.
    fn send(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Asks for an event when few bytes are unsent in the kernel.
    fn await_low_water(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Receives nothing until the next `receive`, but reports errors.
    fn pause(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Closes a stream socket.
    fn remove(&mut self, socket: Socket);

    /// Watches a datagram socket from now on. `await_datagrams` follows.
    fn add_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Reports when datagrams arrive. Called each time a receive call has found nothing more.
    fn await_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Reports when the kernel takes datagrams again.
    fn await_datagram_space(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// The event that `await_datagram_space` asked for has come.
    fn datagram_space_came(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Closes a datagram socket.
    fn close(&mut self, fd: OwnedFd);

    /// Nothing more will be asked for a while. Completes what was begun for sockets that are gone.
    fn flush(&mut self);
}

/// What `receive` brought.
#[derive(Debug)]
pub(super) enum Received<'a> {
    /// The peer has ended.
    End,
    /// This many bytes, in the given buffer.
    Filled(usize),
    /// These.
    Bytes(&'a [u8]),
}

/// What a socket, a listener or the stop signal is ready for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readiness {
    pub(super) token: u64,
    bits: u32,
    /// The socket has failed, with this errno.
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

    /// A read will return bytes, the end or an error.
    pub(super) fn readable(self) -> bool {
        self.has(libc::EPOLLIN) || self.hung_up() || self.failed()
    }

    /// Bytes can be sent, or a connect has succeeded or failed.
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

/// Sends by a system call. Records what the kernel takes and whether it takes more.
pub(super) fn send_now(socket: &mut Socket) -> io::Result<usize> {
    let output = &mut socket.output;
    let sent = unless_blocked(&mut output.ready, || tcp::send(socket.fd.as_fd(), &output.pending));
    match sent {
        Ok((offered, taken)) => {
            // After a partial write the kernel knows that somebody waits: an edge will come. But a file may have ended early: the
            // next call tells.
            output.ready = taken == offered || output.pending.front_file().is_some();
            output.take(taken);
            Ok(taken)
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

/// The result of a call, and whether the direction is `ready` for another.
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
