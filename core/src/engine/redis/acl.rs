//! What the user may do: a right that is missing is named before a script comes upon it, because a
//! script that is stopped in the middle leaves what it has written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use redis::Cmd;

use super::keys::{self, Keys};
use super::scripts::{Script, commands};
use super::{RedisEngine, reply};
use crate::access::Role;
use crate::fork;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// What a client sends whatever it does: it opens the queue, and runs scripts.
const TO_OPEN: [&str; 3] = ["eval", "evalsha", "hmget"];

impl Role {
    fn scripts(self) -> &'static [Script] {
        use Script::*;
        match self {
            Role::Producer => &[Add, Register],
            Role::Worker => &[Lease, Complete, CompleteAndLease, Extend, Release, Fail, Register],
            Role::Cleaner => &[
                LightClean,
                NextDue,
                DeepTurn,
                Counts,
                AuditTypes,
                AuditItems,
                AuditReady,
                AuditIndex,
                AuditCounts,
                MendStray,
                MendDoubled,
                Register,
            ],
            Role::Monitor => &[Counts, Get, List],
            Role::Operator => {
                &[Counts, Get, List, Remove, Requeue, Purge, Pause, Resume, Drop, Register]
            }
        }
    }

    /// What is sent besides scripts.
    fn plain(self) -> &'static [&'static str] {
        match self {
            Role::Producer => &["hdel", "exists"],
            Role::Worker => &["hdel", "blpop", "rpush", "client|id", "client|unblock"],
            Role::Cleaner => {
                &["hdel", "hscan", "exists", "blpop", "rpush", "client|id", "client|unblock"]
            }
            Role::Monitor => &["hscan"],
            Role::Operator => &["hdel", "hscan"],
        }
    }

    /// Every command that a client of this role sends, or has its scripts run.
    pub(crate) fn commands(self) -> BTreeSet<&'static str> {
        let scripts = self.scripts().iter().flat_map(|script| commands(*script));
        let always = ["info", "eval", "evalsha", "hget", "hmget"];
        always.into_iter().chain(self.plain().iter().copied()).chain(scripts).collect()
    }
}

static NEEDED: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| Script::all().flat_map(commands).chain(TO_OPEN).collect());

/// The scripts that the user cannot run to their end, with what is missing.
/// Nothing until the server was asked.
#[derive(Debug, Default)]
pub(super) struct Denied(RwLock<Option<BTreeMap<Script, String>>>);

enum Access {
    Unknown,
    Allowed,
    Denied(String),
}

impl Denied {
    fn of(&self, script: Script) -> Access {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            None => Access::Unknown,
            Some(denied) => {
                denied.get(&script).map_or(Access::Allowed, |lacks| Access::Denied(lacks.clone()))
            }
        }
    }
}

/// Notes which scripts must not be run on this queue. Fails if the user may not use it at all.
pub(super) async fn learn(engine: &RedisEngine, queue: &QueueName) -> Result<Arc<Keys>> {
    let needed = {
        // A child could not finish what another thread of its parent has begun to read.
        let _gate = fork::hold();
        LazyLock::force(&NEEDED)
    };
    let missing = missing(engine, queue, needed.iter().copied()).await?;
    let lacks = if missing.all { missing.list() } else { missing.among(&TO_OPEN.into()) };
    if !lacks.is_empty() {
        let lacks = lacks.join(" ");
        return Err(Error::invalid(format_args!(
            "queue {queue}: the user may not use it, so nothing was begun; grant {lacks}"
        )));
    }
    let denied = Script::all().filter_map(|script| {
        let lacks = missing.among(&commands(script));
        (!lacks.is_empty()).then(|| (script, lacks.join(" ")))
    });
    let keys = engine.keys(queue);
    *keys.denied.0.write().unwrap_or_else(PoisonError::into_inner) = Some(denied.collect());
    Ok(keys)
}

/// Refuses a script that would be stopped in the middle. Rights may have been granted since.
pub(super) async fn check(engine: &RedisEngine, queue: &QueueName, script: Script) -> Result<()> {
    if matches!(engine.keys(queue).denied.of(script), Access::Allowed) {
        return Ok(());
    }
    // The queue is not kept in mind by then if this client has given it up meanwhile.
    let keys = learn(engine, queue).await?;
    match keys.denied.of(script) {
        Access::Denied(lacks) => Err(Error::invalid(format_args!(
            "queue {queue}, {}: the user may not run all of it, so nothing was begun; grant {lacks}",
            script.name()
        ))),
        _ => Ok(()),
    }
}

