//! Small programs for the ends of a link, so that its tests need none of the machine's: `peer serve
//! ADDRESS BYTES`, `peer fetch ADDRESS`, `peer echo ADDRESS`, `peer ping ADDRESS COUNT`, `peer sink
//! ADDRESS COUNT`, `peer cast ADDRESS COUNT`, `peer gso ADDRESS COUNT`.
#![allow(clippy::print_stdout)]

use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};
use std::collections::BTreeSet;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
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
        _ => Err("serve, fetch, echo, ping, sink, cast or gso, and an address".into()),
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
    TcpStream::connect(address)?.read_to_end(&mut bytes)?;
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

/// Sends so many datagrams of 1,000 bytes to an echo in one call (UDP GSO), and prints how many come back right.
fn gso(address: &str, count: u8) -> Result<(), Box<dyn Error>> {
    let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let contents: Vec<u8> = (0..count).flat_map(|number| [number; 1_000]).collect();
    let destination = address.to_socket_addrs()?.next().ok_or("no address")?;
    let transmit = Transmit {
        destination,
        ecn: None,
        contents: &contents,
        segment_size: Some(1_000),
        src_ip: None,
    };
    state.try_send(UdpSockRef::from(&socket), &transmit)?;
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
