//! Streams in the order of their numbers. They mostly come and go in it, so a queue takes less than a tree.

use crate::StreamId;
use std::collections::VecDeque;

/// A set of streams. At its ends an operation takes constant time; elsewhere streams are moved.
#[derive(Debug, Default)]
pub(super) struct InOrder(VecDeque<StreamId>);

/// Places that an empty set keeps.
const KEPT: usize = 16;

impl InOrder {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn first(&self) -> Option<StreamId> {
        self.0.front().copied()
    }

    /// Adds a stream, if it is not there.
    pub(super) fn insert(&mut self, stream: StreamId) {
        if self.0.back().is_none_or(|last| *last < stream) {
            self.0.push_back(stream);
        } else if let Err(at) = self.0.binary_search(&stream) {
            self.0.insert(at, stream);
        }
    }

    /// Takes a stream out, if it is there.
    pub(super) fn remove(&mut self, stream: StreamId) {
        if self.first() == Some(stream) {
            self.0.pop_front();
        } else if let Ok(at) = self.0.binary_search(&stream) {
            self.0.remove(at);
        }
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_sorted_set(
            steps in proptest::collection::vec((any::<bool>(), 0..40_u64), 0..200),
        ) {
            let (mut streams, mut plain) = (InOrder::default(), BTreeSet::new());
            for (comes, number) in steps {
                let stream = StreamId(number);
                if comes {
                    streams.insert(stream);
                    plain.insert(stream);
                } else {
                    streams.remove(stream);
                    plain.remove(&stream);
                }
                prop_assert_eq!(streams.first(), plain.first().copied());
                prop_assert_eq!(streams.is_empty(), plain.is_empty());
                prop_assert!(streams.0.iter().eq(&plain));
                prop_assert!(!streams.is_empty() || streams.0.capacity() <= KEPT);
            }
        }
    }
}
