//! Datagram sockets. Both backends receive and send by system calls. The kernel only reports readiness; io_uring does
//! it by polls.
//!
//! What the kernel has no space for waits in the socket, and nothing more is asked for until there is space. The reactor
//! asks for as many datagrams at a time as one call can send. Where the end point has much to send it asks before it reads on, and
//! sends once it has read.

use super::poller::Readiness;
use super::table::Token;
use super::{Reactor, socket_error};
use crate::clock;
use crate::tcp::Sharing;
use crate::udp::{DatagramSocket, Progress, SendBatch, is_of_icmp};
use endpoint::{Bound, DatagramSettings, EndPoint, SocketError, SocketId};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Receive calls on one socket before others have their turn.
const RECEIVES_A_TURN: usize = 32;

/// Bytes sent on one socket before others have their turn.
const SENT_A_TURN: usize = 512 * 1024;

/// Bytes that a new buffer for datagrams has: as many as one call sends.
const BUFFER: usize = 64 * 1024;

/// So many batches are taken ahead at most, and then sent.
const MOST_AHEAD: usize = 16;

/// A datagram socket of a reactor.
#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) socket: DatagramSocket,
    /// Distinguishes this socket's events from those of an earlier one at the same index.
    pub(super) generation: u32,
    pub(super) id: SocketId,
    /// Whether the end point holds it. A socket that it released sends what is pending and is closed.
    pub(super) is_attached: bool,
    /// The kernel may have datagrams.
    pub(super) readable: bool,
    /// The poller was asked to report arriving datagrams, and has not reported yet.
    is_awaited: bool,
    /// The kernel takes datagrams.
    writable: bool,
    /// The end point wants none for now.
    paused: bool,
    pub(super) awaits_drained: bool,
    /// Its input is being handed over: what it causes is sent after that, in larger batches.
    is_reading: bool,
    /// The end point has something to send.
    wants_transmit: bool,
    /// Taken from the end point, and not yet wholly taken by the kernel.
    unsent: VecDeque<SendBatch>,
    /// Whether it is in the list of sockets that go on without a new event.
    queued: bool,
}

impl Datagrams {
    fn new(socket: DatagramSocket, id: SocketId) -> Self {
        Self {
            socket,
            generation: 0,
            id,
            is_attached: true,
            readable: true,
            is_awaited: false,
            writable: true,
            paused: false,
            awaits_drained: false,
            is_reading: false,
            wants_transmit: false,
            unsent: VecDeque::new(),
            queued: false,
        }
    }

    /// Whether another batch may wait until the input is handed over.
    fn may_take_ahead(&self) -> bool {
        self.writable && self.unsent.len() < MOST_AHEAD
    }

    /// Whether there is, or may be, something to send.
    fn may_send(&self) -> bool {
        !self.unsent.is_empty() || (self.wants_transmit && self.is_attached)
    }
}

/// How a writing turn ended.
enum Turn {
    /// There is nothing more to send.
    Over,
    /// The turn is used up.
    More,
    /// The kernel has just run out of space.
    Blocked,
    /// The kernel's buffer was full. An event will report space.
    Waiting,
}

