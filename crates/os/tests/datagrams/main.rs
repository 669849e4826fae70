//! Datagram sockets of the reactor, over real ones.
#![allow(unsafe_code, reason = "libc calls that a test needs")]
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

mod ahead;
mod datagram_script;
#[path = "../script/mod.rs"]
mod script;

use datagram_script::{Peer, Received, Seen, peer};
use endpoint::{Action, Checked, DatagramSettings, DatagramTransmit, Ecn, SocketId};
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use os::tcp::Sharing;
use os::udp::{DatagramCounters, DatagramSocket};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

with_each_backend! {
    batches_travel_both_ways_between_two_reactors
    each_mark_arrives_as_it_was_sent
    a_batch_of_unequal_datagrams_keeps_its_boundaries
    many_peers_share_one_socket
    datagrams_go_out_of_the_address_that_is_named
    a_port_where_nobody_listens_does_not_hurt_the_socket
    what_the_kernel_refuses_is_lost_and_counted
    an_address_in_use_fails_the_socket
    a_paused_socket_gets_nothing_until_it_is_resumed
    a_socket_is_drained_as_often_as_it_asks
    the_number_of_a_closed_socket_can_be_used_at_once
    a_socket_stays_open_when_the_reactor_is_asked_to_stop
    a_refused_socket_is_closed
    sockets_that_share_an_address_share_the_peers
    a_full_send_buffer_loses_nothing
}

const SOCKET: SocketId = SocketId(0);

/// Bytes of a datagram that fits everywhere.
const SIZE: usize = 1_200;

fn reactor(backend: Backend) -> (Reactor, Stop) {
    let stop = Stop::new().unwrap();
    let settings = ReactorSettings { backend, ..ReactorSettings::default() };
    (Reactor::new(settings, stop.clone()).unwrap(), stop)
}

fn bound(address: &str) -> DatagramSocket {
    let settings = DatagramSettings::default();
    DatagramSocket::bind(address.parse().unwrap(), Sharing::Found, &settings).unwrap()
}

fn bind(local: &str) -> Action {
    let settings = DatagramSettings::default();
    Action::Bind { socket: SOCKET, local: local.parse().unwrap(), settings }
}

/// Datagrams of SIZE bytes, told apart by their first four bytes.
fn numbered(numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut contents = Vec::new();
    for number in numbers {
        contents.extend_from_slice(&number.to_be_bytes());
        contents.resize(contents.len() + SIZE - 4, number as u8);
    }
    contents
}

fn to(remote: SocketAddr) -> DatagramTransmit {
    DatagramTransmit { remote, local: None, ecn: None, segment_size: Some(SIZE) }
}

/// Receives on a plain socket. With a time-out a system call is not begun again after a signal (signal(7)).
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received.unwrap(),
        }
    }
}

/// An end point on a thread and a reactor of its own that sends back what it gets, until it is stopped.
fn echo(backend: Backend, socket: DatagramSocket) -> (Stop, thread::JoinHandle<DatagramCounters>) {
    let stop = Stop::new().unwrap();
    let stopped = stop.clone();
    let thread = thread::spawn(move || {
        let settings = ReactorSettings { backend, ..ReactorSettings::default() };
        let mut reactor = Reactor::new(settings, stopped).unwrap();
        assert_eq!(reactor.listen_datagrams(socket), 0);
        let mut end_point = peer(|desk, seen| match seen {
            Seen::Received(Received { remote, local, ecn, stride, data }) => {
                let segment_size = (data.len() > stride).then_some(stride);
                desk.send(DatagramTransmit { remote, local, ecn, segment_size }, &data);
            }
            Seen::Stop => desk.act(Action::Finish),
            Seen::Started | Seen::Bound(..) => {}
            other => panic!("{other:?}"),
        });
        reactor.run(&mut end_point).unwrap();
        reactor.datagram_counters()
    });
    (stop, thread)
}

/// Runs `end_point` on a reactor without listeners; returns that.
fn run<F: FnMut(&mut datagram_script::Desk, Seen)>(
    backend: Backend,
    end_point: &mut Checked<Peer<F>>,
) -> Reactor {
    let (mut reactor, _stop) = reactor(backend);
    reactor.run(end_point).unwrap();
    reactor
}

