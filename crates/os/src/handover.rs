//! Hands open descriptors to another process over a Unix socket (unix(7), SCM_RIGHTS), with a few bytes that describe
//! them. The one rule: bytes and descriptors travel in one message.
#![allow(unsafe_code)]

use crate::error::Os;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The most descriptors of one message: the kernel's limit (SCM_MAX_FD).
pub const MOST_DESCRIPTORS: usize = 253;

/// The most bytes of one message: what a socket's buffer takes at once.
const MOST_BYTES: usize = 64 * 1024;

/// What was handed over.
#[derive(Debug)]
pub struct Message {
    /// What the descriptors are, in the sender's words.
    pub bytes: Vec<u8>,
    /// Copies of the sender's, in its order.
    pub descriptors: Vec<OwnedFd>,
}

/// The two ends of a connection between processes; no program inherits them.
pub fn pair() -> Result<(OwnedFd, OwnedFd), Os> {
    let pair = std::os::unix::net::UnixStream::pair();
    pair.map(|(one, other)| (one.into(), other.into()))
        .map_err(|source| Os::new("make a pair of sockets", source))
}

/// Sends `bytes` and copies of `descriptors`.
pub fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Os> {
    let failed = |source| Os::new("hand sockets to another process", source);
    if bytes.is_empty() || bytes.len() > MOST_BYTES || descriptors.len() > MOST_DESCRIPTORS {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    }
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let mut control = ControlBuffer::new();
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the header points to locals that live through the call. The control buffer is aligned and has the size
    // of one control message with `MOST_DESCRIPTORS` numbers, and no more than that many are written.
    let sent = unsafe {
        let mut message = control.message(&raw mut part);
        if numbers.is_empty() {
            message.msg_control = std::ptr::null_mut();
            message.msg_controllen = 0;
        } else {
            let length = mem::size_of_val(&numbers[..]) as libc::c_uint;
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            std::ptr::copy_nonoverlapping(numbers.as_ptr(), data, numbers.len());
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    match sent {
        sent if sent < 0 => Err(failed(io::Error::last_os_error())),
        sent if sent as usize == bytes.len() => Ok(()),
        _ => Err(failed(io::ErrorKind::WriteZero.into())),
    }
}

/// Waits for one message and returns its bytes and descriptors. None where the other end was closed first.
pub fn receive(socket: BorrowedFd<'_>) -> Result<Option<Message>, Os> {
    let mut bytes = vec![0_u8; MOST_BYTES];
    let mut control = ControlBuffer::new();
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut descriptors = Vec::new();
    // SAFETY: the header points to locals that live through the call, with their sizes. The kernel writes whole control
    // messages, and each number in one of SCM_RIGHTS is a new descriptor that nobody else owns.
    let count = unsafe {
        let mut message = control.message(&raw mut part);
        let count = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while count > 0 && !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let length = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for index in 0..length / mem::size_of::<RawFd>() {
                    descriptors.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        count
    };
    if count < 0 {
        return Err(Os::last("receive sockets from another process"));
    }
    bytes.truncate(count as usize);
    Ok((count > 0).then_some(Message { bytes, descriptors }))
}

/// Space for one control message with all descriptors, aligned as its header has to be (cmsg(3)).
struct ControlBuffer([u64; Self::WORDS]);

impl ControlBuffer {
    const WORDS: usize = (64 + MOST_DESCRIPTORS * mem::size_of::<RawFd>()) / 8 + 1;

    fn new() -> Self {
        Self([0; Self::WORDS])
    }

    /// A message of one part, with this buffer. Both have to live as long as it is used.
    fn message(&mut self, part: *mut libc::iovec) -> libc::msghdr {
        // SAFETY: the structure is plain data, and zero is a valid value of each field.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&self.0) as _;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    #[test]
    fn descriptors_arrive_open_and_in_order_with_their_bytes() {
        let (here, there) = pair().unwrap();
        let pipes: Vec<_> = (0..MOST_DESCRIPTORS).map(|_| std::io::pipe().unwrap()).collect();
        let writers: Vec<_> = pipes.iter().map(|(_, writer)| writer.as_fd()).collect();
        send(here.as_fd(), b"what they are", &writers).unwrap();
        send(here.as_fd(), b"none", &[]).unwrap();
        let Message { bytes, descriptors: received } = receive(there.as_fd()).unwrap().unwrap();
        assert_eq!((&bytes[..], received.len()), (&b"what they are"[..], MOST_DESCRIPTORS));
        for (index, fd) in received.into_iter().enumerate().rev() {
            File::from(fd).write_all(&[index as u8]).unwrap();
            let mut byte = [0];
            (&pipes[index].0).read_exact(&mut byte).unwrap();
            assert_eq!(byte, [index as u8]);
        }
        let Message { bytes, descriptors: received } = receive(there.as_fd()).unwrap().unwrap();
        assert_eq!((&bytes[..], received.len()), (&b"none"[..], 0));
        drop(here);
        assert!(receive(there.as_fd()).unwrap().is_none());
    }

    #[test]
    fn what_does_not_fit_one_message_is_refused() {
        let (here, _there) = pair().unwrap();
        assert!(send(here.as_fd(), &[], &[]).is_err());
        assert!(send(here.as_fd(), &vec![0; MOST_BYTES + 1], &[]).is_err());
        assert!(send(here.as_fd(), b"x", &vec![here.as_fd(); MOST_DESCRIPTORS + 1]).is_err());
    }
}
