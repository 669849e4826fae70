//! `Action::AwaitDrained`. A socket that asks for it is read, turn after turn, until a read finds nothing more. The one
//! rule: a socket that does not ask pays nothing.
//!
//! A paused socket is not read, so the answer waits until it is resumed. One that has ended gets none, since
//! `handle_eof` says the same.

use super::Reactor;
use super::socket::Phase;
use super::table::Token;
use crate::clock;
use endpoint::{EndPoint, SocketId};

impl Reactor {
    /// The end point asks.
    pub(super) fn await_drained(&mut self, id: SocketId) {
        let Some(token) = self.table.token(id) else { return };
        if let Some(socket) = self.table.find(token) {
            socket.input.awaits_drained = true;
            return self.await_drained_on(token);
        }
        if let Some(datagrams) = self.table.find_datagrams(token) {
            datagrams.awaits_drained = true;
            datagrams.readable = true;
            self.queue_datagrams(token);
        }
    }

    /// A socket that waits for the answer is read once more in its next turn. An earlier event or a short read does not
    /// prove that nothing is left.
    pub(super) fn await_drained_on(&mut self, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        let input = &mut socket.input;
        // A connecting socket is read when it is connected, and a paused one when it is resumed.
        let is_read = socket.phase != Phase::Connecting && !input.paused;
        if input.awaits_drained && is_read && !input.ended {
            input.ready = true;
            self.queue(token);
        }
    }

    /// A read of a waiting socket found nothing. Answers if that was everything.
    pub(super) fn tell_drained<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        if !self.poller.is_drained(socket) {
            return;
        }
        socket.input.awaits_drained = false;
        let id = socket.id;
        end_point.handle_drained(clock::now(), id);
        self.act(end_point);
    }
}
