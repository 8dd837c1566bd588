//! An engine for each test, and short functions for common steps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, Clock, ConnectOptions, Counts, ItemInfo};
use leaseq_jobs::{
    Context, Exit, Job, JobError, JobOptions, JobRef, JobStart, Producer, QueueOptions, Task,
    Worker, WorkerCore, WorkerOptions,
};
use leaseq_test_support::RedisServer;
use serde::{Deserialize, Serialize};

/// Longer than anything takes here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Makes a test of each of these bodies, `async fn body(bench: Bench)`, in memory and on Redis.
macro_rules! on_every_engine {
    ($($body:ident),* $(,)?) => {
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $body() {
                super::$body(crate::support::Bench::in_memory().await).await;
            })*
        }
        mod on_redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $body() {
                super::$body(crate::support::Bench::on_redis().await).await;
            })*
        }
    };
}
pub(crate) use on_every_engine;

/// A client of an empty engine, and the engine.
pub(crate) struct Bench {
    pub(crate) client: Client,
    _server: Option<RedisServer>,
}

impl Bench {
    pub(crate) async fn in_memory() -> Bench {
        let client = Client::connect("memory:").await.unwrap();
        Bench { client, _server: None }
    }

    pub(crate) async fn on_redis() -> Bench {
        let server = tokio::task::spawn_blocking(RedisServer::start).await.unwrap();
        let client = Client::connect(&server.url()).await.unwrap();
        Bench { client, _server: Some(server) }
    }

    pub(crate) fn producer(&self) -> Producer {
        Producer::new(&self.client)
    }

    pub(crate) async fn add(&self, name: &str) -> JobRef {
        self.producer().enqueue(Echo::named(name)).await.unwrap()
    }

    /// A worker of the queue of [`Echo`].
    pub(crate) fn worker(&self) -> Worker {
        Worker::new(&self.client)
    }

    /// A worker without handlers, for jobs of [`Echo`].
    pub(crate) fn core(&self, change: impl FnOnce(&mut WorkerOptions)) -> WorkerCore {
        let mut options = WorkerOptions::new();
        options.queues = vec![QueueOptions::new(Echo::QUEUE)];
        options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
        change(&mut options);
        WorkerCore::start(&self.client, options).unwrap()
    }

    pub(crate) async fn counts(&self) -> Counts {
        self.client.queue(Echo::QUEUE).unwrap().counts().await.unwrap()
    }

    pub(crate) async fn get(&self, job: &JobRef) -> ItemInfo {
        job.queue().get(job.id()).await.unwrap().expect("the item is there")
    }
}

/// A client in memory, and its clock, which the test sets.
pub(crate) async fn with_clock() -> (Client, impl Fn(Duration)) {
    let now = Arc::new(AtomicU64::new(1_800_000_000_000));
    let mut options = ConnectOptions::default();
    let read = now.clone();
    options.clock = Some(Clock::from(move || read.load(Ordering::Relaxed)));
    let client = Client::connect_with("memory:", options).await.unwrap();
    let advance = move |by: Duration| {
        now.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    };
    (client, advance)
}

/// A job whose handler each test defines.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Echo {
    pub(crate) text: String,
}

impl Echo {
    pub(crate) fn named(text: &str) -> Echo {
        Echo { text: text.to_owned() }
    }
}

impl Job for Echo {
    const NAME: &'static str = "test.echo";
    const QUEUE: &'static str = "echo";

    fn options() -> JobOptions {
        // A test does not wait for retries.
        let retry = leaseq_jobs::Retry::new(3).base(Duration::ZERO);
        JobOptions::new().retain(PATIENCE).retry(retry)
    }
}

/// The next task, which must come.
pub(crate) async fn start(core: &WorkerCore) -> Task {
    match tokio::time::timeout(PATIENCE, core.next()).await.expect("a task starts") {
        JobStart::Start(task) => task,
        JobStart::Drained => panic!("the worker has ended"),
    }
}

/// Waits for the end of a worker, which must come.
pub(crate) async fn drained(core: &WorkerCore) -> Exit {
    match tokio::time::timeout(PATIENCE, core.next()).await.expect("the worker ends") {
        JobStart::Start(task) => panic!("{task:?} starts"),
        JobStart::Drained => core.exit(),
    }
}

/// Waits for something that must happen.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}

/// What a test has seen, in its order.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// How often each was seen.
    pub(crate) fn count(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        self.take().into_iter().for_each(|one| *count.entry(one).or_default() += 1);
        count
    }
}

/// A handler that does nothing.
pub(crate) async fn nothing(_: Echo, _: Context) -> Result<(), JobError> {
    Ok(())
}
