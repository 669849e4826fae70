//! Events that wait for the application.

use crate::Event;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<Event<'static>>,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event<'static>) {
        self.queue.push_back(event);
    }

    /// Queues a stream's last event. The end of the stream may have been what a draining connection
    /// waited for: then `Closed` is queued already, and this goes before it.
    pub(crate) fn push_before_closed(&mut self, event: Event<'static>) {
        if let Some(Event::Closed { .. }) = self.queue.back() {
            self.queue.insert(self.queue.len() - 1, event);
        } else {
            self.queue.push_back(event);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Event<'static>> {
        if self.queue.is_empty() && self.queue.capacity() > KEPT {
            self.queue = VecDeque::new();
        }
        self.queue.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Capacity that an empty queue keeps, in events: more than most connections have streams at a time.
const KEPT: usize = 32;
