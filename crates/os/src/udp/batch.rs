//! Datagrams on their way to the kernel. The one rule: where the kernel has no space, datagrams wait. A datagram that
//! it refuses is lost, as on the path, and counted.

use super::DatagramSocket;
use endpoint::DatagramTransmit;
use std::io;

/// The most bytes of datagrams that one call sends: together they must fit into an IPv4 packet (65,535 bytes with its
/// headers).
const LARGEST: usize = 65_507;

/// Counts of datagrams: received, sent, and refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatagramCounters {
    /// Datagrams that were received.
    pub received: u64,
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Datagrams larger than the device's or the route's MTU (EMSGSIZE). They were not sent. Probes of the path's MTU
    /// end like this.
    pub too_large: u64,
    /// Datagrams that the kernel refused for any other reason, such as a network without a route (ENETUNREACH). They
    /// were not sent.
    pub refused: u64,
}

/// How far a batch came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it is sent or lost.
    Done,
    /// The kernel has no space for more now.
    Blocked,
}

/// Datagrams to one destination. All but the last have one size.
#[derive(Debug)]
pub(crate) struct SendBatch {
    transmit: DatagramTransmit,
    contents: Vec<u8>,
    /// Bytes of `contents` that are done with.
    done: usize,
}

impl SendBatch {
    pub(crate) fn new(transmit: DatagramTransmit, contents: Vec<u8>) -> Self {
        Self { transmit, contents, done: 0 }
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.contents.len()
    }

    /// Its buffer, emptied.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        let mut buffer = self.contents;
        buffer.clear();
        buffer
    }

    /// Sends what is left, in as few calls as the kernel allows.
    pub(crate) fn send(
        &mut self,
        socket: &DatagramSocket,
        counters: &mut DatagramCounters,
    ) -> Progress {
        let mut had_pending_error = false;
        while self.done < self.contents.len() {
            let segment = self.segment();
            let part = self.next_part(segment, socket.max_segments());
            let count = part.len().div_ceil(segment) as u64;
            let is_batch = count > 1;
            let transmit =
                DatagramTransmit { segment_size: is_batch.then_some(segment), ..self.transmit };
            let length = part.len();
            // The kernel refuses port 0 with EINVAL. `quinn-udp` would take that for a device that does not segment.
            let sent = match self.transmit.remote.port() {
                0 => Err(io::ErrorKind::InvalidInput.into()),
                _ => socket.send(&transmit, part),
            };
            let errno = match sent {
                Ok(()) => {
                    counters.sent += count;
                    self.done += length;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Progress::Blocked;
                }
                Err(error) => error.raw_os_error(),
            };
            match errno {
                // An earlier datagram may have caused an ICMP message, which this call reported instead of sending.
                Some(errno) if socket.is_connected() && !had_pending_error && is_of_icmp(errno) => {
                    had_pending_error = true;
                }
                // The device does not segment. `quinn-udp` sets `max_segments` to 1 then.
                Some(libc::EIO | libc::EINVAL) if is_batch && socket.max_segments() == 1 => {}
                errno => {
                    let lost = match errno {
                        Some(libc::EMSGSIZE) => &mut counters.too_large,
                        _ => &mut counters.refused,
                    };
                    *lost += count;
                    self.done += length;
                }
            }
        }
        Progress::Done
    }

    /// Bytes of each datagram but the last.
    fn segment(&self) -> usize {
        self.transmit.segment_size.unwrap_or(self.contents.len()).clamp(1, self.contents.len())
    }

    /// What the next call sends.
    fn next_part(&self, segment: usize, max_segments: usize) -> &[u8] {
        let rest = &self.contents[self.done..];
        let segments = (LARGEST / segment).clamp(1, max_segments.max(1));
        &rest[..rest.len().min(segments * segment)]
    }
}

