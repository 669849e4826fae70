//! How a reactor works.

use super::{AdaptiveSendBuffer, Backend};
use crate::process::Cpu;
use std::time::Duration;

/// How a reactor works.
#[derive(Debug, Clone)]
pub struct ReactorSettings {
    /// The CPU that the running thread is bound to; None leaves it free.
    pub cpu: Option<Cpu>,
    /// How it speaks with the kernel.
    pub backend: Backend,
    /// How long a closed socket may take to send its pending bytes.
    pub flush: Duration,
    /// How long a closed socket waits, after its FIN, for the peer's. With zero it closes at once, and bytes that
    /// arrive late cause an RST.
    pub linger: Duration,
    /// How far the bytes that may be unsent in the kernel follow the path.
    pub adaptive_send_buffer: AdaptiveSendBuffer,
    /// Whether the reactor measures its turns and waits, and how late it got to its events.
    pub timing: Timing,
}

impl Default for ReactorSettings {
    fn default() -> Self {
        Self {
            cpu: None,
            backend: Backend::default(),
            flush: Duration::from_secs(10),
            linger: Duration::from_secs(1),
            adaptive_send_buffer: AdaptiveSendBuffer::Down,
            timing: Timing::Off,
        }
    }
}

/// Whether a reactor measures its own turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timing {
    /// On. It costs two readings of clocks a turn, and a turn every ten milliseconds.
    On,
    /// It does not, at no cost.
    #[default]
    Off,
}
