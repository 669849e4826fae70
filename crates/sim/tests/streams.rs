//! Streams in virtual time: exact times, bounded buffers, and what goes wrong.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use endpoint::{SocketError, SocketId, SocketSettings};
use link::{LinkSpec, no_traces};
use sim::{
    ConnectOutcome, ConnectionPlan, Ended, Host, Path, Pieces, Scripted, StreamFault, Transcript,
    World,
};
use std::time::Duration;
use trace::Direction;
use unit::Instant;

type Peer = Scripted<Transcript>;

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn peer() -> Peer {
    Scripted::new(Transcript::default())
}

/// Two hosts with this path between them.
fn pair(path: Path) -> (World, Host<Peer>, Host<Peer>) {
    let mut world = World::new(1);
    let near = world.host("10.0.0.1", peer());
    let far = world.listen("10.0.0.2:80", peer());
    world.connect(near, far, path);
    (world, near, far)
}

/// The same with a connection over which this was said.
fn saying(path: Path, bytes: &[u8]) -> (World, Host<Peer>, Host<Peer>, SocketId) {
    let (mut world, near, far) = pair(path);
    let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
    world.with(near, |near| near.send(socket, bytes));
    (world, near, far, socket)
}

fn parsed(spec: &str) -> Path {
    Path::link(LinkSpec::parse(spec, no_traces).unwrap())
}

#[test]
fn a_connect_takes_one_round_trip_and_bytes_half_of_one() {
    let (mut world, near, far, socket) = saying(Path::delay(ms(50)), b"hello");
    world.run_until(BEGIN + ms(150) - Duration::from_nanos(1));
    assert_eq!(world.end_point(far).script().received(socket), b"");
    world.run_until(BEGIN + ms(150));
    assert_eq!(world.end_point(far).script().received(socket), b"hello");
    world.with(far, |far| far.send(socket, b"hello yourself"));
    assert_eq!(world.run(), Ended::NothingPlanned);
    assert_eq!(world.elapsed(), ms(200));
    assert_eq!(world.end_point(near).script().received(socket), b"hello yourself");
}

/// 8 Mbit/s are a byte a microsecond: SYN 52 bytes, SYN-ACK 52, ACK 52, then ten segments of 1,500 bytes.
#[test]
fn a_rate_serialises_segments() {
    let (mut world, _, far, socket) = saying(parsed("rtt=20ms,down=8mbit,up=8mbit"), &[7; 14_480]);
    world.record_packets();
    world.run();
    let exact = ms(30) + Duration::from_micros(3 * 52 + 10 * 1_500);
    assert_eq!(world.elapsed(), exact);
    assert_eq!(world.end_point(far).script().received(socket).len(), 14_480);
    let up = world.packets().iter().filter(|packet| packet.direction == Direction::Up);
    assert_eq!(up.map(|packet| packet.length).collect::<Vec<_>>()[1..], [1_500; 10]);
}

/// Two packets fit into the queue; what a real sender would lose waits for space, and the rate is used in full.
#[test]
fn streams_wait_for_space_in_a_full_queue_and_share_it_by_turns() {
    let path = || parsed("rtt=20ms,down=8mbit,up=8mbit,queue=3000B");
    let (mut world, near, far) = pair(path());
    world.record_packets();
    let sockets = world.with(near, |near| [0; 2].map(|_| near.connect("10.0.0.2:80")));
    for socket in sockets {
        world.with(near, |near| near.send(socket, &[socket.0 as u8; 144_800]));
    }
    world.run();
    for socket in sockets {
        assert_eq!(world.end_point(far).script().received(socket), [socket.0 as u8; 144_800]);
    }
    let data = |port: u16| {
        let of_port = world.packets().iter().filter(move |packet| {
            packet.flow.is_some_and(|flow| flow.source.port() == port)
                && packet.tcp.is_some_and(|tcp| tcp.payload > 0)
        });
        of_port.map(|packet| packet.at).collect::<Vec<_>>()
    };
    let (one, other) = (data(49_152), data(49_153));
    assert_eq!((one.len(), other.len()), (100, 100));
    let last = |times: &[Instant]| times[99].since(BEGIN);
    // One had the queue for itself when it began: it is that far ahead, and no further.
    assert!(last(&one).abs_diff(last(&other)) <= ms(6), "they take turns");
    // Four packets of handshakes go up, the first SYN-ACK comes when the first SYN is through.
    let serialised = Duration::from_micros(4 * 52 + 200 * 1_500);
    assert!(world.elapsed() <= ms(30) + serialised + Duration::from_micros(104));
}

#[test]
fn a_reader_that_pauses_holds_the_sender_up_at_the_size_of_the_buffers() {
    let (mut world, near, far) = pair(Path::delay(ms(5)));
    world.receive_buffer(far, 100_000);
    world.record_packets();
    let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
    world.run();
    world.with(far, |far| far.pause(socket));
    world.with(near, |near| near.send(socket, &[1; 1_000_000]));
    world.run();
    let sent = |world: &World| {
        let payloads = world.packets().iter().filter_map(|packet| packet.tcp);
        payloads.map(|tcp| tcp.payload as usize).sum::<usize>()
    };
    assert_eq!(sent(&world), 100_000);
    assert_eq!(world.end_point(far).script().received(socket), b"");
    let paused_at = world.now();
    world.with(far, |far| far.resume(socket));
    world.run();
    assert_eq!(sent(&world), 1_000_000);
    assert_eq!(world.end_point(far).script().received(socket).len(), 1_000_000);
    // 100 kB a round trip: nine of them are left, the first of which is asked for one way later.
    assert_eq!(world.now().since(paused_at), ms(90));
}

