//! The reading side: a socket is read until nothing is left or its [share](super::share) of the turn is used up.

use super::poller::Received;
use super::socket::Phase;
use super::table::Token;
use super::{Reactor, socket_error};
use crate::{clock, tcp};
use endpoint::{Acks, EndPoint, SocketError};
use std::io::ErrorKind;
use std::os::fd::AsFd;

/// Reads of a socket whose bytes are discarded before others have their turn.
const DISCARDS_A_TURN: usize = 4;

impl Reactor {
    /// Reads what has arrived and hands it to the end point.
    pub(super) fn read<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let mut handled = None;
        loop {
            let Some(socket) = self.table.find(token) else { return };
            if let Some((bytes, began)) = handled.take() {
                socket.input.share.handle(bytes, clock::now().since(began));
            }
            if !socket.phase.is_attached() {
                return self.read_away(token);
            }
            if !socket.input.ready || socket.input.paused || socket.input.ended {
                return;
            }
            let most = socket.input.share.left(self.turn);
            if most == 0 {
                return self.defer(end_point, token);
            }
            let id = socket.id;
            let buffer = end_point.poll_receive_buffer(id).filter(|buffer| !buffer.is_empty());
            let received = self.poller.receive(token, socket, buffer, most);
            let came = matches!(received, Ok(Received::Bytes(_) | Received::Filled(_)));
            if came && socket.input.acks == Acks::Quick {
                tcp::acknowledge_quickly(socket.fd.as_fd());
            }
            match received {
                Ok(Received::End) => {
                    socket.input.ended = true;
                    let failed = socket.output.failed;
                    end_point.handle_eof(clock::now(), id);
                    self.act(end_point);
                    if let Some(error) = failed {
                        self.fail(end_point, token, error);
                    }
                    return;
                }
                Ok(Received::Bytes(bytes)) => {
                    let now = clock::now();
                    handled = Some((bytes.len(), now));
                    end_point.handle_bytes(now, id, bytes);
                }
                Ok(Received::Filled(count)) => {
                    let now = clock::now();
                    handled = Some((count, now));
                    end_point.handle_received(now, id, count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Some(error) = socket.output.failed {
                        return self.fail_once_drained(end_point, token, error);
                    }
                    if socket.input.awaits_drained {
                        self.tell_drained(end_point, token);
                    }
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.fail(end_point, token, socket_error(&error)),
            }
            self.act(end_point);
        }
    }

    /// A read has found nothing after a send had failed.
    fn fail_once_drained<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        error: SocketError,
    ) {
        let Some(socket) = self.table.find(token) else { return };
        if self.poller.is_drained(socket) {
            return self.fail(end_point, token, error);
        }
        socket.input.ready = true;
        self.queue(token);
    }

    /// A socket has used up its share of the turn, or its bytes take long and others come first.
    pub(super) fn defer<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        match self.poller.defer(token, socket) {
            Ok(()) => self.queue(token),
            Err(error) => self.fail(end_point, token, socket_error(&error)),
        }
    }

    /// Discards what arrives for a socket that the end point has released.
    pub(super) fn read_away(&mut self, token: Token) {
        for _ in 0..DISCARDS_A_TURN {
            let Some(socket) = self.table.find(token) else { return };
            if !socket.input.ready || socket.input.ended {
                break;
            }
            match self.poller.discard(token, socket) {
                Ok(0) => socket.input.ended = true,
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return self.remove(token),
            }
        }
        let Some(socket) = self.table.find(token) else { return };
        if socket.phase == Phase::Lingering && socket.input.ended {
            self.remove(token);
        } else if socket.input.ready && !socket.input.ended {
            self.queue(token);
        }
    }
}
