//! Cuts the bytes received into frame headers and whole payloads. What lies whole in the input is
//! borrowed from it; only what arrives in pieces is copied. What a header says is not known here.

/// Reads frames whose headers are `H`, an array of bytes.
#[derive(Debug, Default)]
pub(crate) struct Reader<H> {
    header: H,
    have: usize,
    partial: Vec<u8>,
}

/// A whole payload.
pub(crate) enum Payload<'i> {
    /// It lay in the input.
    Borrowed(&'i [u8]),
    /// It came in pieces. Give it back with [`Reader::recycle`].
    Gathered(Vec<u8>),
}

impl<H: AsMut<[u8]> + Copy> Reader<H> {
    /// The next frame header, once it is whole.
    #[inline]
    pub(crate) fn header(&mut self, input: &mut &[u8]) -> Option<H> {
        if self.have == 0
            && let Some((whole, rest)) = input.split_at_checked(size_of::<H>())
        {
            self.header.as_mut().copy_from_slice(whole);
            *input = rest;
            return Some(self.header);
        }
        let header = self.header.as_mut();
        let take = input.len().min(header.len() - self.have);
        let (head, rest) = input.split_at(take);
        header[self.have..self.have + take].copy_from_slice(head);
        *input = rest;
        self.have += take;
        if self.have < header.len() {
            return None;
        }
        self.have = 0;
        Some(self.header)
    }

    /// The payload of `length` bytes, once it is whole.
    pub(crate) fn payload<'i>(
        &mut self,
        length: usize,
        input: &mut &'i [u8],
    ) -> Option<Payload<'i>> {
        if self.partial.is_empty()
            && let Some((payload, rest)) = input.split_at_checked(length)
        {
            *input = rest;
            return Some(Payload::Borrowed(payload));
        }
        let take = input.len().min(length - self.partial.len());
        let (head, rest) = input.split_at(take);
        self.partial.extend_from_slice(head);
        *input = rest;
        let whole = self.partial.len() == length;
        whole.then(|| Payload::Gathered(std::mem::take(&mut self.partial)))
    }

    /// Takes a payload's buffer back.
    pub(crate) fn recycle(&mut self, mut payload: Vec<u8>) {
        payload.clear();
        self.partial = payload;
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn is_amid_header(&self) -> bool {
        self.have > 0
    }
}
