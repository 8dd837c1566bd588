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
    ("successors", "hash"),
    ("members", "zset"),
];

/// The place of the first ready list, and how many there are: one for each priority.
pub(super) const READY: usize = 38;
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

/// What a script calls its keys: each name, and what it stands for.
#[derive(Debug)]
pub(super) struct KeyNames(Vec<(String, String)>);

/// What a part of a script may call keys.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Its words that begin with a capital.
    names: BTreeSet<String>,
    /// It counts the keys.
    count_keys: bool,
}

impl Words {
    pub(super) fn of(code: &str) -> Self {
        let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names = words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
        Words { names: names.map(str::to_owned).collect(), count_keys: code.contains("#KEYS") }
    }

    pub(super) fn of_all<'a>(parts: impl Iterator<Item = &'a Words>) -> Self {
        parts.fold(Words::default(), |mut all, part| {
            all.names.extend(part.names.iter().cloned());
            all.count_keys |= part.count_keys;
            all
        })
    }
}

impl Used {
    /// Those that the script names; all if it counts them. And what it calls them.
    pub(super) fn by(words: &Words) -> (Used, KeyNames) {
        let (all, words) = (words.count_keys, &words.names);
        let (mut places, mut names) = (Vec::new(), Vec::new());
        let of_queues = NAMES.iter().map(|(name, _)| (*name, all));
        let of_workers = WORKER_NAMES.iter().map(|name| (*name, false));
        for (place, (name, always)) in of_queues.enumerate().chain(of_workers.enumerate()) {
            let name = name.to_ascii_uppercase();
            if always || words.contains(&*name) {
                places.push(place);
                names.push((name, format!("KEYS[{}]", places.len())));
            }
        }
        let ready_lists = match words.contains("READY") || all {
            true => READY_LISTS,
            false => 0,
        };
        if ready_lists > 0 {
            names.push((String::from("READY"), (places.len() + 1).to_string()));
        }
        (Used { places, ready_lists }, KeyNames(names))
    }
}

impl KeyNames {
    /// The line that defines those which these words have, but for those which `known` has.
    pub(super) fn define(&self, words: &Words, known: &Words) -> String {
        let is_new = |name: &str| words.names.contains(name) && !known.names.contains(name);
        let defined: Vec<_> = self.0.iter().filter(|(name, _)| is_new(name)).collect();
        if defined.is_empty() {
            return String::new();
        }
        let [names, values] = [0, 1].map(|i| {
            let list: Vec<&str> =
                defined.iter().map(|one| if i == 0 { &*one.0 } else { &*one.1 }).collect();
            list.join(", ")
        });
        format!("local {names} = {values}\n")
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
        let by = |code: &str| {
            let words = Words::of(code);
            let (used, names) = Used::by(&words);
            (used, names.define(&words, &Words::default()))
        };
        let (used, line) =
            by("redis.call('HGET', META, 'due')\nif FORWARD_LANES then return IDS end\n");
        assert_eq!(line, "local META, IDS, FORWARD_LANES = KEYS[1], KEYS[2], KEYS[3]\n");
        assert_eq!((used.places, used.ready_lists), (vec![1, 3, 32], 0));
        let (used, line) = by("return KEYS[READY + 1], QUIET_TIME, DUE");
        assert_eq!(line, "local DUE, READY = KEYS[1], 2\n");
        assert_eq!((used.places, used.ready_lists), (vec![9], READY_LISTS));
        let (used, line) = by("return QUIET");
        assert_eq!(
            (used.places, used.ready_lists, &*line),
            (vec![4], 0, "local QUIET = KEYS[1]\n")
        );
        let (used, _) = by("return #KEYS");
        assert_eq!((used.places.len(), used.ready_lists), (READY, READY_LISTS));
        assert!(by("return 1").1.is_empty());
    }

    #[test]
    fn a_function_defines_those_that_the_rest_does_not_have() {
        let (_, names) = Used::by(&Words::of("return META, IDS, READY"));
        let define = |code, known| names.define(&Words::of(code), &Words::of(known));
        assert_eq!(define("return IDS, READY", "META"), "local IDS, READY = KEYS[2], 3\n");
        assert_eq!(define("return META", "META IDS"), "");
    }
}
