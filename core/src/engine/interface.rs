//! What an engine does: atomic operations on batches, and waiting.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::events::WhichEvents;
use super::generation::Generation;
use super::groups::{ChangeGroup, StoredGroup};
use super::schedules::{Schedules, Swap, Swapped, WhichSchedules};
use super::values::{
    Attach, Attached, Awaited, Bury, Cancellations, Complete, CompleteAndLeaseReply, EndingPlace,
    Endings, Extend, Fail, KeyLimit, LeaseRequest, Leased, ListStep, Listed, Outcomes, Progress,
    Purged, Release, RequestId, Revise, Target, Token, Turn,
};
use super::workers::{
    BeatAnswer, StoredBeat, StoredCommand, StoredName, StoredWorkers, WhichWorkers,
};
use crate::Result;
use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::event::EventsPage;
use crate::history::{HistoryKind, HistoryRow, Measured};
use crate::item::{Counts, Item, ItemInfo, KeyInfo, State};
use crate::name::{QueueName, QueueNames};
use crate::pause::Pause;
use crate::settings::{Configure, Settings};

/// Batches have 1 to [`MAX_BATCH`](crate::options::MAX_BATCH) entries, already validated; replies have
/// the same order. An operation that changes state has a request id, and the engine retries it until the
/// request id's deadline.
#[async_trait]
pub(crate) trait Engine: Send + Sync + 'static {
    /// The smallest batch that is sent without waiting for more calls.
    fn min_batch(&self) -> usize;

    /// Whether the order of `lease` among the operations is fixed when it is first polled, as that of all
    /// others that change state is.
    fn leases_in_one_step(&self) -> bool;

    /// Whether an operation that fails with `Internal` changes nothing.
    fn undoes_failures(&self) -> bool;

    /// Whether replicas or disks must have everything that a change depends on before it is answered.
    fn confirms(&self) -> bool;

    /// Checks that this library can work with the queue's storage format.
    async fn open_queue(&self, queue: &QueueName) -> Result<()>;

    /// True: added; false: an item with this id exists.
    async fn add(
        &self,
        queue: &QueueName,
        items: &[Item],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// Leases at most as many items as wanted, in the order of `wanted`. `poll_interval`: how long the
    /// caller waits before it polls again if there are too few; zero if it does not wait. If it waits and wants none, it is
    /// to ask again now as soon as something could be leased.
    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<Leased>;

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// Completes, then leases, in one atomic step under one request id.
    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply>;

    /// Adds follow-ups of items that have ended, in one bounded step. Whoever ends items does so at once; this is for what
    /// is left. Returns whether more are left.
    async fn distribute(&self, queue: &QueueName) -> Result<bool>;

    /// Returns the new deadlines in ms since 1970; `None`: lost.
    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>>;

    /// Stores how far the holders have come. The last one counts if a batch has a lease twice. False: lost.
    async fn set_progress(
        &self,
        queue: &QueueName,
        leases: &[Progress],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// False: lost.
    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// Returns the new state of each item; `None`: lost.
    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>>;

    /// Operations of operators answer false if there is no such item, or if it is of another generation than the
    /// target says.
    async fn remove(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// `None`: not executed; the caller asks again in another request. The first item always has an answer.
    async fn requeue(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>>;

    /// `None`: as for [`requeue`](Engine::requeue).
    async fn bury(
        &self,
        queue: &QueueName,
        items: &[Bury],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>>;

    /// `None`: as for [`requeue`](Engine::requeue).
    async fn revise(
        &self,
        queue: &QueueName,
        items: &[Revise],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>>;

    /// Removes items that wait, or retains them as cancelled, and marks leased ones: they end with their lease. False:
    /// there is none, or it has ended. `None`: as for [`bury`](Engine::bury).
    async fn cancel(
        &self,
        queue: &QueueName,
        items: &[Target],
        request_id: &RequestId,
    ) -> Result<Vec<Option<bool>>>;

    /// Adds follow-ups to items that live, and those for items that have ended as they require at once.
    async fn attach(
        &self,
        queue: &QueueName,
        items: &[Attach],
        request_id: &RequestId,
    ) -> Result<Vec<Attached>>;

    /// Which of these leases are current, and of which the cancellation was requested; none or up to
    /// [`MAX_BATCH`](crate::options::MAX_BATCH).
    async fn cancellations(&self, queue: &QueueName, leases: &[Token]) -> Result<Cancellations>;

    /// How these items have ended, of the first ones as many as fit into a reply; at least one.
    async fn outcomes(&self, queue: &QueueName, ids: &[Bytes]) -> Result<Outcomes>;

    /// The same, and registers for this time those that have not ended: who ends one of them reports it, with a later
    /// place than that of the reply. If one of them does not exist, it also reads reports behind `read_to`.
    async fn await_outcomes(
        &self,
        queue: &QueueName,
        items: &[Awaited],
        lasts: Duration,
        read_to: Option<EndingPlace>,
    ) -> Result<Outcomes>;

    /// Waits for reported endings behind this place, of which it returns the first ones. It may return none. A report
    /// may be lost, so callers also ask now and then.
    async fn wait_endings(&self, queue: &QueueName, after: EndingPlace) -> Result<Endings>;

    /// Removes at most `limit` items of a state; with 0 it only [confirms](Engine::confirms) what is so. `from`: where an
    /// earlier step says that it goes on; the first step goes no further than the newest item that it finds.
    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        from: Option<&str>,
        request_id: &RequestId,
    ) -> Result<Purged>;

    /// One bounded step; true if there is more to do at once.
    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)>;

    /// Finds, and with `mend` repairs, broken invariants, in bounded steps. `pace`: see
    /// [`pause`](super::pause).
    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport>;

    /// Returns the time until the next item is due or its lease expires; zero: now; `None`: there is none.
    /// The caller looks again by then, and after `rest` at the latest.
    async fn next_due(&self, queue: &QueueName, rest: Duration) -> Result<Option<Duration>>;

    /// Returns when something may be due or expire before this client looks again, as promised by its last
    /// [`next_due`](Engine::next_due). It may be early or late, like [`wait`](Engine::wait).
    async fn wait_due(&self, queue: &QueueName);

    /// Takes turns at deep cleans. Returns zero, or how long until the turn can be taken.
    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration>;

    /// Returns the rights that the user lacks for a role, in the server's notation; empty on an engine
    /// without users.
    async fn missing_rights(&self, queue: &QueueName, role: Role) -> Result<Vec<String>>;

    /// Reads the settings that the guarantees depend on.
    async fn diagnose(&self) -> Result<Diagnosis>;

    async fn set_paused(
        &self,
        queue: &QueueName,
        pause: &Pause,
        request_id: &RequestId,
    ) -> Result<()>;

    /// Changes settings. `None`: another revision is stored than the one that must be.
    async fn configure(
        &self,
        queue: &QueueName,
        change: &Configure,
        request_id: &RequestId,
    ) -> Result<Option<Settings>>;

    /// The defaults if there is no queue.
    async fn settings(&self, queue: &QueueName) -> Result<Settings>;

    /// Gives keys limits of their own, or the queue's again. The last one counts if a batch has a key twice.
    async fn set_key_limits(
        &self,
        queue: &QueueName,
        limits: &[KeyLimit],
        request_id: &RequestId,
    ) -> Result<()>;

    /// The limit of each key, and how many of its items are leased now.
    async fn get_keys(&self, queue: &QueueName, keys: &[Bytes]) -> Result<Vec<KeyInfo>>;

    /// Reads schedules, as many as fit into a reply; at least one. Without `with_data` their bodies end behind the first
    /// line feed.
    async fn read_schedules(
        &self,
        queue: &QueueName,
        which: &WhichSchedules,
        with_data: bool,
    ) -> Result<Schedules>;

    /// Replaces a schedule if nobody else has since it was read, and adds items, in one atomic step. Makes the queue if
    /// there is none. `Invalid` if the queue has as many schedules as it may have.
    async fn swap_schedule(
        &self,
        queue: &QueueName,
        swap: &Swap,
        request_id: &RequestId,
    ) -> Result<Swapped>;

    /// Creates a group, or seals or removes it; each may be repeated. Makes the queue if there is none. Returns the generation
    /// of the group that is so now, or was removed; `None`: there is no such group.
    async fn change_group(
        &self,
        queue: &QueueName,
        change: &ChangeGroup,
    ) -> Result<Option<Generation>>;

    /// A group, and the states of at most so many of its places.
    async fn read_group(
        &self,
        queue: &QueueName,
        id: &Bytes,
        from: u32,
        most: u32,
    ) -> Result<Option<StoredGroup>>;

    /// Writes what a worker says of itself, and returns what it shall do.
    async fn beat(&self, beat: &StoredBeat) -> Result<BeatAnswer>;

    async fn read_workers(&self, which: &WhichWorkers) -> Result<StoredWorkers>;

    /// Gives a worker a command. False: there is none whose last beat is recent. A repetition with the same number
    /// changes nothing. `Invalid` if the worker has as many commands as it may have.
    async fn command_worker(&self, worker: &StoredName, command: &StoredCommand) -> Result<bool>;

    /// Makes the workers of a name quiet, or no longer. `Invalid` if as many names are quiet as may be.
    async fn set_quiet(&self, name: &str, quiet: bool) -> Result<()>;

    /// Writes the rows of this minute and hour, unless they are there, and adds measurements to them. False: there is no
    /// queue.
    async fn record_history(
        &self,
        queue: &QueueName,
        measured: &Measured,
        request_id: &RequestId,
    ) -> Result<bool>;

    /// The rows of the last day or month, from the one of this time on, the oldest first. They do not come from one moment.
    async fn read_history(
        &self,
        queue: &QueueName,
        kind: HistoryKind,
        since_ms: u64,
    ) -> Result<Vec<HistoryRow>>;

    /// Events behind a place, as many as fit into a reply; at least one if there is one.
    async fn read_events(&self, queue: &QueueName, which: &WhichEvents) -> Result<EventsPage>;

    async fn counts(&self, queue: &QueueName) -> Result<Counts>;

    /// Returns the items with these ids, or those of the first ones whose data fits into a reply; at least one.
    /// `None`: there is none. Without `with_data` their data is empty, and takes no room.
    async fn get(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        with_data: bool,
    ) -> Result<Vec<Option<ItemInfo>>>;

    /// Returns items of a state in their order or in the opposite one, as many as fit into a reply; at least one.
    /// A cursor stays right while items are added and taken.
    async fn list(&self, queue: &QueueName, step: &ListStep) -> Result<Listed>;

    /// Deletes the queue, everything in it and its name, in bounded steps; each is retried for as long as
    /// an operation is. True: there was one. Touches only the incarnation that existed when the call
    /// began. Unless forced, not if follow-ups are left that could not be added. `None`: it has, or had, members of groups, so
    /// its items are to be purged first, unless `purged` says that nothing was left to purge. Not even by force if reports are left.
    async fn drop_queue(
        &self,
        queue: &QueueName,
        force: bool,
        purged: bool,
    ) -> Result<Option<bool>>;

    /// Returns the queues that exist: an item was added to them, or they were paused or configured, and they were
    /// not dropped since.
    async fn queues(&self) -> Result<QueueNames>;

    /// Returns when something in the queue may have become ready, or when the engine cannot tell. It may
    /// be early, or late if a notification was lost, so callers also poll now and then.
    async fn wait(&self, queue: &QueueName);

    /// The client does not use the queue any more: deletes what the engine keeps for these lanes, and
    /// what this client keeps in memory for the queue.
    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()>;

    /// Closes connections; calls after this fail with `Closed`.
    async fn close(&self);
}
