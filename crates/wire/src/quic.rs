//! The fields of QUIC long headers that every version sends in the clear (RFC 8999 §5.1). Nothing here decrypts, so it
//! does not see HTTP/3.
//!
//! ```
//! let datagram = [0xc3, 0, 0, 0, 1, 1, 0xaa, 2, 0xbb, 0xcc, 0];
//! let header = wire::quic::LongHeader::parse(&datagram).unwrap();
//! assert_eq!((header.version, header.source), (1, &[0xbb, 0xcc][..]));
//! ```

/// A long header, as the packets of a handshake have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongHeader<'a> {
    /// QUIC's version; zero is a version negotiation.
    pub version: u32,
    /// The connection's name at the receiver.
    pub destination: &'a [u8],
    /// The connection's name at the sender, the same for as long as the handshake lasts (RFC 9000 §7.2).
    pub source: &'a [u8],
}

impl<'a> LongHeader<'a> {
    /// Reads the header of the first packet in a UDP datagram; None where it is a short one, or none of QUIC's.
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        let (&first, rest) = datagram.split_first()?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (destination, rest) = connection_id(rest)?;
        let (source, _) = connection_id(rest)?;
        // RFC 8999 §5.1: the highest bit tells the two forms apart.
        let is_long = first & 0x80 != 0;
        is_long.then_some(Self { version: u32::from_be_bytes(*version), destination, source })
    }

    /// Whether HTTP/3 is defined over its version (RFC 9000, RFC 9369).
    pub fn is_known(&self) -> bool {
        [V1, V2].contains(&self.version)
    }
}

/// What follows the first byte of a packet with a short header: the receiver's connection ID, whose length only the receiver
/// knows, and encrypted bytes (RFC 8999 §5.2). None where the datagram has a long header.
pub fn short_header_id(datagram: &[u8]) -> Option<&[u8]> {
    let (&first, rest) = datagram.split_first()?;
    (first & 0x80 == 0).then_some(rest)
}

fn connection_id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(length))
}

/// RFC 9000 §15.
const V1: u32 = 1;
/// RFC 9369 §3.1.
const V2: u32 = 0x6b33_43cf;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of the client's first packet in RFC 9001, appendix A.2.
    const INITIAL: [u8; 16] = [
        0xc0, 0x00, 0x00, 0x00, 0x01, 0x08, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08, 0x00,
        0x00,
    ];

    #[test]
    fn the_packet_of_the_rfc_tells_its_version_and_names() {
        let header = LongHeader::parse(&INITIAL).unwrap();
        assert_eq!(header.destination, &INITIAL[6..14]);
        assert_eq!((header.version, header.source), (1, &[][..]));
        assert!(header.is_known());
    }

    #[test]
    fn what_is_no_long_header_is_none() {
        for length in 0..15 {
            assert_eq!(LongHeader::parse(&INITIAL[..length]), None, "{length} bytes");
        }
        let mut short = INITIAL;
        short[0] = 0x40;
        assert_eq!(LongHeader::parse(&short), None);
        assert_eq!(short_header_id(&short), Some(&short[1..]));
        assert_eq!((short_header_id(&INITIAL), short_header_id(b"")), (None, None));
        let mut negotiation = INITIAL;
        negotiation[4] = 0;
        assert!(!LongHeader::parse(&negotiation).unwrap().is_known());
    }
}
