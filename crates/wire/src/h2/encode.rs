//! Frames to bytes.

use super::header::{FLAG_ACK, FLAG_END_HEADERS, FLAG_END_STREAM, FLAG_PADDED, FLAG_PRIORITY};
use super::{Dependency, Frame, FrameHeader, FrameKind, HEADER_LENGTH, Setting};

impl Frame<'_> {
    /// Appends the frame. Payloads must be shorter than 2^24 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LENGTH]);
        let (stream, flags) = self.payload(out);
        let length = (out.len() - start - HEADER_LENGTH) as u32;
        debug_assert!(length < 1 << 24, "a frame's length has 24 bits");
        let header = FrameHeader { length, kind: self.kind(), flags, stream };
        out[start..start + HEADER_LENGTH].copy_from_slice(&header.bytes());
    }

    /// Appends the payload; gives stream and flags. Long because it has one arm a frame.
    fn payload(&self, out: &mut Vec<u8>) -> (u32, u8) {
        match *self {
            Self::Data { stream, data, end_stream, padding } => {
                let padded = padded(out, padding, |out| out.extend_from_slice(data));
                (stream, flag(end_stream, FLAG_END_STREAM) | padded)
            }
            Self::Headers { stream, block, end_stream, end_headers, dependency, padding } => {
                let padded = padded(out, padding, |out| {
                    if let Some(dependency) = dependency {
                        put_dependency(dependency, out);
                    }
                    out.extend_from_slice(block);
                });
                let flags = flag(end_stream, FLAG_END_STREAM)
                    | flag(end_headers, FLAG_END_HEADERS)
                    | flag(dependency.is_some(), FLAG_PRIORITY);
                (stream, flags | padded)
            }
            Self::Priority { stream, dependency } => {
                put_dependency(dependency, out);
                (stream, 0)
            }
            Self::ResetStream { stream, code } => {
                out.extend_from_slice(&code.0.to_be_bytes());
                (stream, 0)
            }
            Self::Settings(list) => {
                out.extend_from_slice(list.0);
                (0, 0)
            }
            Self::SettingsAck => (0, FLAG_ACK),
            Self::PushPromise { stream, promised, block, end_headers, padding } => {
                let padded = padded(out, padding, |out| {
                    out.extend_from_slice(&promised.to_be_bytes());
                    out.extend_from_slice(block);
                });
                (stream, flag(end_headers, FLAG_END_HEADERS) | padded)
            }
            Self::Ping(opaque) => {
                out.extend_from_slice(&opaque);
                (0, 0)
            }
            Self::PingAck(opaque) => {
                out.extend_from_slice(&opaque);
                (0, FLAG_ACK)
            }
            Self::GoAway { last, code, debug } => {
                out.extend_from_slice(&last.to_be_bytes());
                out.extend_from_slice(&code.0.to_be_bytes());
                out.extend_from_slice(debug);
                (0, 0)
            }
            Self::WindowUpdate { stream, increment } => {
                out.extend_from_slice(&increment.to_be_bytes());
                (stream, 0)
            }
            Self::Continuation { stream, block, end_headers } => {
                out.extend_from_slice(block);
                (stream, flag(end_headers, FLAG_END_HEADERS))
            }
            Self::PriorityUpdate { prioritised, value } => {
                out.extend_from_slice(&prioritised.to_be_bytes());
                out.extend_from_slice(value);
                (0, 0)
            }
            Self::Unknown { header, payload } => {
                out.extend_from_slice(payload);
                (header.stream, header.flags)
            }
        }
    }
}

impl Setting {
    /// Appends a SETTINGS frame of these parameters.
    pub fn encode_all(settings: &[Self], out: &mut Vec<u8>) {
        let length = (settings.len() * 6) as u32;
        let header = FrameHeader { length, kind: FrameKind::SETTINGS, flags: 0, stream: 0 };
        out.extend_from_slice(&header.bytes());
        for setting in settings {
            out.extend_from_slice(&setting.id.0.to_be_bytes());
            out.extend_from_slice(&setting.value.to_be_bytes());
        }
    }
}

fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

fn padded(out: &mut Vec<u8>, padding: Option<u8>, content: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let Some(padding) = padding else {
        content(out);
        return 0;
    };
    out.push(padding);
    content(out);
    out.resize(out.len() + usize::from(padding), 0);
    FLAG_PADDED
}

fn put_dependency(dependency: Dependency, out: &mut Vec<u8>) {
    out.extend_from_slice(&dependency.bytes());
}
