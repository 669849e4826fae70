//! Measures what is between two ends: by round trips that the kernel answers, and by streams of numbered packets. The
//! one rule: arrivals are the kernel's stamps, so that the probe's own wake-up time is in no figure.
#![allow(unsafe_code)]

use crate::clock;
use crate::descriptor::wait_readable;
use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use crate::net::packet_socket::{Batch, stamp_of};
use crate::tcp::option;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use unit::Instant;

/// Echo requests at an even pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingSpec {
    /// Whom to ask.
    pub to: Ipv4Addr,
    /// How many.
    pub count: u16,
    /// The spacing of packets. A multiple of a millisecond would hide rounding to milliseconds.
    pub spacing: Duration,
    /// How long the last answers may take.
    pub patience: Duration,
}

/// Numbered packets at an even pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSpec {
    /// Where to.
    pub to: SocketAddr,
    /// How many.
    pub count: u32,
    /// Bytes of UDP payload, eight or more.
    pub payload: usize,
    /// From one to the next.
    pub spacing: Duration,
    /// How many packets are sent at once at the start, to fill a queue.
    pub head_start: u32,
    /// How many packets are handed to the kernel in one call, which splits them; 1 sends them one by one.
    pub burst: u32,
}

/// A packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The sender's number for it, from 0.
    pub number: u64,
    /// The kernel's stamp, in nanoseconds on CLOCK_REALTIME.
    pub at: u64,
}

/// The round trip of each echo request (RFC 792) in nanoseconds, from before the send until the kernel's stamp of the
/// answer. None for one that was not answered in time. The sender is awake before each send, because a core that has
/// just slept is slow. It sleeps otherwise: in a virtual machine a core that never sleeps takes time from the link's
/// core.
pub fn ping(spec: &PingSpec) -> Result<Vec<Option<u64>>, Os> {
    let socket = icmp_socket(spec).map_err(|source| Os::new("open a socket for pings", source))?;
    let began = clock::now();
    let mut sent: Vec<Duration> = Vec::new();
    let mut trips = vec![None; usize::from(spec.count)];
    for number in 0..spec.count {
        let due = began + spec.spacing * u32::from(number);
        while clock::now() < due {
            take_answers(&socket, &sent, &mut trips)?;
            nap(&socket, due);
        }
        let request = echo_request(number);
        sent.push(clock::realtime());
        // SAFETY: the buffer is valid for its length.
        let result =
            unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        check(result as libc::c_int).map_err(|source| Os::new("send a ping", source))?;
    }
    let end = clock::now() + spec.patience;
    while trips.iter().any(Option::is_none) && clock::now() < end {
        take_answers(&socket, &sent, &mut trips)?;
        nap(&socket, end);
    }
    Ok(trips)
}

/// How long before its time a ping's sender wakes: longer than most wake-ups take.
const AWAKE: Duration = Duration::from_micros(300);

/// Sleeps until there is an answer, or until shortly before `due`.
fn nap(socket: &OwnedFd, due: Instant) {
    let Some(left) = due.since(clock::now()).checked_sub(AWAKE) else { return };
    let left = libc::timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd, a live time and no signal mask; a failure is a nap that was short.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const left, std::ptr::null()) };
}

/// By how many nanoseconds a thread that only polls the clock misses each of the times `spacing` apart. Interrupts,
/// other programs and a virtual machine's host delay it. Nothing on this machine can be more punctual.
pub fn core_delays(span: Duration, spacing: Duration) -> Vec<u64> {
    let began = clock::now();
    let mut due = began + spacing;
    let mut late = Vec::new();
    while due.since(began) < span {
        let now = clock::now();
        while due <= now {
            late.push(now.since(due).as_nanos() as u64);
            due += spacing;
        }
    }
    late
}

/// Takes in the answers that are there.
fn take_answers(socket: &OwnedFd, sent: &[Duration], trips: &mut [Option<u64>]) -> Result<(), Os> {
    let mut packet = [0; 512];
    loop {
        match receive_stamped(socket.as_raw_fd(), &mut packet) {
            Ok((length, Some(at))) => {
                let number = answered_number(&packet[..length]).map(usize::from);
                if let Some((number, sent)) = number.and_then(|n| Some((n, sent.get(n)?))) {
                    trips[number] = Some(at.saturating_sub(*sent).as_nanos() as u64);
                }
            }
            Ok((_, None)) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Os::new("receive a ping's answer", source)),
        }
    }
}

