//! The poller by io_uring. A stream socket of which few bytes come at a time has a receive operation that stays in the kernel (multishot).
//! Others, and new ones, receive no more than their share of a turn; while more may be there they are read by calls, into a larger
//! buffer. What has not its turn yet stays in the kernel. All sends of a turn are submitted by the call that waits for the next
//! events. The one rule: the reactor gets received bytes through `receive` only. A socket is paused by not calling `receive`.
//!
//! Accepting, connecting, datagrams, files and large sends use ordinary system calls, and the ring polls for readiness.
//! A multishot accept gives no peer address, so it would need another call. A splice through the ring runs on a kernel
//! thread.

mod buffers;
mod operation;
mod ring;

use super::poller::{Poller, Readiness, Received, send_now};
use super::socket::{Phase, Receiving, Socket};
use super::stop::Stop;
use super::table::{Table, Token};
use super::{STOP, socket_error};
use crate::error::Os;
use crate::tcp::{self, Calls, Listener};
use buffers::Filled;
use bytes::BytesMut;
use operation::Operation;
use ring::{Completion, Receive, Ring, Sending};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

const REMEDY: &str = "take the other reactor (`--reactor epoll`); io_uring needs Linux 6.1 or later, \
                      `sysctl kernel.io_uring_disabled=0`, and a container that lets its calls through";

/// A send of at least this many bytes is a system call. The bytes are still in the processor's caches, the call costs
/// little beside them, and the kernel says at once how many it takes.
const LARGE: usize = 32 * 1024;

/// Bytes of the buffer for reads by calls.
const INPUT: usize = 64 * 1024;

/// The most of what was undelivered that is handled at once: how long it takes is not known before.
const PIECE: usize = 16 * 1024;

/// A poller by io_uring.
pub(super) struct Uring {
    ring: Ring,
    stop: Option<Stop>,
    /// Bytes of the current event, until the reactor receives them.
    fresh: Option<(Token, Filled)>,
    /// The buffer that the reactor received last. It returns to the kernel before the next event.
    lent: Option<Filled>,
    /// Bytes that a socket had not delivered, while the reactor handles them.
    undelivered: BytesMut,
    /// What a call has read. All sockets share it: what is read is handled before the next read.
    input: Box<[u8]>,
}

impl Uring {
    pub(super) fn new() -> Result<Self, Os> {
        let ring = Ring::new().map_err(|source| {
            // From io_uring_setup(2) or a seccomp filter: the kernel has no io_uring, it is switched off, or a flag is
            // unknown.
            let lacks = [libc::ENOSYS, libc::EPERM, libc::EACCES, libc::EINVAL];
            let lacks = source.raw_os_error().is_some_and(|errno| lacks.contains(&errno));
            let error = Os::new("set up io_uring", source);
            if lacks { error.with_remedy(REMEDY) } else { error }
        })?;
        let (undelivered, input) = (BytesMut::new(), vec![0; INPUT].into_boxed_slice());
        Ok(Self { ring, stop: None, fresh: None, lent: None, undelivered, input })
    }

    /// Receives from now on, unless the socket is paused. The socket becomes blocking: on a non-blocking one the ring
    /// fails with EAGAIN when an operation cannot complete at once.
    fn begin(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        tcp::set_calls(socket.fd.as_fd(), Calls::Wait)?;
        if socket.input.paused {
            socket.input.ready = true;
            return self.watch_errors(token, socket);
        }
        self.arm(token, socket)
    }

    fn arm(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        let share = &socket.input.share;
        // What comes for a socket that the end point has released is discarded, which is quick.
        let most = share.bytes().min(buffers::LENGTH);
        let (how, most) = match share.is_light() || !socket.phase.is_attached() {
            true => (Receive::Multishot, usize::MAX),
            false => (Receive::Once(most), most),
        };
        self.ring.receive(socket.fd.as_fd(), token, how)?;
        (socket.input.receiving, socket.input.asked) = (Receiving::Armed, most);
        if std::mem::take(&mut socket.input.watches_errors) {
            self.ring.cancel(Operation::Errors(token))?;
        }
        Ok(())
    }

