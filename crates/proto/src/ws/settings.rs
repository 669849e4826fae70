//! Settings of a WebSocket, with defaults.

use std::time::Duration;
use unit::Seed;

/// Which end of the connection this is: a client masks what it sends (RFC 6455 §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asked for the connection.
    Client {
        /// Masking keys are drawn from this. Where intermediaries may be fooled by what is sent, it must
        /// be one that nobody can foresee (RFC 6455 §10.3).
        masks: Seed,
    },
    /// It was asked.
    Server,
}

/// How the bytes of a frame leave. A driver that asks again only when it has written what it got writes as often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// As many frames together as the buffer takes.
    #[default]
    One,
    /// The header first, the payload when asked again: as implementations do that hand both to their socket one
    /// after the other.
    Two,
}

/// Settings of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a message, after decompression; a longer one ends the connection with 1009.
    /// Default: 16 MiB.
    pub max_message: usize,
    /// Bytes of one frame's payload; likewise. Default: 16 MiB.
    pub max_frame: u64,
    /// Fragments of a message; likewise. Default: 131,072.
    pub max_fragments: u32,
    /// Pongs that wait to be sent. Of more Pings than that, the oldest are not answered
    /// (RFC 6455 §5.5.3 allows it). Default: 64.
    pub max_pongs: usize,
    /// Bytes of a sent frame's payload; longer messages are fragmented, so that control frames need
    /// not wait for them. Default: 1 MiB.
    pub fragment: usize,
    /// How a frame's bytes leave. Default: together.
    pub writes: Writes,
    /// zlib's level, 0 to 9. Default: 1. On short messages 6 saves a fifth of the bytes for six times the
    /// work: from level 2 on each message gets its own Huffman codes, most of whose cost is the same
    /// however short it is.
    pub compression_level: u32,
    /// Messages shorter than this are sent as they are, where compression was agreed on. Default: 0.
    pub compress_from: usize,
    /// For the peer's Close after ours, and for the end of its bytes after that. Default: 5 s.
    pub close_timeout: Duration,
    /// Silence of the peer after which it gets a Ping; after as much silence again the connection ends.
    /// Default: none.
    pub ping_after: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_message: 16 * 1024 * 1024,
            max_frame: 16 * 1024 * 1024,
            max_fragments: 128 * 1024,
            max_pongs: 64,
            fragment: 1024 * 1024,
            writes: Writes::One,
            compression_level: 1,
            compress_from: 0,
            close_timeout: Duration::from_secs(5),
            ping_after: None,
        }
    }
}