impl Reactor {
    /// Gives the end point the sockets that were handed to `listen_datagrams`.
    pub(super) fn hand_over_datagram_sockets<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        while !self.finishing && !self.unbound.is_empty() {
            let (listener, socket) = self.unbound.remove(0);
            let bound = Bound { listener, local: socket.local() };
            if let Some(id) = end_point.handle_bound(clock::now(), bound) {
                self.adopt_datagrams(end_point, socket, id);
            }
            self.act(end_point);
        }
    }

    /// `Action::Bind`.
    pub(super) fn bind<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        id: SocketId,
        local: SocketAddr,
        settings: &DatagramSettings,
    ) {
        match DatagramSocket::bind(local, Sharing::Found, settings) {
            Ok(socket) => self.adopt_datagrams(end_point, socket, id),
            Err(error) => {
                end_point.handle_error(clock::now(), id, socket_error(&error.source));
            }
        }
    }

    /// `Action::Transmit` for a datagram socket.
    pub(super) fn transmit_datagrams<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
    ) {
        if let Some(datagrams) = self.table.find_datagrams(token) {
            datagrams.wants_transmit = true;
            if !datagrams.is_reading {
                self.write_datagrams(end_point, token);
            }
        }
    }

    /// `Action::Pause` and `Action::Resume` for a datagram socket.
    pub(super) fn pause_datagrams(&mut self, token: Token, paused: bool) {
        if let Some(datagrams) = self.table.find_datagrams(token) {
            datagrams.paused = paused;
            self.queue_datagrams(token);
        }
    }

    /// `Action::Close` and `Action::Finish` for a datagram socket: what waits is sent first.
    pub(super) fn leave_datagrams(&mut self, token: Token) {
        let Some(datagrams) = self.table.find_datagrams(token) else { return };
        if datagrams.unsent.is_empty() {
            return self.remove_datagrams(token);
        }
        datagrams.is_attached = false;
        let id = datagrams.id;
        self.table.detach(id);
        self.alarms.push(Reverse((clock::now() + self.settings.flush, token)));
    }

    /// Closes a datagram socket at once.
    pub(super) fn remove_datagrams(&mut self, token: Token) {
        if let Some(datagrams) = self.table.remove_datagrams(token) {
            self.poller.close(datagrams.socket.into());
        }
    }

    /// The time to send what waits is over.
    pub(super) fn handle_datagram_alarm(&mut self, token: Token) {
        if self.table.find_datagrams(token).is_some_and(|datagrams| !datagrams.is_attached) {
            self.remove_datagrams(token);
        }
    }

    /// The kernel reports that a datagram socket is ready.
    pub(super) fn handle_datagram_socket<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        ready: Readiness,
    ) {
        let Some(datagrams) = self.table.find_datagrams(token) else { return };
        if ready.readable() {
            datagrams.readable = true;
            datagrams.is_awaited = false;
        }
        if ready.writable() && !datagrams.writable {
            datagrams.writable = true;
            let told = self.poller.datagram_space_came(datagrams.socket.as_fd(), token);
            if let Err(error) = told {
                return self.fail_datagrams(end_point, token, socket_error(&error));
            }
        }
        self.go_on_with_datagrams(end_point, token);
    }

    /// A socket that used up its turn gets another.
    pub(super) fn go_on_datagrams<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
    ) {
        if let Some(datagrams) = self.table.find_datagrams(token) {
            datagrams.queued = false;
            self.go_on_with_datagrams(end_point, token);
        }
    }

    /// Makes a socket go on in the next turn without a new event.
    pub(super) fn queue_datagrams(&mut self, token: Token) {
        if let Some(datagrams) = self.table.find_datagrams(token)
            && !datagrams.queued
        {
            datagrams.queued = true;
            self.again.push(token);
        }
    }

    fn go_on_with_datagrams<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        self.read_datagrams(end_point, token);
        if let Some(datagrams) = self.table.find_datagrams(token) {
            datagrams.is_reading = false;
        }
        self.write_datagrams(end_point, token);
        self.act(end_point);
    }

    fn adopt_datagrams<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        socket: DatagramSocket,
        id: SocketId,
    ) {
        let token = self.table.insert_datagrams(Datagrams::new(socket, id));
        let Some(datagrams) = self.table.find_datagrams(token) else { return };
        match self.poller.add_datagrams(datagrams.socket.as_fd(), token) {
            // The first read finds what came before, and makes the kernel report what comes later.
            Ok(()) => self.queue_datagrams(token),
            Err(error) => self.fail_datagrams(end_point, token, socket_error(&error)),
        }
    }

    /// The socket is gone. The end point is notified. The caller runs the actions that follow.
    fn fail_datagrams<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        error: SocketError,
    ) {
        let Some(datagrams) = self.table.find_datagrams(token) else { return };
        let (id, is_attached) = (datagrams.id, datagrams.is_attached);
        self.remove_datagrams(token);
        if is_attached {
            end_point.handle_error(clock::now(), id, error);
        }
    }

    /// Receives what has arrived and hands it to the end point.
    fn read_datagrams<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        for _ in 0..RECEIVES_A_TURN {
            let Some(datagrams) = self.table.find_datagrams(token) else { return };
            datagrams.is_reading = true;
            if !datagrams.readable || datagrams.paused || !datagrams.is_attached {
                return;
            }
            let id = datagrams.id;
            match datagrams.socket.receive(&mut self.arena) {
                // An empty datagram carries nothing and has no stride.
                Ok(received) if received.data.is_empty() => self.datagram_counters.received += 1,
                Ok(received) => {
                    let count = received.data.len().div_ceil(received.stride.max(1)) as u64;
                    self.datagram_counters.received += count;
                    end_point.handle_datagrams(clock::now(), id, received);
                    self.act(end_point);
                    if end_point.has_much_to_send(id) {
                        self.take_ahead(end_point, token);
                        self.act(end_point);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.handle_datagrams_drained(end_point, token);
                }
                Err(error) if is_of_one_datagram(&error) && !is_refused(&error, datagrams) => {}
                Err(error) => {
                    self.fail_datagrams(end_point, token, socket_error(&error));
                    return self.act(end_point);
                }
            }
        }
        self.queue_datagrams(token);
    }

    /// A receive call found nothing more.
    fn handle_datagrams_drained<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(datagrams) = self.table.find_datagrams(token) else { return };
        datagrams.readable = false;
        let id = datagrams.id;
        let awaits_drained = std::mem::take(&mut datagrams.awaits_drained);
        if !std::mem::replace(&mut datagrams.is_awaited, true)
            && let Err(error) = self.poller.await_datagrams(datagrams.socket.as_fd(), token)
        {
            self.fail_datagrams(end_point, token, socket_error(&error));
        } else if awaits_drained {
            end_point.handle_drained(clock::now(), id);
        }
        self.act(end_point);
    }

    /// Sends what is pending and asks for more. The caller runs the actions that follow.
    fn write_datagrams<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        match self.write_datagrams_turn(end_point, token) {
            Turn::Waiting => {}
            Turn::More => self.queue_datagrams(token),
            Turn::Blocked => {
                let Some(datagrams) = self.table.find_datagrams(token) else { return };
                datagrams.writable = false;
                let asked = self.poller.await_datagram_space(datagrams.socket.as_fd(), token);
                if let Err(error) = asked {
                    self.fail_datagrams(end_point, token, socket_error(&error));
                }
            }
            Turn::Over => {
                let left = self.table.find_datagrams(token);
                if left.is_some_and(|datagrams| !datagrams.is_attached) {
                    self.remove_datagrams(token);
                }
            }
        }
    }

    fn write_datagrams_turn<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
    ) -> Turn {
        let mut left = SENT_A_TURN;
        // A socket that is gone has nothing to send.
        while let Some(datagrams) = self.table.find_datagrams(token) {
            if !datagrams.writable {
                return Turn::Waiting;
            }
            if left == 0 && datagrams.may_send() {
                return Turn::More;
            }
            let mut batch = match datagrams.unsent.pop_front() {
                Some(batch) => batch,
                None => match self.next_batch(end_point, token) {
                    Some(batch) => batch,
                    None => return Turn::Over,
                },
            };
            left = left.saturating_sub(batch.len());
            let Some(datagrams) = self.table.find_datagrams(token) else { break };
            match batch.send(&datagrams.socket, &mut self.datagram_counters) {
                Progress::Done => self.datagram_buffers.give_back(batch.into_buffer()),
                Progress::Blocked => {
                    datagrams.unsent.push_front(batch);
                    return Turn::Blocked;
                }
            }
        }
        Turn::Over
    }

    /// Takes what the end point has to send, before it is given more input; sends where it is too much to wait. The caller runs
    /// the actions that follow.
    fn take_ahead<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        while self.table.find_datagrams(token).is_some_and(|datagrams| datagrams.may_take_ahead()) {
            let Some(batch) = self.next_batch(end_point, token) else { return };
            if let Some(datagrams) = self.table.find_datagrams(token) {
                datagrams.unsent.push_back(batch);
            }
        }
        self.write_datagrams(end_point, token);
    }

    /// The next datagrams of an end point that wants to send.
    fn next_batch<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
    ) -> Option<SendBatch> {
        let datagrams = self.table.find_datagrams(token)?;
        if !datagrams.wants_transmit || !datagrams.is_attached {
            return None;
        }
        let spare = self.datagram_buffers.take();
        let mut contents = spare.unwrap_or_else(|| Vec::with_capacity(BUFFER));
        let (id, most) = (datagrams.id, datagrams.socket.max_segments());
        let transmit = end_point.poll_datagrams(clock::now(), id, &mut contents, most);
        datagrams.wants_transmit = transmit.is_some() && end_point.wants_transmit(id);
        let Some(transmit) = transmit else {
            contents.clear();
            self.datagram_buffers.give_back(contents);
            return None;
        };
        Some(SendBatch::new(transmit, contents))
    }
}

/// Whether nothing listens at the only peer.
fn is_refused(error: &io::Error, datagrams: &Datagrams) -> bool {
    datagrams.socket.is_connected() && error.kind() == ErrorKind::ConnectionRefused
}

/// Whether a receive call failed because of one datagram, sent or received: an ICMP message reported it, or there was
/// no memory for it. The next call may succeed.
fn is_of_one_datagram(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|errno| {
        is_of_icmp(errno)
            || matches!(
                errno,
                libc::EINTR | libc::ECONNRESET | libc::ENETDOWN | libc::ENOMEM | libc::ENOBUFS
            )
    })
}
