//! The `priority` field of requests and responses, and the value of a PRIORITY_UPDATE frame
//! (RFC 9218 §4, §5, §7): a dictionary of which `u` and `i` count.

use super::dictionary::{self, Value};
use super::{Incremental, Priority};
use std::fmt;

/// What a field says. None is a parameter that it does not say, or not legibly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriorityField {
    /// `u`: 0 (first) to 7 (last).
    pub urgency: Option<u8>,
    /// `i`.
    pub incremental: Option<Incremental>,
}

impl PriorityField {
    /// Reads a value. One that is no dictionary (RFC 9651 §4.2.2) says nothing at all; a parameter that is
    /// out of range, of another type or unknown is ignored by itself (RFC 9218 §4).
    pub fn parse(value: &[u8]) -> Self {
        let mut field = Self::default();
        let parsed = dictionary::parse(value, |key, value| match key {
            b"u" => field.urgency = urgency(value),
            b"i" => field.incremental = incremental(value),
            _ => {}
        });
        if parsed.is_ok() { field } else { Self::default() }
    }

    /// This request's field, where the response carries `response`: a parameter that the response
    /// does not say keeps the client's value (RFC 9218 §8).
    #[must_use]
    pub fn merge(self, response: Self) -> Self {
        Self {
            urgency: response.urgency.or(self.urgency),
            incremental: response.incremental.or(self.incremental),
        }
    }

    /// The priority, with the defaults for what is not said: urgency 3, not incremental (§4.1, §4.2).
    pub fn priority(self) -> Priority {
        let (urgency, incremental) = self.or_defaults();
        Priority::Urgency { urgency, incremental }
    }

    pub(super) fn or_defaults(self) -> (u8, Incremental) {
        let urgency = self.urgency.unwrap_or(DEFAULT_URGENCY);
        (urgency.min(7), self.incremental.unwrap_or(Incremental::Whole))
    }
}

/// The field's value. Empty where nothing is said: then the field is left out.
impl fmt::Display for PriorityField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(urgency) = self.urgency {
            write!(out, "u={urgency}")?;
        }
        let Some(incremental) = self.incremental else { return Ok(()) };
        if self.urgency.is_some() {
            out.write_str(", ")?;
        }
        out.write_str(match incremental {
            Incremental::Parts => "i",
            Incremental::Whole => "i=?0",
        })
    }
}

fn urgency(value: Value) -> Option<u8> {
    match value {
        Value::Integer(urgency) => u8::try_from(urgency).ok().filter(|urgency| *urgency <= 7),
        Value::Boolean(_) | Value::Other => None,
    }
}

fn incremental(value: Value) -> Option<Incremental> {
    match value {
        Value::Boolean(true) => Some(Incremental::Parts),
        Value::Boolean(false) => Some(Incremental::Whole),
        Value::Integer(_) | Value::Other => None,
    }
}

/// RFC 9218 §4.1.
const DEFAULT_URGENCY: u8 = 3;

#[cfg(test)]
mod tests;
