//! An engine that fails as a test wants it to.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::engine::{
    Attach, Attached, Awaited, BeatAnswer, Bury, Cancellations, ChangeGroup, Complete,
    CompleteAndLeaseReply, EndingPlace, Endings, Engine, Extend, Fail, Generation, KeyLimit,
    LeaseRequest, Leased, ListStep, Listed, Outcomes, Progress, Purged, Release, RequestId, Revise,
    Schedules, StoredBeat, StoredCommand, StoredGroup, StoredName, StoredWorkers, Swap, Swapped,
    Target, Token, Turn, WhichEvents, WhichSchedules, WhichWorkers,
};
use crate::event::EventsPage;
use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::item::{Counts, Item, ItemInfo, KeyInfo, State};
use crate::name::{QueueName, QueueNames};
use crate::pause::Pause;
use crate::settings::{Configure, Settings};
use crate::{Error, Result};

pub(super) enum Fault {
    Panic,
    /// When the operation is done.
    PanicAfter,
    /// At once.
    Refuse(Error),
    /// At the time that the engine has.
    NoAnswer,
    /// So late.
    Late(Duration),
    /// When the operation is done, so late.
    LateReply(Duration),
    /// A step of a lease finds nothing in what it looks at, so late. More may lie behind.
    Fruitless(Duration),
    /// Reports of ends were lost.
    Lost,
}

/// What goes wrong with an operation, of this name, on these ids.
type Plan = dyn FnMut(&'static str, &[Bytes]) -> Option<Fault> + Send;

pub(super) struct Faulty {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) plan: Mutex<Box<Plan>>,
}

impl Faulty {
    pub(super) fn set(
        &self,
        plan: impl FnMut(&'static str, &[Bytes]) -> Option<Fault> + Send + 'static,
    ) {
        *self.plan.lock().unwrap() = Box::new(plan);
    }

    async fn run<T>(
        &self,
        operation: &'static str,
        ids: &[Bytes],
        request_id: &RequestId,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let fault = (self.plan.lock().unwrap())(operation, ids);
        self.end(fault, request_id, work).await
    }

    async fn end<T>(
        &self,
        fault: Option<Fault>,
        request_id: &RequestId,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match fault {
            None => work.await,
            Some(Fault::Late(time)) => {
                tokio::time::sleep(time).await;
                work.await
            }
            Some(Fault::LateReply(time)) => {
                let reply = work.await;
                tokio::time::sleep(time).await;
                reply
            }
            Some(Fault::Panic | Fault::Fruitless(_) | Fault::Lost) => panic!("as planned"),
            Some(Fault::PanicAfter) => {
                let _ = work.await;
                panic!("as planned")
            }
            Some(Fault::Refuse(error)) => Err(error),
            Some(Fault::NoAnswer) => {
                tokio::time::sleep_until(request_id.until.into()).await;
                Err(Error::unavailable("no answer", true))
            }
        }
    }
}

fn ids<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Vec<Bytes> {
    targets.into_iter().map(|target| target.id.clone()).collect()
}

/// For an operation that has none.
fn no_lane() -> RequestId {
    RequestId { lane: "".into(), number: 0, until: Instant::now(), late_copy: Default::default() }
}

#[async_trait]
impl Engine for Faulty {
    fn min_batch(&self) -> usize {
        self.engine.min_batch()
    }

    fn leases_in_one_step(&self) -> bool {
        self.engine.leases_in_one_step()
    }

    fn undoes_failures(&self) -> bool {
        true
    }

    fn confirms(&self) -> bool {
        false
    }

    async fn open_queue(&self, queue: &QueueName) -> Result<()> {
        self.run("open_queue", &[], &no_lane(), self.engine.open_queue(queue)).await
    }

