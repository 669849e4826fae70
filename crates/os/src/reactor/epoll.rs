//! The poller by epoll. It is edge-triggered, and each read and write is a system call. The one rule: a direction that
//! the kernel reported ready counts as ready until a call says otherwise.

mod poll;

use super::STOP;
use super::poller::{Poller, Readiness, Received, send_now, unless_blocked};
use super::socket::Socket;
use super::stop::Stop;
use super::table::{Table, Token};
use crate::error::Os;
use crate::tcp::{self, Listener};
use poll::{Interest, Poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Bytes read at once. All sockets share one buffer: what is read is handled before the next read.
const INPUT: usize = 128 * 1024;

/// A poller by epoll.
pub(super) struct Epoll {
    poll: Poll,
    input: Box<[u8]>,
}

impl Epoll {
    pub(super) fn new() -> Result<Self, Os> {
        Ok(Self { poll: Poll::new()?, input: vec![0; INPUT].into_boxed_slice() })
    }
}

impl Poller for Epoll {
    fn watch_stop(&mut self, stop: &Stop) -> io::Result<()> {
        self.poll.add(stop.as_fd(), STOP, Interest::Signal)
    }

    fn listen(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.add(listener, token.0, Interest::Input)
    }

    fn pause_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.rearm(listener, token.0, Interest::Silent)
    }

    fn resume_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.rearm(listener, token.0, Interest::Input)
    }

    /// The watch goes on.
    fn accepted(&mut self, _listener: BorrowedFd<'_>, _token: Token) -> io::Result<()> {
        Ok(())
    }

    /// Closing the descriptor ends the watch.
    fn close_listener(&mut self, listener: Listener) {
        drop(listener);
    }

    /// The first wait reports what it is ready for.
    fn add(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        self.poll.add(socket.fd.as_fd(), token.0, Interest::Edges)
    }

    fn opened(&mut self, _token: Token, _socket: &mut Socket) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.poll.wait(timeout)
    }

    fn event(&mut self, index: usize, _table: &mut Table) -> Option<Readiness> {
        Some(self.poll.event(index))
    }

    fn receive<'a>(
        &'a mut self,
        _token: Token,
        socket: &mut Socket,
        buffer: Option<&mut [u8]>,
        most: usize,
    ) -> io::Result<Received<'a>> {
        let filled = buffer.is_some();
        let buffer: &mut [u8] = match buffer {
            Some(buffer) => buffer,
            None => &mut self.input,
        };
        let length = buffer.len().min(most);
        let buffer = &mut buffer[..length];
        let count =
            unless_blocked(&mut socket.input.ready, || tcp::receive(socket.fd.as_fd(), buffer))?;
        // A short read has emptied the queue, and later bytes make a new edge. But a FIN that was already reported
        // makes none.
        socket.input.ready = count == length || socket.input.hung_up;
        Ok(match count {
            0 => Received::End,
            _ if filled => Received::Filled(count),
            _ => Received::Bytes(&self.input[..count]),
        })
    }

    /// The kernel keeps them.
    fn defer(&mut self, _token: Token, _socket: &mut Socket) -> io::Result<()> {
        Ok(())
    }

    /// `WouldBlock` came from the kernel itself.
    fn is_drained(&mut self, _socket: &Socket) -> bool {
        true
    }

    fn discard(&mut self, _token: Token, socket: &mut Socket) -> io::Result<usize> {
        unless_blocked(&mut socket.input.ready, || tcp::discard(socket.fd.as_fd()))
    }

    fn send(&mut self, _token: Token, socket: &mut Socket) -> io::Result<usize> {
        send_now(socket)
    }

    /// After a write that was taken whole the kernel does not report when little is left. Watching the socket anew
    /// makes it report.
    fn await_low_water(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        self.poll.rearm(socket.fd.as_fd(), token.0, Interest::Edges)
    }

    /// A socket that is not read slows its peer down. Errors are reported as edges.
    fn pause(&mut self, _token: Token, _socket: &mut Socket) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, socket: Socket) {
        drop(socket);
    }

    fn add_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.add(fd, token.0, Interest::InputEdges)
    }

    /// The watch goes on.
    fn await_datagrams(&mut self, _fd: BorrowedFd<'_>, _token: Token) -> io::Result<()> {
        Ok(())
    }

    /// Not watched permanently: a UDP socket would report each datagram that has left the machine.
    fn await_datagram_space(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.rearm(fd, token.0, Interest::Edges)
    }

    fn datagram_space_came(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.poll.rearm(fd, token.0, Interest::InputEdges)
    }

    fn close(&mut self, fd: OwnedFd) {
        drop(fd);
    }

    fn flush(&mut self) {}
}