fn batches_travel_both_ways_between_two_reactors(backend: Backend) {
    for (there, here) in [("127.0.0.1:0", "0.0.0.0:0"), ("[::1]:0", "[::]:0")] {
        let socket = bound(there);
        let remote = socket.local();
        let (stop, server) = echo(backend, socket);
        // No more under way than a receive buffer of the least default holds (net.core.rmem_default).
        const ROUNDS: u32 = 40;
        const BATCH: u32 = 30;
        let mut back = Vec::new();
        let mut largest = 0;
        let mut end_point = peer(|desk, seen| match seen {
            Seen::Started => {
                desk.act(bind(here));
                desk.send(to(remote), &numbered(0..BATCH));
            }
            Seen::Received(received) => {
                assert_eq!((received.remote, received.stride), (remote, SIZE));
                assert_eq!(received.local, Some(remote.ip()));
                largest = largest.max(received.data.len());
                back.extend_from_slice(&received.data);
                let count = (back.len() / SIZE) as u32;
                if count == ROUNDS * BATCH {
                    desk.act(Action::Finish);
                } else if count.is_multiple_of(BATCH) {
                    desk.send(to(remote), &numbered(count..count + BATCH));
                }
            }
            other => panic!("{other:?}"),
        });
        let reactor = run(backend, &mut end_point);
        stop.stop();
        let server = server.join().unwrap();
        assert_eq!(back, numbered(0..ROUNDS * BATCH));
        for counters in [reactor.datagram_counters(), server] {
            let all = u64::from(ROUNDS * BATCH);
            assert_eq!((counters.sent, counters.received), (all, all));
        }
        assert!(largest > SIZE, "the kernel joined none: {largest}");
    }
}

fn each_mark_arrives_as_it_was_sent(backend: Backend) {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let socket = bound(address);
        let remote = socket.local();
        let (stop, server) = echo(backend, socket);
        let marks = [None, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::Ce)];
        let mut seen_marks = Vec::new();
        let mut end_point = peer(|desk, seen| {
            match seen {
                Seen::Started => desk.act(bind(address)),
                Seen::Received(received) => seen_marks.push(received.ecn),
                other => panic!("{other:?}"),
            }
            match marks.get(seen_marks.len()) {
                Some(&ecn) => {
                    let transmit = DatagramTransmit { ecn, segment_size: None, ..to(remote) };
                    desk.send(transmit, b"marked");
                }
                None => desk.act(Action::Finish),
            }
        });
        run(backend, &mut end_point);
        stop.stop();
        server.join().unwrap();
        assert_eq!(seen_marks, marks);
    }
}

fn a_batch_of_unequal_datagrams_keeps_its_boundaries(backend: Backend) {
    // The plain socket tells datagrams apart by itself.
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    let remote = plain.local_addr().unwrap();
    let lengths = [1_200, 1_200, 1_200, 7];
    let contents: Vec<u8> = (0..lengths.iter().sum()).map(|n: usize| n as u8).collect();
    let sent = contents.clone();
    let peer_thread = thread::spawn(move || {
        let mut buffer = [0; 2_000];
        for length in lengths {
            let (count, from) = receive(&plain, &mut buffer);
            assert_eq!(count, length);
            plain.send_to(&buffer[..count], from).unwrap();
        }
    });
    let mut back = Vec::new();
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => {
            desk.act(bind("127.0.0.1:0"));
            desk.send(to(remote), &sent);
        }
        Seen::Received(received) => {
            for datagram in received.data.chunks(received.stride) {
                assert_eq!(datagram.len(), lengths[back.len().div_ceil(SIZE)]);
                back.extend_from_slice(datagram);
            }
            if back.len() == sent.len() {
                desk.act(Action::Finish);
            }
        }
        other => panic!("{other:?}"),
    });
    run(backend, &mut end_point);
    peer_thread.join().unwrap();
    assert_eq!(back, contents);
}

fn many_peers_share_one_socket(backend: Backend) {
    let socket = bound("127.0.0.1:0");
    let remote = socket.local();
    let (stop, server) = echo(backend, socket);
    let peers: Vec<_> = (0..50).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let mut buffer = [0; 100];
    for round in 0..10_u8 {
        for (number, peer) in peers.iter().enumerate() {
            peer.send_to(&[round, number as u8], remote).unwrap();
        }
        for (number, peer) in peers.iter().enumerate() {
            peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let (count, from) = receive(peer, &mut buffer);
            assert_eq!((&buffer[..count], from), (&[round, number as u8][..], remote));
        }
    }
    stop.stop();
    assert_eq!(server.join().unwrap().sent, 500);
}

fn datagrams_go_out_of_the_address_that_is_named(backend: Backend) {
    let socket = bound("0.0.0.0:0");
    let port = socket.local().port();
    let (stop, server) = echo(backend, socket);
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // All of 127.0.0.0/8 is this machine. The answer comes from where the question went.
    for address in ["127.0.0.1", "127.0.0.2", "127.0.3.4"] {
        let remote: SocketAddr = format!("{address}:{port}").parse().unwrap();
        plain.send_to(b"?", remote).unwrap();
        assert_eq!(receive(&plain, &mut [0; 10]), (1, remote));
    }
    stop.stop();
    server.join().unwrap();
}

