//! Calls that return when a replica has their changes (`replicas=1`), and what becomes of them when it has not.

use std::time::{Duration, Instant};

use leaseq::{ErrorKind, Item, State};
use leaseq_test_support::{Proxy, RedisServer, eventually};
use tokio::task::JoinSet;

use crate::pair::{Pair, confirmed};
use crate::support::{
    LONG, SOON, add, at_once, calls, client, connections, lease_now, ms, sound, warm_up,
};

/// Later than any deadline of these tests, also on a slow machine.
const IN_TIME: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_call_returns_when_the_replica_has_the_change() {
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    for i in 0..200 {
        assert!(queue.add_item(Item::new("data").with_id(i.to_string())).await.unwrap());
        assert!(pair.has("q", &i.to_string()), "item {i}");
    }
    let lease = lease_now(&queue).await;
    assert_eq!(pair.replica.cli(&["ZCARD", "leaseq:{q}:leased"]), "1");
    assert!(queue.complete(&lease).await.unwrap());
    assert!(!pair.has("q", "0"));
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(pair.replica.cli(&["EXISTS", "leaseq:{q}:items"]), "0");
    // No WAIT for calls that only read.
    let waits = calls(&pair.master)["wait"];
    queue.counts().await.unwrap();
    assert_eq!(queue.get("1").await.unwrap(), None);
    assert_eq!(calls(&pair.master)["wait"], waits);
}

#[tokio::test]
async fn a_client_that_asks_for_nothing_neither_waits_nor_connects_twice() {
    let server = RedisServer::start();
    let client = client(&server.url(), 10_000).await;
    warm_up(&client).await;
    assert!(!calls(&server).contains_key("wait"));
    assert_eq!(connections(&server), 1);
}

#[tokio::test]
async fn without_a_replica_the_outcome_of_every_change_is_unknown() {
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    add(&queue, 8).await;
    let mut leases = queue.lease_many(6, at_once()).await.unwrap().into_iter();
    let mut lease = || leases.next().unwrap();
    let (first, second, third, fourth) = (lease(), lease(), lease(), lease());
    // Each has called it before. The last two ask for the answer in the background when they have given up, and
    // other calls of the same client would wait behind that.
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(pair.client(1_000).await.queue("q").unwrap());
        clients.last().unwrap().resume().await.unwrap();
    }
    let hurried = &clients[0];
    pair.replica.pause();
    let errors = [
        hurried.add_item(Item::new("data").with_id("new")).await.unwrap_err(),
        hurried.complete(&first).await.unwrap_err(),
        hurried.extend(&second, LONG).await.unwrap_err(),
        hurried.release(&third, Duration::ZERO).await.unwrap_err(),
        hurried.fail(&fourth, "x", Duration::ZERO).await.unwrap_err(),
        hurried.remove("7").await.unwrap_err(),
        hurried.requeue(["7"]).await.unwrap_err(),
        hurried.purge(State::Delayed).await.unwrap_err(),
        hurried.light_clean().await.unwrap_err(),
        hurried.pause().await.unwrap_err(),
        clients[1].lease(at_once()).await.unwrap_err(),
        clients[2].complete_and_lease([&first], 1, at_once()).await.unwrap_err(),
    ];
    for (i, error) in errors.into_iter().enumerate() {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{i}: {error}");
        assert!(error.outcome_unknown(), "{i}: {error}");
    }
    pair.replica.resume();
    // Repeating them shows that each was executed once.
    assert!(!queue.add_item(Item::new("data").with_id("new")).await.unwrap());
    assert!(!queue.complete(&first).await.unwrap());
    assert_eq!(queue.get("7").await.unwrap(), None);
    assert_eq!(queue.get("new").await.unwrap().unwrap().state, State::Ready);
    queue.resume().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.totals.completed, counts.totals.failed), (9, 1, 1));
    sound(&queue).await;
}

#[tokio::test]
async fn calls_that_wait_for_a_replica_end_by_their_deadline() {
    let pair = Pair::start();
    let near = pair.client(1_500).await;
    let queues: Vec<_> = (0..20).map(|i| near.queue(&format!("q{i}")).unwrap()).collect();
    for queue in &queues {
        add(queue, 1).await;
    }
    pair.replica.pause();
    let mut adding = JoinSet::new();
    for queue in &queues {
        let queue = queue.clone();
        // Not all at once: calls wait together with others that may wait longer.
        tokio::time::sleep(ms(10)).await;
        adding.spawn(async move {
            let begin = Instant::now();
            (queue.add_item(Item::new("data")).await.unwrap_err(), begin.elapsed())
        });
    }
    for (error, took) in adding.join_all().await {
        // Those that had to wait until earlier ones are confirmed were not sent.
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(took >= ms(1_490) && took < IN_TIME, "{took:?}");
    }
    pair.replica.resume();
    for queue in &queues {
        assert!(queue.add_item(Item::new("data").with_id("new")).await.unwrap());
        sound(queue).await;
    }
}

