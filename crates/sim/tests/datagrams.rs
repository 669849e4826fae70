//! Datagrams in virtual time: batches, ECN, loss, full queues and a NAT that forgets.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use endpoint::{
    Accepted, Action, Bound, DatagramTransmit, Ecn, EndPoint, ReceivedDatagrams, SendBuf,
    SocketError, SocketId,
};
use link::{LinkSpec, no_traces};
use sim::{Host, Path, World};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use trace::{Direction, Fate};
use unit::Instant;

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const SOCKET: SocketId = SocketId(7);

/// A datagram socket: what it is to send, and what it got.
#[derive(Default)]
struct Udp {
    actions: VecDeque<Action>,
    batches: VecDeque<(DatagramTransmit, Vec<u8>)>,
    got: Vec<Got>,
}

#[derive(Debug, PartialEq)]
struct Got {
    at: Duration,
    remote: SocketAddr,
    local: Option<IpAddr>,
    ecn: Option<Ecn>,
    data: Vec<u8>,
}

impl Udp {
    /// Sends these bytes in datagrams of `segment` bytes each.
    fn send(&mut self, to: &str, ecn: Option<Ecn>, segment: usize, data: &[u8]) {
        let remote = to.parse().unwrap();
        let transmit = DatagramTransmit { remote, local: None, ecn, segment_size: Some(segment) };
        self.batches.push_back((transmit, data.to_vec()));
        self.actions.push_back(Action::Transmit(SOCKET));
    }

    fn bind(&mut self, local: &str) {
        let (local, settings) = (local.parse().unwrap(), Default::default());
        self.actions.push_back(Action::Bind { socket: SOCKET, local, settings });
    }
}

impl EndPoint for Udp {
    fn handle_accepted(&mut self, _now: Instant, _accepted: Accepted) -> Option<SocketId> {
        None
    }

    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        Some(SOCKET)
    }

    fn handle_datagrams(&mut self, now: Instant, _socket: SocketId, came: ReceivedDatagrams) {
        for data in came.data.chunks(came.stride) {
            let (remote, local, ecn) = (came.remote, came.local, came.ecn);
            self.got.push(Got { at: now.since(BEGIN), remote, local, ecn, data: data.to_vec() });
        }
    }

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        _now: Instant,
        _socket: SocketId,
        out: &mut Vec<u8>,
        _max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        let (transmit, data) = self.batches.pop_front()?;
        out.extend_from_slice(&data);
        Some(transmit)
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        None
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

/// A host with a bound socket and one that listens, with such a link between them.
fn pair(spec: &str) -> (World, Host<Udp>, Host<Udp>) {
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", Udp::default());
    let far = world.host("10.0.0.2", Udp::default());
    world.listen_datagrams(far, "10.0.0.2:443");
    world.connect(near, far, Path::link(LinkSpec::parse(spec, no_traces).unwrap()));
    world.with(near, |near| near.bind("0.0.0.0:0"));
    world.record_packets();
    (world, near, far)
}

/// 8 Mbit/s are a byte a microsecond: each packet has 28 bytes of headers.
#[test]
fn the_datagrams_of_a_batch_are_packets_of_their_own_and_keep_their_ecn() {
    let (mut world, near, far) = pair("rtt=20ms,down=8mbit,up=8mbit");
    world.with(near, |near| near.send("10.0.0.2:443", Some(Ecn::Ect0), 1_000, &[5; 2_400]));
    world.run();
    let lengths: Vec<u32> = world.packets().iter().map(|packet| packet.length).collect();
    assert_eq!(lengths, [1_028, 1_028, 428]);
    let remote: SocketAddr = "10.0.0.1:49152".parse().unwrap();
    let got = |micros: u64, bytes: usize| Got {
        at: Duration::from_micros(10_000 + micros),
        remote,
        local: Some("10.0.0.2".parse().unwrap()),
        ecn: Some(Ecn::Ect0),
        data: vec![5; bytes],
    };
    let expected = [got(1_028, 1_000), got(2_056, 1_000), got(2_484, 400)];
    assert_eq!(world.end_point(far).got, expected);
    world.with(far, |far| far.send("10.0.0.1:49152", None, 10, b"back"));
    world.run();
    assert_eq!(world.end_point(near).got[0].data, b"back");
    assert_eq!(world.end_point(near).got[0].ecn, None);
}

