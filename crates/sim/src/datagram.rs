//! Datagram sockets. The one rule: every datagram of a batch is a packet of its own on the link.

use crate::host::{HostId, HostState, Socket};
use crate::packet::{Datagram, Packet};
use crate::path::{PathId, Route};
use crate::world::World;
use crate::write::unrecorded;
use bytes::{Bytes, BytesMut};
use endpoint::{DatagramTransmit, ReceivedDatagrams, SocketError, SocketId};
use std::net::SocketAddr;
use trace::PacketRecord;

/// The most datagrams that an end point gives at a time (UDP_MAX_SEGMENTS of Linux).
const BATCH: usize = 64;

/// EADDRINUSE of Linux.
const ADDRESS_IN_USE: i32 = 98;

/// The first port that a socket bound to port 0 may get.
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

impl World {
    pub(crate) fn bind(&mut self, host: HostId, socket: SocketId, mut local: SocketAddr) {
        let state = &mut self.hosts[host.0];
        let is_used = |state: &HostState, port: u16| {
            let port_of = |socket: &Socket| match socket {
                Socket::Datagram { local } => local.port() == port,
                Socket::Stream(_) => false,
            };
            state.sockets.values().any(port_of)
        };
        if local.port() == 0 {
            let free = (FIRST_EPHEMERAL_PORT..=u16::MAX).find(|&port| !is_used(state, port));
            local.set_port(free.unwrap_or(FIRST_EPHEMERAL_PORT));
        }
        if is_used(state, local.port()) {
            let error = SocketError::Os(ADDRESS_IN_USE);
            return state.end_point.handle_error(self.now, socket, error);
        }
        state.sockets.insert(socket, Socket::Datagram { local });
    }

    /// Asks an end point for datagrams until it has no more of them.
    pub(crate) fn send_datagrams(&mut self, host: HostId, socket: SocketId, local: SocketAddr) {
        let mut out = Vec::new();
        loop {
            if self.hosts[host.0].blocks_writes {
                return;
            }
            out.clear();
            let end_point = &mut self.hosts[host.0].end_point;
            let transmit = end_point.poll_datagrams(self.now, socket, &mut out, BATCH);
            let Some(transmit) = transmit else { return };
            let goes_on = end_point.wants_transmit(socket);
            self.send_batch(host, local, &transmit, &out);
            if !goes_on {
                return;
            }
        }
    }

    fn send_batch(
        &mut self,
        host: HostId,
        local: SocketAddr,
        transmit: &DatagramTransmit,
        data: &[u8],
    ) {
        let destination = transmit.remote;
        let Some((_, path)) = self.find_datagram_host(host, destination) else { return };
        let bound = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        let ip = transmit.local.or(bound);
        let ip = ip.or_else(|| self.hosts[host.0].address_towards(destination.ip()));
        let source = (ip.unwrap_or(local.ip()), local.port()).into();
        let direction = self.routes[path.0].direction_from(host);
        let segment = transmit.segment_size.unwrap_or(data.len()).max(1);
        for data in data.chunks(segment) {
            let data = Bytes::copy_from_slice(data);
            let ecn = transmit.ecn;
            let mut datagram = Datagram { source, destination, ecn, data, is_mapped: true };
            if let Some(nat) = &mut self.routes[path.0].nat {
                datagram.is_mapped = nat.translate(self.now, direction, &mut datagram);
            }
            let (length, flow, udp) = (datagram.length(), datagram.flow(), datagram.mark());
            let record = PacketRecord {
                flow: Some(flow),
                udp: Some(udp),
                ..unrecorded(self.now, direction, length)
            };
            self.send_packet(path, direction, Packet::Datagram(datagram), record);
        }
    }

    fn find_datagram_host(&self, from: HostId, to: SocketAddr) -> Option<(HostId, PathId)> {
        let behind = |route: &Route| route.nat.as_ref()?.behind(to.ip());
        let ip = self.routes.iter().find_map(behind).unwrap_or(to.ip());
        let has = |host: &HostId| self.hosts[host.0].addresses.contains(&ip);
        let far = (0..self.hosts.len()).map(HostId).find(has)?;
        let path = self.routes.iter().position(|route| route.joins(from, far))?;
        Some((far, PathId(path)))
    }

    /// A datagram for which nobody listens is dropped.
    pub(crate) fn datagram_arrives(&mut self, datagram: Datagram) {
        let to = datagram.destination;
        let takes = |socket: &Socket| match socket {
            Socket::Datagram { local } => {
                local.port() == to.port() && (local.ip() == to.ip() || local.ip().is_unspecified())
            }
            Socket::Stream(_) => false,
        };
        for index in 0..self.hosts.len() {
            let host = &self.hosts[index];
            if !host.addresses.contains(&to.ip()) {
                continue;
            }
            let found = host.sockets.iter().find(|(_, socket)| takes(socket));
            let Some((&socket, _)) = found else { continue };
            let data = BytesMut::from(&datagram.data[..]);
            let received = ReceivedDatagrams {
                remote: datagram.source,
                local: Some(to.ip()),
                ecn: datagram.ecn,
                stride: data.len(),
                data,
            };
            return self.input(HostId(index), |end_point, now| {
                end_point.handle_datagrams(now, socket, received);
            });
        }
    }
}
