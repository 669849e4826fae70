//! pcapng, the file format of packet captures (draft-ietf-opsawg-pcapng): bytes <-> blocks. The one rule: a block
//! borrows what it carries, and little-endian sections of Ethernet frames with stamps in nanoseconds are all that
//! is written; any block that is whole can be skipped, whatever it holds.

mod options;

use options::Options;
use std::str;

/// Which file this is, the first block of it (§4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Section<'a> {
    /// The program that wrote it.
    pub application: Option<&'a str>,
    /// What it is a capture of.
    pub comment: Option<&'a str>,
}

/// Where packets were seen (§4.2). Interfaces are numbered from 0 in their order in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interface<'a> {
    /// Its name, for filters.
    pub name: Option<&'a str>,
    /// What it is, for people.
    pub description: Option<&'a str>,
}

/// Which way a packet went, as the interface saw it (§4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    /// Unknown.
    #[default]
    Unknown,
    /// It was received.
    Inbound,
    /// It was sent.
    Outbound,
}

/// A packet (§4.3), whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The number of the interface.
    pub interface: u32,
    /// Nanoseconds since 1970 in UTC.
    pub at: u64,
    /// Which way it went.
    pub way: Way,
    /// The Ethernet frame.
    pub frame: &'a [u8],
    /// What there is to say of it.
    pub comment: Option<&'a str>,
}

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block<'a> {
    /// Section Header Block.
    Section(Section<'a>),
    /// Interface Description Block.
    Interface(Interface<'a>),
    /// Enhanced Packet Block.
    Packet(Captured<'a>),
    /// Decryption Secrets Block (§4.7) with a TLS key log, in the format of SSLKEYLOGFILE. It stands before
    /// the packets that need it.
    TlsKeys(&'a [u8]),
    /// Any other one, skipped.
    Other(u32),
}

/// Bytes that are no pcapng of the kind that is written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PcapngError {
    /// The bytes end before the block does.
    #[error("at byte {at}: the file ends within a block")]
    Truncated {
        /// How many bytes there are.
        at: usize,
    },
    /// A length that its block contradicts.
    #[error("at byte {at}: a length contradicts the block")]
    Length {
        /// Where the length stands.
        at: usize,
    },
    /// Another byte order, version, link type or resolution of stamps than is written here.
    #[error("at byte {at}: a capture of another kind")]
    Foreign {
        /// Where it says so.
        at: usize,
    },
    /// A text that is not UTF-8.
    #[error("at byte {at}: a text that is not UTF-8")]
    Text {
        /// Where the text begins.
        at: usize,
    },
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const SECRETS: u32 = 10;
/// §4.1: reads as this in the section's own byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// §4.7.1: "TLSK".
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Block type and length before a body.
const HEAD: usize = 8;
/// And the length once more behind it.
const FRAME: usize = HEAD + 4;
/// 10^-9 s.
const NANOSECONDS: u8 = 9;

const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;

impl<'a> Block<'a> {
    /// Appends the block to `out`. What a reader could only skip is not written.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Section(section) => framed(out, SECTION, |out| section.encode(out)),
            Self::Interface(interface) => framed(out, INTERFACE, |out| interface.encode(out)),
            Self::Packet(packet) => framed(out, PACKET, |out| packet.encode(out)),
            Self::TlsKeys(keys) => framed(out, SECRETS, |out| {
                out.extend_from_slice(&TLS_KEY_LOG.to_le_bytes());
                out.extend_from_slice(&(keys.len() as u32).to_le_bytes());
                padded(out, keys);
            }),
            Self::Other(_) => {}
        }
    }

    /// Reads the block that `bytes` begin with, and returns its length in bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, usize), PcapngError> {
        let kind = u32_at(bytes, 0)?;
        if kind == SECTION && u32_at(bytes, HEAD)? != BYTE_ORDER {
            return Err(PcapngError::Foreign { at: HEAD });
        }
        let length = u32_at(bytes, 4)? as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Err(PcapngError::Length { at: 4 });
        }
        let whole = bytes.get(..length).ok_or(PcapngError::Truncated { at: bytes.len() })?;
        let behind = length - 4;
        if u32_at(whole, behind)? as usize != length {
            return Err(PcapngError::Length { at: behind });
        }
        let body = &whole[..behind];
        let block = match kind {
            SECTION => Self::Section(Section::decode(body)?),
            INTERFACE => Self::Interface(Interface::decode(body)?),
            PACKET => Self::Packet(Captured::decode(body)?),
            SECRETS if u32_at(body, HEAD)? == TLS_KEY_LOG => {
                let length = u32_at(body, HEAD + 4)? as usize;
                let keys = body[HEAD + 8..].get(..length);
                Self::TlsKeys(keys.ok_or(PcapngError::Length { at: HEAD + 4 })?)
            }
            other => Self::Other(other),
        };
        Ok((block, length))
    }
}