    /// Reads by a call from a socket that has no receive operation. It gets one where nothing is left.
    fn receive_now<'a>(
        &'a mut self,
        token: Token,
        socket: &mut Socket,
        buffer: Option<&mut [u8]>,
        most: usize,
    ) -> io::Result<Received<'a>> {
        let is_lent = buffer.is_some();
        let buffer = buffer.unwrap_or(&mut self.input);
        let length = buffer.len().min(most);
        let received = tcp::receive(socket.fd.as_fd(), &mut buffer[..length]);
        match received {
            Ok(0) => {
                socket.input.receiving = Receiving::Ended;
                Ok(Received::End)
            }
            Ok(count) => {
                if count < length {
                    socket.input.receiving = Receiving::Idle;
                }
                let bytes = if is_lent { None } else { Some(&self.input[..count]) };
                Ok(bytes.map_or(Received::Filled(count), Received::Bytes))
            }
            Err(error) => {
                if error.kind() == ErrorKind::WouldBlock {
                    self.arm(token, socket)?;
                    socket.input.ready = false;
                }
                Err(error)
            }
        }
    }

    /// Cancels the receive operation, if there is one. Bytes received before that may still come.
    fn stop_receiving(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        if socket.input.receiving == Receiving::Armed {
            self.ring.cancel(Operation::Receive(token))?;
            socket.input.receiving = Receiving::Cancelling;
        }
        Ok(())
    }

    /// Polls for errors of a socket from which nothing is received.
    fn watch_errors(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        if !std::mem::replace(&mut socket.input.watches_errors, true) {
            // No bits: poll(2) always reports errors.
            self.ring.watch(socket.fd.as_fd(), 0, Operation::Errors(token))?;
        }
        Ok(())
    }

    /// Returns buffers whose bytes were handled to the kernel.
    fn give_back(&mut self) {
        debug_assert!(self.fresh.is_none(), "what came was received");
        self.undelivered = BytesMut::new();
        let fresh = self.fresh.take().map(|(_token, filled)| filled);
        for filled in fresh.into_iter().chain(self.lent.take()) {
            self.ring.recycle(filled);
        }
    }

    fn handle_received(
        &mut self,
        token: Token,
        completion: Completion,
        table: &mut Table,
    ) -> Option<Readiness> {
        let Some(socket) = table.find(token) else {
            self.lent = completion.filled;
            return None;
        };
        let input = &mut socket.input;
        if !completion.more {
            let is_full = completion.result.is_ok_and(|count| count as usize == input.asked);
            input.receiving = if is_full { Receiving::Full } else { Receiving::Idle };
        }
        input.ready = true;
        match (completion.result, completion.filled) {
            (Ok(0), filled) => {
                self.lent = filled;
                input.receiving = Receiving::Ended;
            }
            (Ok(_), Some(filled)) if input.paused || !input.undelivered.is_empty() => {
                input.undelivered.extend_from_slice(self.ring.bytes(&filled));
                self.lent = Some(filled);
            }
            (Ok(_), Some(filled)) => {
                self.fresh = Some((token, filled));
            }
            (Err(error), filled) if !goes_on(error) => {
                self.lent = filled;
                if input.paused || input.undelivered.is_empty() {
                    return Some(Readiness::failure(token, error));
                }
                input.receiving = Receiving::Failed(error);
            }
            // No buffer was left, or the multishot operation ended. The next `receive` begins another.
            (Ok(_) | Err(_), filled) => self.lent = filled,
        }
        Some(Readiness::new(token.0, 0))
    }

    fn handle_sent(
        &mut self,
        number: usize,
        result: Result<u32, i32>,
        table: &mut Table,
    ) -> Option<Readiness> {
        let Sending { token, pending: mut rest, .. } = self.ring.take_sent(number)?;
        let socket = table.find(token)?;
        let output = &mut socket.output;
        output.submitted = false;
        match result {
            Ok(count) => rest.advance(count as usize),
            Err(error) if goes_on(error) => {}
            Err(error) => {
                let told_later =
                    socket.fail_send(socket_error(&io::Error::from_raw_os_error(error)));
                return Some(match told_later {
                    true => Readiness::new(token.0, 0),
                    false => Readiness::failure(token, error),
                });
            }
        }
        if output.pending.is_empty() {
            // With its buffer, which the reactor takes back or reuses.
            output.pending = rest;
        } else if !rest.is_empty() {
            let later = output.pending.len();
            output.pending.move_to(&mut rest, later);
            output.pending = rest;
        }
        Some(Readiness::new(token.0, 0))
    }
}

impl Poller for Uring {
    fn watch_stop(&mut self, stop: &Stop) -> io::Result<()> {
        self.stop = Some(stop.clone());
        self.ring.watch(stop.as_fd(), libc::POLLIN, Operation::Stop)
    }

