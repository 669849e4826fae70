//! The options behind a block's fixed part (§3.5): a code and a length of 16 bits each, and a value.

use super::{PcapngError, padded};
use std::str;

const END: u16 = 0;

/// Appends the options that are there, and their end; nothing where none is.
pub(super) fn write(out: &mut Vec<u8>, options: &[(u16, Option<&[u8]>)]) {
    let mut present =
        options.iter().filter_map(|(code, value)| Some((*code, (*value)?))).peekable();
    if present.peek().is_none() {
        return;
    }
    for (code, value) in present {
        let value = fitting(value);
        out.extend_from_slice(&code.to_le_bytes());
        out.extend_from_slice(&(value.len() as u16).to_le_bytes());
        padded(out, value);
    }
    out.extend_from_slice(&[0; 4]);
}

/// What fits into an option, cut where a character of UTF-8 begins.
fn fitting(value: &[u8]) -> &[u8] {
    let most = usize::from(u16::MAX);
    if value.len() <= most {
        return value;
    }
    let is_within = |&at: &usize| value[at] & 0xc0 == 0x80;
    let at = (0..=most).rev().find(|at| !is_within(at)).unwrap_or(most);
    &value[..at]
}

/// The options of a block that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options<'a> {
    body: &'a [u8],
    begin: usize,
}

impl<'a> Options<'a> {
    /// Those that begin at `begin` of a block without its last length.
    pub(super) fn of(body: &'a [u8], begin: usize) -> Result<Self, PcapngError> {
        match begin <= body.len() {
            true => Ok(Self { body, begin }),
            false => Err(PcapngError::Length { at: 4 }),
        }
    }

    /// Where the first option of this code has its value, and the value.
    pub(super) fn find(&self, wanted: u16) -> Result<Option<(usize, &'a [u8])>, PcapngError> {
        let mut at = self.begin;
        while let Some([c0, c1, l0, l1]) = self.body.get(at..at + 4) {
            let code = u16::from_le_bytes([*c0, *c1]);
            let length = usize::from(u16::from_le_bytes([*l0, *l1]));
            if code == END {
                return Ok(None);
            }
            let value = self.body.get(at + 4..at + 4 + length);
            let value = value.ok_or(PcapngError::Length { at: at + 2 })?;
            if code == wanted {
                return Ok(Some((at + 4, value)));
            }
            at += 4 + length.next_multiple_of(4);
        }
        // §3.5: the end may be left away where the block ends.
        Ok(None)
    }

    pub(super) fn text(&self, code: u16) -> Result<Option<&'a str>, PcapngError> {
        let Some((at, value)) = self.find(code)? else { return Ok(None) };
        str::from_utf8(value).map(Some).map_err(|_| PcapngError::Text { at })
    }
}
