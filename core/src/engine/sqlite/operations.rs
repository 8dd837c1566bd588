//! The operations of the engine, by one transaction each unless the trait says otherwise.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::auditor::Auditor;
use super::database::Database;
use super::engine::SqliteEngine;
use super::{
    admin, attach, cancel, change, clean, distribute, dropped, endings, events, groups, history,
    keys, list, maintenance, outcomes, progress, query, schedules, settings, settle, workers,
};
use crate::Result;
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

#[async_trait]
impl Engine for SqliteEngine {
    /// No number of items is worth it: each request is a transaction of its own, which waits for the disk.
    fn min_batch(&self) -> usize {
        usize::MAX
    }

    /// It may query first.
    fn leases_in_one_step(&self) -> bool {
        false
    }

    /// Each operation is one transaction.
    fn undoes_failures(&self) -> bool {
        true
    }

    fn confirms(&self) -> bool {
        false
    }

    async fn open_queue(&self, _: &QueueName) -> Result<()> {
        // The format of the file was checked when it was opened.
        Ok(())
    }

    async fn add(
        &self,
        queue: &QueueName,
        items: &[Item],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        let size = items.iter().map(|item| 1 + item.data.len() / 1_024).sum();
        self.write_and_notify(queue, items, size, request_id, distribute::add).await
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        _poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<Leased> {
        self.lease_items(queue, wanted, request_id.until).await
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write(queue, leases, settle::size(leases), request_id, settle::complete).await
    }

    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        _poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply> {
        let (completed, leased) =
            self.complete_and_lease_items(queue, leases, wanted, request_id.until).await?;
        Ok(CompleteAndLeaseReply { completed, leased: Ok(leased) })
    }

    async fn distribute(&self, queue: &QueueName) -> Result<bool> {
        let name = queue.clone();
        let step = move |db: &mut Database| distribute::distribute(db, &name);
        self.executor()?.run(true, self.until(), step).await
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>> {
        self.write(queue, leases, leases.len(), request_id, settle::extend).await
    }

    async fn set_progress(
        &self,
        queue: &QueueName,
        leases: &[Progress],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write(queue, leases, leases.len(), request_id, progress::set_progress).await
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write_and_notify(queue, leases, leases.len(), request_id, settle::release).await
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>> {
        self.write_and_notify(queue, leases, leases.len(), request_id, settle::fail).await
    }

    async fn remove(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        self.write(queue, items, items.len(), request_id, admin::remove).await
    }

    async fn requeue(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        self.write_and_notify(queue, items, items.len(), request_id, admin::requeue).await
    }

    async fn bury(
        &self,
        queue: &QueueName,
        items: &[Bury],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        self.write(queue, items, items.len(), request_id, change::bury).await
    }

    async fn revise(
        &self,
        queue: &QueueName,
        items: &[Revise],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        let size = items.iter().map(|item| 1 + item.data_len() / 1_024).sum();
        self.write_and_notify(queue, items, size, request_id, change::revise).await
    }

    async fn cancel(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        self.write(queue, items, items.len(), request_id, cancel::cancel).await
    }

    async fn attach(
        &self,
        queue: &QueueName,
        items: &[Attach],
        request_id: &RequestId,
    ) -> Result<Vec<Attached>> {
        self.write(queue, items, items.len(), request_id, attach::attach).await
    }

    async fn cancellations(&self, queue: &QueueName, leases: &[Token]) -> Result<Cancellations> {
        let (name, leases) = (queue.clone(), leases.to_vec());
        self.read(move |db| cancel::cancellations(db, &name, &leases)).await
    }

    async fn outcomes(&self, queue: &QueueName, ids: &[Bytes]) -> Result<Outcomes> {
        let (name, ids) = (queue.clone(), ids.to_vec());
        self.read(move |db| outcomes::outcomes(db, &name, &ids)).await
    }

    async fn await_outcomes(
        &self,
        queue: &QueueName,
        items: &[Awaited],
        lasts: Duration,
        read_to: Option<EndingPlace>,
    ) -> Result<Outcomes> {
        let (name, items) = (queue.clone(), items.to_vec());
        let ask =
            move |db: &mut Database| outcomes::await_outcomes(db, &name, &items, lasts, read_to);
        self.executor()?.run(true, self.until(), ask).await
    }

    async fn wait_endings(&self, queue: &QueueName, after: EndingPlace) -> Result<Endings> {
        let executor = self.executor()?;
        loop {
            let written = executor.endings();
            let name = queue.clone();
            let found = self.read(move |db| endings::reports(db, &name, after)).await?;
            if found.last.is_some() {
                return Ok(found);
            }
            executor.wait(written).await;
        }
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        from: Option<&str>,
        request_id: &RequestId,
    ) -> Result<Purged> {
        let name = queue.clone();
        let newest = from.and_then(|from| from.parse().ok());
        let step = move |db: &mut Database| admin::purge(db, &name, state, limit, newest);
        let purged = self.executor()?.run(true, request_id.until, step).await?;
        // The transaction has added a part of the follow-ups.
        let mut more = purged.removed > 0;
        while more {
            more = self.distribute(queue).await.unwrap_or_else(|error| {
                tracing::debug!(%queue, %error, "follow-ups are left to others");
                false
            });
        }
        Ok(purged)
    }

    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)> {
        let (executor, name) = (self.executor()?, queue.clone());
        // A client may have died while it dropped a queue. Each step of a clean continues that as well.
        let swept = self.sweeper.try_step(&executor, request_id.until).await;
        if let Some(nothing) = self.query(queue, request_id.until, clean::nothing_due).await? {
            return Ok((nothing, swept));
        }
        let clean = move |db: &mut Database| clean::light_clean(db, &name);
        let (report, more) = executor.run(true, request_id.until, clean).await?;
        executor.notifier().changed(queue);
        Ok((report, more || swept))
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        let (executor, reader, sweeper) = (&self.executor()?, &self.reader, &self.sweeper);
        Auditor { executor, reader, sweeper, timeout: self.timeout, queue, mend, pace }
            .audit()
            .await
    }

    async fn next_due(&self, queue: &QueueName, _rest: Duration) -> Result<Option<Duration>> {
        let (executor, name) = (self.executor()?, queue.clone());
        self.due.subscribe(&executor, queue);
        executor.run(false, self.until(), move |db| maintenance::next_due(db, &name)).await
    }

    async fn wait_due(&self, queue: &QueueName) {
        match self.executor() {
            Ok(executor) => self.due.wait(&executor, queue).await,
            // The caller notices by itself that the client is closed.
            Err(_) => std::future::pending().await,
        }
    }

    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration> {
        let name = queue.clone();
        let turn = move |db: &mut Database| maintenance::deep_turn(db, &name, turn);
        self.executor()?.run(true, self.until(), turn).await
    }

    async fn missing_rights(&self, _: &QueueName, _: Role) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        self.read(maintenance::diagnose).await
    }

    async fn set_paused(
        &self,
        queue: &QueueName,
        pause: &Pause,
        request_id: &RequestId,
    ) -> Result<()> {
        let (executor, name, pause) = (self.executor()?, queue.clone(), pause.clone());
        let set = move |db: &mut Database| settings::set_paused(db, &name, &pause);
        executor.run(true, request_id.until, set).await?;
        executor.notifier().changed(queue);
        Ok(())
    }

    async fn configure(
        &self,
        queue: &QueueName,
        change: &Configure,
        request_id: &RequestId,
    ) -> Result<Option<Settings>> {
        let (name, change) = (queue.clone(), change.clone());
        let configure = move |db: &mut Database| settings::configure(db, &name, &change);
        let executor = self.executor()?;
        let configured = executor.run(true, request_id.until, configure).await?;
        // The rate may allow more leases.
        executor.notifier().changed(queue);
        Ok(configured)
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        self.query(queue, self.until(), settings::settings).await
    }

    async fn set_key_limits(
        &self,
        queue: &QueueName,
        limits: &[KeyLimit],
        request_id: &RequestId,
    ) -> Result<()> {
        self.write_and_notify(queue, limits, limits.len(), request_id, keys::set_limits).await
    }

    async fn get_keys(&self, queue: &QueueName, keys: &[Bytes]) -> Result<Vec<KeyInfo>> {
        let (name, keys) = (queue.clone(), keys.to_vec());
        self.read(move |db| keys::get(db, &name, &keys)).await
    }

    async fn read_schedules(
        &self,
        queue: &QueueName,
        which: &WhichSchedules,
        with_data: bool,
    ) -> Result<Schedules> {
        let (name, which) = (queue.clone(), which.clone());
        self.read(move |db| schedules::read(db, &name, &which, with_data)).await
    }

    async fn swap_schedule(
        &self,
        queue: &QueueName,
        swap: &Swap,
        request_id: &RequestId,
    ) -> Result<Swapped> {
        let (executor, name, swap) = (self.executor()?, queue.clone(), swap.clone());
        let swap = move |db: &mut Database| schedules::swap(db, &name, &swap);
        let swapped = executor.run(true, request_id.until, swap).await?;
        // An item was added, or one will be earlier than waiting calls know.
        executor.notifier().changed(queue);
        Ok(swapped)
    }

    async fn change_group(
        &self,
        queue: &QueueName,
        change: &ChangeGroup,
    ) -> Result<Option<Generation>> {
        let (executor, name, change) = (self.executor()?, queue.clone(), change.clone());
        let change = move |db: &mut Database| {
            let changed = groups::change(db, &name, &change)?;
            distribute::add_pending(db)?;
            Ok(changed)
        };
        executor.run(true, self.until(), change).await
    }

    async fn read_group(
        &self,
        queue: &QueueName,
        id: &Bytes,
        from: u32,
        most: u32,
    ) -> Result<Option<StoredGroup>> {
        let (name, id) = (queue.clone(), id.clone());
        self.read(move |db| groups::read(db, &name, &id, from, most)).await
    }

    async fn beat(&self, beat: &StoredBeat) -> Result<BeatAnswer> {
        let beat = beat.clone();
        self.executor()?.run(true, self.until(), move |db| workers::beat(db, &beat)).await
    }

    async fn read_workers(&self, which: &WhichWorkers) -> Result<StoredWorkers> {
        let which = which.clone();
        self.read(move |db| workers::read(db, &which)).await
    }

    async fn command_worker(&self, worker: &StoredName, command: &StoredCommand) -> Result<bool> {
        let (worker, command) = (worker.clone(), command.clone());
        self.executor()?
            .run(true, self.until(), move |db| workers::command(db, &worker, &command))
            .await
    }

    async fn set_quiet(&self, name: &str, quiet: bool) -> Result<()> {
        let name = name.to_owned();
        self.executor()?
            .run(true, self.until(), move |db| workers::set_quiet(db, &name, quiet))
            .await
    }

    async fn record_history(
        &self,
        queue: &QueueName,
        measured: &Measured,
        request_id: &RequestId,
    ) -> Result<bool> {
        let (executor, name, measured) = (self.executor()?, queue.clone(), measured.clone());
        let record = move |db: &mut Database| history::record(db, &name, &measured);
        executor.run(true, request_id.until, record).await
    }

    async fn read_history(
        &self,
        queue: &QueueName,
        kind: HistoryKind,
        since_ms: u64,
    ) -> Result<Vec<HistoryRow>> {
        let name = queue.clone();
        self.read(move |db| history::read(db, &name, kind, since_ms)).await
    }

    async fn read_events(&self, queue: &QueueName, which: &WhichEvents) -> Result<EventsPage> {
        let (name, which) = (queue.clone(), *which);
        self.read(move |db| events::read(db, &name, &which)).await
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        self.query(queue, self.until(), query::counts).await
    }

    async fn get(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        with_data: bool,
    ) -> Result<Vec<Option<ItemInfo>>> {
        let (name, ids) = (queue.clone(), ids.to_vec());
        self.read(move |db| query::get(db, &name, &ids, with_data)).await
    }

    async fn list(&self, queue: &QueueName, step: &ListStep) -> Result<Listed> {
        let (name, step) = (queue.clone(), step.clone());
        self.read(move |db| list::list(db, &name, &step)).await
    }

    async fn drop_queue(
        &self,
        queue: &QueueName,
        force: bool,
        purged: bool,
    ) -> Result<Option<bool>> {
        let executor = self.executor()?;
        let name = queue.clone();
        // The queue that exists now, and not one that gets its name meanwhile.
        let found = self.read(move |db| db.queue(&name)).await?;
        let Some(number) = found else { return Ok(Some(false)) };
        while (!force || purged) && self.distribute(queue).await? {}
        let name = queue.clone();
        let detach = move |db: &mut Database| dropped::detach(db, &name, number, force, purged);
        if executor.run(true, self.until(), detach).await?.is_none() {
            return Ok(None);
        }
        self.forget(queue);
        loop {
            match self.sweeper.step(&executor, self.until()).await {
                Ok(true) => {}
                Ok(false) => return Ok(Some(true)),
                Err(error) => {
                    tracing::warn!(%queue, %error, "dropped; the next clean deletes what is left of it");
                    return Ok(Some(true));
                }
            }
        }
    }

    async fn queues(&self) -> Result<QueueNames> {
        let found = self.read(query::queues).await?;
        let is_name = |name: &String| QueueName::new(name).is_ok();
        let (names, strange): (Vec<_>, Vec<_>) = found.into_iter().partition(is_name);
        Ok(QueueNames { names, skipped: strange.len() as u64 })
    }

    async fn wait(&self, queue: &QueueName) {
        match (self.executor(), self.attempts.changes(queue)) {
            (Ok(executor), Some(changes)) => executor.wait(changes).await,
            // Forgotten since the attempt: the caller asks again.
            (Ok(_), None) => {}
            // The caller notices by itself that the client is closed.
            (Err(_), _) => std::future::pending().await,
        }
    }

    async fn retire(&self, queue: &QueueName, _: &[Arc<str>]) -> Result<()> {
        self.forget(queue);
        Ok(())
    }

    async fn close(&self) {
        self.end().await;
    }
}