    fn listen(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.ring.poll(listener, libc::POLLIN, Operation::Accept(token))
    }

    /// The poll that reported connections is over. This closes descriptors that wait to be closed, since descriptors
    /// are scarce now.
    fn pause_listener(&mut self, _listener: BorrowedFd<'_>, _token: Token) -> io::Result<()> {
        self.ring.flush();
        Ok(())
    }

    fn resume_listener(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.listen(listener, token)
    }

    fn accepted(&mut self, listener: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.listen(listener, token)
    }

    /// Submitted at once, so that no connection is accepted after the end point is notified of the stop.
    fn close_listener(&mut self, listener: Listener) {
        self.ring.close(OwnedFd::from(listener));
        self.ring.flush();
    }

    fn add(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        if socket.phase == Phase::Connecting {
            return self.await_low_water(token, socket);
        }
        socket.output.ready = true;
        self.begin(token, socket)
    }

    fn opened(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        self.begin(token, socket)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.give_back();
        self.ring.wait(timeout)
    }

    fn event(&mut self, index: usize, table: &mut Table) -> Option<Readiness> {
        self.give_back();
        let completion = self.ring.completion(index);
        match (completion.operation, completion.result) {
            (Operation::Receive(token), _) => self.handle_received(token, completion, table),
            (Operation::Send(number), result) => self.handle_sent(number, result, table),
            (Operation::Errors(token), Ok(bits)) => Some(Readiness::new(token.0, bits)),
            (Operation::Writable(token), Ok(bits)) => {
                let ready = Readiness::new(token.0, bits);
                if !ready.writable() {
                    return None;
                }
                // If it cannot be cancelled it reports again, which does no harm.
                let _told_again = completion.more.then(|| self.ring.cancel(completion.operation));
                Some(ready)
            }
            (Operation::Writable(_) | Operation::Errors(_), Err(libc::ECANCELED)) => None,
            (Operation::Writable(token) | Operation::Errors(token), Err(error)) => {
                Some(Readiness::failure(token, error))
            }
            (Operation::Datagrams(token), Ok(bits)) => Some(Readiness::new(token.0, bits)),
            (Operation::Accept(_) | Operation::Datagrams(_), Err(libc::ECANCELED)) => None,
            // A receive call finds out what is wrong.
            (Operation::Datagrams(token), Err(_)) => {
                Some(Readiness::new(token.0, libc::EPOLLERR as u32))
            }
            (Operation::Accept(token), _) => Some(Readiness::new(token.0, libc::EPOLLIN as u32)),
            (Operation::Stop, _) => {
                if let (false, Some(stop)) = (completion.more, &self.stop) {
                    let watched = self.ring.watch(stop.as_fd(), libc::POLLIN, Operation::Stop);
                    debug_assert!(watched.is_ok(), "the queue takes it");
                }
                Some(Readiness::new(STOP, libc::EPOLLIN as u32))
            }
            (Operation::Unobserved, _) => None,
        }
    }

