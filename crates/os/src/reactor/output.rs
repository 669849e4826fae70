//! The writing side. The end point is asked for bytes only when the kernel has little left to send.

use super::adaptive_send_buffer::AdaptiveSendBuffer;
use super::poller::Poller;
use super::socket::{Phase, Socket};
use super::table::Token;
use super::{Reactor, socket_error};
use crate::buffer_pool::BufferPool;
use crate::{clock, tcp};
use endpoint::{EndPoint, SendBuf, SocketError};
use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Bytes sent on one socket before others have their turn.
const SENT_A_TURN: usize = 256 * 1024;

/// How a writing turn ended.
enum Turn {
    /// Nothing to send for now, or the kernel takes no more. An event or an action continues.
    Over,
    /// The turn is used up and there is more.
    More,
    /// The socket's last byte is sent: FIN comes next.
    Fin,
    /// The socket failed.
    Failed(io::Error),
}

impl Reactor {
    /// Sends what is pending and asks for more, then does what the end point wants.
    pub(super) fn write<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        let output = &mut socket.output;
        if !output.wanted && output.pending.is_empty() && !socket.phase.ends() {
            if !output.submitted {
                uncork(socket);
            }
            // The bytes that the kernel had, with their buffer, have come back.
            return reclaim(&mut self.send_buffers, &mut socket.output.pending);
        }
        self.write_once(end_point, token);
        self.act(end_point);
    }

    /// As `write`, without running the actions that follow. Actions use it.
    pub(super) fn write_once<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        if socket.output.failed.is_some() {
            if !socket.phase.is_attached() {
                self.remove(token);
            }
            return;
        }
        let (poller, buffers) = (self.poller.as_mut(), &mut self.send_buffers);
        let adaptive = self.settings.adaptive_send_buffer;
        let turn = write_turn(end_point, poller, buffers, token, socket, adaptive);
        reclaim(&mut self.send_buffers, &mut socket.output.pending);
        socket.output.handle_full(clock::now);
        match turn {
            Turn::Over => {}
            Turn::More => self.queue(token),
            Turn::Fin => self.send_fin(token),
            Turn::Failed(error) => self.fail_behind_input(end_point, token, socket_error(&error)),
        }
    }

    /// A send has failed. What has arrived is read before that is told.
    fn fail_behind_input<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        error: SocketError,
    ) {
        match self.table.find(token).is_some_and(|socket| socket.fail_send(error)) {
            true => self.queue(token),
            false => self.fail_quietly(end_point, token, error),
        }
    }

    fn send_fin(&mut self, token: Token) {
        let linger = self.settings.linger;
        let Some(socket) = self.table.find(token) else { return };
        if socket.phase == Phase::Ending {
            tcp::send_fin(socket.fd.as_fd());
            socket.phase = Phase::Ended;
            return;
        }
        if linger.is_zero() || socket.input.ended {
            return self.remove(token);
        }
        tcp::send_fin(socket.fd.as_fd());
        socket.phase = Phase::Lingering;
        self.alarms.push(Reverse((clock::now() + linger, token)));
    }
}

fn write_turn<E: EndPoint + ?Sized>(
    end_point: &mut E,
    poller: &mut dyn Poller,
    buffers: &mut BufferPool<SendBuf>,
    token: Token,
    socket: &mut Socket,
    adaptive: AdaptiveSendBuffer,
) -> Turn {
    if socket.phase == Phase::Connecting {
        return Turn::Over;
    }
    let mut left = SENT_A_TURN;
    loop {
        if let Err(error) = wait_for_low_water(poller, token, socket, adaptive) {
            return Turn::Failed(error);
        }
        let none = socket.output.pending.is_empty() && !refill(end_point, socket, buffers);
        if !socket.output.submitted && none && socket.phase.ends() {
            return Turn::Fin;
        }
        if none && !socket.output.submitted && !socket.output.wanted {
            uncork(socket);
        }
        if none || socket.output.submitted || !socket.output.ready {
            return Turn::Over;
        }
        if left == 0 {
            return Turn::More;
        }
        cork(socket);
        match poller.send(token, socket) {
            Ok(taken) => left = left.saturating_sub(taken),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Turn::Failed(error),
        }
    }
}

