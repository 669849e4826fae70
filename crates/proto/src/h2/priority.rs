//! Priorities between the wire's words and the scheduler's.

use crate::schedule::{Exclusive, Incremental, Priority, PriorityField};
use crate::{Fields, StreamId};
use wire::h2::Dependency;

/// A place in the tree.
pub(crate) fn from_dependency(dependency: Dependency) -> Priority {
    Priority::Dependency {
        parent: StreamId(u64::from(dependency.parent)),
        weight: u16::from(dependency.weight) + 1,
        exclusive: if dependency.exclusive { Exclusive::Sole } else { Exclusive::Shared },
    }
}

/// The way back; None for a weight or parent that the wire cannot carry.
pub(crate) fn to_dependency(
    parent: StreamId,
    weight: u16,
    exclusive: Exclusive,
) -> Option<Dependency> {
    Some(Dependency {
        parent: u32::try_from(parent.0).ok().filter(|&parent| parent >> 31 == 0)?,
        exclusive: exclusive == Exclusive::Sole,
        weight: u8::try_from(weight.checked_sub(1)?).ok()?,
    })
}

/// The `priority` field of a head (RFC 9218 §5).
#[inline]
pub(crate) fn of_fields(fields: &Fields) -> Option<PriorityField> {
    match fields.validated() {
        Some(validated) if !validated.has_priority() => None,
        _ if fields.is_empty() => None,
        _ => find_field(fields),
    }
}

/// Several lines are one list (RFC 9110 §5.3).
fn find_field(fields: &Fields) -> Option<PriorityField> {
    let mut lines = fields.all(b"priority");
    let first = lines.next()?;
    let Some(second) = lines.next() else { return Some(PriorityField::parse(first)) };
    let all: Vec<&[u8]> = [first, second].into_iter().chain(lines).collect();
    Some(PriorityField::parse(&all.join(&b", "[..])))
}

/// Reads a Priority field's value (RFC 9218 §4).
pub(crate) fn from_field(value: &[u8]) -> Priority {
    PriorityField::parse(value).priority()
}

/// Writes a Priority field's value.
pub(crate) fn to_field(urgency: u8, incremental: Incremental) -> String {
    let incremental = (incremental == Incremental::Parts).then_some(incremental);
    PriorityField { urgency: Some(urgency.min(7)), incremental }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_fields_are_read_and_written() {
        let read = |value: &str| match from_field(value.as_bytes()) {
            Priority::Urgency { urgency, incremental } => (urgency, incremental),
            other => panic!("{other:?}"),
        };
        assert_eq!(read("u=5, i"), (5, Incremental::Parts));
        assert_eq!(read("i=?0,u=0"), (0, Incremental::Whole));
        assert_eq!(read("u=9, x=2;u=1"), (3, Incremental::Whole));
        assert_eq!(read(""), (3, Incremental::Whole));
        assert_eq!(read(&to_field(2, Incremental::Parts)), (2, Incremental::Parts));
    }
}
