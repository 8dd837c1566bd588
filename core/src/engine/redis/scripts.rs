//! The Lua scripts: one file for each operation, put together with the parts it uses.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use redis::{Cmd, cmd};

/// Puts parts and body together. The first line says what a server that is full must allow: all
/// that takes items out of a queue, so that it can be drained.
macro_rules! script {
    ($name:literal, $flags:literal, [$($part:literal),*]) => {
        (
            $name,
            concat!(
                "#!lua", $flags, "\n",
                include_str!("scripts/parts/keys.lua"),
                include_str!("scripts/parts/now.lua"),
                $(include_str!(concat!("scripts/parts/", $part, ".lua")),)*
                include_str!(concat!("scripts/", $name, ".lua")),
            ),
        )
    };
}

/// Every script: name and text.
#[rustfmt::skip]
const TEXTS: [(&str, &str); Script::COUNT] = [
    script!("add", "", ["day", "number", "incarnation", "lane", "wake", "notify_cleaner", "large", "extra", "push"]),
    script!("lease", " flags=allow-oom", ["day", "lane", "wake", "notify_cleaner", "extra", "delivery", "push", "due", "next_due", "large", "room", "put_back", "take", "lease"]),
    script!("complete", " flags=allow-oom", ["day", "lane", "delivery", "delete_items", "complete"]),
    script!("complete_and_lease", " flags=allow-oom", ["day", "lane", "wake", "notify_cleaner", "extra", "delivery", "push", "due", "next_due", "large", "room", "put_back", "take", "lease", "delete_items", "complete"]),
    script!("extend", " flags=allow-oom", ["day", "lane", "delivery", "current"]),
    script!("release", " flags=allow-oom", ["day", "lane", "wake", "notify_cleaner", "extra", "delivery", "push", "current"]),
    script!("fail", " flags=allow-oom", ["day", "lane", "wake", "notify_cleaner", "extra", "delivery", "push", "current"]),
    script!("remove", " flags=allow-oom", ["day", "lane", "delete_items"]),
    script!("requeue", " flags=allow-oom", ["day", "lane", "wake", "extra", "push"]),
    script!("purge", " flags=allow-oom", ["day", "lane", "large", "room", "put_back", "delete_items"]),
    script!("light_clean", " flags=allow-oom", ["day", "lane", "wake", "extra", "push", "due", "next_due"]),
    script!("next_due", " flags=allow-oom", ["day", "next_due"]),
    script!("deep_turn", " flags=allow-oom", ["day"]),
    script!("pause", " flags=allow-oom", ["number", "incarnation"]),
    script!("resume", " flags=allow-oom", ["wake"]),
    script!("drop", " flags=allow-oom", ["day"]),
    script!("counts", " flags=no-writes,allow-oom", ["number", "extra"]),
    script!("get", " flags=no-writes,allow-oom", []),
    script!("list", " flags=no-writes,allow-oom", ["large", "room"]),
    script!("audit_types", " flags=no-writes,allow-oom", []),
    script!("audit_items", " flags=allow-oom", ["number", "large", "extra", "delivery", "id_matches", "scan"]),
    script!("audit_ready", " flags=allow-oom", []),
    script!("audit_index", " flags=allow-oom", ["day", "lane", "large", "id_matches", "scan"]),
    script!("audit_counts", " flags=allow-oom", ["incarnation"]),
    script!("mend_stray", " flags=allow-oom", ["wake", "large", "extra", "delivery", "push", "id_matches"]),
    script!("mend_doubled", " flags=allow-oom", []),
    // Without the parts that all others have: it is about no queue's keys.
    ("register", concat!("#!lua flags=allow-oom\n", include_str!("scripts/register.lua"))),
    // And this must run whatever the user may not do.
    ("rights", concat!("#!lua flags=no-writes,allow-oom\n", include_str!("scripts/rights.lua"))),
];

/// A script, by its place in [`TEXTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Script {
    Add,
    Lease,
    Complete,
    CompleteAndLease,
    Extend,
    Release,
    Fail,
    Remove,
    Requeue,
    Purge,
    LightClean,
    NextDue,
    DeepTurn,
    Pause,
    Resume,
    Drop,
    Counts,
    Get,
    List,
    AuditTypes,
    AuditItems,
    AuditReady,
    AuditIndex,
    AuditCounts,
    MendStray,
    MendDoubled,
    Register,
    Rights,
}

