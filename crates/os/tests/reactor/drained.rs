//! `Action::AwaitDrained`: an end point learns that all input has been read.

use crate::script::{Seen, desk_with, listening, scripted, scripted_from};
use crate::{SOCKET, connect_to, lonely};
use endpoint::Action;
use os::reactor::Backend;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

with_each_backend! {
    all_that_had_arrived_comes_before_the_socket_is_drained
    a_socket_is_drained_as_often_as_it_asks
    a_socket_that_asks_while_it_connects_is_drained_once_it_is_connected
    a_socket_that_has_ended_is_not_drained
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
