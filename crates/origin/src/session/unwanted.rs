//! The rest of requests whose exchange is over. The one rule: of each so much is read and dropped, and then it is refused.

use proto::StreamId;

/// Streams that were answered before their request was whole, with how much of it came since.
#[derive(Debug, Default)]
pub(super) struct Unwanted(Vec<(StreamId, usize)>);

/// What becomes of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Dropped,
    Refused,
}

impl Unwanted {
    /// So many bytes came.
    pub(super) fn count(&mut self, stream: StreamId, bytes: usize) -> Rest {
        let known = self.0.iter().position(|(other, _)| *other == stream);
        let place = known.unwrap_or_else(|| {
            self.0.push((stream, 0));
            self.0.len() - 1
        });
        self.0[place].1 += bytes;
        if self.0[place].1 <= MOST {
            return Rest::Dropped;
        }
        self.0.swap_remove(place);
        Rest::Refused
    }

    /// The request has ended.
    pub(super) fn end(&mut self, stream: StreamId) {
        self.0.retain(|(other, _)| *other != stream);
    }
}

/// The default of [`proto::h1::ServerSettings::max_discard`]: HTTP/1.1's machine reads on by itself.
const MOST: usize = 1024 * 1024;
