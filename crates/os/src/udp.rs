//! UDP sockets, read and written in batches (GSO, GRO).
//!
//! `quinn-udp` makes the system calls. It asks the kernel for the ECN codepoint and the destination address of what
//! arrives, and forbids fragments.
#![allow(unsafe_code)]

mod arena;
mod batch;
mod steering;

pub(crate) use arena::ReceiveArena;
pub use batch::DatagramCounters;
pub(crate) use batch::{Progress, SendBatch, is_of_icmp};

use crate::error::Os;
use crate::tcp::option::set;
use crate::tcp::{Sharing, address};
use endpoint::{DatagramSettings, DatagramTransmit, Ecn, ReceivedDatagrams};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// A UDP socket that is bound, and connected where its settings name a peer.
#[derive(Debug)]
pub struct DatagramSocket {
    fd: OwnedFd,
    state: UdpSocketState,
    local: SocketAddr,
    is_connected: bool,
}

/// What to do where another program has the port.
const IN_USE: &str = "another program has that UDP port (see `ss -lunp`): stop it or choose another port; 0 takes a free one";

impl DatagramSocket {
    /// Binds a socket to `address`; port 0 takes a free port. One on `[::]` leaves 0.0.0.0 to another.
    pub fn bind(
        address: SocketAddr,
        sharing: Sharing,
        settings: &DatagramSettings,
    ) -> Result<Self, Os> {
        Self::open(address, sharing, settings).map_err(|source| {
            let is_taken = source.kind() == io::ErrorKind::AddrInUse;
            let error = Os::new(format!("bind a UDP socket to {address}"), source);
            if is_taken { error.with_remedy(IN_USE) } else { error }
        })
    }

    /// `count` sockets on one address, one for each thread: 256 at most. The kernel spreads peers over them by their addresses; a
    /// QUIC packet with a short header goes to the socket whose number is the first byte of its connection ID, so that a connection
    /// keeps its thread when its client's address changes.
    pub fn bind_all(
        address: SocketAddr,
        count: usize,
        settings: &DatagramSettings,
    ) -> Result<Vec<Self>, Os> {
        let mut sockets: Vec<Self> = Vec::with_capacity(count);
        for _ in 0..count {
            let socket = match sockets.first() {
                None => Self::bind(address, Sharing::Found, settings)?,
                Some(first) => Self::bind(first.local, Sharing::Join, settings)?,
            };
            sockets.push(socket);
        }
        if let [first, _, ..] = &sockets[..] {
            steering::attach(first.as_fd()).map_err(|source| {
                Os::new(format!("steer QUIC's packets to the sockets at {address}"), source)
                    .with_remedy("this kernel refuses SO_ATTACH_REUSEPORT_CBPF (Linux 4.5 has it): serve with --threads 1")
            })?;
        }
        Ok(sockets)
    }

    /// Its address, with the port that the kernel chose.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether it has one peer alone.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Datagrams that one call can send: 1 where the kernel, or the device, does not segment (UDP GSO).
    pub(crate) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Receives one datagram, or several of one size from one peer where the kernel joined them (UDP GRO).
    pub(crate) fn receive(&self, arena: &mut ReceiveArena) -> io::Result<ReceivedDatagrams> {
        let mut meta = [RecvMeta::default()];
        let mut buffers = [IoSliceMut::new(arena.buffer())];
        self.state.recv(UdpSockRef::from(&self.fd), &mut buffers, &mut meta)?;
        let [RecvMeta { addr, len, stride, ecn, dst_ip }] = meta;
        Ok(ReceivedDatagrams {
            remote: addr,
            local: dst_ip,
            ecn: ecn.map(from_codepoint),
            stride,
            data: arena.take(len),
        })
    }

    /// Sends `contents`, cut into datagrams by `transmit.segment_size`, in one call.
    fn send(&self, transmit: &DatagramTransmit, contents: &[u8]) -> io::Result<()> {
        let &DatagramTransmit { remote, local, ecn, segment_size } = transmit;
        let transmit = Transmit {
            destination: remote,
            ecn: ecn.map(codepoint),
            contents,
            segment_size,
            src_ip: local,
        };
        self.state.try_send(UdpSockRef::from(&self.fd), &transmit)
    }

    fn open(
        address: SocketAddr,
        sharing: Sharing,
        settings: &DatagramSettings,
    ) -> io::Result<Self> {
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain call without pointers.
        let fd = unsafe { libc::socket(family, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let option = |level, name, value: i32| set(fd.as_fd(), level, name, &value);
        let size = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
        option(libc::SOL_SOCKET, libc::SO_RCVBUF, size(settings.receive_buffer))?;
        option(libc::SOL_SOCKET, libc::SO_SNDBUF, size(settings.send_buffer))?;
        if address.is_ipv6() {
            option(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
        }
        if sharing == Sharing::Join {
            option(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        address::bind(fd.as_fd(), address)?;
        if sharing == Sharing::Found {
            // Set after the bind, so that a port which another process shares counts as in use.
            option(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        if let Some(remote) = settings.remote {
            address::connect(fd.as_fd(), remote)?;
        }
        let local = address::local(fd.as_fd())?;
        let state = UdpSocketState::new(UdpSockRef::from(&fd))?;
        Ok(Self { fd, state, local, is_connected: settings.remote.is_some() })
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<DatagramSocket> for OwnedFd {
    fn from(socket: DatagramSocket) -> Self {
        socket.fd
    }
}

fn codepoint(ecn: Ecn) -> EcnCodepoint {
    match ecn {
        Ecn::Ect0 => EcnCodepoint::Ect0,
        Ecn::Ect1 => EcnCodepoint::Ect1,
        Ecn::Ce => EcnCodepoint::Ce,
    }
}

fn from_codepoint(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}
