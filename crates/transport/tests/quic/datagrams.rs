//! DATAGRAM frames (RFC 9221): both ways where both sides take them, and none where they are not offered.

use super::{Pair, pair, settings};
use bytes::Bytes;
use std::time::Duration;
use transport::{Datagrams, QuicSettings};

/// A pair of which the client has had its answer, with this setting on both sides.
fn opened(datagrams: Datagrams) -> Pair {
    let mut pair = pair("rtt=10ms", &QuicSettings { datagrams, ..settings() }, &[100]);
    pair.run(1);
    pair
}

impl Pair {
    /// The largest datagram that the client may send.
    fn most(&self) -> Option<usize> {
        let near = self.world.end_point(self.near);
        let connection = near.connections.values().next().unwrap();
        connection.ready_machine().unwrap().max_datagram
    }

    /// Has the client send these. What has come to it and to the server a second later.
    fn exchange(&mut self, datagrams: Vec<Bytes>) -> [Vec<Bytes>; 2] {
        let now = self.world.now();
        self.world.with(self.near, |near| {
            near.command(now, |machine| machine.datagrams_out.extend(datagrams));
        });
        self.world.run_for(Duration::from_secs(1));
        let near = self.world.end_point(self.near).connections.values().next().unwrap();
        let far = self.world.end_point(self.far).connections.values().next().unwrap();
        [near.ready_machine(), far.ready_machine()].map(|toy| toy.unwrap().datagrams_in.clone())
    }
}

#[test]
fn datagrams_go_both_ways_each_as_large_as_peer_and_path_take() {
    let mut pair = opened(Datagrams::On);
    let most = pair.most().unwrap();
    assert!((1_100..1_200).contains(&most), "{most}");
    let datagram = |length| Bytes::from(vec![b'd'; length]);
    let sent = [1, 100, most].map(datagram).to_vec();
    // The server sends back what comes.
    let came = pair.exchange([sent.clone(), vec![datagram(most + 1)]].concat());
    assert_eq!(came, [sent.clone(), sent]);
}

#[test]
fn where_none_are_offered_none_are_sent() {
    let mut pair = opened(Datagrams::Off);
    assert_eq!(pair.most(), None);
    assert_eq!(pair.exchange(vec![Bytes::from_static(b"d")]), [Vec::<Bytes>::new(), Vec::new()]);
}
