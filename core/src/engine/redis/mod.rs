//! The engine on Redis and Valkey: one Lua script for each operation. `core/docs/protocol.md` has
//! the keys, the scripts and the reasons.

mod acl;
mod add;
mod address;
mod admin;
mod audit;
mod candidates;
mod connection;
mod connection_manager;
mod dial;
mod doctor;
mod due;
mod greeting;
mod keys;
mod lease;
mod listener;
mod names;
mod number;
mod query;
mod reads_to_end;
mod record;
mod reply;
mod retry_decision;
mod routes;
mod scripts;
mod settle;
mod wake;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use redis::{Cmd, Value, cmd};

use self::address::Address;
use self::connection::Opener;
use self::connection_manager::ConnectionManager;
use self::keys::Keys;
use self::scripts::{Script, Scripts};
use self::wake::{News, Wake};
use super::{
    Complete, CompleteAndLeaseReply, Engine, Extend, Fail, LeaseRequest, Leased, Release,
    RequestId, Turn,
};
use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State};
use crate::name::{QueueName, QueueNames};
use crate::options::ConnectOptions;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept with each queue.
const FORMAT: &str = "1";

#[cfg(feature = "testing")]
pub(crate) use self::scripts::texts as script_texts;

pub(crate) struct RedisEngine {
    manager: Arc<ConnectionManager>,
    wake: Wake,
    due: Wake,
    namespace: String,
    timeout: Duration,
    keys: Mutex<HashMap<QueueName, Arc<Keys>>>,
    /// That the list of queues has strange entries.
    warned: AtomicBool,
    /// Whether the list of queues could be read the last time.
    may_list: AtomicBool,
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
        let engine = RedisEngine {
            wake: Wake::new(News::Ready, manager.clone(), &options.namespace),
            due: Wake::new(News::Due, manager.clone(), &options.namespace),
            manager,
            namespace: options.namespace.clone(),
            timeout: options.timeout,
            keys: Mutex::default(),
            warned: AtomicBool::new(false),
            may_list: AtomicBool::new(false),
        };
        Ok((engine, options))
    }

    fn keys(&self, queue: &QueueName) -> Arc<Keys> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.entry(queue.clone())
            .or_insert_with(|| Arc::new(Keys::new(&self.namespace, queue)))
            .clone()
    }

    /// Keeps nothing about the queue any more. If it is used again, all is found out again.
    fn forget(&self, queue: &QueueName) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(queue);
        self.wake.forget(queue);
        self.due.forget(queue);
    }

    /// For operations without a request id.
    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// For what an operation does not depend on: it leaves time for the operation itself.
    fn briefly(&self) -> Instant {
        Instant::now() + (self.timeout / 4).min(Duration::from_secs(1))
    }

    /// Runs an operation that changes state: the keys, the request id, then what `fill` adds.
    async fn run(
        &self,
        queue: &QueueName,
        script: Script,
        key_count: usize,
        request_id: &RequestId,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        acl::check(self, queue, script).await?;
        let (keys, in_a_cluster) = (self.keys(queue), self.manager.in_a_cluster());
        self.manager
            .run(queue, script, request_id.until, Some(&request_id.late_copy), |command| {
                keys.declare(command, key_count, in_a_cluster);
                command.arg(&*request_id.lane).arg(request_id.number);
                fill(command);
            })
            .await
    }

    /// Runs a script that may be repeated: the keys, then what `fill` adds.
    async fn query(
        &self,
        queue: &QueueName,
        script: Script,
        key_count: usize,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        acl::check(self, queue, script).await?;
        let (keys, in_a_cluster) = (self.keys(queue), self.manager.in_a_cluster());
        self.manager
            .run(queue, script, self.until(), None, |command| {
                keys.declare(command, key_count, in_a_cluster);
                fill(command);
            })
            .await
    }

    /// Makes the queue known to those that look for queues. It works without that, so a failure is
    /// no failure of the operation at hand; the next client that uses the queue tries again.
    async fn announce(&self, queue: &QueueName) {
        let until = self.briefly();
        if let Err(error) = names::register(self, queue, until).await {
            tracing::warn!(%queue, %error, "the list of queues could not be put right");
        }
    }

    /// Stands for the node of a Cluster that has the set of queue names.
    fn directory(&self) -> QueueName {
        QueueName::directory()
    }
}

impl Drop for RedisEngine {
    fn drop(&mut self) {
        // Nobody is left who could close it: what listens for news ends, and its connection.
        self.manager.closed.cancel();
    }
}

