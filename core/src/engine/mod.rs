//! What an engine must be able to do: atomic operations on batches, and waiting. Nothing above
//! this module knows which engine it runs on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use crate::access::Role;
use crate::clean::{DeepReport, LightReport};
use crate::doctor::Diagnosis;
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State};
use crate::name::{QueueName, QueueNames};
use crate::options::ConnectOptions;
use crate::{Error, Result, redact};

#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

/// Names one execution of an operation, so that a retry gives the answer of the first execution.
/// A lane has one operation in flight at a time; its numbers go up.
#[derive(Debug, Clone)]
pub(crate) struct RequestId {
    pub(crate) lane: Arc<str>,
    pub(crate) number: u64,
    /// When to stop retrying.
    pub(crate) until: Instant,
    /// Set by the engine when a copy of the request may arrive later, also if there was an answer: the
    /// lane must be remembered longer than that. It belongs to the lane.
    pub(crate) late_copy: Arc<AtomicBool>,
}

/// One life of an id, as the engine names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Generation {
    /// Goes up with every add.
    pub(crate) count: u64,
    /// Tells apart what two servers gave the same count, each of which took itself for the master.
    /// Zeros where there is never more than one.
    pub(crate) salt: [u8; 5],
}

/// Proves that a lease is the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Token {
    pub(crate) generation: Generation,
    /// How often the item had been leased before in this generation.
    pub(crate) delivery: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct LeaseRequest {
    pub(crate) count: usize,
    pub(crate) duration_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct LeasedItem {
    pub(crate) token: Token,
    pub(crate) id: Bytes,
    pub(crate) data: Bytes,
    pub(crate) priority: u8,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) failures: u32,
    pub(crate) expiries: u32,
    pub(crate) last_error: String,
    pub(crate) duration_ms: u64,
    /// Milliseconds since 1970 on the engine's clock.
    pub(crate) deadline_ms: u64,
}

#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) items: Vec<LeasedItem>,
    /// When to look again at the latest because something is due or expires; `None`: nothing is.
    pub(crate) look_in: Option<Duration>,
}

#[derive(Debug, Clone)]
pub(crate) struct Complete {
    pub(crate) token: Token,
    pub(crate) id: Bytes,
    pub(crate) strict: bool,
}

#[derive(Debug)]
pub(crate) struct CompleteAndLeaseReply {
    pub(crate) completed: Vec<bool>,
    /// What was leased may be unreadable. The others are completed all the same.
    pub(crate) leased: Result<Leased>,
}

#[derive(Debug, Clone)]
pub(crate) struct Extend {
    pub(crate) token: Token,
    pub(crate) duration_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) token: Token,
    pub(crate) delay_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Fail {
    pub(crate) token: Token,
    pub(crate) delay_ms: u64,
    pub(crate) error: String,
}

/// A turn at cleaning a queue deeply. It ends by itself after a minute unless it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// If nobody has it, and the last one that was done is this long ago.
    Take {
        interval: Duration,
    },
    Keep,
    Done,
    /// Given back unfinished.
    Drop,
}

impl Turn {
    pub(crate) const LASTS: Duration = Duration::from_secs(60);
}

/// Leaves the engine to others for `pace` times as long as a step took that began then.
pub(crate) async fn pause(begun: Instant, pace: u32) {
    if pace > 0 {
        tokio::time::sleep((begun.elapsed() * pace).min(Duration::from_millis(200))).await;
    }
}

