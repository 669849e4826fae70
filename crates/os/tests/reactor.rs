//! The reactor over real sockets on loopback, against the standard library's.
#![allow(unsafe_code, reason = "libc calls that a test needs")]
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

mod script;

use endpoint::{Action, SocketError, SocketId, SocketSettings};
use os::error::Os;
use os::reactor::{Backend, Reactor, ReactorSettings, Stop};
use os::tcp::{Listener, Sharing};
use script::{Seen, desk_with, listening, scripted, scripted_from};
use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

with_each_backend! {
    bytes_are_echoed_and_a_half_closed_peer_still_gets_its_answer
    a_connect_that_nobody_takes_is_refused
    a_connect_without_an_answer_times_out
    a_client_speaks_first_and_reads_to_the_end
    little_is_asked_for_while_the_peer_does_not_read
    an_end_point_that_has_said_all_is_not_asked_again
    an_abort_is_a_reset_and_a_close_is_not
    a_paused_socket_is_not_read_until_it_is_resumed
    a_paused_peer_is_held_back_and_loses_nothing
    a_reset_is_told_of_a_paused_socket
    all_that_had_arrived_comes_before_the_socket_is_drained
    a_socket_is_drained_as_often_as_it_asks
    a_socket_that_asks_while_it_connects_is_drained_once_it_is_connected
    a_socket_that_has_ended_is_not_drained
    a_reactor_that_has_run_runs_again
    nothing_is_told_to_an_end_point_that_has_finished
    connections_spread_over_listeners_that_share_an_address
    a_listener_from_outside_is_taken_over
}

const SOCKET: SocketId = SocketId(0);

fn reactor(backend: Backend, stop: Stop) -> Result<Reactor, Os> {
    Reactor::new(ReactorSettings { backend, ..ReactorSettings::default() }, stop)
}

fn lonely(backend: Backend) -> Result<Reactor, Os> {
    reactor(backend, Stop::new()?)
}

fn connect_to(remote: SocketAddr, connect_timeout: Duration) -> Action {
    let settings = SocketSettings { connect_timeout, ..SocketSettings::default() };
    Action::Connect { socket: SOCKET, remote, settings }
}

