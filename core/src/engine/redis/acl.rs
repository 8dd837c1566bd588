//! The rights of the user. A script that the user may not run to its end is not sent, because a script that
//! is stopped half-way leaves what it has written.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use redis::Cmd;

use super::context::Context;
use super::denied::Access;
use super::keys::{self, Keys};
use super::reply;
use super::scripts::{Script, commands};
use crate::access::Role;
use crate::fork;
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// The commands of every client: it opens queues and runs scripts.
const TO_OPEN: [&str; 3] = ["eval", "evalsha", "hmget"];

static NEEDED: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| Script::ALL.iter().copied().flat_map(commands).chain(TO_OPEN).collect());

/// Finds out which scripts the user may not run on a queue. Fails if the user may not use it at all.
pub(super) async fn learn(context: &Context, queue: &QueueName) -> Result<Arc<Keys>> {
    let needed = {
        // A fork must not happen meanwhile: the child could never finish the initialization.
        let _gate = fork::hold();
        LazyLock::force(&NEEDED)
    };
    let missing = missing(context, queue, needed.iter().copied()).await?;
    let lacks = if missing.all { missing.list() } else { missing.among(&TO_OPEN.into()) };
    if !lacks.is_empty() {
        let lacks = lacks.join(" ");
        return Err(Error::invalid(format_args!(
            "queue {queue}: the user may not use it, so nothing was begun; grant {lacks}"
        )));
    }
    let denied = Script::ALL.iter().copied().filter_map(|script| {
        let lacks = missing.among(&commands(script));
        (!lacks.is_empty()).then(|| (script, lacks.join(" ")))
    });
    let keys = context.keys(queue);
    keys.denied.set(denied.collect());
    Ok(keys)
}

/// Refuses a script that would be stopped half-way. Rights may have been granted, so it asks again each time.
pub(super) async fn check(context: &Context, queue: &QueueName, script: Script) -> Result<()> {
    if matches!(context.keys(queue).denied.of(script), Access::Allowed) {
        return Ok(());
    }
    // From the reply, not from the context: the client may have discarded the queue meanwhile.
    let keys = learn(context, queue).await?;
    refuse(&keys, queue, script)
}

/// The same by what is known, for a script that is sent instead of one that was checked.
pub(super) fn refuse(keys: &Keys, queue: &QueueName, script: Script) -> Result<()> {
    match keys.denied.of(script) {
        Access::Denied(lacks) => Err(Error::invalid(format_args!(
            "queue {queue}, {}: the user may not run all of it, so nothing was begun; grant {lacks}",
            script.name()
        ))),
        _ => Ok(()),
    }
}

/// Refuses to read the list of queues if the user may not: the command would be retried.
pub(super) async fn check_list(context: &Context) -> Result<()> {
    let directory = keys::queues(&context.namespace);
    let mut command = context.manager.scripts.by_text(Script::Rights);
    command.arg(0).arg(3).arg("hscan").arg(&directory).arg("0");
    let lacks = match ask(context, &QueueName::directory(), command).await?.as_deref() {
        Some("1") => return Ok(()),
        Some(_) => "+hscan",
        None => "+eval and +hscan",
    };
    let directory = directory.escape_ascii();
    Err(Error::invalid(format_args!(
        "the user may not list the queues; grant {lacks} on ~{directory}"
    )))
}

/// The rights that the user lacks for a role.
pub(super) async fn missing_rights(
    context: &Context,
    queue: &QueueName,
    role: Role,
) -> Result<Vec<String>> {
    let mut commands = role.commands();
    commands.remove("wait");
    commands.extend(context.manager.opener.confirmation().into_iter().flat_map(|c| c.rights()));
    if context.manager.opener.seeds().is_some() {
        commands.insert("asking");
    }
    if context.manager.opener.selects() {
        commands.insert("select");
    }
    Ok(missing(context, queue, commands.into_iter()).await?.list())
}

/// Asks about rights; `None`: the user may not even ask.
async fn ask(context: &Context, queue: &QueueName, command: Cmd) -> Result<Option<String>> {
    match context.manager.command(queue, context.until(), command).await {
        // Nothing else of the command can be invalid.
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
        answer => reply::text(answer.map_err(Error::before_execution)?).map(Some),
    }
}

struct Missing {
    commands: BTreeSet<&'static str>,
    /// The user may not use the keys with any command.
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

/// Whether the command uses no key.
fn is_keyless(name: &str) -> bool {
    matches!(name, "info" | "time" | "asking" | "select" | "wait" | "waitaof")
        || name.starts_with("client|")
}

/// A command with the arguments that show the server which keys it uses.
fn words(name: &'static str, keys: &Keys) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = name.split('|').map(|word| word.into()).collect();
    match name {
        _ if is_keyless(name) => {}
        "lmpop" => words.extend([b"1".to_vec(), keys.meta().to_vec(), b"RIGHT".to_vec()]),
        "eval" | "evalsha" => words.extend([Vec::new(), b"1".to_vec(), keys.meta().to_vec()]),
        "xread" => words.extend([b"STREAMS".to_vec(), keys.endings().to_vec(), b"0".to_vec()]),
        "blpop" => words.extend([keys.wake().to_vec(), b"1".to_vec()]),
        _ => words.push(keys.meta().to_vec()),
    }
    words
}

async fn missing(
    context: &Context,
    queue: &QueueName,
    names: impl Iterator<Item = &'static str> + Send,
) -> Result<Missing> {
    let names: Vec<&'static str> = names.collect();
    let own = context.keys(queue);
    let mut command = context.manager.scripts.by_text(Script::Rights);
    command.arg(0);
    for name in &names {
        let words = words(name, &own);
        command.arg(words.len()).arg(words);
    }
    // A user that may not ask may not run scripts.
    let Some(answer) = ask(context, queue, command).await? else {
        return Ok(Missing { commands: ["eval"].into(), all: false, keys: String::new() });
    };
    let allowed = reply::bools(&answer, names.len())?;
    let denied = names.iter().zip(allowed).filter(|(_, allowed)| !allowed).map(|(name, _)| *name);
    let mut commands: BTreeSet<&'static str> = denied.collect();
    let keyed: Vec<&str> = names.iter().copied().filter(|name| !is_keyless(name)).collect();
    let all = !keyed.is_empty() && keyed.iter().all(|name| commands.contains(name));
    if all {
        // The keys are missing, more likely than each single command.
        commands.retain(|name| is_keyless(name));
    }
    let keys = format!("~{}:*", context.namespace);
    Ok(Missing { commands, all, keys })
}
