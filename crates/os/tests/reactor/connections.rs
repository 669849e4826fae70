//! Connections: opened, refused, half closed, reset.

use crate::script::{Seen, desk_with, listening, scripted, scripted_from};
use crate::{SOCKET, connect_to, lonely};
use endpoint::{Action, SocketError};
use os::reactor::Backend;
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
    an_abort_is_a_reset_and_a_close_is_not
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
