//! Socket addresses as the kernel writes them.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Memory for a socket address of any family.
pub(super) struct Storage {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Storage {
    /// An empty address for the kernel to fill.
    pub(super) fn empty() -> Self {
        // SAFETY: sockaddr_storage is plain data for which all zeros is a value (AF_UNSPEC).
        let storage = unsafe { mem::zeroed() };
        Self { storage, length: mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    /// Pointers for the calls that fill it.
    pub(super) fn as_mut_ptr(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        ((&raw mut self.storage).cast(), &raw mut self.length)
    }

    /// What the kernel wrote.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that the storage holds a sockaddr_in, which is smaller.
                let v4: libc::sockaddr_in = unsafe { mem::transmute_copy(&self.storage) };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that the storage holds a sockaddr_in6, which is smaller.
                let v6: libc::sockaddr_in6 = unsafe { mem::transmute_copy(&self.storage) };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Ok(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
        }
    }
}

/// Calls `call` with `address` as the kernel reads it.
pub(super) fn with_sockaddr<T>(
    address: SocketAddr,
    call: impl FnOnce(*const libc::sockaddr, libc::socklen_t) -> T,
) -> T {
    match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            call((&raw const raw).cast(), mem::size_of_val(&raw) as libc::socklen_t)
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            call((&raw const raw).cast(), mem::size_of_val(&raw) as libc::socklen_t)
        }
    }
}

/// Binds the socket to `address`.
pub(crate) fn bind(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    let result = with_sockaddr(address, |pointer, length| {
        // SAFETY: `pointer` is good for `length` bytes through the call.
        unsafe { libc::bind(fd.as_raw_fd(), pointer, length) }
    });
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Connects a datagram socket to `address`, which sends nothing.
pub(crate) fn connect(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    let result = with_sockaddr(address, |pointer, length| {
        // SAFETY: `pointer` is good for `length` bytes through the call.
        unsafe { libc::connect(fd.as_raw_fd(), pointer, length) }
    });
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The socket's own address.
pub(crate) fn local(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let mut storage = Storage::empty();
    let (pointer, length) = storage.as_mut_ptr();
    // SAFETY: `pointer` and `length` describe storage that lives through the call.
    if unsafe { libc::getsockname(fd.as_raw_fd(), pointer, length) } < 0 {
        return Err(io::Error::last_os_error());
    }
    storage.address()
}