#[async_trait]
impl Engine for RedisEngine {
    /// One request of few items costs the server several times as much for each. More are worth it: the
    /// server works on them while the client makes the next.
    fn min_batch(&self) -> usize {
        32
    }

    fn leases_in_one_step(&self) -> bool {
        true
    }

    /// A script may have been stopped half-way.
    fn undoes_failures(&self) -> bool {
        false
    }

    async fn open_queue(&self, queue: &QueueName) -> Result<()> {
        acl::learn(self, queue).await?;
        let mut command = cmd("HMGET");
        command.arg(self.keys(queue).meta()).arg(&["format", "incarnation"]);
        let found = reply::array(self.manager.command(queue, self.until(), command).await?)?;
        let [format, incarnation] = found;
        match reply::optional_text(format)? {
            // Usually the list is right: once for each client is cheap.
            found if found.as_deref().is_none_or(|format| format == FORMAT) => {
                let incarnation = reply::bytes(incarnation)?;
                match names::listed(self, queue, self.briefly()).await {
                    Ok(listed) if listed == incarnation => {}
                    Ok(_) => self.announce(queue).await,
                    Err(error) => {
                        tracing::warn!(%queue, %error, "the list of queues could not be read");
                    }
                }
                Ok(())
            }
            found => Err(other_format(queue, &found.unwrap_or_default())),
        }
    }

    async fn add(
        &self,
        queue: &QueueName,
        items: &[Item],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        add::add(self, queue, items, request_id).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<Leased> {
        lease::lease(self, queue, wanted, poll_interval, request_id).await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        settle::complete(self, queue, leases, request_id).await
    }

    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply> {
        lease::complete_and_lease(self, queue, leases, wanted, poll_interval, request_id).await
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>> {
        settle::extend(self, queue, leases, request_id).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        settle::release(self, queue, leases, request_id).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>> {
        settle::fail(self, queue, leases, request_id).await
    }

    async fn remove(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        admin::remove(self, queue, ids, request_id).await
    }

    async fn requeue(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        admin::requeue(self, queue, ids, request_id).await
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        request_id: &RequestId,
    ) -> Result<(u64, u64)> {
        admin::purge(self, queue, state, limit, request_id).await
    }

    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)> {
        admin::light_clean(self, queue, request_id).await
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        audit::Audit::new(self, queue, mend, pace).run().await
    }

    async fn next_due(&self, queue: &QueueName, rest: Duration) -> Result<Option<Duration>> {
        due::next_due(self, queue, rest).await
    }

    async fn wait_due(&self, queue: &QueueName) {
        self.due.wait(queue).await;
    }

    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration> {
        due::deep_turn(self, queue, turn).await
    }

    async fn missing_rights(&self, queue: &QueueName, role: Role) -> Result<Vec<String>> {
        acl::missing_rights(self, queue, role).await
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        doctor::diagnose(self).await
    }

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()> {
        admin::set_paused(self, queue, paused).await
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        query::counts(self, queue).await
    }

    async fn get(&self, queue: &QueueName, id: &[u8]) -> Result<Option<ItemInfo>> {
        query::get(self, queue, id).await
    }

    async fn list(
        &self,
        queue: &QueueName,
        state: State,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page> {
        query::list(self, queue, state, cursor, limit).await
    }

    async fn drop_queue(&self, queue: &QueueName) -> Result<bool> {
        let dropped = admin::drop_queue(self, queue).await;
        self.forget(queue);
        dropped
    }

    async fn queues(&self) -> Result<QueueNames> {
        names::queues(self).await
    }

    async fn wait(&self, queue: &QueueName) {
        self.wake.wait(queue).await;
    }

    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()> {
        let keys = self.keys(queue);
        self.forget(queue);
        for chunk in lanes.chunks(500) {
            let mut command = cmd("HDEL");
            command.arg(keys.lanes());
            for lane in chunk {
                command.arg(&**lane);
            }
            // Short, so that closing does not hang on a server that is gone.
            let until = Instant::now() + self.timeout.min(Duration::from_secs(1));
            self.manager.command(queue, until, command).await?;
        }
        Ok(())
    }

    async fn close(&self) {
        self.manager.close().await;
    }
}

fn other_format(queue: &QueueName, format: &str) -> Error {
    Error::new(
        ErrorKind::Incompatible,
        format_args!(
            "queue {queue} has storage format {format}, this version of leaseq reads {FORMAT}: \
             upgrade the older one of the two"
        ),
    )
}

fn bad_record(queue: &QueueName, number: &[u8]) -> Error {
    let number = number.escape_ascii();
    Error::internal(format_args!("queue {queue}, item number {number}: cannot be read; run check"))
}
