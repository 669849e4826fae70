//! Socket options, set and read.

use crate::error::Os;
use endpoint::{Nagle, Pacing, SocketSettings};
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Sets an option to a plain value.
pub(crate) fn set<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = mem::size_of::<T>() as libc::socklen_t;
    set_raw(fd, level, name, std::ptr::from_ref(value).cast(), length)
}

/// Reads an option into `buffer`; returns how many bytes the kernel wrote.
pub(super) fn read(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the buffer's own.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, buffer.as_mut_ptr().cast(), &raw mut length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(length as usize) }
}

/// Reads an option that is an int.
pub(crate) fn read_int(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<i32> {
    let mut bytes = [0; 4];
    read(fd, level, name, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

/// TCP_NOTSENT_LOWAT in force.
pub(super) fn unsent_low_water(fd: BorrowedFd<'_>) -> io::Result<u32> {
    read_int(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT).map(|bytes| bytes as u32)
}

/// Sets TCP_NOTSENT_LOWAT anew.
pub(crate) fn set_unsent_low_water(fd: BorrowedFd<'_>, bytes: u32) {
    // It fails only where the connection is gone already, which a read reports.
    let _gone = set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes);
}

/// The bytes of a full segment at present (TCP_MAXSEG), or more than any has where the kernel does not tell.
pub(crate) fn segment(fd: BorrowedFd<'_>) -> usize {
    let told = read_int(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG);
    told.ok().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX)
}

/// Sets or resets TCP_CORK: whether a segment that is not full waits for more bytes, for at most 200 ms. A reset sends it.
/// TCP_NODELAY stays as it is.
pub(crate) fn set_cork(fd: BorrowedFd<'_>, on: bool) {
    // It fails only where the connection is gone already, which a read reports.
    let _gone = set(fd, libc::IPPROTO_TCP, libc::TCP_CORK, &i32::from(on));
}

/// Whether TCP_NODELAY is in force.
pub(super) fn no_delay(fd: BorrowedFd<'_>) -> io::Result<bool> {
    read_int(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY).map(|value| value != 0)
}

/// Sends the pending acknowledgement, and the next ones without delay. The kernel resets this by itself when the
/// connection looks interactive (tcp(7)), so it is set again after each read.
pub(crate) fn acknowledge_quickly(fd: BorrowedFd<'_>) {
    // It fails only where the connection is gone already, which a read reports.
    let _gone = set(fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &1i32);
}

/// Sets what an end point asks of a socket that connects to `address` or listens there. Everything is set before there
/// is a connection: once BBR has begun to pace a connection, the kernel goes on pacing it under any later congestion
/// control.
pub(super) fn apply(
    fd: BorrowedFd<'_>,
    address: SocketAddr,
    settings: &SocketSettings,
) -> io::Result<()> {
    let no_delay = i32::from(settings.nagle == Nagle::Off);
    set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &no_delay)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &settings.unsent_low_water)?;
    if settings.pacing == Pacing::On {
        set(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &PACED)?;
    }
    if let Some(silence) = settings.keep_alive {
        set_keep_alive(fd, silence)?;
    }
    match settings.congestion_control.at(address.ip()) {
        Some(name) => set_congestion_control(fd, name),
        None => Ok(()),
    }
}

/// Bytes a second that no connection reaches. Any finite rate has the kernel pace by the congestion window itself, without
/// the queue discipline `fq` (socket(7), net/core/sock.c).
const PACED: u64 = 1 << 40;

/// Whether the kernel was asked to pace the connections of this socket: SO_MAX_PACING_RATE is finite.
pub(super) fn is_paced(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut rate = [0; 8];
    read(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &mut rate)?;
    Ok(u64::from_ne_bytes(rate) == PACED)
}

/// Probes that may go unanswered before the connection ends. QUIC's ends after as many seconds.
const PROBES: libc::c_int = 75;

/// Sets SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL and TCP_KEEPCNT (tcp(7)).
fn set_keep_alive(fd: BorrowedFd<'_>, silence: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(silence.as_secs()).unwrap_or(libc::c_int::MAX).max(1);
    set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1i32)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, &seconds)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, &seconds)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, &PROBES)
}

/// Sets TCP_CONGESTION.
fn set_congestion_control(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let length = name.len() as libc::socklen_t;
    set_raw(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length)
}

/// Whether this process's sockets may use the congestion control of this name. The call loads its module where there is
/// one and the process may load it (tcp(7)). So no list answers the question.
pub fn probe_congestion_control(name: &str) -> Result<(), Os> {
    let asked = super::stream::socket(SocketAddr::from(([127, 0, 0, 1], 0)))
        .and_then(|fd| set_congestion_control(fd.as_fd(), name));
    asked.map_err(|source| Os::new(format!("take the congestion control `{name}`"), source))
}

fn set_raw(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: *const libc::c_void,
    length: libc::socklen_t,
) -> io::Result<()> {
    // SAFETY: both callers hand in a live value and its own length.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