impl<'a> Section<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        out.extend_from_slice(&1_u16.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        // Its length is not known: it is written as packets come.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        let texts = [(COMMENT, self.comment), (SHB_USERAPPL, self.application)];
        options::write(out, &texts.map(|(code, text)| (code, text.map(str::as_bytes))));
    }

    fn decode(body: &'a [u8]) -> Result<Self, PcapngError> {
        // §4.1: version 1.0 and 1.2 are the same.
        if !matches!(u32_at(body, HEAD + 4)?, 1 | 0x2_0001) {
            return Err(PcapngError::Foreign { at: HEAD + 4 });
        }
        let options = Options::of(body, HEAD + 16)?;
        Ok(Self { application: options.text(SHB_USERAPPL)?, comment: options.text(COMMENT)? })
    }
}

impl<'a> Interface<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u32::from(ETHERNET).to_le_bytes());
        // No limit to the length of packets.
        out.extend_from_slice(&0_u32.to_le_bytes());
        let (name, description) =
            (self.name.map(str::as_bytes), self.description.map(str::as_bytes));
        let resolution = (IF_TSRESOL, Some(&[NANOSECONDS][..]));
        options::write(out, &[(IF_NAME, name), (IF_DESCRIPTION, description), resolution]);
    }

    fn decode(body: &'a [u8]) -> Result<Self, PcapngError> {
        if u32_at(body, HEAD)? as u16 != ETHERNET {
            return Err(PcapngError::Foreign { at: HEAD });
        }
        let options = Options::of(body, HEAD + 8)?;
        match options.find(IF_TSRESOL)? {
            Some((_, [NANOSECONDS])) => {}
            other => return Err(PcapngError::Foreign { at: other.map_or(HEAD, |(at, _)| at) }),
        }
        Ok(Self { name: options.text(IF_NAME)?, description: options.text(IF_DESCRIPTION)? })
    }
}

impl<'a> Captured<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        let length = self.frame.len() as u32;
        let stamp = [(self.at >> 32) as u32, self.at as u32];
        for number in [self.interface, stamp[0], stamp[1], length, length] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        padded(out, self.frame);
        let flags = match self.way {
            Way::Unknown => None,
            Way::Inbound => Some(1_u32.to_le_bytes()),
            Way::Outbound => Some(2_u32.to_le_bytes()),
        };
        let flags = (EPB_FLAGS, flags.as_ref().map(|flags| &flags[..]));
        options::write(out, &[flags, (COMMENT, self.comment.map(str::as_bytes))]);
    }

    fn decode(body: &'a [u8]) -> Result<Self, PcapngError> {
        let number = |place: usize| u32_at(body, HEAD + 4 * place);
        let (interface, high, low) = (number(0)?, number(1)?, number(2)?);
        let (captured, length) = (number(3)?, number(4)?);
        if captured != length {
            // §4.3: a packet that was cut.
            return Err(PcapngError::Foreign { at: HEAD + 12 });
        }
        let begin = HEAD + 20;
        let frame = body[begin..].get(..captured as usize);
        let frame = frame.ok_or(PcapngError::Length { at: HEAD + 12 })?;
        let options = Options::of(body, begin + frame.len().next_multiple_of(4))?;
        let way = match options.find(EPB_FLAGS)? {
            None => Way::Unknown,
            Some((at, flags)) => {
                match flags.first().filter(|_| flags.len() == 4).map(|low| low & 3) {
                    Some(0) => Way::Unknown,
                    Some(1) => Way::Inbound,
                    Some(2) => Way::Outbound,
                    _ => return Err(PcapngError::Length { at }),
                }
            }
        };
        let at = u64::from(high) << 32 | u64::from(low);
        Ok(Self { interface, at, way, frame, comment: options.text(COMMENT)? })
    }
}

fn framed(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - begin + 4) as u32).to_le_bytes();
    out[begin + 4..begin + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Bytes up to a boundary of 32 bits (§3.1).
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, PcapngError> {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map(|four| u32::from_le_bytes(*four)).ok_or(PcapngError::Truncated { at: bytes.len() })
}

#[cfg(test)]
mod tests;
