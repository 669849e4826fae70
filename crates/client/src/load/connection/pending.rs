//! Requests under way on a connection, by stream. One at a time, as HTTP/1.1 has it, stands beside the table and costs
//! no look into it.

use super::PendingRequest;
use proto::{IdMap, StreamId};

#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    /// Of the streams there are, whichever came when there was none here.
    one: Option<(StreamId, PendingRequest)>,
    others: IdMap<StreamId, PendingRequest>,
}

impl PendingRequests {
    #[inline]
    pub(super) fn insert(&mut self, stream: StreamId, request: PendingRequest) {
        if self.one.is_none() {
            self.one = Some((stream, request));
        } else {
            self.others.insert(stream, request);
        }
    }

    pub(super) fn find(&mut self, stream: StreamId) -> Option<&mut PendingRequest> {
        match &mut self.one {
            Some((one, request)) if *one == stream => Some(request),
            _ => self.others.get_mut(&stream),
        }
    }

    pub(super) fn remove(&mut self, stream: StreamId) -> Option<PendingRequest> {
        match self.one.take_if(|(one, _)| *one == stream) {
            Some((_, request)) => Some(request),
            None => self.others.remove(&stream),
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&StreamId, &PendingRequest)> {
        self.one.iter().map(|(stream, request)| (stream, request)).chain(&self.others)
    }

    /// Takes all of them out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingRequest> + '_ {
        self.one.take().into_iter().chain(self.others.drain()).map(|(_, request)| request)
    }
}
