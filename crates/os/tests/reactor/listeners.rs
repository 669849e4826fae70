//! Listeners: shared, occupied and inherited addresses.

use crate::script::{Seen, scripted};
use crate::{lonely, reactor};
use endpoint::{Action, SocketSettings};
use os::reactor::{Backend, Stop};
use os::tcp::{Listener, Sharing};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

with_each_backend! {
    connections_spread_over_listeners_that_share_an_address
    a_listener_from_outside_is_taken_over
    a_stop_ends_a_listener_of_which_there_is_a_copy
    a_stop_accepts_all_connections_that_wait
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

/// As a child process has one, between fork(2) and the start of its program.
fn a_stop_ends_a_listener_of_which_there_is_a_copy(backend: Backend) {
    let listener =
        Listener::bind("127.0.0.1:0".parse().unwrap(), Sharing::Found, &SocketSettings::default());
    let listener = listener.unwrap();
    let address = listener.local();
    let copy = listener.as_fd().try_clone_to_owned().unwrap();
    let stop = Stop::new().unwrap();
    let mut reactor = reactor(backend, stop.clone()).unwrap();
    reactor.listen(listener).unwrap();
    let mut refused = None;
    let mut end_point = scripted(|desk, seen| {
        if seen == Seen::Stop {
            refused = TcpStream::connect(address).err();
            desk.act(Action::Finish);
        }
    });
    // A reactor that starts later sees it.
    stop.stop();
    reactor.run(&mut end_point).unwrap();
    assert_eq!(refused.unwrap().kind(), ErrorKind::ConnectionRefused);
    drop(copy);
}

fn a_stop_accepts_all_connections_that_wait(backend: Backend) {
    let listener =
        Listener::bind("127.0.0.1:0".parse().unwrap(), Sharing::Found, &SocketSettings::default());
    let listener = listener.unwrap();
    let address = listener.local();
    let stop = Stop::new().unwrap();
    let mut reactor = reactor(backend, stop.clone()).unwrap();
    reactor.listen(listener).unwrap();
    let waiting: Vec<_> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut accepted = 0;
    let mut end_point = scripted(|desk, seen| match seen {
        Seen::Accepted(_) => accepted += 1,
        Seen::Stop => desk.act(Action::Finish),
        _ => {}
    });
    stop.stop();
    reactor.run(&mut end_point).unwrap();
    drop(end_point);
    assert_eq!(accepted, waiting.len());
}
