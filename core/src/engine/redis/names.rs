//! The list of all queues: a hash of names, each with the incarnation of its queue.
//!
//! It may be on another node than a queue, so no step changes both. Every client that uses a queue puts its
//! entry right: a queue is on the list, with its incarnation, if it exists.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use redis::{Value, cmd};

use super::context::Context;
use super::scripts::Script;
use super::{acl, keys, reply};
use crate::name::{QueueName, QueueNames};
use crate::{Error, Result};

/// How many names to read at once.
const PAGE: usize = 1_000;
/// How often to try while others change the same name.
const TRIES: usize = 5;
/// Most bytes of a strange name that a warning shows.
const SHOWN: usize = 40;

/// Puts the queue on the list if it exists, and takes it off if not.
pub(super) async fn register(context: &Context, queue: &QueueName, until: Instant) -> Result<()> {
    acl::check(context, queue, Script::Register).await?;
    for _ in 0..TRIES {
        // In this order: others may make or drop the queue, and change the list after that.
        let listed = listed(context, queue, until).await?;
        let mut command = cmd("HGET");
        command.arg(context.keys(queue).meta()).arg("incarnation");
        let incarnation = reply::bytes(context.manager.command(queue, until, command).await?)?;
        if listed == incarnation {
            return Ok(());
        }
        if incarnation.is_empty() {
            let mut command = cmd("EXISTS");
            command.arg(context.keys(queue).items());
            if context.manager.command(queue, until, command).await? != Value::Int(0) {
                // The incarnation was lost with `meta`. A deep clean, which needs the name, makes a new one.
                return Ok(());
            }
        }
        let directory = QueueName::directory();
        let changed =
            context.manager.run(&directory, Script::Register, until, None, |command, _| {
                command.arg(1).arg(keys::queues(&context.namespace)).arg(queue.as_str());
                command.arg(&*listed).arg(&*incarnation);
                Ok(())
            });
        // Check again even after a success: others may have dropped or made the queue meanwhile.
        changed.await?;
    }
    let what = format_args!("queue {queue}: its name on the list of queues changes all the time");
    Err(Error::unavailable(what, false))
}

/// The incarnation that the list has for the queue; empty if there is no entry.
pub(super) async fn listed(
    context: &Context,
    queue: &QueueName,
    until: Instant,
) -> Result<bytes::Bytes> {
    let mut command = cmd("HGET");
    command.arg(keys::queues(&context.namespace)).arg(queue.as_str());
    reply::bytes(context.manager.command(&QueueName::directory(), until, command).await?)
}

/// What a client knows of the list.
#[derive(Default)]
pub(super) struct QueueList {
    /// The client has logged that the list has strange entries.
    warned: AtomicBool,
    /// The list could be read the last time.
    may_list: AtomicBool,
}

impl QueueList {
    /// All names, page by page. Users that add items may write anything there: what cannot be the name
    /// of a queue is only counted.
    pub(super) async fn read(&self, context: &Context) -> Result<QueueNames> {
        if !self.may_list.load(Ordering::Relaxed) {
            acl::check_list(context).await?;
        }
        let (mut names, mut strange) = (BTreeSet::new(), BTreeSet::new());
        let mut cursor = String::from("0");
        loop {
            let mut command = cmd("HSCAN");
            command.arg(keys::queues(&context.namespace)).arg(&cursor).arg("COUNT").arg(PAGE);
            let page =
                context.manager.command(&QueueName::directory(), context.until(), command).await;
            self.may_list.store(page.is_ok(), Ordering::Relaxed);
            if page.is_err() {
                // The user may have lost the right.
                acl::check_list(context).await?;
            }
            let [next, page] = reply::array(page?)?;
            let mut page = reply::list(page)?.into_iter();
            while let (Some(name), Some(_incarnation)) = (page.next(), page.next()) {
                let name = reply::bytes(name)?;
                match std::str::from_utf8(&name).ok().filter(|name| QueueName::new(name).is_ok()) {
                    Some(good) => names.insert(good.to_owned()),
                    None => strange.insert(name),
                };
            }
            cursor = reply::text(next)?;
            if cursor == "0" {
                break;
            }
        }
        if let Some(first) = strange.first()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let first = first[..first.len().min(SHOWN)].escape_ascii();
            let count = strange.len();
            tracing::warn!(count, %first, "the list of queues has entries that are no names of queues");
        }
        Ok(QueueNames { names: names.into_iter().collect(), skipped: strange.len() as u64 })
    }
}
