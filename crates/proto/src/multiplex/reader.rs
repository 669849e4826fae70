//! Cuts the bytes received into frame headers and whole payloads. What lies whole in the input is
//! borrowed from it; only what arrives in pieces is copied. What a header says is not known here.

/// Of a protocol whose frame headers have `N` bytes.
#[derive(Debug)]
pub(crate) struct Reader<const N: usize> {
    header: [u8; N],
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

impl<const N: usize> Default for Reader<N> {
    fn default() -> Self {
        Self { header: [0; N], have: 0, partial: Vec::new() }
    }
}

impl<const N: usize> Reader<N> {
    /// The next frame header, once it is whole.
    pub(crate) fn header(&mut self, input: &mut &[u8]) -> Option<[u8; N]> {
        if self.have == 0
            && let Some((header, rest)) = input.split_first_chunk()
        {
            *input = rest;
            return Some(*header);
        }
        let take = input.len().min(N - self.have);
        let (head, rest) = input.split_at(take);
        self.header[self.have..self.have + take].copy_from_slice(head);
        *input = rest;
        self.have += take;
        if self.have < N {
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

    /// Takes the room of a payload back.
    pub(crate) fn recycle(&mut self, mut payload: Vec<u8>) {
        payload.clear();
        self.partial = payload;
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn is_amid_header(&self) -> bool {
        self.have > 0
    }
}
