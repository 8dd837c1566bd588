//! The settings of one server, and what they mean.

use std::collections::HashMap;

use redis::cmd;

use crate::doctor::{Diagnosis, Durability};
use crate::engine::redis::confirmation::Confirmation;
use crate::engine::redis::connection::Connection;
use crate::engine::redis::opener::Opener;
use crate::engine::redis::retry_decision::shown;
use crate::{Error, Result};

const CONFIG: [&str; 10] = [
    "appendonly",
    "appendfsync",
    "aof-load-truncated",
    "no-appendfsync-on-rewrite",
    "save",
    "maxmemory",
    "maxmemory-policy",
    "min-replicas-to-write",
    "bind",
    "protected-mode",
];

/// What a server reports. A setting is absent if the user may not read it.
pub(super) struct Server {
    info: HashMap<String, String>,
    config: HashMap<String, String>,
    user: Option<String>,
}

impl Server {
    pub(super) async fn read(mut connection: Connection) -> Result<Server> {
        let failed = |error: redis::RedisError| Error::unavailable(shown(&error), false);
        let info: String = cmd("INFO").query_async(&mut *connection).await.map_err(failed)?;
        let lines = info.lines().filter_map(|line| line.trim().split_once(':'));
        let info = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut get = cmd("CONFIG");
        get.arg("GET").arg(&CONFIG);
        // Settings that the user may not read are reported as missing.
        let config = get.query_async(&mut *connection).await.unwrap_or_default();
        let user = cmd("ACL").arg("WHOAMI").query_async(&mut *connection).await.ok();
        Ok(Server { info, config, user })
    }

