//! The engine without the client above it.

use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use leaseq_test_support::eventually;
use tokio::sync::oneshot;

use super::SqliteEngine;
use super::database::Database;
use super::lease;
use crate::engine::{Engine, LeaseRequest, RequestId};
use crate::item::Item;
use crate::name::QueueName;
use crate::options::ConnectOptions;

#[tokio::test]
async fn a_read_that_was_dropped_between_two_statements_ends() {
    const LONG: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT
        1000000000) SELECT count(*) FROM n";
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("queue.db").display());
    let (engine, _) = SqliteEngine::connect(&url, ConnectOptions::default()).await.unwrap();
    let executor = engine.executor().unwrap();
    let (end, ended) = mpsc::channel::<()>();
    let (begin, begun) = oneshot::channel();
    let mut begin = Some(begin);
    let long = move |db: &mut Database| {
        begin.take().map(|begin| begin.send(()));
        let _ = ended.recv();
        db.run(LONG, |s| s.query_row([], |row| row.get::<_, i64>(0)))
    };
    tokio::select! {
        read = engine.reader.read(&executor, long) => panic!("it was not held up: {read:?}"),
        begun = begun => begun.unwrap(),
    }
    drop(end);
    engine.reader.read(&executor, |_| Ok(())).await.unwrap();
}

#[tokio::test]
async fn an_operation_reports_its_success_though_the_client_is_closed_meanwhile() {
    let (engine, _) = SqliteEngine::connect("memory:", ConnectOptions::default()).await.unwrap();
    let queue = QueueName::new("jobs").unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let request_id =
        RequestId { lane: "lane".into(), number: 1, until, late_copy: Default::default() };
    let (end, ended) = mpsc::channel::<()>();
    let (begin, begun) = oneshot::channel();
    let mut begin = Some(begin);
    let executor = engine.executor().unwrap();
    let hanging = tokio::spawn(async move {
        let hang = move |_: &mut Database| {
            begin.take().map(|begin| begin.send(()));
            let _ = ended.recv();
            Ok(())
        };
        executor.run(false, until, hang).await
    });
    begun.await.unwrap();
    let items = [Item::new("a")];
    let mut add = pin!(engine.add(&queue, &items, &request_id));
    let mut close = pin!(engine.close());
    // Each is polled once: first the item is sent, then the client is closed.
    tokio::select! {
        biased;
        added = &mut add => panic!("it was not held up: {added:?}"),
        () = &mut close => panic!("it did not wait for the item"),
        () = std::future::ready(()) => {}
    }
    drop(end);
    let (added, ()) = tokio::join!(add, close);
    assert_eq!(added.unwrap(), [true]);
    hanging.await.unwrap().unwrap();
}

/// As when the disk hangs.
#[tokio::test]
async fn leases_that_come_too_late_are_given_back() {
    let url = "memory:?timeout_ms=100";
    let (engine, _) = SqliteEngine::connect(url, ConnectOptions::default()).await.unwrap();
    let queue = QueueName::new("jobs").unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let request_id =
        RequestId { lane: "lane".into(), number: 1, until, late_copy: Default::default() };
    engine.add(&queue, &[Item::new("a"), Item::new("b")], &request_id).await.unwrap();
    let (end, ended) = mpsc::channel::<()>();
    let name = queue.clone();
    let hanging = move |db: &mut Database| {
        let _ = ended.recv();
        let wanted = [LeaseRequest { count: 2, duration_ms: 3_600_000 }];
        Ok((Vec::new(), lease::lease(db, &name, &wanted)?))
    };
    let until = Instant::now() + Duration::from_millis(100);
    let error = engine.lease_on_thread(engine.executor().unwrap(), &queue, until, hanging).await;
    assert!(error.unwrap_err().outcome_unknown());
    drop(end);
    let given_back = async || {
        let counts = engine.counts(&queue).await.unwrap_or_default();
        (counts.ready, counts.leased, counts.totals.leased) == (2, 0, 2)
    };
    assert!(eventually(Duration::from_secs(20), given_back).await);
}