fn a_port_where_nobody_listens_does_not_hurt_the_socket(backend: Backend) {
    let socket = bound("127.0.0.1:0");
    let remote = socket.local();
    let (stop, server) = echo(backend, socket);
    let mut received = 0;
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => {
            desk.act(bind("127.0.0.1:0"));
            // tcpmux: outside the range from which any other program is given ports at random.
            for _ in 0..5 {
                desk.send(to(([127, 0, 0, 1], 1).into()), &numbered(0..3));
            }
            desk.send(to(remote), &numbered(0..1));
        }
        Seen::Received(_) => {
            received += 1;
            desk.act(Action::Finish);
        }
        other => panic!("{other:?}"),
    });
    let reactor = run(backend, &mut end_point);
    stop.stop();
    server.join().unwrap();
    assert_eq!((received, reactor.datagram_counters().sent), (1, 16));
}

fn what_the_kernel_refuses_is_lost_and_counted(backend: Backend) {
    let socket = bound("127.0.0.1:0");
    let remote = socket.local();
    let (stop, server) = echo(backend, socket);
    let mut received = 0;
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => {
            desk.act(bind("0.0.0.0:0"));
            let single = DatagramTransmit { segment_size: None, ..to(remote) };
            desk.send(single, &vec![0; 65_600]);
            // A socket of IPv4 has no way to an address of IPv6.
            desk.send(to("[2001:db8::1]:9".parse().unwrap()), &numbered(0..2));
            desk.send(single, b"?");
        }
        Seen::Received(_) => {
            received += 1;
            desk.act(Action::Finish);
        }
        other => panic!("{other:?}"),
    });
    let reactor = run(backend, &mut end_point);
    stop.stop();
    server.join().unwrap();
    let counters = reactor.datagram_counters();
    assert_eq!((received, counters.sent, counters.too_large, counters.refused), (1, 1, 1, 2));
}

fn an_address_in_use_fails_the_socket(backend: Backend) {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let local = taken.local_addr().unwrap().to_string();
    let mut failed = None;
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => desk.act(bind(&local)),
        Seen::Failed(socket, error) => {
            failed = Some((socket, error.to_string()));
            desk.act(Action::Finish);
        }
        other => panic!("{other:?}"),
    });
    run(backend, &mut end_point);
    let (socket, error) = failed.unwrap();
    assert!(socket == SOCKET && error.contains("use"), "{error}");
}

fn a_paused_socket_gets_nothing_until_it_is_resumed(backend: Backend) {
    let socket = bound("127.0.0.1:0");
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.send_to(b"one", socket.local()).unwrap();
    let (mut reactor, _stop) = reactor(backend);
    reactor.listen_datagrams(socket);
    let mut order = Vec::new();
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Bound(socket, _) => {
            desk.act(Action::Pause(socket));
            desk.act(Action::AwaitDrained(socket));
            desk.timeout = Some(os::clock::now() + Duration::from_millis(50));
        }
        Seen::Timeout => {
            order.push("resumed");
            desk.act(Action::Resume(SOCKET));
        }
        Seen::Received(_) => order.push("received"),
        Seen::Drained(_) => {
            order.push("drained");
            desk.act(Action::Finish);
        }
        Seen::Started => {}
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(order, ["resumed", "received", "drained"]);
}

fn a_socket_is_drained_as_often_as_it_asks(backend: Backend) {
    let mut drained = 0;
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => {
            desk.act(bind("127.0.0.1:0"));
            desk.act(Action::AwaitDrained(SOCKET));
        }
        Seen::Drained(socket) => {
            drained += 1;
            desk.act(match drained {
                20 => Action::Finish,
                _ => Action::AwaitDrained(socket),
            });
        }
        other => panic!("{other:?}"),
    });
    run(backend, &mut end_point);
    assert_eq!(drained, 20);
}

fn the_number_of_a_closed_socket_can_be_used_at_once(backend: Backend) {
    let socket = bound("127.0.0.1:0");
    let remote = socket.local();
    let (stop, server) = echo(backend, socket);
    let mut received = 0;
    let mut end_point = peer(|desk, seen| {
        match seen {
            Seen::Started => {}
            Seen::Received(_) => {
                received += 1;
                desk.act(match received % 2 {
                    0 => Action::Close(SOCKET),
                    _ => Action::Abort(SOCKET),
                });
            }
            other => panic!("{other:?}"),
        }
        if received == 10 {
            return desk.act(Action::Finish);
        }
        desk.act(bind("127.0.0.1:0"));
        desk.send(to(remote), &numbered(0..1));
    });
    run(backend, &mut end_point);
    stop.stop();
    let counters = server.join().unwrap();
    assert_eq!((received, counters.received, counters.sent), (10, 10, 10));
}

