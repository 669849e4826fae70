//! How much is asked for and read: full sockets, silent end points, paused sockets.

use crate::SOCKET;
use crate::script::{Seen, listening, scripted};
use endpoint::{Action, SocketError, SocketSettings};
use os::reactor::Backend;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

with_each_backend! {
    little_is_asked_for_while_the_peer_does_not_read
    a_peer_that_takes_bytes_slowly_has_the_end_point_decide_later
    an_end_point_that_has_said_all_is_not_asked_again
    a_paused_socket_is_not_read_until_it_is_resumed
    a_paused_peer_is_held_back_and_loses_nothing
    a_reset_is_told_of_a_paused_socket
    bytes_that_take_long_leave_others_their_turn
    of_many_peers_whose_bytes_take_long_few_come_before_another_peer
    bytes_that_take_long_come_before_the_reset_behind_them
    bytes_that_take_long_come_before_the_end_behind_them
    bytes_that_came_before_a_send_failed_are_told_before_that
}

fn an_end_point_that_has_said_all_is_not_asked_again(backend: Backend) {
    const ANSWERS: usize = 20;
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let peer = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut answer = [0; 6];
        for _ in 0..ANSWERS {
            stream.write_all(b"?").unwrap();
            stream.read_exact(&mut answer).unwrap();
        }
        stop.stop();
    });
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(socket, _) => desk.send(socket, b"answer"),
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    peer.join().unwrap();
    assert_eq!(end_point.inner().desk.asked, ANSWERS, "once for each answer");
}

fn little_is_asked_for_while_the_peer_does_not_read(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"go").unwrap();
    let peer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        stop.stop();
        stream
    });
    const ALL: usize = 100_000_000;
    let mut end_point = scripted(|desk, seen| match seen {
        // A body of any length: what is taken out is put back.
        Seen::Bytes(socket, _) => desk.send(socket, &vec![0; ALL]),
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    let low_water = SocketSettings::default().unsent_low_water as usize;
    assert_eq!(end_point.inner().desk.limit, low_water);
    assert!(end_point.inner().desk.given >= low_water);
    // The peer's receive buffer (6 MB at most, tcp_rmem) and what may lie unsent here.
    assert!(
        end_point.inner().desk.given < 8_000_000,
        "{} bytes were decided on",
        end_point.inner().desk.given
    );
    drop(peer.join().unwrap());
}

/// The mark is 16 KiB. A peer that reads 200 kB a second, as over a link of 1.6 Mbit/s, has what it takes within 10 ms and at least
/// 4 KiB. What is asked for before the kernel was full once is not less.
fn a_peer_that_takes_bytes_slowly_has_the_end_point_decide_later(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"go").unwrap();
    let peer = thread::spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        // The receive buffer is full at the first reads.
        for _ in 0..40 {
            thread::sleep(Duration::from_millis(82));
            stream.read_exact(&mut buffer).unwrap();
        }
        stop.stop();
        stream
    });
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(socket, _) => desk.send(socket, &vec![0; 100_000_000]),
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    let desk = &end_point.inner().desk;
    assert_eq!(desk.limit, SocketSettings::default().unsent_low_water as usize);
    assert_eq!(desk.latest_limit, 4 * 1024, "{} bytes in {} turns", desk.given, desk.asked);
    drop(peer.join().unwrap());
}

fn a_paused_socket_is_not_read_until_it_is_resumed(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"one").unwrap();
    let mut order = Vec::new();
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => {
            desk.act(Action::Pause(socket));
            desk.timeout = Some(os::clock::now() + Duration::from_millis(50));
        }
        Seen::Timeout => {
            order.push("resumed");
            desk.act(Action::Resume(SOCKET));
        }
        Seen::Bytes(..) => {
            order.push("read");
            stop.stop();
        }
        Seen::Stop => desk.act(Action::Finish),
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(order, ["resumed", "read"]);
}

fn a_paused_peer_is_held_back_and_loses_nothing(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let peer = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let piece = vec![7; 100_000];
        let mut sent = 0;
        // Until the buffers on the way are full.
        while let Ok(count) = stream.write(&piece) {
            sent += count;
            assert!(sent < 50_000_000, "nothing holds the peer back");
        }
        sent
    });
    let (mut taken, mut resumed) = (0, false);
    let mut peer = Some(peer);
    let mut sent = 0;
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(socket, bytes) => {
            assert!(taken == 0 || resumed, "a paused socket was read");
            taken += bytes.len();
            if !resumed {
                desk.act(Action::Pause(socket));
                desk.timeout = Some(os::clock::now());
            }
        }
        Seen::Timeout if peer.as_ref().is_some_and(|peer| !peer.is_finished()) => {
            desk.timeout = Some(os::clock::now() + Duration::from_millis(10));
        }
        Seen::Timeout => {
            sent = peer.take().unwrap().join().unwrap();
            resumed = true;
            desk.act(Action::Resume(SOCKET));
        }
        Seen::Eof(socket) => {
            desk.act(Action::Close(socket));
            stop.stop();
        }
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    assert!(sent > 100_000 && taken == sent, "{taken} of {sent}");
}

fn a_reset_is_told_of_a_paused_socket(backend: Backend) {
    let (mut reactor, address, _stop) = listening(backend).unwrap();
    let mut stream = Some(TcpStream::connect(address).unwrap());
    let mut last = None;
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => {
            desk.act(Action::Pause(socket));
            desk.timeout = Some(os::clock::now() + Duration::from_millis(20));
        }
        Seen::Timeout => {
            reset(stream.take().unwrap());
        }
        seen => {
            last = Some(seen);
            desk.act(Action::Finish);
        }
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(last, Some(Seen::Failed(SOCKET, SocketError::Reset)));
}