    fn info(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> u64 {
        self.info(name).parse().unwrap_or(0)
    }

    fn config(&self, name: &str) -> Option<&str> {
        self.config.get(name).map(String::as_str)
    }

    pub(super) fn version(&self) -> String {
        match self.info.get("valkey_version") {
            Some(version) => format!("Valkey {version}"),
            None => format!("Redis {}", self.info("redis_version")),
        }
    }

    /// Adds to the diagnosis what the settings mean. `name`: the node's, for messages.
    pub(super) fn judge(&self, name: &str, opener: &Opener, diagnosis: &mut Diagnosis) {
        let settings = CONFIG.into_iter().filter_map(|key| Some((key, self.config(key)?)));
        let reported = ["aof_enabled", "connected_slaves", "used_memory", "role"];
        let reported = reported.into_iter().map(|key| (key, self.info(key)));
        for (key, value) in settings.chain(reported) {
            diagnosis.settings.insert(format!("{name}{key}"), value.to_owned());
        }
        let confirmation = opener.confirmation();
        self.persistence(name, confirmation, diagnosis);
        self.replication(name, opener.fails_over(), confirmation, diagnosis);
        self.memory(name, diagnosis);
        self.access(name, opener.is_anonymous(), diagnosis);
    }

    fn persistence(
        &self,
        name: &str,
        confirmation: Option<Confirmation>,
        diagnosis: &mut Diagnosis,
    ) {
        if self.info("aof_enabled") == "0" {
            let (level, found) = match self.config("save") {
                Some("") => (Durability::Nothing, "nothing is written to the disk"),
                Some(_) => (Durability::Snapshot, "there is no append-only file, only snapshots"),
                None => (Durability::Snapshot, "there is no append-only file, at best snapshots"),
            };
            diagnosis.at_most(level);
            let change = "CONFIG SET appendonly yes, and appendfsync always or everysec";
            diagnosis.problem(format!("{name}{found}"), change);
        } else {
            let waits = confirmation.is_some_and(|asked| asked.stored().is_some());
            self.append_only_file(name, waits, diagnosis);
        }
        for field in
            ["rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"]
        {
            if !matches!(self.info(field), "ok" | "") {
                diagnosis.problem(
                    format!("{name}{field} is {}", self.info(field)),
                    "look at the server's log, its disk and its rights there",
                );
            }
        }
    }

    /// `waits`: this client waits for the disk (option `fsync`).
    fn append_only_file(&self, name: &str, waits: bool, diagnosis: &mut Diagnosis) {
        match self.config("appendfsync") {
            Some("always") => {}
            Some("everysec") if waits => diagnosis.hint(
                format!("{name}appendfsync is everysec: a call may wait a second for the disk"),
                "CONFIG SET appendfsync always, if calls must be faster",
            ),
            Some("everysec") => {
                diagnosis.at_most(Durability::Window);
                diagnosis.hint(
                    format!("{name}appendfsync is everysec: the window is about a second"),
                    "CONFIG SET appendfsync always, if no acknowledged operation may be lost",
                );
            }
            Some(other) => {
                diagnosis.at_most(Durability::Window);
                diagnosis.problem(
                    format!(
                        "{name}appendfsync is {other}: the window is as long as the \
                             operating system likes, often 30 s"
                    ),
                    "CONFIG SET appendfsync always or everysec",
                );
            }
            None => {
                diagnosis.at_most(Durability::Unknown);
                diagnosis.hint(
                    format!("{name}the user may not read the server's configuration"),
                    "run the doctor as a user with +config|get",
                );
            }
        }
        if self.keeps_torn_transactions() {
            diagnosis.hint(
                format!(
                    "{name}when this server is killed in the middle of a write and starts again, \
                     it may keep the beginning of an operation, and carry it out at the start \
                     after that"
                ),
                "BGREWRITEAOF after a start that logs `Truncating the AOF`, or a deep clean \
                 later; Valkey 9.1.2 does not do it",
            );
        }
        if self.config("no-appendfsync-on-rewrite") == Some("yes") {
            diagnosis.at_most(Durability::Window);
            diagnosis.problem(
                format!(
                    "{name}no-appendfsync-on-rewrite is yes: while the file is rewritten, \
                         nothing is forced to the disk"
                ),
                "CONFIG SET no-appendfsync-on-rewrite no",
            );
        }
    }

    /// Whether the server keeps the beginning of a transaction whose end is missing in the append-only file:
    /// it removes only the torn command. Redis does so in all versions that leaseq works with, as far as is
    /// known, and Valkey in versions before 9.1.2. See `docs/protocol.md`.
    fn keeps_torn_transactions(&self) -> bool {
        let is_mended = self.info.get("valkey_version").is_some_and(|version| {
            let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
            let mut next = || parts.next().unwrap_or(0);
            (next(), next(), next()) >= (9, 1, 2)
        });
        // With `no` the server does not start, and `redis-check-aof` removes the whole transaction.
        !is_mended && self.config("aof-load-truncated") != Some("no")
    }

    fn replication(
        &self,
        name: &str,
        fails_over: bool,
        confirmation: Option<Confirmation>,
        diagnosis: &mut Diagnosis,
    ) {
        let replicas = self.number("connected_slaves");
        let confirmed = confirmation.map_or(0, |asked| asked.replicas().into());
        if replicas < confirmed {
            diagnosis.problem(
                format!("{name}{replicas} replicas are connected, and every change waits for {confirmed}"),
                "connect more replicas, or ask for fewer (option replicas): until then no change is confirmed",
            );
        } else if 0 < confirmed && confirmed < replicas {
            diagnosis.at_most(Durability::Window);
            diagnosis.hint(
                format!("{name}{confirmed} of {replicas} replicas confirm a change, and another may take over"),
                "see `docs/durability.md` for how many replicas to wait for",
            );
        } else if confirmed == 0 && (fails_over || replicas > 0) {
            diagnosis.at_most(Durability::Window);
            diagnosis.hint(
                format!(
                    "{name}a replica may take over ({replicas} connected), and replication is \
                         asynchronous"
                ),
                "expect the operations of the last moments to be lost or repeated at a failover, or \
                 connect with the option replicas",
            );
        }
        if fails_over && confirmed == 0 && self.config("min-replicas-to-write") == Some("0") {
            diagnosis.hint(
                format!(
                    "{name}min-replicas-to-write is 0: a master that is cut off goes on \
                         accepting what is lost later"
                ),
                "CONFIG SET min-replicas-to-write 1",
            );
        }
    }

    fn memory(&self, name: &str, diagnosis: &mut Diagnosis) {
        let policy = self.info("maxmemory_policy");
        if policy != "noeviction" {
            diagnosis.problem(
                format!(
                    "{name}maxmemory-policy is {policy}: the server throws items away when its \
                         memory is full"
                ),
                "CONFIG SET maxmemory-policy noeviction",
            );
        }
        if self.number("evicted_keys") > 0 {
            diagnosis.problem(
                format!("{name}{} keys have been thrown away", self.info("evicted_keys")),
                "CONFIG SET maxmemory-policy noeviction, and check every queue",
            );
        }
        let (used, most) = (self.number("used_memory"), self.number("maxmemory"));
        if most > 0 && used > most / 10 * 9 {
            diagnosis.problem(
                format!("{name}{used} of {most} bytes are in use: soon nothing can be added"),
                "give the server more memory, or add more workers",
            );
        } else if most == 0 {
            diagnosis.hint(
                format!("{name}maxmemory is not set: the operating system may kill the server when \
                         memory runs out"),
                "CONFIG SET maxmemory to what the machine can spare; adding fails then, all else works",
            );
        }
    }

    fn access(&self, name: &str, anonymous: bool, diagnosis: &mut Diagnosis) {
        if self.user.as_deref() != Some("default") {
            return;
        }
        // In protected mode, other machines are refused unless there is a password.
        let open = anonymous
            && self.config("protected-mode") == Some("no")
            && self.config("bind").is_some_and(|bind| {
                bind.split(' ')
                    .any(|a| !matches!(a.trim_start_matches('-'), "127.0.0.1" | "::1" | ""))
            });
        let change = "give each part a user of its own: core/docs/users.acl";
        if open {
            let found = "every machine that reaches the server may do everything: no password is \
                         asked for";
            diagnosis.problem(format!("{name}{found}"), change);
        } else {
            let found = "this client is the default user, who may do everything";
            diagnosis.hint(format!("{name}{found}"), change);
        }
    }
}
