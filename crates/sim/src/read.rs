//! From receive buffers to end points.

use crate::stream::EndId;
use crate::world::{Event, World};
use endpoint::SocketId;

/// The most bytes that one read gives.
const READ: usize = 64 * 1024;

impl World {
    /// Plans a read at this instant, after everything that is already planned for it.
    pub(crate) fn plan_read(&mut self, id: EndId) {
        if !std::mem::replace(&mut self.end_mut(id).input.is_read_planned, true) {
            self.agenda.plan(self.now, Event::Read(id));
        }
    }

    /// Reads until the buffer is empty, or the end point pauses or closes the socket.
    pub(crate) fn read(&mut self, id: EndId) {
        self.end_mut(id).input.is_read_planned = false;
        while !self.end(id).input.unread.is_empty() {
            let end = self.end(id);
            let Some(socket) = end.socket() else { return self.discard(id) };
            if end.input.is_paused {
                return;
            }
            self.hand_in(id, socket);
        }
        self.tell_end(id);
        self.tell_drained(id);
    }

    /// Gives an end point one piece of what is unread.
    fn hand_in(&mut self, id: EndId, socket: SocketId) {
        let (host, length) = (self.end(id).host, self.end(id).input.unread.len());
        let state = &mut self.hosts[host.0];
        let end = self.connections[id.connection].end_mut(id.side);
        let piece = state.cutter.next(length.min(READ));
        let buffer = state.end_point.poll_receive_buffer(socket).filter(|into| !into.is_empty());
        let (piece, is_direct) = match buffer {
            Some(buffer) => {
                let piece = piece.min(buffer.len());
                buffer[..piece].copy_from_slice(&end.input.unread[..piece]);
                (piece, true)
            }
            None => (piece, false),
        };
        let bytes = end.input.unread.split_to(piece);
        self.return_credit(id, piece);
        self.input(host, |end_point, now| match is_direct {
            true => end_point.handle_received(now, socket, piece),
            false => end_point.handle_bytes(now, socket, &bytes),
        });
    }

    /// This end reads no more.
    fn discard(&mut self, id: EndId) {
        let unread = std::mem::take(&mut self.end_mut(id).input.unread);
        self.return_credit(id, unread.len());
    }

    /// The buffer has space again. The sender learns of it one one-way delay later.
    fn return_credit(&mut self, id: EndId, bytes: usize) {
        let route = &self.routes[self.connections[id.connection].path.0];
        let at = self.now + route.one_way(self.end(id).direction);
        self.end_mut(id.peer()).output.expect_credit(at, bytes);
        self.plan_credit(id.peer());
    }

    fn tell_end(&mut self, id: EndId) {
        let end = self.end_mut(id);
        let Some(socket) = end.socket() else { return };
        if end.input.has_fin && !end.input.is_paused && !end.input.is_ended {
            end.input.is_ended = true;
            // A socket that ends first gets no `handle_drained`.
            end.input.awaits_drained = false;
            let host = end.host;
            self.input(host, |end_point, now| end_point.handle_eof(now, socket));
        }
    }

    fn tell_drained(&mut self, id: EndId) {
        let end = self.end_mut(id);
        let Some(socket) = end.socket() else { return };
        if !end.input.is_paused && std::mem::take(&mut end.input.awaits_drained) {
            let host = end.host;
            self.input(host, |end_point, now| end_point.handle_drained(now, socket));
        }
    }
}