/// Batches have 1 to [`MAX_BATCH`](crate::options::MAX_BATCH) entries, already validated; answers
/// stand in the same order. An operation that changes state carries a request id and is retried by the
/// engine until the request id's deadline.
#[async_trait]
pub(crate) trait Engine: Send + Sync + 'static {
    /// How many items are worth a request of their own while more are about to come.
    fn min_batch(&self) -> usize;

    /// Whether `lease` takes its place among the operations when it is first polled, as all others that
    /// change state do.
    fn leases_in_one_step(&self) -> bool;

    /// Whether an operation that fails with `Internal` has changed nothing.
    fn undoes_failures(&self) -> bool;

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
    /// caller waits without polling if there are too few; zero if it does not wait.
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

    /// Completes, then leases, in one atomic step. The request id stands for both halves.
    async fn complete_and_lease(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        wanted: &[LeaseRequest],
        poll_interval: Duration,
        request_id: &RequestId,
    ) -> Result<CompleteAndLeaseReply>;

    /// New deadlines in ms since 1970; `None`: lost.
    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        request_id: &RequestId,
    ) -> Result<Vec<Option<u64>>>;

    /// False: lost.
    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// The state the item is in now; `None`: lost.
    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        request_id: &RequestId,
    ) -> Result<Vec<Option<State>>>;

    async fn remove(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    async fn requeue(
        &self,
        queue: &QueueName,
        ids: &[Bytes],
        request_id: &RequestId,
    ) -> Result<Vec<bool>>;

    /// Removes at most `limit` items of a state; how many, and
    /// how many it looked at (0: none is left).
    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        request_id: &RequestId,
    ) -> Result<(u64, u64)>;

    /// One bounded step; true if there is more to do at once.
    async fn light_clean(
        &self,
        queue: &QueueName,
        request_id: &RequestId,
    ) -> Result<(LightReport, bool)>;

    /// Finds, and with `mend` repairs, broken invariants, in bounded steps. `pace`: see [`pause`].
    async fn audit(&self, queue: &QueueName, mend: bool, pace: u32) -> Result<DeepReport>;

    /// When the next item is due or its lease expires; zero: now; `None`: there is none. The caller
    /// looks again by then, and after `rest` at the latest.
    async fn next_due(&self, queue: &QueueName, rest: Duration) -> Result<Option<Duration>>;

    /// Returns when something may be due or expire earlier than the last
    /// [`next_due`](Engine::next_due) of this client has promised to look again. Early and late
    /// as [`wait`](Engine::wait) is.
    async fn wait_due(&self, queue: &QueueName);

    /// Whose turn it is to clean deeply. Zero, or, when it is taken, how long until it can be.
    async fn deep_turn(&self, queue: &QueueName, turn: Turn) -> Result<Duration>;

    /// What the user lacks for a role, in the server's words; nothing where there are no users.
    async fn missing_rights(&self, queue: &QueueName, role: Role) -> Result<Vec<String>>;

    /// Reads the settings on which the guarantees stand.
    async fn diagnose(&self) -> Result<Diagnosis>;

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()>;

    async fn counts(&self, queue: &QueueName) -> Result<Counts>;

    async fn get(&self, queue: &QueueName, id: &[u8]) -> Result<Option<ItemInfo>>;

    async fn list(
        &self,
        queue: &QueueName,
        state: State,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page>;

    /// Deletes the queue with everything in it, and its name, in bounded steps that go on until it is
    /// gone; each is retried for as long as an operation is. True: there was one. Touches only the
    /// incarnation of the queue that was there when the call began.
    async fn drop_queue(&self, queue: &QueueName) -> Result<bool>;

    /// The queues that exist: to which an item was added, or which were paused, and not dropped since.
    async fn queues(&self) -> Result<QueueNames>;

    /// Returns when something in the queue may have become ready, or when it cannot tell. May
    /// return too early, and too late if the engine lost the news: look now and then all the same.
    async fn wait(&self, queue: &QueueName);

    /// This client does not use the queue any more: drops what the engine keeps for these lanes, and
    /// whatever this client's engine keeps in memory for the queue.
    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()>;

    /// Closes connections; calls after this fail with `Closed`.
    async fn close(&self);
}

/// Opens the engine that the URL names; returns it with the options as the URL has changed them.
pub(crate) async fn connect(
    url: &str,
    options: ConnectOptions,
) -> Result<(Arc<dyn Engine>, ConnectOptions)> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
        | "redis+cluster" | "rediss+cluster" => {
            let (engine, options) = redis::RedisEngine::connect(url, options).await?;
            Ok((Arc::new(engine), options))
        }
        #[cfg(not(feature = "redis"))]
        "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
        | "redis+cluster" | "rediss+cluster" => {
            let _ = options;
            Err(Error::invalid(
                "this build of leaseq has no redis engine: enable its feature `redis`",
            ))
        }
        #[cfg(feature = "sqlite")]
        "sqlite" | "memory" => {
            let (engine, options) = sqlite::SqliteEngine::connect(url, options).await?;
            Ok((Arc::new(engine), options))
        }
        #[cfg(not(feature = "sqlite"))]
        "sqlite" | "memory" => {
            let _ = options;
            Err(Error::invalid(
                "this build of leaseq has no embedded engine: enable its feature `sqlite`",
            ))
        }
        // No more of it is quoted: what is no URL may be a password.
        _ => Err(Error::invalid(format_args!(
            "unknown url scheme{}: known are redis, rediss, redis+unix, redis+sentinel, \
             rediss+sentinel, redis+cluster, rediss+cluster, sqlite, memory",
            redact::scheme(url).map(|scheme| format!(" {scheme:?}")).unwrap_or_default()
        ))),
    }
}

#[cfg(all(test, not(all(feature = "redis", feature = "sqlite"))))]
mod tests {
    use crate::{Client, ErrorKind};

    #[tokio::test]
    async fn an_engine_that_was_left_out_is_invalid_and_named() {
        let urls = [
            (cfg!(feature = "redis"), "redis://localhost/", "`redis`"),
            (cfg!(feature = "sqlite"), "sqlite:queue.db", "`sqlite`"),
            (cfg!(feature = "sqlite"), "memory:", "`sqlite`"),
        ];
        for (_, url, feature) in urls.into_iter().filter(|(there, _, _)| !there) {
            let error = Client::connect(url).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(feature), "{error}");
        }
    }
}