#[tokio::test]
async fn reads_wait_behind_no_change() {
    let pair = Pair::start();
    let queue = pair.client(20_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data")).await }
    });
    assert!(eventually(SOON, async || pair.is_waiting()).await);
    // Each WAIT takes a second or more: behind so many of them the time of the add would be over.
    for _ in 0..30 {
        assert_eq!(queue.counts().await.unwrap().ready, 2);
    }
    assert!(!adding.is_finished());
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
}

#[tokio::test]
async fn the_error_names_how_many_replicas_have_it() {
    let pair = Pair::start();
    let queue = pair.client(8_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas have it"), "{error}");
    assert!(error.outcome_unknown(), "{error}");
    pair.replica.resume();

    // A server that never had one.
    let alone = RedisServer::start();
    let queue = confirmed(&alone.url(), 8_000).await.queue("q").unwrap();
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas have it"), "{error}");
}

/// The call is executed, waits in vain, is repeated under its lane, and gets the first answer in the end.
#[tokio::test]
async fn a_call_that_waits_for_a_stopped_replica_gets_its_first_answer_when_it_continues() {
    let pair = Pair::start();
    let queue = pair.client(20_000).await.queue("q").unwrap();
    add(&queue, 2).await;
    let lease = lease_now(&queue).await;
    pair.replica.pause();
    let before = calls(&pair.master)["wait"];
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data").with_id("new")).await }
    });
    let completing = tokio::spawn({
        let queue = queue.clone();
        async move { queue.complete(&lease).await }
    });
    let leasing = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease(at_once()).await }
    });
    let repeated = eventually(LONG, async || calls(&pair.master)["wait"] >= before + 3);
    assert!(repeated.await, "it was not repeated");
    assert!(!adding.is_finished() && !completing.is_finished() && !leasing.is_finished());
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
    assert!(pair.has("q", "new"));
    assert!(completing.await.unwrap().unwrap());
    assert_eq!(leasing.await.unwrap().unwrap().unwrap().attempt(), 1);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased), (1, 1));
    assert_eq!((counts.totals.added, counts.totals.completed, counts.totals.leased), (3, 1, 2));
    sound(&queue).await;
}

/// What it has written, and the replica has not, is lost or not: the caller is told nothing before that is known.
#[tokio::test]
async fn a_master_that_becomes_a_replica_while_a_call_waits_answers_nothing() {
    let pair = Pair::start();
    let queue = pair.client(20_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data").with_id("new")).await }
    });
    assert!(eventually(SOON, async || pair.is_waiting()).await);
    // A replica of nobody keeps its data.
    pair.master.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    tokio::time::sleep(ms(300)).await;
    pair.master.cli(&["REPLICAOF", "NO", "ONE"]);
    assert!(!adding.is_finished());
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
    assert!(pair.has("q", "new"));
    assert_eq!(queue.counts().await.unwrap().totals.added, 2);
    sound(&queue).await;
}

/// As with a master that is cut off, and does not know that there is another one by now.
#[tokio::test]
async fn a_master_whose_replica_has_left_confirms_nothing_and_is_looked_for_anew() {
    let pair = Pair::start();
    let proxy = Proxy::start(pair.master.port()).await;
    let queue = confirmed(&proxy.url(), 1_500).await.queue("q").unwrap();
    add(&queue, 1).await;
    let opened = proxy.connections_opened();
    pair.replica.cli(&["REPLICAOF", "NO", "ONE"]);
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, true), "{error}");
    // With Sentinel, each new connection goes to the master that they name by then.
    assert!(proxy.connections_opened() > opened);
}

#[tokio::test]
async fn a_server_that_hangs_means_unavailable_by_the_deadline() {
    let pair = Pair::start();
    let queue = pair.client(1_500).await.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    pair.master.pause();
    let begin = Instant::now();
    let errors =
        tokio::join!(async { queue.add_item(Item::new("data")).await.unwrap_err() }, async {
            queue.complete(&lease).await.unwrap_err()
        },);
    let took = begin.elapsed();
    pair.master.resume();
    assert!(took >= ms(1_490) && took < IN_TIME, "{took:?}");
    for error in [errors.0, errors.1] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.outcome_unknown(), "{error}");
    }
    queue.complete(&lease).await.unwrap();
    assert_eq!(queue.get(lease.id()).await.unwrap(), None);
    sound(&queue).await;
}

#[tokio::test]
async fn closing_lets_calls_wait_for_the_replica_to_the_end() {
    let pair = Pair::start();
    let near = pair.client(20_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let adding = tokio::spawn(async move { queue.add_item(Item::new("data")).await });
    assert!(eventually(SOON, async || pair.is_waiting()).await);
    let mut closing = Box::pin(near.close());
    // It has begun when it was polled.
    assert!(tokio::time::timeout(Duration::ZERO, &mut closing).await.is_err());
    pair.replica.resume();
    closing.await;
    assert!(adding.await.unwrap().unwrap());
}
