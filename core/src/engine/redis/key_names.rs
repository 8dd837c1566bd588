//! The names of the keys of a queue, and which of them a script uses.

use std::collections::BTreeSet;

use crate::options::MAX_PRIORITY;

/// What stands behind the hash tag of each key, and its type. Scripts name it in capitals. The ready lists follow.
const NAMES: [(&str, &str); READY] = [
    ("lanes", "hash"),
    ("meta", "hash"),
    ("items", "hash"),
    ("ids", "hash"),
    ("leased", "zset"),
    ("details", "hash"),
    ("wake", "list"),
    ("delayed", "zset"),
    ("dead", "zset"),
    ("due", "list"),
    ("completed", "zset"),
    ("cancelled", "zset"),
    ("ended", "hash"),
    ("results", "hash"),
    ("uniques", "hash"),
    ("timers", "zset"),
    ("expiries", "zset"),
    ("marks", "hash"),
    ("awaited", "zset"),
    ("endings", "stream"),
    ("held", "zset"),
    ("places", "hash"),
    ("lines", "zset"),
    ("open", "zset"),
    ("key_limits", "hash"),
    ("schedules", "hash"),
    ("ticks", "zset"),
    ("follow_ups", "hash"),
    ("deferred", "list"),
    ("history", "hash"),
    ("outbox", "zset"),
    ("outgoing", "hash"),
    ("forward_lanes", "hash"),
    ("events", "stream"),
    ("meters", "zset"),
    ("groups", "hash"),
];

/// The place of the first ready list, and how many there are: one for each priority.
pub(super) const READY: usize = 36;
pub(super) const READY_LISTS: usize = MAX_PRIORITY as usize + 1;

/// The keys of the registry of workers. One hash tag serves all workers of the namespace, so that the beat of a worker is one
/// command, whatever queues it serves.
pub(super) const WORKER_NAMES: [&str; 5] = ["names", "beats", "bodies", "commands", "quiet"];

/// The keys that a script uses, by their places.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) places: Vec<usize>,
    /// Its ready lists, from that of priority 0 on. They come last, because a call may need fewer of them.
    pub(super) ready_lists: usize,
}

impl Used {
    /// Those that the code of the script names; all if it counts them. And the line that gives them these names.
    pub(super) fn by(code: &str) -> (Used, String) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = code.split(|c: char| !is_word(c)).collect();
        let all = code.contains("#KEYS");
        let (mut places, mut names) = (Vec::new(), Vec::new());
        let of_queues = NAMES.iter().map(|(name, _)| (*name, all));
        let of_workers = WORKER_NAMES.iter().map(|name| (*name, false));
        for (place, (name, always)) in of_queues.enumerate().chain(of_workers.enumerate()) {
            let name = name.to_ascii_uppercase();
            if always || words.contains(&*name) {
                places.push(place);
                names.push(name);
            }
        }
        let ready_lists = match words.contains("READY") || all {
            true => READY_LISTS,
            false => 0,
        };
        let mut line = String::new();
        if !names.is_empty() {
            let keys: Vec<_> = (1..=names.len()).map(|i| format!("KEYS[{i}]")).collect();
            line = format!("local {} = {}\n", names.join(", "), keys.join(", "));
        }
        if ready_lists > 0 {
            line += &format!("local READY = {}\n", names.len() + 1);
        }
        (Used { places, ready_lists }, line)
    }
}

/// The part after the hash tag.
pub(super) fn short_name(place: usize) -> String {
    match (NAMES.get(place), place.saturating_sub(READY)) {
        (Some((name, _)), _) => (*name).to_owned(),
        // Priority 0 has no suffix, so that an autoscaler can read its length.
        (None, 0) => String::from("ready"),
        (None, priority) => format!("ready:{priority}"),
    }
}

/// All keys of a queue in their order, as people know them, each with its type.
pub(super) fn types() -> impl Iterator<Item = (String, &'static str)> {
    let type_of = |place: usize| NAMES.get(place).map_or("list", |(_, kind)| *kind);
    (0..READY + READY_LISTS).map(move |place| (short_name(place), type_of(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_gets_the_keys_that_it_names() {
        let (used, line) =
            Used::by("redis.call('HGET', META, 'due')\nif FORWARD_LANES then return IDS end\n");
        assert_eq!(line, "local META, IDS, FORWARD_LANES = KEYS[1], KEYS[2], KEYS[3]\n");
        assert_eq!((used.places, used.ready_lists), (vec![1, 3, 32], 0));
        let (used, line) = Used::by("return KEYS[READY + 1], QUIET_TIME, DUE");
        assert_eq!(line, "local DUE = KEYS[1]\nlocal READY = 2\n");
        assert_eq!((used.places, used.ready_lists), (vec![9], READY_LISTS));
        let (used, line) = Used::by("return QUIET");
        assert_eq!(
            (used.places, used.ready_lists, &*line),
            (vec![4], 0, "local QUIET = KEYS[1]\n")
        );
        let (used, _) = Used::by("return #KEYS");
        assert_eq!((used.places.len(), used.ready_lists), (READY, READY_LISTS));
        assert!(Used::by("return 1").1.is_empty());
    }
}
