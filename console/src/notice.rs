//! What a change has done, in the address of the page that says it. It has only words and numbers of this program, so
//! nobody can make a link that says something else.

use crate::fields::Fields;
use crate::format::number;

/// Verbs, and what has happened.
const WORDS: [(&str, &str); 17] = [
    ("requeue", "Requeued"),
    ("remove", "Removed"),
    ("cancel", "Cancelled, or requested that of their workers,"),
    ("bury", "Buried"),
    ("edit", "Saved"),
    ("pause", "Paused the queue"),
    ("resume", "Resumed the queue"),
    ("settings", "Saved the settings"),
    ("run", "Added an item of the schedule"),
    ("pause-schedule", "Paused the schedule"),
    ("resume-schedule", "Resumed the schedule"),
    ("quiet-worker", "The workers of this name lease nothing from their next beat on"),
    ("resume-worker", "The workers of this name lease again from their next beat on"),
    ("stop-worker", "The worker stops after its next beat"),
    ("cancel-item", "The worker cancels the item after its next beat"),
    ("check", "Looked for damage"),
    ("mend", "Looked for damage, and mended what was found"),
];

/// A note above a page.
pub(crate) struct Notice {
    pub(crate) good: bool,
    pub(crate) text: String,
}

impl Notice {
    pub(crate) fn read(query: &Fields) -> Option<Notice> {
        let done = query.get("done")?;
        let (_, words) = WORDS.into_iter().find(|(known, _)| *known == done)?;
        let count = |name| query.parse::<u64>(name).ok().flatten();
        Some(match (count("n"), count("of")) {
            (Some(n), Some(of)) if n < of => {
                let (n, of, rest) = (number(n), number(of), number(of - n));
                let text = format!(
                    "{words} {n} of {of} items. The other {rest} were gone, or have changed meanwhile."
                );
                Notice { good: false, text }
            }
            (Some(1), Some(_)) => Notice { good: true, text: format!("{words} 1 item.") },
            (Some(n), Some(_)) => {
                Notice { good: true, text: format!("{words} {} items.", number(n)) }
            }
            _ => Notice { good: true, text: format!("{words}.") },
        })
    }
}

/// What the address of a page needs for this note.
pub(crate) fn done(action: &str, n: usize, of: usize) -> String {
    format!("done={action}&n={n}&of={of}")
}
