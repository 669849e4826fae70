//! What a browser says by itself between the answers to commands, in the order in which it came.

use serde_json::Value;
use std::collections::VecDeque;

/// Something that the browser said by itself.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Events that have come and were not taken.
#[derive(Debug, Default)]
pub(crate) struct Events(VecDeque<Event>);

impl Events {
    /// Keeps a message if it is an event. The answer to a command that nobody waits for any more is dropped.
    pub(crate) fn keep(&mut self, mut message: Value) {
        if let Some(method) = message["method"].as_str() {
            let method = method.to_owned();
            self.0.push_back(Event { method, params: message["params"].take() });
        }
    }

    /// The next one.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.0.pop_front()
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_taken_in_their_order_and_late_answers_are_none() {
        let mut events = Events::default();
        events.keep(json!({"method": "a.one", "params": {"x": 1}}));
        events.keep(json!({"id": 7, "result": {}}));
        events.keep(json!({"method": "a.two"}));
        let first = events.pop().unwrap();
        assert_eq!((first.method.as_str(), &first.params["x"]), ("a.one", &json!(1)));
        assert_eq!(events.pop().map(|event| event.method).as_deref(), Some("a.two"));
        assert!(events.is_empty() && events.pop().is_none());
    }
}