impl Script {
    const COUNT: usize = Script::Rights as usize + 1;

    /// All that the operations run.
    pub(super) fn all() -> impl Iterator<Item = Script> {
        use Script::*;
        [
            Add,
            Lease,
            Complete,
            CompleteAndLease,
            Extend,
            Release,
            Fail,
            Remove,
            Requeue,
            Purge,
            LightClean,
            NextDue,
            DeepTurn,
            Pause,
            Resume,
            Drop,
            Counts,
            Get,
            List,
            AuditTypes,
            AuditItems,
            AuditReady,
            AuditIndex,
            AuditCounts,
            MendStray,
            MendDoubled,
            Register,
        ]
        .into_iter()
    }

    pub(super) fn name(self) -> &'static str {
        TEXTS[self as usize].0
    }
}

/// The commands that a script may run, in lower case: read from its text, so that a list of rights
/// cannot be out of date.
pub(super) fn commands(script: Script) -> BTreeSet<&'static str> {
    static COMMANDS: LazyLock<Vec<BTreeSet<String>>> =
        LazyLock::new(|| TEXTS.iter().map(|(_, text)| commands_in(text)).collect());
    COMMANDS[script as usize].iter().map(String::as_str).collect()
}

fn commands_in(text: &str) -> BTreeSet<String> {
    let calls = text.split("redis.call(").skip(1);
    // A call may choose between commands: `redis.call(hash and 'HDEL' or 'ZREM', …`.
    let first = calls.map(|call| call.split([',', ')']).next().unwrap_or(""));
    first
        .flat_map(|first| first.split('\'').skip(1).step_by(2))
        .map(str::to_ascii_lowercase)
        .collect()
}

/// The texts as this client sends them, with their digests.
#[derive(Debug)]
pub(super) struct Scripts(Vec<Loaded>);

#[derive(Debug)]
struct Loaded {
    text: String,
    digest: String,
}

impl Scripts {
    /// `patch` changes the texts, for tests.
    pub(super) fn new(patch: Option<fn(&str) -> String>) -> Self {
        let load = |(_, text): &(&str, &str)| {
            let text = patch.map_or_else(|| (*text).to_owned(), |patch| patch(text));
            let digest = redis::Script::new(&text).get_hash().to_owned();
            Loaded { text, digest }
        };
        Scripts(TEXTS.iter().map(load).collect())
    }

    /// The call by digest, with room for the arguments.
    pub(super) fn by_digest(&self, script: Script) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(&self.0[script as usize].digest);
        command
    }

    /// The call by text, which also teaches the server the script.
    pub(super) fn by_text(&self, script: Script) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(&self.0[script as usize].text);
        command
    }
}

/// Every script's name and text, for lints and tests.
#[cfg(feature = "testing")]
pub(crate) fn texts() -> &'static [(&'static str, &'static str)] {
    &TEXTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_listed_and_every_call_names_its_command() {
        assert_eq!(Script::all().count() + 1, Script::COUNT);
        for (name, text) in TEXTS {
            for call in text.split("redis.call(").skip(1) {
                let first = call.split([',', ')']).next().unwrap();
                assert!(first.contains('\''), "{name}: redis.call({first}");
            }
        }
        let index = commands(Script::AuditIndex);
        assert!(["hdel", "zrem", "hscan", "zscan", "time"].iter().all(|name| index.contains(name)));
    }

    /// Whoever may only look needs no right to write, not even for a part that is never reached.
    #[test]
    fn what_only_looks_names_no_command_that_writes() {
        let writes = [
            "hset", "hdel", "hincrby", "lpush", "rpush", "rpop", "lmpop", "lset", "zadd", "zrem",
            "unlink", "persist", "pexpire",
        ];
        for (name, text) in
            TEXTS.iter().filter(|(_, text)| text.starts_with("#!lua flags=no-writes"))
        {
            let found = commands_in(text);
            assert!(writes.iter().all(|write| !found.contains(*write)), "{name}: {found:?}");
        }
    }
}
