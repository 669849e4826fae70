//! Carries out each [`Action`] of the end point.

use super::output::set_low_water;
use super::poller::Readiness;
use super::socket::{Input, Output, Phase, Socket};
use super::table::Token;
use super::{Reactor, SocketStage, socket_error};
use crate::clock;
use crate::tcp::{self, Connect};
use endpoint::{Action, EndPoint, SocketId, SocketSettings};
use std::cmp::Reverse;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

impl Reactor {
    /// Carries out actions until the end point gives none or has finished.
    pub(super) fn act<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        while !self.finishing
            && let Some(action) = end_point.poll_action()
        {
            self.act_once(end_point, action);
        }
    }

    /// Actions on a socket that failed meanwhile find no token and are dropped: the end point was notified.
    fn act_once<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, action: Action) {
        match action {
            Action::Connect { socket, remote, settings } => {
                self.connect(end_point, socket, remote, &settings);
            }
            Action::Bind { socket, local, settings } => {
                self.bind(end_point, socket, local, &settings);
            }
            Action::Transmit(id) => {
                let Some(token) = self.table.token(id) else { return };
                match self.table.find(token) {
                    Some(socket) => {
                        socket.output.wanted = true;
                        self.write_once(end_point, token);
                    }
                    None => self.transmit_datagrams(end_point, token),
                }
            }
            Action::Shutdown(id) => {
                let Some(token) = self.table.token(id) else { return };
                if let Some(socket) = self.table.find(token)
                    && socket.phase == Phase::Open
                {
                    socket.phase = Phase::Ending;
                    self.write_once(end_point, token);
                }
            }
            Action::Close(id) => self.leave(end_point, id),
            Action::Abort(id) => self.abort(id),
            Action::Pause(id) => self.pause(end_point, id, true),
            Action::Resume(id) => self.pause(end_point, id, false),
            Action::AwaitDrained(id) => self.await_drained(id),
            Action::Finish => self.finish(),
        }
    }

    fn abort(&mut self, id: SocketId) {
        let Some(token) = self.table.token(id) else { return };
        match self.table.find(token) {
            Some(socket) => {
                tcp::reset_on_close(socket.fd.as_fd());
                self.remove(token);
            }
            None => self.remove_datagrams(token),
        }
    }

    fn pause<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, id: SocketId, paused: bool) {
        let Some(token) = self.table.token(id) else { return };
        let Some(socket) = self.table.find(token) else {
            return self.pause_datagrams(token, paused);
        };
        socket.input.paused = paused;
        if paused {
            if let Err(error) = self.poller.pause(token, socket) {
                self.fail_quietly(end_point, token, socket_error(&error));
            }
        } else if socket.input.awaits_drained {
            self.await_drained_on(token);
        } else if socket.input.ready {
            self.queue(token);
        }
    }

    fn connect<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        id: SocketId,
        remote: SocketAddr,
        settings: &SocketSettings,
    ) {
        let input = Input::new(settings.acks);
        let output = Output::new(settings.unsent_low_water);
        let now = clock::now();
        match tcp::connect(remote, settings) {
            Ok(Connect::Done(fd, local)) => {
                let socket = Socket::new(fd, id, Phase::Open, input, output);
                if self.adopt(end_point, socket).is_some() {
                    end_point.handle_connected(now, id, local);
                }
            }
            Ok(Connect::Pending(fd)) => {
                let socket = Socket::new(fd, id, Phase::Connecting, input, output);
                let token = self.adopt(end_point, socket);
                self.alarms
                    .extend(token.map(|token| Reverse((now + settings.connect_timeout, token))));
            }
            Err(error) => end_point.handle_error(now, id, socket_error(&error)),
        }
    }

    /// A connect has succeeded or failed.
    fn handle_connect<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else { return };
        let outcome = tcp::take_error(socket.fd.as_fd())
            .and_then(|local| self.poller.opened(token, socket).map(|()| local));
        match outcome {
            Ok(local) => {
                socket.phase = Phase::Open;
                let id = socket.id;
                self.observe_stage(token, SocketStage::Opened);
                end_point.handle_connected(clock::now(), id, local);
                self.act(end_point);
                self.await_drained_on(token);
            }
            Err(error) => self.fail(end_point, token, socket_error(&error)),
        }
    }

    /// The end point releases a socket: what is pending is sent, then FIN, then the peer's last bytes are awaited.
    fn leave<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, id: SocketId) {
        let Some(token) = self.table.token(id) else { return };
        let Some(socket) = self.table.find(token) else {
            return self.leave_datagrams(token);
        };
        match socket.phase {
            Phase::Connecting => return self.remove(token),
            Phase::Ended if socket.input.ended => return self.remove(token),
            Phase::Ended => {
                socket.phase = Phase::Lingering;
                self.alarms.push(Reverse((clock::now() + self.settings.linger, token)));
            }
            Phase::Open | Phase::Ending => socket.phase = Phase::Leaving,
            Phase::Leaving | Phase::Lingering => return,
        }
        self.table.detach(id);
        self.write_once(end_point, token);
        self.read_away(token);
        if self.table.find(token).is_some_and(|socket| socket.phase == Phase::Leaving) {
            self.alarms.push(Reverse((clock::now() + self.settings.flush, token)));
        }
    }

    /// The kernel reports that a socket is ready.
    pub(super) fn handle_socket<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        ready: Readiness,
    ) {
        let Some(socket) = self.table.find(token) else {
            return self.handle_datagram_socket(end_point, token, ready);
        };
        if let Some(errno) = ready.error {
            let error = io::Error::from_raw_os_error(errno);
            return self.fail(end_point, token, socket_error(&error));
        }
        socket.input.ready |= ready.readable();
        socket.input.hung_up |= ready.hung_up();
        if ready.writable() {
            socket.output.ready = true;
            socket.output.unsent_bound = 0;
            let adaptive = self.settings.adaptive_send_buffer;
            let mark = socket.output.handle_low_water(adaptive, clock::now);
            set_low_water(socket, mark);
        }
        match socket.phase {
            Phase::Connecting if ready.writable() => self.handle_connect(end_point, token),
            Phase::Connecting => return,
            Phase::Open | Phase::Ending | Phase::Ended => {
                // A paused socket is not read, so its error has to be asked for.
                if ready.failed()
                    && socket.input.paused
                    && let Err(error) = tcp::take_error(socket.fd.as_fd())
                {
                    return self.fail(end_point, token, socket_error(&error));
                }
            }
            Phase::Leaving | Phase::Lingering => {}
        }
        let Some(socket) = self.table.find(token) else { return };
        if socket.input.ready && socket.input.share.is_slow() && socket.phase.is_attached() {
            // The other events come first. It reads before it writes: what it reads may cancel what it would write.
            return self.defer(end_point, token);
        }
        self.read(end_point, token);
        self.write(end_point, token);
        self.act(end_point);
    }
}
