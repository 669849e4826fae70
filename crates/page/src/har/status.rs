//! The status that a replay answers with, from the one that is recorded.

use super::entry::Entry;

/// The status of the replay.
pub(super) fn replayed(entry: &Entry) -> u16 {
    if entry.is_web_socket() {
        return 101;
    }
    let recorded = entry.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    let has = |fields: &[crate::exchange::Field], name: &str| {
        fields.iter().any(|field| field.name == name)
    };
    match recorded {
        206 if has(&entry.asked, "range") && has(&entry.answered, "content-range") => 206,
        206 => 200,
        304 => 304,
        status if is_redirect(status) && entry.redirect.is_some() => status,
        200..300 | 400..600 => recorded,
        _ => 200,
    }
}

/// Whether another status than the recorded one is replayed.
pub(super) fn is_changed(entry: &Entry) -> bool {
    let recorded = entry.status.filter(|status| *status >= 200);
    recorded.is_some_and(|recorded| recorded != i64::from(replayed(entry)))
}

/// Whether no status is recorded of what has been answered.
pub(super) fn is_missing(entry: &Entry) -> bool {
    !entry.is_web_socket() && entry.status.is_none_or(|status| status < 100)
}

/// Whether an answer of this status leads elsewhere (RFC 9110 §15.4).
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Whether an answer of this status can have a body (RFC 9110 §6.4.1).
pub(super) fn has_body(status: u16) -> bool {
    !matches!(status, 100..200 | 204 | 205 | 304)
}
