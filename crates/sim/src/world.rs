//! The world: its hosts, its paths and its time. The one rule: after every event the end point's actions are carried
//! out before anything else happens.

use crate::agenda::Agenda;
use crate::fault::{Attempt, ConnectionPlan, Cutter, Pieces};
use crate::host::{Host, HostId, HostState, Hosted, Listener, SocketTally};
use crate::path::{Path, PathId, Route};
use crate::scripted::{Scripted, Transcript};
use crate::stream::{Connection, End, EndId, Phase};
use endpoint::{Action, Bound, Checked, EndPoint, SocketError, SocketSettings};
use std::any::Any;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use trace::{Direction, PacketRecord};
use unit::{Instant, Seed};

/// Hosts, the paths between them, and what is planned.
#[derive(Debug)]
pub struct World {
    pub(crate) seed: Seed,
    pub(crate) now: Instant,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) hosts: Vec<HostState>,
    pub(crate) routes: Vec<Route>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) packets: Option<Vec<PacketRecord>>,
    /// Packets that every path loses.
    pub(crate) doomed: HashSet<(Direction, u64)>,
    /// Steps taken since time moved last.
    idle_steps: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every end point gave `Action::Finish`.
    Finished,
    /// Nothing is planned, and no end point waits for a time.
    NothingPlanned,
    /// The condition of `run_while` does not hold any more.
    Stopped,
}

/// What is planned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A packet leaves this path.
    Deliver(PathId),
    /// There may be space for a packet on this direction of a path.
    Turn(PathId, Direction),
    /// An end may have something to read.
    Read(EndId),
    /// An end may take more bytes of its end point.
    Writable(EndId),
    /// An end whose peer's receive buffer was full learns that it has space again.
    Credit(EndId),
    /// A listening host answers a connect.
    Answer(EndId),
    /// A connect has taken too long.
    ConnectTimeout(EndId),
    /// A connection is reset from within the path.
    Reset(EndId),
}

/// When a world begins. Not at the epoch, so that an end point that takes it for "no time" is found.
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

/// So many steps without time passing are taken for an endless loop.
const MOST_IDLE_STEPS: u64 = 5_000_000;

