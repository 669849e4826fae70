//! Small programs for the ends of a link, so that its tests need none of the machine's: `peer serve
//! ADDRESS BYTES`, `peer fetch ADDRESS`, `peer echo ADDRESS`, `peer ping ADDRESS COUNT`, `peer sink
//! ADDRESS COUNT`, `peer cast ADDRESS COUNT`, `peer gso ADDRESS COUNT`, `peer train ADDRESS COUNT`, `peer largest ADDRESS COUNT`.
#![allow(clippy::print_stdout, unsafe_code)]

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;
use unit::Seed;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, bytes] => serve(address, bytes.parse()?),
        ["fetch", address] => fetch(address),
        ["echo", address] => echo(address),
        ["ping", address, count] => ping(address, count.parse()?),
        ["sink", address, count] => sink(address, count.parse()?),
        ["cast", address, count] => cast(address, count.parse()?),
        ["gso", address, count] => gso(address, count.parse()?),
        ["train", address, count] => train(address, count.parse()?),
        ["largest", address, count] => largest(address, count.parse()?),
        _ => {
            Err("serve, fetch, echo, ping, sink, cast, gso, train or largest, and an address"
                .into())
        }
    }
}

/// Sends `bytes` pseudo-random bytes to each that connects.
fn serve(address: &str, bytes: usize) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address)?;
    loop {
        let (mut stream, _) = listener.accept()?;
        let mut random = Seed(77).random();
        let mut body: Vec<u8> = Vec::with_capacity(bytes + 8);
        while body.len() < bytes {
            body.extend(random.next_u64().to_le_bytes());
        }
        body.truncate(bytes);
        stream.write_all(&body)?;
    }
}

/// Reads to the end and prints how many bytes there were, and how many of them were wrong.
fn fetch(address: &str) -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut stream = TcpStream::connect(address)?;
    keep_alive(&stream)?;
    stream.read_to_end(&mut bytes)?;
    let mut random = Seed(77).random();
    let wrong: usize = bytes
        .chunks(8)
        .map(|chunk| {
            let expected = random.next_u64().to_le_bytes();
            chunk.iter().zip(expected).filter(|&(&byte, expected)| byte != expected).count()
        })
        .sum();
    println!("{} {wrong}", bytes.len());
    Ok(())
}

/// Asks after each second of silence whether the other end still knows the connection: who only reads would wait for ever.
fn keep_alive(stream: &TcpStream) -> std::io::Result<()> {
    for (level, name) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    ] {
        let one: libc::c_int = 1;
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the kernel reads `one`, whose length is told.
        let result = unsafe {
            libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const one).cast(), length)
        };
        if result != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

fn echo(address: &str) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(address)?;
    let mut datagram = [0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut datagram)?;
        socket.send_to(&datagram[..length], from)?;
    }
}

/// Prints each round trip in nanoseconds, `lost` for those that never came back.
fn ping(address: &str, count: u32) -> Result<(), Box<dyn Error>> {
    let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    for number in 0..count {
        let sent = os::clock::now();
        socket.send(&number.to_le_bytes())?;
        let mut answer = [0; 16];
        match socket.recv(&mut answer) {
            Ok(4) if answer[..4] == number.to_le_bytes() => {
                println!("{}", os::clock::now().since(sent).as_nanos());
            }
            _ => println!("lost"),
        }
    }
    Ok(())
}

/// Ends when so many datagrams have come.
fn sink(address: &str, count: u32) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(address)?;
    for _ in 0..count {
        socket.recv(&mut [0; 16])?;
    }
    Ok(())
}

/// Sends so many datagrams and ends at once.
fn cast(address: &str, count: u32) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    for _ in 0..count {
        socket.send_to(b"datagram", address)?;
    }
    Ok(())
}

/// Answers each datagram by so many of 1,000 bytes in one call (UDP GSO).
fn train(address: &str, count: u8) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(address)?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    socket.set_nonblocking(false)?;
    loop {
        let (_, from) = socket.recv_from(&mut [0; 16])?;
        send_train(&socket, &state, from, count)?;
    }
}

/// Asks a `train`, takes what the kernel joined (UDP GRO), and prints the bytes of the largest piece.
fn largest(address: &str, count: usize) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // It has the kernel join what arrives.
    UdpSocketState::new(UdpSockRef::from(&socket))?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    socket.send_to(b"datagram", address)?;
    let (mut received, mut largest) = (0, 0);
    let mut piece = [0; 65_536];
    while received < 1_000 * count {
        let length = socket.recv(&mut piece)?;
        received += length;
        largest = length.max(largest);
    }
    println!("{largest}");
    Ok(())
}

/// Sends so many datagrams of 1,000 bytes, each of bytes like its number, in one call.
fn send_train(
    socket: &UdpSocket,
    state: &UdpSocketState,
    destination: SocketAddr,
    count: u8,
) -> std::io::Result<()> {
    let contents: Vec<u8> = (0..count).flat_map(|number| [number; 1_000]).collect();
    let segment_size = Some(1_000);
    let transmit =
        Transmit { destination, ecn: None, contents: &contents, segment_size, src_ip: None };
    state.try_send(UdpSockRef::from(socket), &transmit)
}

/// Sends so many datagrams of 1,000 bytes to an echo in one call (UDP GSO), and prints how many come back right.
fn gso(address: &str, count: u8) -> Result<(), Box<dyn Error>> {
    let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let destination = address.to_socket_addrs()?.next().ok_or("no address")?;
    send_train(&socket, &state, destination, count)?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut right = BTreeSet::new();
    let mut answer = [0; 2_048];
    while right.len() < usize::from(count) {
        let length = socket.recv(&mut answer)?;
        if length == 1_000 && answer[..length].iter().all(|&byte| byte == answer[0]) {
            right.insert(answer[0]);
        }
    }
    println!("{}", right.len());
    Ok(())
}
