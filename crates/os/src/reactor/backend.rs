//! The seam between a reactor and the kernel. The one rule: a carrier knows sockets and tokens, and never the end
//! point; when to read, what to send and how a socket ends is the reactor's alone, whatever carries.

use super::epoll::Epoll;
use super::socket::Socket;
use super::stop::Stop;
use super::table::{Table, Token};
use super::uring::Uring;
use crate::error::Os;
use crate::tcp::{self, Listener};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How a reactor speaks with the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// epoll tells which sockets are ready; each read and each write is a call of its own.
    #[default]
    Epoll,
    /// io_uring receives by itself and takes what a turn sends in one call.
    IoUring,
}

impl Backend {
    /// Whether this system has it; the error says what is in the way, and the way out.
    pub fn probe(self) -> Result<(), Os> {
        self.open().map(drop)
    }

    pub(super) fn open(self) -> Result<Box<dyn Carrier>, Os> {
        match self {
            Self::Epoll => Ok(Box::new(Epoll::new()?)),
            Self::IoUring => Ok(Box::new(Uring::new()?)),
        }
    }
}

/// What carries bytes between sockets and the reactor.
pub(super) trait Carrier {
    /// Tells of each call of `stop` under the token [`super::STOP`], those before this one together.
    fn watch_stop(&mut self, stop: &Stop) -> io::Result<()>;

    /// Tells, for as long as it is so, that connections wait at `listener`.
    fn listen(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Tells nothing more of `listener` until `listen_again`.
    fn rest(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// The rest of `listener` is over.
    fn listen_again(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// As many connections were taken as there were, or as have their turn.
    fn accepted(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()>;

    /// Closes a listener: from the return on, nobody connects.
    fn close(&mut self, listener: Listener);

    /// Watches a socket from now on, connected or not.
    fn add(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// A socket that was added before is connected now.
    fn opened(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Hands all over that was asked, and waits up to `timeout` (None: for ever); returns how many events came.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize>;

    /// One event of the last wait, each asked for once and in order; None for what concerns nobody any more.
    fn event(&mut self, index: usize, table: &mut Table) -> Option<Ready>;

    /// What has arrived, into `room` where it is given. Sets whether more may be there. `WouldBlock` where nothing is.
    fn receive<'a>(
        &'a mut self,
        token: Token,
        socket: &mut Socket,
        room: Option<&mut [u8]>,
    ) -> io::Result<Received<'a>>;

    /// Throws away what has arrived; returns how much, 0 for the peer's end.
    fn discard(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Sends from the front of what is owed, or begins to; returns how much is known to be taken. Sets whether the
    /// kernel takes more now; where it does not, an event will tell that it does.
    fn send(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize>;

    /// Has an event tell that little lies unsent in the kernel.
    fn await_low_water(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Receives nothing until the next `receive`, but tells of errors.
    fn pause(&mut self, token: Token, socket: &mut Socket) -> io::Result<()>;

    /// Closes a socket.
    fn remove(&mut self, socket: Socket);

    /// Nothing more will be asked for a while: what was begun for sockets that are gone comes to its end.
    fn settle(&mut self);
}

/// What `receive` brought.
#[derive(Debug)]
pub(super) enum Received<'a> {
    /// The peer has ended.
    End,
    /// So many bytes, into the room that was given.
    Filled(usize),
    /// These.
    Bytes(&'a [u8]),
}

/// What a socket, a listener or the stop signal is ready for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    pub(super) token: u64,
    bits: u32,
    /// The socket has failed: the error's number.
    pub(super) error: Option<i32>,
}

impl Ready {
    /// By poll(2)'s bits, which are epoll's too.
    pub(super) fn new(token: u64, bits: u32) -> Self {
        Self { token, bits, error: None }
    }

    /// A socket that has failed.
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
    let sent = unless_blocked(&mut output.ready, || tcp::send(socket.fd.as_fd(), &output.owed));
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