impl World {
    /// A world without hosts. All that is random in it flows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed: Seed(seed),
            now: BEGIN,
            agenda: Agenda::new(),
            hosts: Vec::new(),
            routes: Vec::new(),
            connections: Vec::new(),
            packets: None,
            doomed: HashSet::new(),
            idle_steps: 0,
        }
    }

    /// Adds a host with this IP address.
    ///
    /// # Panics
    /// Where `address` is no IP address.
    pub fn host<E: EndPoint + 'static>(&mut self, address: &str, end_point: E) -> Host<E> {
        let address: IpAddr = address.parse().unwrap_or_else(|_| panic!("{address}: no address"));
        let id = HostId(self.hosts.len());
        let mut host = HostState::new(end_point, self.cutter(id, Pieces::Whole));
        host.addresses.push(address);
        self.hosts.push(host);
        Host::new(id)
    }

    /// Adds a host that listens for connects at this address and port. Port 0 stands for every port, and 0.0.0.0 for
    /// every address that no other host has.
    ///
    /// # Panics
    /// Where `address` is no address with a port.
    pub fn listen<E: EndPoint + 'static>(&mut self, address: &str, end_point: E) -> Host<E> {
        let local: SocketAddr = socket_address(address);
        let host = self.host(&local.ip().to_string(), end_point);
        self.listen_with(host, address, SocketSettings::default());
        host
    }

    /// Has a host listen at one more address, its connections set to `settings`.
    ///
    /// # Panics
    /// Where `address` is no address with a port.
    pub fn listen_with(
        &mut self,
        host: impl Into<HostId>,
        address: &str,
        settings: SocketSettings,
    ) {
        let local = socket_address(address);
        let host = self.state(host);
        if !host.addresses.contains(&local.ip()) {
            host.addresses.push(local.ip());
        }
        host.listeners.retain(
            |listener| !matches!(listener, Listener::Stream { local: at, .. } if *at == local),
        );
        host.listeners.push(Listener::Stream { local, settings });
    }

    /// Gives a host that has not begun a datagram socket to listen on.
    ///
    /// # Panics
    /// Where `address` is no address with a port.
    pub fn listen_datagrams(&mut self, host: impl Into<HostId>, address: &str) {
        let local = socket_address(address);
        self.state(host).listeners.push(Listener::Datagram { local });
    }

    /// Joins two hosts by a path, whose up direction is from `near` to `far`.
    pub fn connect(&mut self, near: impl Into<HostId>, far: impl Into<HostId>, path: Path) {
        let seed = self.seed.child("path").nth(self.routes.len() as u64);
        self.routes.push(Route::new(near.into(), far.into(), path, seed));
    }

    /// Has the rebinding of this host's paths change its address, too: it goes over to another network.
    pub fn moves_to(&mut self, near: impl Into<HostId>, address: IpAddr) {
        let near = near.into();
        let own = self.routes.iter_mut().filter(|route| route.near() == near);
        own.filter_map(|route| route.nat.as_mut()).for_each(|nat| nat.move_to(address));
    }

    /// Has `plan` decide what becomes of each connect to this host.
    pub fn plan_connections(
        &mut self,
        host: impl Into<HostId>,
        plan: impl FnMut(&Attempt) -> ConnectionPlan + 'static,
    ) {
        self.state(host).plan = Some(Box::new(plan));
    }

    /// Has the bytes that this host reads split into such pieces.
    pub fn split_reads(&mut self, host: impl Into<HostId>, pieces: Pieces) {
        let id = host.into();
        let cutter = self.cutter(id, pieces);
        self.state(id).cutter = cutter;
    }

    /// Sets the receive buffer of connections that this host opens or accepts from now on, in bytes.
    pub fn receive_buffer(&mut self, host: impl Into<HostId>, bytes: usize) {
        self.state(host).receive_buffer = bytes;
    }

    /// Has the sockets of this host take no more bytes from now on.
    pub fn block_writes(&mut self, host: impl Into<HostId>) {
        self.state(host).blocks_writes = true;
    }

    /// Keeps a record of each packet from now on.
    pub fn record_packets(&mut self) {
        self.packets = Some(Vec::new());
    }

    /// The packets recorded so far, in the order in which they came to their links.
    pub fn packets(&self) -> &[PacketRecord] {
        self.packets.as_deref().unwrap_or_default()
    }

    /// Has every path lose the packet with this number among those of its direction, as [`packets`](Self::packets) has it.
    pub fn lose(&mut self, direction: Direction, index: u64) {
        self.doomed.insert((direction, index));
    }

    /// Keeps the actions of a host's end point from now on.
    pub fn record_actions(&mut self, host: impl Into<HostId>) {
        self.state(host).actions = Some(Vec::new());
    }

    /// The actions recorded since they were last taken.
    pub fn take_actions(&mut self, host: impl Into<HostId>) -> Vec<Action> {
        self.state(host).actions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The time since the world began.
    pub fn elapsed(&self) -> Duration {
        self.now.since(BEGIN)
    }

    /// A host's stream sockets, counted.
    pub fn sockets(&self, host: impl Into<HostId>) -> SocketTally {
        self.hosts[host.into().0].tally
    }

    /// Whether a host's end point gave `Action::Finish`.
    pub fn is_finished(&self, host: impl Into<HostId>) -> bool {
        self.hosts[host.into().0].is_finished
    }

    /// A host's end point.
    pub fn end_point<E: EndPoint + 'static>(&self, host: Host<E>) -> &E {
        let any: &dyn Any = &*self.hosts[host.id().0].end_point;
        any.downcast_ref::<Checked<E>>().expect("the handle has the host's type").inner()
    }

    /// Runs a command of a host's end point, and does what the end point then wants.
    pub fn with<E: EndPoint + 'static, T>(
        &mut self,
        host: Host<E>,
        command: impl FnOnce(&mut E) -> T,
    ) -> T {
        self.start();
        let any: &mut dyn Any = &mut *self.hosts[host.id().0].end_point;
        let checked = any.downcast_mut::<Checked<E>>().expect("the handle has the host's type");
        let outcome = command(checked.inner_mut());
        self.settle(host.id());
        outcome
    }

    /// Takes a host's end point out. The host is dead from then on.
    pub fn take<E: EndPoint + 'static>(&mut self, host: Host<E>) -> E {
        let cutter = self.cutter(host.id(), Pieces::Whole);
        let state = self.state(host);
        let dead = HostState {
            is_started: true,
            is_finished: true,
            tally: state.tally,
            ..HostState::new(Scripted::new(Transcript::default()), cutter)
        };
        let end_point = std::mem::replace(state, dead).end_point;
        let any: Box<dyn Any> = end_point;
        any.downcast::<Checked<E>>().expect("the handle has the host's type").into_inner()
    }

    /// Asks a host's end point to stop. It accepts no more connections.
    pub fn stop(&mut self, host: impl Into<HostId>) {
        self.start();
        let host = host.into();
        self.state(host).is_stopping = true;
        self.input(host, |end_point, now| end_point.handle_stop(now));
    }

    /// Goes on until every end point has finished or nothing is planned.
    pub fn run(&mut self) -> Ended {
        self.run_while(|_| true)
    }

    /// The same, or until `goes_on` denies: it is asked before every step.
    pub fn run_while(&mut self, mut goes_on: impl FnMut(&Self) -> bool) -> Ended {
        self.start();
        loop {
            if self.hosts.iter().all(|host| host.is_finished) {
                return Ended::Finished;
            }
            if !goes_on(self) {
                return Ended::Stopped;
            }
            if !self.step() {
                return Ended::NothingPlanned;
            }
        }
    }

    /// Goes on until one host's end point has finished, or nothing is planned.
    pub fn run_until_finished(&mut self, host: impl Into<HostId>) -> Ended {
        let host = host.into();
        match self.run_while(|world| !world.is_finished(host)) {
            Ended::Finished | Ended::Stopped => Ended::Finished,
            Ended::NothingPlanned => Ended::NothingPlanned,
        }
    }

    /// Does all that is due until `end`, which is the time then.
    pub fn run_until(&mut self, end: Instant) {
        self.start();
        while self.next_at().is_some_and(|at| at <= end) && self.step() {}
        self.now = self.now.max(end);
    }

    /// The same for so long.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Does what is planned next. False where nothing is.
    pub fn step(&mut self) -> bool {
        self.start();
        let Some(at) = self.next_at() else { return false };
        if at > self.now {
            self.now = at;
            self.idle_steps = 0;
        }
        self.idle_steps += 1;
        assert!(self.idle_steps < MOST_IDLE_STEPS, "an end point spins at {:?}", self.now);
        match self.agenda.pop(self.now) {
            Some(event) => self.happen(event),
            None => self.handle_time(),
        }
        true
    }

    fn next_at(&mut self) -> Option<Instant> {
        let connections = &self.connections;
        // The time-out of a connect that is decided.
        self.agenda.forget(|event| match event {
            Event::ConnectTimeout(end) => {
                let end = connections[end.connection].end(end.side);
                !matches!(end.phase, Phase::Connecting { .. })
            }
            _ => false,
        });
        let wakes = self.hosts.iter().filter_map(|host| host.wake);
        wakes.chain(self.agenda.next_at()).min()
    }

    fn handle_time(&mut self) {
        let is_due = |host: &HostState| host.wake.is_some_and(|at| at <= self.now);
        if let Some(index) = self.hosts.iter().position(is_due) {
            self.input(HostId(index), |end_point, now| end_point.handle_timeout(now));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Deliver(path) => self.deliver(path),
            Event::Turn(path, direction) => {
                self.routes[path.0].queues[direction.index()].is_turn_planned = false;
                self.turn(path, direction);
            }
            Event::Read(end) => self.read(end),
            Event::Writable(end) => self.writable(end),
            Event::Credit(end) => self.offer(end),
            Event::Answer(end) => self.answer(end),
            Event::ConnectTimeout(end) => self.fail_connect(end, SocketError::TimedOut),
            Event::Reset(end) => self.reset(end),
        }
    }

    /// Begins the end points that have not begun.
    fn start(&mut self) {
        for index in 0..self.hosts.len() {
            let host = &mut self.hosts[index];
            if !std::mem::replace(&mut host.is_started, true) {
                self.input(HostId(index), |end_point, now| end_point.handle_start(now));
                self.bind_listeners(HostId(index));
            }
        }
    }

    fn bind_listeners(&mut self, id: HostId) {
        for number in 0..self.hosts[id.0].listeners.len() {
            let Listener::Datagram { local } = self.hosts[id.0].listeners[number] else { continue };
            let now = self.now;
            let bound = Bound { listener: number, local };
            if let Some(socket) = self.hosts[id.0].end_point.handle_bound(now, bound) {
                let datagrams = crate::host::Socket::Datagram { local };
                self.hosts[id.0].sockets.insert(socket, datagrams);
            }
            self.settle(id);
        }
    }

    /// Gives input to an end point, and does what it then wants.
    pub(crate) fn input(&mut self, host: HostId, call: impl FnOnce(&mut dyn Hosted, Instant)) {
        let (now, state) = (self.now, &mut self.hosts[host.0]);
        if state.is_finished {
            return;
        }
        call(&mut *state.end_point, now);
        self.settle(host);
    }

    /// Does what an end point wants until it wants nothing more.
    pub(crate) fn settle(&mut self, host: HostId) {
        while !self.hosts[host.0].is_finished
            && let Some(action) = self.hosts[host.0].end_point.poll_action()
        {
            self.act(host, action);
        }
        let state = &mut self.hosts[host.0];
        state.wake = if state.is_finished { None } else { state.end_point.poll_timeout() };
    }

    pub(crate) fn state(&mut self, host: impl Into<HostId>) -> &mut HostState {
        &mut self.hosts[host.into().0]
    }

    pub(crate) fn end(&self, end: EndId) -> &End {
        self.connections[end.connection].end(end.side)
    }

    pub(crate) fn end_mut(&mut self, end: EndId) -> &mut End {
        self.connections[end.connection].end_mut(end.side)
    }

    fn cutter(&self, host: HostId, pieces: Pieces) -> Cutter {
        Cutter::new(pieces, self.seed.child("pieces").nth(host.0 as u64))
    }
}

fn socket_address(address: &str) -> SocketAddr {
    address.parse().unwrap_or_else(|_| panic!("{address}: no address with a port"))
}
