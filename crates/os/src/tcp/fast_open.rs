//! TCP Fast Open (RFC 7413): data in the SYN, for clients that have connected before. The kernel keeps the cookie that
//! a server gave. A new namespace has none, so an earlier connection fetches one.

use super::option::set;
use super::stream::{Connect, connect, receive, send_fin, take_error};
use crate::clock;
use crate::descriptor::wait_for;
use crate::error::Os;
use endpoint::{FastOpen, SocketSettings};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// SYNs with data that may wait for the rest of their handshake.
const PENDING: i32 = 4096;

/// Set on a connecting socket. Where the kernel has a cookie, connect returns at once and the first write goes with the
/// SYN. Otherwise the SYN asks for a cookie.
pub(super) fn on_connect(fd: BorrowedFd<'_>, settings: &SocketSettings) -> io::Result<()> {
    match settings.fast_open {
        FastOpen::Off => Ok(()),
        FastOpen::On => set(fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &1i32),
    }
}

/// Set on a listening socket: it accepts data in a SYN with a cookie, and gives cookies.
pub(super) fn on_listen(fd: BorrowedFd<'_>, settings: &SocketSettings) -> io::Result<()> {
    match settings.fast_open {
        FastOpen::Off => Ok(()),
        FastOpen::On => set(fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &PENDING),
    }
}

/// Fetches a cookie from `remote` by a connection that sends nothing. No cookie may be known yet. Waits until none of
/// its packets is on its way. Returns the local address, which identifies its packets.
pub fn fetch_cookie(remote: SocketAddr, timeout: Duration) -> Result<SocketAddr, Os> {
    let failed = |source| Os::new(format!("fetch a Fast Open cookie from {remote}"), source);
    let settings = SocketSettings { fast_open: FastOpen::On, ..SocketSettings::default() };
    let began = clock::now();
    let fd = match connect(remote, &settings).map_err(failed)? {
        Connect::Done(fd, _) | Connect::Pending(fd) => fd,
    };
    let ready = |events| match wait_for(fd.as_fd(), events, Some(timeout))? {
        true => Ok(()),
        false => Err(failed(io::ErrorKind::TimedOut.into())),
    };
    ready(libc::POLLOUT)?;
    let local = take_error(fd.as_fd()).map_err(failed)?;
    let round_trip = clock::now().since(began);
    send_fin(fd.as_fd());
    // Until the server's FIN. What it sends before that is discarded.
    let mut scrap = [0; 1024];
    loop {
        ready(libc::POLLIN)?;
        if receive(fd.as_fd(), &mut scrap).map_err(failed)? == 0 {
            break;
        }
    }
    // Our last acknowledgement is on its way.
    std::thread::sleep(round_trip);
    Ok(local)
}
