//! A chunked body is the same however it is cut.

use crate::{decode, reached};
use wire::Fields;
use wire::h1::{ChunkPart, ChunkedDecoder, Error, Limits};

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Option<Fields>), Error> {
    let mut decoder = ChunkedDecoder::new(Limits::default());
    let (mut body, mut trailers) = (Vec::new(), None);
    for mut piece in pieces {
        while let Some(part) = decoder.decode(&mut piece)? {
            reached::note_value();
            match part {
                ChunkPart::Data(data) => body.extend_from_slice(data),
                ChunkPart::End(fields) => trailers = Some(fields),
            }
        }
    }
    Ok((body, trailers))
}

pub(crate) fn run(input: &[u8]) {
    let Some(input) = decode::<(u8, &[u8])>(input) else { return };
    let (size, bytes) = input;
    let whole = read(std::iter::once(bytes));
    let cut = read(bytes.chunks(usize::from(size).max(1)));
    assert_eq!(whole.map_err(|error| error.rule), cut.map_err(|error| error.rule));
}