fn bytes_are_echoed_and_a_half_closed_peer_still_gets_its_answer(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let peer = thread::spawn(move || {
        let body: Vec<u8> = (0..3_000_000_u32).map(|index| index as u8).collect();
        let mut stream = TcpStream::connect(address).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let sent = body.clone();
        let writing = thread::spawn(move || {
            writer.write_all(&sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).unwrap();
        writing.join().unwrap();
        stop.stop();
        assert_eq!(back.len(), body.len() + 4);
        assert!(back.starts_with(&body) && back.ends_with(b"done"));
    });
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Bytes(socket, bytes) => desk.send(socket, &bytes),
        Seen::Eof(socket) => {
            // What is said here waits for what is still to be sent.
            desk.send(socket, b"done");
            desk.timeout = Some(os::clock::now());
        }
        Seen::Timeout => match desk.outgoing.get(&SOCKET).is_some_and(|out| out.is_empty()) {
            true => desk.act(Action::Close(SOCKET)),
            false => desk.timeout = Some(os::clock::now() + Duration::from_millis(1)),
        },
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    reactor.run(&mut end_point).unwrap();
    peer.join().unwrap();
}

fn a_connect_that_nobody_takes_is_refused(backend: Backend) {
    // tcpmux: outside the range from which any other program is given ports at random.
    let port = SocketAddr::from(([127, 0, 0, 1], 1));
    let failed = Rc::new(RefCell::new(None));
    let mut end_point =
        scripted_from(desk_with(connect_to(port, Duration::from_secs(5))), |desk, seen| {
            *failed.borrow_mut() = Some(seen);
            desk.act(Action::Finish);
        });
    lonely(backend).unwrap().run(&mut end_point).unwrap();
    assert_eq!(*failed.borrow(), Some(Seen::Failed(SOCKET, SocketError::Refused)));
}

fn a_connect_without_an_answer_times_out(backend: Backend) {
    use std::os::fd::AsRawFd;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: a plain call on an open descriptor; it makes the backlog as short as can be.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let address = listener.local_addr().unwrap();
    let _fills_the_backlog = TcpStream::connect(address).unwrap();
    let mut seen_last = None;
    let mut end_point =
        scripted_from(desk_with(connect_to(address, Duration::from_millis(50))), |desk, seen| {
            seen_last = Some(seen);
            desk.act(Action::Finish);
        });
    lonely(backend).unwrap().run(&mut end_point).unwrap();
    assert_eq!(seen_last, Some(Seen::Failed(SOCKET, SocketError::TimedOut)));
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

fn a_client_speaks_first_and_reads_to_the_end(backend: Backend) {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = [0; 5];
        stream.read_exact(&mut said).unwrap();
        stream.write_all(&said).unwrap();
    });
    let mut got = Vec::new();
    let mut end_point =
        scripted_from(desk_with(connect_to(address, Duration::from_secs(5))), |desk, seen| {
            match seen {
                Seen::Connected(socket) => desk.send(socket, b"hello"),
                Seen::Bytes(_, bytes) => got.extend_from_slice(&bytes),
                Seen::Eof(socket) => {
                    desk.act(Action::Close(socket));
                    desk.act(Action::Finish);
                }
                other => panic!("{other:?}"),
            }
        });
    lonely(backend).unwrap().run(&mut end_point).unwrap();
    assert_eq!(got, b"hello");
    peer.join().unwrap();
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

fn an_abort_is_a_reset_and_a_close_is_not(backend: Backend) {
    for (action, expected) in [(Action::Abort(SOCKET), None), (Action::Close(SOCKET), Some(3))] {
        let (mut reactor, address, stop) = listening(backend).unwrap();
        let peer = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            // More than is read before the far side closes: a plain close would reset. The kernel tells
            // of a reset once, to whichever call comes first.
            let mut outcome = Ok(0);
            for _ in 0..20 {
                outcome = outcome.and(stream.write_all(&[b'x'; 100_000]).map(|()| 0));
            }
            let outcome = outcome.and_then(|_| stream.read_to_end(&mut Vec::new()));
            let outcome = outcome.map_err(|error| error.kind());
            stop.stop();
            outcome
        });
        let mut last = Some(action);
        let mut end_point = scripted(|desk, seen| match seen {
            Seen::Bytes(socket, _) => {
                if let Some(action) = last.take() {
                    desk.send(socket, b"bye");
                    desk.act(action);
                }
            }
            Seen::Stop => desk.act(Action::Finish),
            _ => {}
        });
        reactor.run(&mut end_point).unwrap();
        match (peer.join().unwrap(), expected) {
            (Ok(count), Some(expected)) => assert_eq!(count, expected),
            (Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), None) => {}
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
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
    use std::os::fd::AsRawFd;
    let (mut reactor, address, _stop) = listening(backend).unwrap();
    let mut stream = Some(TcpStream::connect(address).unwrap());
    let mut last = None;
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => {
            desk.act(Action::Pause(socket));
            desk.timeout = Some(os::clock::now() + Duration::from_millis(20));
        }
        Seen::Timeout => {
            let stream = stream.take().unwrap();
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let size = size_of_val(&linger) as libc::socklen_t;
            // SAFETY: a live value and its own size.
            let set = unsafe {
                let value = (&raw const linger).cast();
                libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, size)
            };
            assert_eq!(set, 0);
        }
        seen => {
            last = Some(seen);
            desk.act(Action::Finish);
        }
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(last, Some(Seen::Failed(SOCKET, SocketError::Reset)));
}

/// A peer that sends so many bytes at once, and keeps its connection until `stop`.
fn sender(address: SocketAddr, bytes: usize) -> thread::JoinHandle<TcpStream> {
    thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&vec![b'x'; bytes]).unwrap();
        stream
    })
}

