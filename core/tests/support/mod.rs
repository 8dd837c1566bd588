//! Helpers of the tests: a bench on each engine, and short functions for common steps.
//!
//! Test bodies take a [`Bench`] and do not know the engine; `redis.rs` has the code for Redis.

// Each test program uses a part of it. A failed step must stop the test and show its line.
#![allow(dead_code, unused_imports, unused_macros, clippy::unwrap_used, clippy::panic)]

pub(crate) mod bench;
pub(crate) mod process;
pub(crate) mod rates;
pub(crate) mod redis;
pub(crate) mod sqlite;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

pub(crate) use bench::Bench;
use leaseq::{
    CompleteOptions, ConnectOptions, Counts, ErrorKind, Item, ItemInfo, Lease, LeaseOptions,
    ListOptions, State, WorkQueue,
};

/// Makes a test of each of these bodies, `async fn body(bench: &Bench)`, on every engine.
macro_rules! on_every_engine {
    ($($body:ident),* $(,)?) => {
        crate::support::on_redis!($($body),*);
        mod on_sqlite {
            $(#[tokio::test]
            async fn $body() {
                super::$body(&crate::support::sqlite::bench()).await;
            })*
        }
    };
}
/// The same for tests of Redis only.
macro_rules! on_redis {
    ($($body:ident),* $(,)?) => {
        mod on_redis {
            $(#[tokio::test]
            async fn $body() {
                super::$body(&crate::support::redis::bench()).await;
            })*
        }
    };
}
pub(crate) use {on_every_engine, on_redis};

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The default options, changed by `set`.
pub(crate) fn options(set: impl FnOnce(&mut ConnectOptions)) -> ConnectOptions {
    let mut options = ConnectOptions::default();
    set(&mut options);
    options
}

/// An item with this id, which is its data too.
pub(crate) fn item(id: impl AsRef<[u8]>) -> Item {
    Item::new(id.as_ref()).with_id(id.as_ref())
}

/// Leases for 10 s without waiting.
pub(crate) fn at_once() -> LeaseOptions {
    LeaseOptions::new(secs(10)).wait(Duration::ZERO)
}

/// One lease of 10 s; there must be an item.
pub(crate) async fn take(queue: &WorkQueue) -> Lease {
    queue.lease(at_once()).await.unwrap().expect("an item can be leased")
}

/// The ids of up to 1,000 items in the order in which they are leased now, for 10 s.
pub(crate) async fn drain(queue: &WorkQueue) -> Vec<String> {
    ids(&queue.lease_many(1000, at_once()).await.unwrap())
}

pub(crate) fn ids(leases: &[Lease]) -> Vec<String> {
    leases.iter().map(|lease| lease.id_str().unwrap().to_owned()).collect()
}

pub(crate) async fn state(queue: &WorkQueue, id: &str) -> Option<State> {
    queue.get(id).await.unwrap().map(|info| info.state)
}

/// The kind of an error; there must be one.
pub(crate) fn kind<T: std::fmt::Debug>(result: leaseq::Result<T>) -> ErrorKind {
    result.expect_err("this must fail").kind()
}

pub(crate) fn is_lost<T: std::fmt::Debug>(result: leaseq::Result<T>) -> bool {
    kind(result) == ErrorKind::LeaseLost
}

pub(crate) fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The observable state of a queue.
pub(crate) async fn seen(queue: &WorkQueue) -> (Counts, Vec<ItemInfo>) {
    let mut items = Vec::new();
    for state in State::ALL {
        items.extend(list_all(queue, state, 1000).await);
    }
    (queue.counts().await.unwrap(), items)
}

/// All items of a state, page by page.
pub(crate) async fn list_all(queue: &WorkQueue, state: State, limit: usize) -> Vec<ItemInfo> {
    list_all_with(queue, state, &ListOptions::new().limit(limit)).await
}

pub(crate) async fn list_all_with(
    queue: &WorkQueue,
    state: State,
    options: &ListOptions,
) -> Vec<ItemInfo> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let page = queue.list_with(state, cursor.as_ref(), options).await.unwrap();
        assert!(page.items.len() <= options.limit);
        items.extend(page.items);
        assert!(items.len() < 1_000_000, "a listing has no end");
        cursor = page.cursor;
        if cursor.is_none() {
            return items;
        }
    }
}

/// Checks that the queue is sound: a deep clean would find nothing.
pub(crate) async fn assert_sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{:?}: {:?}", report.found, report.details);
}

/// The states of items that have not ended, or can be requeued.
pub(crate) const LIVE: [State; 4] = [State::Ready, State::Delayed, State::Leased, State::Dead];

/// An item in each state, with the name of the state as its id.
pub(crate) async fn one_of_each_state(queue: &WorkQueue) -> BTreeMap<State, &'static str> {
    queue.add_item(item("completed").retain(secs(3_600))).await.unwrap();
    let done = CompleteOptions::new().result("done");
    queue.complete_with(&take(queue).await, done).await.unwrap();
    queue.add_item(item("dead").max_attempts(1)).await.unwrap();
    queue.fail(&take(queue).await, "broken", Duration::ZERO).await.unwrap();
    queue.add_item(item("leased")).await.unwrap();
    take(queue).await;
    queue.add_item(item("delayed").delay(secs(60))).await.unwrap();
    queue.add_item(item("ready")).await.unwrap();
    LIVE.into_iter().chain([State::Completed]).map(|state| (state, state.as_str())).collect()
}
