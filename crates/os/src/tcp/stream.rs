//! System calls on a connected or connecting socket.

use super::address::{self, with_sockaddr};
use super::fast_open;
use super::option::{apply, read_int, set};
use crate::files::OpenFile;
use endpoint::{FilePart, SendBuf, SocketSettings};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Pieces in one vectored write.
const SLICES: usize = 64;

/// MSG_NOSIGNAL: a closed peer is an error here, not SIGPIPE. MSG_DONTWAIT: does not wait, even on a blocking
/// descriptor.
const SENDING: libc::c_int = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;

/// Bytes that one call discards at most.
const DISCARD: usize = 1 << 20;

/// How far a connect came at once.
pub(crate) enum Connect {
    /// The peer has answered (as it does on loopback).
    Done(OwnedFd, SocketAddr),
    /// The socket becomes writable when the peer has answered, or the connect has failed.
    Pending(OwnedFd),
}

/// A new non-blocking socket of the address's family.
pub(super) fn socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain call without pointers.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave this descriptor, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a call does if it cannot complete at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// They return `WouldBlock`.
    Return,
    /// They wait.
    Wait,
}

/// Sets what calls on the descriptor do.
pub(crate) fn set_calls(fd: BorrowedFd<'_>, calls: Calls) -> io::Result<()> {
    let on = libc::c_int::from(calls == Calls::Return);
    // SAFETY: FIONBIO reads one int.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &raw const on) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Begins a connect.
pub(crate) fn connect(remote: SocketAddr, settings: &SocketSettings) -> io::Result<Connect> {
    let fd = socket(remote)?;
    apply(fd.as_fd(), remote, settings)?;
    fast_open::on_connect(fd.as_fd(), settings)?;
    let result = with_sockaddr(remote, |pointer, length| {
        // SAFETY: `pointer` is good for `length` bytes through the call.
        unsafe { libc::connect(fd.as_raw_fd(), pointer, length) }
    });
    if result == 0 {
        let local = address::local(fd.as_fd())?;
        return Ok(Connect::Done(fd, local));
    }
    match io::Error::last_os_error() {
        pending if pending.raw_os_error() == Some(libc::EINPROGRESS) => Ok(Connect::Pending(fd)),
        error => Err(error),
    }
}

/// The result of a pending connect: this side's address.
pub(crate) fn take_error(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    match read_int(fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => address::local(fd),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Reads what is there. It does not wait, on a blocking descriptor neither.
pub(crate) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let (bytes, length) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: the kernel writes at most the buffer's length into it.
    let count = unsafe { libc::recv(fd.as_raw_fd(), bytes, length, libc::MSG_DONTWAIT) };
    counted(count)
}

/// Whether a read would find nothing: no bytes, no end and no error.
pub(crate) fn is_queue_empty(fd: BorrowedFd<'_>) -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes one byte at most.
    let count = unsafe { libc::recv(fd.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    matches!(counted(count), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// Discards what has arrived, without a copy (tcp(7): MSG_TRUNC).
pub(crate) fn discard(fd: BorrowedFd<'_>) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC on TCP nothing is written through the pointer.
    let count =
        unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), DISCARD, libc::MSG_TRUNC) };
    counted(count)
}

/// Sends from the front of `pending`. It does not wait, except for a part of a file on a blocking descriptor. Returns
/// how many bytes were offered and how many were taken.
pub(crate) fn send(fd: BorrowedFd<'_>, pending: &SendBuf) -> io::Result<(usize, usize)> {
    if let Some(part) = pending.front_file() {
        return send_file(fd, part);
    }
    let mut pieces = pending.chunks();
    if let (Some(only), None) = (pieces.next(), pieces.next()) {
        // A single piece, as most requests and short answers are, needs no vector, neither here nor in the kernel.
        // SAFETY: the pointer is good for the piece's length through the call, which only reads it.
        let count =
            unsafe { libc::send(fd.as_raw_fd(), only.as_ptr().cast(), only.len(), SENDING) };
        return counted(count).map(|taken| (only.len(), taken));
    }
    let mut slices = [IoSlice::new(&[]); SLICES];
    let filled = pending.io_slices(&mut slices);
    let offered = slices[..filled].iter().map(|slice| slice.len()).sum::<usize>();
    // MSG_MORE: what follows at once, such as a file after its head, fills the segment.
    let more = if offered < pending.len() { libc::MSG_MORE } else { 0 };
    if let [only] = &slices[..filled] {
        // The shorter call, for by far the most common case.
        // SAFETY: the slice borrows `pending` through the call, which only reads it.
        let count =
            unsafe { libc::send(fd.as_raw_fd(), only.as_ptr().cast(), only.len(), SENDING | more) };
        return counted(count).map(|taken| (offered, taken));
    }
    // SAFETY: msghdr is plain data for which all zeros is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = slices.as_mut_ptr().cast();
    message.msg_iovlen = filled as _;
    // SAFETY: IoSlice has the layout of iovec; the slices borrow `pending` through the call and sendmsg
    // only reads them.
    let count = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, SENDING | more) };
    counted(count).map(|taken| (offered, taken))
}

/// Makes the kernel send a file's bytes from its cache.
fn send_file(fd: BorrowedFd<'_>, part: &FilePart) -> io::Result<(usize, usize)> {
    let file = part.file::<OpenFile>().ok_or(io::ErrorKind::Unsupported)?;
    let mut at = i64::try_from(part.start()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: both descriptors are open through the call, and it writes the offset alone.
    let count = unsafe {
        libc::sendfile64(fd.as_raw_fd(), file.as_fd().as_raw_fd(), &raw mut at, part.len())
    };
    match counted(count)? {
        // The file was truncated: the promised length cannot be kept.
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        taken => Ok((part.len(), taken)),
    }
}

/// Sends FIN.
pub(crate) fn send_fin(fd: BorrowedFd<'_>) {
    // SAFETY: a plain call. It fails only where the connection is gone already, which reading tells.
    unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) };
}

/// Ends both directions, or a listener, also for those that hold copies of the descriptor. Polls of it complete.
pub(crate) fn end(fd: BorrowedFd<'_>) {
    // SAFETY: a plain call. It fails only where the connection is gone already.
    unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) };
}

/// Bytes that the kernel holds and has not sent even once (SIOCOUTQNSD).
pub(crate) fn unsent(fd: BorrowedFd<'_>) -> io::Result<usize> {
    /// linux/sockios.h
    const SIOCOUTQNSD: libc::Ioctl = 0x894B;
    let mut bytes: libc::c_int = 0;
    // SAFETY: this ioctl writes one int.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), SIOCOUTQNSD, &raw mut bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.max(0) as usize) }
}

/// Makes the next close send an RST (SO_LINGER with no time).
pub(crate) fn reset_on_close(fd: BorrowedFd<'_>) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // It fails only where the connection is gone already. Then the RST is not needed.
    let _gone = set(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
}

fn counted(count: isize) -> io::Result<usize> {
    usize::try_from(count).map_err(|_negative| io::Error::last_os_error())
}