    async fn add(
        &self,
        queue: &QueueName,
        items: &[Item],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let ids: Vec<Bytes> = items.iter().map(|item| Bytes::copy_from_slice(&item.id)).collect();
        self.run("add", &ids, request_id, self.engine.add(queue, items, request_id)).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<Leased> {
        let operation = if wanted.is_empty() { "recover" } else { "lease" };
        let fault = (self.plan.lock().unwrap())(operation, &[]);
        if let Some(Fault::Fruitless(time)) = fault {
            tokio::time::sleep(time).await;
            return Ok(Leased {
                items: Vec::new(),
                look_in: Some(Duration::ZERO),
                is_to_tick: false,
            });
        }
        let work = self.engine.lease(queue, wanted, poll_interval, request_id);
        self.end(fault, request_id, work).await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let ids: Vec<Bytes> = leases.iter().map(|lease| lease.id.clone()).collect();
        self.run("complete", &ids, request_id, self.engine.complete(queue, leases, request_id))
            .await
    }

    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply> {
        let ids: Vec<Bytes> = leases.iter().map(|lease| lease.id.clone()).collect();
        let refused = (self.plan.lock().unwrap())("second half", &ids);
        let work = self.engine.complete_and_lease(queue, leases, wanted, poll_interval, request_id);
        let mut done = self.run("complete_and_lease", &ids, request_id, work).await?;
        if let Some(Fault::Refuse(error)) = refused {
            done.leased = Err(error);
        }
        Ok(done)
    }

    async fn distribute(&self, queue: &QueueName) -> Result<bool> {
        self.engine.distribute(queue).await
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>> {
        self.run("extend", &[], request_id, self.engine.extend(queue, leases, request_id)).await
    }

    async fn set_progress(
        &self,
        queue: &QueueName,
        leases: &[Progress],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let work = self.engine.set_progress(queue, leases, request_id);
        self.run("set_progress", &[], request_id, work).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.run("release", &[], request_id, self.engine.release(queue, leases, request_id)).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>> {
        self.run("fail", &[], request_id, self.engine.fail(queue, leases, request_id)).await
    }

    async fn remove(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let work = self.engine.remove(queue, items, request_id);
        self.run("remove", &ids(items), request_id, work).await
    }

    async fn requeue(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        let work = self.engine.requeue(queue, items, request_id);
        self.run("requeue", &ids(items), request_id, work).await
    }

    async fn bury(
        &self,
        queue: &QueueName,
        items: &[Bury],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        let work = self.engine.bury(queue, items, request_id);
        self.run("bury", &ids(items.iter().map(|item| &item.target)), request_id, work).await
    }

    async fn cancel(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        let work = self.engine.cancel(queue, items, request_id);
        self.run("cancel", &ids(items.iter()), request_id, work).await
    }

    async fn cancellations(&self, queue: &QueueName, leases: &[Token]) -> Result<Cancellations> {
        let work = self.engine.cancellations(queue, leases);
        self.run("cancellations", &[], &no_lane(), work).await
    }

    async fn outcomes(&self, queue: &QueueName, wanted: &[Bytes]) -> Result<Outcomes> {
        let work = self.engine.outcomes(queue, wanted);
        self.run("outcomes", wanted, &no_lane(), work).await
    }

    async fn await_outcomes(
        &self,
        queue: &QueueName,
        items: &[Awaited],
        lasts: Duration,
        read_to: Option<EndingPlace>,
    ) -> Result<Outcomes> {
        let wanted: Vec<Bytes> = items.iter().map(|item| item.subject.id().clone()).collect();
        let work = self.engine.await_outcomes(queue, items, lasts, read_to);
        self.run("await_outcomes", &wanted, &no_lane(), work).await
    }

    async fn wait_endings(&self, queue: &QueueName, after: EndingPlace) -> Result<Endings> {
        let fault = (self.plan.lock().unwrap())("wait_endings", &[]);
        if let Some(Fault::Lost) = fault {
            return Ok(Endings { lost: true, ..Endings::default() });
        }
        self.end(fault, &no_lane(), self.engine.wait_endings(queue, after)).await
    }

    async fn revise(
        &self,
        queue: &QueueName,
        items: &[Revise],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        let work = self.engine.revise(queue, items, request_id);
        self.run("revise", &ids(items.iter().map(|item| &item.target)), request_id, work).await
    }

    async fn attach(
        &self,
        queue: &QueueName,
        items: &[Attach],
        request_id: &RequestId,
    ) -> Result<Vec<Attached>> {
        let work = self.engine.attach(queue, items, request_id);
        self.run("attach", &ids(items.iter().map(|item| &item.target)), request_id, work).await
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        from: Option<&str>,
        request_id: &RequestId,
    ) -> Result<Purged> {
        self.engine.purge(queue, state, limit, from, request_id).await
    }

    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)> {
        self.engine.light_clean(queue, request_id).await
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        self.engine.audit(queue, mend, pace).await
    }

    async fn next_due(&self, queue: &QueueName, rest: Duration) -> Result<Option<Duration>> {
        self.engine.next_due(queue, rest).await
    }

    async fn wait_due(&self, queue: &QueueName) {
        self.engine.wait_due(queue).await;
    }

    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration> {
        self.engine.deep_turn(queue, turn).await
    }

    async fn missing_rights(&self, queue: &QueueName, role: Role) -> Result<Vec<String>> {
        self.engine.missing_rights(queue, role).await
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        self.engine.diagnose().await
    }

    async fn set_paused(
        &self,
        queue: &QueueName,
        pause: &Pause,
        request_id: &RequestId,
    ) -> Result<()> {
        let work = self.engine.set_paused(queue, pause, request_id);
        self.run("set_paused", &[], request_id, work).await
    }

    async fn set_key_limits(
        &self,
        queue: &QueueName,
        limits: &[KeyLimit],
        request_id: &RequestId,
    ) -> Result<()> {
        self.engine.set_key_limits(queue, limits, request_id).await
    }

    async fn get_keys(&self, queue: &QueueName, keys: &[Bytes]) -> Result<Vec<KeyInfo>> {
        self.engine.get_keys(queue, keys).await
    }

    async fn configure(
        &self,
        queue: &QueueName,
        change: &Configure,
        request_id: &RequestId,
    ) -> Result<Option<Settings>> {
        self.engine.configure(queue, change, request_id).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        self.engine.settings(queue).await
    }

    async fn change_group(
        &self,
        queue: &QueueName,
        change: &ChangeGroup,
    ) -> Result<Option<Generation>> {
        self.engine.change_group(queue, change).await
    }

    async fn read_group(
        &self,
        queue: &QueueName,
        id: &Bytes,
        from: u32,
        most: u32,
    ) -> Result<Option<StoredGroup>> {
        self.engine.read_group(queue, id, from, most).await
    }

    async fn read_schedules(
        &self,
        queue: &QueueName,
        which: &WhichSchedules,
        with_data: bool,
    ) -> Result<Schedules> {
        self.engine.read_schedules(queue, which, with_data).await
    }

    async fn swap_schedule(
        &self,
        queue: &QueueName,
        swap: &Swap,
        request_id: &RequestId,
    ) -> Result<Swapped> {
        let names = [Bytes::from(swap.name.clone())];
        let work = self.engine.swap_schedule(queue, swap, request_id);
        self.run("swap_schedule", &names, request_id, work).await
    }

    async fn beat(&self, beat: &StoredBeat) -> Result<BeatAnswer> {
        self.engine.beat(beat).await
    }

    async fn read_workers(&self, which: &WhichWorkers) -> Result<StoredWorkers> {
        self.engine.read_workers(which).await
    }

    async fn command_worker(&self, worker: &StoredName, command: &StoredCommand) -> Result<bool> {
        self.engine.command_worker(worker, command).await
    }

    async fn set_quiet(&self, name: &str, quiet: bool) -> Result<()> {
        self.engine.set_quiet(name, quiet).await
    }

    async fn record_history(
        &self,
        queue: &QueueName,
        measured: &Measured,
        request_id: &RequestId,
    ) -> Result<bool> {
        self.engine.record_history(queue, measured, request_id).await
    }

    async fn read_history(
        &self,
        queue: &QueueName,
        kind: HistoryKind,
        since_ms: u64,
    ) -> Result<Vec<HistoryRow>> {
        self.engine.read_history(queue, kind, since_ms).await
    }

    async fn read_events(&self, queue: &QueueName, which: &WhichEvents) -> Result<EventsPage> {
        self.engine.read_events(queue, which).await
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        self.engine.counts(queue).await
    }

    async fn get(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        with_data: bool,
    ) -> Result<Vec<Option<ItemInfo>>> {
        self.engine.get(queue, ids, with_data).await
    }

    async fn list(&self, queue: &QueueName, step: &ListStep) -> Result<Listed> {
        self.engine.list(queue, step).await
    }

    async fn drop_queue(
        &self,
        queue: &QueueName,
        force: bool,
        purged: bool,
    ) -> Result<Option<bool>> {
        self.engine.drop_queue(queue, force, purged).await
    }

    async fn queues(&self) -> Result<QueueNames> {
        self.engine.queues().await
    }

    async fn wait(&self, queue: &QueueName) {
        self.engine.wait(queue).await;
    }

    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()> {
        self.engine.retire(queue, lanes).await
    }

    async fn close(&self) {
        self.engine.close().await;
    }
}