/// Asks the end point for bytes if the kernel would take them now. Returns whether there are any.
fn refill<E: EndPoint + ?Sized>(
    end_point: &mut E,
    socket: &mut Socket,
    buffers: &mut BufferPool<SendBuf>,
) -> bool {
    let output = &mut socket.output;
    let is_writable = output.ready && output.unsent_bound < output.low_water && output.may_ask();
    if !is_writable || !output.wanted || socket.phase != Phase::Open {
        return false;
    }
    if output.pending.capacity() == 0
        && let Some(spare) = buffers.take()
    {
        output.pending = spare;
    }
    let limit = output.next_ask();
    end_point.poll_transmit(clock::now(), socket.id, &mut output.pending, limit);
    let given = !output.pending.is_empty();
    output.wanted = given && end_point.wants_transmit(socket.id);
    given
}

/// Before bytes are sent that others follow: has the last segment wait for them where that is to be.
fn cork(socket: &mut Socket) {
    let output = &mut socket.output;
    if output.fills_segments && output.wanted && !output.corked {
        output.corked = true;
        tcp::set_cork(socket.fd.as_fd(), true);
    }
}

/// Sends a segment that waits for more bytes.
fn uncork(socket: &mut Socket) {
    if std::mem::take(&mut socket.output.corked) {
        tcp::set_cork(socket.fd.as_fd(), false);
    }
}

/// Takes back the buffer of a socket that has nothing more to send.
fn reclaim(buffers: &mut BufferPool<SendBuf>, pending: &mut SendBuf) {
    if pending.is_empty() && pending.capacity() > 0 {
        buffers.give_back(std::mem::take(pending));
    }
}

/// Asks the kernel how many bytes are unsent, where there is something to send and it may be many. If so, nothing is
/// sent until few are left.
fn wait_for_low_water(
    poller: &mut dyn Poller,
    token: Token,
    socket: &mut Socket,
    adaptive: AdaptiveSendBuffer,
) -> io::Result<()> {
    let low_water = socket.output.low_water;
    let output = &socket.output;
    let idle = output.pending.is_empty() && !output.wanted;
    if idle || !output.ready || output.submitted || output.unsent_bound < low_water {
        return Ok(());
    }
    let unsent = tcp::unsent(socket.fd.as_fd())?;
    socket.output.unsent_bound = unsent;
    if unsent >= low_water {
        socket.output.ready = false;
        return poller.await_low_water(token, socket);
    }
    let fd = socket.fd.as_fd();
    let mark = socket.output.handle_taken(adaptive, unsent, || tcp::round_trip(fd));
    set_low_water(socket, mark);
    Ok(())
}

/// Has the kernel follow the low-water mark, where it is a new one.
pub(super) fn set_low_water(socket: &mut Socket, mark: Option<u32>) {
    let Some(mark) = mark else { return };
    tcp::set_unsent_low_water(socket.fd.as_fd(), mark);
    socket.output.handle_mark(|| tcp::segment(socket.fd.as_fd()));
    if !socket.output.fills_segments {
        uncork(socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_a_buffer_only_while_it_owes_bytes() {
        let (mut buffers, mut pending) = (BufferPool::new(16), SendBuf::new());
        pending.put(&[0; 100_000]);
        reclaim(&mut buffers, &mut pending);
        assert_eq!(pending.len(), 100_000, "bytes that are owed stay");
        pending.advance(100_000);
        reclaim(&mut buffers, &mut pending);
        assert_eq!(pending.capacity(), 0);
        assert!(buffers.take().is_some_and(|spare| spare.capacity() >= 100_000));
    }
}
