//! The request streams of a connection, by their numbers. A request is looked up some twenty times in a row: the place of the
//! stream that was found last is known without a hash.

use super::stream::Stream;
use crate::id_map::IdMap;
use std::cell::Cell;

#[derive(Debug, Default)]
pub(super) struct Streams {
    places: IdMap<u64, usize>,
    /// None where the place is free.
    streams: Vec<Option<Box<Stream>>>,
    free: Vec<usize>,
    /// The highest number so far: what comes next is not looked for.
    newest: u64,
    /// The stream that was found last, and its place.
    last: Cell<Option<(u64, usize)>>,
}

impl Streams {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.place(id).is_some()
    }

    pub(super) fn get(&self, id: u64) -> Option<&Stream> {
        self.streams.get(self.place(id)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Stream> {
        let place = self.place(id)?;
        self.streams.get_mut(place)?.as_deref_mut()
    }

    /// Adds a stream that is not there.
    pub(super) fn insert(&mut self, id: u64, stream: Box<Stream>) {
        let place = match self.free.pop() {
            Some(place) => {
                self.streams[place] = Some(stream);
                place
            }
            None => {
                self.streams.push(Some(stream));
                self.streams.len() - 1
            }
        };
        self.places.insert(id, place);
        self.newest = self.newest.max(id);
        self.last.set(Some((id, place)));
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Box<Stream>> {
        let place = self.places.remove(&id)?;
        self.last.set(None);
        self.free.push(place);
        self.streams[place].take()
    }

    /// Removes all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The numbers and streams, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Stream)> {
        self.places.iter().filter_map(|(&id, &place)| Some((id, self.streams[place].as_deref()?)))
    }

    fn place(&self, id: u64) -> Option<usize> {
        match self.last.get() {
            Some((last, place)) if last == id => Some(place),
            _ if id > self.newest => None,
            _ => {
                let place = *self.places.get(&id)?;
                self.last.set(Some((id, place)));
                Some(place)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(given: u64) -> Box<Stream> {
        Box::new(Stream { given, ..Stream::new() })
    }

    #[test]
    fn a_place_that_another_stream_has_taken_is_not_found_by_the_old_number() {
        let mut streams = Streams::default();
        streams.insert(0, stream(1));
        streams.insert(4, stream(2));
        assert_eq!(streams.get(0).map(|stream| stream.given), Some(1));
        assert_eq!(streams.remove(0).map(|stream| stream.given), Some(1));
        assert!(streams.get(0).is_none() && !streams.contains(0) && streams.remove(0).is_none());
        streams.insert(8, stream(3));
        assert_eq!(streams.streams.len(), 2, "a place is used again");
        assert!(streams.get_mut(0).is_none());
        let mut all: Vec<_> = streams.iter().map(|(id, stream)| (id, stream.given)).collect();
        all.sort_unstable();
        assert_eq!(all, [(4, 2), (8, 3)]);
        streams.clear();
        assert!(streams.is_empty() && streams.get(8).is_none());
    }
}