/// Refuses to read the list of queues if the user may not: it would be tried again and again.
pub(super) async fn check_list(engine: &RedisEngine) -> Result<()> {
    let directory = keys::queues(&engine.namespace);
    let mut command = engine.manager.scripts.by_text(Script::Rights);
    command.arg(0).arg(3).arg("hscan").arg(&directory).arg("0");
    let lacks = match ask(engine, &engine.directory(), command).await?.as_deref() {
        Some("1") => return Ok(()),
        Some(_) => "+hscan",
        None => "+eval and +hscan",
    };
    let directory = directory.escape_ascii();
    Err(Error::invalid(format_args!(
        "the user may not list the queues; grant {lacks} on ~{directory}"
    )))
}

/// What to grant so that the user can do all that the role does.
pub(super) async fn missing_rights(
    engine: &RedisEngine,
    queue: &QueueName,
    role: Role,
) -> Result<Vec<String>> {
    let mut commands = role.commands();
    if engine.manager.opener.seeds().is_some() {
        commands.insert("asking");
    }
    if engine.manager.opener.selects() {
        commands.insert("select");
    }
    Ok(missing(engine, queue, commands.into_iter()).await?.list())
}

/// Asks about rights; `None` if the user may not even ask.
async fn ask(engine: &RedisEngine, queue: &QueueName, command: Cmd) -> Result<Option<String>> {
    match engine.manager.command(queue, engine.until(), command).await {
        // Nothing else of it can be.
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
        answer => reply::text(answer.map_err(Error::before_execution)?).map(Some),
    }
}

struct Missing {
    commands: BTreeSet<&'static str>,
    /// None of the keys may be touched, whatever the command.
    all: bool,
    keys: String,
}

impl Missing {
    fn among(&self, commands: &BTreeSet<&'static str>) -> Vec<String> {
        commands.intersection(&self.commands).map(|name| format!("+{name}")).collect()
    }

    fn list(&self) -> Vec<String> {
        let mut list = if self.all { vec![self.keys.clone()] } else { Vec::new() };
        list.extend(self.commands.iter().map(|name| format!("+{name}")));
        list
    }
}

/// Commands that touch no key.
fn is_keyless(name: &str) -> bool {
    matches!(name, "info" | "time" | "asking" | "select") || name.starts_with("client|")
}

/// A command with as much behind it as the server needs to see which keys it touches.
fn words(name: &'static str, keys: &Keys) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = name.split('|').map(|word| word.into()).collect();
    match name {
        _ if is_keyless(name) => {}
        "lmpop" => words.extend([b"1".to_vec(), keys.meta().to_vec(), b"RIGHT".to_vec()]),
        "eval" | "evalsha" => words.extend([Vec::new(), b"1".to_vec(), keys.meta().to_vec()]),
        "blpop" => words.extend([keys.wake().to_vec(), b"1".to_vec()]),
        _ => words.push(keys.meta().to_vec()),
    }
    words
}

async fn missing(
    engine: &RedisEngine,
    queue: &QueueName,
    names: impl Iterator<Item = &'static str> + Send,
) -> Result<Missing> {
    let names: Vec<&'static str> = names.collect();
    let own = engine.keys(queue);
    let mut command = engine.manager.scripts.by_text(Script::Rights);
    command.arg(0);
    for name in &names {
        let words = words(name, &own);
        command.arg(words.len()).arg(words);
    }
    // Whoever may not ask may not do anything.
    let Some(answer) = ask(engine, queue, command).await? else {
        return Ok(Missing { commands: ["eval"].into(), all: false, keys: String::new() });
    };
    let allowed = reply::bools(&answer, names.len())?;
    let denied = names.iter().zip(allowed).filter(|(_, allowed)| !allowed).map(|(name, _)| *name);
    let mut commands: BTreeSet<&'static str> = denied.collect();
    let keyed: Vec<&str> = names.iter().copied().filter(|name| !is_keyless(name)).collect();
    let all = !keyed.is_empty() && keyed.iter().all(|name| commands.contains(name));
    if all {
        // It is the keys, more likely than every single command.
        commands.retain(|name| is_keyless(name));
    }
    let keys = format!("~{}:*", engine.namespace);
    Ok(Missing { commands, all, keys })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file as it must be: the rights that the scripts and clients of this version need.
    fn users() -> String {
        let mut file = String::from("user default on >CHANGE-ME ~* &* +@all\n");
        for role in Role::ALL {
            let rights: Vec<_> = role.commands().iter().map(|name| format!("+{name}")).collect();
            file += &format!(
                "user leaseq-{} on >CHANGE-ME resetkeys ~leaseq:* resetchannels -@all {}\n",
                role.as_str(),
                rights.join(" ")
            );
        }
        file
    }

    #[test]
    fn the_file_of_users_has_the_rights_that_are_needed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/users.acl");
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == users(), "{path} should be:\n{}", users());
    }
}