/// Sends the stream at its mean rate. Packets delayed by a late wake-up go at once.
pub fn send_stream(spec: &StreamSpec) -> Result<(), Os> {
    let attempted = || format!("send to {}", spec.to);
    let failed = |source| Os::new(attempted(), source);
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(failed)?;
    let (payload, burst) = (spec.payload.max(8), spec.burst.max(1));
    if burst > 1 {
        let size = payload as libc::c_int;
        option::set(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, &size).map_err(failed)?;
    }
    let mut bytes = vec![0; payload * burst as usize];
    let began = clock::now();
    for first in (0..spec.count).step_by(burst as usize) {
        let due = began + spec.spacing * first.saturating_sub(spec.head_start);
        std::thread::sleep(due.since(clock::now()));
        let numbers = first..spec.count.min(first + burst);
        let bytes = &mut bytes[..payload * numbers.len()];
        for (packet, number) in bytes.chunks_exact_mut(payload).zip(numbers) {
            packet[..8].copy_from_slice(&u64::from(number).to_be_bytes());
        }
        // A full buffer on our side: these packets never reached the link. The next ones are sent.
        match socket.send_to(bytes, spec.to) {
            Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(failed(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Datagrams as fast as their receiver takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushSpec {
    /// Where to.
    pub to: SocketAddr,
    /// For how long.
    pub span: Duration,
    /// Bytes of payload of each datagram.
    pub payload: usize,
    /// How many are handed to the kernel in one call, which splits them.
    pub train: u32,
}

/// Bytes under way at most, as those of a QUIC connection with such a window: the receivers' buffers hold them.
const UNDER_WAY: u64 = 1 << 20;
/// How long to wait for an acknowledgement before what is under way counts as lost.
const LOST_AFTER: Duration = Duration::from_millis(20);
/// How long the receiver of a push waits for more.
const PUSH_END: Duration = Duration::from_millis(300);

/// Sends datagrams for `spec.span`, with at most a megabyte that [`drain_datagrams`] has not acknowledged.
pub fn push_datagrams(spec: &PushSpec) -> Result<(), Os> {
    let failed = |source| Os::new(format!("push datagrams to {}", spec.to), source);
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(failed)?;
    socket.connect(spec.to).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let train = spec.train.max(1);
    if train > 1 {
        let size = spec.payload as libc::c_int;
        option::set(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, &size).map_err(failed)?;
    }
    let bytes = vec![0; spec.payload * train as usize];
    let (mut sent, mut acknowledged) = (0_u64, 0_u64);
    let mut number = [0; NUMBER];
    let end = clock::now() + spec.span;
    while clock::now() < end {
        while socket.recv(&mut number).is_ok_and(|length| length == NUMBER) {
            acknowledged = acknowledged.max(u64::from_be_bytes(number));
        }
        if sent.saturating_sub(acknowledged) + bytes.len() as u64 > UNDER_WAY {
            if !wait_readable(socket.as_fd(), Some(LOST_AFTER))? {
                sent = acknowledged;
            }
            continue;
        }
        match socket.send(&bytes) {
            Ok(_) => sent += bytes.len() as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Takes in what [`push_datagrams`] sends to `socket`, in trains where the kernel merges them, and acknowledges it. Returns the
/// bytes, and the time from the first of them to the last.
pub fn drain_datagrams(socket: &UdpSocket, patience: Duration) -> Result<(u64, Duration), Os> {
    let failed = |source| Os::new("take in datagrams", source);
    socket.set_nonblocking(true).map_err(failed)?;
    option::set(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, &1).map_err(failed)?;
    let mut bytes = vec![0; 1 << 16];
    let (mut total, mut began, mut last) = (0_u64, None, Instant::ZERO);
    let mut wait = patience;
    while wait_readable(socket.as_fd(), Some(wait))? {
        wait = PUSH_END;
        let mut sender = None;
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            total += length as u64;
            sender = Some(from);
        }
        last = clock::now();
        began.get_or_insert(last);
        if let Some(sender) = sender {
            // One that finds no space is made up for by the next one.
            let _ = socket.send_to(&total.to_be_bytes(), sender);
        }
    }
    Ok((total, last.since(began.unwrap_or(last))))
}

/// What receives a stream.
#[derive(Debug)]
pub struct Receiver {
    socket: UdpSocket,
}

impl Receiver {
    /// Listens on `port`.
    pub fn bind(port: u16) -> Result<Self, Os> {
        let failed = |source| Os::new(format!("receive on port {port}"), source);
        let socket = UdpSocket::bind(("0.0.0.0", port)).map_err(failed)?;
        set(socket.as_fd(), libc::SO_TIMESTAMPNS, 1).map_err(failed)?;
        set(socket.as_fd(), libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| set(socket.as_fd(), libc::SO_RCVBUF, RECEIVE_BUFFER))
            .map_err(failed)?;
        Ok(Self { socket })
    }

    /// All packets until none came for `quiet`. The first one may take `patience`.
    pub fn receive(self, patience: Duration, quiet: Duration) -> Result<Vec<Arrival>, Os> {
        let mut arrivals = Vec::new();
        let mut batch = Batch::of(NUMBER);
        let mut wait = patience;
        while wait_readable(self.socket.as_fd(), Some(wait))? {
            wait = quiet;
            for index in 0..batch.receive(self.socket.as_fd()) {
                let number = <[u8; NUMBER]>::try_from(batch.frame(index));
                if let (Ok(number), Some(at)) = (number, batch.stamp(index)) {
                    let (number, at) = (u64::from_be_bytes(number), at.as_nanos() as u64);
                    arrivals.push(Arrival { number, at });
                }
            }
        }
        Ok(arrivals)
    }
}

/// Bytes of a packet's number.
const NUMBER: usize = 8;

/// One second at 250 Mbit/s, small packets counting as 768 bytes or more.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// RFC 792: type 8 is a request, type 0 a reply. Eight bytes of header come before our bytes.
const ECHO_REQUEST: u8 = 8;
const ECHO_ANSWER: u8 = 0;
const ECHO_LENGTH: usize = 32;

fn icmp_socket(spec: &PingSpec) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes no pointers.
    let socket = new_fd(unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_ICMP) }.into())?;
    // SAFETY: plain data, zero is a valid value of each field.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_addr.s_addr = u32::from(spec.to).to_be();
    let length = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: a valid sockaddr_in and its length.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    set(socket.as_fd(), libc::SO_TIMESTAMPNS, 1)?;
    Ok(socket)
}

fn set(socket: BorrowedFd<'_>, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    option::set(socket, libc::SOL_SOCKET, name, &value)
}

/// Which request an IP packet answers.
fn answered_number(packet: &[u8]) -> Option<u16> {
    // A raw socket gives the IP header too. The low half of its first byte is its length in words.
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let echo = packet.get(header..).filter(|echo| echo.len() >= 8 && echo[0] == ECHO_ANSWER)?;
    Some(u16::from_be_bytes([echo[6], echo[7]]))
}

fn echo_request(number: u16) -> [u8; ECHO_LENGTH] {
    let mut request = [0; ECHO_LENGTH];
    request[0] = ECHO_REQUEST;
    request[6..8].copy_from_slice(&number.to_be_bytes());
    let sum = internet_checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    request
}

/// RFC 1071, over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn receive_stamped(
    socket: libc::c_int,
    packet: &mut [u8],
) -> io::Result<(usize, Option<Duration>)> {
    let mut part = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: packet.len() };
    // cmsghdr wants the alignment of a word.
    let mut control = [0_u64; 8];
    // SAFETY: plain data, zero is a valid value of each field.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `header` points at live buffers of the lengths that it states.
    let length = unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: recvmsg has filled `header`, and `control` lives.
    Ok((length, unsafe { stamp_of(&header) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // RFC 1071 §3's example, whose sum is ddf2.
        assert_eq!(internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(internet_checksum(&echo_request(7)), 0);
    }

    fn address(receiver: &Receiver) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], receiver.socket.local_addr().unwrap().port()))
    }

    /// Linux stamps packets as they are read until some time after the first socket has asked for stamps
    /// (net/core/dev.c, `net_enable_timestamp`). As long as the one that is given lives they are stamped as they arrive.
    fn await_stamps() -> Receiver {
        let asking = Receiver::bind(0).unwrap();
        let (spacing, pause) = (Duration::ZERO, Duration::from_millis(5));
        for _ in 0..1000 {
            let receiver = Receiver::bind(0).unwrap();
            let to = address(&receiver);
            send_stream(&StreamSpec {
                to,
                count: 1,
                payload: 64,
                spacing,
                head_start: 0,
                burst: 1,
            })
            .unwrap();
            std::thread::sleep(pause);
            let read = clock::realtime().as_nanos() as u64;
            let arrivals = receiver.receive(Duration::from_secs(5), pause).unwrap();
            if arrivals[0].at < read {
                return asking;
            }
        }
        panic!("packets are never stamped as they arrive");
    }

    #[test]
    fn a_stream_arrives_with_its_numbers_and_stamps_in_order() {
        let _stamping = await_stamps();
        // As in a calibration: one that wakes up on another core may overtake its own packets.
        crate::process::CpuSet::from(crate::process::CpuSet::allowed().as_slice()[0])
            .pin()
            .unwrap();
        let receiver = Receiver::bind(0).unwrap();
        let to = address(&receiver);
        let spacing = Duration::from_micros(50);
        let before = clock::realtime().as_nanos() as u64;
        let stream = StreamSpec { to, count: 100, payload: 64, spacing, head_start: 0, burst: 1 };
        send_stream(&stream).unwrap();
        let after = clock::realtime().as_nanos() as u64;
        let quiet = Duration::from_millis(50);
        let arrivals = receiver.receive(Duration::from_secs(5), quiet).unwrap();
        assert!(arrivals.iter().map(|arrival| arrival.number).eq(0..100));
        assert!(arrivals.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(before <= arrivals[0].at && arrivals[99].at <= after, "stamps are of another time");
        assert!(after - before >= 4_900_000, "the stream was sent faster than its pace");
    }
}
