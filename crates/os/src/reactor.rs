//! Drives one end point over sockets: one thread, one epoll or io_uring instance, no locks. The one rule: the end point
//! decides, the reactor only carries out. [`endpoint::EndPoint`]'s module has the order of the calls.
//!
//! The end point is asked for bytes late. A stream socket is writable when fewer than half of `unsent_low_water` bytes
//! are unsent in the kernel. It then gets about `unsent_low_water` more. On a slow path that limit is lower, and
//! [`AdaptiveSendBuffer`] may raise it on a quick one.
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
mod adaptive_send_buffer;
mod backend;
mod datagrams;
mod drained;
mod epoll;
mod input;
mod lag;
mod listeners;
mod output;
mod poller;
mod progress;
mod settings;
mod share;
mod socket;
mod stop;
mod table;
mod uring;

pub use adaptive_send_buffer::AdaptiveSendBuffer;
pub use backend::Backend;
pub use lag::LoopTimes;
pub use settings::{ReactorSettings, Timing};
pub use stop::Stop;

use crate::buffer_pool::BufferPool;
use crate::clock;
use crate::error::Os;
use crate::process::CpuSet;
use crate::tcp::{Listener, TcpFacts};
use crate::udp::{DatagramCounters, DatagramSocket, ReceiveArena};
use endpoint::{EndPoint, SendBuf, SocketError, SocketId};
use lag::LagWatch;
use poller::{Poller, Readiness};
use progress::Progress;
use share::SPAN;
use socket::{Phase, Socket};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use table::{Table, Token};
use unit::Instant;

/// The most spare buffers for bytes on their way to the kernel. A socket has one only while it has bytes to send, so
/// idle connections hold none. Sockets whose bytes the kernel does not take keep theirs, and one of datagrams has several while it
/// takes batches ahead.
const SPARE_BUFFERS: usize = 16;

/// The token of the stop signal. No socket of a process ever reaches generation `u32::MAX`.
const STOP: u64 = u64::MAX;

/// The point of a socket's life at which its facts were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketStage {
    /// It is connected or accepted.
    Opened,
    /// It is about to be closed.
    Closing,
}

/// Receives the kernel's facts of each stream socket, to store them. Nothing is decided by them.
pub type SocketObserver = Box<dyn FnMut(SocketId, SocketStage, &TcpFacts)>;

/// A thread's worth of sockets.
pub struct Reactor {
    settings: ReactorSettings,
    poller: Box<dyn Poller>,
    /// The poller watches it: it stays open.
    _stop: Stop,
    /// By their number; None for a closed listener and for a datagram socket.
    listeners: Vec<Option<Listener>>,
    /// Listeners that were paused when the last run's end point had finished.
    silenced: Vec<Token>,
    /// Datagram sockets for the end point of the next run, with their numbers.
    unbound: Vec<(usize, DatagramSocket)>,
    table: Table,
    /// Sockets that go on without a new event, in the next turn.
    again: Vec<Token>,
    /// Those whose bytes take long, in one of the next turns.
    slow: VecDeque<Token>,
    /// Counts the turns.
    turn: u64,
    alarms: BinaryHeap<Reverse<(Instant, Token)>>,
    send_buffers: BufferPool<SendBuf>,
    datagram_buffers: BufferPool<Vec<u8>>,
    arena: ReceiveArena,
    datagram_counters: DatagramCounters,
    observer: Option<SocketObserver>,
    lag: Option<LagWatch>,
    /// None until it is asked to stop.
    progress: Option<Progress>,
    finishing: bool,
}

impl Reactor {
    /// A reactor without sockets. `stop` ends its runs.
    pub fn new(settings: ReactorSettings, stop: Stop) -> Result<Self, Os> {
        let mut poller = settings.backend.open()?;
        poller.watch_stop(&stop).map_err(|source| Os::new("watch the stop signal", source))?;
        Ok(Self {
            settings,
            poller,
            _stop: stop,
            listeners: Vec::new(),
            silenced: Vec::new(),
            unbound: Vec::new(),
            table: Table::default(),
            again: Vec::new(),
            slow: VecDeque::new(),
            turn: 0,
            alarms: BinaryHeap::new(),
            send_buffers: BufferPool::new(SPARE_BUFFERS),
            datagram_buffers: BufferPool::new(SPARE_BUFFERS),
            arena: ReceiveArena::default(),
            datagram_counters: DatagramCounters::default(),
            observer: None,
            lag: None,
            progress: None,
            finishing: false,
        })
    }

