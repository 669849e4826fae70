//! Compression in both directions, as it was agreed on. The one rule: nothing is made before it is used,
//! for a compressor takes a quarter of a megabyte.

use super::settings::Role;
use wire::ws::{DeflateParameters, Deflater, Inflater, WindowBits};

#[derive(Debug)]
pub(super) struct Coders {
    /// How messages are compressed, where they may be.
    sending: Option<Coding>,
    receiving: Option<Coding>,
    level: u32,
    deflater: Option<Deflater>,
    pub(super) inflater: Option<Inflater>,
}

/// How one side compresses.
#[derive(Debug, Clone, Copy)]
struct Coding {
    window: WindowBits,
    /// Whether each message is compressed by itself.
    forgets: bool,
}

impl Coders {
    pub(super) fn new(role: Role, agreed: Option<DeflateParameters>, level: u32) -> Self {
        let coding = |window: Option<WindowBits>, forgets| Coding {
            window: window.unwrap_or(WindowBits::MAX),
            forgets,
        };
        let server = agreed
            .map(|agreed| coding(agreed.server_max_window_bits, agreed.server_no_context_takeover));
        let client = agreed
            .map(|agreed| coding(agreed.client_max_window_bits, agreed.client_no_context_takeover));
        let (sending, receiving) = match role {
            Role::Server => (server, client),
            Role::Client { .. } => (client, server),
        };
        Self { sending, receiving, level, deflater: None, inflater: None }
    }

    /// Whether messages may be compressed.
    pub(super) fn are_agreed(&self) -> bool {
        self.receiving.is_some()
    }

    /// A message compressed to about `limit` bytes at most; None where it is to go as it is.
    #[inline]
    pub(super) fn deflate(&mut self, data: &[u8], limit: usize) -> Option<Vec<u8>> {
        let Coding { window, forgets } = self.sending?;
        if self.deflater.is_none() {
            self.deflater = Deflater::new(self.level, window, forgets);
        }
        self.deflater.as_mut()?.message(data, limit)
    }

    /// A compressed message arrives.
    pub(super) fn expect(&mut self) {
        if let (Some(Coding { window, forgets }), None) = (self.receiving, &self.inflater) {
            self.inflater = Some(Inflater::new(window, forgets));
        }
    }

    /// Bytes of memory that they take.
    pub(super) fn held(&self) -> usize {
        let deflater = self.deflater.as_ref().map_or(0, |_| DEFLATER);
        deflater + self.inflater.as_ref().map_or(0, |_| INFLATER)
    }

    /// Nothing more is coded.
    pub(super) fn release(&mut self) {
        (self.deflater, self.inflater) = (None, None);
    }
}

/// Bytes of a compressor and of a decompressor with the greatest window (zlib's zconf.h: 2^(15+2) + 2^(8+9), and
/// 2^15 + 7 kB).
const DEFLATER: usize = 256 * 1024;
const INFLATER: usize = 40 * 1024;
