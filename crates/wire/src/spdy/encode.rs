//! Frames to bytes.

use super::header::{FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL, Subject};
use super::{Frame, FrameHeader, FrameKind, HEADER_LENGTH, Persistence, Setting};

impl Frame<'_> {
    /// Appends the frame. Payloads must be shorter than 2^24 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LENGTH]);
        let mut header = self.payload(out);
        header.length = (out.len() - start - HEADER_LENGTH) as u32;
        debug_assert!(header.length < 1 << 24, "a frame's length has 24 bits");
        out[start..start + HEADER_LENGTH].copy_from_slice(&header.bytes());
    }

    /// Appends the payload; gives the header but for its length.
    fn payload(&self, out: &mut Vec<u8>) -> FrameHeader {
        let mut put = |words: &[u32], rest: &[u8]| {
            for word in words {
                out.extend_from_slice(&word.to_be_bytes());
            }
            out.extend_from_slice(rest);
        };
        let (kind, flags) = match *self {
            Self::Data { stream, data, fin } => {
                put(&[], data);
                let flags = flag(fin, FLAG_FIN);
                return FrameHeader { subject: Subject::Data { stream }, flags, length: 0 };
            }
            Self::SynStream { stream, associated, priority, fin, unidirectional, block } => {
                put(&[stream, associated], &[priority.min(7) << 5, 0]);
                put(&[], block);
                let way = flag(unidirectional, FLAG_UNIDIRECTIONAL);
                (FrameKind::SYN_STREAM, flag(fin, FLAG_FIN) | way)
            }
            Self::SynReply { stream, fin, block } => {
                put(&[stream], block);
                (FrameKind::SYN_REPLY, flag(fin, FLAG_FIN))
            }
            Self::ResetStream { stream, code } => {
                put(&[stream, code.0], &[]);
                (FrameKind::RST_STREAM, 0)
            }
            Self::Settings { clear, list } => {
                put(&[(list.0.len() / 8) as u32], list.0);
                (FrameKind::SETTINGS, flag(clear, FLAG_CLEAR_SETTINGS))
            }
            Self::Ping(id) => {
                put(&[id], &[]);
                (FrameKind::PING, 0)
            }
            Self::GoAway { last, code } => {
                put(&[last, code.0], &[]);
                (FrameKind::GOAWAY, 0)
            }
            Self::Headers { stream, fin, block } => {
                put(&[stream], block);
                (FrameKind::HEADERS, flag(fin, FLAG_FIN))
            }
            Self::WindowUpdate { stream, increment } => {
                put(&[stream, increment], &[]);
                (FrameKind::WINDOW_UPDATE, 0)
            }
            Self::Unknown { header, payload } => {
                put(&[], payload);
                return header;
            }
        };
        FrameHeader::control(kind, flags, 0)
    }
}

impl Setting {
    /// Appends a SETTINGS frame of these parameters.
    pub fn encode_all(settings: &[Self], out: &mut Vec<u8>) {
        let mut list = Vec::with_capacity(settings.len() * 8);
        for setting in settings {
            let flags: u32 = match setting.persistence {
                Persistence::Session => 0,
                Persistence::Persist => 1,
                Persistence::Persisted => 2,
            };
            list.extend_from_slice(&(flags << 24 | setting.id.0 & 0xff_ffff).to_be_bytes());
            list.extend_from_slice(&setting.value.to_be_bytes());
        }
        Frame::Settings { clear: false, list: super::SettingsList(&list) }.encode(out);
    }
}

fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}