    /// Accepts connections from `listener` too; returns its number in
    /// [`Accepted::listener`](endpoint::Accepted::listener).
    pub fn listen(&mut self, listener: Listener) -> Result<usize, Os> {
        let number = self.listeners.len();
        self.poller
            .listen(listener.as_fd(), Token(number as u64))
            .map_err(|source| Os::new(format!("watch {}", listener.local()), source))?;
        self.listeners.push(Some(listener));
        Ok(number)
    }

    /// Gives the end point of the next run this datagram socket, by `handle_bound`; returns its number in
    /// [`Bound::listener`](endpoint::Bound::listener). It is the end point's from then on, and is closed with its other
    /// sockets when it finishes.
    pub fn listen_datagrams(&mut self, socket: DatagramSocket) -> usize {
        let number = self.listeners.len();
        self.listeners.push(None);
        self.unbound.push((number, socket));
        number
    }

    /// The counts of datagrams of all runs so far.
    pub fn datagram_counters(&self) -> DatagramCounters {
        self.datagram_counters
    }

    /// Passes each stream socket's facts to `facts` when it opens and before it closes.
    pub fn observe(&mut self, observer: SocketObserver) {
        self.observer = Some(observer);
    }

    /// Drives `end_point` until it gives `Action::Finish` and what is pending is sent.
    pub fn run<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) -> Result<(), Os> {
        if let Some(cpu) = self.settings.cpu {
            CpuSet::from(cpu).pin()?;
        }
        (self.finishing, self.progress) = (false, None);
        self.lag = (self.settings.timing == Timing::On).then(LagWatch::begin);
        self.resume_listeners();
        end_point.handle_start(clock::now());
        self.act(end_point);
        self.hand_over_datagram_sockets(end_point);
        while !self.is_done() {
            let timeout = self.next_wake(end_point);
            let mut stops = false;
            let count = self.wait(timeout)?;
            // Asked only where it matters.
            let began = (!self.slow.is_empty()).then(clock::now);
            for index in 0..count {
                match self.poller.event(index, &mut self.table) {
                    Some(ready) if ready.token == STOP => stops = true,
                    Some(ready) => self.handle_ready(end_point, ready),
                    None => {}
                }
            }
            // What has come to the sockets before counts, unless its bytes take long: an end point may close them when it is to stop.
            if stops {
                self.handle_stop(end_point);
            }
            self.go_on(end_point, began);
            self.handle_time(end_point);
        }
        self.poller.flush();
        Ok(())
    }

    /// Figures about the turns of its last run; None with [`Timing::Off`].
    pub fn loop_times(&self) -> Option<LoopTimes> {
        self.lag.as_ref().map(LagWatch::times)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Result<usize, Os> {
        let told = |source| Os::new("wait for events on sockets", source);
        let Some(lag) = &mut self.lag else { return self.poller.wait(timeout).map_err(told) };
        let timeout = lag.end_turn(timeout);
        let count = self.poller.wait(Some(timeout)).map_err(told)?;
        lag.end_wait(timeout);
        Ok(count)
    }

    fn is_done(&self) -> bool {
        self.finishing && self.table.is_empty()
    }

    /// The end point has finished: closes every socket that it still holds. Sockets that it released before, and those of datagrams, still
    /// send what is pending.
    fn finish(&mut self) {
        self.finishing = true;
        for socket in self.table.take_attached() {
            self.poller.remove(socket);
        }
        for token in self.table.attached_datagrams() {
            self.leave_datagrams(token);
        }
    }

    /// How long to wait for events.
    fn next_wake<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) -> Option<Duration> {
        if !self.again.is_empty() || !self.slow.is_empty() {
            return Some(Duration::ZERO);
        }
        let own = self.alarms.peek().map(|Reverse((at, _))| *at);
        let theirs = if self.finishing { None } else { end_point.poll_timeout() };
        let look = self.progress.as_ref().map(Progress::next);
        let at = [own, theirs, look].into_iter().flatten().min()?;
        Some(at.since(clock::now()))
    }

    fn handle_ready<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, ready: Readiness) {
        let token = Token(ready.token);
        if token.generation() == 0 {
            self.accept(end_point, token);
        } else {
            self.handle_socket(end_point, token, ready);
        }
    }

    /// Takes a socket in and watches it.
    fn adopt<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, socket: Socket) -> Option<Token> {
        let is_open = socket.phase == Phase::Open;
        let token = self.table.insert(socket);
        let socket = self.table.find(token)?;
        if let Err(error) = self.poller.add(token, socket) {
            // epoll_ctl(2): ENOSPC at fs.epoll.max_user_watches, ENOMEM.
            self.fail_quietly(end_point, token, socket_error(&error));
            return None;
        }
        if is_open {
            self.observe_stage(token, SocketStage::Opened);
        }
        Some(token)
    }

    fn observe_stage(&mut self, token: Token, stage: SocketStage) {
        let (Some(observer), Some(socket)) = (&mut self.observer, self.table.find(token)) else {
            return;
        };
        if let Ok(facts) = TcpFacts::read(socket.fd.as_fd()) {
            observer(socket.id, stage, &facts);
        }
    }

    /// Sockets that wait for their turn have it. Those whose bytes take long come last, and only as many as take a share's time, or as long as
    /// this turn took since `began`. What the turn has to send, and the next events, wait for them.
    fn go_on<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, began: Option<Instant>) {
        self.turn += 1;
        for token in std::mem::take(&mut self.again) {
            self.go_on_with(end_point, token);
        }
        if self.slow.is_empty() {
            return;
        }
        let now = clock::now();
        let until = now + began.map_or(SPAN, |began| SPAN.max(now.since(began)));
        for _ in 0..self.slow.len() {
            if clock::now() >= until {
                return;
            }
            let Some(token) = self.slow.pop_front() else { return };
            self.go_on_with(end_point, token);
        }
    }

    fn go_on_with<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        let Some(socket) = self.table.find(token) else {
            return self.go_on_datagrams(end_point, token);
        };
        socket.queued = false;
        let awaits_drained = socket.input.awaits_drained;
        self.read(end_point, token);
        self.write(end_point, token);
        self.act(end_point);
        if awaits_drained {
            self.await_drained_on(token);
        }
    }

    /// Has a socket go on in its next turn without a new event.
    fn queue(&mut self, token: Token) {
        if let Some(socket) = self.table.find(token)
            && !socket.queued
        {
            socket.queued = true;
            match socket.input.share.is_slow() {
                true => self.slow.push_back(token),
                false => self.again.push(token),
            }
        }
    }

    /// The reactor's own timers, then the end point's.
    fn handle_time<E: EndPoint + ?Sized>(&mut self, end_point: &mut E) {
        let now = clock::now();
        while let Some(&Reverse((at, token))) = self.alarms.peek()
            && at <= now
        {
            self.alarms.pop();
            self.handle_alarm(end_point, token);
        }
        self.watch_progress(end_point);
        if !self.finishing && end_point.poll_timeout().is_some_and(|at| at <= now) {
            end_point.handle_timeout(now);
            self.act(end_point);
        }
    }

    fn handle_alarm<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token) {
        if token.generation() == 0 {
            return self.listen_again(token);
        }
        match self.table.find(token).map(|socket| socket.phase) {
            Some(Phase::Connecting) => self.fail(end_point, token, SocketError::TimedOut),
            Some(Phase::Leaving | Phase::Lingering) => self.remove(token),
            // The alarm of a connect that was in time.
            Some(Phase::Open | Phase::Ending | Phase::Ended) => {}
            None => self.handle_datagram_alarm(token),
        }
    }

    /// The socket is gone. The end point is notified if it still holds it.
    fn fail<E: EndPoint + ?Sized>(&mut self, end_point: &mut E, token: Token, error: SocketError) {
        self.fail_quietly(end_point, token, error);
        self.act(end_point);
    }

    /// As `fail`, without running the actions that follow. Actions use it.
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
        self.observe_stage(token, SocketStage::Closing);
        if let Some(socket) = self.table.remove(token) {
            self.poller.remove(socket);
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

/// The end point's error for an error of the system.
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
