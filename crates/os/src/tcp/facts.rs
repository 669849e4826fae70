//! The values that the kernel uses for a socket, read back and not assumed.

use super::option::{is_paced, no_delay, read, unsent_low_water};
use std::io;
use std::mem;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A socket's settings and state as the kernel reports them (TCP_INFO).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpFacts {
    /// TCP_CONGESTION: the congestion control in force.
    pub congestion_control: String,
    /// Congestion window, in segments.
    pub congestion_window: u32,
    /// Bytes of payload in a full segment (TCP_INFO's `snd_mss`).
    pub segment_size: u32,
    /// Smoothed round-trip time.
    pub round_trip: Duration,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// TCP_NOTSENT_LOWAT in force.
    pub unsent_low_water: u32,
    /// TCP_NODELAY in force.
    pub no_delay: bool,
    /// Whether the kernel was asked to pace it.
    pub paced: bool,
}

impl TcpFacts {
    /// Reads them from a socket.
    pub fn read(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let info = tcp_info(fd)?;
        Ok(Self {
            congestion_control: congestion_control(fd)?,
            congestion_window: info.tcpi_snd_cwnd,
            segment_size: info.tcpi_snd_mss,
            round_trip: Duration::from_micros(info.tcpi_rtt.into()),
            retransmits: info.tcpi_total_retrans,
            unsent_low_water: unsent_low_water(fd)?,
            no_delay: no_delay(fd)?,
            paced: is_paced(fd)?,
        })
    }
}

/// The smoothed round-trip time of a socket; the longest there is where the kernel does not tell.
pub(crate) fn round_trip(fd: BorrowedFd<'_>) -> Duration {
    tcp_info(fd).map_or(Duration::MAX, |info| Duration::from_micros(info.tcpi_rtt.into()))
}

/// Bytes of a socket that its peer has acknowledged so far.
pub(crate) fn acknowledged(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // The kernel's struct tcp_info (include/uapi/linux/tcp.h, since Linux 4.1) has more fields than libc's:
    // `tcpi_bytes_acked` stands behind eight fields of a byte, 24 of four bytes and two of eight.
    const AT: usize = 120;
    let mut bytes = [0; AT + 8];
    read(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    let acknowledged = bytes[AT..].first_chunk().copied().unwrap_or_default();
    Ok(u64::from_ne_bytes(acknowledged))
}

fn congestion_control(fd: BorrowedFd<'_>) -> io::Result<String> {
    // TCP_CA_NAME_MAX of the kernel.
    let mut name = [0; 16];
    let length = read(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let text = name[..length].split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<libc::tcp_info> {
    let mut bytes = [0; mem::size_of::<libc::tcp_info>()];
    read(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    // SAFETY: tcp_info is plain integers, for which any bytes are a value; sizes are equal. An older
    // kernel writes less and leaves the rest zero.
    Ok(unsafe { mem::transmute::<[u8; mem::size_of::<libc::tcp_info>()], libc::tcp_info>(bytes) })
}