#[test]
fn an_end_point_is_asked_for_bytes_late() {
    let settings = SocketSettings { unsent_low_water: 4_096, ..SocketSettings::default() };
    let (mut world, near, far) = pair(parsed("rtt=20ms,down=8mbit,up=8mbit,queue=3000B"));
    let socket = world.with(near, |near| near.connect_with("10.0.0.2:80", settings));
    world.with(near, |near| near.send(socket, &[1; 100_000]));
    let mut most = 0;
    world.run_while(|world| {
        let taken = 100_000 - world.end_point(near).unsent(socket);
        most = most.max(taken.saturating_sub(world.end_point(far).script().received(socket).len()));
        true
    });
    // A path of 20 kB, a queue of two packets and one in service, and at most half of the mark and one call unsent.
    assert!(most <= 20_000 + 4_500 + 2_048 + 4_096, "{most} bytes between the two");
}

#[test]
fn connects_fail_as_planned_and_when_they_are_due() {
    let outcome = |outcome, remote: &str| {
        let (mut world, near, far) = pair(Path::delay(ms(50)));
        world.plan_connections(far, move |_| ConnectionPlan {
            outcome,
            ..ConnectionPlan::default()
        });
        let settings = SocketSettings { connect_timeout: ms(700), ..SocketSettings::default() };
        let socket = world.with(near, |near| near.connect_with(remote, settings));
        world.run();
        let tally = world.sockets(near);
        assert_eq!((tally.opened, tally.open), (1, 0));
        (world.end_point(near).script().ended(socket).unwrap().unwrap_err(), world.elapsed())
    };
    let there = "10.0.0.2:80";
    assert_eq!(outcome(ConnectOutcome::Refuse, there), (SocketError::Refused, ms(100)));
    assert_eq!(outcome(ConnectOutcome::NoAnswer, there), (SocketError::TimedOut, ms(700)));
    let none_left = SocketError::NoDescriptors;
    assert_eq!(outcome(ConnectOutcome::Fail(none_left), there), (none_left, ms(0)));
    assert_eq!(
        outcome(ConnectOutcome::AcceptAfter(ms(600)), there),
        (SocketError::TimedOut, ms(700))
    );
    assert_eq!(outcome(ConnectOutcome::Accept, "10.0.0.2:81"), (SocketError::Refused, ms(100)));
    assert_eq!(outcome(ConnectOutcome::Accept, "10.0.0.9:80"), (SocketError::Unreachable, ms(0)));
}

#[test]
fn a_stream_breaks_after_the_planned_byte() {
    let broken = |up: StreamFault| {
        let (mut world, near, far) = pair(Path::delay(ms(50)));
        world.plan_connections(far, move |_| ConnectionPlan {
            up: Some(up),
            ..ConnectionPlan::default()
        });
        let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
        world.with(near, |near| near.send(socket, &[1; 5_000]));
        world.run();
        let heard = world.end_point(far).script().received(socket).len();
        let [near, far] = [near, far].map(|host| world.end_point(host).script().ended(socket));
        (heard, near, far)
    };
    let reset = Some(Err(SocketError::Reset));
    assert_eq!(broken(StreamFault::Reset { after: 2_000 }), (2_000, reset, reset));
    assert_eq!(broken(StreamFault::Close { after: 3_001 }), (3_001, Some(Ok(())), Some(Ok(()))));
    assert_eq!(broken(StreamFault::Stall { after: 1_448 }), (1_448, None, None));
}

#[test]
fn fin_follows_all_bytes_and_the_other_direction_stays_open() {
    let (mut world, near, far, socket) = saying(Path::delay(ms(50)), &[1; 50_000]);
    world.with(near, |near| near.shutdown(socket));
    // A transcript closes at the peer's FIN, behind what it says then.
    world.run();
    assert_eq!(world.end_point(far).script().received(socket).len(), 50_000);
    assert_eq!(world.end_point(far).script().ended(socket), Some(Ok(())));
    assert_eq!(world.end_point(near).script().ended(socket), Some(Ok(())));
    assert_eq!(world.elapsed(), ms(200));
    assert_eq!((world.sockets(near).open, world.sockets(far).open), (0, 0));
}

#[test]
fn bytes_arrive_whole_however_they_are_cut_and_however_the_link_shuffles() {
    let sent: Vec<u8> = (0..60_000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
    let rate = "rtt=20ms,down=8mbit,up=8mbit,queue=20kB,jitter=9ms";
    for (pieces, more) in [
        (Pieces::Whole, "loss=20%,reorder=yes"),
        (Pieces::Of(1), "loss=20%,reorder=yes"),
        (Pieces::Of(1_000), "loss=20%/4,reorder=10%/3"),
        (Pieces::Random { longest: 99 }, "loss=5%,aqm=fq_codel/1ms/5ms"),
        (Pieces::Whole, "aqm=codel/1ms/2ms,reorder=5%/4ms,policer=6mbit/9kB"),
    ] {
        let spec = &format!("{rate},{more}");
        let (mut world, _, far, socket) = saying(parsed(spec), &sent);
        world.split_reads(far, pieces);
        world.run();
        assert!(world.end_point(far).script().received(socket) == sent, "{pieces:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_one_others() {
    let run = |seed: u64| {
        let mut world = World::new(seed);
        let near = world.host("10.0.0.1", peer());
        let far = world.listen("10.0.0.2:80", peer());
        world.connect(near, far, parsed("rtt=20ms,down=8mbit,up=8mbit,loss=5%,jitter=3ms"));
        world.record_packets();
        let socket = world.with(near, |near| near.connect("10.0.0.2:80"));
        world.with(near, |near| near.send(socket, &[1; 200_000]));
        world.run();
        format!("{:?}", world.packets())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
