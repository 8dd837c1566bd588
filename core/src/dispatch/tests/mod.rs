//! What the calls are told when an engine fails as no server can be made to.

// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::panic)]

mod faulty;

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
use crate::{Client, Error, ErrorKind, Item, KeepAlive, LeaseOptions, WorkQueue, engine};

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
    let client = Client::with_engine(engine.clone(), &options, Handle::current());
    let queue = client.queue("q").unwrap();
    (engine, client, queue)
}

/// The first operation of this name fails so.
fn once(name: &'static str, fault: Fault) -> impl FnMut(&'static str, &[Bytes]) -> Option<Fault> {
    let mut fault = Some(fault);
    move |operation, _| if operation == name { fault.take() } else { None }
}

/// A panic of the request of several calls: all of them are told, and later ones are served.
async fn a_panic_ends_its_calls_alone(url: &str) {
    let (engine, client, queue) = faulty(url, SOON).await;
    assert!(queue.add_item(item("first")).await.unwrap());
    for round in 0..3 {
        let (one, two) = (format!("{round}"), format!("{round} too"));
        engine.set(once("add", Fault::Panic));
        let (one, two) = tokio::join!(queue.add_item(item(&one)), queue.add_item(item(&two)));
        let errors: Vec<Error> = [one, two].into_iter().filter_map(Result::err).collect();
        assert!(!errors.is_empty());
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Internal), "{errors:?}");
        assert!(errors.iter().any(Error::outcome_unknown), "{errors:?}");
        assert!(queue.add_item(item(&format!("{round} again"))).await.unwrap());

        for name in ["lease", "complete_and_lease"] {
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            engine.set(once(name, Fault::Panic));
            let error = match name {
                "lease" => queue.lease(at_once()).await.unwrap_err(),
                _ => queue.complete_and_lease([&lease], 1, at_once()).await.unwrap_err(),
            };
            assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Internal, true));
            // The next call is served, alone or in a task of its own.
            let other = tokio::spawn({
                let queue = queue.clone();
                async move { queue.lease(at_once()).await }
            });
            let next = queue.lease(at_once()).await.unwrap();
            assert!(next.is_some() || other.await.unwrap().unwrap().is_some());
            queue.release(&lease, Duration::ZERO).await.unwrap();
            queue.purge(crate::State::Leased).await.unwrap();
            queue.add_items([item("a"), item("b"), item("c")]).await.unwrap();
        }
    }
    let closed = tokio::time::timeout(SOON, client.close()).await;
    assert!(closed.is_ok(), "close waits for a request that has ended");
}

#[tokio::test]
async fn a_panic_ends_its_calls_alone_in_memory() {
    a_panic_ends_its_calls_alone("memory:").await;
}

/// A call that is alone drives its request in its own task, which must not panic as well.
#[tokio::test]
async fn a_panic_does_not_come_upon_the_call_that_drives_the_request() {
    for name in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", SOON).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        engine.set(once(name, Fault::Panic));
        let error = match name {
            "add" => queue.add_item(item("a")).await.map(drop),
            _ => queue.lease(at_once()).await.map(drop),
        };
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Internal, true), "{error}");
        assert!(queue.add_item(item("b")).await.unwrap());
        assert!(queue.lease(at_once()).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_ends_its_calls_alone_on_a_server() {
    let server = RedisServer::start();
    a_panic_ends_its_calls_alone(&server.url()).await;
}

#[tokio::test]
async fn a_panic_strands_no_lease() {
    let server = RedisServer::start();
    let (engine, client, queue) = faulty(&server.url(), SOON).await;
    queue.add_items([item("a"), item("b")]).await.unwrap();
    engine.set(once("lease", Fault::PanicAfter));
    let waits = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease_many(2, at_once()).await }
    });
    assert_eq!(waits.await.unwrap().unwrap_err().kind(), ErrorKind::Internal);
    let mut counts = queue.counts().await.unwrap();
    let back = eventually(SOON, async || {
        counts = queue.counts().await.unwrap();
        (counts.ready, counts.leased) == (2, 0)
    });
    assert!(back.await, "{counts:?}");
    client.close().await;
}

