//! Batches that are taken while input is handed over, where the end point has much to send.

use crate::datagram_script::{Desk, Received, Seen, peer};
use crate::{bound, reactor, receive, to, with_each_backend};
use endpoint::{Action, DatagramTransmit};
use os::reactor::Backend;
use std::net::UdpSocket;
use std::time::Duration;

with_each_backend! {
    where_much_is_to_be_sent_it_is_made_before_more_is_read
    so_many_batches_that_wait_are_sent_before_more_is_read
    what_waits_is_sent_when_the_end_point_finishes
}

/// Whether a datagram waits in a plain socket.
fn has_datagram(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).unwrap();
    let looked = socket.peek_from(&mut [0]);
    socket.set_nonblocking(false).unwrap();
    looked.is_ok()
}

/// So many plain sockets send a byte each, and the end point sends it back, as far as `handle` tells it: it is called first for each
/// datagram, with how many came before. The reactor has ended when this returns.
fn answer_each(
    backend: Backend,
    count: usize,
    mut handle: impl FnMut(&mut Desk, &[UdpSocket], usize) -> bool,
) -> Vec<UdpSocket> {
    let socket = bound("127.0.0.1:0");
    let peers: Vec<_> = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for peer in &peers {
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        peer.send_to(b"1", socket.local()).unwrap();
    }
    let (mut reactor, _stop) = reactor(backend);
    reactor.listen_datagrams(socket);
    let mut received = 0;
    let mut end_point = peer(|desk, seen| match seen {
        Seen::Received(Received { remote, data, .. }) => {
            let answers = handle(desk, &peers, received);
            received += 1;
            if answers {
                desk.send(DatagramTransmit { segment_size: None, ..to(remote) }, &data);
                desk.finish_when_sent = received == count;
            }
        }
        Seen::Bound(..) | Seen::Started => {}
        other => panic!("{other:?}"),
    });
    reactor.run(&mut end_point).unwrap();
    peers
}

fn are_answered(peers: &[UdpSocket]) {
    for peer in peers {
        assert_eq!(receive(peer, &mut [0; 10]).0, 1);
    }
}

fn where_much_is_to_be_sent_it_is_made_before_more_is_read(backend: Backend) {
    // When a datagram comes, so many answers to those before it have been made.
    for (has_much_to_send, made) in [(true, [0, 1, 2]), (false, [0, 0, 0])] {
        let peers = answer_each(backend, 3, |desk, peers, received| {
            assert_eq!(desk.made, made[received]);
            assert!(!peers.iter().any(has_datagram), "what is made waits for the others");
            desk.has_much_to_send = has_much_to_send;
            true
        });
        are_answered(&peers);
    }
}

fn so_many_batches_that_wait_are_sent_before_more_is_read(backend: Backend) {
    let peers = answer_each(backend, 30, |desk, peers, received| {
        assert_eq!(desk.made, received);
        let sent = if received < 16 { 0 } else { 16 };
        for peer in &peers[..sent] {
            assert_eq!(peer.peek_from(&mut [0]).unwrap().0, 1);
        }
        assert!(!peers[sent..].iter().any(has_datagram));
        desk.has_much_to_send = true;
        true
    });
    are_answered(&peers);
}

fn what_waits_is_sent_when_the_end_point_finishes(backend: Backend) {
    let peers = answer_each(backend, 5, |desk, _, received| {
        desk.has_much_to_send = true;
        if received < 4 {
            return true;
        }
        // Four wait for the end of this turn. It does not close its socket first.
        assert_eq!(desk.made, 4);
        desk.act(Action::Finish);
        false
    });
    are_answered(&peers[..4]);
}
