//! The writing side: bytes are asked of the end point only when the kernel has little left to send.

use super::backend::Carrier;
use super::rooms::Rooms;
use super::socket::{Phase, Socket};
use super::table::Token;
use super::{Reactor, socket_error};
use crate::{clock, tcp};
use endpoint::EndPoint;
use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Bytes sent on one socket before others have their turn.
const SENT_A_TURN: usize = 256 * 1024;

/// How a writing turn ended.
enum Turn {
    /// Nothing more to send for now, or the kernel takes no more: an event or an action goes on.
    Over,
    /// The turn is used up and there is more.
    More,
    /// All is sent that the socket will ever send: FIN comes next.
    Fin,
    /// The socket failed.
    Failed(io::Error),
}

impl Reactor {
    /// Sends what is owed and asks for more, then does what the end point wants thereupon.
    pub(super) fn write<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        let output = &mut socket.output;
        if !output.wanted && output.owed.is_empty() && !socket.phase.ends() {
            // What was under way has come back with its room.
            return self.rooms.take_back(&mut output.owed);
        }
        self.write_once(end_point, token);
        self.act(end_point);
    }

    /// The same without the end point's actions: for use within them.
    pub(super) fn write_once<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        let turn = write_turn(end_point, (self.carrier.as_mut(), &mut self.rooms), (token, socket));
        self.rooms.take_back(&mut socket.output.owed);
        socket.output.note_full(self.settings.depth, clock::now);
        match turn {
            Turn::Over => {}
            Turn::More => self.queue(token),
            Turn::Fin => self.send_fin(token),
            Turn::Failed(error) => self.fail_quietly(end_point, token, socket_error(&error)),
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
    (carrier, rooms): (&mut dyn Carrier, &mut Rooms),
    (token, socket): (Token, &mut Socket),
) -> Turn {
    if socket.phase == Phase::Connecting {
        return Turn::Over;
    }
    let mut left = SENT_A_TURN;
    loop {
        if let Err(error) = wait_for_low_water(carrier, token, socket) {
            return Turn::Failed(error);
        }
        let none = socket.output.owed.is_empty() && !refill(end_point, (socket, rooms));
        if !socket.output.under_way && none && socket.phase.ends() {
            return Turn::Fin;
        }
        if none || socket.output.under_way || !socket.output.ready {
            return Turn::Over;
        }
        if left == 0 {
            return Turn::More;
        }
        match carrier.send(token, socket) {
            Ok(taken) => left = left.saturating_sub(taken),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Turn::Failed(error),
        }
    }
}

/// Asks the end point for bytes, where the kernel would take them now. Whether there are any.
fn refill<E: EndPoint + ?Sized>(
    end_point: &mut E,
    (socket, rooms): (&mut Socket, &mut Rooms),
) -> bool {
    let output = &mut socket.output;
    let room = output.ready && output.unsent_bound < output.low_water;
    if !room || !output.wanted || socket.phase != Phase::Open {
        return false;
    }
    if output.owed.capacity() == 0 {
        rooms.lend(&mut output.owed);
    }
    end_point.poll_transmit(clock::now(), socket.id, &mut output.owed, output.least);
    let given = !output.owed.is_empty();
    output.wanted = given && end_point.wants_transmit(socket.id);
    given
}

/// Where there is something to send and much may lie unsent in the kernel, asks it; where that is so, nothing is sent
/// until little is left.
fn wait_for_low_water(
    carrier: &mut dyn Carrier,
    token: Token,
    socket: &mut Socket,
) -> io::Result<()> {
    let low_water = socket.output.low_water;
    let output = &socket.output;
    let idle = output.owed.is_empty() && !output.wanted;
    if idle || !output.ready || output.under_way || output.unsent_bound < low_water {
        return Ok(());
    }
    socket.output.unsent_bound = tcp::unsent(socket.fd.as_fd())?;
    if socket.output.unsent_bound >= low_water {
        socket.output.ready = false;
        carrier.await_low_water(token, socket)?;
    }
    Ok(())
}
