//! Compression in both directions, as it was agreed on. The one rule: nothing is made before it is used,
//! for a compressor takes a quarter of a megabyte.

use super::settings::Role;
use wire::ws::{DeflateParameters, Deflater, Inflater, WindowBits};

#[derive(Debug)]
pub(super) struct Coders {
    role: Role,
    agreed: Option<DeflateParameters>,
    level: u32,
    deflater: Option<Deflater>,
    pub(super) inflater: Option<Inflater>,
}

impl Coders {
    pub(super) fn new(role: Role, agreed: Option<DeflateParameters>, level: u32) -> Self {
        Self { role, agreed, level, deflater: None, inflater: None }
    }

    /// Whether messages may be compressed.
    pub(super) fn are_agreed(&self) -> bool {
        self.agreed.is_some()
    }

    /// A message compressed; None where it is to go as it is.
    #[inline]
    pub(super) fn deflate(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        let agreed = self.agreed?;
        if self.deflater.is_none() {
            let (window, forgets) = match self.role {
                Role::Server => (agreed.server_max_window_bits, agreed.server_no_context_takeover),
                Role::Client { .. } => {
                    (agreed.client_max_window_bits, agreed.client_no_context_takeover)
                }
            };
            self.deflater = Deflater::new(self.level, window.unwrap_or(WindowBits::MAX), forgets);
        }
        self.deflater.as_mut()?.message(data)
    }

    /// A compressed message arrives.
    pub(super) fn expect(&mut self) {
        if let (Some(agreed), None) = (self.agreed, &self.inflater) {
            let (window, forgets) = match self.role {
                Role::Server => (agreed.client_max_window_bits, agreed.client_no_context_takeover),
                Role::Client { .. } => {
                    (agreed.server_max_window_bits, agreed.server_no_context_takeover)
                }
            };
            self.inflater = Some(Inflater::new(window.unwrap_or(WindowBits::MAX), forgets));
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