fn a_socket_stays_open_when_the_reactor_is_asked_to_stop(backend: Backend) {
    let (mut reactor, stop) = reactor(backend);
    let socket = bound("127.0.0.1:0");
    let remote = socket.local();
    reactor.listen_datagrams(socket);
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Started => {}
        Seen::Bound(..) => stop.stop(),
        // Connections that are open go on until the end point has done its work.
        Seen::Stop => assert_eq!(plain.send_to(b"late", remote).unwrap(), 4),
        Seen::Received(received) => {
            assert_eq!(received.data, b"late");
            desk.act(Action::Finish);
        }
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
}

fn a_refused_socket_is_closed(backend: Backend) {
    let (mut reactor, stop) = reactor(backend);
    let socket = bound("127.0.0.1:0");
    let address = socket.local();
    reactor.listen_datagrams(socket);
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Bound(..) => {
            desk.refuses = true;
            stop.stop();
        }
        Seen::Stop => {
            wait_until_free(address);
            desk.act(Action::Finish);
        }
        Seen::Started => {}
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
}

/// Another test that starts a program gives its child a copy of each socket until the child executes that program
/// (fork(2)), so a closed socket's address may be in use for a moment more. That of a socket which is open stays in use.
fn wait_until_free(address: SocketAddr) {
    let began = os::clock::now();
    while let Err(error) = UdpSocket::bind(address) {
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(
            os::clock::now().since(began) < Duration::from_secs(30),
            "{address} is still in use"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

fn sockets_that_share_an_address_share_the_peers(backend: Backend) {
    let any = "127.0.0.1:0".parse().unwrap();
    let sockets = DatagramSocket::bind_all(any, 2, &DatagramSettings::default()).unwrap();
    let remote = sockets[0].local();
    let servers: Vec<_> = sockets.into_iter().map(|socket| echo(backend, socket)).collect();
    for _ in 0..64 {
        let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
        plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // As what begins a QUIC connection does: by the first bit of a long header (RFC 9000 §17.2).
        plain.send_to(&[0xc0], remote).unwrap();
        assert_eq!(receive(&plain, &mut [0; 10]), (1, remote));
    }
    let mut shares = Vec::new();
    for (stop, server) in servers {
        stop.stop();
        shares.push(server.join().unwrap().received);
    }
    assert_eq!(shares.iter().sum::<u64>(), 64);
    assert!(shares.iter().all(|&share| share > 0), "{shares:?}");
}

/// Loopback takes all that it is given at once, so that nothing ever waits: here it has a rate.
fn a_full_send_buffer_loses_nothing(backend: Backend) {
    const TRIES: usize = 5;
    for _ in 0..TRIES {
        let dropped_before = datagram_script::dropped_in_backlogs();
        let sending = thread::spawn(move || {
            datagram_script::slow_loopback();
            send_more_than_the_buffer_holds(backend)
        });
        let received = sending.join().unwrap();
        // Floods of other programs fill the processors' backlogs. The kernel then drops packets of all sockets.
        if received.len() == SENT as usize
            || datagram_script::dropped_in_backlogs() == dropped_before
        {
            assert_eq!(received, (0..SENT).collect::<Vec<_>>());
            return;
        }
    }
    panic!("the kernel's backlogs were full each time");
}

/// Datagrams that are sent through a full send buffer.
const SENT: u32 = 2_000;

/// The numbers of the datagrams that arrived.
fn send_more_than_the_buffer_holds(backend: Backend) -> Vec<u32> {
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // What arrives while its thread waits for a processor must not be lost.
    datagram_script::widen_receive_buffer(&plain);
    let remote = plain.local_addr().unwrap();
    let receiving = thread::spawn(move || {
        let mut numbers = Vec::new();
        let mut buffer = [0; 2_000];
        while numbers.last() != Some(&(SENT - 1)) {
            let Ok(length) = plain.recv(&mut buffer) else { break };
            assert_eq!(length, SIZE);
            numbers.push(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
        }
        numbers
    });
    let settings = DatagramSettings { send_buffer: 100_000, ..DatagramSettings::default() };
    let local = "127.0.0.1:0".parse().unwrap();
    let mut end_point = peer(|desk, seen| {
        if seen == Seen::Started {
            desk.act(Action::Bind { socket: SOCKET, local, settings: settings.clone() });
            for batch in 0..SENT / 20 {
                desk.send(to(remote), &numbered(batch * 20..batch * 20 + 20));
            }
            // What is asked for after this is asked for by the reactor, when the kernel has space.
            desk.finish_when_sent = true;
        }
    });
    let reactor = run(backend, &mut end_point);
    assert_eq!(reactor.datagram_counters().sent, u64::from(SENT));
    let asked = end_point.inner().desk.asked_while_waiting;
    assert!(asked > 2, "the send buffer was never full: {asked}");
    receiving.join().unwrap()
}
