//! What the operations are made of: connecting, and running scripts.

use std::sync::Arc;
use std::time::Instant;

use redis::{Cmd, Value};

use super::address::Address;
use super::connection_manager::ConnectionManager;
use super::context::Context;
use super::key_names::READY_LISTS;
use super::names::QueueList;
use super::notification::Notification;
use super::notifier::Notifier;
use super::opener::Opener;
use super::outboxes::Outboxes;
use super::scripts::{Script, Scripts, used};
use super::{acl, names};
use crate::Result;
use crate::engine::RequestId;
use crate::name::QueueName;
use crate::options::ConnectOptions;

pub(crate) struct RedisEngine {
    pub(super) context: Context,
    pub(super) ready: Notifier,
    pub(super) due: Notifier,
    pub(super) ended: Notifier,
    pub(super) queue_list: QueueList,
    pub(super) outboxes: Outboxes,
}

impl RedisEngine {
    pub(crate) async fn connect(
        url: &str,
        mut options: ConnectOptions,
    ) -> Result<(RedisEngine, ConnectOptions)> {
        let address = Address::parse(url, &mut options)?;
        let opener = Opener::new(address, &options)?;
        #[cfg(feature = "testing")]
        let scripts = Scripts::new(options.patch_scripts);
        #[cfg(not(feature = "testing"))]
        let scripts = Scripts::new(None);
        let manager = Arc::new(ConnectionManager::new(opener, scripts, options.timeout));
        manager.probe().await?;
        let notifier = |kind| Notifier::new(kind, manager.clone(), &options.namespace);
        let engine = RedisEngine {
            ready: notifier(Notification::Ready),
            due: notifier(Notification::Due),
            ended: notifier(Notification::Ended),
            context: Context::new(manager, options.namespace.clone(), options.timeout),
            queue_list: QueueList::default(),
            outboxes: Outboxes::default(),
        };
        Ok((engine, options))
    }

    /// Discards everything about the queue. The next operation on it finds it out again.
    pub(super) fn forget(&self, queue: &QueueName) {
        self.context.forget(queue);
        self.ready.forget(queue);
        self.due.forget(queue);
        self.ended.forget(queue);
        self.outboxes.forget(queue);
    }

    /// Runs an operation that changes state: the keys, the request id, then what `fill` adds.
    pub(super) async fn run(
        &self,
        queue: &QueueName,
        script: Script,
        request_id: &RequestId,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        self.run_with(READY_LISTS, queue, script, request_id, fill).await
    }

    /// The same for one that needs only so many ready lists, from that of priority 0 on.
    pub(super) async fn run_with(
        &self,
        ready_lists: usize,
        queue: &QueueName,
        script: Script,
        request_id: &RequestId,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        self.send(queue, script, ready_lists, (Some(request_id), request_id.until), fill).await
    }

    /// Runs a script that may be repeated: the keys, then what `fill` adds.
    pub(super) async fn query(
        &self,
        queue: &QueueName,
        script: Script,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        self.send(queue, script, READY_LISTS, (None, self.context.until()), fill).await
    }

    /// The same for a script that others run if it fails: it does not take long.
    pub(super) async fn query_briefly(
        &self,
        queue: &QueueName,
        script: Script,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        self.send(queue, script, READY_LISTS, (None, self.context.briefly()), fill).await
    }

    async fn send(
        &self,
        queue: &QueueName,
        script: Script,
        ready_lists: usize,
        (request_id, until): (Option<&RequestId>, Instant),
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let manager = &self.context.manager;
        let (keys, in_a_cluster) = (self.context.keys(queue), manager.in_a_cluster());
        let extended = script.extended().filter(|_| keys.are_extended());
        let script = extended.unwrap_or(script);
        acl::check(&self.context, queue, script).await?;
        if script.extends() {
            // The calls behind it must not be sent again: that would change their order.
            keys.set_extended();
        }
        let late_copy = request_id.map(|id| &*id.late_copy);
        manager
            .run(queue, script, until, late_copy, |command, variant| {
                if variant.is_extended() && !script.is_extended() {
                    keys.set_extended();
                    acl::refuse(&keys, queue, variant)?;
                }
                keys.declare(command, used(variant), ready_lists, in_a_cluster);
                if let Some(id) = request_id {
                    command.arg(&*id.lane).arg(id.number);
                }
                fill(command);
                Ok(())
            })
            .await
    }

    /// Puts the list of queues right about this queue. The operation at hand does not depend on it, so
    /// a failure is only logged; the next client that uses the queue tries again.
    pub(super) async fn announce(&self, queue: &QueueName) {
        let until = self.context.briefly();
        if let Err(error) = names::register(&self.context, queue, until).await {
            tracing::warn!(%queue, %error, "the list of queues could not be put right");
        }
    }
}

impl Drop for RedisEngine {
    fn drop(&mut self) {
        // Ends the listeners and their connections: nobody can close the engine any more.
        self.context.manager.closed.cancel();
    }
}