    fn receive<'a>(
        &'a mut self,
        token: Token,
        socket: &mut Socket,
        buffer: Option<&mut [u8]>,
        most: usize,
    ) -> io::Result<Received<'a>> {
        let fresh = self.fresh.take_if(|(whose, _filled)| *whose == token);
        let input = &mut socket.input;
        input.ready = !matches!(input.receiving, Receiving::Armed | Receiving::Cancelling);
        if let Some((_token, filled)) = fresh {
            let bytes = self.ring.bytes(self.lent.insert(filled));
            let room = buffer.as_ref().map_or(most, |buffer| buffer.len().min(most));
            let (bytes, later) = bytes.split_at(room.min(bytes.len()));
            input.undelivered.extend_from_slice(later);
            input.ready |= !later.is_empty();
            let Some(buffer) = buffer else { return Ok(Received::Bytes(bytes)) };
            return Ok(Received::Filled(fill(buffer, bytes)));
        }
        if !input.undelivered.is_empty() {
            let room = buffer.as_ref().map_or(PIECE, |buffer| buffer.len());
            let count = room.min(most).min(input.undelivered.len());
            self.undelivered = input.undelivered.split_to(count);
            match input.undelivered.is_empty() {
                // Gives the memory back.
                true => input.undelivered = BytesMut::new(),
                false => input.ready = true,
            }
            let Some(buffer) = buffer else { return Ok(Received::Bytes(&self.undelivered)) };
            return Ok(Received::Filled(fill(buffer, &self.undelivered)));
        }
        match input.receiving {
            Receiving::Ended => return Ok(Received::End),
            Receiving::Failed(errno) => return Err(io::Error::from_raw_os_error(errno)),
            Receiving::Full => return self.receive_now(token, socket, buffer, most),
            Receiving::Idle => self.arm(token, socket)?,
            Receiving::Armed | Receiving::Cancelling => {}
        }
        socket.input.ready = false;
        Err(ErrorKind::WouldBlock.into())
    }

    /// What has come is copied, for its buffer is the kernel's again at the next event. No more is received until it is delivered.
    fn defer(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        if let Some((_token, filled)) = self.fresh.take_if(|(whose, _filled)| *whose == token) {
            socket.input.undelivered.extend_from_slice(self.ring.bytes(&filled));
            self.lent = Some(filled);
        }
        self.stop_receiving(token, socket)
    }

    /// Bytes may wait in completions that were not looked at yet, or still in the kernel's queue.
    fn is_drained(&mut self, socket: &Socket) -> bool {
        !self.ring.has_completions() && tcp::is_queue_empty(socket.fd.as_fd())
    }

    fn discard(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize> {
        self.receive(token, socket, None, usize::MAX).map(|received| match received {
            Received::End => 0,
            Received::Filled(count) => count,
            Received::Bytes(bytes) => bytes.len(),
        })
    }

    fn send(&mut self, token: Token, socket: &mut Socket) -> io::Result<usize> {
        let pending = &socket.output.pending;
        let is_file = pending.front_file().is_some();
        if is_file || pending.len() >= LARGE {
            let sent = if is_file { send_file_now(socket) } else { send_now(socket) };
            if !socket.output.ready {
                self.await_low_water(token, socket)?;
            }
            return sent;
        }
        let pending = std::mem::take(&mut socket.output.pending);
        let length = pending.len();
        match self.ring.send(socket.fd.as_fd(), token, pending) {
            Ok(()) => {
                socket.output.submitted = true;
                socket.output.unsent_bound += length;
                Ok(0)
            }
            Err((pending, error)) => {
                socket.output.pending = pending;
                Err(error)
            }
        }
    }

    /// A multishot poll. poll(2) always reports that the peer has ended, which would use up a one-shot poll.
    fn await_low_water(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        self.ring.watch(socket.fd.as_fd(), libc::POLLOUT, Operation::Writable(token))
    }

    fn pause(&mut self, token: Token, socket: &mut Socket) -> io::Result<()> {
        if socket.phase == Phase::Connecting {
            return Ok(());
        }
        self.stop_receiving(token, socket)?;
        self.watch_errors(token, socket)
    }

    fn remove(&mut self, socket: Socket) {
        let (input, output) = (&socket.input, &socket.output);
        let receives = matches!(input.receiving, Receiving::Armed | Receiving::Cancelling);
        // There is a poll for a socket that is not ready to send.
        if receives || input.watches_errors || output.submitted || !output.ready {
            self.ring.close(socket.fd);
        }
    }

    fn add_datagrams(&mut self, _fd: BorrowedFd<'_>, _token: Token) -> io::Result<()> {
        Ok(())
    }

    /// A new poll each time. poll(2) checks at once, so nothing that came before is missed.
    fn await_datagrams(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.ring.poll(fd, libc::POLLIN, Operation::Datagrams(token))
    }

    fn await_datagram_space(&mut self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        self.ring.poll(fd, libc::POLLOUT, Operation::Datagrams(token))
    }

    /// That poll is over.
    fn datagram_space_came(&mut self, _fd: BorrowedFd<'_>, _token: Token) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, fd: OwnedFd) {
        self.ring.close(fd);
    }

    fn flush(&mut self) {
        self.give_back();
        self.ring.flush();
    }
}

/// [`send_now`] for pending bytes that begin with a part of a file. The socket is non-blocking during the call, because
/// sendfile(2) has no flag for it.
fn send_file_now(socket: &mut Socket) -> io::Result<usize> {
    tcp::set_calls(socket.fd.as_fd(), Calls::Return)?;
    let sent = send_now(socket);
    tcp::set_calls(socket.fd.as_fd(), Calls::Wait)?;
    sent
}

/// Copies what fits. Returns how many bytes.
fn fill(buffer: &mut [u8], bytes: &[u8]) -> usize {
    let count = buffer.len().min(bytes.len());
    buffer[..count].copy_from_slice(&bytes[..count]);
    count
}

