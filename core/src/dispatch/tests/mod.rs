//! How calls end when an engine fails in ways that no server can be made to fail.

// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::panic)]

mod deadlines;
mod faulty;
mod leases;
mod outcomes;
mod panics;
mod schedules;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq_test_support::{RedisServer, eventually};
use tokio::runtime::Handle;

use self::faulty::{Fault, Faulty};
use super::kind::Kind;
use super::order::Order;
use super::shared_request::SharedRequest;
use crate::options::ConnectOptions;
use crate::{Client, Error, ErrorKind, Item, KeepAlive, LeaseOptions, WorkQueue, engine, fork};

const SOON: Duration = Duration::from_secs(10);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn item(id: &str) -> Item {
    Item::new("data").with_id(id)
}

fn at_once() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO)
}

async fn faulty(url: &str, timeout: Duration) -> (Arc<Faulty>, Client, WorkQueue) {
    let options = ConnectOptions { timeout, ..ConnectOptions::default() };
    let (engine, options) = engine::connect(url, options).await.unwrap();
    let engine = Arc::new(Faulty { engine, plan: std::sync::Mutex::new(Box::new(|_, _| None)) });
    let depth = fork::depth();
    let client = Client::with_engine(engine.clone(), &options, Handle::current(), depth);
    let queue = client.queue("q").unwrap();
    (engine, client, queue)
}

/// Lets the first operation of this name fail.
fn once(name: &'static str, fault: Fault) -> impl FnMut(&'static str, &[Bytes]) -> Option<Fault> {
    let mut fault = Some(fault);
    move |operation, _| if operation == name { fault.take() } else { None }
}

#[tokio::test]
async fn a_call_that_the_engine_refuses_fails_alone() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    for kind in [ErrorKind::Invalid, ErrorKind::Internal] {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        engine.set(move |operation, ids| {
            counted.fetch_add(1, Relaxed);
            let bad = operation == "add" && ids.iter().any(|id| id.ends_with(b"bad"));
            bad.then(|| Fault::Refuse(Error::new(kind, "as planned")))
        });
        let ids = (0..20).map(|i| format!("{kind:?} {i}{}", if i == 7 { " bad" } else { "" }));
        let mut calls = tokio::task::JoinSet::new();
        for id in ids {
            let queue = queue.clone();
            calls.spawn(async move { (id.clone(), queue.add_item(item(&id)).await) });
        }
        for (id, added) in calls.join_all().await {
            match added {
                Ok(added) => assert!(added && !id.ends_with("bad"), "{id}"),
                Err(error) => {
                    assert!(id.ends_with("bad") && error.kind() == kind, "{id}: {error}");
                }
            }
        }
        assert!(requests.load(Relaxed) <= 2 * 20);
    }
}

/// As soon as the call is enqueued.
#[tokio::test]
async fn a_wait_for_a_call_spawns_what_the_call_drives() {
    let (_engine, client, _queue) = faulty("memory:", SOON).await;
    let (done, spawned) = tokio::sync::oneshot::channel();
    let work = async { done.send(()).unwrap() };
    let request = SharedRequest::new(client.context(), work);
    let order = Order::default();
    order.enqueue(Kind::Add, |_| {}, Some(request));
    order.enqueue(Kind::Lease, |_| {}, None);
    assert!(tokio::time::timeout(ms(50), order.acquire(Kind::Lease, || None)).await.is_err());
    tokio::time::timeout(SOON, spawned).await.unwrap().unwrap();
}

/// Calls behind a call of another kind, which waits for a request that does not cover all of its own calls.
#[tokio::test]
async fn nothing_is_requested_while_all_pending_calls_must_wait() {
    let server = RedisServer::start();
    let (engine, _client, queue) = faulty(&server.url(), SOON).await;
    for batch in 0..5 {
        queue.add_items((0..1_000).map(|i| item(&format!("{batch} {i}")))).await.unwrap();
    }
    // There is enough for two requests at a time.
    assert_eq!(queue.lease_many(1_000, at_once()).await.unwrap().len(), 1_000);
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let mut late = Some(Fault::Late(ms(500)));
    engine.set(move |operation, _| {
        let leases = operation == "lease" || operation == "recover";
        counted.fetch_add(usize::from(leases), Relaxed);
        if leases { late.take() } else { None }
    });
    let lease = |count| queue.lease_many(count, at_once());
    // The second one does not fit into the request of the first.
    let behind = async {
        assert!(eventually(SOON, async || requests.load(Relaxed) > 0).await);
        tokio::join!(queue.add_item(item("behind")), lease(1_000))
    };
    let (one, two, (added, three)) = tokio::join!(lease(1), lease(1_000), behind);
    assert!(added.unwrap());
    assert_eq!([one, two, three].map(|leases| leases.unwrap().len()), [1, 1_000, 1_000]);
    let requests = requests.load(Relaxed);
    println!("{requests} requests");
    assert!(requests <= 10, "{requests}");
}
