//! The codec: a frame is a line of text.

use proto::{Fin, Method, Status};

/// A line. After `Data` come `length` bytes of a body.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    Ask { stream: u64, fin: Fin, method: Method, authority: String, path: String },
    Answer { stream: u64, fin: Fin, status: Status },
    Data { stream: u64, fin: Fin, length: usize },
    Reset { stream: u64 },
}

impl Frame {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let word = |fin: &Fin| if *fin == Fin::Last { "last" } else { "more" };
        let line = match self {
            Self::Ask { stream, fin, method, authority, path } => {
                format!("ask {stream} {} {method} {authority} {path}\n", word(fin))
            }
            Self::Answer { stream, fin, status } => {
                format!("answer {stream} {} {}\n", word(fin), status.code())
            }
            Self::Data { stream, fin, length } => format!("data {stream} {} {length}\n", word(fin)),
            Self::Reset { stream } => format!("reset {stream}\n"),
        };
        out.extend_from_slice(line.as_bytes());
    }

    /// Reads a line without its end.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        let stream = words.get(1)?.parse().ok()?;
        let fin = match words.get(2) {
            Some(&"last") => Fin::Last,
            _ => Fin::More,
        };
        Some(match *words {
            ["ask", _, _, method, authority, path] => {
                let method = Method::parse(method.as_bytes())?;
                Self::Ask { stream, fin, method, authority: authority.into(), path: path.into() }
            }
            ["answer", _, _, code] => {
                Self::Answer { stream, fin, status: Status::new(code.parse().ok()?)? }
            }
            ["data", _, _, length] => Self::Data { stream, fin, length: length.parse().ok()? },
            ["reset", _] => Self::Reset { stream },
            _ => return None,
        })
    }
}
