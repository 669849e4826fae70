//! An origin and a peer in virtual time, no time apart. The numbers of the peer's sockets are those of the origin's as long as none of
//! them is used again.
#![allow(dead_code, reason = "each test binary uses a part")]

use endpoint::{Action, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use sim::{Host, Path, Scripted, Transcript, World};
use std::time::Duration;
use unit::Instant;

pub(crate) const ADDRESS: &str = "10.0.0.2:80";

/// The time when a world begins.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000);

/// The usual settings: one listener in the clear.
pub(crate) fn config() -> OriginConfig {
    let wall_clock = WallClock { at: START, unix: Duration::from_secs(784_111_777) };
    OriginConfig::new(vec![ListenerKind::Clear], wall_clock)
}

pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) origin: Host<Origin>,
    pub(crate) peer: Host<Scripted<Transcript>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::set(|usual| usual)
    }

    pub(crate) fn limited(limits: Limits) -> Self {
        Self::set(|usual| OriginConfig { limits, ..usual })
    }

    pub(crate) fn set(change: impl FnOnce(OriginConfig) -> OriginConfig) -> Self {
        Self::of(Origin::new(change(config()), Parts::default()))
    }

    pub(crate) fn of(origin: Origin) -> Self {
        let mut world = World::new(1);
        let origin = world.listen(ADDRESS, origin);
        let peer = world.host("10.0.0.1", Scripted::new(Transcript::default()));
        world.connect(peer, origin, Path::delay(Duration::ZERO));
        world.record_actions(origin);
        Self { world, origin, peer }
    }

    /// A connection that has said nothing.
    pub(crate) fn accept(&mut self) -> SocketId {
        let socket = self.world.with(self.peer, |peer| peer.connect(ADDRESS));
        self.act();
        socket
    }

    /// A connection that says this first.
    pub(crate) fn connect(&mut self, said: impl AsRef<[u8]>) -> SocketId {
        let socket = self.accept();
        self.say(socket, said);
        socket
    }

    /// A connection that says this first, and takes 4 KiB of what it is told.
    pub(crate) fn connect_deaf(&mut self, said: impl AsRef<[u8]>) -> SocketId {
        self.world.receive_buffer(self.peer, 4 * 1024);
        let socket = self.accept();
        self.world.with(self.peer, |peer| peer.pause(socket));
        self.say(socket, said);
        socket
    }

    pub(crate) fn say(&mut self, socket: SocketId, said: impl AsRef<[u8]>) {
        self.world.with(self.peer, |peer| peer.send(socket, said.as_ref()));
        self.act();
    }

    /// All that the origin has sent since.
    pub(crate) fn hear(&mut self, socket: SocketId) -> Vec<u8> {
        self.world.with(self.peer, |peer| peer.script_mut().take_received(socket))
    }

    pub(crate) fn hear_text(&mut self, socket: SocketId) -> String {
        String::from_utf8_lossy(&self.hear(socket)).into_owned()
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        self.world.run_for(span);
    }

    /// Does what is due now.
    pub(crate) fn act(&mut self) {
        self.wait(Duration::ZERO);
    }

    pub(crate) fn stop(&mut self) {
        self.world.stop(self.origin);
        self.act();
    }

    pub(crate) fn connections(&self) -> usize {
        self.world.end_point(self.origin).connections()
    }

    /// What the origin has asked its driver for since.
    pub(crate) fn take_actions(&mut self) -> Vec<Action> {
        self.world.take_actions(self.origin)
    }

    pub(crate) fn aborts(&mut self) -> usize {
        self.take_actions().iter().filter(|action| matches!(action, Action::Abort(_))).count()
    }
}
