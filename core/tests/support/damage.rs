//! Damage, planted by hand into a queue on Redis. The ids must be stored unchanged.

// Each test program uses a part of it.
#![allow(dead_code)]

use leaseq::Damage;
use redis::{Connection, cmd};

/// The keys of one queue.
pub(crate) struct Hurt<'a> {
    pub(crate) raw: &'a mut Connection,
    pub(crate) queue: &'a str,
}

/// A change to a queue with the items `ready`, `delayed`, `leased`, `dead` and `completed` in these states, and the
/// findings that a check must report then.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) finds: &'static [Damage],
    pub(crate) hurt: fn(&mut Hurt<'_>),
}

impl Hurt<'_> {
    /// Runs `name` on a key of the queue, with more arguments.
    pub(crate) fn run(&mut self, name: &str, key: &str, args: &[&str]) -> String {
        let key = format!("leaseq:{{{}}}:{key}", self.queue);
        let reply: Option<String> =
            cmd(name).arg(key).arg(args).query(self.raw).expect("the server answers");
        reply.unwrap_or_default()
    }

    pub(crate) fn number(&mut self, id: &str) -> String {
        self.run("HGET", "ids", &[id])
    }

    pub(crate) fn score(&mut self, key: &str, id: &str, score: &str) {
        let number = self.number(id);
        self.run("ZADD", key, &[score, &number]);
    }

    pub(crate) fn drop_from(&mut self, key: &str, id: &str) {
        let number = self.number(id);
        if key.starts_with("ready") {
            self.run("LREM", key, &["0", &number]);
        } else {
            self.run(if key == "details" { "HDEL" } else { "ZREM" }, key, &[&number]);
        }
    }

    pub(crate) fn push(&mut self, name: &str, key: &str, id: &str) {
        let number = self.number(id);
        self.run(name, key, &[&number]);
    }
}

