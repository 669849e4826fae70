//! The floor of sending files over QUIC: datagrams sealed with AES-128-GCM and sent in batches that the kernel cuts
//! (GSO), and nothing else. No streams, no loss recovery, no pacing, no HTTP.
//!
//! `quic_floor serve PORT FILE`: each datagram of [`ASK`] asks for the file once. Its bytes go in batches, of which at most
//! [`WINDOW`] wait for the datagram that acknowledges them.
//! `quic_floor drive PORT BYTES CLIENTS SECONDS`: asks for a file of so many bytes again and again, from so many sockets,
//! opens what comes and acknowledges each batch. Prints how many files came.
//! `quic_floor seal SECONDS`: seals datagrams alone. Prints megabytes of payload a second.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::collections::HashMap;
use std::error::Error;
use std::io::{ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

/// A datagram of quinn-proto's on a path with Ethernet's MTU.
const DATAGRAM: usize = 1452;
/// A short header with a connection ID of 8 bytes and a packet number of 4.
const HEADER: usize = 13;
const TAG: usize = 16;
const PAYLOAD: usize = DATAGRAM - HEADER - TAG;
/// As many datagrams as one call can send.
const BATCH: usize = 45;
/// Batches of one client that are not acknowledged yet, at most.
const WINDOW: usize = 8;
const ASK: u8 = 1;
const ACKNOWLEDGE: u8 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", port, file] => serve(port.parse()?, &std::fs::read(file)?),
        ["drive", port, bytes, clients, seconds] => {
            let span = Duration::from_secs(seconds.parse()?);
            drive(port.parse()?, bytes.parse()?, clients.parse()?, span)
        }
        ["seal", seconds] => seal_alone(Duration::from_secs(seconds.parse()?)),
        _ => Err("serve PORT FILE, drive PORT BYTES CLIENTS SECONDS, or seal SECONDS".into()),
    }
}

fn seal_alone(span: Duration) -> Result<(), Box<dyn Error>> {
    let (key, payload) = (key()?, [1; PAYLOAD]);
    let mut batch = Vec::with_capacity(BATCH * DATAGRAM);
    let (began, mut packets) = (Instant::now(), 0);
    while began.elapsed() < span {
        batch.clear();
        for _ in 0..BATCH {
            seal(&key, packets, &payload, &mut batch)?;
            packets += 1;
        }
        std::hint::black_box(&batch);
    }
    let megabytes = packets as f64 * PAYLOAD as f64 / 1e6;
    println!("{:.0}", megabytes / began.elapsed().as_secs_f64());
    Ok(())
}

/// What is under way to one client.
#[derive(Default)]
struct Transfer {
    /// Bytes that are still to be sent.
    left: usize,
    unacknowledged: usize,
    packet: u64,
}

fn serve(port: u16, file: &[u8]) -> Result<(), Box<dyn Error>> {
    // Whoever waits for the port looks for it over TCP.
    let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    socket.set_nonblocking(false)?;
    let key = key()?;
    let mut transfers: HashMap<SocketAddr, Transfer> = HashMap::new();
    let (mut batch, mut input) = (Vec::with_capacity(BATCH * DATAGRAM), [0; DATAGRAM]);
    loop {
        let (length, from) = socket.recv_from(&mut input)?;
        let transfer = transfers.entry(from).or_default();
        match open(&key, &mut input[..length])? {
            ASK => transfer.left += file.len(),
            _ => transfer.unacknowledged -= 1,
        }
        while transfer.left > 0 && transfer.unacknowledged < WINDOW {
            batch.clear();
            while transfer.left > 0 && batch.len() < BATCH * DATAGRAM {
                let start = (file.len() - transfer.left % file.len()) % file.len();
                let part = &file[start..(start + PAYLOAD).min(file.len())];
                seal(&key, transfer.packet, part, &mut batch)?;
                transfer.left -= part.len();
                transfer.packet += 1;
            }
            send(&socket, &state, from, &batch)?;
            transfer.unacknowledged += 1;
        }
    }
}

fn drive(port: u16, bytes: usize, clients: usize, span: Duration) -> Result<(), Box<dyn Error>> {
    let key = key()?;
    let mut sockets = Vec::new();
    for _ in 0..clients {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect((Ipv4Addr::LOCALHOST, port))?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        state.set_recv_buffer_size(UdpSockRef::from(&socket), 4 << 20)?;
        sockets.push((socket, state, 0));
        tell(&sockets[sockets.len() - 1].0, &key, ASK)?;
    }
    let (began, mut files, mut input) = (Instant::now(), 0, vec![0; 1 << 16]);
    while began.elapsed() < span {
        for (socket, state, received) in &mut sockets {
            let mut meta = [RecvMeta::default()];
            let mut buffers = [IoSliceMut::new(&mut input)];
            match state.recv(UdpSockRef::from(&*socket), &mut buffers, &mut meta) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                got => got?,
            };
            for datagram in input[..meta[0].len].chunks_mut(meta[0].stride) {
                open(&key, datagram)?;
                *received += datagram.len() - HEADER - TAG;
            }
            // A batch comes as one where the kernel joins datagrams; the last of a file is shorter.
            tell(socket, &key, ACKNOWLEDGE)?;
            if *received == bytes {
                (*received, files) = (0, files + 1);
                tell(socket, &key, ASK)?;
            }
        }
    }
    println!("{files}");
    Ok(())
}

fn tell(socket: &UdpSocket, key: &LessSafeKey, what: u8) -> Result<(), Box<dyn Error>> {
    let mut datagram = Vec::new();
    seal(key, 0, &[what], &mut datagram)?;
    socket.send(&datagram)?;
    Ok(())
}

fn send(
    socket: &UdpSocket,
    state: &UdpSocketState,
    to: SocketAddr,
    batch: &[u8],
) -> Result<(), Box<dyn Error>> {
    let transmit = Transmit {
        destination: to,
        ecn: None,
        contents: batch,
        segment_size: Some(DATAGRAM),
        src_ip: None,
    };
    Ok(state.try_send(UdpSockRef::from(socket), &transmit)?)
}

/// Both ends have the same one: what it costs is what counts.
fn key() -> Result<LessSafeKey, Box<dyn Error>> {
    let key = UnboundKey::new(&AES_128_GCM, &[7; 16]).map_err(|_| "no key")?;
    Ok(LessSafeKey::new(key))
}

/// Adds a packet to `batch`.
fn seal(
    key: &LessSafeKey,
    packet: u64,
    payload: &[u8],
    batch: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let start = batch.len();
    batch.extend_from_slice(&[0x40; HEADER - 4]);
    batch.extend_from_slice(&(packet as u32).to_be_bytes());
    batch.extend_from_slice(payload);
    let (header, payload) = batch[start..].split_at_mut(HEADER);
    let tag = key
        .seal_in_place_separate_tag(nonce(header), Aad::from(&*header), payload)
        .map_err(|_| "cannot seal")?;
    batch.extend_from_slice(tag.as_ref());
    Ok(())
}

/// Opens a packet and gives its first byte.
fn open(key: &LessSafeKey, datagram: &mut [u8]) -> Result<u8, Box<dyn Error>> {
    let (header, sealed) = datagram.split_at_mut(HEADER);
    let opened = key
        .open_in_place(nonce(header), Aad::from(&*header), sealed)
        .map_err(|_| "cannot open a packet")?;
    opened.first().copied().ok_or_else(|| "an empty packet".into())
}

fn nonce(header: &[u8]) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 4..].copy_from_slice(&header[HEADER - 4..]);
    Nonce::assume_unique_for_key(nonce)
}
