//! Which of the sockets at one address gets a datagram: a program for the kernel (SO_ATTACH_REUSEPORT_CBPF, socket(7)).
//!
//! A QUIC packet with a long header begins a connection, or comes within its handshake: the kernel's hash of the addresses
//! decides, and the socket that it comes to puts its own number into the connection IDs that it gives out. A packet with a
//! short header names its socket by that number, wherever it comes from (RFC 9000 §5.2; draft-ietf-quic-load-balancers §3).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// An instruction: what it does, how many to skip where its test holds and where not, and its constant.
const fn instruction(code: u32, skip: [u8; 2], k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: skip[0], jf: skip[1], k }
}

const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const TEST_BITS: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN_LOADED: u32 = libc::BPF_RET | libc::BPF_A;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// The bit that a long header has (RFC 9000 §17.2).
const LONG: u32 = 0x80;

/// No socket has this number: the kernel's hash decides.
const BY_HASH: u32 = u32::MAX;

/// Sees a datagram's payload, and returns the number of a socket in the order in which they were bound.
static PROGRAM: [libc::sock_filter; 5] = [
    instruction(LOAD_BYTE, [0, 0], 0),
    instruction(TEST_BITS, [2, 0], LONG),
    instruction(LOAD_BYTE, [0, 0], 1),
    instruction(RETURN_LOADED, [0, 0], 0),
    instruction(RETURN, [0, 0], BY_HASH),
];

/// Has the kernel ask the program for all sockets that share the address of this one.
pub(super) fn attach(socket: BorrowedFd<'_>) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: PROGRAM.len() as u16, filter: PROGRAM.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program, whose length is told, and writes nothing.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use crate::udp::DatagramSocket;
    use endpoint::DatagramSettings;
    use std::net::UdpSocket;

    /// Which of the sockets have got datagrams.
    fn arrivals(sockets: &[UdpSocket]) -> Vec<usize> {
        let has_one = |socket: &UdpSocket| {
            let mut count = 0;
            while socket.recv(&mut [0; 64]).is_ok() {
                count += 1;
            }
            count
        };
        sockets.iter().map(has_one).collect()
    }

    #[test]
    fn a_short_header_goes_to_the_socket_that_it_names_wherever_it_comes_from() {
        let any = "127.0.0.1:0".parse().unwrap();
        let sockets = DatagramSocket::bind_all(any, 3, &DatagramSettings::default()).unwrap();
        let address = sockets[0].local();
        let sockets: Vec<UdpSocket> =
            sockets.into_iter().map(|socket| std::os::fd::OwnedFd::from(socket).into()).collect();
        let peers: Vec<UdpSocket> = (0..32).map(|_| UdpSocket::bind(any).unwrap()).collect();
        let send = |bytes: &[u8]| {
            for peer in &peers {
                peer.send_to(bytes, address).unwrap();
            }
        };
        for number in 0..3 {
            send(&[0x40, number, 9, 9, 9, 9, 9, 9, 9]);
            let mut expected = vec![0; 3];
            expected[usize::from(number)] = 32;
            assert_eq!(arrivals(&sockets), expected);
        }
        // Long headers, numbers that no socket has: by the addresses, so that more than one gets some of 32.
        for bytes in [&[0xc0, 0, 0, 0, 1, 8][..], &[0x40, 200, 1]] {
            send(bytes);
            let arrived = arrivals(&sockets);
            assert_eq!(arrived.iter().sum::<usize>(), 32);
            assert!(arrived.iter().filter(|count| **count > 0).count() > 1, "{arrived:?}");
        }
        // What is too short for a number is no packet, and harms nobody.
        send(&[0x40]);
        assert_eq!(arrivals(&sockets).iter().sum::<usize>(), 32);
    }
}
