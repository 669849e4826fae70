//! Bytes of headers and payloads, off the front of an input that is cut anywhere.

use super::assembly::Broken;
use wire::ws::{FrameHeader, MAX_HEADER};

/// A header that is arriving.
#[derive(Debug, Default)]
pub(super) struct HeaderReader {
    kept: [u8; MAX_HEADER],
    length: usize,
}

impl HeaderReader {
    /// Takes bytes of a header off the front of `input`. One that arrives whole is never copied.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Result<Option<FrameHeader>, Broken> {
        let broken = |error: wire::ws::Error| (error.code, error.rule);
        if self.length == 0
            && let Some((header, end)) = FrameHeader::parse(input).map_err(broken)?
        {
            *input = &input[end..];
            return Ok(Some(header));
        }
        while let Some((first, rest)) = input.split_first() {
            self.kept[self.length] = *first;
            self.length += 1;
            *input = rest;
            if let Some((header, _)) =
                FrameHeader::parse(&self.kept[..self.length]).map_err(broken)?
            {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }
}

/// Cuts `length` bytes at most off the front of `input`.
pub(super) fn take<'i>(input: &mut &'i [u8], length: u64) -> &'i [u8] {
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(input.len());
    let (bytes, rest) = input.split_at(length);
    *input = rest;
    bytes
}
