//! Reading the server's settings: what it promises about durability, and what endangers it.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, cmd};

use super::RedisEngine;
use super::address::Node;
use super::connection::{OpenError, Spot};
use crate::doctor::{Diagnosis, Durability};
use crate::{Error, Result};

const CONFIG: [&str; 9] = [
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "save",
    "maxmemory",
    "maxmemory-policy",
    "min-replicas-to-write",
    "bind",
    "protected-mode",
];

/// What a server tells about itself. A setting is absent if the user may not read it.
struct Server {
    info: HashMap<String, String>,
    config: HashMap<String, String>,
    user: Option<String>,
}

pub(super) async fn diagnose(engine: &RedisEngine) -> Result<Diagnosis> {
    let opener = &engine.link.opener;
    let open = async |spot: Spot| match opener.open(&spot).await {
        Ok(connection) => Ok(connection),
        Err(OpenError::Lasting(error)) => Err(error),
        Err(OpenError::Passing(message)) => Err(Error::unavailable(message, false)),
    };
    let ask = |connection| read(connection, engine.timeout);
    let mut found: Vec<(String, Server)> = Vec::new();
    match opener.seeds() {
        None => found.push((String::new(), ask(open(Spot::Main).await?).await?)),
        Some(seeds) => {
            for node in masters(engine, seeds).await {
                let name = format!("{}:{}: ", node.0, node.1);
                found.push((name, ask(open(Spot::Node(node)).await?).await?));
            }
        }
    }
    let mut diagnosis = Diagnosis::new(found.first().map(|(_, s)| s.version()).unwrap_or_default());
    for (name, server) in &found {
        server.judge(name, opener.fails_over(), opener.is_anonymous(), &mut diagnosis);
    }
    if opener.is_plain() {
        diagnosis.hint(
            "passwords and data travel unencrypted to another machine",
            "use TLS (rediss://) unless the network is trusted",
        );
    }
    diagnosis.sort();
    Ok(diagnosis)
}

/// The nodes that hold the slots; those of the URL if they do not tell.
async fn masters(engine: &RedisEngine, seeds: &[Node]) -> Vec<Node> {
    for seed in seeds {
        let Ok(mut connection) = engine.link.opener.open(&Spot::Node(seed.clone())).await else {
            continue;
        };
        let mut ask = cmd("CLUSTER");
        ask.arg("NODES");
        let Ok(text) = ask.query_async::<String>(&mut connection).await else { break };
        let masters = text.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (address, flags) = (words.next()?, words.next()?);
            let (host, port) = address.split('@').next()?.rsplit_once(':')?;
            let host = if host.is_empty() { &seed.0 } else { host };
            flags.contains("master").then(|| Some((host.to_owned(), port.parse().ok()?)))?
        });
        return masters.collect();
    }
    seeds.to_vec()
}

async fn read(mut connection: MultiplexedConnection, timeout: Duration) -> Result<Server> {
    let failed = |error: redis::RedisError| Error::unavailable(error, false);
    let late = |_| Error::unavailable("the server does not answer", false);
    let read = async {
        let info: String = cmd("INFO").query_async(&mut connection).await.map_err(failed)?;
        let lines = info.lines().filter_map(|line| line.trim().split_once(':'));
        let info = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut get: Cmd = cmd("CONFIG");
        get.arg("GET").arg(&CONFIG);
        // What the user may not read is told to be missing.
        let config = get.query_async(&mut connection).await.unwrap_or_default();
        let user = cmd("ACL").arg("WHOAMI").query_async(&mut connection).await.ok();
        Ok(Server { info, config, user })
    };
    tokio::time::timeout(timeout, read).await.map_err(late)?
}

impl Server {
    fn info(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> u64 {
        self.info(name).parse().unwrap_or(0)
    }

    fn config(&self, name: &str) -> Option<&str> {
        self.config.get(name).map(String::as_str)
    }

    fn version(&self) -> String {
        match self.info.get("valkey_version") {
            Some(version) => format!("Valkey {version}"),
            None => format!("Redis {}", self.info("redis_version")),
        }
    }

    fn judge(&self, name: &str, fails_over: bool, anonymous: bool, diagnosis: &mut Diagnosis) {
        let settings = CONFIG.into_iter().filter_map(|key| Some((key, self.config(key)?)));
        let told = ["aof_enabled", "connected_slaves", "used_memory", "role"];
        let told = told.into_iter().map(|key| (key, self.info(key)));
        for (key, value) in settings.chain(told) {
            diagnosis.settings.insert(format!("{name}{key}"), value.to_owned());
        }
        self.persistence(name, diagnosis);
        self.replication(name, fails_over, diagnosis);
        self.memory(name, diagnosis);
        self.access(name, anonymous, diagnosis);
    }

    fn persistence(&self, name: &str, diagnosis: &mut Diagnosis) {
        let set = "CONFIG SET";
        if self.info("aof_enabled") == "0" {
            let snapshots = self.config("save") != Some("");
            let (level, found) = match snapshots {
                true => (Durability::Snapshot, "there is no append-only file, only snapshots"),
                false => (Durability::Nothing, "nothing is written to the disk"),
            };
            diagnosis.at_most(level);
            let change = format!("{set} appendonly yes, and appendfsync always or everysec");
            diagnosis.problem(format!("{name}{found}"), change);
        } else {
            match self.config("appendfsync") {
                Some("always") => {}
                Some("everysec") => {
                    diagnosis.at_most(Durability::Window);
                    diagnosis.hint(
                        format!("{name}appendfsync is everysec: the window is about a second"),
                        format!(
                            "{set} appendfsync always, if no acknowledged operation may be lost"
                        ),
                    );
                }
                Some(other) => {
                    diagnosis.at_most(Durability::Window);
                    diagnosis.problem(
                        format!(
                            "{name}appendfsync is {other}: the window is as long as the \
                                 operating system likes, often 30 s"
                        ),
                        format!("{set} appendfsync always or everysec"),
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
            if self.config("no-appendfsync-on-rewrite") == Some("yes") {
                diagnosis.at_most(Durability::Window);
                diagnosis.problem(
                    format!(
                        "{name}no-appendfsync-on-rewrite is yes: while the file is rewritten, \
                             nothing is forced to the disk"
                    ),
                    format!("{set} no-appendfsync-on-rewrite no"),
                );
            }
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

    fn replication(&self, name: &str, fails_over: bool, diagnosis: &mut Diagnosis) {
        let replicas = self.number("connected_slaves");
        if fails_over || replicas > 0 {
            diagnosis.at_most(Durability::Window);
            diagnosis.hint(
                format!(
                    "{name}a replica may take over ({replicas} connected), and replication is \
                         asynchronous"
                ),
                "expect the operations of the last moments to be lost or repeated at a failover",
            );
        }
        if fails_over && self.config("min-replicas-to-write") == Some("0") {
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
