//! Netlink messages (RFC 3549 §2.3) as bytes: building requests and reading replies. The one rule: nothing here knows a
//! socket or the meaning of a message.

use std::io;

/// Bytes of struct nlmsghdr.
pub(super) const HEADER: usize = 16;

pub(super) const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
pub(super) const NLM_F_REPLACE: u16 = 0x100;
pub(super) const NLM_F_EXCL: u16 = 0x200;
pub(super) const NLM_F_CREATE: u16 = 0x400;

/// A message under construction: 4-byte aligned attributes, lengths filled in at the end.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
}

impl Request {
    pub(super) fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = flags | NLM_F_REQUEST | NLM_F_ACK;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self { bytes }
    }

    /// A request that the kernel answers only if it fails.
    pub(super) fn unacknowledged(kind: u16) -> Self {
        let mut request = Self::new(kind, 0);
        request.bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        request
    }

    pub(super) fn body(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.align();
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.bytes.extend(((value.len() + 4) as u16).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.body(value);
    }

    pub(super) fn text(&mut self, kind: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes);
    }

    pub(super) fn nested(&mut self, kind: u16, content: impl FnOnce(&mut Self)) {
        const NLA_F_NESTED: u16 = 0x8000;
        let begin = self.bytes.len();
        self.bytes.extend([0, 0]);
        self.bytes.extend((kind | NLA_F_NESTED).to_ne_bytes());
        content(self);
        let length = (self.bytes.len() - begin) as u16;
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// The attributes in `bytes`: their kinds without flags, and their values.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = bytes.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([head[2], head[3]]) & 0x3fff, value))
    })
}

/// What an acknowledgement says.
pub(super) fn acknowledged(reply: &[u8]) -> io::Result<()> {
    let code = reply.get(HEADER..HEADER + 4);
    match (kind(reply), code) {
        (Some(kind), Some(code)) if i32::from(kind) == libc::NLMSG_ERROR => {
            match i32::from_ne_bytes([code[0], code[1], code[2], code[3]]) {
                0 => Ok(()),
                code => Err(io::Error::from_raw_os_error(-code)),
            }
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The kind of a message.
pub(super) fn kind(reply: &[u8]) -> Option<u16> {
    reply.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]))
}