/// Whether an ICMP message about an earlier datagram may have set this error (icmp_err_convert in net/ipv4/icmp.c, tab_unreach in
/// net/ipv6/icmp.c).
pub(crate) fn is_of_icmp(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::ENOPROTOOPT
            | libc::EACCES
            | libc::EPROTO
            | libc::EMSGSIZE
            | libc::EOPNOTSUPP
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Sharing, option};
    use endpoint::DatagramSettings;
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsFd;

    fn socket() -> DatagramSocket {
        let any = ([127, 0, 0, 1], 0).into();
        DatagramSocket::bind(any, Sharing::Found, &DatagramSettings::default()).unwrap()
    }

    fn peer() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }

    fn to(remote: SocketAddr) -> DatagramTransmit {
        DatagramTransmit { remote, local: None, ecn: None, segment_size: None }
    }

    fn batch(peer: &UdpSocket, contents: Vec<u8>, segment_size: Option<usize>) -> SendBatch {
        let transmit = DatagramTransmit { segment_size, ..to(peer.local_addr().unwrap()) };
        SendBatch::new(transmit, contents)
    }

    fn received(peer: &UdpSocket, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 2_000];
        for _ in 0..count {
            let length = peer.recv(&mut buffer).unwrap();
            all.extend_from_slice(&buffer[..length]);
        }
        all
    }

    #[test]
    fn more_than_an_ip_packet_holds_is_sent_in_several_calls() {
        let (socket, peer) = (socket(), peer());
        let contents: Vec<u8> = (0..64 * 1_472 - 7).map(|n| (n % 251) as u8).collect();
        let mut batch = batch(&peer, contents.clone(), Some(1_472));
        let mut counters = DatagramCounters::default();
        assert_eq!(batch.send(&socket, &mut counters), Progress::Done);
        assert_eq!(counters, DatagramCounters { sent: 64, ..DatagramCounters::default() });
        assert_eq!(received(&peer, 64), contents);
    }

    #[test]
    fn a_kernel_that_does_not_segment_gets_single_datagrams() {
        let (socket, peer) = (socket(), peer());
        // The kernel refuses to segment without checksums: EINVAL (udp_send_skb).
        option::set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, &1_i32).unwrap();
        let contents: Vec<u8> = (0..4_500).map(|n| (n % 251) as u8).collect();
        let mut batch = batch(&peer, contents.clone(), Some(1_000));
        let mut counters = DatagramCounters::default();
        assert!(socket.max_segments() > 1);
        assert_eq!(batch.send(&socket, &mut counters), Progress::Done);
        assert_eq!(socket.max_segments(), 1);
        assert_eq!(counters, DatagramCounters { sent: 5, ..DatagramCounters::default() });
        assert_eq!(received(&peer, 5), contents);
    }

    #[test]
    fn a_datagram_that_is_too_large_is_counted_and_the_next_is_sent() {
        let (socket, peer) = (socket(), peer());
        let mut counters = DatagramCounters::default();
        for contents in [vec![0; 65_600], vec![7; 10]] {
            let mut batch = batch(&peer, contents, None);
            assert_eq!(batch.send(&socket, &mut counters), Progress::Done);
        }
        let expected = DatagramCounters { sent: 1, too_large: 1, ..DatagramCounters::default() };
        assert_eq!(counters, expected);
        assert_eq!(received(&peer, 1), [7; 10]);
    }

    /// What the kernel tells of an earlier datagram costs none that comes after it.
    #[test]
    fn a_pending_error_of_icmp_does_not_cost_the_next_batch() {
        let peer = peer();
        let remote = peer.local_addr().unwrap();
        let settings = DatagramSettings { remote: Some(remote), ..DatagramSettings::default() };
        let any = ([127, 0, 0, 1], 0).into();
        let socket = DatagramSocket::bind(any, Sharing::Found, &settings).unwrap();
        drop(peer);
        let mut counters = DatagramCounters::default();
        let mut refused = SendBatch::new(to(remote), vec![0; 10]);
        assert_eq!(refused.send(&socket, &mut counters), Progress::Done);
        let peer = UdpSocket::bind(remote).unwrap();
        let mut next = SendBatch::new(to(remote), vec![7; 10]);
        assert_eq!(next.send(&socket, &mut counters), Progress::Done);
        assert_eq!((counters.sent, counters.refused), (2, 0));
        assert_eq!(received(&peer, 1), [7; 10]);
    }

    #[test]
    fn a_refused_destination_is_counted() {
        let (socket, peer) = (socket(), peer());
        let mut batch = batch(&peer, vec![0; 10], None);
        // A socket of loopback has no way out of it.
        batch.transmit.remote = ([192, 0, 2, 1], 9).into();
        let mut counters = DatagramCounters::default();
        assert_eq!(batch.send(&socket, &mut counters), Progress::Done);
        assert_eq!(counters, DatagramCounters { refused: 1, ..DatagramCounters::default() });
    }

    #[test]
    fn a_peer_with_port_0_does_not_end_segmentation() {
        let (socket, peer) = (socket(), peer());
        let mut batch = batch(&peer, vec![0; 30], Some(10));
        batch.transmit.remote.set_port(0);
        let mut counters = DatagramCounters::default();
        assert_eq!(batch.send(&socket, &mut counters), Progress::Done);
        assert_eq!(counters, DatagramCounters { refused: 3, ..DatagramCounters::default() });
        assert!(socket.max_segments() > 1);
    }
}
