//! The operations of the engine, each in the file of its group.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::redis_engine::RedisEngine;
use super::{
    acl, add, admin, attach, audit, cancel, doctor, due, events, follow_ups, groups, history,
    key_limits, lease, list, open_queue, outcomes, query, schedules, settings, settle, workers,
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

    fn confirms(&self) -> bool {
        self.context.manager.opener.confirmation().is_some()
    }

    async fn open_queue(&self, queue: &QueueName) -> Result<()> {
        open_queue::open_queue(self, queue).await
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

    async fn distribute(&self, queue: &QueueName) -> Result<bool> {
        follow_ups::distribute(self, queue).await
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>> {
        settle::extend(self, queue, leases, request_id).await
    }

    async fn set_progress(
        &self,
        queue: &QueueName,
        leases: &[Progress],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        settle::set_progress(self, queue, leases, request_id).await
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
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<bool>> {
        admin::remove(self, queue, items, request_id).await
    }

    async fn requeue(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        admin::requeue(self, queue, items, request_id).await
    }

    async fn bury(
        &self,
        queue: &QueueName,
        items: &[Bury],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        admin::bury(self, queue, items, request_id).await
    }

    async fn revise(
        &self,
        queue: &QueueName,
        items: &[Revise],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        admin::revise(self, queue, items, request_id).await
    }

    async fn cancel(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>> {
        cancel::cancel(self, queue, items, request_id).await
    }

    async fn attach(
        &self,
        queue: &QueueName,
        items: &[Attach],
        request_id: &RequestId,
    ) -> Result<Vec<Attached>> {
        attach::attach(self, queue, items, request_id).await
    }

    async fn cancellations(&self, queue: &QueueName, leases: &[Token]) -> Result<Cancellations> {
        cancel::cancellations(self, queue, leases).await
    }

    async fn outcomes(&self, queue: &QueueName, ids: &[Bytes]) -> Result<Outcomes> {
        outcomes::outcomes(self, queue, ids).await
    }

    async fn await_outcomes(
        &self,
        queue: &QueueName,
        items: &[Awaited],
        lasts: Duration,
        read_to: Option<EndingPlace>,
    ) -> Result<Outcomes> {
        outcomes::await_outcomes(self, queue, items, lasts, read_to).await
    }

    async fn wait_endings(&self, queue: &QueueName, after: EndingPlace) -> Result<Endings> {
        Ok(self.ended.wait_behind(queue, after).await)
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        from: Option<&str>,
        request_id: &RequestId,
    ) -> Result<Purged> {
        admin::purge(self, queue, state, limit, from, request_id).await
    }

    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)> {
        admin::light_clean(self, queue, request_id).await
    }

    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport> {
        audit::audit(self, queue, mend, pace).await
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
        acl::missing_rights(&self.context, queue, role).await
    }

    async fn diagnose(&self) -> Result<Diagnosis> {
        doctor::diagnose(&self.context).await
    }

    async fn set_paused(
        &self,
        queue: &QueueName,
        pause: &Pause,
        request_id: &RequestId,
    ) -> Result<()> {
        settings::set_paused(self, queue, pause, request_id).await
    }

    async fn configure(
        &self,
        queue: &QueueName,
        change: &Configure,
        request_id: &RequestId,
    ) -> Result<Option<Settings>> {
        settings::configure(self, queue, change, request_id).await
    }

    async fn settings(&self, queue: &QueueName) -> Result<Settings> {
        settings::settings(self, queue).await
    }

    async fn set_key_limits(
        &self,
        queue: &QueueName,
        limits: &[KeyLimit],
        request_id: &RequestId,
    ) -> Result<()> {
        key_limits::set_key_limits(self, queue, limits, request_id).await
    }

    async fn get_keys(&self, queue: &QueueName, keys: &[Bytes]) -> Result<Vec<KeyInfo>> {
        key_limits::get_keys(self, queue, keys).await
    }

    async fn change_group(
        &self,
        queue: &QueueName,
        change: &ChangeGroup,
    ) -> Result<Option<Generation>> {
        groups::change(self, queue, change).await
    }

    async fn read_group(
        &self,
        queue: &QueueName,
        id: &Bytes,
        from: u32,
        most: u32,
    ) -> Result<Option<StoredGroup>> {
        groups::read(self, queue, id, from, most).await
    }

    async fn read_schedules(
        &self,
        queue: &QueueName,
        which: &WhichSchedules,
        with_data: bool,
    ) -> Result<Schedules> {
        schedules::read_schedules(self, queue, which, with_data).await
    }

    async fn swap_schedule(
        &self,
        queue: &QueueName,
        swap: &Swap,
        request_id: &RequestId,
    ) -> Result<Swapped> {
        schedules::swap_schedule(self, queue, swap, request_id).await
    }

    async fn beat(&self, beat: &StoredBeat) -> Result<BeatAnswer> {
        workers::beat(self, beat).await
    }

    async fn read_workers(&self, which: &WhichWorkers) -> Result<StoredWorkers> {
        workers::read(self, which).await
    }

    async fn command_worker(&self, worker: &StoredName, command: &StoredCommand) -> Result<bool> {
        workers::command(self, worker, command).await
    }

    async fn set_quiet(&self, name: &str, quiet: bool) -> Result<()> {
        workers::set_quiet(self, name, quiet).await
    }

    async fn record_history(
        &self,
        queue: &QueueName,
        measured: &Measured,
        request_id: &RequestId,
    ) -> Result<bool> {
        history::record(self, queue, measured, request_id).await
    }

    async fn read_history(
        &self,
        queue: &QueueName,
        kind: HistoryKind,
        since_ms: u64,
    ) -> Result<Vec<HistoryRow>> {
        history::read(self, queue, kind, since_ms).await
    }

    async fn read_events(&self, queue: &QueueName, which: &WhichEvents) -> Result<EventsPage> {
        events::read(self, queue, which).await
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        query::counts(self, queue).await
    }

    async fn get(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        with_data: bool,
    ) -> Result<Vec<Option<ItemInfo>>> {
        query::get(self, queue, ids, with_data).await
    }

    async fn list(&self, queue: &QueueName, step: &ListStep) -> Result<Listed> {
        list::list(self, queue, step).await
    }

    async fn drop_queue(
        &self,
        queue: &QueueName,
        force: bool,
        purged: bool,
    ) -> Result<Option<bool>> {
        admin::drop_queue(self, queue, force, purged).await
    }

    async fn queues(&self) -> Result<QueueNames> {
        self.queue_list.read(&self.context).await
    }

    async fn wait(&self, queue: &QueueName) {
        self.ready.wait(queue).await;
    }

    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()> {
        admin::retire(self, queue, lanes).await
    }

    async fn close(&self) {
        self.context.manager.close().await;
    }
}