/// A request goes on for the last of its calls; the first is told when its own time is over.
#[tokio::test]
async fn each_call_ends_within_its_own_time() {
    let timeout = ms(1_000);
    for kind in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", timeout).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        engine.set(move |operation, _| (operation == kind).then_some(Fault::NoAnswer));
        let call = |id: &'static str, after: Duration| {
            let queue = queue.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                let begun = Instant::now();
                let error = match kind {
                    "add" => queue.add_item(item(id)).await.map(drop),
                    _ => queue.lease(at_once()).await.map(drop),
                };
                (error.unwrap_err(), begun.elapsed())
            })
        };
        // The second waits in line behind the first, and travels with the third.
        let calls = [call("a", ms(0)), call("b", ms(30)), call("c", ms(900))];
        for call in calls {
            let (error, took) = call.await.unwrap();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(took < ms(1_500), "{kind}: {took:?} {error}");
        }
    }
}

/// So does a call whose request the engine does not end in time, and one that stands in line behind it.
#[tokio::test]
async fn no_call_outlives_its_time_when_the_engine_does() {
    const OVERRUN: Duration = Duration::from_secs(60);
    for kind in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", ms(500)).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        engine.set(move |operation, _| {
            counted.fetch_add(usize::from(operation == kind), Relaxed);
            (operation == kind).then_some(Fault::Late(OVERRUN))
        });
        let call = async |id: &'static str| match kind {
            "add" => queue.add_item(item(id)).await.map(drop),
            _ => queue.lease(at_once()).await.map(drop),
        };
        let begun = Instant::now();
        let behind = async |id: &'static str, after: Duration| {
            assert!(eventually(SOON, async || requests.load(Relaxed) > 0).await);
            tokio::time::sleep(after).await;
            call(id).await
        };
        // The last one comes when the time of the request is over.
        let all = async { tokio::join!(call("a"), behind("b", ms(0)), behind("c", ms(900))) };
        let (sent, in_line, later) = tokio::time::timeout(OVERRUN / 2, all).await.expect(kind);
        println!("{kind}: {:?}", begun.elapsed());
        for (answer, sent) in [(sent, true), (in_line, false), (later, false)] {
            let error = answer.unwrap_err();
            let told = (error.kind(), error.outcome_unknown());
            assert_eq!(told, (ErrorKind::Unavailable, sent), "{kind}: {error}");
        }
    }
}

/// Opening the queue and the operation itself share one deadline.
#[tokio::test]
async fn pausing_ends_within_its_time() {
    for slow in ["open_queue", "set_paused"] {
        let (engine, _client, queue) = faulty("memory:", ms(1_000)).await;
        engine.set(move |operation, _| match operation {
            "open_queue" | "set_paused" if operation == slow => Some(Fault::Late(SOON)),
            "open_queue" | "set_paused" => Some(Fault::Late(ms(100))),
            _ => None,
        });
        let begun = Instant::now();
        let error = queue.pause().await.unwrap_err();
        assert!(begun.elapsed() < SOON / 2, "{slow}: {:?}", begun.elapsed());
        let expected = (ErrorKind::Unavailable, slow == "set_paused");
        assert_eq!((error.kind(), error.outcome_unknown()), expected, "{error}");
    }
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

/// Calls that are sent again one by one, when they were refused together, end at a panic as all others.
#[tokio::test]
async fn a_panic_says_of_calls_that_were_not_sent_again_that_nothing_happened() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    engine.set(|operation, ids| {
        let refused = Fault::Refuse(Error::new(ErrorKind::Internal, "as planned"));
        (operation == "add").then_some(if ids.len() > 1 { refused } else { Fault::Panic })
    });
    let add = |id| queue.add_item(item(id));
    let answers = tokio::join!(add("a"), add("b"), add("c"));
    let errors = <[_; 3]>::from(answers).map(Result::unwrap_err);
    let told = errors.each_ref().map(|error| (error.kind(), error.outcome_unknown()));
    let expected = [true, false, false].map(|unknown| (ErrorKind::Internal, unknown));
    assert_eq!(told, expected, "{errors:?}");
}

/// From the moment at which the call is enqueued.
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

