//! Requests under way on a connection, by stream. One at a time, as HTTP/1.1 has it, stands beside the table and costs
//! no look into it.

use super::Ticket;
use proto::{IdMap, StreamId};

#[derive(Debug, Default)]
pub(super) struct Tickets {
    /// Of the streams there are, whichever came when there was none here.
    one: Option<(StreamId, Ticket)>,
    others: IdMap<StreamId, Ticket>,
}

impl Tickets {
    pub(super) fn insert(&mut self, stream: StreamId, ticket: Ticket) {
        if self.one.is_none() {
            self.one = Some((stream, ticket));
        } else {
            self.others.insert(stream, ticket);
        }
    }

    pub(super) fn find(&mut self, stream: StreamId) -> Option<&mut Ticket> {
        match &mut self.one {
            Some((one, ticket)) if *one == stream => Some(ticket),
            _ => self.others.get_mut(&stream),
        }
    }

    pub(super) fn remove(&mut self, stream: StreamId) -> Option<Ticket> {
        match self.one.take_if(|(one, _)| *one == stream) {
            Some((_, ticket)) => Some(ticket),
            None => self.others.remove(&stream),
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&StreamId, &Ticket)> {
        self.one.iter().map(|(stream, ticket)| (stream, ticket)).chain(&self.others)
    }

    /// Takes all of them out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Ticket> + '_ {
        self.one.take().into_iter().chain(self.others.drain()).map(|(_, ticket)| ticket)
    }
}