/// Each 4 KiB of one peer take longer than a turn, as frames of one byte may. Another peer's byte is handled before many more of them.
fn bytes_that_take_long_leave_others_their_turn(backend: Backend) {
    const ALL: usize = 1_000_000;
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut busy = TcpStream::connect(address).unwrap();
    let mut other = TcpStream::connect(address).unwrap();
    let peer = thread::spawn(move || {
        busy.write_all(&counted(ALL)).unwrap();
        busy
    });
    let (mut handled, mut said_at, mut heard_at) = (0, None, None);
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(SOCKET, bytes) => {
            if said_at.is_none() {
                other.write_all(b"?").unwrap();
            }
            handle_slowly(&bytes, handled);
            handled += bytes.len();
            said_at.get_or_insert(handled);
            if handled == ALL {
                stop.stop();
            }
        }
        Seen::Bytes(..) => heard_at = Some(handled),
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    drop(peer.join().unwrap());
    assert_eq!(handled, ALL, "nothing is lost");
    let waited = heard_at.unwrap() - said_at.unwrap();
    assert!(waited <= 32 * 1024, "{waited} bytes were handled before the other's byte");
}

/// Any bytes of 20 peers take longer than a turn, and more come all the time. Another peer says a byte now and then; it does not wait for all 20.
fn of_many_peers_whose_bytes_take_long_few_come_before_another_peer(backend: Backend) {
    const BUSY: usize = 20;
    const TIMES: usize = 10;
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut other = TcpStream::connect(address).unwrap();
    let mut busy: Vec<_> = (0..BUSY).map(|_| TcpStream::connect(address).unwrap()).collect();
    busy.iter_mut().for_each(|stream| stream.write_all(&[0; 2_000]).unwrap());
    let (mut reads, mut said_at, mut waited) = (0, None, Vec::new());
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(SOCKET, _) => waited.push(reads - said_at.take().unwrap()),
        Seen::Bytes(..) => {
            thread::sleep(Duration::from_millis(1));
            busy[reads % BUSY].write_all(&[0; 400]).unwrap();
            reads += 1;
            // By then their bytes are known to take long; and it is never at the same place of a round.
            if reads % 33 == 0 && reads > 5 * BUSY && said_at.is_none() {
                other.write_all(b"?").unwrap();
                said_at = Some(reads);
            }
            if waited.len() == TIMES || reads == 1_000 {
                stop.stop();
            }
        }
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    waited.sort_unstable();
    assert_eq!(waited.len(), TIMES, "{waited:?}");
    // One of them may have come late for another reason.
    assert!(waited[TIMES - 2] <= 3, "reads of others before each byte: {waited:?}");
}

fn bytes_that_take_long_come_before_the_reset_behind_them(backend: Backend) {
    assert_eq!(behind_slow_bytes(backend, reset), Seen::Failed(SOCKET, SocketError::Reset));
}

fn bytes_that_take_long_come_before_the_end_behind_them(backend: Backend) {
    assert_eq!(behind_slow_bytes(backend, drop), Seen::Eof(SOCKET));
}

/// What is told behind bytes that take long to handle. They are few enough for the socket's buffer.
fn behind_slow_bytes(backend: Backend, ends: fn(TcpStream)) -> Seen {
    const ALL: usize = 40_000;
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&counted(ALL)).unwrap();
    let (mut handled, mut behind, mut stream) = (0, None, Some(stream));
    let mut end_point = scripted(|desk, seen| match seen {
        // Before anything is read: all of it is there at once.
        Seen::Accepted(_) => ends(stream.take().unwrap()),
        Seen::Bytes(_, bytes) => {
            handle_slowly(&bytes, handled);
            handled += bytes.len();
        }
        end @ (Seen::Eof(_) | Seen::Failed(..)) => {
            behind = Some(end);
            stop.stop();
        }
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(handled, ALL, "nothing is lost");
    behind.unwrap()
}

/// As a server answers that does not read all of an upload.
fn bytes_that_came_before_a_send_failed_are_told_before_that(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"go").unwrap();
    let (mut stream, mut told, mut has_ended) = (Some(stream), Vec::new(), false);
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(socket, bytes) => {
            told.extend(bytes);
            if let Some(mut stream) = stream.take() {
                stream.write_all(b" away").unwrap();
                reset(stream);
                desk.send(socket, b"upload");
            }
        }
        Seen::Failed(..) => {
            has_ended = true;
            stop.stop();
        }
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    drop(end_point);
    assert_eq!((told.as_slice(), has_ended), (&b"go away"[..], true));
}

/// So many bytes, each of which tells its place.
fn counted(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

/// Takes longer than a turn for each 4 KiB. The bytes are those from this place on.
fn handle_slowly(bytes: &[u8], place: usize) {
    thread::sleep(Duration::from_millis(1 + bytes.len() as u64 / 4096));
    let in_order = bytes.iter().zip(place..).all(|(byte, place)| *byte == (place % 251) as u8);
    assert!(in_order, "the bytes from {place} on");
}

/// Closes it with an RST.
fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of_val(&linger) as libc::socklen_t;
    // SAFETY: a live value and its own size.
    let set = unsafe {
        let value = (&raw const linger).cast();
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, size)
    };
    assert_eq!(set, 0);
}
