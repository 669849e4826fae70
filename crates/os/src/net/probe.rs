//! Instruments for what stands between two ends: round trips that the kernel answers, and streams of numbered
//! packets. The one rule: arrivals are the kernel's stamps, so that the instrument's own waking up is in no figure.
#![allow(unsafe_code)]

use crate::clock;
use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use crate::net::packet_socket::stamp_of;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use unit::Instant;

/// Echo requests at an even pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingSpec {
    /// Whom to ask.
    pub to: Ipv4Addr,
    /// How many.
    pub count: u16,
    /// From one to the next. A multiple of a millisecond would hide what is rounded to one.
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
    /// Octets of UDP payload, eight or more.
    pub payload: usize,
    /// From one to the next.
    pub spacing: Duration,
}

/// A packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The sender's number for it, from 0.
    pub number: u64,
    /// The kernel's stamp, in nanoseconds on CLOCK_REALTIME.
    pub at: u64,
}

/// The round trip of each echo request (RFC 792) in nanoseconds, from before the sending until the kernel's
/// stamp of the answer; None for one that was not answered in time.
pub fn ping(spec: &PingSpec) -> Result<Vec<Option<u64>>, Os> {
    let socket = icmp_socket(spec).map_err(|source| Os::new("open a socket for pings", source))?;
    let began = clock::now();
    let mut sent: Vec<Duration> = Vec::new();
    let mut trips = vec![None; usize::from(spec.count)];
    for number in 0..spec.count {
        let due = began + spec.spacing * u32::from(number);
        answers_until(&socket, due, &sent, &mut trips)?;
        sent.push(clock::realtime());
        let request = echo_request(number);
        // SAFETY: the buffer is valid for its length.
        let result =
            unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        check(result as libc::c_int).map_err(|source| Os::new("send a ping", source))?;
    }
    answers_until(&socket, clock::now() + spec.patience, &sent, &mut trips)?;
    Ok(trips)
}

/// Takes in answers until `end`, or until every request that was sent has one; sleeps out the rest then.
fn answers_until(
    socket: &OwnedFd,
    end: Instant,
    sent: &[Duration],
    trips: &mut [Option<u64>],
) -> Result<(), Os> {
    let failed = |source| Os::new("receive a ping's answer", source);
    let mut packet = [0; 512];
    while trips[..sent.len()].iter().any(Option::is_none) {
        let left = end.since(clock::now());
        // A time-out of zero would be none at all (socket(7)).
        let Some(left) = Some(left).filter(|left| *left >= Duration::from_micros(1)) else {
            return Ok(());
        };
        set_patience(socket, left).map_err(failed)?;
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
            Err(error) => return Err(failed(error)),
        }
    }
    if trips.len() > sent.len() {
        std::thread::sleep(end.since(clock::now()));
    }
    Ok(())
}

/// Sends the stream, waiting for each packet's time without sleeping.
pub fn send_stream(spec: &StreamSpec) -> Result<(), Os> {
    let attempted = || format!("send to {}", spec.to);
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|source| Os::new(attempted(), source))?;
    let mut packet = vec![0; spec.payload.max(8)];
    let began = clock::now();
    for number in 0..spec.count {
        let due = began + spec.spacing * number;
        while clock::now() < due {
            std::hint::spin_loop();
        }
        packet[..8].copy_from_slice(&u64::from(number).to_be_bytes());
        // A full buffer on our side is a packet that the link never saw: the next one goes on.
        match socket.send_to(&packet, spec.to) {
            Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => {
                return Err(Os::new(attempted(), error));
            }
            _ => {}
        }
    }
    Ok(())
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
        set(socket.as_raw_fd(), libc::SO_TIMESTAMPNS, 1).map_err(failed)?;
        set(socket.as_raw_fd(), libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| set(socket.as_raw_fd(), libc::SO_RCVBUF, RECEIVE_BUFFER))
            .map_err(failed)?;
        Ok(Self { socket })
    }

    /// Every packet until none came for `quiet`, the first one being given `patience`.
    pub fn receive(self, patience: Duration, quiet: Duration) -> Result<Vec<Arrival>, Os> {
        let failed = |source| Os::new("receive a stream", source);
        let mut arrivals = Vec::new();
        let mut wait = patience;
        loop {
            self.socket.set_read_timeout(Some(wait)).map_err(failed)?;
            let mut packet = [0; 2048];
            match receive_stamped(self.socket.as_raw_fd(), &mut packet) {
                Ok((length, Some(at))) if length >= 8 => {
                    let mut number = [0; 8];
                    number.copy_from_slice(&packet[..8]);
                    let number = u64::from_be_bytes(number);
                    arrivals.push(Arrival { number, at: at.as_nanos() as u64 });
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(arrivals),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
            if arrivals.len() == 1 {
                wait = quiet;
            }
        }
    }
}

/// A second of 250 Mbit/s, small packets counting as 768 octets or more.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// RFC 792: type 8 asks, type 0 answers; eight octets of header, then ours.
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
    set(socket.as_raw_fd(), libc::SO_TIMESTAMPNS, 1)?;
    Ok(socket)
}

fn set_patience(socket: &OwnedFd, patience: Duration) -> io::Result<()> {
    let patience = libc::timeval {
        tv_sec: patience.as_secs() as i64,
        tv_usec: i64::from(patience.subsec_micros()),
    };
    set(socket.as_raw_fd(), libc::SO_RCVTIMEO, patience)
}

fn set<T>(socket: libc::c_int, option: libc::c_int, value: T) -> io::Result<()> {
    let length = size_of::<T>() as u32;
    let value = (&raw const value).cast();
    // SAFETY: a live value of plain data and its length.
    check(unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, option, value, length) })
}

/// Which request an IP packet answers.
fn answered_number(packet: &[u8]) -> Option<u16> {
    // A raw socket gives the IP header too; the low half of its first octet is its length in words.
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

/// RFC 1071, over an even number of octets.
fn internet_checksum(octets: &[u8]) -> u16 {
    let words =
        octets.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
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
    header.msg_controllen = size_of_val(&control);
    // SAFETY: `header` points at live buffers of the lengths that it states.
    let length = unsafe { libc::recvmsg(socket, &raw mut header, 0) };
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
            send_stream(&StreamSpec { to, count: 1, payload: 64, spacing }).unwrap();
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
        let receiver = Receiver::bind(0).unwrap();
        let to = address(&receiver);
        let spacing = Duration::from_micros(50);
        let before = clock::realtime().as_nanos() as u64;
        send_stream(&StreamSpec { to, count: 100, payload: 64, spacing }).unwrap();
        let after = clock::realtime().as_nanos() as u64;
        let quiet = Duration::from_millis(50);
        let arrivals = receiver.receive(Duration::from_secs(5), quiet).unwrap();
        assert!(arrivals.iter().map(|arrival| arrival.number).eq(0..100));
        assert!(arrivals.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(before <= arrivals[0].at && arrivals[99].at <= after, "stamps are of another time");
        assert!(after - before >= 4_900_000, "the stream was sent faster than its pace");
    }
}