#[test]
fn a_full_queue_and_loss_take_datagrams() {
    let (mut world, near, far) = pair("rtt=20ms,down=8mbit,up=8mbit,queue=3000B");
    world.with(near, |near| near.send("10.0.0.2:443", None, 1_000, &[5; 10_000]));
    world.run();
    // One is in service and two wait.
    let fate = |world: &World, fate| world.packets().iter().filter(|p| p.fate == fate).count();
    assert_eq!((world.end_point(far).got.len(), fate(&world, Fate::QueueFull)), (3, 7));
    let (mut world, near, far) = pair("rtt=20ms,loss=30%");
    world.with(near, |near| near.send("10.0.0.2:443", None, 1_000, &[5; 60_000]));
    world.run();
    let (got, lost) = (world.end_point(far).got.len(), fate(&world, Fate::Lost));
    assert_eq!(got + lost, 60);
    assert!((8..=28).contains(&lost), "{lost} of 60 at 30 %");
}

#[test]
fn codel_marks_datagrams_that_take_ecn_and_drops_the_others() {
    let sent = |ecn| {
        let (mut world, near, far) = pair("rtt=20ms,down=8mbit,up=8mbit,queue=1MB,aqm=codel");
        world.with(near, |near| near.send("10.0.0.2:443", ecn, 1_000, &vec![5; 600_000]));
        world.run();
        let marked = |got: &&Got| got.ecn == Some(Ecn::Ce);
        let marked = world.end_point(far).got.iter().filter(marked).count();
        let fates = |fate| world.packets().iter().filter(|packet| packet.fate == fate).count();
        assert_eq!(world.packets().len(), 600);
        (world.end_point(far).got.len(), marked, fates(Fate::AqmDropped))
    };
    let (got, marked, dropped) = sent(Some(Ecn::Ect0));
    assert_eq!((got, dropped), (600, 0));
    assert!((5..60).contains(&marked), "{marked}");
    let (got, marked, dropped) = sent(None);
    assert_eq!((got + dropped, marked), (600, 0));
    assert!((5..60).contains(&dropped), "{dropped}");
}

#[test]
fn a_test_may_name_the_packets_that_are_lost() {
    let (mut world, near, far) = pair("rtt=20ms");
    world.lose(Direction::Up, 1);
    for round in 0..2 {
        world.with(near, |near| near.send("10.0.0.2:443", None, 1, b"abc"));
        world.run();
        let got: Vec<u8> =
            world.end_point(far).got.iter().flat_map(|got| got.data.clone()).collect();
        assert_eq!(got, [&b"ac"[..], b"acabc"][round]);
    }
}

#[test]
fn after_a_rebinding_the_ports_are_others_and_the_former_ones_lead_nowhere() {
    let (mut world, near, far) = pair("rtt=20ms,rebind=1s");
    let say = |world: &mut World, from, to, what: &[u8]| {
        world.with(from, |udp: &mut Udp| udp.send(to, None, 10, what));
        world.run();
    };
    say(&mut world, near, "10.0.0.2:443", b"one");
    world.run_for(Duration::from_secs(1));
    // Nothing has been sent since: the NAT knows neither port.
    say(&mut world, far, "10.0.0.1:49152", b"lost");
    say(&mut world, near, "10.0.0.2:443", b"two");
    say(&mut world, far, "10.0.0.1:49152", b"lost");
    let ports: Vec<u16> = world.end_point(far).got.iter().map(|got| got.remote.port()).collect();
    assert_eq!(ports, [49_152, 49_152 ^ 0x800]);
    say(&mut world, far, &format!("10.0.0.1:{}", ports[1]), b"there");
    let got = &world.end_point(near).got;
    assert!(matches!(&got[..], [got] if got.data == b"there"), "{got:?}");
}

#[test]
fn a_datagram_for_which_nobody_listens_is_dropped() {
    let (mut world, near, far) = pair("rtt=20ms");
    for to in ["10.0.0.2:444", "10.0.0.9:443"] {
        world.with(near, |near| near.send(to, None, 10, b"hello"));
    }
    world.run();
    assert_eq!(world.end_point(far).got, []);
}
