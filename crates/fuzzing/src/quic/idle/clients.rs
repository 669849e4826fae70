//! Clients with a connection each, as one end point. They speak HTTP/3 by hand.

use crate::quic::peer::Peer;
use crate::quic::tampering::SharedPlan;
use endpoint::{
    Action, Bound, DatagramTransmit, EndPoint, ReceivedDatagrams, SendBuf, SocketError, SocketId,
};
use quinn_proto::{Dir, StreamId, VarInt};
use secure::QuicClientTls;
use std::net::SocketAddr;
use std::sync::Arc;
use unit::Instant;

/// The clients; the socket of each has its number.
pub(super) struct Clients(Vec<Peer>);

impl Clients {
    pub(super) fn new(count: usize, tls: &Arc<QuicClientTls>) -> Self {
        Self((0..count).map(|_| Peer::new(Arc::clone(tls), SharedPlan::default())).collect())
    }

    /// One opens its control and QPACK streams and makes a request.
    pub(super) fn ask(&mut self, number: usize) {
        let peer = &mut self.0[number];
        assert!(peer.is_connected, "{:?}", peer.ended);
        for bytes in [CONTROL, &[ENCODER], &[DECODER]] {
            peer.open(Dir::Uni, bytes);
        }
        let request = peer.open(Dir::Bi, REQUEST);
        peer.finish(request);
    }

    /// One sends a packet with nothing but a PING.
    pub(super) fn ping(&mut self, number: usize) {
        self.0[number].send_frames(&[1; 20]);
    }

    /// Each has its answer, and its connection stands.
    pub(super) fn check(&mut self) {
        for peer in &self.0 {
            let request = StreamId::from(VarInt::from_u32(0));
            assert!(peer.streams[&request].is_finished, "no answer");
            assert_eq!(peer.ended, None);
        }
    }
}

/// The type of a control stream, and SETTINGS as of nghttp3: a table of 4,096 bytes, 100 blocked streams (RFC 9204 §5).
const CONTROL: &[u8] = b"\x00\x04\x06\x01\x50\x00\x07\x40\x64";
const ENCODER: u8 = 2;
const DECODER: u8 = 3;

/// HEADERS: GET https://a.test/a by names of the static table (RFC 9204 §4.5).
const REQUEST: &[u8] = b"\x01\x10\0\0\xd1\xd7\x50\x06a.test\x51\x02/a";

impl EndPoint for Clients {
    fn handle_connected(&mut self, _now: Instant, _socket: SocketId, _local: SocketAddr) {}

    fn handle_bytes(&mut self, _now: Instant, _socket: SocketId, _bytes: &[u8]) {}

    fn handle_eof(&mut self, _now: Instant, _socket: SocketId) {}

    fn handle_error(&mut self, _now: Instant, _socket: SocketId, error: SocketError) {
        panic!("{error}");
    }

    fn handle_bound(&mut self, _now: Instant, _bound: Bound) -> Option<SocketId> {
        None
    }

    fn handle_datagrams(&mut self, now: Instant, socket: SocketId, received: ReceivedDatagrams) {
        self.0[socket.0].handle_datagrams(now, SocketId(0), received);
    }

    fn poll_transmit(&mut self, _: Instant, _: SocketId, _: &mut SendBuf, _: usize) {}

    fn poll_datagrams(
        &mut self,
        now: Instant,
        socket: SocketId,
        out: &mut Vec<u8>,
        max_datagrams: usize,
    ) -> Option<DatagramTransmit> {
        self.0[socket.0].poll_datagrams(now, SocketId(0), out, max_datagrams)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for peer in &mut self.0 {
            if peer.poll_timeout().is_some_and(|at| at <= now) {
                peer.handle_timeout(now);
            }
        }
    }

    fn handle_stop(&mut self, _now: Instant) {}

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.0.iter_mut().filter_map(Peer::poll_timeout).min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        let mut all = self.0.iter_mut().enumerate();
        all.find_map(|(number, peer)| {
            Some(match peer.poll_action()? {
                Action::Bind { local, settings, .. } => {
                    Action::Bind { socket: SocketId(number), local, settings }
                }
                Action::Transmit(_) => Action::Transmit(SocketId(number)),
                other => other,
            })
        })
    }
}
