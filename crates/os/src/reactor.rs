//! Drives one end point over stream sockets: one thread, one instance of the kernel's interface, no locks. The one
//! rule: the end point decides, the reactor only carries.
//!
//! Bytes are asked of the end point late: a socket counts as writable when fewer than half of
//! `unsent_low_water` bytes lie unsent in the kernel, and then gets about `unsent_low_water` more. [`Depth`] may
//! raise that mark.
//!
//! ```no_run
//! use os::reactor::{Reactor, ReactorSettings, Stop};
//! use os::tcp::{Listener, Sharing};
//! # fn serve(mut end_point: impl endpoint::EndPoint) -> Result<(), os::error::Os> {
//! let stop = Stop::new()?;
//! let mut reactor = Reactor::new(ReactorSettings::default(), stop.clone())?;
//! let address = ([127, 0, 0, 1], 8080).into();
//! reactor.listen(Listener::bind(address, Sharing::Found, &endpoint::SocketSettings::default())?)?;
//! reactor.run(&mut end_point) // until `stop.stop()` is called from elsewhere and the work is done
//! # }
//! ```

mod act;
mod backend;
mod depth;
mod epoll;
mod input;
mod lag;
mod output;
mod rooms;
mod socket;
mod stop;
mod table;
mod uring;

pub use backend::Backend;
pub use depth::Depth;
pub use lag::LoopTimes;
pub use stop::Stop;

use crate::clock;
use crate::error::Os;
use crate::process;
use crate::tcp::{Listener, TcpFacts};
use backend::{Carrier, Ready};
use endpoint::{Accepted, EndPoint, SocketError, SocketId};
use lag::LagWatch;
use rooms::Rooms;
use socket::{Input, Output, Phase, Socket};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use table::{Table, Token};
use unit::Instant;

/// Connections accepted from one listener before others have their turn.
const ACCEPTS_A_TURN: usize = 64;

/// How long a listener rests when the process or the system has no more descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// The token of the stop signal; no socket has generation `u32::MAX` within a process's life.
const STOP: u64 = u64::MAX;

/// How a reactor works.
#[derive(Debug, Clone)]
pub struct ReactorSettings {
    /// The processor that the running thread is bound to; None leaves it free.
    pub core: Option<usize>,
    /// How it speaks with the kernel.
    pub backend: Backend,
    /// How long a closed socket may take to send what it owes.
    pub flush: Duration,
    /// How long a closed socket waits, after its FIN, for the peer's. Zero closes at once; then
    /// bytes that arrive late become an RST.
    pub linger: Duration,
    /// Whether more bytes may lie unsent in the kernel where the path is quick.
    pub depth: Depth,
    /// Whether it keeps the time of its turns and waits, and how late it came to them.
    pub timing: Timing,
}

impl Default for ReactorSettings {
    fn default() -> Self {
        Self {
            core: None,
            backend: Backend::default(),
            flush: Duration::from_secs(10),
            linger: Duration::from_secs(1),
            depth: Depth::Fixed,
            timing: Timing::Off,
        }
    }
}

/// Whether a reactor keeps its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timing {
    /// It does: two readings of clocks a turn, and a turn every ten milliseconds.
    On,
    /// It does not, and pays nothing.
    #[default]
    Off,
}

/// At which point of a socket's life its facts were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It is connected or accepted.
    Opened,
    /// It is about to be closed.
    Closing,
}

/// Takes what the kernel tells of each socket: to be stored, never to be decided on.
pub type Witness = Box<dyn FnMut(SocketId, Moment, &TcpFacts)>;

/// A thread's worth of sockets.
pub struct Reactor {
    settings: ReactorSettings,
    carrier: Box<dyn Carrier>,
    stop: Stop,
    listeners: Vec<Option<Listener>>,
    table: Table,
    /// Sockets that go on without a new event, because they had used up their turn.
    again: Vec<Token>,
    alarms: BinaryHeap<Reverse<(Instant, Token)>>,
    rooms: Rooms,
    witness: Option<Witness>,
    lag: Option<LagWatch>,
    finishing: bool,
}

impl Reactor {
    /// A reactor without sockets, which heeds `stop`.
    pub fn new(settings: ReactorSettings, stop: Stop) -> Result<Self, Os> {
        let mut carrier = settings.backend.open()?;
        carrier.watch_stop(&stop).map_err(|source| Os::new("watch the stop signal", source))?;
        Ok(Self {
            settings,
            carrier,
            stop,
            listeners: Vec::new(),
            table: Table::default(),
            again: Vec::new(),
            alarms: BinaryHeap::new(),
            rooms: Rooms::default(),
            witness: None,
            lag: None,
            finishing: false,
        })
    }