fn all_that_had_arrived_comes_before_the_socket_is_drained(backend: Backend) {
    const SENT: usize = 200_000;
    for asks_early in [true, false] {
        let (mut reactor, address, stop) = listening(backend).unwrap();
        let mut peer = Some(sender(address, SENT));
        let mut stream = None;
        let (mut taken, mut drained) = (0, Vec::new());
        let mut end_point = scripted(|desk, seen| match seen {
            Seen::Accepted(socket) => {
                desk.act(Action::Pause(socket));
                desk.timeout = Some(os::clock::now());
                if asks_early {
                    desk.act(Action::AwaitDrained(socket));
                }
            }
            Seen::Timeout if peer.as_ref().is_some_and(|peer| !peer.is_finished()) => {
                desk.timeout = Some(os::clock::now() + Duration::from_millis(5));
            }
            Seen::Timeout => {
                stream = peer.take().map(|peer| peer.join().unwrap());
                desk.act(Action::Resume(SOCKET));
            }
            Seen::Bytes(socket, bytes) => {
                if !asks_early && taken == 0 {
                    desk.act(Action::AwaitDrained(socket));
                }
                taken += bytes.len();
            }
            Seen::Drained(_) => {
                drained.push(taken);
                stop.stop();
            }
            Seen::Stop => desk.act(Action::Finish),
            other => panic!("{other:?}"),
        });
        reactor.run(&mut end_point).unwrap();
        assert_eq!(drained, [SENT]);
    }
}

fn a_socket_is_drained_as_often_as_it_asks(backend: Backend) {
    let (mut reactor, address, _stop) = listening(backend).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"x").unwrap();
    let (mut drained, mut taken) = (0, 0);
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => desk.act(Action::AwaitDrained(socket)),
        Seen::Bytes(_, bytes) => taken += bytes.len(),
        Seen::Drained(socket) => {
            drained += 1;
            desk.act(match drained {
                20 => Action::Finish,
                _ => Action::AwaitDrained(socket),
            });
        }
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!((drained, taken), (20, 1));
}

fn a_socket_that_asks_while_it_connects_is_drained_once_it_is_connected(backend: Backend) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut begin = desk_with(connect_to(listener.local_addr().unwrap(), Duration::from_secs(5)));
    begin.act(Action::AwaitDrained(SOCKET));
    let mut order = Vec::new();
    let mut end_point = scripted_from(begin, |desk, seen| {
        if matches!(seen, Seen::Drained(_)) {
            desk.act(Action::Finish);
        }
        order.push(seen);
    });
    lonely(backend).unwrap().run(&mut end_point).unwrap();
    assert_eq!(order, [Seen::Connected(SOCKET), Seen::Drained(SOCKET)]);
}

fn a_socket_that_has_ended_is_not_drained(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let mut peer = Some(sender(address, 1_000));
    let mut order = Vec::new();
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(socket) => {
            desk.act(Action::AwaitDrained(socket));
            desk.act(Action::Pause(socket));
            desk.timeout = Some(os::clock::now());
        }
        Seen::Timeout => match peer.take_if(|peer| peer.is_finished()) {
            None if peer.is_some() => {
                desk.timeout = Some(os::clock::now() + Duration::from_millis(5));
            }
            None => stop.stop(),
            Some(peer) => {
                drop(peer.join().unwrap());
                desk.act(Action::Resume(SOCKET));
                // Time for an answer that is not to come.
                desk.timeout = Some(os::clock::now() + Duration::from_millis(50));
            }
        },
        Seen::Stop => desk.act(Action::Finish),
        seen => order.push(seen),
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(order, [Seen::Bytes(SOCKET, vec![b'x'; 1_000]), Seen::Eof(SOCKET)]);
}

/// `Checked` fails this where anything follows the end.
fn nothing_is_told_to_an_end_point_that_has_finished(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let streams: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    stop.stop();
    let mut accepted = 0;
    let mut end_point = scripted(|desk, seen| {
        if let Seen::Accepted(socket) = seen {
            accepted += 1;
            if accepted == 3 {
                desk.timeout = Some(os::clock::now());
                // More than its peer takes, so that the reactor goes on for a while.
                desk.send(socket, &vec![0; 10_000_000]);
                desk.act(Action::Close(socket));
                desk.act(Action::Finish);
            }
        }
    });
    let peers = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(streams);
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(accepted, 3);
    peers.join().unwrap();
    // Those that waited meanwhile are the next run's.
    let mut end_point = scripted(|desk, seen| {
        if matches!(seen, Seen::Accepted(_)) {
            desk.act(Action::Finish);
        }
    });
    reactor.run(&mut end_point).unwrap();
}

