//! An AF_PACKET socket on one device (packet(7)): frames with their offload header and arrival stamp. The one rule: the
//! kernel's count of frames that it dropped because we were late is read, never guessed.
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use crate::tcp::option;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// Bytes of struct virtio_net_hdr in front of each frame.
pub(crate) const OFFLOAD: usize = 10;
/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;

/// A super-packet is at most 64 KiB of IP.
const FRAME: usize = OFFLOAD + ETHERNET + 65_536;
const BATCH: usize = 32;
/// One second at 250 Mbit/s. The kernel doubles it, and counts a small packet as 768 bytes or more.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;

#[derive(Debug)]
pub(crate) struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    pub(crate) fn open(device: &str, index: u32) -> Result<Self, Os> {
        let failed = |source| Os::new(format!("open a packet socket on {device}"), source);
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Protocol 0 receives nothing until bind() has named the device.
        // SAFETY: socket takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        let socket = Self { fd: new_fd(fd.into()).map_err(failed)? };
        socket.configure().map_err(failed)?;
        socket.bind(index).map_err(failed)?;
        Ok(socket)
    }

    fn configure(&self) -> io::Result<()> {
        let set =
            |level, name, value: libc::c_int| option::set(self.fd.as_fd(), level, name, &value);
        set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        widen(self.fd.as_fd())
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: plain data, zero is a valid value of each field.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: a valid sockaddr_ll and its length.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), length) })
    }

    /// The receive buffer that the kernel granted.
    pub(crate) fn receive_buffer(&self) -> u32 {
        receive_buffer(self.fd.as_fd())
    }

    /// Frames that the kernel dropped since the last call because the receive buffer was full.
    pub(crate) fn take_drops(&self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as u32;
        // SAFETY: a valid tpacket_stats and its length.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result < 0 { 0 } else { u64::from(statistics.tp_drops) }
    }

    /// Sends a frame with its offload header; false where the device refused it.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        // SAFETY: the buffer is valid for its length.
        let sent = unsafe {
            libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
        };
        sent >= 0
    }

    /// Fills `batch` with the frames that wait. Returns how many.
    pub(crate) fn receive(&self, batch: &mut Batch) -> usize {
        batch.receive(self.fd.as_fd())
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Asks for a receive buffer that holds what arrives while we are late.
pub(super) fn widen(socket: BorrowedFd<'_>) -> io::Result<()> {
    let set = |name| option::set(socket, libc::SOL_SOCKET, name, &RECEIVE_BUFFER);
    // Without CAP_NET_ADMIN in the initial user namespace, net.core.rmem_max limits the buffer.
    set(libc::SO_RCVBUFFORCE).or_else(|_| set(libc::SO_RCVBUF))?;
    set(libc::SO_SNDBUFFORCE).or_else(|_| set(libc::SO_SNDBUF))
}

/// The receive buffer that the kernel granted.
pub(super) fn receive_buffer(socket: BorrowedFd<'_>) -> u32 {
    option::read_int(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).unwrap_or(0) as u32
}

/// The buffers for the frames of one system call.
pub(crate) struct Batch {
    /// Bytes taken of each frame at most.
    snap_length: usize,
    frames: Vec<u8>,
    controls: Vec<Control>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

/// Memory for one SCM_TIMESTAMPNS message, aligned as cmsghdr must be.
#[repr(align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

impl Batch {
    /// Buffers for whole frames.
    pub(crate) fn new() -> Self {
        Self::of(FRAME)
    }

    /// Buffers for the first `snap_length` bytes of each frame; the kernel copies no more.
    pub(crate) fn of(snap_length: usize) -> Self {
        // SAFETY: plain data; zero is valid for pointers too and `prepare` sets them before each use.
        let (part, header) = unsafe { std::mem::zeroed::<(libc::iovec, libc::mmsghdr)>() };
        Self {
            snap_length,
            frames: vec![0; snap_length * BATCH],
            controls: vec![Control([0; 64]); BATCH],
            parts: vec![part; BATCH],
            headers: vec![header; BATCH],
        }
    }

    /// No buffers: a stand-in while the real batch is borrowed.
    pub(crate) fn none() -> Self {
        Self { snap_length: 0, frames: vec![], controls: vec![], parts: vec![], headers: vec![] }
    }

    /// Receives what waits on `socket`. Returns how many frames.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> usize {
        self.prepare();
        // SAFETY: `prepare` has pointed each header at live buffers of ours, and we are borrowed for the whole call.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(count).unwrap_or(0)
    }

    /// The `index`th frame of the last call, with its offload header.
    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        let length = (self.headers[index].msg_len as usize).min(self.snap_length);
        &self.frames[index * self.snap_length..index * self.snap_length + length]
    }

    /// When it arrived, on CLOCK_REALTIME.
    pub(crate) fn stamp(&self, index: usize) -> Option<Duration> {
        // SAFETY: the kernel has filled the header and the control buffer that it points at.
        unsafe { stamp_of(&self.headers[index].msg_hdr) }
    }

    fn prepare(&mut self) {
        for index in 0..BATCH {
            let frame = &mut self.frames[index * self.snap_length..(index + 1) * self.snap_length];
            self.parts[index].iov_base = frame.as_mut_ptr().cast();
            self.parts[index].iov_len = self.snap_length;
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.parts[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = 64;
        }
    }
}

/// The arrival stamp among the control messages of `header`, on CLOCK_REALTIME.
///
/// # Safety
/// The kernel has filled `header`, and the control buffer that it points at is live.
pub(crate) unsafe fn stamp_of(header: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the macros stay within the length that the kernel wrote.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            if kind == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time: libc::timespec =
                    std::ptr::read_unaligned(libc::CMSG_DATA(message).cast());
                return Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    None
}
