//! Listening stream sockets, and the signal that closes them.

use super::Reactor;
use super::progress::Progress;
use super::socket::{Input, Output, Phase, Socket};
use super::table::Token;
use crate::{clock, tcp};
use endpoint::{Accepted, EndPoint};
use std::cmp::Reverse;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Connections accepted from one listener before others have their turn.
const ACCEPTS_A_TURN: usize = 64;

/// Connections accepted at most when the listeners close. As many wait as their backlog holds, but while these are accepted others come.
const ACCEPTS_AT_STOP: usize = 16 * 1024;

/// How long a listener pauses when the process or the system has no more descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

impl Reactor {
    /// No more connections: those that already wait are accepted, then the listeners close.
    pub(super) fn handle_stop<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        for number in 0..self.listeners.len() {
            self.accept_up_to(end_point, Token(number as u64), ACCEPTS_AT_STOP);
            if self.finishing {
                return;
            }
            if let Some(listener) = self.listeners[number].take() {
                // Closing alone may not end it: a child process has a copy from fork(2) until it executes its program.
                tcp::end(listener.as_fd());
                self.poller.close_listener(listener);
            }
        }
        if !self.finishing {
            let now = clock::now();
            self.progress.get_or_insert_with(|| Progress::begin(now));
            end_point.handle_stop(now);
            self.act(end_point);
        }
    }

    /// Accepts connections that wait at a listener.
    pub(super) fn accept<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        self.accept_up_to(end_point, token, ACCEPTS_A_TURN);
    }

    fn accept_up_to<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token, most: usize) {
        let number = token.0 as usize;
        for _ in 0..most {
            let Some(Some(listener)) = self.listeners.get(number) else { return };
            if self.finishing {
                return self.silence(token);
            }
            let (low_water, acks) = (listener.unsent_low_water(), listener.acks());
            match listener.accept() {
                Ok((fd, local, remote)) => {
                    let accepted = Accepted { listener: number, local, remote };
                    if let Some(id) = end_point.handle_accepted(clock::now(), accepted) {
                        let (input, output) = (Input::new(acks), Output::new(low_water));
                        self.adopt(end_point, Socket::new(fd, id, Phase::Open, input, output));
                    }
                    self.act(end_point);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_shortage(&error) => return self.rest(token),
                // accept(2): an error of the connection that was to be accepted. The next may succeed.
                Err(_) => {}
            }
        }
        if let Some(Some(listener)) = self.listeners.get(number) {
            let watched = self.poller.accepted(listener.as_fd(), token);
            debug_assert!(watched.is_ok(), "a listener is watched while it is open");
        }
    }

    /// Watches a listener again that rested.
    pub(super) fn listen_again(&mut self, token: Token) {
        if let Some(Some(listener)) = self.listeners.get(token.0 as usize) {
            let watched = self.poller.resume_listener(listener.as_fd(), token);
            debug_assert!(watched.is_ok(), "a listener is watched while it is open");
        }
    }

    /// Resumes listeners that were paused at the end of the last run.
    pub(super) fn resume_listeners(&mut self) {
        for token in std::mem::take(&mut self.silenced) {
            self.listen_again(token);
        }
    }

    /// The end point has finished: connections wait for the next run.
    fn silence(&mut self, token: Token) {
        if !self.silenced.contains(&token) {
            self.pause_listener(token);
            self.silenced.push(token);
        }
    }

    /// Connections wait in the backlog until there are descriptors again.
    fn rest(&mut self, token: Token) {
        self.pause_listener(token);
        self.alarms.push(Reverse((clock::now() + ACCEPT_REST, token)));
    }

    fn pause_listener(&mut self, token: Token) {
        if let Some(Some(listener)) = self.listeners.get(token.0 as usize) {
            let silenced = self.poller.pause_listener(listener.as_fd(), token);
            debug_assert!(silenced.is_ok(), "a listener is watched while it is open");
        }
    }
}

/// Whether an accept failed for lack of a resource that may be free again later.
fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    matches!(errno, Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
