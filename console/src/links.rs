//! Addresses of pages, below the base path. User data in them is encoded.

use std::borrow::Cow;

use leaseq_report::text;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// How a queue is called in paths. Browsers take `.` and `..` for folders.
fn segment(queue: &str) -> Cow<'_, str> {
    match queue {
        "." | ".." => Cow::Owned(format!("~{queue}")),
        _ => Cow::Borrowed(queue),
    }
}

/// The queue that is called so in a path.
pub(crate) fn queue_of(segment: &str) -> &str {
    segment.strip_prefix('~').unwrap_or(segment)
}

pub(crate) fn queue(queue: &str) -> String {
    format!("/queues/{}", segment(queue))
}

pub(crate) fn item(queue_name: &str, id: &[u8]) -> String {
    format!("{}/item?id={}", queue(queue_name), value(&text::id(id)))
}

/// A value of a query.
pub(crate) fn value(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