fn a_reactor_that_has_run_runs_again(backend: Backend) {
    let (mut reactor, address, _stop) = listening(backend).unwrap();
    for round in 0..3_u8 {
        let peer = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&[round]).unwrap();
            // What the end point leaves behind when it finishes is closed.
            assert!(stream.read_to_end(&mut Vec::new()).unwrap_or(0) == 0);
        });
        let mut seen_last = None;
        let mut end_point = scripted(|desk, seen| {
            if matches!(seen, Seen::Bytes(..)) {
                desk.act(Action::Finish);
            }
            seen_last = Some(seen);
        });
        reactor.run(&mut end_point).unwrap();
        assert_eq!(seen_last, Some(Seen::Bytes(SOCKET, vec![round])));
        peer.join().unwrap();
    }
}

#[test]
fn a_kernel_that_refuses_io_uring_is_told_with_the_way_out() {
    // A thread of its own: the filter stays on it.
    let refused = thread::spawn(|| {
        refuse_io_uring();
        Backend::Epoll.probe().unwrap();
        Backend::IoUring.probe().unwrap_err()
    });
    let error = refused.join().unwrap();
    assert_eq!(error.source.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("io_uring"), "{error}");
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("--reactor epoll")));
}

/// What a container's filter does (seccomp(2)): the call fails with EPERM.
fn refuse_io_uring() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut program = [
        // The call's number stands first in seccomp_data.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                libc::SYS_io_uring_setup as u32,
            )
        },
        statement(libc::BPF_RET | libc::BPF_K, refusal),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: plain flags, then a program that lives through the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter), 0);
    }
}

#[test]
fn an_address_in_use_is_an_error_with_a_remedy_even_where_it_is_shared() {
    let settings = SocketSettings::default();
    let any = "127.0.0.1:0".parse().unwrap();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let shared = Listener::bind_all(any, 2, &settings).unwrap();
    for taken in [plain.local_addr().unwrap(), shared[0].local()] {
        let error = Listener::bind(taken, Sharing::Found, &settings).unwrap_err();
        assert_eq!(error.source.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&taken.to_string()), "{error}");
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("another port")));
    }
    let nowhere = "192.0.2.1:0".parse().unwrap();
    let error = Listener::bind(nowhere, Sharing::Found, &settings).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::AddrNotAvailable);
    assert!(error.remedy().is_some());
}

fn connections_spread_over_listeners_that_share_an_address(backend: Backend) {
    let listeners =
        Listener::bind_all("127.0.0.1:0".parse().unwrap(), 2, &SocketSettings::default()).unwrap();
    let address = listeners[0].local();
    let stop = Stop::new().unwrap();
    let threads: Vec<_> = listeners
        .into_iter()
        .map(|listener| {
            let stop = stop.clone();
            thread::spawn(move || {
                let mut reactor = reactor(backend, stop).unwrap();
                reactor.listen(listener).unwrap();
                let mut accepted = 0;
                let mut end_point = scripted(|desk, seen| match seen {
                    Seen::Accepted(socket) => {
                        accepted += 1;
                        desk.act(Action::Close(socket));
                    }
                    Seen::Stop => desk.act(Action::Finish),
                    _ => {}
                });
                reactor.run(&mut end_point).unwrap();
                accepted
            })
        })
        .collect();
    for _ in 0..64 {
        TcpStream::connect(address).unwrap().read_to_end(&mut Vec::new()).unwrap();
    }
    stop.stop();
    let shares: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(shares.iter().sum::<usize>(), 64);
    assert!(shares.iter().all(|&share| share > 0), "{shares:?}");
}

fn a_listener_from_outside_is_taken_over(backend: Backend) {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap();
    let listener = Listener::from_fd(outside.into()).unwrap();
    assert_eq!(listener.local(), address);
    let mut reactor = lonely(backend).unwrap();
    reactor.listen(listener).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut end_point = scripted(|desk, seen| {
        if let Seen::Bytes(socket, bytes) = seen {
            desk.send(socket, &bytes);
            desk.act(Action::Close(socket));
            desk.act(Action::Finish);
        }
    });
    let peer = thread::spawn(move || {
        let mut back = String::new();
        stream.read_to_string(&mut back).unwrap();
        back
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(peer.join().unwrap(), "hello");
}
