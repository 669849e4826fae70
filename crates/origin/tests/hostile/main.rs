//! What peers that mean no good can make the origin hold, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic")]

mod frames;
mod memory;
mod whole;

use endpoint::{Action, SocketId};
use origin::{Limits, ListenerKind, Origin, OriginConfig, Parts, WallClock};
use sim::{Host, Path, Scripted, Transcript, World};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unit::Instant;

const ADDRESS: &str = "10.0.0.2:80";
const START: Instant = Instant::from_nanos(1_000_000_000);

/// An origin and peers, no time apart.
struct Bench {
    world: World,
    origin: Host<Origin>,
    peer: Host<Scripted<Transcript>>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        let wall_clock = WallClock { at: START, unix: Duration::from_secs(784_111_777) };
        let listeners = vec![ListenerKind::Clear];
        let config = OriginConfig { limits, ..OriginConfig::new(listeners, wall_clock) };
        let mut world = World::new(1);
        let origin = world.listen(ADDRESS, Origin::new(config, Parts::default()));
        let peer = world.host("10.0.0.1", Scripted::new(Transcript::default()));
        world.connect(peer, origin, Path::delay(Duration::ZERO));
        world.record_actions(origin);
        Self { world, origin, peer }
    }

    fn connect(&mut self, said: &[u8]) -> SocketId {
        let socket = self.world.with(self.peer, |peer| peer.connect(ADDRESS));
        self.wait(Duration::ZERO);
        self.say(socket, said);
        socket
    }

    fn say(&mut self, socket: SocketId, said: &[u8]) {
        self.world.with(self.peer, |peer| peer.send(socket, said));
        self.wait(Duration::ZERO);
    }

    fn hear(&mut self, socket: SocketId) -> Vec<u8> {
        self.world.with(self.peer, |peer| peer.script_mut().take_received(socket))
    }

    fn wait(&mut self, span: Duration) {
        self.world.run_for(span);
    }

    fn connections(&self) -> usize {
        self.world.end_point(self.origin).connections()
    }

    fn aborts(&mut self) -> usize {
        let actions = self.world.take_actions(self.origin);
        actions.iter().filter(|action| matches!(action, Action::Abort(_))).count()
    }
}

/// One test weighs the process: all wait for each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