/// Whether an operation that ended with this errno is begun again: it was cancelled (by a pause that is over, or when the socket's share
/// was used up), found no buffer, or was interrupted.
fn goes_on(error: i32) -> bool {
    matches!(error, libc::ECANCELED | libc::ENOBUFS | libc::EINTR | libc::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::super::socket::{Input, Output};
    use super::*;
    use endpoint::{Acks, SocketId};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn of_bytes_that_take_long_a_share_is_received_and_the_rest_stays_in_the_kernel() {
        if let Err(error) = Uring::new() {
            return testing::skip(format_args!("{error}"));
        }
        assert_eq!(received_by_turn(Duration::ZERO), [ALL]);
        let by_turn = received_by_turn(Duration::from_secs(1));
        assert!(by_turn.iter().all(|bytes| *bytes <= 2048), "{by_turn:?}");
        assert_eq!(by_turn.iter().sum::<usize>(), ALL);
    }

    /// Bytes that are there.
    const ALL: usize = 100_000;

    /// How many of them come in each turn, where each read's take so long. They come in order.
    fn received_by_turn(took: Duration) -> Vec<usize> {
        let sent: Vec<u8> = (0..ALL).map(|at| at as u8).collect();
        let (mut peer, ours) = UnixStream::pair().unwrap();
        peer.write_all(&sent).unwrap();
        drop(peer);
        let (mut uring, mut table, token) = open(ours);
        uring.add(token, table.find(token).unwrap()).unwrap();
        let (mut came, mut by_turn, mut number) = (Vec::new(), Vec::new(), 0);
        loop {
            // As the reactor does: at each event, and for sockets that used up their share.
            let (before, events) =
                (came.len(), uring.wait(Some(Duration::from_millis(1))).unwrap());
            for index in 0..events {
                let _ready = uring.event(index, &mut table);
            }
            number += 1;
            let socket = table.find(token).unwrap();
            let ended = loop {
                let most = socket.input.share.left(number);
                if !socket.input.ready || most == 0 {
                    break false;
                }
                let count = match uring.receive(token, socket, None, most) {
                    Ok(Received::Bytes(bytes)) => {
                        came.extend_from_slice(bytes);
                        bytes.len()
                    }
                    Ok(Received::Filled(_)) => unreachable!("no buffer was given"),
                    Ok(Received::End) => break true,
                    Err(_nothing_yet) => break false,
                };
                assert!(count <= most, "{count}");
                socket.input.share.handle(count, took);
            };
            by_turn.extend((came.len() > before).then(|| came.len() - before));
            if ended {
                break;
            }
        }
        assert!(came == sent);
        uring.remove(table.remove(token).unwrap());
        by_turn
    }

    #[test]
    fn of_few_bytes_that_are_quick_all_are_received_and_no_more_handed_over_than_may_be_handled() {
        if let Err(error) = Uring::new() {
            return testing::skip(format_args!("{error}"));
        }
        let (mut peer, ours) = UnixStream::pair().unwrap();
        let sent: Vec<u8> = (0..ALL).map(|at| at as u8).collect();
        peer.write_all(&sent).unwrap();
        let (mut uring, mut table, token) = open(ours);
        let share = &mut table.find(token).unwrap().input.share;
        (0..100).for_each(|_| share.handle(1, Duration::ZERO));
        uring.add(token, table.find(token).unwrap()).unwrap();
        let mut came = Vec::new();
        for index in 0..uring.wait(None).unwrap() {
            assert!(uring.event(index, &mut table).is_some());
            let socket = table.find(token).unwrap();
            while let Ok(Received::Bytes(bytes)) = uring.receive(token, socket, None, 1_000) {
                assert!(bytes.len() <= 1_000, "{}", bytes.len());
                came.extend_from_slice(bytes);
            }
        }
        assert!(came == sent, "{} bytes", came.len());
        uring.remove(table.remove(token).unwrap());
    }

    /// A poller, and a table with this socket, which the poller does not watch yet.
    fn open(ours: UnixStream) -> (Uring, Table, Token) {
        let (uring, mut table) = (Uring::new().unwrap(), Table::default());
        let (input, output) = (Input::new(Acks::Delayed), Output::new(0));
        let socket = Socket::new(ours.into(), SocketId(0), Phase::Open, input, output);
        let token = table.insert(socket);
        (uring, table, token)
    }
}