/// Calls in line behind a call of another kind, which waits for a request that has not asked for all of
/// its own calls.
#[tokio::test]
async fn nothing_is_asked_for_while_all_in_line_must_wait() {
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

/// None of them waits longer than its own time for another one's turn.
#[tokio::test]
async fn calls_that_are_sent_again_one_by_one_end_in_time() {
    const OVERRUN: Duration = Duration::from_secs(60);
    let (engine, _client, queue) = faulty("memory:", ms(500)).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    engine.set(|operation, ids| {
        let refused = Fault::Refuse(Error::new(ErrorKind::Internal, "as planned"));
        (operation == "add").then_some(if ids.len() > 1 { refused } else { Fault::Late(OVERRUN) })
    });
    let add = |id| queue.add_item(item(id));
    let all = async { tokio::join!(add("a"), add("b"), add("c")) };
    let answers = tokio::time::timeout(OVERRUN / 2, all).await.unwrap();
    let errors = <[_; 3]>::from(answers).map(Result::unwrap_err);
    let told = errors.each_ref().map(|error| (error.kind(), error.outcome_unknown()));
    let expected = [true, false, false].map(|unknown| (ErrorKind::Unavailable, unknown));
    assert_eq!(told, expected, "{errors:?}");
}

#[tokio::test]
async fn a_kept_lease_is_extended_again_when_the_engine_goes_on() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    queue.add_items([item("a"), item("b")]).await.unwrap();
    let keep = LeaseOptions::new(ms(2_000)).keep_alive(KeepAlive::new());
    let lease = queue.lease(keep.clone()).await.unwrap().unwrap();
    let tries = Arc::new(AtomicUsize::new(0));
    let refuse = |tries: &Arc<AtomicUsize>| {
        let tries = tries.clone();
        move |operation: &'static str, _: &[Bytes]| {
            let refused = operation == "extend";
            tries.fetch_add(usize::from(refused), Relaxed);
            refused.then(|| Fault::Refuse(Error::unavailable("the disk is full", false)))
        }
    };
    engine.set(refuse(&tries));
    assert!(eventually(SOON, async || tries.load(Relaxed) >= 3).await);
    engine.set(|_, _| None);
    let deadline = lease.deadline();
    assert!(eventually(SOON, async || lease.deadline() > deadline).await);
    assert!(!lease.is_lost());
    assert!(queue.complete(&lease).await.unwrap());

    // It does not go on: so many tries, and the holder is told in time.
    tries.store(0, Relaxed);
    let lease = queue.lease(keep).await.unwrap().unwrap();
    let begun = Instant::now();
    engine.set(refuse(&tries));
    tokio::time::timeout(SOON, lease.lost()).await.unwrap();
    assert!(begun.elapsed() >= ms(1_900), "{:?}", begun.elapsed());
    let tries = tries.load(Relaxed);
    println!("{tries} tries");
    assert!((2..=60).contains(&tries), "{tries}");
}

/// What each lease says after an error, and what has become of it.
#[tokio::test]
async fn each_lease_says_whether_it_was_completed() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    let ids: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(ids.iter().map(|id| item(id))).await.unwrap();
    let mut leases = Vec::new();
    while leases.len() < ids.len() {
        leases.extend(queue.lease_many(1_000, at_once()).await.unwrap());
    }
    let says = |leases: &[crate::Lease]| -> Vec<Option<bool>> {
        leases.iter().map(crate::Lease::completed).collect()
    };
    assert!(says(&leases).iter().all(|said| *said == Some(false)));
    // The second of three chunks is refused: nothing of it was executed.
    let mut completes = 0;
    engine.set(move |operation, _| {
        completes += usize::from(operation == "complete");
        (operation == "complete" && completes == 2)
            .then(|| Fault::Refuse(Error::unavailable("no room", false)))
    });
    let error = queue.complete_and_lease(&leases, 1, at_once()).await.unwrap_err();
    assert!(error.to_string().contains("each lease says whether it was completed"), "{error}");
    assert!(!error.to_string().contains("nothing was executed"), "{error}");
    assert!(says(&leases[..1_000]).iter().all(|said| *said == Some(true)));
    assert!(says(&leases[1_000..]).iter().all(|said| *said == Some(false)));
    // The second half is refused: what was to be completed is.
    engine.set(once("second half", Fault::Refuse(Error::internal("a bad record"))));
    let error = queue.complete_and_lease(&leases[1_000..1_002], 1, at_once()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(says(&leases[1_000..1_003]), [Some(true), Some(true), Some(false)]);
    // No answer to both halves: unknown, until a later call has one.
    engine.set(once("complete_and_lease", Fault::Panic));
    let error = queue.complete_and_lease(&leases[1_002..1_004], 1, at_once()).await.unwrap_err();
    assert!(error.outcome_unknown());
    assert_eq!(says(&leases[1_002..1_005]), [None, None, Some(false)]);
    assert_eq!(queue.complete_many(&leases[1_002..1_003]).await.unwrap(), [true]);
    assert_eq!(says(&leases[1_002..1_004]), [Some(true), None]);
    // Somebody else has completed it: this one has not.
    assert!(queue.remove("1004").await.unwrap());
    assert_eq!(queue.complete_many(&leases[1_004..1_005]).await.unwrap(), [false]);
    assert_eq!(says(&leases[1_004..1_005]), [Some(false)]);
}