const SOON: &str = "1800000009999";
const NUMBER: &str = "999";

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a registration that does not lapse",
        finds: &[Damage::BadTime],
        hurt: |hurt| {
            hurt.run("ZADD", "awaited", &["9000000000000", "leased", "1", "lapsed"]);
        },
    },
    Case {
        name: "settings that cannot be read",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["settings", "max_dead=x max_attempts=70000 y"]);
        },
    },
    Case {
        name: "a revision and a pause that cannot be read",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["revision", "new", "paused", "yes", "swept", "-1"]);
        },
    },
    Case {
        name: "a rate whose use cannot be read",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            let rate = "rate=1000000 rate_period=1000 rate_burst=1000000";
            hurt.run("HSET", "meta", &["settings", rate, "rate_used", "7"]);
        },
    },
    Case {
        name: "a rate of which more is used up than it has",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            let rate = "rate=1000000 rate_period=1000 rate_burst=1000000";
            hurt.run("HSET", "meta", &["settings", rate, "rate_used", "1000000001 5"]);
        },
    },
    Case {
        name: "a rate that was used up later than now, and somebody who looks too late",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            let rate = "rate=1000000 rate_period=1000 rate_burst=1000000";
            let (used, look) = ("1000000000 9800000000000", "9800000000000 x");
            hurt.run("HSET", "meta", &["settings", rate, "rate_used", used, "rate_look", look]);
        },
    },
    Case {
        name: "a part of a rate",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["settings", "rate=1 rate_burst=1", "rate_look", "soon"]);
        },
    },
    Case {
        name: "a note of a pause that cannot be read",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["paused", "1", "pause_note", "5\nada"]);
        },
    },
    Case {
        name: "a pause that has begun later than now",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["paused", "1", "pause_note", "9800000000000\nada\n"]);
        },
    },
    Case {
        name: "a pause that is longer than any",
        finds: &[Damage::BadSettings],
        hurt: |hurt| {
            hurt.run("HSET", "meta", &["paused", "9800000000000"]);
        },
    },
    Case {
        name: "what extended queues keep for nobody",
        finds: &[Damage::Dangling, Damage::DanglingDetails],
        hurt: |q| {
            q.run("ZADD", "completed", &[SOON, NUMBER]);
            q.run("HSET", "ended", &[NUMBER, "1800000000000"]);
            q.run("HSET", "results", &[NUMBER, "x"]);
            // The entry of an item that has been deleted means nothing.
            q.run("HSET", "uniques", &["two", "999"]);
            q.run("ZADD", "expiries", &[SOON, NUMBER]);
            q.run("HSET", "marks", &[NUMBER, "none"]);
        },
    },
    Case {
        name: "a lost unique key",
        finds: &[Damage::BadUnique],
        hurt: |q| {
            // A head with a key: the first two bytes are 0x4000 and the length of the id.
            let number = q.number("ready");
            q.run("HSET", "items", &[&number, "@\x05ready\0\x03keydata"]);
        },
    },
    Case {
        name: "lost from ready, and its unique key is another one's",
        finds: &[Damage::BadUnique, Damage::Stray],
        hurt: |q| {
            let (number, other) = (q.number("ready"), q.number("leased"));
            q.run("HSET", "items", &[&number, "@\x05ready\0\x03keydata"]);
            q.run("HSET", "uniques", &["key", &other]);
            q.drop_from("ready", "ready");
        },
    },
    Case {
        name: "kept for too long",
        finds: &[Damage::BadTime],
        hurt: |q| {
            q.score("completed", "completed", "9800000000000");
            q.run("ZADD", "timers", &["9800000000000", "key"]);
        },
    },
    Case {
        name: "lost from ready",
        finds: &[Damage::Stray],
        hurt: |q| {
            q.drop_from("ready", "ready");
        },
    },
    Case {
        name: "lost from every index",
        finds: &[Damage::Stray],
        hurt: |q| {
            for (key, id) in [("leased", "leased"), ("delayed", "delayed"), ("dead", "dead")] {
                q.drop_from(key, id);
            }
        },
    },
    Case {
        name: "ready and leased",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.score("leased", "ready", SOON);
        },
    },
    Case {
        name: "ready and delayed",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.push("RPUSH", "ready", "delayed");
        },
    },
    Case {
        name: "ready and dead",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.push("LPUSH", "ready:4", "dead");
        },
    },
    Case {
        name: "leased and delayed",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.score("leased", "delayed", SOON);
        },
    },
    Case {
        name: "leased and dead",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.score("dead", "leased", SOON);
        },
    },
    Case {
        name: "delayed and dead",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            q.score("dead", "delayed", SOON);
        },
    },
    Case {
        name: "everywhere",
        finds: &[Damage::SeveralStates],
        hurt: |q| {
            for id in ["ready", "delayed", "leased", "dead"] {
                for key in ["leased", "delayed", "dead"] {
                    q.score(key, id, SOON);
                }
                q.push("RPUSH", "ready:9", id);
            }
        },
    },
    Case {
        name: "twice in a list",
        finds: &[Damage::Doubled],
        hurt: |q| {
            q.push("RPUSH", "ready", "ready");
        },
    },
    Case {
        name: "in two lists",
        finds: &[Damage::Doubled],
        hurt: |q| {
            q.push("LPUSH", "ready:3", "ready");
        },
    },
    Case {
        name: "five times",
        finds: &[Damage::Doubled],
        hurt: |q| {
            for key in ["ready", "ready", "ready:3", "ready:3"] {
                q.push("LPUSH", key, "ready");
            }
        },
    },
    Case {
        name: "no item leased or delayed",
        finds: &[Damage::Dangling],
        hurt: |q| {
            q.run("ZADD", "leased", &[SOON, NUMBER]);
            q.run("ZADD", "delayed", &[SOON, NUMBER]);
        },
    },
    Case {
        name: "no item dead",
        finds: &[Damage::Dangling],
        hurt: |q| {
            q.run("ZADD", "dead", &[SOON, NUMBER]);
        },
    },
    Case {
        name: "no item ready",
        finds: &[Damage::BadCount],
        hurt: |q| {
            q.run("RPUSH", "ready", &[NUMBER, "not a number", "0"]);
        },
    },
    Case {
        name: "an id of no item",
        finds: &[Damage::DanglingId],
        hurt: |q| {
            q.run("HSET", "ids", &["nothing", NUMBER]);
        },
    },
    Case {
        name: "an id that leads to another item",
        finds: &[Damage::DanglingId],
        hurt: |q| {
            let number = q.number("ready");
            q.run("HSET", "ids", &["nothing", &number]);
        },
    },
    Case {
        name: "an id lost",
        finds: &[Damage::LostId],
        hurt: |q| {
            q.run("HDEL", "ids", &["delayed"]);
        },
    },
    Case {
        name: "an id astray",
        finds: &[Damage::LostId],
        hurt: |q| {
            let number = q.number("delayed");
            q.run("HSET", "ids", &["ready", &number]);
        },
    },
    Case {
        name: "ids swapped",
        finds: &[Damage::LostId],
        hurt: |q| {
            let (one, two) = (q.number("delayed"), q.number("dead"));
            q.run("HSET", "ids", &["delayed", &two, "dead", &one]);
        },
    },
    Case {
        name: "an id of nothing",
        finds: &[Damage::LostId],
        hurt: |q| {
            q.run("HSET", "ids", &["leased", NUMBER]);
        },
    },
    Case {
        name: "details of no item",
        finds: &[Damage::DanglingDetails],
        hurt: |q| {
            q.run("HSET", "details", &[NUMBER, "1:0:0:0:0:0:0:0:"]);
        },
    },
    Case {
        name: "unreadable details",
        finds: &[Damage::BadDetails],
        hurt: |q| {
            for id in ["ready", "delayed", "leased", "dead"] {
                let number = q.number(id);
                q.run("HSET", "details", &[&number, "garbage"]);
            }
        },
    },
    Case {
        name: "unreadable details of a stray",
        hurt: |q| {
            let number = q.number("ready");
            q.run("HSET", "details", &[&number, ""]);
            q.drop_from("ready", "ready");
        },
        finds: &[Damage::BadDetails, Damage::Stray],
    },
    Case {
        name: "a lease of years",
        finds: &[Damage::BadTime],
        hurt: |q| {
            q.score("leased", "leased", "9800000000000");
        },
    },
    Case {
        name: "a delay of years",
        finds: &[Damage::BadTime],
        hurt: |q| {
            q.score("delayed", "delayed", "+inf");
        },
    },
    Case {
        name: "a wrong count of the removed",
        finds: &[Damage::BadCount],
        hurt: |q| {
            q.run("HSET", "meta", &["gone:0", "7", "gone:5", "-2"]);
        },
    },
    Case {
        name: "all counts lost",
        finds: &[Damage::BadCount],
        hurt: |q| {
            q.run("UNLINK", "meta", &[]);
        },
    },
    Case {
        name: "the last number lost",
        finds: &[Damage::BadCount],
        hurt: |q| {
            q.run("HSET", "meta", &["last", "5", "largest", "1"]);
        },
    },
    Case {
        name: "all ids lost",
        finds: &[Damage::LostId],
        hurt: |q| {
            q.run("UNLINK", "ids", &[]);
        },
    },
    Case {
        name: "all at once",
        hurt: |q| {
            for case in &CASES[..CASES.len() - 1] {
                (case.hurt)(q);
            }
        },
        finds: &[Damage::BadDetails, Damage::BadCount, Damage::LostId, Damage::SeveralStates],
    },
];
