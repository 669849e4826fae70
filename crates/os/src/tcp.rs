//! TCP sockets: listeners, connects, options, and the values that the kernel uses. The one rule: every option that is
//! set can be read back ([`TcpFacts`]).
#![allow(unsafe_code)]

pub(crate) mod address;
mod facts;
mod fast_open;
pub(crate) mod option;
mod stream;

pub use facts::TcpFacts;
pub(crate) use facts::{acknowledged, round_trip};
pub use fast_open::fetch_cookie;
pub use option::probe_congestion_control;
pub(crate) use stream::{
    Calls, Connect, connect, discard, end, is_queue_empty, receive, reset_on_close, send, send_fin,
    set_calls, take_error, unsent,
};

use crate::error::Os;
use endpoint::{Acks, SocketSettings};
pub(crate) use option::{acknowledge_quickly, segment, set_cork, set_unsent_low_water};
use option::{apply, set};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Connections that may wait to be accepted; the kernel caps it at net.core.somaxconn.
const BACKLOG: libc::c_int = 4096;

const LOW_PORT: &str = "ports below 1024 need a privilege: choose a higher port, \
                        or lower `sysctl net.ipv4.ip_unprivileged_port_start`";

/// Whether several listeners share one address, each with a share of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The address is for this listener, and for others that join it.
    Found,
    /// It joins listeners of this user at the same address (SO_REUSEPORT).
    Join,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    local: SocketAddr,
    unsent_low_water: u32,
    acks: Acks,
}

impl Listener {
    /// Listens on `address`; port 0 takes a free port. Accepted sockets inherit `settings`.
    pub fn bind(
        address: SocketAddr,
        sharing: Sharing,
        settings: &SocketSettings,
    ) -> Result<Self, Os> {
        Self::bound(address, sharing, settings).map_err(|source| {
            let denied = source.kind() == io::ErrorKind::PermissionDenied;
            let error = Os::new(format!("listen on {address}"), source);
            if denied { error.with_remedy(LOW_PORT) } else { error }
        })
    }

    /// `count` listeners on one address, one for each thread: the kernel spreads connections over them.
    pub fn bind_all(
        address: SocketAddr,
        count: usize,
        settings: &SocketSettings,
    ) -> Result<Vec<Self>, Os> {
        let mut listeners = Vec::with_capacity(count);
        let mut address = address;
        for index in 0..count {
            let sharing = if index == 0 { Sharing::Found } else { Sharing::Join };
            let listener = Self::bind(address, sharing, settings)?;
            address = listener.local;
            listeners.push(listener);
        }
        Ok(listeners)
    }

    /// Takes over a socket that listens already (handed down by a parent).
    pub fn from_fd(fd: OwnedFd) -> Result<Self, Os> {
        let adopt = |fd: &OwnedFd| {
            stream::set_calls(fd.as_fd(), Calls::Return)?;
            let low_water = option::unsent_low_water(fd.as_fd())?;
            address::local(fd.as_fd()).map(|local| (local, low_water))
        };
        let (local, unsent_low_water) =
            adopt(&fd).map_err(|source| Os::new("take over a listening socket", source))?;
        Ok(Self { fd, local, unsent_low_water, acks: Acks::default() })
    }

    /// Where it listens, with the port that the kernel chose.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// TCP_NOTSENT_LOWAT of what it accepts.
    pub(crate) fn unsent_low_water(&self) -> u32 {
        self.unsent_low_water
    }

    /// How what it accepts acknowledges.
    pub(crate) fn acks(&self) -> Acks {
        self.acks
    }

    /// Takes one connection that waits.
    pub(crate) fn accept(&self) -> io::Result<(OwnedFd, SocketAddr, SocketAddr)> {
        let mut storage = address::Storage::empty();
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let (pointer, length) = storage.as_mut_ptr();
        // SAFETY: `pointer` and `length` describe storage that lives through the call.
        let fd = unsafe { libc::accept4(self.fd.as_raw_fd(), pointer, length, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let remote = storage.address()?;
        let local = match self.local.ip().is_unspecified() {
            true => address::local(fd.as_fd())?,
            false => self.local,
        };
        Ok((fd, local, remote))
    }

    fn bound(address: SocketAddr, sharing: Sharing, settings: &SocketSettings) -> io::Result<Self> {
        let fd = stream::socket(address)?;
        set(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32)?;
        if address.is_ipv6() {
            // One family for each address: a listener on [::] leaves 0.0.0.0 to another.
            set(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1i32)?;
        }
        let share = || set(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEPORT, &1i32);
        if sharing == Sharing::Join {
            share()?;
        }
        address::bind(fd.as_fd(), address)?;
        if sharing == Sharing::Found {
            // Set after the bind, so that a port shared by another process counts as in use.
            share()?;
        }
        apply(fd.as_fd(), address, settings)?;
        fast_open::on_listen(fd.as_fd(), settings)?;
        // SAFETY: a plain call on an open descriptor.
        if unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let local = address::local(fd.as_fd())?;
        Ok(Self { fd, local, unsent_low_water: settings.unsent_low_water, acks: settings.acks })
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> Self {
        listener.fd
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
