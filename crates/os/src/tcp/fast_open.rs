//! TCP Fast Open (RFC 7413): data in the SYN, for clients that have been there before. The kernel keeps the cookie that a
//! server gave. A fresh namespace has none, so a cookie is fetched by a connection before.

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

/// What a connecting socket is told: connect returns at once where there is a cookie, and the first write goes with
/// the SYN; where there is none, the SYN asks for one.
pub(super) fn on_connect(fd: BorrowedFd<'_>, settings: &SocketSettings) -> io::Result<()> {
    match settings.fast_open {
        FastOpen::Off => Ok(()),
        FastOpen::On => set(fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &1i32),
    }
}

/// What a listening socket is told: it takes data from a SYN with its cookie, and gives cookies.
pub(super) fn on_listen(fd: BorrowedFd<'_>, settings: &SocketSettings) -> io::Result<()> {
    match settings.fast_open {
        FastOpen::Off => Ok(()),
        FastOpen::On => set(fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &PENDING),
    }
}

/// Fetches a cookie from `remote`, of which none is known yet, by a connection that says nothing, and waits until
/// nothing of it is under way any more. Gives the address that it came from, by which its packets are told from others.
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
    // Until the server's FIN: what it may say before that is nobody's.
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