    /// Accepts connections from `listener` too; returns its number in [`Accepted::listener`].
    pub fn listen(&mut self, listener: Listener) -> Result<usize, Os> {
        let number = self.listeners.len();
        self.carrier
            .listen(listener.as_fd(), Token(number as u64))
            .map_err(|source| Os::new(format!("watch {}", listener.local()), source))?;
        self.listeners.push(Some(listener));
        Ok(number)
    }

    /// Has each socket's facts read and told when it opens and before it closes.
    pub fn observe(&mut self, witness: Witness) {
        self.witness = Some(witness);
    }

    /// The signal that this reactor heeds.
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Drives `end_point` until it gives `Action::Finish` and what is owed is sent.
    pub fn run<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) -> Result<(), Os> {
        if let Some(core) = self.settings.core {
            process::pin(&[core])?;
        }
        self.finishing = false;
        self.lag = (self.settings.timing == Timing::On).then(LagWatch::begin);
        end_point.handle_start(clock::now());
        self.act(end_point);
        while !self.is_done() {
            let timeout = self.next_wake(end_point);
            for index in 0..self.wait(timeout)? {
                if let Some(ready) = self.carrier.event(index, &mut self.table) {
                    self.handle_ready(end_point, ready);
                }
            }
            self.go_on(end_point);
            self.handle_time(end_point);
        }
        self.drop_attached();
        self.carrier.settle();
        Ok(())
    }

    /// What its last run's turns took, where it was to keep the time.
    pub fn loop_times(&self) -> Option<LoopTimes> {
        self.lag.as_ref().map(LagWatch::times)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Result<usize, Os> {
        let told = |source| Os::new("wait for events on sockets", source);
        let Some(lag) = &mut self.lag else { return self.carrier.wait(timeout).map_err(told) };
        let timeout = lag.end_turn(timeout);
        let count = self.carrier.wait(Some(timeout)).map_err(told)?;
        lag.end_wait(timeout);
        Ok(count)
    }

    fn is_done(&mut self) -> bool {
        if self.finishing {
            self.drop_attached();
        }
        self.finishing && self.table.is_empty()
    }

    /// Drops every socket that the end point still holds.
    fn drop_attached(&mut self) {
        for socket in self.table.take_attached() {
            self.carrier.remove(socket);
        }
    }

    /// How long to wait for events.
    fn next_wake<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let own = self.alarms.peek().map(|Reverse((at, _))| *at);
        let theirs = if self.finishing { None } else { end_point.poll_timeout() };
        let at = match (own, theirs) {
            (Some(own), Some(theirs)) => own.min(theirs),
            (own, theirs) => own.or(theirs)?,
        };
        Some(at.since(clock::now()))
    }

    fn handle_ready<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, ready: Ready) {
        let token = Token(ready.token);
        if ready.token == STOP {
            self.handle_stop(end_point);
        } else if token.generation() == 0 {
            self.accept(end_point, token);
        } else {
            self.handle_socket(end_point, token, ready);
        }
    }

    /// No more connections: those that wait already are taken, then the listeners close.
    fn handle_stop<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        for number in 0..self.listeners.len() {
            self.accept(end_point, Token(number as u64));
            if let Some(listener) = self.listeners[number].take() {
                self.carrier.close(listener);
            }
        }
        end_point.handle_stop(clock::now());
        self.act(end_point);
    }

    fn accept<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let number = token.0 as usize;
        for _ in 0..ACCEPTS_A_TURN {
            let Some(Some(listener)) = self.listeners.get(number) else { return };
            let (low_water, acks) = (listener.unsent_low_water(), listener.acks());
            match listener.accept() {
                Ok((fd, local, remote)) => {
                    let accepted = Accepted { listener: number, local, remote };
                    if let Some(id) = end_point.handle_accepted(clock::now(), accepted) {
                        let sides = (Input::new(acks), Output::new(low_water));
                        self.adopt(end_point, (fd, id), Phase::Open, sides);
                    }
                    self.act(end_point);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if is_shortage(&error) => return self.rest(token),
                // accept(2): an error of the connection that was to be taken. The next may be well.
                Err(_) => {}
            }
        }
        if let Some(Some(listener)) = self.listeners.get(number) {
            let heard = self.carrier.accepted(listener.as_fd(), token);
            debug_assert!(heard.is_ok(), "a listener is watched while it is open");
        }
    }

    /// Connections wait in the backlog until there are descriptors again.
    fn rest(&mut self, token: Token) {
        if let Some(Some(listener)) = self.listeners.get(token.0 as usize) {
            let silenced = self.carrier.rest(listener.as_fd(), token);
            debug_assert!(silenced.is_ok(), "a listener is watched while it is open");
            self.alarms.push(Reverse((clock::now() + ACCEPT_REST, token)));
        }
    }

    /// Takes a socket in and watches it.
    fn adopt<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        (fd, id): (OwnedFd, SocketId),
        phase: Phase,
        (input, output): (Input, Output),
    ) -> Option<Token> {
        let socket = Socket { fd, generation: 0, id, phase, input, output, queued: false };
        let token = self.table.insert(socket);
        let socket = self.table.find(token)?;
        if let Err(error) = self.carrier.add(token, socket) {
            // epoll_ctl(2): ENOSPC at fs.epoll.max_user_watches, ENOMEM.
            self.fail_quietly(end_point, token, socket_error(&error));
            return None;
        }
        if phase == Phase::Open {
            self.testify(token, Moment::Opened);
        }
        Some(token)
    }

    fn testify(&mut self, token: Token, moment: Moment) {
        let (Some(witness), Some(socket)) = (&mut self.witness, self.table.find(token)) else {
            return;
        };
        if let Ok(facts) = TcpFacts::read(socket.fd.as_fd()) {
            witness(socket.id, moment, &facts);
        }
    }

    /// Sockets that had used up their turn have another.
    fn go_on<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        for token in std::mem::take(&mut self.again) {
            if let Some(socket) = self.table.find(token) {
                socket.queued = false;
                self.read(end_point, token);
                self.write(end_point, token);
                self.act(end_point);
            }
        }
    }

    fn queue(&mut self, token: Token) {
        if let Some(socket) = self.table.find(token)
            && !socket.queued
        {
            socket.queued = true;
            self.again.push(token);
        }
    }

    /// Alarms of the reactor's own, then the end point's.
    fn handle_time<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        let now = clock::now();
        while let Some(&Reverse((at, token))) = self.alarms.peek()
            && at <= now
        {
            self.alarms.pop();
            self.handle_alarm(end_point, token);
        }
        if !self.finishing && end_point.poll_timeout().is_some_and(|at| at <= now) {
            end_point.handle_timeout(now);
            self.act(end_point);
        }
    }

    fn handle_alarm<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        if token.generation() == 0 {
            if let Some(Some(listener)) = self.listeners.get(token.0 as usize) {
                let heard = self.carrier.listen_again(listener.as_fd(), token);
                debug_assert!(heard.is_ok(), "a listener is watched while it is open");
            }
            return;
        }
        match self.table.find(token).map(|socket| socket.phase) {
            Some(Phase::Connecting) => self.fail(end_point, token, SocketError::TimedOut),
            Some(Phase::Leaving | Phase::Lingering) => self.remove(token),
            // The alarm of a connect that was in time.
            Some(Phase::Open | Phase::Ending | Phase::Ended) | None => {}
        }
    }

    /// The socket is gone; the end point is told where it still holds it.
    fn fail<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token, error: SocketError) {
        self.fail_quietly(end_point, token, error);
        self.act(end_point);
    }

    /// The same without the end point's actions: for use within them.
    fn fail_quietly<E: EndPoint + ?Sized>(
        &mut self,
        end_point: &mut E,
        token: Token,
        error: SocketError,
    ) {
        let Some(socket) = self.table.find(token) else { return };
        let (id, attached) = (socket.id, socket.phase.is_attached());
        self.remove(token);
        if attached {
            end_point.handle_error(clock::now(), id, error);
        }
    }

    fn remove(&mut self, token: Token) {
        self.testify(token, Moment::Closing);
        if let Some(socket) = self.table.remove(token) {
            self.carrier.remove(socket);
        }
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reactor")
            .field("settings", &self.settings)
            .field("listeners", &self.listeners)
            .finish_non_exhaustive()
    }
}

/// Whether an accept failed for want of something that comes back with time.
fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    matches!(errno, Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// The end point's word for an error of the system.
fn socket_error(error: &io::Error) -> SocketError {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => SocketError::Refused,
        Some(libc::ECONNRESET | libc::EPIPE) => SocketError::Reset,
        Some(libc::ETIMEDOUT) => SocketError::TimedOut,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => SocketError::Unreachable,
        Some(libc::EMFILE | libc::ENFILE) => SocketError::NoDescriptors,
        Some(libc::EADDRNOTAVAIL) => SocketError::NoPorts,
        errno => SocketError::Os(errno.unwrap_or(libc::EIO)),
    }
}
